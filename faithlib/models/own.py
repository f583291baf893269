"""`load_model`: anyone's model as faithlib explains it, with its own head, labels, tokenizer and dtype."""

import pathlib
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from faithlib.models import fit, loading, placement, places, precision
from faithlib.models.causal import CausalLM
from faithlib.models.classifier import Classifier
from faithlib.options import TINY_CAUSAL
from faithlib.scores import one_of, whole

ADAPTER = ("outputs", "embedding_table", "embed", "logits", "attentions", "encode", "collate")


def load_model(
    source: Any,
    tokenizer: Any = None,
    *,
    labels: Sequence[str] | None = None,
    data: Any = None,
    new_head: bool = False,
    seed: int = 0,
    dtype: str | torch.dtype = "",
    device: str | torch.device = "",
    max_length: int = 0,
    model_dir: str = "",
    device_map: str | dict | None = None,
    attn_implementation: str | None = None,
) -> Classifier | CausalLM:
    """Load a model to explain it as it is: nothing of it is replaced, renamed or cast unless asked for.

    Args:
        source: a folder, or a name on the hub, of a classifier or a causal language model, which its config
            decides; a transformers model in memory, with its tokenizer; an adapter of any torch module (see
            docs/adding.md), which is returned as it is; or "tiny-bert", "bilstm" or "tiny-llama", which are
            built with fresh weights and the words of `data`.
        tokenizer: in place of the one that is saved with the model: a fast tokenizer, a folder or a name.
        labels: the names of the classes, in the model's order, which they are compared with; by default those
            of `data`, in any order, else those of the model.
        data: what `load_data` returns, or a list of texts: its labels are compared with the model's, and its
            texts tried on the tokenizer.
        new_head: whether to draw a new classification head for `labels` at random, in place of the model's.
        seed: of fresh weights.
        dtype: what the model computes in: one of `precision.DTYPES` or "auto"; "" for the model's own.
        device: where the model is put; "" for the CPU, or where a model in memory is.
        max_length: tokens that an input may have; 0 for as many as the model has positions.
        model_dir: a folder of models to look in first; "" for none.
        device_map: where each layer is put instead of `device`, for folders and names; see `placement.check`.
        attn_implementation: how attention is computed, for folders and names; None for transformers' choice.

    Returns:
        A `Classifier` or `CausalLM` in evaluation mode, or the adapter.

    Raises:
        FileNotFoundError: no such model is found, or its files are damaged.
        ValueError: a setting of the wrong kind; a head that does not fit `labels` or `data`, is missing,
            multi-label or of regression; weights that are missing, left over or of another shape; a tokenizer
            of another vocabulary, or that knows no word; a family that does not work.

    Example:
        >>> load_model("tiny-bert", labels=("no", "yes"), data=["the plot was great"]).outputs
        2
    """
    dtype, device = str(dtype).removeprefix("torch."), "" if device is None else str(device)
    _check_settings(new_head, seed, dtype, max_length)
    asked, texts = _asked(labels, data)
    ordered = labels is not None
    source = str(source) if isinstance(source, pathlib.Path) else source
    if not isinstance(source, (str, torch.nn.Module)) and all(hasattr(type(source), a) for a in ADAPTER):
        settings = {"tokenizer": tokenizer, "new_head": new_head, "dtype": dtype, "max_length": max_length}
        settings |= {"model_dir": model_dir, "device": device, "device_map": device_map}
        settings["attn_implementation"] = attn_implementation
        return _adapter(source, asked, texts, settings)
    if isinstance(source, torch.nn.Module):
        if device_map is not None or attn_implementation is not None:
            raise ValueError("device_map and attn_implementation are for folders and names: leave them out")
        return _in_memory(source, tokenizer, asked, texts, new_head, seed, dtype, device, max_length, ordered)
    if not isinstance(source, str) or not source:
        raise ValueError(
            f"source={' '.join(repr(source).split())[:60]} is no model: give a folder, a name on the hub, a "
            "transformers model with tokenizer=, or an adapter (docs/adding.md, 'A model family')"
        )
    placed: dict[str, Any] = {"device": device or "cpu", "device_map": device_map}
    placed["attn_implementation"] = attn_implementation
    fresh = source if source in places.BUILT else ""
    computing = placement.check(**placed, dtype=dtype or "float32", built=fresh)
    if source == TINY_CAUSAL:
        _no_classes(source, labels, new_head)
    if fresh:
        return _built(source, tokenizer, asked, texts, seed, dtype or "float32", device or "cpu", max_length)
    if isinstance(tokenizer, (str, pathlib.Path)):
        tokenizer = loading.read_tokenizer(tokenizer, source)
    config = loading.read_config(source, model_dir)
    dtype = _dtype(dtype, computing, config)
    if fit.kind(config) == "causal":
        _no_classes(source, labels, new_head)
        placed |= {"max_length": max_length, "dtype": str(dtype).removeprefix("torch.")}
        return loading.load_causal(source, texts, model_dir, seed, tokenizer=tokenizer, **placed)
    placed |= {"model_dir": model_dir, "dtype": dtype, "tokenizer": tokenizer}
    if new_head:
        _check_new(source, asked)
        model, tokenizer, _ = loading.with_head(source, labels=asked, seed=seed, replace=True, **placed)
        _say_new(source, asked, seed)
        loading.name_classes(model.config, asked)
    else:
        model, tokenizer = _with_own_head(source, config, asked, ordered, placed)
    return loading.tried(Classifier, model, tokenizer, source, max_length, dtype, texts)


