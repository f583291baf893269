"""Loading models by name: from a folder, a models folder, an installed package or the hub."""

import pathlib
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging

from faithlib.models import built, fit, placement, places, precision
from faithlib.models.causal import CausalLM
from faithlib.models.classifier import Classifier
from faithlib.options import BILSTM, TINY, TINY_CAUSAL
from faithlib.progress import say_once
from faithlib.scores import first_line, whole


def load(
    name: str,
    label_names: Sequence[str],
    texts: Sequence[str] | None = None,
    model_dir: str = "",
    seed: int = 0,
    device: str | torch.device = "cpu",
    max_length: int = 0,
    dtype: str = "float32",
    device_map: str | dict | None = None,
    attn_implementation: str | None = None,
    **sizes: Any,
) -> Classifier:
    """Load or build a classifier that will be trained on a task; `load_model` loads one to explain as it is.

    Args:
        name: "tiny-bert" or "bilstm" (built with fresh weights and the vocabulary of `texts`), a folder, or a
            name on the hub.
        label_names: the classes, in order. A head for these classes is kept; in place of any other one a
            fresh one is drawn, which a printed line says.
        texts: [str] for the vocabulary of a model that is built; otherwise not used.
        seed: of fresh weights.
        model_dir, device, max_length, device_map, attn_implementation: as of `load_model`.
        dtype: what the model computes in, of `precision.DTYPES`, or "auto"; see `models.precision`.
        sizes: keyword arguments of `bilstm`, for "bilstm" only.

    Returns:
        A Classifier in evaluation mode; pretrained weights are read from safetensors.

    Raises:
        FileNotFoundError: no such model is found, or model_dir does not exist.
        ValueError: an unknown dtype or device, weights that do not fit the model's config, a tokenizer that
            does not fit the model, a family that does not work, or sizes that cannot be built.

    Example:
        >>> load("tiny-bert", ("no", "yes"), ["the plot was great"]).outputs
        2
    """
    if isinstance(label_names, str) or len(label_names) < 2:
        raise ValueError(f"label_names={label_names!r}: give the names of two classes or more, in order")
    if sizes and name != BILSTM:
        raise ValueError(f"{', '.join(sizes)}: only {BILSTM!r} is built to measure, {name!r} is as it is")
    placed = {"device": device, "device_map": device_map, "attn_implementation": attn_implementation}
    dtype = _checked(name, seed, dtype, **placed)
    with seeded(seed):
        if name == TINY:
            model, tokenizer = built.tiny_bert(texts, len(label_names))
        elif name == BILSTM:
            sizes = {"precision": str(dtype).removeprefix("torch."), "model_dir": model_dir, **sizes}
            model, tokenizer = built.bilstm(texts, len(label_names), **sizes)
            dtype = torch.float32  # its LSTMs alone compute in another dtype
        else:
            model, tokenizer, why = with_head(name, model_dir, label_names, seed, **placed)
            if why:
                say_once(f"{name} {why}: it gets a fresh one of {len(label_names)} classes, to be trained")
    name_classes(model.config, label_names)
    fresh = name in places.BUILT
    model = model.to(device) if fresh else model
    return tried(Classifier, model, tokenizer, name, max_length, dtype, fresh=fresh)


def load_causal(
    name: str,
    texts: Sequence[str] | None = None,
    model_dir: str = "",
    seed: int = 0,
    device: str | torch.device = "cpu",
    max_length: int = 0,
    dtype: str = "float32",
    device_map: str | dict | None = None,
    attn_implementation: str | None = None,
    tokenizer: Any = None,
) -> CausalLM:
    """Load or build a causal language model.

    Args:
        name: "tiny-llama" (built with fresh weights and the vocabulary of `texts`), a folder, or a name on
            the hub.
        texts, model_dir, seed, device, dtype, device_map, attn_implementation: as of `load`.
        max_length: tokens that a prompt may have; 0 for as many as the model has positions.
        tokenizer: in place of the one that is saved with the model.

    Returns:
        A CausalLM in evaluation mode; its errors are those of `load`.

    Example:
        >>> load_causal("tiny-llama", ["the plot was great"]).outputs  # the words and four special tokens
        8
    """
    placed = {"device": device, "device_map": device_map, "attn_implementation": attn_implementation}
    dtype = _checked(name, seed, dtype, **placed)
    if name == TINY_CAUSAL:
        with seeded(seed):
            model, tokenizer = built.tiny_llama(texts)
        return tried(CausalLM, model.to(device), tokenizer, name, max_length, dtype, fresh=True)
    if fit.kind(read_config(name, model_dir)) == "classifier":
        raise ValueError(f"model {name!r} is a classifier, not a language model: load it with load_model")
    model, tokenizer, info, source = read(AutoModelForCausalLM, name, model_dir, dtype, tokenizer, **placed)
    fit.check_weights(info, name, source)
    return tried(CausalLM, model, tokenizer, name, max_length, dtype, texts or ())


def _checked(name, seed, dtype, **placed):
    """The `torch.dtype` to compute in; ValueError for what `placement.check` refuses and for a wrong seed."""
    whole("seed", seed)
    fresh = name if name in places.BUILT else ""
    return precision.resolve(dtype, placement.check(**placed, dtype=dtype, built=fresh))


