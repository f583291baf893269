"""Scores from elsewhere: arrays of one's own and results of captum, inseq and shap, on the model's tokens.

No library is imported: results are known by their attributes. The tokens of a word or slice get equal parts
of its value, so that the sum over a text stays what it was.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

KINDS = ("tokens", "maskable tokens", "words")


def align(scores, texts, model, targets=None, texts_b=None, encodings=None):
    """Scores of any origin as one value for each token that the model reads.

    Args:
        scores: {name: scores of all texts}, each of them one of

            - a list with an array for each text, in which every text has one value a token of
              `model.encode` (special tokens included), or one a maskable token, or one a word of
              `text.split()`;
            - a tensor or array (texts, tokens), zero at padding, or a list of such batches, as captum's
              `attribute` returns them after `.sum(-1)`; captum's `LLMAttributionResult` of each text;
            - inseq's `FeatureAttributionOutput`, after `aggregate()`: the values of the prompt's tokens,
              summed over the generated ones;
            - shap's `Explanation`, or a list of (token, score) of each text: in order where it has as many
              slices as the model reads tokens, else by characters.
        texts, texts_b: the texts, [str], and the auxiliary parts, which get no scores.
        model: a `Classifier` or `CausalLM`.
        targets: (texts,) int: a column of a shap `Explanation`, or the first token that inseq explained.
        encodings: the texts as they are explained, where their ends are cut: scores may then have the length
            of the whole text or of what is left.

    Returns:
        {name: [(tokens,) float64 of each text]}, 0 at tokens that are not maskable.

    Raises:
        ValueError: another number of texts, a length that fits nothing, values that are not finite, tokens
            or characters that are not the model's.

    Example:
        >>> from faithlib import load_model
        >>> model = load_model("tiny-bert", labels=("no", "yes"), data=["the plot was great"])
        >>> aligned = align({"mine": [[0.0, 0.2, 0.1, 0.9]]}, ["the plot was great"], model)
        >>> aligned["mine"][0].tolist()  # with [CLS] and [SEP]
        [0.0, 0.0, 0.2, 0.1, 0.9, 0.0]
    """
    if not isinstance(texts, (list, tuple)):
        excerpt = repr(texts[:40] if isinstance(texts, str) else texts)
        raise ValueError(f"texts={excerpt} is no list: give a list of texts")
    if not isinstance(scores, dict):
        raise ValueError(f"scores are of type {type(scores).__name__}: give {{name: scores of all texts}}")
    texts = list(texts)
    pairs = [list(texts_b)] if texts_b is not None and any(texts_b) else []
    whole = model.encode(texts, *pairs) if scores else []
    used = whole if encodings is None else encodings
    about = texts, model, whole, used, targets
    return {name: _Aligner(name, *about).rows(results) for name, results in scores.items()}


class _Aligner:
    """The alignment of one attribution's scores; errors name it."""

    def __init__(self, name, texts, model, encodings, used, targets):
        self.name, self.texts, self.model, self.encodings = name, texts, model, encodings
        self.used, self.targets = used, targets

    def error(self, what, i=None):
        place = f"attribution {self.name!r}" + ("" if i is None else f", text {i}")
        return ValueError(f"{place}: {what}")

    def rows(self, results):
        """[(tokens,) of each text]."""
        aligned, loose = [], {}  # what is in its place, and {text: values} whose unit is to be found
        for item in self.items(results):
            i = len(aligned)
            if i >= len(self.texts):
                raise self.error(f"there are scores of more than the {len(self.texts)} texts: give as many")
            if _is_inseq(item):
                aligned.append(self.from_inseq(i, item))
            elif _is_shap(item):
                aligned.append(self.from_slices(i, item.values, item.data))
            elif _is_pairs(item):
                tokens, values = zip(*item, strict=True)
                aligned.append(self.from_slices(i, values, tokens))
            else:
                rows = self.unpadded(i, self.matrix(item, i))
                loose |= dict(enumerate(rows, i))
                aligned += rows
        if len(aligned) != len(self.texts):
            raise self.error(f"there are scores of {len(aligned)} texts for {len(self.texts)}: give as many")
        for i, row in self.placed(loose).items():
            aligned[i] = row
        return [self.checked(i, row) for i, row in enumerate(aligned)]

    def checked(self, i, row):
        """Finite scores of the tokens of text i that are explained, 0 where not maskable."""
        encoding = self.used[i]
        if len(row) > len(encoding.ids):  # of the whole text, whose end is cut
            places = replace(self.encodings[i], ids=np.arange(len(row)))
            row = row[self.model.truncate(places).ids]
        if not np.isfinite(row[encoding.maskable]).all():
            raise self.error("NaN or infinite scores: repair them", i)
        return np.where(encoding.maskable, row, 0.0)

    def items(self, results):
        """The results of single texts, or of batches of texts."""
        if hasattr(results, "sequence_attributions"):
            return list(results.sequence_attributions)
        if _is_shap(results) and not (len(results.data) and isinstance(results.data[0], str)):
            pairs = zip(results.values, results.data, strict=True)
            return [SimpleNamespace(base_values=None, values=values, data=data) for values, data in pairs]
        array = hasattr(results, "detach") or isinstance(results, np.ndarray) and results.dtype != object
        if array or _is_inseq(results) or _is_shap(results) or _is_captum(results):
            return [results]
        if isinstance(results, (str, bytes, dict)) or hasattr(results, "columns") or not np.iterable(results):
            raise self.error(f"scores of type {type(results).__name__}: give a list with an array a text")
        results = list(results)
        if results and all(isinstance(value, (int, float, np.number)) for value in results):
            raise self.error(f"{len(results)} single numbers: give a list with an array for each text")
        return results

    def array(self, values, i):
        """Values as float64."""
        try:
            values = values.detach().cpu().double().numpy() if hasattr(values, "detach") else values
            return np.asarray(values, float)
        except (TypeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise self.error(f"its scores are no numbers ({reason}): give one a token", i) from error

    def matrix(self, item, i):
        """The values of a text, or of a batch of texts: (texts, tokens)."""
        if _is_captum(item):
            return self.array(item.seq_attr, i).reshape(1, -1)
        values = self.array(item, i)
        if values.ndim == 1:
            return values[None]
        if values.ndim != 2:
            raise self.error(
                f"the values have shape {values.shape}: give one a token; sum over the width of the "
                "embeddings first, scores.sum(-1)",
                i,
            )
        return values

    # Values of tokens or words --------------------------------------------------------------------

    def sizes(self, i, whole=True):
        """How many values text i may have, in the order of KINDS: the whole of it, or what is left."""
        encoding = (self.encodings if whole else self.used)[i]
        return len(encoding.ids), int(encoding.maskable.sum()), len(self.texts[i].split())

    def fits(self, kind, i, values):
        """Whether text i may have so many values of a kind."""
        return len(values) in (self.sizes(i)[kind], self.sizes(i, whole=False)[kind])

    def unpadded(self, first, matrix):
        """The rows of a batch (texts, tokens) without padding; `first` is the first row's text."""
        count, width = matrix.shape
        if first + count > len(self.texts):
            raise self.error(f"there are scores of {first + count} texts for {len(self.texts)}: give as many")
        places = range(first, first + count)
        if count == 1 or any(all(self.fits(k, i, matrix[0]) for i in places) for k in range(len(KINDS))):
            return list(matrix)
        for whole in (True, False):
            tokens = [self.sizes(i, whole)[0] for i in places]
            right = [slice(0, n) for n in tokens]
            left = [slice(width - n, width) for n in tokens]
            sides = [right, left] if self.model.tokenizer.padding_side == "right" else [left, right]
            fitting = []
            for side in sides if width >= max(tokens) else ():
                padding = np.nan_to_num(matrix)
                for row, of_text in zip(padding, side, strict=True):
                    row[of_text] = 0
                if not padding.any():
                    fitting.append([row[of_text] for row, of_text in zip(matrix, side, strict=True)])
            read = (self.encodings if whole else self.used)[first : first + count]
            best = min(fitting, key=lambda rows: _misplaced(rows, read), default=[])  # the first of equals
            ends = [row[self.sizes(i, whole)[1] :] for i, row in zip(places, matrix, strict=True)]
            if best and (np.nan_to_num(np.concatenate(ends)).any() or not _misplaced(best, read)):
                return best  # scores of words, one after the other, reach no token's last place
        if width < max(tokens):
            raise self.error(
                f"a batch of shape {matrix.shape} for texts of up to {max(tokens)} tokens: give a column for "
                "each token of the longest text, or a list with an array for each text"
            )
        raise self.error(
            "a batch has values other than 0 at padding, or scores of words padded to one array: give a "
            "list with an array for each text"
        )

    def placed(self, loose):
        """Values of one kind, on tokens: {text: (tokens,)}."""
        for kind in range(len(KINDS)):
            if all(self.fits(kind, i, values) for i, values in loose.items()):
                return {i: self.spread(kind, i, values) for i, values in loose.items()}
        every = range(len(KINDS))
        wrong = [i for i, values in loose.items() if not any(self.fits(k, i, values) for k in every)]
        if not wrong:
            raise self.error("some texts have a value per token and some per word: give one kind")
        i = wrong[0]
        counts = ", ".join(f"{n} {kind}" for n, kind in zip(self.sizes(i), KINDS, strict=True))
        raise self.error(f"{len(loose[i])} scores, {self.model.name} has {counts}: give one for each", i)

    def spread(self, kind, i, values):
        """Values of one kind of one text: (tokens,)."""
        encoding = self.encodings[i] if len(values) == self.sizes(i)[kind] else self.used[i]
        if kind == 0:
            return values
        if kind == 1:
            row = np.zeros(len(encoding.ids))
            row[encoding.maskable] = values
            return row
        owners = [{word} if word >= 0 else set() for word in encoding.words.tolist()]
        return self.shared(i, values, owners, self.texts[i].split())

    def shared(self, i, values, owners, units):
        """Values (units,), divided among the tokens that belong to them.

        owners: for each token the set of units that it belongs to; units: their texts, for messages.
        """
        counts = np.bincount([unit for of in owners for unit in of], minlength=len(values))
        for unit in np.flatnonzero(counts == 0):
            if units[unit].strip() and values[unit] != 0:
                raise self.error(
                    f"the model reads no token of {units[unit]!r}, whose score is {values[unit]:.3g}: take "
                    "it out of the text, or give it the score 0",
                    i,
                )
        return np.array([sum((values[unit] / counts[unit] for unit in sorted(of)), 0.0) for of in owners])

    # Results of other libraries -------------------------------------------------------------------

    def from_inseq(self, i, sequence):
        """The prompt's values of an inseq sequence, whose tokens must be the model's."""
        if sequence.source_attributions is not None:
            raise self.error("an encoder-decoder's result: give that of a decoder", i)
        values = self.array(sequence.target_attributions, i)  # (prompt + generated, generated)
        if values.ndim != 2:
            raise self.error(f"the values have shape {values.shape}: call aggregate() on the result first", i)
        start = sequence.attr_pos_start
        ids = np.array([token.id for token in sequence.target[:start]])
        if self.targets is not None and (first := sequence.target[start].id) != self.targets[i]:
            explained, wanted = map(self.model.tokenizer.decode, ([first], [int(self.targets[i])]))
            raise self.error(f"it explains {explained!r}, targets have {wanted!r}: give the same answers", i)
        values = values[:start].sum(1)
        encoding = self.encodings[i]
        special = np.isin(ids, list(self.model.tokenizer.all_special_ids))
        if np.array_equal(ids, encoding.ids):
            return values
        if np.array_equal(ids[~special], encoding.ids[encoding.maskable]):
            return self.spread(1, i, values[~special])
        raise self.error(
            f"its prompt has {len(ids)} tokens, {self.model.name} reads {len(encoding.ids)}, and they "
            "differ: attribute the same text with the same tokenizer",
            i,
        )

    def from_slices(self, i, values, slices):
        """Values of text slices, aligned by their characters."""
        values, slices = self.array(values, i), [str(piece) for piece in slices]
        if values.ndim == 2:
            values = values[:, self.column(i, values.shape[1])]
        if values.shape != (len(slices),):
            raise self.error(f"values of shape {values.shape} for {len(slices)} slices: give one a slice", i)
        text = self.texts[i]
        for encoding in (self.encodings[i], self.used[i]):
            if self.in_order(encoding, text, slices):
                return values
        written, spelt = _characters([text]), _characters(slices)
        if not _same(written, spelt):  # slices may spell special tokens
            special = set(self.model.tokenizer.all_special_tokens)
            slices = ["" if piece.strip() in special else piece for piece in slices]
            spelt = _characters(slices)
        if not _same(written, spelt):
            if all(piece.strip() in text for piece in slices):
                raise self.error(
                    f"its {len(slices)} words are not the text in order (LIME's as_list() has each once): "
                    "give one score a word of text.split()",
                    i,
                )
            begins = "".join(slices)[:40]
            raise self.error(
                f"its {len(slices)} slices spell {begins!r} and the text is {text[:40]!r}: explain the same "
                "text",
                i,
            )
        for unit, (piece, value) in enumerate(zip(slices, values, strict=True)):
            if value != 0 and piece and not piece.strip():
                raise self.error(
                    f"slice {unit} is blank and has the score {value:.3g}: give one a token, or 0 there",
                    i,
                )
        slice_at = np.full(len(text) + 1, -1)
        slice_at[[place for _, place, _ in written]] = [unit for _, _, unit in spelt]
        owners = [set(slice_at[start:stop].tolist()) - {-1} for start, stop in self.offsets(i)]
        return self.shared(i, values, owners, slices)

    def in_order(self, encoding, text, slices):
        """Whether slices are the tokens of an encoding, one for one: each begins where its token does."""
        if encoding.spans is None or len(slices) != len(encoding.ids):
            return False
        for piece, maskable, (start, end) in zip(slices, encoding.maskable, encoding.spans, strict=True):
            token, slice_text = text[start:end].strip().casefold(), piece.strip().casefold()
            if maskable and not slice_text.startswith(token) and not token.startswith(slice_text):
                return False
        return True

    def column(self, i, outputs):
        """Which of several outputs is explained."""
        if outputs == 1:
            return 0
        if self.targets is None:
            raise self.error(f"values of {outputs} outputs: give targets, or the Explanation of one output")
        target = int(self.targets[i])
        if not 0 <= target < outputs:
            raise self.error(f"target {target} is not one of {outputs} outputs: give 0 to {outputs - 1}", i)
        return target

    def offsets(self, i):
        """The first character of each token and the one behind its last; (0, 0) outside `text`."""
        if self.encodings[i].spans is None:
            raise self.error(
                f"{self.model.name} does not know the characters of its tokens: give one score per token", i
            )
        return self.encodings[i].spans.tolist()


def _misplaced(rows, encodings):
    """How many scores other than 0 stand at tokens that are never scored."""
    pairs = zip(rows, encodings, strict=True)
    return sum(np.count_nonzero(np.nan_to_num(row)[~e.maskable]) for row, e in pairs)


def _is_inseq(item):
    return hasattr(item, "target_attributions") and hasattr(item, "attr_pos_start")


def _is_captum(item):
    return hasattr(item, "seq_attr") and hasattr(item, "output_tokens")


def _is_shap(item):
    return hasattr(item, "base_values") and hasattr(item, "data") and hasattr(item, "values")


def _is_pairs(item):
    """Whether these are (token, score) of one text."""
    listed = isinstance(item, (list, tuple)) and len(item) > 0
    return listed and all(
        isinstance(x, (list, tuple)) and len(x) == 2 and isinstance(x[0], str) and not isinstance(x[1], str)
        for x in item
    )


def _characters(slices):
    """(character, place, slice) of each character that is no blank; the place counts from the first slice."""
    places = ((c, unit) for unit, piece in enumerate(slices) for c in piece)
    return [(c, place, unit) for place, (c, unit) in enumerate(places) if not c.isspace()]


def _same(a, b):
    """Whether two lists of `_characters` spell the same, but for case."""
    return [c.casefold() for c, *_ in a] == [c.casefold() for c, *_ in b]
