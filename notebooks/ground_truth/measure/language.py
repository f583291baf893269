"""A language model as the model of a unit: the class of a planted text is its next word; and its judge."""

from functools import partial

import numpy as np

from faithlib.corpora import planted
from faithlib.corpora.grammar import with_gaps
from notebooks.ground_truth.card import CARD

MODEL = CARD.models[0]
JUDGE = 1000  # what the judge's seed is higher by
SHARE = 0.5  # of the words, which the judge is shown
LOWEST = -1e9  # of a log ratio whose Soft-NS or Soft-NC is 0
PASSES = {  # of a metric, of n tokens and d draws, for one explanation; those of the judge are its own
    "log_ratio": lambda n, d: 2 * d,
    "answerability": lambda n, d: 1,
    "min_top_k": lambda n, d: 1 + n.bit_length(),  # as long as more words never hurt
}


def targets(model, rows):
    """What is explained of each text, (texts,) int: its class, or the next token that names it.

    Args:
        model: a Classifier or CausalLM; rows: examples.

    Example:
        >>> from faithlib import models
        >>> lm = models.load_causal(MODEL, ["neither the first nor the second"])
        >>> int(targets(lm, [{"label": 0}])[0]) == lm.tokenizer.convert_tokens_to_ids("first")
        True
    """
    labels = np.array([row["label"] for row in rows])
    if not hasattr(model, "prefix"):
        return labels
    return np.array(model.tokenizer.convert_tokens_to_ids(list(planted.LABELS)))[labels]


def gapped(rows, seed):
    """Examples whose texts have words left out at random, which a judge learns from: {split: [example]}."""
    return {
        split: [{**row, "text": with_gaps(row["text"], seed)} for row in part] for split, part in rows.items()
    }


def metrics(judge, rows, draws):
    """The metrics of language models that have no row in the registry for a single text.

    Args:
        judge: a `judge.LocalJudge`.
        rows: the examples that are scored.
        draws: of the log ratio's soft metrics.

    Returns:
        As `protocol.metrics`: the log ratio of Soft-NS and Soft-NC against a random baseline; `answerability`
        (1 where the judge's first answer from half of the words is the class, else 0), and the least share of
        words from which it still is.
    """
    return {
        "log_ratio": (partial(log_ratio, draws=draws), 1),
        "answerability": (partial(answered, judge=judge, rows=rows), 1),
        "min_top_k": (partial(needed, judge=judge, rows=rows), -1),
    }


def log_ratio(inputs, scores, draws):
    """ln(NS / NS_random) + ln(NC / NC_random) of each text, means over draws: (examples,).

    The baseline is that of the paper, U[0, 1) for each token, drawn from the seeds of the text: for all
    explanations of a text it is the same. LOWEST where a mean is 0, NaN where one of the baseline is.

    Args:
        inputs: `metrics.inputs.Inputs`; scores: [(tokens,)] of one explanation of each.
        draws: Bernoulli draws of the soft metrics.
    """
    from faithlib.metrics import soft_causal
    from faithlib.scores import uniform
    from notebooks.noiser import log_ratio

    def both(given):
        return [f(inputs, given, draws) for f in (soft_causal.causal_soft_ns, soft_causal.causal_soft_nc)]

    def random():
        seeds = [inputs.seeds(i, 1)[0] for i in range(len(scores))]
        drawn = [np.random.default_rng([*seed, 1]) for seed in seeds]  # not the Bernoulli draws' streams
        return both([uniform(e, rng) for e, rng in zip(inputs.encodings, drawn, strict=True)])

    values = log_ratio.log_ratio(np.stack([*both(scores), *inputs.once("log ratio", random)], -1))
    return np.where(np.isposinf(values), np.nan, np.maximum(values, LOWEST))  # NaN stays NaN


def answered(inputs, scores, judge, rows):
    """Whether the judge names the class from the SHARE of words with the highest scores: (examples,) 0 or 1.

    Args:
        inputs: `metrics.inputs.Inputs`; scores: [(tokens,)] of one explanation of each.
        judge: a `judge.LocalJudge`; rows: examples, among which those of `inputs` are.
    """
    from faithlib.metrics import answerability

    found = answerability.answerability(*_asked(inputs, scores, rows), judge, SHARE)
    return (found.sort_values("example").place == 1).to_numpy(float)


def needed(inputs, scores, judge, rows):
    """The least share of words that the judge needs, (examples,) in (0, 1]; NaN where it fails with all.

    Args: as of `answered`.
    """
    from faithlib.metrics import answerability

    return answerability.minimum_top_k(*_asked(inputs, scores, rows), judge).sort_values("example").share


def _asked(inputs, scores, rows):
    """Texts, the names of their classes, encodings and scores: what answerability takes."""
    encodings = inputs.model.encode([row["text"] for row in rows])
    of = {e.ids.tobytes(): row for e, row in zip(encodings, rows, strict=True)}
    found = [of[e.ids.tobytes()] for e in inputs.encodings]
    names = [planted.LABELS[row["label"]] for row in found]
    return [row["text"] for row in found], names, inputs.encodings, {"explanation": scores}
