"""Answers to the exercises: right ones pass, and plausible wrong ones get the hint that names the mistake."""

from importlib import import_module

import numpy as np
import pytest
import torch
from checks import lesson_09, lesson_10
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from faithlib.statistics import crossed_interval, seeds_interval, text_interval
from replication.verdicts import judge

LEAST = 8  # wrong answers a lesson


def first(order, k):
    """The mask of the k first of an order."""
    return np.isin(np.arange(len(order)), order[: int(k)])


def ranked(n):
    """A choice of k = ⌈ratio · n⌉ tokens as a student may write it, with one of the usual mistakes."""
    return {
        "ties": lambda s, r: first(np.argsort(s)[::-1], np.ceil(round(r * len(s), 9))),
        "float": lambda s, r: first(np.argsort(-s, kind="stable"), np.ceil(r * len(s))),
        "down": lambda s, r: first(np.argsort(-s, kind="stable"), r * len(s)),
        "indices": lambda s, r: np.argsort(-s, kind="stable")[: int(np.ceil(r * len(s)))],
        "absolute": lambda s, r: first(np.argsort(-abs(s)), np.ceil(r * len(s))),
    }[n]


def shuffled_all(scores, maskable, rng):
    return rng.permutation(scores)


def shuffled_in_place(scores, maskable, rng):
    scores[maskable] = rng.permutation(scores[maskable])
    return scores


def shuffled_by_another(scores, maskable, rng):
    return shuffled_in_place(scores.copy(), maskable, np.random.default_rng())


def redrawn(scores, maskable, rng):
    return np.where(maskable, rng.random(len(scores)), scores)


def wins(u, v, tie):
    return np.where(u == v, tie, u > v).mean()


def pairs_with_diagonal(y, pairs):
    return (y - pairs).max(1)


def next_mask(scores, masked, total, kind="stable"):
    order = np.argsort(-np.where(masked, np.inf, scores), kind=kind)
    return np.isin(np.arange(len(scores)), order[:total])


def area(x, measure, random, end=-1):
    return np.trapezoid(np.subtract(random, measure), x) / np.trapezoid(np.subtract(random, random[end]), x)


def accuracy(masks, labels):
    return cross_val_score(LogisticRegression(), masks, labels, cv=5).mean()


def in_sample(masks, labels):
    return LogisticRegression().fit(masks, labels).score(masks, labels)


def largest(labels):
    return np.bincount(labels).max() / len(labels)


def rank_p(z, reference):
    below = np.mean(reference < z)
    return min(below, 1 - below)


def simes(p):
    p = np.sort(p)
    return (p * len(p) / np.arange(1, len(p) + 1)).min()


def tolerated(keeps, halvings=10):
    low = 0.0
    for step in range(1, halvings + 1):
        low += 0.5**step * keeps(low + 0.5**step)
    return low


def upper(keeps, halvings=10):
    return tolerated(keeps, halvings) + 0.5**halvings


def grid(keeps, halvings=10):
    return max((k / 2**halvings for k in range(2**halvings) if keeps(k / 2**halvings)), default=0.0)


def hellinger(p, q):
    return (np.sqrt(p) - np.sqrt(q)) @ (np.sqrt(p) - np.sqrt(q))


def highest(scores, share, least=1, more=1e-9):
    return np.sort(np.argsort(-scores, kind="stable")[: max(least, int(share * len(scores) + more))])


def textrank(links, d=0.85, over=0, times=200):
    sigma = np.ones(len(links))
    for _ in range(times):
        weights = sigma / links.sum(0)
        sigma = 1 - d + d * (links @ weights if over == 0 else (links @ sigma) / links.sum(0))
    return sigma


def kl(a, s):
    a, s = a / a.sum(), s / s.sum()
    return np.sum(a[a > 0] * np.log(a[a > 0] / s[a > 0]))