def _with_own_head(name, config, asked, ordered, placed):
    """(model, tokenizer) of a saved classifier as it is, with names for its classes if it has none."""
    if not fit.kind(config):
        raise ValueError(
            f"model {name!r} ({', '.join(config.architectures or ['no architecture'])}) has no "
            "classification head and is no causal language model: fine-tune it first, or give "
            "new_head=True and labels to draw a head at random"
        )
    fit.check_head(config, asked, name, ordered)
    model, tokenizer, info, place = loading.read(AutoModelForSequenceClassification, name, **placed)
    fit.check_encoder(model, info, name, place)
    fit.check_weights(info, name, place, head=True)
    _name_unnamed(model.config, asked, name)
    return model, tokenizer


def _in_memory(model, tokenizer, asked, texts, new_head, seed, dtype, device, max_length, ordered):
    """A transformers model in memory: it is used as it is, and not copied."""
    if hasattr(model, "merge_and_unload"):
        raise ValueError("source is a PEFT model: give source.merge_and_unload(), which computes the same")
    if hasattr(model, "_orig_mod"):
        raise ValueError("source is a compiled model: give source._orig_mod, the model itself")
    if getattr(getattr(model, "config", None), "return_dict", True) is False:
        raise ValueError("source has config.return_dict=False: set it to True, logits are read by name")
    if getattr(getattr(model, "config", None), "id2label", {}) is None:
        raise ValueError("source has config.id2label=None: set it to {0: 'a name', 1: ...}, one a class")
    if not isinstance(model, PreTrainedModel):
        raise ValueError(
            f"{type(model).__name__} is a torch module that transformers does not know: write an adapter "
            "of five methods (docs/adding.md, 'A model family') and give that"
        )
    name = model.config.name_or_path or type(model).__name__
    if isinstance(tokenizer, (str, pathlib.Path)):
        tokenizer = loading.read_tokenizer(tokenizer, name)
    if tokenizer is None:
        raise ValueError(f"model {name!r} is in memory, without a tokenizer: give tokenizer=")
    fit.check_family(model.config, name)
    kinds = dict.fromkeys(weight.dtype for weight in model.parameters() if weight.is_floating_point())
    if not dtype and len(kinds) > 1:
        raise ValueError(f"model {name!r} has weights of {', '.join(map(str, kinds))}: give one dtype")
    dtype = precision.resolve(dtype, device or "cpu") if dtype else next(iter(kinds))
    if device:
        model = model.to(placement.existing(device))
    kind = fit.kind(model.config, [type(model).__name__])
    if kind == "causal":
        _no_classes(name, asked if ordered else None, new_head)
        return loading.tried(CausalLM, model, tokenizer, name, max_length, dtype, texts)
    if kind != "classifier":
        raise ValueError(
            f"model {name!r} is a {type(model).__name__}: give a ...ForSequenceClassification or a "
            "...ForCausalLM of transformers"
        )
    if new_head:
        _check_new(name, asked)
        loading.name_classes(model.config, asked)
        model.config.problem_type, model.num_labels = None, len(asked)
        loading.draw_head(model, seed)
        _say_new(name, asked, seed)
    else:
        fit.check_head(model.config, asked, name, ordered)
        _name_unnamed(model.config, asked, name)
    return loading.tried(Classifier, model, tokenizer, name, max_length, dtype, texts)


