"""Where a model's weights are: on one device, spread over several, or offloaded to memory and disk.

Offloaded weights are on the device "meta", without data, until the layer that holds them runs. So no code
reads the device or the data of a weight, except through this module; a tensor is moved to the device of its
layer.
"""

import importlib.util
from contextlib import contextmanager
from functools import wraps

import torch

from faithlib.scores import one_of

DEVICES = "use 'cpu', 'cuda', 'cuda:<number>' or 'mps'"
MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
FLASH = ("flash_attention_2", "flash_attention_3")
IMPLEMENTATIONS = ("eager", "sdpa", *FLASH, "flex_attention")


def existing(device):
    """The `torch.device` of "cpu", "cuda", "cuda:1" or "mps"; ValueError for one that this machine lacks.

    Example:
        >>> existing("gpu")
        Traceback (most recent call last):
            ...
        ValueError: device='gpu' is unknown: use 'cpu', 'cuda', 'cuda:<number>' or 'mps'
    """
    name = str(device)
    try:
        usable = torch.device(name)  # not of a bare number, whose meaning depends on how torch was built
    except RuntimeError:
        usable = None
    if usable is None or usable.type not in ("cpu", "cuda", "mps"):
        raise ValueError(f"device={name!r} is unknown: {DEVICES}")
    if usable.type == "cuda":
        count = torch.cuda.device_count()
        if not count:
            raise ValueError(f"device={name!r}, but this machine shows no CUDA device: use 'cpu'")
        if (usable.index or 0) >= count:
            raise ValueError(f"device={name!r} of {count} that are here: use 'cuda:0' to 'cuda:{count - 1}'")
    if usable.type == "mps" and not torch.backends.mps.is_available():
        raise ValueError(f"device={name!r}, but this machine has no Apple GPU: use 'cpu'")
    return usable


def best():
    """The device that "auto" stands for: "cuda" where this machine has one, else "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def check(device="cpu", device_map=None, attn_implementation=None, dtype="float32", built=""):
    """Check where a model is to be loaded, and how it is to compute attention, before any work.

    Args:
        device: where the whole model is put.
        device_map: where each layer is put, as `from_pretrained` takes it: one of MAPS, a device, or {name of
            a module: device, its number, "cpu" or "disk"}; None for `device`.
        attn_implementation: one of IMPLEMENTATIONS; None for transformers' choice.
        dtype: what the model computes in, one of `precision.DTYPES` or "auto".
        built: the name of a model that is built with fresh weights, which both are not for; "" for others.

    Returns:
        The `torch.device` that computes; the first GPU, if there is one, beside a device_map.

    Raises:
        ValueError: what cannot be, or not together; a package that is not installed.
    """
    usable = existing(device)
    if built and (device_map, attn_implementation) != (None, None):
        raise ValueError(f"device_map and attn_implementation are for saved models: leave out for {built!r}")
    if device_map is not None:
        if usable.type != "cpu":
            raise ValueError(f"device={str(device)!r} and device_map={device_map!r}: give one of them")
        _check_map(device_map)
    one_of("attn_implementation", attn_implementation, (None, *IMPLEMENTATIONS))
    if attn_implementation in FLASH:
        if not _has_flash(attn_implementation):
            raise ValueError(
                f"attn_implementation={attn_implementation!r} needs a CUDA device and the package flash-attn "
                "(pip install flash-attn): use 'sdpa'"
            )
        if dtype == "float32":
            raise ValueError(
                f"attn_implementation={attn_implementation!r} computes in half precision only: "
                "set dtype='bfloat16' or use 'sdpa'"
            )
    return usable if device_map is None else torch.device(best())


def device_of(module, otherwise):
    """The device that a module computes on: what accelerate set, else `otherwise`, where its weight is."""
    hook = getattr(module, "_hf_hook", None)
    for part in getattr(hook, "hooks", (hook,)):
        device = getattr(part, "execution_device", None)
        if device is not None:
            return torch.device(device)
    return otherwise


def offloaded(module):
    """Whether some weights of a module are offloaded: on "meta", without data."""
    return any(weight.is_meta for weight in module.parameters())


def loaded(module, name):
    """The weight of a module by its name, with its data where it is offloaded."""
    weight = getattr(module, name)
    return module._hf_hook.weights_map[name] if weight.is_meta else weight


def devices(module):
    """The devices that a module's weights are on, offloaded ones left out: a set of `torch.device`."""
    return {weight.device for weight in module.parameters() if not weight.is_meta}


def without_gradients(function):
    """Decorate a function of a Classifier or CausalLM, its first argument, whose passes need no gradients.

    Inference mode is faster, but offloaded weights that are loaded in it could not have gradients afterwards.
    """

    @wraps(function)
    def decorated(model, *args, **kwargs):
        with torch.no_grad() if offloaded(model.model) else torch.inference_mode():
            return function(model, *args, **kwargs)

    return decorated


@contextmanager
def left_in_place(module):
    """Inside, outputs of a module that is spread over devices stay where they are computed.

    Otherwise accelerate moves them to the input's device, and the logits would not depend on the moved copy.
    """
    hook = getattr(module, "_hf_hook", None)
    moving = [h for h in getattr(hook, "hooks", (hook,)) if getattr(h, "io_same_device", False)]
    for part in moving:
        part.io_same_device = False
    try:
        yield
    finally:
        for part in moving:
            part.io_same_device = True


def _check_map(device_map):
    if importlib.util.find_spec("accelerate") is None:
        raise ValueError(f"device_map={device_map!r} needs accelerate: pip install 'faithlib[large]'")
    whole = not isinstance(device_map, dict)
    for place in [device_map] if whole else device_map.values():
        if place in (MAPS if whole else ("disk",)):
            continue
        try:
            existing(f"cuda:{place}" if isinstance(place, int) else place)
        except ValueError as error:
            others = f"; or one of {', '.join(map(repr, MAPS))}" if whole else " or 'disk'"
            raise ValueError(f"device_map={device_map!r}: {error}{others}") from None


def _has_flash(name):
    from transformers import utils

    return getattr(utils, f"is_flash_attn_{name[-1]}_available", lambda: False)()