def tried(kind, model, tokenizer, name, max_length, dtype, texts=(), fresh=False):
    """The model as a Classifier or CausalLM (`kind`) that computes in `dtype`.

    One that was not built here, with fresh weights, is tried on `texts` and on short inputs.
    """
    if not fresh:
        fit.check_tokenizer(tokenizer, model, name, texts, mask=kind is Classifier)
    ready = kind(model, tokenizer, name, max_length, dtype)
    ready.cast(dtype)
    if not fresh:
        fit.check_runs(ready)
    return ready


@contextmanager
def seeded(seed):
    """Context in which fresh weights, which come from torch's global generator, are drawn with `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def with_head(name, model_dir, labels, seed, dtype=torch.float32, tokenizer=None, replace=False, **placed):
    """A pretrained encoder with a head for the classes `labels`, which is its own if that fits.

    Args:
        name, model_dir, seed: as of `load`.
        labels: the names of the classes, in order.
        dtype, tokenizer, placed: as of `read`.
        replace: whether a head is drawn even if the model's own fits.

    Returns:
        (model, tokenizer, why its head is fresh, "" where it is the model's own).
    """
    config = read_config(name, model_dir)
    if fit.kind(config) == "causal":
        raise ValueError(
            f"model {name!r} is a causal language model ({config.model_type}), not an encoder: load it with "
            "load_causal"
        )
    with seeded(seed):  # torch's own generator stays where it is
        auto = AutoModelForSequenceClassification
        placed["num_labels"] = len(labels)
        model, tokenizer, info, source = read(auto, name, model_dir, dtype, tokenizer, **placed)
    fit.check_encoder(model, info, name, source)
    fresh = "has no classification head" if info["missing_keys"] else fit.unfit_head(config, labels)
    if replace or (fresh and not info["missing_keys"] and not info["mismatched_keys"]):
        draw_head(model, seed)
    model.config.problem_type = None
    return model, tokenizer, fresh


def draw_head(model, seed):
    """Replace all of a classifier but its encoder by fresh weights, drawn with `seed`."""
    weight = next(model.parameters())
    with seeded(seed):
        drawn = type(model)(model.config)
    for name, module in drawn.named_children():
        if name != model.base_model_prefix:
            setattr(model, name, module.to(weight.device, weight.dtype))
    model.config.masked_training = "none"  # whatever it was with its old head
    model.eval()


def read_config(name, model_dir=""):
    """A model's config, without running code of its folder; FileNotFoundError where there is none."""
    source = places.locate(name, model_dir)
    try:
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RecursionError, TypeError, AttributeError) as error:
        raise _unreadable(name, source, error) from error
    fit.check_family(config, name)
    return config


def read(
    kind, name, model_dir="", dtype=torch.float32, tokenizer=None, device="cpu", device_map=None, **settings
):
    """(model, tokenizer, loading info, source) of an auto class; FileNotFoundError where one cannot be read.

    Weights are read from safetensors alone, and no code of the model's folder is run. `tokenizer` is in place
    of the one that is saved with the model; `settings` are those of `from_pretrained`.
    """
    source = places.locate(name, model_dir)
    settings = {key: value for key, value in settings.items() if value is not None}
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # it would report a fresh head; the callers check the rest
    try:
        tokenizer = read_tokenizer(source if tokenizer is None else tokenizer, name)
        model, info = kind.from_pretrained(
            source,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=dtype,
            device_map=device_map,
            ignore_mismatched_sizes=True,  # a head of another size is replaced
            output_loading_info=True,
            **settings,
        )
    except fit.NoTokenizer:
        raise
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        attention = settings.get("attn_implementation")
        if attention and "attention" in (reason := first_line(error)):
            raise ValueError(
                f"attn_implementation={attention!r}: model {name!r} cannot have it ({reason}): leave it out"
            ) from error
        raise _unreadable(name, source, error) from error
    finally:
        logging.set_verbosity(verbosity)
    return model if device_map is not None else model.to(device), tokenizer, info, source


def read_tokenizer(source, name):
    """The fast tokenizer in a folder or of a name, or the object that is given."""
    if not isinstance(source, (str, pathlib.Path)):
        return source
    if pathlib.Path(source).is_dir():
        fit.check_tokenizer_files(pathlib.Path(source), name)
    try:
        return AutoTokenizer.from_pretrained(str(source), use_fast=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise FileNotFoundError(
            f"model {name!r}: no tokenizer can be read from {str(source)!r} ({first_line(error)}): "
            "give a folder that has one, a name, or a fast tokenizer"
        ) from error


def _unreadable(name, source, error):
    reason = first_line(error)
    if isinstance(error, SafetensorError):
        reason = f"its safetensors are damaged or cut off: {reason}; download or copy them again"
    return FileNotFoundError(
        f"model {name!r} cannot be loaded from {source!r} ({reason}): check the name, put its folder "
        "(config, tokenizer, safetensors) into model_dir, or go online once"
    )


def name_classes(config, labels):
    """Give the classes of a config their names, in order."""
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: i for i, label in enumerate(labels)}