def _built(name, tokenizer, asked, texts, seed, dtype, device, max_length):
    """A model with fresh weights, which its name says, and the words of `texts`."""
    if tokenizer is not None:
        raise ValueError(f"{name!r} is built with a tokenizer of its own: leave tokenizer out (texts: data=)")
    if not texts:
        raise ValueError(f"{name!r} is built with the words of texts: give data")
    if name == TINY_CAUSAL:
        return loading.load_causal(name, texts, seed=seed, device=device, max_length=max_length, dtype=dtype)
    _check_new(name, asked)
    return loading.load(name, asked, texts, seed=seed, device=device, max_length=max_length, dtype=dtype)


def _adapter(model, asked, texts, settings):
    if useless := [name for name, value in settings.items() if value]:
        raise ValueError(f"{useless[0]} is for what is loaded, {model.name} is taken as it is: leave it out")
    if asked is not None and not isinstance(model, CausalLM) and len(asked) != model.outputs:
        raise ValueError(
            f"model {model.name!r} has {model.outputs} classes and labels names {len(asked)} "
            f"({', '.join(asked)}): give labels and data in the model's order"
        )
    if texts and fit.are_probabilities(model.logits(model.collate(model.encode(texts[:2])))):
        raise ValueError(f"model {model.name!r} returns probabilities as logits: leave its softmax out")
    return model


# What was asked for -------------------------------------------------------------------------------


def _check_settings(new_head, seed, dtype, max_length):
    one_of("dtype", dtype, ("", *precision.DTYPES, "auto"))
    if not isinstance(new_head, bool):
        raise ValueError(f"new_head={new_head!r} must be True or False")
    whole("seed", seed)
    whole("max_length", max_length)


def _asked(labels, data):
    """(the names of the classes or None, some texts) of what is given as labels and data."""
    texts, named = [], None
    if isinstance(data, str):
        raise ValueError(f"data={data[:40]!r} is a string: give load_data({data[:40]!r}), or a list of texts")
    if hasattr(data, "splits") and hasattr(data, "task"):
        rows = data.splits.get("train", next(iter(data.splits.values())))
        texts = [*rows["text"], *(t for t in (rows["text_b"] if "text_b" in rows.column_names else []) if t)]
        named = tuple(data.task.labels) or None
    elif data is not None:
        try:
            texts = list(data["text"] if hasattr(data, "columns") or hasattr(data, "column_names") else data)
        except (KeyError, TypeError, ValueError):
            texts = [None]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError(
                f"data of {type(data).__name__} holds no texts: give what load_data returns, or a list "
                "of texts"
            )
    if labels is None:
        return named, texts
    listed = hasattr(labels, "__iter__") and not isinstance(labels, str | set | frozenset)
    given, labels = labels, tuple(labels) if listed else ()
    if not listed or not all(isinstance(name, str) for name in labels):
        raise ValueError(f"labels={given!r} are no names: give a list such as ['negative', 'positive']")
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(f"labels={list(labels)} must be two or more names that differ, in the model's order")
    fits = named is None or named == labels or fit.numbered(named) and len(named) <= len(labels)
    if not fits:
        raise ValueError(
            f"labels ({', '.join(labels)}) and data ({', '.join(named)}) name different classes: leave "
            "labels out, or load the data with them"
        )
    return labels, texts


def _dtype(dtype, device, config):
    """The `torch.dtype` asked for, or that of the saved weights."""
    if dtype:
        return precision.resolve(dtype, device)
    saved = str(getattr(config, "dtype", None) or "float32").removeprefix("torch.")
    return precision.resolve(saved if saved in precision.DTYPES else "float32", device)


def _no_classes(name, labels, new_head):
    if new_head or labels is not None:
        option = "new_head=True" if new_head else "labels"
        raise ValueError(f"model {name!r} is a causal language model without classes: leave {option} out")


def _check_new(name, asked):
    if asked is None:
        raise ValueError(f"model {name!r} gets a new head: give labels, the names of its classes, in order")


def _name_unnamed(config, asked, name):
    """Give classes without names those of `asked`; a printed line says which, as their order is a guess."""
    if not asked or fit.numbered(asked) or fit.label_names(config) is not None:
        return
    pairs = ", ".join(f"{i} = {label}" for i, label in enumerate(asked))
    print(f"{name} does not name its classes: taken as {pairs}; give labels if its order is another")
    loading.name_classes(config, asked)


def _say_new(name, asked, seed):
    print(f"{name}: a new head of {len(asked)} classes, drawn at random (seed {seed}): train it first")
