"""The bound: the same number of passes through the model, well batched, and nothing else.

Batches are sorted by length and made beforehand; attention is sdpa, parameters are frozen, the head of
language models sees the last position only.
"""

import torch

from faithlib.engine.batching import TOKEN_BUDGET, batches_by_length
from faithlib.models import CausalLM


def forward(work, passes):
    """A function that runs passes[i] forward passes of example i."""
    batches, model = _batches(work, passes), _model(work.model)

    def run():
        with torch.inference_mode():
            for ids, present, _ in batches:
                model(present, input_ids=ids)

    return run


def backward(work, passes):
    """A function that runs passes[i] forward and backward passes of example i, to its embeddings."""
    batches, model = _batches(work, passes), _model(work.model)
    embed = work.model.model.get_input_embeddings()

    def run():
        for ids, present, target in batches:
            embeddings = embed(ids).requires_grad_()
            logits = model(present, inputs_embeds=embeddings)
            torch.autograd.grad(logits.gather(1, target[:, None]).sum(), embeddings)

    return run


def _model(model):
    """From which tokens are present and ids or embeddings to logits (batch, outputs)."""
    hf = model.model
    if not isinstance(model, CausalLM):
        return lambda present, **inputs: hf(attention_mask=present, **inputs).logits
    body, head = hf.base_model, hf.get_output_embeddings()  # prompts of one length: nothing is padding
    return lambda present, **inputs: head(body(use_cache=False, **inputs).last_hidden_state[:, -1])


def _batches(work, passes):
    rows = [i for i, n in enumerate(passes) for _ in range(n)]
    model, batches = work.model, []
    budget = TOKEN_BUDGET[model.device.type]
    for part in batches_by_length([len(work.encodings[i].ids) for i in rows], budget):
        part = [rows[k] for k in part]
        batch = model.collate([work.encodings[i] for i in part])
        target = torch.as_tensor(work.targets[part], device=model.device)
        batches.append((batch.ids, batch.present.long(), target))
    return batches
