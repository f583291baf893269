"""Metrics on three tokens whose probabilities are written down by hand, and what they must keep."""

import json
import pathlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from wrong import refused

from faithlib import models, options
from faithlib.metrics import soft
from faithlib.metrics.soft import COLUMNS, Settings

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "soft_normal_importance.json"


NAN = float("nan")

# p(target) of "a b c" by what is kept of it. Without CLS it is 0.1 less, without SEP 0.05 less.
KEPT = {"abc": 0.9, "ab": 0.8, "ac": 0.7, "bc": 0.4, "a": 0.6, "b": 0.5, "c": 0.3, "": 0.2}


ABC = tiny.encoding(5, (1, 2, 3), ids=[2, 7, 8, 9, 3])


class Toy(models.Classifier):
    """A model whose probabilities are a table: a token is kept unless its factor, weight or id is 0."""

    device = torch.device("cpu")

    def __init__(self, kept=KEPT):
        config = SimpleNamespace(hidden_size=1, num_labels=2)
        embedding = torch.nn.Embedding(10, 1)
        self.model = SimpleNamespace(
            eval=lambda: None,
            config=config,
            get_input_embeddings=lambda: embedding,
            parameters=embedding.parameters,
        )
        self.tokenizer = SimpleNamespace(pad_token_id=0)
        self.kept, self.seen = kept, []

    def logits(self, batch, embeddings=None, factor=None, weight=None):
        there = batch.ids != 0
        for scale in (None if factor is None else factor[..., 0], weight):
            there &= torch.ones_like(there) if scale is None else scale != 0
        p = torch.tensor([self.probability(*row) for row in there.tolist()])
        self.seen += [tuple(row) for row in there.tolist()]
        return torch.stack([1 - p, p], 1).log()

    def probability(self, cls, a, b, c, sep):
        name = "a" * a + "b" * b + "c" * c
        return self.kept[name] - 0.1 * (not cls) - 0.05 * (not sep)


def measured(scores, toy=None, **plan):
    """Values of one attribution of ABC: a function of metric (and what else a row is found by)."""
    table = soft.values(toy or Toy(), [ABC], [1], {"mine": [np.array([0, *scores, 0.0])]}, Settings(**plan))

    def find(metric, column="raw", **chosen):
        chosen = {"baseline": "", "draws": table.draws[table.metric == metric].max(), **chosen}
        rows = table[(table.metric == metric) & (table.attribution == "mine")]
        for name, value in chosen.items():
            rows = rows[np.isclose(rows[name], value) if name == "ratio" else rows[name] == value]
        assert len(rows) == 1
        return float(rows[column].iloc[0])

    return find, table


# Scores to probabilities --------------------------------------------------------------------------

MASKABLE = np.array([False, True, True, True, False])


LN3 = np.log(3)


@pytest.mark.parametrize(
    ("how", "scores", "expected"),
    [
        ("minmax", [2, 4, 3], [0, 1, 0.5]), ("minmax", [-3, 1, -1], [0, 1, 0.5]),
        ("minmax", [1e-9, 3e-9, 2e-9], [0, 1, 0.5]), ("minmax", [7, 7, 7], [0.5, 0.5, 0.5]),
        ("sigmoid", [0, LN3, -LN3], [0.5, 0.75, 0.25]), ("sigmoid", [1000, -1000, 0], [1, 0, 0.5]),
        ("softmax", [0, LN3, 0], [0.2, 0.6, 0.2]), ("softmax", [-800, -800, -800], [1 / 3] * 3),
        ("raw", [0, 1, 0.25], [0, 1, 0.25]), ("rank", [-7, 100, 0], [1 / 3, 1, 2 / 3]),
        ("rank", [5, 5, -1], [2.5 / 3, 2.5 / 3, 1 / 3]), ("equal", [1, 0, 0], [1, 0.25, 0.25]),
    ],
)  # fmt: skip
def test_scores_become_probabilities(how, scores, expected):
    a = soft.to_probability(np.array([5, *scores, -5.0]), MASKABLE, how)
    assert np.allclose(a, [0, *expected, 0], atol=1e-12) and a.min() >= 0 and a.max() <= 1


