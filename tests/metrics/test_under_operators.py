"""Every erasing metric under every operator: values by hand on tiny models."""

import numpy as np
import pytest
import tiny
from wrong import refused

from faithlib.engine import forward
from faithlib.engine.operators import OPERATORS, Operator
from faithlib.metrics import erasure, fidelity, flip, normalised, registry, soft, soft_causal
from faithlib.metrics.inputs import Inputs

TEXT = "it was not great , it was long and boring"
UNIGRAMS = [6, 7, 8, 9]
ERASING = (
    "ns nc soft_ns soft_nc equal_soft_ns equal_soft_nc decision_flip naopc_comprehensiveness "
    "naopc_sufficiency aopc_comprehensiveness aopc_sufficiency f_fidelity_plus f_fidelity_minus"
).split()
CAUSAL = "causal_soft_ns causal_soft_nc causal_equal_soft_ns causal_equal_soft_nc".split()


def operator(model, name, by=""):
    """An operator with all that it may need; three replacement texts, so that their number shows."""
    return Operator(model, name, by, UNIGRAMS, "metrics", texts=3)


def inputs(name, by="", model=None):
    model = model or tiny.classifier()
    return Inputs(model, model.encode([TEXT]), [1], seed=3, operator=operator(model, name, by))


def scores(study):
    """Scores 0 to 9 of the ten tokens, in a fixed order of no pattern."""
    values = np.zeros(len(study.encodings[0].ids))
    values[study.encodings[0].maskable] = [3, 9, 0, 7, 1, 5, 8, 2, 6, 4]
    return [values]


def by_hand(study, name, erased):
    """The class probabilities of the text without the tokens at `erased`: (classes,)."""
    (e,), model = study.encodings, study.model
    at = np.flatnonzero(erased)
    if name == "delete":
        shorter = e.at(np.delete(np.arange(len(e.ids)), at))
        return forward.probabilities(model, [forward.unchanged(shorter)])[0]
    if name == "zero":
        kept = np.ones(len(e.ids))
        kept[at] = 0
        return forward.probabilities(model, [forward.Variant(e, factor=lambda: kept, key=None)])[0]
    rows = study.erasing("").variants(e, np.ones(len(e.ids), bool)) if name == "resample" else [None]
    p = []
    for row in rows:
        ids = e.ids.copy()
        ids[at] = row.encoding.ids[at] if row else {"mask": 4, "pad": 0}[name]
        changed = tiny.encoding(len(ids), np.flatnonzero(e.maskable), ids)
        p.append(forward.probabilities(model, [forward.unchanged(changed)])[0])
    return np.mean(p, axis=0)


def order(study):
    """The tokens, most important first."""
    (s,), (e,) = scores(study), study.encodings
    return [i for i in np.argsort(-s, kind="stable") if e.maskable[i]]


def at(tokens, n):
    """A mask of n tokens: (n,) bool."""
    return np.isin(np.arange(n), tokens)