def flip_fraction(scores, predicted, last=False, never=1.0, again=False):
    deleted, before, fraction = np.zeros(len(scores), bool), predicted(np.zeros(len(scores), bool)), never
    for k, token in enumerate(np.argsort(-scores, kind="stable"), 1):
        deleted = np.zeros(len(scores), bool) if again else deleted
        deleted[token] = True
        if predicted(deleted.copy()) != before:
            fraction = k / len(scores)
            if not last:
                return fraction
    return fraction


PARTS = ("unit", "value", "low", "high", "texts", "verdict")


def card(gain, holes=True, one="texts", several="models × texts", crossed=crossed_interval, word=None):
    gain = gain[:, ~np.isnan(gain).any(0)] if holes else np.nan_to_num(gain)
    single = len(gain) == 1
    interval = text_interval(gain[0], names=["my", "claim"]) if single else crossed(gain)
    unit = one if single else several
    values = unit, interval.value, interval.low, interval.high, gain.shape[1], word or judge(interval).word
    return dict(zip(PARTS, values, strict=True))


def over_models(gain):
    return seeds_interval(gain.mean(1))


def t_interval(values, ddof=1, p=0.975, root=0.5, least=3, of_df=1):
    n, reach = len(values), stats.t.ppf(p, max(1, len(values) - of_df)) * np.std(values, ddof=ddof)
    return np.mean(values) + np.array([-1, 1]) * (reach / n**root if n >= least else np.nan)


def normal(values):
    return np.mean(values) + np.array([-1.96, 1.96]) * np.std(values, ddof=1) / len(values) ** 0.5


def verdict(low, high, bound=0.0):
    if np.isnan(low):
        return "not tested"
    return untested(low, high, bound)


def untested(low, high, bound=0.0):
    return "holds" if low > bound else "does not hold" if high < bound else "undecided"


def holm(p, least=True, most=1):
    order = np.argsort(p)
    adjusted = np.minimum(most, p[order] * np.arange(len(p), 0, -1))
    return (np.maximum.accumulate(adjusted) if least else adjusted)[np.argsort(order)]


def block(n, rng):
    """One block of masked tokens, at a random place."""
    return np.roll(np.arange(n) < rng.random() * n, rng.integers(n))


def to_one_digit(scores, ratio):
    k = int(np.ceil(round(ratio * len(scores), 1)))
    return np.isin(np.arange(len(scores)), np.argsort(-scores, kind="stable")[:k])


def by_absolute(scores, evidence):
    return evidence[np.argsort(-np.abs(scores))[: evidence.sum()]].mean()


PAGE = {
    "claim": "A is more faithful than B", "model": "MiniLM, accuracy .79", "texts": "reviews",
    "metric": "NC, higher is better", "baseline": "random scores", "unit": "texts", "n": 50, "value": 0.1,
    "low": 0.02, "high": 0.2, "verdict": "holds", "choice": "metric: flip", "low_there": -0.1,
    "high_there": 0.1, "verdict_there": "undecided", "not_tested": "other models, other data, other seeds",
    "erasing": "[MASK], 20 % of the tokens; 2 of 52 texts void", "value_there": 0.0,
}  # fmt: skip
OPPOSITE = {"low_there": -0.2, "high_there": -0.1, "verdict_there": "does not hold"}