def test_a_single_token_is_a_constant_row():
    a = soft.to_probability(np.array([1.0, 3, 1]), np.array([False, True, False]), "minmax")
    assert a.tolist() == [0, 0.5, 0]


@pytest.mark.parametrize(
    ("how", "scores", "message"),
    [
        ("raw", [0, 1.1, 0], "run from 0 to 1.1"),
        ("raw", [-0.5, 0.3, 0], "run from -0.5 to 0.3"),
        ("softmax", [np.inf, 0, 0], "NaN or infinite"),
        ("min-max", [0, 1, 2], "'min-max' is unknown: use one of minmax, rank, equal, sigmoid"),
    ],
)
def test_scores_that_cannot_become_probabilities(how, scores, message):
    refused(message, soft.to_probability, np.array([0, *scores, 0.0]), MASKABLE, how)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (0, [-np.inf, 0, 1, -np.inf]), (1, [0, 0.5, 0.7310586, 0]), (2, [0, 10 / 11, 1, 0]),
        (3, [0, 0.2689414, 0.7310586, 0]), (4, [0, 0.75, 1, 0]), (5, [0, 0.5, 1, 0]),
        (6, [0, 0.6839397, 1, 0]), (7, [0.5, 0.6224593, 0.7310586, 0.5]),
    ],
)  # fmt: skip
def test_the_options_of_the_release(option, expected):
    a = soft.released_probability(np.array([3, 0, 1, 3.0]), np.array([False, True, True, False]), option)
    assert a.dtype == np.float32 and np.allclose(a, expected, atol=1e-6)


def test_special_tokens_may_win_in_the_release():
    scores, maskable = np.array([0, -5, -2, 0.0]), np.array([False, True, True, False])
    assert soft.released_probability(scores, maskable, 5).tolist() == [1, 0, 0.75, 1]


def test_a_constant_row_is_undefined_in_the_release():
    for option in (2, 4, 5, 6, 7):
        assert np.isnan(soft.released_probability(np.full(3, 0.5), np.ones(3, bool), option)).all()
    with pytest.raises(ValueError, match="option 8 is unknown: the release has 0 to 7"):
        soft.released_probability(np.zeros(3), np.ones(3, bool), 8)


def test_the_options_agree_with_the_released_code():
    golden = json.loads(GOLDEN.read_text())

    def number(value, null):
        return null if value is None else NAN if value == "nan" else value

    compared = 0
    for case, rows in golden["inputs"].items():
        for option in range(8):
            for row, expected in zip(rows, golden["expected"][case][str(option)], strict=True):
                maskable = np.array([value is not None for value in row])
                a = soft.released_probability(np.array([number(v, 0) for v in row]), maskable, option)
                expected = [number(v, -np.inf) for v in expected]
                assert np.allclose(a, expected, rtol=0, atol=1e-6, equal_nan=True), (case, option)
                compared += 1
    assert compared > 100


# Soft perturbations -------------------------------------------------------------------------------

A = np.array([0.0, 0.2, 0.5, 0.9, 1.0])


EVERYWHERE = np.ones(5, bool)


@pytest.mark.parametrize(("retain", "kept"), [(True, A), (False, 1 - A)])
def test_elements_are_kept_at_the_rate_of_their_score(retain, kept):
    drawn = soft.factor("bernoulli", A, EVERYWHERE, retain, 40_000, seed=1)
    assert drawn.dtype == np.float32 and set(np.unique(drawn)) == {0, 1}
    assert np.abs(drawn.mean(1) - kept).max() < 0.01  # 4 standard deviations of a rate
    assert (drawn[0] == kept[0]).all() and (drawn[4] == kept[4]).all()  # 0 and 1 without exception


