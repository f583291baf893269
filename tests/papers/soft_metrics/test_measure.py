"""What the experiment of soft_metrics measures: every option of the card, on the varied texts alone."""

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from wrong import refused

from faithlib.attributions import attribute
from notebooks.soft_metrics.card import CARD
from notebooks.soft_metrics.measure import OPTIONS, measure, plans

NAMES = ["attention", "integrated_gradients"]
KEYS = ["example", "attribution", "baseline", "metric"]


@pytest.fixture(scope="module")
def measured():
    """(values, texts) of five texts: the first two are varied, the model is wrong about the first."""
    classifier = tiny.classifier(seed=4)
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    with torch.no_grad():
        target = classifier.logits(classifier.collate(encodings)).argmax(-1).numpy()
    texts = pd.DataFrame({"example": [3, 5, 8, 9, 11], "target": target, "label": target})
    texts["encoding"], texts["varied"] = encodings, [True, True, False, False, False]
    texts.loc[0, "label"] = 1 - min(target[0], 1)

    def explain(some, targets, definition="paper"):
        return attribute(classifier, list(some.encoding), targets, NAMES, definition, "soft_metrics", steps=3)

    def scores(some, definition):
        return pd.DataFrame(explain(some, some.target, definition), index=some.example)

    scored = {"paper": scores(texts, "paper"), "released": scores(texts[texts.varied], "released")}
    settings = dict(ratios=(0.2, 0.5), curve_ratios=(0.8,), soft_draws=4, random_draws=1, seed=1)
    perturbed = ("bernoulli", "gaussian_scores", "attention")
    planned = plans(["paper", "released"], 2, (0.5, 1), perturbations=perturbed, **settings)
    return measure(classifier, texts, scored, planned, explain, (0.5, 1)), texts


def test_every_option_of_the_card_that_needs_passes_is_measured(measured):
    values, _ = measured
    computed = ("ties", "baseline", "attributions", "texts")  # from what is there
    wanted = {o for choice, options in CARD.choices.items() if choice not in computed for o in options[1:]}
    variances = {"variance 0.5", "variance 1"}
    assert set(values.option) == {"", *variances, *wanted} and set(OPTIONS) < wanted
    assert set(values[values.option == "gold"].example) == {3}
    assert set(values[values.definition == "released"].option) == {"", "ours"}


def test_only_varied_texts_have_more_than_the_main_setting(measured):
    values, _ = measured
    rest = values[~values.varied]
    assert set(rest.example) == {8, 9, 11}
    assert set(rest.definition) == {"paper"} and set(rest.option) == {""}
    assert set(rest.perturbation) == {"hard", "bernoulli"} and set(rest.draws) == {0, 1, 2, 4}
    assert set(values[~values.correct].example) == {3}
    assert not values.duplicated([*KEYS, "definition", "option", "perturbation", "ratio", "draws"]).any()


def test_options_change_what_they_name_and_nothing_else(measured):
    values, _ = measured
    rows = values[
        (values.definition == "paper") & values.varied & values.perturbation.isin(["hard", "bernoulli"])
    ]
    rows = rows[
        (rows.draws == rows.groupby("perturbation").draws.transform("max")) & (rows.ratio != np.float32(0.8))
    ]
    mean = rows.groupby(["option", *KEYS]).raw.mean()
    main, absolute, released = mean[""], mean["absolute"], mean["released"]
    same = main.xs("attention", level="attribution")  # is not negative, and as released
    for other in (absolute, released):
        assert np.allclose(other.xs("attention", level="attribution")[same.index], same, atol=1e-5)
        changed = other.xs("integrated_gradients", level="attribution")
        assert not np.allclose(changed, main.xs("integrated_gradients", level="attribution")[changed.index])
    for option, metrics in (("rank", {"Soft-NS", "Soft-NC"}), ("delete", {"NS", "NC"})):
        assert set(mean[option].index.get_level_values("metric")) == metrics
        assert not np.allclose(mean[option], main[mean[option].index])


def test_a_variance_of_1_is_the_main_noise_of_equation_7_and_another_one_is_not(measured):
    values, _ = measured
    noised = values[(values.perturbation == "gaussian_scores") & (values.draws == 4)]
    raw = noised.groupby(["option", *KEYS]).raw.mean()
    assert set(noised.example) == {3, 5} and len(raw[""]) == len(raw["variance 1"]) > 0
    assert np.allclose(raw["variance 1"][raw[""].index], raw[""], atol=1e-6)
    assert not np.allclose(raw["variance 0.5"][raw[""].index], raw[""])


def test_hard_metrics_of_options_are_means_over_the_ratios(measured):
    values, _ = measured
    hard = values[values.perturbation == "hard"]
    assert hard[(hard.option == "") & (hard.definition == "paper")].ratio.notna().all()
    assert hard[(hard.option != "") | (hard.definition == "released")].ratio.isna().all()


@pytest.mark.parametrize(
    ("definitions", "varied", "message"),
    [
        ([], 1, "definitions=.. leaves"),
        (["paper"], -1, "varied_examples=-1"),
        (["old"], 1, "'old' is unknown"),
    ],
)
def test_wrong_plans_are_refused(definitions, varied, message):
    refused(message, plans, definitions, varied)


@pytest.mark.parametrize("variance", [0, -0.5, float("nan"), float("inf")])
def test_a_variance_is_above_0(variance):
    refused("variances: .* must be above 0", plans, ["paper"], 1, [0.5, variance])
