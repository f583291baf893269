"""The common part of classifiers and causal language models: encodings, batches, embeddings.

A text is encoded once. Word embeddings are always passed to the model as `inputs_embeds`, so that erasing a
token does not change the positions of the others (RoBERTa would otherwise derive positions from padding ids).
"""

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from faithlib.models import placement, precision
from faithlib.scores import HALF, HALVED, first_line, one_of


@dataclass(frozen=True)
class Encoding:
    """One encoded example without padding; every array has one entry for each token."""

    ids: np.ndarray  # (tokens,) int64
    types: np.ndarray  # (tokens,) int64, 1 in text_b where the model knows token types
    maskable: np.ndarray  # (tokens,) bool, the tokens of `text`
    auxiliary: np.ndarray  # (tokens,) bool, the tokens of `text_b`
    words: np.ndarray  # (tokens,) int64, index into text.split(), -1 outside `text`
    # (tokens, 2) int64, characters of `text`, end not included; (0, 0) outside
    spans: np.ndarray | None = None

    def at(self, index):
        """The encoding of only the tokens at `index` (a slice, a mask or indices)."""
        fields = (getattr(self, field) for field in Encoding.__annotations__)
        return Encoding(*(None if field is None else field[index] for field in fields))

    def followed_by(self, ids):
        """The encoding with the tokens `ids` appended, each of them maskable and a word of its own."""
        n, word = len(ids), self.words.max() + 1
        added = ids, np.zeros(n, int), np.ones(n, bool), np.zeros(n, bool), np.arange(word, word + n)
        fields = self.ids, self.types, self.maskable, self.auxiliary, self.words
        spans = None if self.spans is None else np.append(self.spans, np.zeros((n, 2), int), axis=0)
        return Encoding(*(np.append(one, more) for one, more in zip(fields, added, strict=True)), spans)


@dataclass(frozen=True)
class Batch:
    """Right-padded encodings."""

    ids: torch.Tensor  # (batch, tokens)
    types: torch.Tensor  # (batch, tokens)
    present: torch.Tensor  # (batch, tokens) bool, False at padding
    maskable: torch.Tensor  # (batch, tokens) bool
    encodings: tuple  # the Encoding of each row

    def at(self, index, start=0, stop=None):
        """The rows at `index` (a tensor, repeats allowed), tokens `start` to `stop`; without encodings."""
        fields = self.ids, self.types, self.present, self.maskable
        return Batch(*(field[index, start:stop] for field in fields), ())


