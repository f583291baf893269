"""Which words a model of planted texts uses, measured on natural inputs: nothing is erased."""

import numpy as np

from faithlib.corpora import planted
from faithlib.engine import forward
from notebooks.ground_truth_2.measure.planted_pairs import EXCHANGED
from notebooks.ground_truth_2.measure.planted_texts import GRADES

SWAPS = 5  # neutral words that each word of evidence is exchanged for
FALL = 1.0  # of the log odds of the class, by which a text counts
APART = 0.1  # by which the effects of two words differ, so that their order counts
CLIP = 1e-7  # probabilities are kept so far from 0 and 1


def log_odds(classifier, texts, targets):
    """log p / (1 − p) of each text's target: (texts,)."""
    variants = [forward.unchanged(e) for e in classifier.encode(texts)]
    p = forward.target_values(classifier, variants, targets, "probability").clip(CLIP, 1 - CLIP)
    return np.log(p / (1 - p))


def fall(classifier, rows, targets, words, generator):
    """The fall of the target's log odds where words are exchanged for neutral ones: (examples,), over SWAPS.

    words: [[int]], for each example the indices of the words.
    """
    falls = [log_odds(classifier, [row["text"] for row in rows], targets)]
    for _ in range(SWAPS):
        texts = [exchanged(row["text"], places, generator) for row, places in zip(rows, words, strict=True)]
        falls.append(log_odds(classifier, texts, targets))
    return falls[0] - np.mean(falls[1:], axis=0)


def exchanged(text, places, generator):
    """The text with the words at these indices exchanged for neutral nouns."""
    words = text.split()
    for place in places:
        words[place] = str(generator.choice(planted.OBJECTS))
    return " ".join(words)


def used(classifier, rows, targets, generator):
    """Which texts count: exchanging all evidence makes log odds fall by more than FALL, (examples,) bool."""
    return fall(classifier, rows, targets, [row["evidence"] for row in rows], generator) > FALL


def ordered(classifier, rows, targets, generator):
    """For graded texts, whether two words are used in the planted order: (examples, 3) bool.

    Column k is true where the effect of the heavier word of `planted_pairs.EXCHANGED`[k] is larger than that
    of the lighter by more than APART. An effect is the `fall` for this word alone.
    """
    effects = []
    for rank in range(len(GRADES)):
        words = []
        for row in rows:
            heaviest_first = np.argsort(-np.array(row["weights"]), kind="stable")
            words.append([row["evidence"][heaviest_first[rank]]])
        effects.append(fall(classifier, rows, targets, words, generator))
    return np.array([effects[heavy] - effects[light] > APART for heavy, light in EXCHANGED]).T
