"""Does a model fit: its family, weights, tokenizer, head and labels. What does not is an error of one line.

Every message begins with the model's name and ends with what to do.
"""

import re
from dataclasses import replace
from inspect import signature

import torch
import transformers

from faithlib.scores import first_line

CLASSIFIERS = "a classifier on BERT, RoBERTa, DistilBERT, ELECTRA, ALBERT, DeBERTa-v2, MPNet or ModernBERT"
WORKS = f"{CLASSIFIERS}, or a language model such as Llama, GPT-2, Qwen2 or Gemma-2"
LAYER = re.compile(r"(^|\.)(layers?|h|blocks?)\.\d+\.")  # a weight of a numbered layer
BUFFERS = (".position_ids", ".token_type_ids", ".inv_freq", ".masked_bias", ".attn.bias")  # no weights
LEAST = 0.9  # share of the embedding table that a tokenizer uses; tables are padded by up to a few per cent
TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "merges*", "spm*", "bpe*")


# Family -------------------------------------------------------------------------------------------


def kind(config, architectures=None):
    """What a saved model is: "classifier", "causal", or "" for an encoder without a head of classes.

    `architectures` are names of its class, by default those that the config gives.
    """
    for of, auto in (
        ("classifier", transformers.AutoModelForSequenceClassification),
        ("causal", transformers.AutoModelForCausalLM),
    ):
        classes = auto._model_mapping.get(type(config), ())
        names = {c.__name__ for c in (classes if isinstance(classes, (list, tuple)) else [classes])}
        if names & set(architectures or config.architectures or ()):
            return of
    return ""


def check_family(config, name):
    """Raise ValueError for encoder-decoders, which have no single sequence of tokens to explain."""
    if getattr(config, "is_encoder_decoder", False):
        raise ValueError(
            f"model {name!r} is an encoder-decoder ({config.model_type}), which faithlib does not explain: "
            f"use another family, such as {WORKS}"
        )


@torch.no_grad()
def check_runs(model):
    """Raise ValueError if a model does not compute what attributions and metrics ask of it.

    On two short inputs: logits from embeddings are those from token ids, padding changes nothing, factors of
    1 change nothing and factors of 0 hide a token. Where weights of attention do not sum to 1 or change the
    logits, attributions that need them are refused alone; where a prefix of a language model cannot be
    reused, as in hybrids, it is computed anew.
    """
    try:
        problem = _problem(model)
    except Exception as error:  # a family that nobody has tried may fail in any way
        problem = f"{type(error).__name__}: {first_line(error)}"
    family = model.model.config.model_type
    encoder = type(model.model.config) in transformers.AutoModelForMaskedLM._model_mapping
    if problem and not encoder and not hasattr(model, "prefix"):
        raise ValueError(
            f"model {model.name!r} ({family}) classifies by the last token of a decoder, which faithlib does "
            f"not explain ({problem}): use {CLASSIFIERS}"
        )
    if problem:
        raise ValueError(
            f"model {model.name!r} ({family}) does not work with faithlib ({problem}): use {WORKS}, or write "
            "an adapter (docs/adding.md, 'A model family')"
        )


def are_probabilities(logits):
    """Whether logits (texts, classes) are what a softmax returns."""
    return bool((logits >= 0).all()) and torch.allclose(logits.sum(-1), torch.ones(()).to(logits), 0, 1e-3)


def _problem(model):
    """What is wrong with a model's outputs, or ""."""
    near = 1e-3 if model.dtype == torch.float32 else 0.3  # half precision rounds layer by layer
    encodings = model.encode(["a", "a a a a"])

    def close(one, other):
        return bool(torch.isfinite(one).all()) and torch.allclose(one.float(), other.float(), near, near)

    batch, by_ids = model.collate(encodings), "input_ids" in signature(model.model.forward).parameters
    logits, ones = model.logits(batch), torch.ones(*batch.ids.shape, 1, device=batch.ids.device)
    if not torch.isfinite(logits).all():
        return "its logits are NaN or infinite, as after a training that failed"
    if logits.shape[1] != model.outputs:
        return f"it has {logits.shape[1]} outputs, and its config {model.outputs}"
    if are_probabilities(logits):
        return "its logits are probabilities, which a softmax would take again"
    for row, encoding in zip(logits, encodings, strict=True):
        alone = model.collate([encoding])
        if not close(model.logits(alone)[0], row):
            return "padding changes its logits"
        if by_ids and not close(_by_ids(model, alone), row):
            return "its logits from embeddings are not those from token ids"
    other = replace(batch, ids=torch.where(batch.maskable, model.mask_id or 0, batch.ids))
    of_none = (model.logits(b, factor=ones * ~batch.maskable[..., None]) for b in (batch, other))
    if not close(model.logits(batch, factor=ones), logits) or not close(*of_none):
        return "the output of its embedding layer cannot be multiplied"
    if hasattr(model, "prefix"):
        start = max(1, len(encodings[1].ids) - 2)
        try:
            _, prefix = model.prefix(model.collate([encodings[1].at(slice(start))]))
            rest = model.collate([encodings[1].at(slice(start, None))])
            model.shares = close(model.logits(rest, prefix=prefix.rows([0], start))[0], logits[1])
        except Exception:  # a hybrid keeps other states than keys and values
            model.shares = False
        if not model.shares:
            print(f"{model.name}: keys and values of a prefix cannot be reused: slower, with the same values")
    try:
        attended, layers = model.attentions(batch)
    except (ValueError, NotImplementedError):  # attributions that need attention refuse it by name
        return ""
    rows = layers[-1][1][:, int(model.reads(batch)[1])].float()  # of the longer input: (heads, tokens)
    if not close(rows.sum(-1), torch.ones_like(rows.sum(-1))):
        model.unattended = "its attention weights do not sum to 1"
    elif not close(attended, logits):
        model.unattended = "eager attention changes its logits"
    return ""


