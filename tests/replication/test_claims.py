"""From a claim to a row of claims.csv, on values whose statistics are known by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sample.statistics import AG, SST, rows
from sample.statistics import seeds_of as seeds
from wrong import refused

from faithlib import statistics
from replication import claims
from replication.claims import CLAIMS, Claim, intervals, judged
from replication.papers import Headline
from replication.records import Case, titles
from replication.verdicts import sentence

NAN = float("nan")


def texts(dataset, values, model="org/bert"):
    """values: (seeds, texts)."""
    values = np.atleast_2d(values)
    return pd.concat(
        seeds(dataset, column, model).assign(example=i) for i, column in enumerate(values.T)
    ).reset_index(drop=True)


def claim(*parts, design="seeds", **more):
    return Claim("A above B", pd.concat(parts), design, **more)


def test_columns_are_those_of_the_policy():
    wanted = "verdict reason depends_on shown_on failing_cases agree of at_least_half within_margin"
    assert {*wanted.split(), "value", "ci_low", "ci_high", "published", "headline"} <= set(CLAIMS)
    assert len(set(CLAIMS)) == len(CLAIMS)


def test_three_seeds_have_the_t_interval_by_hand():
    (row,) = rows(claim(SST, published={"sst": 0.3, "ag_news": 9}), "small")
    half = 4.302653 * 0.01 / 3**0.5  # t(.975, 2) · sd / √3
    assert (row["value"], row["ci_low"], row["ci_high"]) == pytest.approx((0.11, 0.11 - half, 0.11 + half))
    assert sentence(row) == "holds (bert, 3 seeds)" and (row["unit"], row["n_units"]) == ("seed", 3)
    assert (row["published"], row["published_cases"], row["cases"]) == (0.3, "sst", "sst")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([0.1, 0.2], "2 seeds: an interval needs 3"), ([0.1], "1 seed: an interval needs 3"),
        ([0.1, 0.1, 0.1], "all values are equal"), ([0.1, 0.1], "2 seeds: an interval needs 3"),
    ],
)  # fmt: skip
def test_few_or_equal_seeds_have_a_value_and_neither_interval_nor_verdict(values, reason):
    (row,) = rows(claim(seeds("sst", values)), "small")
    assert row["value"] == pytest.approx(np.mean(values)) and np.isnan(row["ci_low"]) and row["n_units"] == 0
    assert sentence(row) == f"undecided ({reason})"


def test_one_seed_of_texts_is_this_model():
    (row,) = rows(claim(texts("sst", np.linspace(0.1, 0.3, 20)), design="crossed"), "small")
    assert sentence(row) == "holds for bert (20 texts)" and row["unit"] == "text"


def test_quick_has_no_verdict_and_no_published_value():
    (row,) = rows(claim(SST, AG, published={"sst": 0.1, "ag_news": 0.2}), "quick")
    assert row["verdict"] == "" and np.isnan(row["published"]) and row["published_cases"] == ""
    assert row["value"] == pytest.approx(0.165)


def test_published_is_of_exactly_our_cases_and_never_beside_generated_corpora():
    printed = {"sst": 0.1, "ag_news": 0.3, "multirc": 0.9}
    (row,) = rows(claim(SST, AG, published=printed), "small")
    assert row["published"] == pytest.approx(0.2) and row["published_cases"] == "sst; ag_news"
    (row,) = rows(claim(SST, AG, published={"sst": 0.1}), "small")  # one has no published value
    assert np.isnan(row["published"]) and row["published_cases"] == "none for ag_news"
    (row,) = rows(
        claim(SST, seeds("sentiment", [0.1, 0.2, 0.3]), published=printed | {"sentiment": 1}), "small"
    )
    assert np.isnan(row["published"]) and row["published_cases"] == ""
    (row,) = rows(claim(SST, AG, published=printed, quantifier="everywhere"), "small")
    assert row["published_cases"] == "sst" and row["published"] == 0.1  # of the case that decides


def test_single_seed_data_sets_have_a_line_of_their_own():
    first, second = rows(claim(SST, seeds("cb", [0.5])), "small")
    assert first["value"] == pytest.approx(0.11) and (first["cases"], first["other_cases"]) == ("sst", "cb")
    assert second["claim"] == "A above B (all data sets, no interval)"
    assert second["value"] == pytest.approx((0.11 + 0.5) / 2) and second["verdict"] == ""
    assert np.isnan(second["ci_low"])
    (first, _) = rows(claim(SST, seeds("cb", [-0.6])), "small")
    assert sentence(first) == "undecided (depends on data sets with fewer than 3 seeds; bert, 3 seeds)"
    assert first["failing_cases"] == "cb"


def test_everywhere_never_holds_with_a_failing_data_set():
    rng = np.random.default_rng(0)
    for _ in range(50):
        parts = [seeds(name, rng.normal(0.5, 0.5, 3)) for name in ("sst", "ag_news", "cb")]
        (row,) = rows(claim(*parts, quantifier="everywhere"), "small")
        assert not (row["verdict"] == "holds" and row["failing_cases"])
    (row,) = rows(claim(SST, seeds("cb", [-0.1]), quantifier="everywhere"), "small")
    assert row["verdict"] == "undecided" and row["failing_cases"] == "cb"


def test_another_data_set_moves_no_other_interval():
    rng = np.random.default_rng(1)
    one = texts("sst", rng.exponential(size=(1, 60)))
    two = texts("ag_news", rng.exponential(size=(1, 60)))
    alone = intervals(claim(one, design="crossed"))[Case("sst", "bert")]
    for both in (claim(one, two, design="crossed"), claim(two, one, design="crossed")):
        assert intervals(both)[Case("sst", "bert")].ends() == alone.ends()


def test_models_tell_cases_of_one_data_set_apart():
    cases = intervals(claim(SST, seeds("sst", [0.3, 0.4, 0.5], "lstm"), AG))
    assert list(titles(cases).values()) == ["sst (bert)", "sst (lstm)", "ag_news"]


def test_a_verdict_names_the_model_of_the_data_sets_that_it_rests_on():
    one_seed = seeds("multirc", [0.5], "lstm")  # too few for an interval: beside the verdict, not in it
    (row, beside) = rows(claim(SST, AG, one_seed), "small")
    assert (row["cases"], row["other_cases"]) == ("sst; ag_news", "multirc")
    assert sentence(row).endswith("(bert, 3 seeds)") and beside["verdict"] == ""
    both = rows(claim(SST, seeds("sst", [0.3, 0.4, 0.5], "lstm")), "small")[0]
    assert sentence(both).endswith("(3 seeds)")


def test_a_crossed_design_is_never_narrower_than_its_seeds():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(3, 40)) + rng.normal(size=(3, 1))
    crossed = intervals(claim(texts("sst", values), design="crossed"))[Case("sst", "bert")]
    over = statistics.seeds_interval(values.mean(axis=1))
    assert crossed.value == pytest.approx(over.value) and crossed.high >= over.high - 1e-12


def test_linearised_values_have_the_mean_and_the_error_of_the_statistic():
    x = np.random.default_rng(3).normal(size=(2000, 3)) + [0, 1, 3]

    def sd(m):
        return m.std()

    def gradient(m):
        return (m - m.mean()) / (len(m) * m.std())

    values = claims.linearised(x, sd, gradient)
    assert values.mean() == pytest.approx(sd(x.mean(axis=0)))
    jackknife = np.array([sd(np.delete(x, i, axis=0).mean(axis=0)) for i in range(0, 2000, 10)])
    assert np.corrcoef(-jackknife, values[::10])[0, 1] > 0.999


MEASURED = {"dataset": ["sst", "multirc", "no_such_task"], "model": "bert", "seed": 0, "metric": "macro_f1"}
SCORES = pd.DataFrame(MEASURED | {"value": [0.9, 0.37, 0.1]})


def test_gates_refuse_what_is_at_chance_and_a_claim_without_data_sets_is_not_tested():
    gate = claims.gates(SCORES)
    assert gate.set_index("dataset").accepted.to_dict() == {"sst": True, "multirc": False}
    poor = seeds("multirc", [0.9, 0.8, 0.7])
    (row,) = rows(claim(SST, poor), "small", gate)
    assert row["cases"] == "sst"
    (row,) = rows(claim(poor), "small", gate)
    assert sentence(row) == "not tested (no data set passes the gate)" and row["value"] == pytest.approx(0.8)
    assert np.isnan(row["ci_low"])
    assert claims.gates(SCORES.assign(metric="loss")).empty


def test_what_is_behind_the_best_of_equals_is_not_shown_to_be_behind():
    """Six rivals, one of which happens to be .1 ahead: t = 6.1 with 2 degrees, p = .013, times six."""
    ahead, even = seeds("sst", [-0.08, -0.14, -0.09]), seeds("sst", [-0.1, 0.2, 0.1])
    (alone,) = rows(claim(ahead, rivals={"lime": ahead}), "small")
    assert sentence(alone) == "does not hold (bert, 3 seeds)"
    among = {"lime": ahead} | {f"random {i}": even for i in range(5)}
    (row,) = rows(claim(ahead, rivals=among), "small")
    assert sentence(row) == "undecided (no single other is shown to be ahead; bert, 3 seeds)"
    assert row["ci_high"] < 0  # the interval of the lead stays as it is
    far = seeds("sst", [-0.5, -0.501, -0.499])
    (row,) = rows(claim(far, rivals=among | {"lime": far}), "small")
    assert sentence(row) == "does not hold (bert, 3 seeds)"
    (row,) = rows(claim(ahead, rivals=among, quantifier="everywhere"), "small")
    assert row["verdict"] == "undecided"


def test_one_model_has_the_same_interval_on_average_and_everywhere():
    values = texts("sst", np.random.default_rng(0).exponential(size=60))
    both = [
        rows(claim(values, design="crossed", quantifier=q), "small")[0] for q in ("on average", "everywhere")
    ]
    assert both[0]["ci_low"] == both[1]["ci_low"] and both[0]["ci_high"] == both[1]["ci_high"]


def test_claims_with_intervals_of_their_own():
    share = statistics.share_interval([True] * 95 + [False] * 5)
    of_share = Claim("in distribution", {Case("sst"): share}, published={"sst": 0.97})
    verdict, _ = judged(of_share)
    assert verdict.value == 0.95 and rows(of_share, "small")[0]["published"] == 0.97


def test_a_case_has_the_looks_of_the_units_that_it_names():
    looks = {Case("sst", "bert"): 3, Case("sst", "bert", "small"): 1, Case("imdb", "bert"): 2}
    read = {case: SimpleNamespace(looks=n) for case, n in looks.items()}
    named = Case("sst", "bert"), Case("sst", "", "small"), Case("imdb", "bert, judge gpt"), Case(part="all")
    of_cases = Claim("A above B", dict.fromkeys(named, statistics.seeds_interval([0.1, 0.2, 0.3])))
    assert [interval.looks for interval in intervals(of_cases, read).values()] == [3, 1, 2, 3]


def test_a_claim_on_every_data_set_is_within_the_margin_where_each_is():
    card = SimpleNamespace(headline=[Headline("A above B", 0.02)])
    wide = claim(seeds("sst", [-0.002, 0, 0.001]), seeds("ag_news", [0, 0.06, 0.12]), quantifier="everywhere")
    first = replace(wide, values=wide.values[wide.values.dataset == "sst"])
    each = [claims.rows(of, "small", *judged(of), card=card)[0]["within_margin"] for of in (first, wide)]
    assert each == ["yes", "undecided"]


def test_bad_claims_are_told():
    refused("quantifier='often' is unknown: use 'on average', 'somewh", claim, SST, quantifier="often")
    refused("no column example", claim, SST, design="crossed")
    assert sentence(rows(claim(SST[:0]), "small")[0]) == "not tested (no record has what it needs)"