@pytest.mark.parametrize(("retain", "noise"), [(True, 1 - A), (False, A)])
def test_gaussian_noise_has_the_spread_of_its_equation(retain, noise):
    equations = (
        ("gaussian_scores", 1.0, noise),
        ("gaussian_scores", 0.5, noise / 2),
        ("gaussian_noise", 1.0, noise**0.5),
    )
    for perturbation, sigma, spread in equations:
        drawn = soft.factor(perturbation, A, EVERYWHERE, retain, 40_000, seed=2, sigma=sigma)
        assert np.abs(drawn.mean(1) - 1).max() < 0.02
        assert np.abs(drawn.std(1) - spread).max() < 0.02
        assert (drawn[noise == 0] == 1).all()


@pytest.mark.parametrize("perturbation", [p for p in options.PERTURBATIONS if p != "attention"])
def test_nothing_happens_outside_and_a_seed_is_a_draw(perturbation):
    inside = np.array([False, True, True, False, True])
    one, same, other = (soft.factor(perturbation, A, inside, True, 50, seed=s) for s in (3, 3, [3, 1]))
    assert (one[~inside] == 1).all() and (one[1] != 1).any()
    assert (one == same).all() and (one != other).any()


def test_two_attributions_meet_the_same_random_numbers():
    low, high = (
        soft.factor("bernoulli", a, EVERYWHERE, True, 500, seed=0) for a in (A, np.minimum(A + 0.05, 1))
    )
    assert (low <= high).all() and (low < high).any()


def test_attention_weights():
    inside = np.array([False, True, True, True, False])
    assert soft.attention_weight(A, inside, True).tolist() == [1, 0.2, 0.5, 0.9, 1]
    assert soft.attention_weight(A, inside, False).tolist() == pytest.approx([1, 0.8, 0.5, 0.1, 1])


# The plan -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"definition": "release"}, "definition='release' is unknown: use 'paper', 'released'"),
        ({"erasures": ["firm"]}, "erasures='firm' is unknown: use 'hard', 'soft'"),
        ({"erasures": []}, "erasures=.. leaves nothing to measure"),
        ({"removal": "pad"}, "removal='pad' is unknown: use 'zero', 'mask', 'delete'"),
        ({"probability": "ranks"}, "'ranks' is unknown: use 'minmax', 'rank', 'equal', 'sigmoid'"),
        ({"probability": "raw"}, "probability='raw' is unknown: use 'minmax', 'rank'"),
    ],
)
def test_a_wrong_plan_is_refused(wrong, message):
    refused(message, Settings, **wrong)


# All of it on the toy -----------------------------------------------------------------------------


def test_hard_metrics_of_the_toy():
    """a before b before c. S0 = 1 - (0.9 - 0.2) = 0.3; at 20 % the rationale is a, at 50 % it is a b."""
    find, table = measured([3, 2, 1], ratios=[0.2, 0.5, 1.0])
    assert find("NS", ratio=0.2) == pytest.approx(0.7)
    assert find("NC", ratio=0.2) == pytest.approx(0.5)  # b c is left: 0.9 - 0.4
    assert find("NS", ratio=0.5) == pytest.approx(0.9)
    assert find("NC", ratio=0.5) == pytest.approx(0.6)  # c is left: 0.9 - 0.3
    assert find("NS", ratio=1.0) == 1 and find("NC", ratio=1.0) == pytest.approx(0.7)
    assert np.allclose(table.denominator, 0.7)


def test_sufficiency_is_below_that_of_nothing_and_comprehensiveness_is_0_where_p_rises():
    find, _ = measured([1, 2, 3], Toy(KEPT | {"c": 0.1, "ab": 0.95}), ratios=[0.2])
    assert find("NS", ratio=0.2) == pytest.approx(0.2)
    assert find("NC", ratio=0.2) == 0


