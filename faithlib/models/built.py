"""Models that are built with fresh weights and the vocabulary of given texts: tiny BERT and Llama, BiLSTM."""

import pathlib
import re

import numpy as np
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from faithlib.models.bilstm import BiLSTMAttention, BiLSTMConfig
from faithlib.scores import one_of, whole

WORD = r"\w+(?:['’-]\w+)*|['’](?:s|d|m|re|ve|ll)\b|([^\w\s])\1*"  # "n't", "re-imagined"; "'s"; "..." and ","
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")  # in a file of vectors
LARGEST = float(np.finfo(np.float32).max)
SIZES = {  # of a tiny BERT and a tiny Llama
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
    "max_position_embeddings": 128,
}  # fmt: skip
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


def bilstm(
    texts, classes, paired=False, width=300, hidden=128, min_count=1, vectors="", precision="float32",
    model_dir="",
):  # fmt: skip
    """(BiLSTMAttention with fresh weights, its tokenizer of lower-cased words).

    Args:
        texts: [str], text_b included, for the vocabulary: all words that occur at least `min_count` times.
        classes: how many.
        paired, width, hidden, precision: as of `BiLSTMConfig`.
        vectors: a text file of word vectors (word2vec, fastText or GloVe) that initialise the embeddings;
            words that it lacks and special tokens start at 0. "": all but padding start at N(0, 1).
        model_dir: a folder in which the file of vectors is looked for first; "" for none.

    Raises:
        FileNotFoundError: the file of vectors does not exist.
        ValueError: no texts, a size below 1, an unknown precision, vectors of another dimension than `width`
            or for none of the words, a line of the file that is no word and its numbers.
    """
    for size, value in {"width": width, "hidden": hidden, "min_count": min_count}.items():
        whole(size, value, 1)
    one_of("precision", precision, ("float32", "bfloat16"))
    if vectors:
        vectors = _find_vectors(vectors, model_dir)
        _check_vectors(vectors, width)
    split = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    single = "[CLS] $A [EOS]" + " [CLS]:1 [EOS]:1" * paired  # a single text has an empty text_b
    pair = "[CLS] $A [EOS] [CLS]:1 $B:1 [EOS]:1"
    tokenizer = _tokenizer(texts, SPECIAL | {"sep": "[EOS]"}, split, single, pair, min_count)
    sizes = {"vocab_size": len(tokenizer), "width": width, "hidden": hidden, "num_labels": classes}
    model = BiLSTMAttention(BiLSTMConfig(**sizes, paired=paired, precision=precision))
    if vectors:
        ids = {word: i for word, i in tokenizer.get_vocab().items() if i not in tokenizer.all_special_ids}
        with torch.no_grad():
            model.get_input_embeddings().weight.copy_(_read_vectors(vectors, ids, len(tokenizer), width))
    return model, tokenizer


def _find_vectors(name, model_dir):
    """The path of a file of vectors, in `model_dir` or else as it is given."""
    for path in (pathlib.Path(model_dir, name), pathlib.Path(name)):
        if path.is_file():
            return str(path)
    place = f", here or in model_dir={model_dir!r}" if model_dir else ""
    raise FileNotFoundError(f"vectors={name!r} is no file{place}: correct the path, or leave it empty")


def _check_vectors(path, width):
    """Raise ValueError for a file whose first line is neither a header nor a word and `width` numbers."""
    with open(path, encoding="utf-8", errors="replace") as file:
        line = file.readline()
    fields = line.split()
    if len(fields) < 2 or len(fields) == 2 and width > 1 and not _is_header(line):
        raise ValueError(
            f"vectors={path!r}, line 1 is {line.strip()[:40]!r}: give a file whose lines are a word and its "
            f"{width} numbers, below a line of two whole numbers (words, dimensions) or none"
        )
    dimensions = int(fields[1]) if _is_header(line) else len(fields) - 1
    if dimensions != width:
        raise ValueError(
            f"vectors={path!r} has {dimensions} dimensions and the model width={width}: "
            f"set width={dimensions}, or give another file"
        )


