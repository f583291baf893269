"""The bound: the same number of passes through the model, well batched, and nothing else.

Batches are sorted by length and made beforehand; attention is sdpa, parameters are frozen, language
models compute the last position's logits only.
"""

import torch

from faithlib.forward import TOKEN_BUDGET, batches_by_length
from faithlib.models import CausalLM


def forward(work, passes):
    """A function that runs passes[i] forward passes of example i."""
    batches = _batches(work, passes)

    def run():
        with torch.inference_mode():
            for ids, inputs, _ in batches:
                work.model.model(input_ids=ids, **inputs)
    return run


def backward(work, passes):
    """A function that runs passes[i] forward and backward passes of example i, to its embeddings."""
    batches = _batches(work, passes)
    embed = work.model.model.get_input_embeddings()

    def run():
        for ids, inputs, target in batches:
            embeddings = embed(ids).requires_grad_()
            logits = work.model.model(inputs_embeds=embeddings, **inputs).logits.flatten(0, -2)
            torch.autograd.grad(logits.gather(1, target[:, None]).sum(), embeddings)
    return run


def _batches(work, passes):
    rows = [i for i, n in enumerate(passes) for _ in range(n)]
    model, batches = work.model, []
    budget = TOKEN_BUDGET[model.device.type]
    for part in batches_by_length([len(work.encodings[i].ids) for i in rows], budget):
        part = [rows[k] for k in part]
        batch = model.collate([work.encodings[i] for i in part])
        inputs = {"attention_mask": batch.present.long()}
        if isinstance(model, CausalLM):  # prompts of one length
            inputs = {"use_cache": False, "logits_to_keep": 1}
        target = torch.as_tensor(work.targets[part], device=model.device)
        batches.append((batch.ids, inputs, target))
    return batches