def test_where_nothing_keeps_the_prediction_too_the_denominator_is_0():
    find, _ = measured([3, 2, 1], Toy(KEPT | {"": 0.93}), ratios=[0.2])
    assert find("NS", ratio=0.2) == pytest.approx(0.7)
    assert find("NS", "denominator", ratio=0.2) == find("Soft-NS", "denominator") == 0


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_removals_erase_the_same_tokens_in_their_own_way(removal):
    seen = []

    class Read(Toy):
        def logits(self, batch, **more):
            seen.extend(row[:n].tolist() for row, n in zip(batch.ids, batch.present.sum(1), strict=True))
            return torch.zeros(len(batch.ids), 2)

    toy = Read()
    toy.tokenizer.mask_token_id = 4
    _, table = measured([3, 2, 1], toy, ratios=[0.2], removal=removal, erasures=["hard"], random_draws=1)
    expected = {
        "mask": ([2, 7, 4, 4, 3], [2, 4, 8, 9, 3], [2, 4, 4, 4, 3]),
        "delete": ([2, 7, 3], [2, 8, 9, 3], [2, 3]),
    }
    assert all(ids in seen for ids in (*expected[removal], [2, 7, 8, 9, 3]))  # NS, NC, S0, all
    assert set(table.perturbation) == {"hard"}


def test_soft_metrics_of_the_toy():
    """a is kept for sure, b every other time, c never: S is 0.7 or 0.9, C is 0.5 or 0.6."""
    find, table = measured([1, 0.5, 0], soft_draws=2000, random_draws=1, erasures=["soft"])
    assert find("Soft-NS") == pytest.approx(0.8, abs=0.01)  # 4 standard errors
    assert find("Soft-NC") == pytest.approx(0.55, abs=0.005)
    assert set(table.metric) == {"Soft-NS", "Soft-NC"} and np.allclose(table.denominator, 0.7)


def test_soft_draws_are_averaged_and_the_means_of_the_first_are_kept():
    find, table = measured([1, 0.5, 0], soft_draws=16, seed=4)
    one, two, all_draws = (find("Soft-NS", draws=n) for n in (1, 2, 16))
    assert {round(one, 4)} <= {0.7, 0.9} and round(two, 4) in (0.7, 0.8, 0.9) and 0.7 < all_draws < 0.9
    assert sorted(table.draws.unique()) == [0, 1, 2, 4, 8, 16]
    fewer, _ = measured([1, 0.5, 0], soft_draws=2, seed=4)
    assert fewer("Soft-NS") == two


def test_special_tokens_perturbed_too_are_never_kept_and_never_removed():
    toy = Toy()
    find, _ = measured([1, 1, 0], toy, special_tokens=True, erasures=["soft"], soft_draws=1, random_draws=1)
    assert find("Soft-NS") == pytest.approx(1 - (0.9 - (0.8 - 0.15)))  # a b without CLS and SEP
    assert find("Soft-NC") == pytest.approx(0.6)  # c, with both


def test_attention_perturbation_of_the_toy():
    find, table = measured([2, 1, 0], perturbations=["attention"], ratios=[0.5])
    assert find("Soft-NS") == pytest.approx(0.9)  # weights 1, ½, 0: c alone is gone
    assert find("Soft-NC") == pytest.approx(0.5)  # weights 0, ½, 1: a alone is gone
    assert set(table.perturbation) == {"hard", "attention"} and set(table.draws) == {0, 1}


def test_hard_metrics_of_the_release_on_the_toy():
    """Its zero baseline sets every id to 0, CLS and SEP too: p = 0.2 - 0.15, so S0 = 0.15, then 0.1499."""
    find, table = measured([3, 2, 1], definition="released")
    for ratio, s, c in ((0.01, 0.7, 0.5), (0.02, 0.7, 0.5), (0.2, 0.7, 0.5), (0.5, 0.9, 0.6), (1, 1, 0.7)):
        assert find("NS", ratio=ratio) == pytest.approx((s - 0.1499) / 0.8501)
        assert find("NC", ratio=ratio) == pytest.approx(c / 0.8501)
    released = table[(table.baseline == "") & (table.metric == "NS")]
    assert released.ratio.tolist() == pytest.approx([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1])
    assert set(table.definition) == {"released"} and set(table.draw) == {0} and set(table.draws) == {0, 1}


def test_soft_metrics_of_the_release_are_inverted():
    """Soft-NS keeps with 1 - sigmoid; CLS and SEP, at 0, are safe from it."""
    u = 200  # a sigmoid of 1, and -u one of 0
    for scores, s in (([u, u, u], 0.3), ([-u, -u, -u], 1), ([u, -u, -u], 0.5), ([-u, -u, u], 0.9)):
        find, _ = measured(scores, definition="released")
        assert find("Soft-NS") == pytest.approx((s - 0.1499) / 0.8501), scores


