"""Language models: the class of a planted text is its next word; their log ratio, and metrics of a judge."""

from functools import partial

import numpy as np

from faithlib.corpora import planted
from faithlib.corpora.grammar import with_gaps
from faithlib.metrics import answerability, soft, soft_causal
from faithlib.scores import uniform
from notebooks.ground_truth_2.measure.entries import Entry, hard
from notebooks.noiser.log_ratio import log_ratio as of_means

JUDGE = 1000  # what the judge's seed is higher by
SHARE = 0.5  # of the words, which the judge is shown
LOWEST = -1e9  # of a log ratio whose Soft-NS or Soft-NC is 0
HARD = ("aopc_sufficiency", "aopc_comprehensiveness", "f_fidelity_plus", "f_fidelity_minus")
MAPS = ("clip", "rank", "equal")  # of soft metrics; the paper clips scores to [0, 1]


def targets(model, rows):
    """What is explained of each text, (texts,) int: its class; of a language model the token that names it.

    >>> from faithlib import models
    >>> lm = models.load_causal("tiny-llama", ["neither the first nor the second"])
    >>> int(targets(lm, [{"label": 0}])[0]) == lm.tokenizer.convert_tokens_to_ids("first")
    True
    """
    labels = np.array([row["label"] for row in rows])
    if not hasattr(model, "prefix"):
        return labels
    return np.array(model.tokenizer.convert_tokens_to_ids(list(planted.LABELS)))[labels]


def gapped(splits, seed):
    """Examples whose texts have words left out at random, which a judge learns from: {split: [example]}."""
    return {
        split: [{**row, "text": with_gaps(row["text"], seed)} for row in rows]
        for split, rows in splits.items()
    }


def entries(draws, judge, model, texts, targets):
    """What next tokens are scored with in the place of classes, [Entry].

    Args:
        draws: of a metric that draws.
        judge: a `noiser.measure.judge.LocalJudge`.
        model: a CausalLM.
        texts: [str], those that are scored.
        targets: (texts,) int, the tokens that are explained.
    """
    chosen = judged(judge, model, texts, targets) + hard(draws, HARD)
    for how in MAPS:
        for name, keep in (("causal_soft_ns", True), ("causal_soft_nc", False)):
            chosen.append(Entry(name, how, draws, partial(_soft, draws=draws, keep=keep, how=how), 1))
    return [*chosen, Entry("log_ratio", MAPS[0], draws, partial(log_ratio, draws=draws), 1)]


def _soft(inputs, scores, draws, keep, how):
    return soft.of_attribution(inputs, scores, draws, keep, how, soft_causal.of_tokens)


def log_ratio(inputs, scores, draws):
    """ln(NS / NS_random) + ln(NC / NC_random) of each text, means over draws: (examples,).

    The baseline is that of the paper, U[0, 1) for each token, drawn from the seeds of the text: for all
    explanations of a text it is the same. LOWEST where a mean is 0, NaN where one of the baseline is.

    Args:
        inputs: `metrics.inputs.Inputs`.
        scores: [(tokens,)] of one explanation of each.
        draws: Bernoulli draws of the soft metrics.
    """

    def both(scores):
        return [_soft(inputs, scores, draws, keep, MAPS[0]) for keep in (True, False)]

    def random():
        seeds = [inputs.seeds(i, 1)[0] for i in range(len(scores))]
        drawn = [np.random.default_rng([*seed, 1]) for seed in seeds]  # not the Bernoulli draws' streams
        return both([uniform(e, rng) for e, rng in zip(inputs.encodings, drawn, strict=True)])

    values = of_means(np.stack([*both(scores), *inputs.once("log ratio", random)], -1))
    return np.where(np.isposinf(values), np.nan, np.maximum(values, LOWEST))  # NaN stays NaN


def judged(judge, model, texts, targets):
    """The entries of a judge, [Entry]; they erase nothing of the model's own inputs.

    answerability: 1 where the judge's first answer from SHARE of the words is the target, else 0. min_top_k:
    the least share of words from which it still is, in (0, 1]; NaN where it fails with all. Arguments as of
    `entries`.
    """
    answers = model.tokenizer.convert_ids_to_tokens(list(targets))
    about = zip(model.encode(texts), texts, answers, strict=True)
    of_ids = {encoding.ids.tobytes(): (text, answer) for encoding, text, answer in about}

    def asked(inputs, scores):
        prompts, names = zip(*(of_ids[e.ids.tobytes()] for e in inputs.encodings), strict=True)
        return prompts, names, inputs.encodings, {"explanation": scores}

    def answered(inputs, scores):
        table = answerability.answerability(*asked(inputs, scores), judge, SHARE)
        return (table.sort_values("example").place == 1).to_numpy(float)

    def needed(inputs, scores):
        return answerability.minimum_top_k(*asked(inputs, scores), judge).sort_values("example").share

    return [
        Entry("answerability", "", 0, answered, 1, erases=False),
        Entry("min_top_k", "", 0, needed, -1, erases=False),
    ]
