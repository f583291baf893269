"""Sentiment with negation, built so that a bag of words does not determine the label.

A text is a few short clauses joined by commas, in random order:

    cue      the <aspect> was [not] [<intensifier>] <positive or negative adjective>
    neutral  the <aspect> was [not] [<intensifier>] <neutral adjective>
    filler   we saw it on a monday, ...

There are three kinds of examples. *plain*: one cue without "not". *redundant*: two cues of the same
polarity, either of which is enough. *negated*: one "not", either before the cue, where it reverses the
label, or before the neutral adjective, where it has no effect. Negated examples come as twins that differ
only in the place of "not". Twins have the same bag of words and opposite labels, so a bag-of-words
classifier is right on exactly one of the two.

    "the plot was not great , the film was very long ."    negative; evidence: not great
    "the plot was great , the film was not very long ."    positive; evidence: great
"""

from faithlib.corpora.grammar import choose, example, join, phrase, words_of

LABELS = ("negative", "positive")

WORDS = words_of("sentiment")
POSITIVE, NEGATIVE, NEUTRAL = (WORDS[name].split() for name in ("positive", "negative", "neutral"))
ASPECTS, INTENSIFIERS = WORDS["aspects"].split(), WORDS["intensifiers"].split()
FILLERS = [phrase(text) for text in WORDS["fillers"]]


def generate(rng):
    """One group of related examples: a plain or a redundant one, or two "negated" twins."""
    positive = bool(rng.integers(2))
    kind = choose(rng, ("plain", "redundant", "negated"))
    aspects = rng.permutation(ASPECTS)
    cue = _cue(rng, aspects[0], positive)
    neutral = _clause(rng, aspects[1], choose(rng, NEUTRAL))
    filler = choose(rng, FILLERS)
    if kind == "negated":
        order = rng.permutation(3 if rng.integers(3) == 0 else 2)  # mostly without the filler
        near = [_negate(cue, evidence=True), neutral, filler]
        far = [cue, _negate(neutral, evidence=False), filler]
        twins = (near, not positive), (far, positive)
        return [example(join([clauses[i] for i in order]), label, kind) for clauses, label in twins]
    clauses = [cue, filler]
    if kind == "redundant":
        clauses.append(_cue(rng, aspects[2], positive))
    elif rng.integers(2):
        clauses.append(neutral)
    order = rng.permutation(len(clauses))
    return [example(join([clauses[i] for i in order]), positive, kind)]


def _clause(rng, aspect, adjective):
    """The clause "the <aspect> was [<intensifier>] <adjective>"."""
    intensifier = choose(rng, INTENSIFIERS) + "/ADV " if rng.integers(4) == 0 else ""
    return phrase(f"the/DET {aspect}/NOUN was/AUX {intensifier}{adjective}/ADJ")


def _cue(rng, aspect, positive):
    """A clause whose adjective is evidence."""
    clause = _clause(rng, aspect, choose(rng, POSITIVE if positive else NEGATIVE))
    return [*clause[:-1], (*clause[-1][:2], True)]  # the last word is the adjective


def _negate(clause, evidence):
    """The clause with "not", which is marked as evidence or not."""
    return [*clause[:3], ("not", "PART", evidence), *clause[3:]]  # after "the <aspect> was"
