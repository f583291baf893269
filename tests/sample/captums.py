"""What the tests of attributions beside captum share."""

import numpy as np
import torch

SIGNED = ("input_x_gradient", "integrated_gradients", "sequential_integrated_gradients", "gradient_shap")
GRADIENTS = (*SIGNED, *(f"{name}_abs" for name in SIGNED), "deeplift", "gradient_l1", "gradient_l2")
ALL = ("attention", "scaled_attention", "attention_rollout", *GRADIENTS)


class Probability(torch.nn.Module):
    """A Hugging Face model as captum wants it: from word embeddings to the probability of a next token."""

    def __init__(self, model, target):
        super().__init__()
        self.model, self.target = model, target

    def forward(self, embeddings):
        return self.model(inputs_embeds=embeddings, use_cache=False).logits[:, -1].softmax(-1)[:, self.target]


def gap(ours, theirs):
    """The largest difference over the tokens of all examples, padding left out; a share of scores above 1."""
    pairs = [(o, t[: len(o)]) for o, t in zip(ours, theirs, strict=True)]
    return max(np.abs(o - t).max() / max(1, np.abs(o).max()) for o, t in pairs)
