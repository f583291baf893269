"""What a model computes in: float32, or half precision where the processor has instructions for it.

Weights are in the model's dtype, but float32 while it is trained (autocast). Word embeddings, logits,
probabilities, scores, losses and sums are float32 or better everywhere.
"""

import torch

from faithlib.options import DTYPES
from faithlib.scores import one_of


def resolve(dtype="float32", device="cpu") -> torch.dtype:
    """The dtype that a model computes in on a device; ValueError for an unknown name.

    `dtype` is one of DTYPES, or "auto": bfloat16 where the processor or the GPU has instructions for it, else
    float32.
    """
    one_of("dtype", dtype, (*DTYPES, "auto"))
    device = torch.device(device)
    if dtype == "auto":
        return torch.bfloat16 if has_instructions("bfloat16", device) else torch.float32
    if not has_instructions(dtype, device):
        print(f"dtype={dtype!r}: this {device.type} has no instructions for it, so it is slower than float32")
    return getattr(torch, dtype)


def widened(x):
    """A tensor in float32, or as it is if its dtype is wider."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def quantised(weight):
    """Whether a weight holds codes in place of numbers that could be converted."""
    return weight.dtype.itemsize == 1 or not weight.dtype.is_floating_point


def has_instructions(dtype, device):
    """Whether a processor or GPU computes products in a dtype directly."""
    if dtype == "float32":
        return True
    if device.type == "cuda":
        return dtype == "float16" or torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "mps":
        return dtype == "float16"
    can = torch.cpu.get_capabilities()
    flags = {"bfloat16": ("amx_bf16", "avx512_bf16", "bf16"), "float16": ("amx_fp16", "avx512_fp16", "fp16")}
    return any(can.get(flag, False) for flag in flags[dtype])