def test_soft_comprehensiveness_of_the_release_erases_special_tokens():
    """Soft-NC keeps with min-max where CLS and SEP count as -1, here the lowest: they are always gone."""
    toy = Toy()
    find, _ = measured([1, 1, -1], toy, definition="released")
    # kept: a and b, not c, not CLS, not SEP: p = 0.8 - 0.15; no NS before it has lowered S0
    assert find("Soft-NC") == pytest.approx((0.9 - 0.65) / 0.85)
    assert (False, True, True, False, False) in toy.seen


def test_rows_of_the_result():
    settings = {"ratios": [0.2, 0.5], "curve_ratios": [0.8], "perturbations": ["bernoulli", "gaussian_noise"]}
    _, table = measured([3, 2, 1], random_draws=3, soft_draws=2, **settings)
    assert list(table.columns) == [*COLUMNS, "draws", "raw", "denominator"]
    assert not table.duplicated([*COLUMNS, "draws"]).any()
    counts = table.groupby(["attribution", "baseline", "draw"]).size().to_dict()
    soft_rows = 2 * 2 * 2  # perturbations, metrics, 1 and 2 draws
    assert counts == {
        ("mine", "", 0): 3 * 2 + soft_rows,
        **{("random", "normal", d): 3 * 2 + soft_rows for d in range(3)},
        **{("mine", "matched", d): 2 * 2 + soft_rows for d in range(3)},
    }
    types = {"example": "int32", "draw": "int16", "ratio": "float32", "draws": "int16", "raw": "float32"}
    assert {name: str(table[name].dtype) for name in types} == types
    assert table.ratio.isna().equals(table.metric.str.startswith("Soft"))


def test_matched_scores_of_equal_tokens_are_the_attribution_itself():
    _, table = measured([1, 1, 1], ratios=[0.2, 0.5])
    mine = table[table.attribution == "mine"].set_index(["baseline", "draw", "metric", "ratio", "draws"])
    values = mine.raw.unstack([0, 1])
    assert len(values) == 10 and (values.nunique(axis=1) == 1).all()


def test_random_baselines_and_soft_draws_are_independent_streams():
    """Seeds, texts, draws and attributions have baselines of their own, whatever else is measured."""
    scores = {"one": np.array([0, 1, 2, 3, 0.0]), "two": np.array([0, 1, 2, 3, 0.0])}

    def sources(names, seed=0, example=0):
        return soft._sources(ABC, {n: scores[n] for n in names}, Settings(seed=seed, random_draws=2), example)

    both = sources(["one", "two"])
    alone = sources(["two"])
    assert all((both[key] == alone[key]).all() for key in alone)
    draws = [both["random", "normal", d] for d in (0, 1)]
    draws += [sources(["one"], **other)["random", "normal", 0] for other in ({"seed": 1}, {"example": 1})]
    draws.append(np.random.default_rng([soft.SOFT_DRAWS, 0, 0, 0]).standard_normal(5))
    assert np.unique(np.array(draws)[:, 1]).size == 5


def test_scores_that_are_not_finite_end_the_measurement():
    refused("have no finite score", measured, [1, NAN, 0])


# On a model ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def case():
    """A tiny BERT, its predictions, and scores; every prediction falls when all is erased."""
    classifier, generator = tiny.classifier(seed=4), np.random.default_rng(0)
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    with torch.no_grad():
        targets = classifier.logits(classifier.collate(encodings)).argmax(-1).numpy()
    scores = [np.where(e.maskable, generator.standard_normal(len(e.ids)), 0) for e in encodings]
    return classifier, encodings, targets, scores