class Transformer:
    """A Hugging Face model and its tokenizer, with the methods that attributions and metrics use.

    A subclass adds `logits`; `reads`, the position that the prediction is read from, and `pools`, whether
    others are read too; `outputs`, the number of targets; `explained`, the value of the target that is
    explained, and its name `explains`; `mask_id`; and `baseline`, the default start of integrated gradients.

    Args:
        model: a Hugging Face model; it is put into evaluation mode.
        tokenizer: its fast tokenizer.
        name: for messages and records; that of the model's folder by default.
        max_length: tokens that an input may have; None or 0 for as many as the model has positions.
        dtype: the `torch.dtype` that products are computed in; that of the weights by default.
    """

    pools = False
    _padding = None  # the padding token that is no position, of RoBERTa and MPNet
    unattended = ""  # why attention of this model cannot be used, as `fit.check_runs` found

    def __init__(self, model, tokenizer, name="", max_length=None, dtype=None):
        if tokenizer is None:
            raise ValueError(f"model {name or type(model).__name__!r} has no tokenizer: give one")
        self.model = model.eval()
        self.dtype = dtype or next(model.parameters()).dtype  # of products; weights have it but in training
        self.tokenizer = tokenizer
        self.name = name or getattr(model.config, "name_or_path", "") or type(model).__name__
        positions = getattr(model.config, "max_position_embeddings", None) or 0
        if positions < 1 and not max_length:
            raise ValueError(
                f"{self.name} ({model.config.model_type}) does not say how many positions it has: give "
                "max_length=, the tokens that an input may have"
            )
        positions = positions or max_length
        layer = getattr(getattr(model, "base_model", None), "embeddings", None)
        self._padding = getattr(layer, "padding_idx", None)
        if self._padding is not None:
            positions -= self._padding + 1
        self.max_length = min(max_length or positions, positions)

    @property
    def device(self):
        """Where batches are put: the device that computes the word embeddings."""
        words = getattr(self.model, "get_input_embeddings", lambda: None)()
        return placement.device_of(words, self.embedding_table.device)

    @property
    def pad_id(self):
        """The padding token, or None; batches are padded all the same, at positions that are not attended."""
        return self.tokenizer.pad_token_id

    @property
    def embedding_table(self):
        """The word embeddings, one row for each token id: (vocabulary, width)."""
        return self.model.get_input_embeddings().weight

    @property
    def factor_width(self):
        """The width of what `factor` multiplies in `logits`."""
        return self.embedding_table.shape[1]

    def embed(self, ids):
        """Word embeddings of token ids: (batch, tokens) -> (batch, tokens, width) float32."""
        return precision.widened(self.model.get_input_embeddings()(ids))

    @contextmanager
    def computing(self):
        """Inside, products are computed in the model's dtype (autocast, where the weights have another)."""
        half = self.dtype in (torch.bfloat16, torch.float16)
        apart = half and next(self.model.parameters()).dtype == torch.float32
        with torch.autocast(self.device.type, self.dtype if apart else torch.bfloat16, enabled=apart):
            yield

    @contextmanager
    def training_precision(self):
        """Inside, weights are float32, so that small steps are not rounded away."""
        self.cast(torch.float32)
        try:
            yield
        finally:
            self.cast(self.dtype)

    @contextmanager
    def checkpointing(self):
        """Inside, a training pass keeps the inputs of layers alone, and computes layers again backwards."""
        names = ("activation_checkpointing", "gradient_checkpointing")  # as newer and older transformers say
        name = next(name for name in names if hasattr(self.model, f"{name}_enable"))
        config = self.model.config
        cached, config.use_cache = getattr(config, "use_cache", False), False  # keys and values are not kept
        getattr(self.model, f"{name}_enable")({"use_reentrant": False})
        try:
            yield
        finally:
            getattr(self.model, f"{name}_disable")()
            config.use_cache = cached

    def cast(self, dtype):
        """Convert the weights: not the buffers (rotary frequencies are float32), and no quantised ones."""
        for weight in self.model.parameters():
            if weight.dtype != dtype and not precision.quantised(weight):
                weight.data = weight.data.to(dtype)

    def _entered(self, embeddings):
        """Embeddings as the model's weights take them."""
        return embeddings.to(next(self.model.parameters()).dtype)

    def encode(self, texts, texts_b=None) -> list:
        """Encode texts without truncating them: [Encoding].

        Args:
            texts: [str].
            texts_b: the auxiliary parts, [str], "" for none; None if no text has one.

        Raises:
            ValueError: no texts, a bare string, what is no string, another number of auxiliary parts.
        """
        _check_texts("texts", texts)
        pairs = texts_b is not None and any(texts_b)
        if pairs:
            _check_texts("texts_b", texts_b)
            if len(texts) != len(texts_b):
                raise ValueError(f"{len(texts_b)} texts_b for {len(texts)} texts: give as many")
        if pairs and not all(texts_b):  # those without one are encoded as they are alone
            rows = list(zip(texts, texts_b, strict=True))
            both = iter(self.encode(*map(list, zip(*[row for row in rows if row[1]], strict=True))))
            alone = iter(self.encode([text for text, b in rows if not b]))
            return [next(both if b else alone) for b in texts_b]
        encoded = self.tokenizer(
            list(texts),
            list(texts_b) if pairs else None,
            return_offsets_mapping=True,
            truncation=False,
            verbose=False,
        )
        encodings = []
        for i, text in enumerate(texts):
            sequence = np.array([-1 if s is None else s for s in encoded.sequence_ids(i)], int)  # (tokens,)
            ids = np.array(encoded["input_ids"][i], int)
            if self._padding is not None and self._padding in ids and self.tokenizer.pad_token in text:
                raise ValueError(
                    f"texts[{i}] holds the padding token {self.tokenizer.pad_token!r}, which {self.name} "
                    "does not count as a position: take it out of the text, or drop the row"
                )
            of_text = (sequence == 0) & ~np.isin(ids, self.special_ids)  # special tokens may be written out
            types = np.array(encoded["token_type_ids"][i]) if "token_type_ids" in encoded else 0 * ids
            spans = np.array(encoded["offset_mapping"][i], int).reshape(-1, 2)
            # The word is that of a token's last character: its first may be the blank before the word.
            ends = np.maximum(spans[:, 0], spans[:, 1] - 1)
            words = np.where(of_text, _word_at(text)[np.minimum(ends, len(text))], -1)
            spans = np.where(of_text[:, None], spans, 0)
            encodings.append(Encoding(ids, types, of_text, sequence == 1, words, spans))
        return encodings

    @cached_property
    def special_ids(self):
        """Token ids that are never scored, also where a text spells them: special ones but the unknown."""
        t = self.tokenizer
        kept = {t.unk_token_id} - {t.bos_token_id, t.eos_token_id}  # GPT-2 has one token for all
        return sorted(set(t.all_special_ids) - kept)

    def tokens(self, encoding, text=None):
        """The encoding's tokens as strings, for display only: with its text, as they are written there."""
        named = self.tokenizer.convert_ids_to_tokens(encoding.ids.tolist())
        if text is None or encoding.spans is None:
            return named
        written, last = [], None
        for name, maskable, span in zip(named, encoding.maskable, encoding.spans.tolist(), strict=True):
            piece = text[slice(*span)].strip() or ("·" if span[0] == span[1] else "␣")
            written.append("·" if maskable and span == last else piece if maskable else name)
            last = span  # a character of several tokens is written once
        return written

    def truncate(self, encoding):
        """Drop the last tokens of `text` until the encoding fits the model; text_b is not cut."""
        surplus = len(encoding.ids) - self.max_length
        if surplus <= 0:
            return encoding
        cut = np.flatnonzero(encoding.maskable)[-surplus:]
        return encoding.at(np.delete(np.arange(len(encoding.ids)), cut))

    def collate(self, encodings):
        """Pad encodings to the longest of them: a Batch of (batch, tokens) tensors."""
        shape = len(encodings), max(len(e.ids) for e in encodings)
        ids = np.full(shape, self.pad_id or 0)
        types, present, maskable = np.zeros(shape, int), np.zeros(shape, bool), np.zeros(shape, bool)
        for i, e in enumerate(encodings):
            n = len(e.ids)
            ids[i, :n], types[i, :n], maskable[i, :n], present[i, :n] = e.ids, e.types, e.maskable, True
        tensors = (torch.from_numpy(x).to(self.device) for x in (ids, types, present, maskable))
        return Batch(*tensors, tuple(encodings))

    def attentions(self, batch):
        """(logits (batch, outputs), attention weights of every layer), in one graph, with eager attention.

        A layer is (batch, heads, tokens from, tokens to), on the device that computed it. Raises ValueError
        where the model exposes none.
        """
        used = self.model.config._attn_implementation
        self.model.set_attn_implementation("eager")
        try:
            with placement.left_in_place(self.model):
                logits, layers = self._attend(batch)
        finally:
            self.model.set_attn_implementation(used)
        if not layers or any(layer is None for layer in layers):
            raise ValueError(f"{self.name} exposes no attention weights: choose attributions that need none")
        return logits, layers

    @torch.no_grad()
    def check_attention(self, instead):
        """Raise ValueError if attention tells nothing of what is read; `instead` says what to do then."""
        if self.unattended:
            raise ValueError(f"{self.name}: {self.unattended}: {instead}")
        try:
            self.attentions(self.collate(self.encode(["a"])))
        except (ValueError, NotImplementedError) as error:
            raise ValueError(
                f"{self.name} gives no attention weights ({first_line(error)}): {instead}"
            ) from error
        if self.pools:
            raise ValueError(f"{self.name} pools all positions, and attention is read at one: {instead}")

    def check(self, encodings):
        """Raise ValueError for an example without maskable tokens and for one longer than the model takes."""
        if not isinstance(encodings, (list, tuple)) or not all(isinstance(e, Encoding) for e in encodings):
            raise ValueError(f"encodings={str(encodings)[:40]!r}: give the list that model.encode returns")
        for i, e in enumerate(encodings):
            if not e.maskable.any():
                raise ValueError(f"example {i} has no maskable token: remove empty texts before explaining")
            if len(e.ids) > self.max_length:
                raise ValueError(
                    f"example {i} has {len(e.ids)} tokens, {self.name} takes {self.max_length}: "
                    "shorten it, or choose another model"
                )