ANSWERS = [
    (0, "vote", "a", "how far does the probability fall"),
    (0, "leave_one_out", lambda p, q: q - p, "right but for the signs"),
    (0, "leave_one_out", lambda p, q: abs(p - q), "right but for the signs"),
    (0, "leave_one_out", lambda p, q: p - q.mean(), "an array of shape (3,) is expected, not a number"),
    (0, "leave_one_out", lambda p, q: q, "probability of the whole text"),
    (0, "opposite", "negative", "which word did the model use"),
    (0, "after_swap", "always", "if the model used the opinion"),
    (0, "after_swap", "half", "if the model used neither"),
    (1, "changing", {...}, "write a set of some of"),
    (1, "changing", {"attention", "leave_one_out"}, "does it know the target"),
    (1, "changing", {"leave_one_out"}, "scaled_attention is computed from the output"),
    (1, "input_x_gradient", lambda e, g: abs((e * g).sum(-1)), "right but for the sign"),
    (1, "input_x_gradient", lambda e, g: abs(e * g).sum(-1), "with their signs"),
    (1, "input_x_gradient", lambda e, g: torch.tensor(e * g, requires_grad=True).sum(-1), "right"),
    (1, "completeness_gap", lambda s, y, b: abs(abs(sum(s)) - abs(y - b)), "keep the signs"),
    (1, "completeness_gap", lambda s, y, b: abs(sum(s)) - abs(y - b), "keep the signs"),
    (1, "completeness_gap", lambda s, y, b: y - b - sum(s), "right but for the sign"),
    (1, "leave_two_out", lambda y, p: np.where(np.eye(len(p)), -9, abs(y - p)).max(1), "absolute values"),
    (3, "comprehensiveness", lambda full, rest: max(0, full - rest), "np.maximum"),
    (5, "min_max", lambda s: (s - s.min()) / s.max(), "not by the largest"),
    (5, "min_max", lambda s: s.argsort().argsort() / (len(s) - 1), "these are ranks"),
    (5, "soft_mask", lambda a, u, keep: u < (a if keep else 1 - a), "makes a column"),
    (5, "soft_mask", lambda a, u, keep: u < (1 - a if keep else a)[:, None], "are swapped"),
    (1, "input_x_gradient", lambda e, g: np.linalg.norm(e * g, axis=1), "a norm loses the sign"),
    (1, "input_x_gradient", lambda e, g: e * g, "an array of shape (3,) is expected"),
    (1, "completeness_gap", lambda s, y, b: s.sum() - (y - b), "right but for the sign"),
    (1, "completeness_gap", lambda s, y, b: abs(s.sum() - y), "compare the sum"),
    (1, "completeness_gap", lambda s, y, b: abs(abs(s.sum()) - abs(y - b)), "keep the signs"),
    (1, "redundant", "large", "removes one word only"),
    (1, "leave_two_out", pairs_with_diagonal, "leave the diagonal out"),
    (1, "leave_two_out", lambda y, p: (y - p).min(1), "for each token, the largest"),
    (1, "leave_two_out", lambda y, p: np.array([1, 1, 2]), "the smallest loss of a pair"),
    (2, "precision", lambda s, e: e[s.argmax()], "counts the highest token alone"),
    (2, "precision", lambda s, e: e[np.argsort(-s)[: e.sum()]].sum() / len(s), "divide by the h highest"),
    (2, "auprc", "high", "does this model use them"),
    (2, "swap", lambda text: text, "stays as it is"),
    (2, "swap", str.split, "a text is expected, not list"),
    (2, "swap", lambda text: text.replace("copper", "garlic"), "and should become"),
    (2, "comprehensiveness", "near 1", "what is left that the model uses"),
    (3, "comprehensiveness", lambda p, q: q - p, "right but for the sign"),
    (3, "comprehensiveness", lambda p, q: p - q, "use max"),
    (3, "comprehensiveness", lambda p, q: max(0, p - q), "your function raises ValueError"),
    (3, "sufficiency", lambda p, q: p - q, "lower is better: take 1 minus it"),
    (3, "sufficiency", lambda p, q: 1 - (p - q), "where it rises, S is 1"),
    (3, "choose", ranked("ties"), "right for ratio 1, wrong for ties"),
    (3, "choose", ranked("float"), "round before you round up"),
    (3, "choose", ranked("down"), "round up: 0.3 of 4 tokens are 2"),
    (3, "choose", ranked("indices"), "not the indices"),
    (3, "choose", ranked("absolute"), "no absolute values"),
    (3, "nc_of_default", 0.06, "this is C"),
    (3, "nc_of_default", "six", "a number is expected"),
    (3, "fall", "near 1", "the other opinion word"),
    (4, "matched", shuffled_all, "wrong for special tokens"),
    (4, "matched", shuffled_in_place, "work on a copy"),
    (4, "matched", shuffled_by_another, "draw from rng alone"),
    (4, "matched", redrawn, "permute the scores, do not draw new ones"),
    (4, "matched", lambda s, m, rng: s.copy(), "nothing was shuffled"),
    (4, "matched", lambda s, m, rng: np.append(s[:1], [*s[-2:0:-1], s[-1]]), "use rng"),
    (4, "diagnosticity", wins, "within 1e-6 are tied"),
    (4, "diagnosticity", lambda u, v, tie: (u > v + 1e-6).mean(), "wrong for ties of 1"),
    (4, "strict", 0.5, "here a tie is a loss"),
    (4, "rule", "half", "as it should be"),
    (5, "min_max", lambda s: s.clip(0) / s.max(), "not cut off at 0"),
    (5, "min_max", lambda s: (s - s.min()) / max(s.max() - s.min(), 1e-9), "right but for equal scores"),
    (5, "soft_mask", lambda a, u, keep: u >= a[:, None], "the mask of what is removed"),
    (5, "soft_mask", lambda a, u, keep: u < a[:, None], "keep_important=False gives the same"),
    (5, "soft_mask", lambda a, u, keep: u[:, 0] < a, "(tokens, width) is expected"),
    (5, "higher", "sharp", "how much of the text does it keep"),
    (5, "equal_retention", lambda a, share: a + share - a.mean(), "between 0 and 1"),
    (5, "equal_retention", lambda a, share: np.full(len(a), share), "shift all scores by one constant"),
    (5, "equal_retention", lambda a, share: a * share, "the mean is 0.1250 and should be 0.5"),
    (5, "prefers", "good", "keeps with 1 − a"),
    (0, "leave_one_out", lambda p, q: 0.9 - q, "compute the scores from"),
    (0, "leave_one_out", lambda p, q: np.array([0, 0.65, -0.05]), "compute the scores from"),
    (0, "leave_one_out", lambda p, q: np.round(p - q, 1), "probability of the whole text"),
    (0, "leave_one_out", lambda p, q: (p - q).clip(0), "probability of the whole text"),
    (2, "precision", by_absolute, "not their absolute values"),
    (2, "precision", lambda s, e: e[np.argsort(s)[: e.sum()]].mean(), "these are the lowest"),
    (2, "precision", lambda s, e: e[np.argsort(-s)[: e.sum() + 1]].mean(), "of the 2 highest of 4"),
    (2, "precision", lambda s, e: 0.5, "not their absolute values"),
    (3, "choose", to_one_digit, "keep more digits"),
    (6, "leakage", lambda m, y: abs(accuracy(m, y) - largest(y)), "no absolute value"),
    (6, "leakage", lambda m, y: max(0, accuracy(m, y) - largest(y)), "right"),
    (7, "random_mask", block, "in one block"),
    (6, "next_mask", next_mask, "right"),
    (6, "next_mask", lambda s, m, k: next_mask(s, m, k).astype(int), "right"),
    (6, "next_mask", lambda s, m, k: np.argsort(-s)[:k], "not the indices"),
    (6, "next_mask", lambda s, m, k: next_mask(-s, m, k), "the highest scores"),
    (6, "next_mask", lambda s, m, k: next_mask(s, False, k), "masked tokens stay masked"),
    (6, "next_mask", lambda s, m, k: m | next_mask(s, False, k), "masked tokens stay masked"),
    (6, "next_mask", lambda s, m, k: next_mask(s[::-1], m[::-1], k)[::-1], "right but for ties"),
    (6, "next_mask", lambda s, m, k: next_mask(np.abs(s), m, k), "scores may be negative"),
    (6, "next_mask", lambda s, m, k: None, "returns nothing yet"),
    (6, "next_mask", 3, "a function is expected"),
    (6, "after_four", " B", "right"),
    (6, "after_four", "a", "the curve of Recursive ROAR"),
    (6, "after_four", "d", "is no choice"),
    (6, "after_four", None, "no answer yet"),
    (6, "relative_area", area, "right"),
    (6, "relative_area", lambda x, p, b: np.trapezoid(np.subtract(b, p), x), "1/8 and 1/4"),
    (6, "relative_area", lambda x, p, b: max(area(x, p, b), 0), "below 0"),
    (6, "relative_area", lambda x, p, b: np.clip(area(x, p, b), -1, 1), "within [0, 1] only"),
    (6, "relative_area", lambda x, p, b: area(np.linspace(0, 1, len(x)), p, b), "equal steps only"),
    (6, "clue", "c", "right"),
    (6, "clue", "b", "needs no opinion word"),
    (6, "leakage", lambda m, y: accuracy(m, y) - largest(y), "right"),
    (6, "leakage", accuracy, "subtract the share"),
    (6, "leakage", lambda m, y: in_sample(m, y) - largest(y), "not trained on"),
    (6, "leakage", lambda m, y: 0.0, "not noticed"),
    (6, "leakage", lambda m, y: accuracy(m, y) - 0.5, "equal classes only"),
    (6, "leakage", lambda m, y: 2 * (accuracy(m, y) - largest(y)), "is not possible"),
    (6, "leakage", lambda m, y: np.zeros(2), "one number"),
    (7, "on_masks", "b", "right"),
    (7, "on_masks", "a", "never taught"),
    (7, "random_mask", lambda n, rng: rng.random(n) < rng.random(), "right"),
    (7, "random_mask", lambda n, rng: rng.random(n) < 0.5, "draw a ratio for each text"),
    (7, "random_mask", lambda n, rng: rng.random(n) > rng.random(), "right"),
    (7, "random_mask", lambda n, rng: np.full(n, rng.random() < rng.random()), "masked as a whole"),
    (7, "random_mask", lambda n, rng: (rng.random(n) < rng.random()) & (np.arange(n) > 0), "some places"),
    (7, "random_mask", lambda n, rng: rng.random(n) < rng.random() ** 2, "on average half"),
    (7, "random_mask", lambda n, rng: np.random.default_rng(0).random(n) < 0.4, "the same mask"),
    (7, "random_mask", lambda n, rng: rng.random(n), "one bool a token"),
    (7, "random_mask", lambda n, rng: np.random.random(n) < np.random.random(), "draw from `rng` alone"),
    (7, "random_mask", lambda n, rng: rng.random(n) < rng.beta(0.7, 0.7), "equally likely"),
    (7, "random_mask", lambda n, rng: rng.random(n) < rng.beta(2, 2), "equally likely"),
    (7, "rank_p", rank_p, "right"),
    (7, "rank_p", lambda z, r: np.mean(r < z), "below the middle only"),
    (7, "rank_p", lambda z, r: 2 * rank_p(z, r), "the value is 0.3"),
    (7, "rank_p", lambda z, r: min(np.mean(r <= z), 1 - np.mean(r <= z)), "equal values"),
    (7, "simes", simes, "right"),
    (7, "simes", lambda p: p.min(), "of 0.01, 0.5, 0.9"),
    (7, "simes", lambda p: p.min() * len(p), "of 0.04, 0.05, 0.06"),
    (7, "simes", lambda p: (p * len(p) / np.arange(1, len(p) + 1)).min(), "sorted p-values only"),
    (8, "tolerated_scale", tolerated, "right"),
    (8, "tolerated_scale", upper, "two halvings find 0.25"),
    (8, "tolerated_scale", lambda keeps, halvings=10: tolerated(keeps, 2), "ten halvings"),
    (8, "tolerated_scale", grid, "it asks 1024 times"),
    (8, "hellinger", lambda p, q: (hellinger(p, q) / 2) ** 0.5, "right"),
    (8, "hellinger", lambda p, q: hellinger(p, q) ** 0.5, "mind the factor"),
    (8, "hellinger", lambda p, q: hellinger(p, q) / 2, "the root of 0.4"),
    (8, "shown_words", highest, "right"),
    (8, "shown_words", lambda s, share: list(highest(s, share)), "right"),
    (8, "shown_words", lambda s, share: np.argsort(-s)[: max(1, int(share * len(s)))], "order of the text"),
    (8, "shown_words", lambda s, share: highest(s, share, more=0.5), "round down"),
    (8, "shown_words", lambda s, share: highest(s, share, 0), "at least one"),
    (8, "shown_words", lambda s, share: highest(np.abs(s), share), "below 0"),
    (8, "shown_words", lambda s, share: highest(s, share, more=0), "just below 29"),
    (9, "textrank", textrank, "right"),
    (9, "textrank", lambda links, d=0.85: textrank(links, d) / textrank(links, d).sum(), "the scale"),
    (9, "textrank", lambda links, d=0.85: textrank(links, d, over=1), "the token that gives"),
    (9, "textrank", lambda links, d=0.85: textrank(links), "d = 0.85 only"),
    (9, "textrank", lambda links, d=0.85: textrank(links, d, times=2), "0.770, 1.459"),
    (9, "divergence", kl, "right"),
    (9, "divergence", lambda a, s: kl(s, a), "not symmetric"),
    (9, "divergence", lambda a, s: -kl(a, s), "right but for the sign"),
    (9, "divergence", lambda a, s: kl(a, s) / np.log(2), "the logarithm"),
    (9, "divergence", lambda a, s: np.sum(a * np.log(a / s)), "by their sums"),
    (9, "divergence", lambda a, s: np.sum(a / a.sum() * np.log(a / a.sum() / (s / s.sum()))), "but for 0"),
    (9, "flip_fraction", flip_fraction, "right"),
    (9, "flip_fraction", lambda s, p: flip_fraction(s, p, again=True), "stays deleted"),
    (9, "flip_fraction", lambda s, p: flip_fraction(s, p, never=0.0), "never flips"),
    (9, "flip_fraction", lambda s, p: flip_fraction(-s, p), "the best token"),
    (9, "flip_fraction", lambda s, p: flip_fraction(s, p, last=True), "one of four is deleted"),
    (9, "flip_fraction", lambda s, p: flip_fraction(np.abs(s), p), "may be negative"),
    (9, "control", "b", "right"),
    (9, "control", "a", "seed by seed"),
    (10, "covers", "c", "right"),
    (10, "covers", "b", "one side"),
    (10, "t_interval", t_interval, "right"),
    (10, "t_interval", normal, "the normal quantile"),
    (10, "t_interval", lambda v: t_interval(v, p=0.95), "2.5 % on each side"),
    (10, "t_interval", lambda v: t_interval(v, ddof=0), "ddof=1"),
    (10, "t_interval", lambda v: t_interval(v, of_df=0), "degrees of freedom"),
    (10, "t_interval", lambda v: t_interval(v, root=0), "the root of S"),
    (10, "t_interval", lambda v: t_interval(v, least=2), "two values have no interval"),
    (10, "verdict", verdict, "right"),
    (10, "verdict", lambda low, high, bound=0: verdict(low, high), "bound=0 only"),
    (10, "verdict", lambda low, high, bound=0: ("undecided", "holds")[low > bound], "below the bound"),
    (10, "verdict", lambda low, high, bound=0: low > bound, "is no verdict"),
    (10, "verdict", lambda *ends: "not tested" if ends[0] is np.nan else untested(*ends), "np.isnan tells"),
    (10, "verdict", lambda low, high, bound=0: verdict(low + 1e-12, high - 1e-12, bound), "exactly"),
    (10, "holm", holm, "right"),
    (10, "holm", lambda p: p * len(p), "Bonferroni"),
    (10, "holm", lambda p: np.sort(holm(p))[::-1], "order of the input"),
    (10, "holm", lambda p: np.sort(holm(p)), "order of the input"),
    (10, "holm", lambda p: holm(p, least=False), "right but for one thing"),
    (10, "holm", lambda p: holm(p, most=9), "at most 1"),
    (10, "card", card, "right"),
    (10, "card", lambda gain: tuple(card(gain).values()), "yours is no dict"),
    (10, "card", lambda gain: card(gain, several="models x texts"), "right"),
    (10, "card", lambda gain: {"unit": "texts"}, "lacks value"),
    (10, "card", lambda gain: card(gain, one="models × texts"), "one model: the unit is 'texts'"),
    (10, "card", lambda gain: card(gain, crossed=over_models), "three models: the interval"),
    (10, "card", lambda gain: card(gain, holes=False), "texts that are NaN for one model"),
    (10, "card", lambda gain: card(gain, word="holds"), "the verdict is 'undecided', yours"),
    (10, "page", PAGE, "right"),
    (10, "page", PAGE | OPPOSITE | {"verdict": "depends"}, "right"),
    (10, "page", PAGE | OPPOSITE, "follows 'depends'"),
    (10, "page", list(PAGE), "a dict is expected"),
    (10, "page", PAGE | {"baseline": ""}, "baseline is missing: against what?"),
    (10, "page", PAGE | {"erasing": ""}, "erasing is missing: how were tokens erased"),
    (10, "page", PAGE | {"unit": "reviews"}, "use one of texts"),
    (10, "page", PAGE | {"metric": "NC"}, "higher is better or"),
    (10, "page", PAGE | {"metric": "NC, lower is better"}, "of NC, higher is better"),
    (10, "page", PAGE | {"metric": "the decision flip: higher is better"}, "lower is better"),
    (10, "page", PAGE | {"metric": "my own, lower is better", "unit": "models x texts"}, "right"),
    (10, "page", PAGE | {"model": "MiniLM with 22 million weights"}, "how accurate"),
    (10, "page", PAGE | {"baseline": "none at all"}, "against what?"),
    (10, "page", PAGE | {"baseline": "random"}, "scores or their order"),
    (10, "page", PAGE | {"low": np.nan, "high": np.nan}, "without an interval"),
    (10, "page", PAGE | {"low_there": 0.3}, "lies above the upper one"),
    (10, "page", PAGE | {"low_there": 0.02, "high_there": 0.2}, "was the choice varied?"),
    (10, "page", PAGE | {"model": "MiniLM"}, "how accurate"),
    (10, "page", PAGE | {"value": 0.3}, "above its interval"),
    (10, "page", PAGE | {"low": -0.1}, "follows 'undecided'"),
    (10, "page", PAGE | {"value": "large"}, "write a number"),
    (10, "page", PAGE | {"not_tested": "nothing"}, "name models, data or choices"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "name", "answer", "line"), ANSWERS, ids=range(len(ANSWERS)))
def test_an_answer_gets_its_line(number, name, answer, line, capsys):
    with np.errstate(all="ignore"):
        passed = getattr(import_module(f"checks.lesson_{number:02}"), name)(answer)
    (printed,) = capsys.readouterr().out.splitlines()
    assert printed == "right" if line == "right" else line in printed
    assert bool(passed) == (line == "right")


def test_a_page_has_the_numbers_of_a_card(capsys):
    cards = {
        "nc": dict(texts=50, value=0.1, low=0.02, high=0.2),
        "flip": dict(texts=9, value=0, low=-1, high=1),
    }
    assert lesson_10.page(PAGE, cards)
    assert not lesson_10.page(PAGE | {"n": 10**6}, cards)
    assert "n, 1000000: none of your cards has this number" in capsys.readouterr().out


def test_every_lesson_has_its_wrong_answers():
    wrong = [number for number, *_, line in ANSWERS if line != "right"]
    assert min(wrong.count(number) for number in range(11)) >= LEAST


def test_graph_of_a_text_links_near_tokens():
    assert lesson_09.graph([7, 8, 7, 9], window=2).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
