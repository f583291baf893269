"""Where in a text an attribution puts its importance: on the subject, the distractor, anything else named."""

import numpy as np
import pandas as pd

from faithlib.metrics.plausibility import check_scores, evidence_tokens

COLUMNS = ["example", "attribution", "part", "share", "chance"]


def words_of(text, phrase):
    """Indices of the words of text.split() that hold a letter or digit of `phrase`, where it first occurs.

    "Japan" is the word "Japan,": punctuation at its edges belongs to it. An empty phrase has no word.
    Raises ValueError for a phrase that the text does not have.
    """
    start = text.find(phrase)
    if start < 0:
        raise ValueError(f"{phrase!r} is not in {text[:40]!r}: give a part as the text has it")
    first = len(text[:start + 1].split()) - 1
    return list(range(first, first + len(phrase.split())))


def part_shares(encodings, parts, scores):
    """The share of each part in the scores of a text: a DataFrame, one row a value, with COLUMNS.

    share = Σ_(i in part) |s_i| / Σ_i |s_i| over the maskable tokens, in [0, 1], NaN where all scores are 0;
    chance: the part's share of the tokens, which is what a random order has. After Figure 2 of Ghasemi
    Madani et al. 2025, which adds up the scores themselves; absolute ones are shares where signs are mixed.
    parts: for each example {part: indices of its words}; scores: {attribution: [(tokens,)]}. Raises
    ValueError where lengths do not belong together and for scores that are not finite.
    """
    if len(parts) != len(encodings):
        raise ValueError(f"parts of {len(parts)} examples for {len(encodings)} encodings: give as many")
    check_scores(encodings, scores)
    rows = []
    for i, (encoding, named) in enumerate(zip(encodings, parts, strict=True)):
        for name, given in scores.items():
            size = np.abs(np.asarray(given[i], float)) * encoding.maskable
            for part, words in named.items():
                tokens = evidence_tokens(encoding, words)
                share = size[tokens].sum() / size.sum() if size.any() else np.nan
                rows.append((i, name, part, share, tokens.sum() / encoding.maskable.sum()))
    return pd.DataFrame(rows, columns=COLUMNS)