def _is_header(line):
    """Whether a file's first line is "words dimensions"."""
    fields = line.split()
    return len(fields) == 2 and all(field.isdecimal() for field in fields)


def _read_vectors(path, ids, size, width):
    """The vectors of the words `ids`, {word: id}: (size, width), 0 for words that the file lacks."""
    table, count = np.zeros((size, width), np.float32), 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            word, _, rest = line.rstrip().partition(" ")
            if word not in ids or (number == 1 and _is_header(line)):
                continue
            vector = rest.split(" ")
            if len(vector) < width:
                raise ValueError(
                    f"vectors={path!r} is damaged: line {number} has {len(vector)} numbers and "
                    f"not {width}; get it anew"
                )
            if len(vector) == width:  # a longer line is an entry with blanks in it
                if wrong := [x for x in vector if not NUMBER.fullmatch(x) or abs(float(x)) > LARGEST]:
                    raise ValueError(
                        f"vectors={path!r}, line {number}: {wrong[0]!r} in the vector of {word!r} is no "
                        "finite number: correct this line, or get the file anew"
                    )
                table[ids[word]], count = vector, count + 1
    if not count:
        raise ValueError(
            f"vectors={path!r} has none of the {len(ids)} words of the texts: it must be "
            "text, each line a word in lower case and its numbers"
        )
    return torch.from_numpy(table)


def tiny_bert(texts, classes):
    """(two-layer BERT of width 64, its tokenizer), with the words of `texts` as vocabulary."""
    tokenizer = word_tokenizer(texts)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        num_labels=classes,
        **SIZES,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,  # too small to need dropout
        initializer_range=0.15,
    )  # with BERT's 0.02 so narrow a model can stay at chance for many epochs
    model = transformers.BertForSequenceClassification(config)
    model.lightness = 3  # as `BiLSTMAttention.lightness`: so narrow a model is fastest with larger passes
    return model, tokenizer


def tiny_llama(texts):
    """(two-layer Llama of width 64, its tokenizer), with the words of `texts` as vocabulary."""
    special = {"pad": "[PAD]", "unk": "[UNK]", "bos": "[BOS]", "eos": "[EOS]"}
    tokenizer = _tokenizer(texts, special, pre_tokenizers.WhitespaceSplit(), "[BOS] $A")
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        num_key_value_heads=2,
        initializer_range=0.1,
        **{"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, **SIZES},
    )
    return transformers.LlamaForCausalLM(config), tokenizer


def word_tokenizer(texts):
    """A tokenizer with BERT's special tokens and the words of `texts`, lower-cased, as vocabulary."""
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    return _tokenizer(texts, SPECIAL, pre_tokenizers.WhitespaceSplit(), "[CLS] $A [SEP]", pair)


def _tokenizer(texts, special, split, single, pair="", min_count=1):
    """A tokenizer of the words of `texts`; single, pair: how texts stand among the tokens {role: token}."""
    if not texts or isinstance(texts, str):
        raise ValueError(f"texts={texts!r}: a new model takes its vocabulary from them: give a list of texts")
    words, tokens = Tokenizer(models.WordLevel(unk_token=special["unk"])), list(special.values())
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = split
    words.train_from_iterator(
        texts,
        trainers.WordLevelTrainer(
            vocab_size=2**31 - 1, special_tokens=tokens, min_frequency=min_count, show_progress=False
        ),
    )
    ids = [(token, words.token_to_id(token)) for token in tokens if token in single]
    pairs = {"pair": pair} if pair else {}
    words.post_processor = processors.TemplateProcessing(single=single, special_tokens=ids, **pairs)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        model_input_names=["input_ids", *(["token_type_ids"] if pair else []), "attention_mask"],
        **{f"{role}_token": token for role, token in special.items()},
    )