def test_everything_kept_is_one_and_everything_erased_is_zero(case):
    """sigmoid(±200) is 1 and 0: all of the input, exactly, or the zero baseline, exactly."""
    classifier, encodings, targets, _ = case
    scores = {name: [u * e.maskable for e in encodings] for name, u in {"all": 200.0, "none": -200.0}.items()}
    plan = Settings(probability="sigmoid", ratios=[1.0], random_draws=1, perturbations=options.PERTURBATIONS)
    table = soft.values(classifier, encodings, targets, scores, plan)
    table = table[table.baseline == ""]
    assert table.denominator.min() > 0.05 and table.example.nunique() == 5
    hard = table[table.perturbation == "hard"]
    expected = np.where(hard.metric == "NS", 1, hard.denominator)  # ratio 1: all is kept, all is erased
    assert np.allclose(hard.raw, expected, atol=1e-4)
    for name, kept in (("all", 1.0), ("none", 0.0)):
        part = table[(table.perturbation == "bernoulli") & (table.attribution == name)]
        s = 1 - part.denominator
        expected = np.where(part.metric == "Soft-NS", s + kept * (1 - s), kept * (1 - s))
        assert np.allclose(part.raw, expected, atol=1e-4), name
    kept = table[(table.attribution == "all") & (table.metric == "Soft-NS")]
    assert kept.perturbation.nunique() == 4 and np.allclose(kept.raw, 1, atol=1e-4)
    untouched = table[(table.attribution == "none") & (table.metric == "Soft-NC")]
    assert np.allclose(untouched.raw, 0, atol=1e-4)


def test_examples_can_be_split_into_parts(case):
    classifier, encodings, targets, scores = case
    perturbations = ["bernoulli", "gaussian_scores", "attention"]
    ratios = {"ratios": [0.2, 0.5], "curve_ratios": [0.8]}
    plan = Settings(**ratios, soft_draws=2, random_draws=2, seed=7, perturbations=perturbations)
    names = np.array([3, 8, 9, 20, 21])
    whole = soft.values(classifier, encodings, targets, {"mine": scores}, plan, names)
    parts = []
    for at in (slice(0, 1), slice(1, 4), slice(4, 5)):
        part = soft.values(classifier, encodings[at], targets[at], {"mine": scores[at]}, plan, names[at])
        parts.append(part)
    parts = pd.concat(parts, ignore_index=True)
    assert sorted(whole.example.unique()) == names.tolist()
    pd.testing.assert_frame_equal(whole[list(COLUMNS)], parts[list(COLUMNS)])
    for column in ("raw", "denominator"):
        assert np.allclose(whole[column], parts[column], atol=1e-5)
    assert whole.raw.std() > 0.01


def test_a_second_attribution_changes_nothing_about_the_first(case):
    classifier, encodings, targets, scores = case
    plan, keys = Settings(ratios=[0.5], random_draws=1), ["example", "metric", "draws", "baseline"]
    alone = soft.values(classifier, encodings, targets, {"mine": scores}, plan)
    two = soft.values(classifier, encodings, targets, {"twin": scores, "mine": scores}, plan)
    both = two.set_index(["attribution", *keys]).raw
    first = alone[alone.attribution == "mine"].set_index(keys).raw
    assert np.allclose(both["mine"][first.index], first, atol=1e-5)
    twin = both["twin"].xs("", level="baseline")
    assert np.allclose(twin, first.xs("", level="baseline")[twin.index], atol=1e-5)
    other = soft.values(classifier, encodings, targets, {"mine": scores}, Settings(ratios=[0.5], seed=1))
    base, other = (x[x.baseline == ""].set_index(keys).raw for x in (alone, other))
    soft_rows = base.index.get_level_values("metric").str.startswith("Soft")
    assert np.allclose(other[~soft_rows], base[~soft_rows], atol=1e-5)
    assert (np.abs(other - base)[soft_rows] > 1e-4).any()


def test_the_target_is_the_class_that_is_followed(case):
    classifier, encodings, _, scores = case
    plan = Settings(ratios=[0.5], random_draws=1)
    tables = [soft.values(classifier, encodings, np.full(5, t), {"mine": scores}, plan) for t in (0, 1)]
    assert (np.abs(tables[0].raw - tables[1].raw) > 1e-3).any()