def _by_ids(model, batch):
    """Logits of the model called with token ids, as its own documentation does: (outputs,)."""
    arguments = {"input_ids": batch.ids, "attention_mask": batch.present.long()}
    if not hasattr(model, "prefix") and getattr(model.model.config, "type_vocab_size", 1) > 1:
        arguments["token_type_ids"] = batch.types
    with model.computing():
        logits = model.model(**arguments).logits
    return (logits[0, -1] if hasattr(model, "prefix") else logits[0]).to(batch.ids.device)


# Weights ------------------------------------------------------------------------------------------


def check_encoder(model, info, name, source):
    """Raise ValueError if weights of the encoder are missing, of another shape, or left over.

    `info` is transformers' loading info of the model that was read.
    """
    prefix = f"{model.base_model_prefix}."
    missing = [*info["missing_keys"], *(key for key, *_ in info["mismatched_keys"])]
    # A pooler may be missing, because it belongs to the head.
    missing = sorted(k for k in missing if k.startswith(prefix) and ".pooler." not in k)
    if missing:
        raise ValueError(
            f"model {name!r} lacks weights of its encoder ({_some(missing)}): {source!r} holds another "
            "architecture than its config says; get the model anew"
        )
    if extra := sorted(k for k in info["unexpected_keys"] if LAYER.search(k)):
        raise ValueError(
            f"model {name!r} has weights of layers that its config does not name ({_some(extra)}): "
            f"correct the number of layers in {source!r}, or get the model anew"
        )


def check_weights(info, name, source, head=False):
    """Raise ValueError if any weight is missing, of another shape, or left over, or would be drawn at random.

    `head` says that a classification head is what can be missing; see `check_encoder` for the rest.
    """
    missing = sorted(info["missing_keys"])
    extra = sorted(k for k in info["unexpected_keys"] if not k.endswith(BUFFERS) and ".pooler." not in k)
    if missing and head:
        others = f" and has {_some(extra)} of another head" if extra else ""
        raise ValueError(
            f"model {name!r} lacks weights of its classification head ({_some(missing)}){others}: get the "
            "fine-tuned model anew, or give new_head=True to draw a head at random"
        )
    if missing:
        raise ValueError(
            f"model {name!r} lacks weights ({_some(missing)}): {source!r} holds another architecture than "
            "its config says; get the model anew"
        )
    if info["mismatched_keys"]:
        key, size, wanted = sorted(info["mismatched_keys"])[0]
        raise ValueError(
            f"model {name!r} has weights {key!r} of shape {tuple(size)}, its config says {tuple(wanted)}: "
            f"correct the config in {source!r}, or get the model anew"
        )
    if extra:
        raise ValueError(
            f"model {name!r} has weights that its architecture does not use ({_some(extra)}): {source!r} "
            "holds another architecture than its config says"
        )


def _some(keys):
    return keys[0] + (f" and {len(keys) - 1} more" if len(keys) > 1 else "")


# Tokenizer ----------------------------------------------------------------------------------------


class NoTokenizer(ValueError):
    """A folder has no tokenizer, in whose place transformers would invent one."""


def check_tokenizer_files(folder, name):
    """Raise NoTokenizer for a folder without a tokenizer."""
    if not any(True for pattern in TOKENIZER_FILES for _ in folder.glob(pattern)):
        raise NoTokenizer(
            f"model {name!r} has no tokenizer in {str(folder)!r}: save it there "
            "(tokenizer.save_pretrained), or give tokenizer="
        )