def check_examples(
    classifier: Transformer, encodings: list[Encoding], long_texts: str = "error"
) -> tuple[list[Encoding], list[dict]]:
    """Check that encodings fit a model, or make them fit: (encodings, rows for the record's `excluded`).

    Args:
        long_texts: "error" refuses texts longer than the model takes, "truncate" cuts the end of `text`.

    Raises:
        ValueError: a text without maskable tokens; one that is too long and must not or cannot be cut (no
            prompt of a language model can).
    """
    one_of("long_texts", long_texts, ("error", "truncate"))
    empty = [i for i, e in enumerate(encodings) if not e.maskable.any()]
    if empty:
        raise ValueError(
            f"{len(empty)} of {len(encodings)} texts have no maskable token (first: {empty[0]}): drop them"
        )
    lengths = np.array([len(e.ids) for e in encodings])
    long = np.flatnonzero(lengths > classifier.max_length)
    if not len(long):
        return encodings, []
    finding = (
        f"{len(long)} of {len(encodings)} texts are longer than {classifier.name} takes "
        f"({lengths.max()} tokens, at most {classifier.max_length})"
    )
    if hasattr(classifier, "prefix"):
        raise ValueError(f"{finding}: the end of a prompt decides what follows, so shorten the prompts")
    if long_texts == "error":
        raise ValueError(f"{finding}: set long_texts='truncate' to cut their ends, or choose another model")
    encodings = [classifier.truncate(e) for e in encodings]
    if any(not e.maskable.any() for e in encodings):
        raise ValueError(f"{finding}: text_b alone fills the model: shorten text_b")
    return encodings, [{"what": "end of text cut", "why": finding, "n": len(long)}]


def _check_texts(what, texts):
    if isinstance(texts, str) or not hasattr(texts, "__len__") or not len(texts):
        raise ValueError(f"{what}={str(texts)[:40]!r}: give a list of texts, at least one")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"{what}[{i}] is {text!r}: give a text")
        if HALF.search(text):
            raise ValueError(f"{what}[{i}] {HALVED}")


def _word_at(text):
    """For every character, and the end of the text, the index of its whitespace-separated word."""
    blank = np.array([c.isspace() for c in text] + [True])
    starts = ~blank & np.concatenate([[True], blank[:-1]])
    return np.maximum(np.cumsum(starts) - 1, 0)