@pytest.mark.parametrize("name", OPERATORS)
def test_hard_metrics_by_hand(name):
    study = inputs(name)
    ranked, n = order(study), len(study.encodings[0].ids)
    full = study.p_full[0]
    s_zero = 1 - max(0, full - by_hand(study, name, at(ranked, n))[1])
    s, c = [], []
    for k in (1, 1, 1, 2, 5):  # of ten tokens, at the five ratios
        s.append(1 - max(0, full - by_hand(study, name, at(ranked[k:], n))[1]))
        c.append(max(0, full - by_hand(study, name, at(ranked[:k], n))[1]))
    void = 1 - s_zero < erasure.LEAST
    expected = [np.nan] * 2 if void else [(np.mean(s) - s_zero) / (1 - s_zero), np.mean(c) / (1 - s_zero)]
    measured = [metric(study, scores(study))[0] for metric in (erasure.ns, erasure.nc)]
    assert measured == pytest.approx(expected, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("name", OPERATORS)
def test_curves_by_hand(name):
    study = inputs(name)
    ranked, n, full = order(study), len(study.encodings[0].ids), study.p_full[0]
    p = [by_hand(study, name, at(ranked[:k], n)) for k in range(1, 11)]
    back = [by_hand(study, name, at(ranked[::-1][:k], n)) for k in range(1, 11)]
    falls = [full - row[1] for row in p]
    fall = normalised.aopc_comprehensiveness(study, scores(study))[0]
    assert fall == pytest.approx(np.mean(falls), abs=1e-5)
    falls = [full - row[1] for row in back]
    assert normalised.aopc_sufficiency(study, scores(study))[0] == pytest.approx(np.mean(falls), abs=1e-5)
    predicted = forward.probabilities(study.model, [forward.unchanged(study.encodings[0])])[0].argmax()
    changed = [k for k, row in enumerate(p, 1) if row.argmax() != predicted]
    assert flip.fraction_to_flip(study, scores(study))[0] == (changed[0] / 10 if changed else 1)


@pytest.mark.parametrize("name", OPERATORS)
def test_f_fidelity_by_hand(name):
    study = inputs(name)
    n, total = len(study.encodings[0].ids), 0
    for (seed,) in zip(study.seeds(0, 2), strict=True):
        drawn = np.random.default_rng(seed).random(n)
        for first in (1, 3, 5):  # of ten tokens, at most one is erased
            token = min(order(study)[:first], key=lambda i: drawn[i])
            total += study.p_full[0] - by_hand(study, name, at([token], n))[1]
    assert fidelity.f_fidelity_plus(study, scores(study), 2)[0] == pytest.approx(total / 6, abs=1e-5)


def soft_by_hand(study, name, draws, keep):
    """Soft-NS or Soft-NC of whole tokens; a replacement text a draw."""
    (e,), a = study.encodings, scores(study)[0] / 9
    full, raw = study.p_full[0], []
    for draw, seed in enumerate(study.seeds(0, draws)):
        u = np.random.default_rng(seed).random((len(a), 1), dtype=np.float32)[:, 0]
        erased = e.maskable & ((u >= a) if keep else (u < a))
        if name == "resample":
            variant = study.erasing("").variants(e, erased)[draw % 3]
            p = forward.probabilities(study.model, [forward.unchanged(variant.encoding)])[0, 1]
        else:
            p = by_hand(study, name, erased)[1]
        raw.append(1 - max(0, full - p) if keep else max(0, full - p))
    s_zero = 1 - max(0, full - by_hand(study, name, e.maskable)[1])
    if 1 - s_zero < erasure.LEAST:
        return np.nan
    return (np.mean(raw) - (s_zero if keep else 0)) / (1 - s_zero)


@pytest.mark.parametrize("name", OPERATORS)
def test_soft_metrics_by_token_by_hand(name):
    study = inputs(name, "token")
    for keep, metric in ((True, soft.soft_ns), (False, soft.soft_nc)):
        expected = soft_by_hand(study, name, 5, keep)
        assert metric(study, scores(study), 5)[0] == pytest.approx(expected, abs=1e-5, nan_ok=True)


def test_zero_by_element_is_the_published_operator():
    model = tiny.classifier()
    plain = Inputs(model, model.encode([TEXT]), [1], seed=3)
    named = Inputs(model, model.encode([TEXT]), [1], seed=3, operator="zero")
    for name in ("ns", "nc", "soft_ns", "soft_nc", "equal_soft_ns", "equal_soft_nc"):
        metric = registry.get(name).resolve()
        assert metric(plain, scores(plain)) == pytest.approx(metric(named, scores(named)), nan_ok=True)
    by_token = inputs("zero", "token", model)
    assert soft.soft_nc(by_token, scores(by_token)) != pytest.approx(soft.soft_nc(plain, scores(plain)))


def test_other_metrics_erase_with_the_mask_token_by_default():
    model = tiny.classifier()
    plain = Inputs(model, model.encode([TEXT]), [1], seed=3)
    for name in ERASING[6:]:
        metric = registry.get(name).resolve()
        named = Inputs(model, model.encode([TEXT]), [1], seed=3, operator="mask")
        assert metric(plain, scores(plain)) == pytest.approx(metric(named, scores(named)), nan_ok=True), name


@pytest.mark.parametrize("name", OPERATORS)
def test_every_erasing_metric_takes_every_operator(name):
    """That is all metrics of a single text but those that erase nothing."""
    rest = {"auprc", "precision", "first_hit"}
    names = {n for n in registry.names() if registry.get(n).level == "example"}
    assert names - rest == {*ERASING, *CAUSAL}
    study = inputs(name)
    for metric in ERASING:
        assert registry.get(metric).resolve()(study, scores(study)).shape == (1,)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "mask"])
def test_language_models_take_operators(name):
    model = tiny.causal()
    prompts = model.encode(tiny.PROMPTS)
    study = Inputs(model, prompts, [5] * 4, seed=3, operator=operator(model, name))
    ones = [np.ones(len(e.ids)) for e in prompts]
    assert soft_causal.causal_soft_ns(study, ones, 2) == pytest.approx(1)  # everything is kept
    moved = soft_causal.causal_soft_nc(study, ones, 3)  # everything goes, in each of three texts
    assert moved == pytest.approx(1)


def test_what_a_study_lacks_is_told_when_it_begins():
    model, bare = tiny.classifier(), [tiny.encoding(3, (0, 1, 2))]
    model.tokenizer.mask_token = None
    message = "operator='mask': tiny-bert has no mask token: use one of 'zero'"
    refused(message, Inputs, model, model.encode([TEXT]), [1], operator="mask")
    message = "operator='delete', but tiny-bert has no special token that is left"
    refused(message, Inputs, tiny.classifier(), bare, [0], operator="delete")


def test_a_model_without_a_mask_token_has_the_metrics_of_another_operator():
    model = tiny.classifier()
    model.tokenizer.mask_token = None
    encodings = model.encode([TEXT])
    refused("needs a mask token", Inputs(model, encodings, [1]).check, registry.get("aopc_sufficiency"))
    Inputs(model, encodings, [1], operator="delete").check(registry.get("aopc_sufficiency"))