def check_tokenizer(tokenizer, network, name, texts=(), mask=False):
    """Raise ValueError for a tokenizer that does not belong to a model, before a text is encoded.

    Args:
        network: the transformers model.
        texts: some texts of the study; without them, words of the vocabulary are tried.
        mask: whether a mask token is needed, as it is for classifiers.
    """
    if not isinstance(tokenizer, transformers.PreTrainedTokenizerBase) or not tokenizer.is_fast:
        raise ValueError(
            f"model {name!r}: tokenizer {type(tokenizer).__name__} is no fast tokenizer of transformers: "
            "give one that AutoTokenizer.from_pretrained(..., use_fast=True) returns"
        )
    try:
        rows, size = network.get_input_embeddings().weight.shape[0], len(tokenizer)
    except (NotImplementedError, AttributeError):
        raise ValueError(
            f"model {name!r} ({network.config.model_type}) has no table of word embeddings: use {WORKS}"
        ) from None
    vocabulary = tokenizer.get_vocab()
    highest = max(vocabulary.values(), default=-1)
    if not 0 <= highest < rows or size < LEAST * rows:
        raise ValueError(
            f"model {name!r} has embeddings of {rows} tokens and its tokenizer knows {size}, numbered up to "
            f"{highest}: give the tokenizer that the model was trained with"
        )
    if mask and tokenizer.mask_token_id is None:
        raise ValueError(
            f"model {name!r}: its tokenizer has no mask token, which replaces erased tokens: add one, "
            "or give another tokenizer"
        )
    special = set(tokenizer.all_special_ids)
    ordinary = [i for i in vocabulary.values() if i not in special][:100]
    tried = list(texts)[:100] or [tokenizer.decode([i]) for i in ordinary]
    ids = tokenizer(tried, add_special_tokens=False, verbose=False)["input_ids"] if tried else []
    if not any(i != tokenizer.unk_token_id for row in ids for i in row):
        raise ValueError(
            f"model {name!r}: its tokenizer gives only {tokenizer.unk_token or 'unknown tokens'} for "
            f"{tried[:1]!r}: give the tokenizer that the model was trained with"
        )


# Head and labels ----------------------------------------------------------------------------------


def label_names(config):
    """The names of a head's classes, in order, or None where it has only LABEL_0, LABEL_1, ..."""
    id2label = getattr(config, "id2label", None) or {}
    names = tuple(str(id2label[i]) for i in sorted(id2label, key=int))  # keys of JSON are strings
    return None if all(re.fullmatch(r"LABEL_\d+", name) for name in names) else names


def numbered(names):
    """Whether classes are called "0", "1", ..., as those of data whose labels are numbers, without names."""
    return tuple(names) == tuple(map(str, range(len(names))))


def places(labels, names):
    """Where each class in `labels` stands among `names`, in whatever case: [int], or None where one does not.

    Example:
        >>> places(["POS", "NEG"], ["neg", "pos"])
        [1, 0]
    """
    matches = []
    for name in labels:
        alike = [i for i, other in enumerate(names) if other.casefold() == name.casefold()]
        same = [i for i in alike if names[i] == name]
        matches += same or alike
    return matches if len(matches) == len(labels) == len(set(matches)) else None


def unfit_head(config, asked):
    """Why a head does not give the classes `asked`, names in order or None for its own; "" where it does."""
    classes, n = label_names(config), config.num_labels
    if config.problem_type == "multi_label_classification":
        return "has a multi-label head, whose classes do not exclude each other"
    if config.problem_type == "regression" or n == 1:
        return "has a head of regression (one value), not of classes"
    if classes and sorted(map(int, config.id2label)) != list(range(n)):
        return f"has the outputs {', '.join(map(str, config.id2label))} in id2label, not 0 to {n - 1}"
    if asked is None or (numbered(asked) and len(asked) <= n):
        return ""
    if numbered(asked):
        return f"has the classes 0 to {n - 1}{_listed(classes)}, and the labels, from 0, go to {asked[-1]}"
    if len(asked) != n:
        return f"has a head of {n} classes{_listed(classes)}, not of the {len(asked)}{_listed(asked)}"
    folded, wanted = ([name.casefold() for name in names] for names in (classes or asked, asked))
    if folded == wanted:
        return ""
    how = "in another order" if sorted(folded) == sorted(wanted) else "of other names"
    return f"has the classes{_listed(classes)}, {how} than{_listed(asked)}"


def check_head(config, asked, name, ordered=True):
    """Raise ValueError for a head that does not give the classes `asked`, in their order if `ordered`."""
    problem = unfit_head(config, asked)
    if problem and asked and not ordered and places(asked, label_names(config) or ()) is not None:
        return
    if "regression" in problem or "multi-label" in problem:
        raise ValueError(
            f"model {name!r} {problem}: faithlib explains one class of several; fine-tune a single-label "
            "classifier, or give new_head=True and labels to draw a head at random"
        )
    if problem:
        raise ValueError(
            f"model {name!r} {problem}: give labels and data in the model's order and names, or "
            "new_head=True to replace its head by one drawn at random"
        )


def _listed(names):
    names = list(names or ())
    return f" ({', '.join(names[:10])}{', …' if len(names) > 10 else ''})" if names else ""
