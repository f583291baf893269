"""Claims of soft_metrics: each value by hand, and when there is no verdict."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sample.choices import main_alone, with_choices
from sample.soft_metrics import DRAWS, N, record, unit

from notebooks.soft_metrics import claims
from notebooks.soft_metrics.card import CARD
from replication import papers
from replication.claims import CLAIMS

SHARE = "soft above hard in 16 of 18 averages (share of those that are here)"
RECORDS = [record(dataset, "org/tiny", 0, 0.9) for dataset in ("sst", "topics")]


@pytest.fixture(scope="module")
def made(values):
    return claims.claims(RECORDS, values, "small")


main_of = partial(main_alone, claims, scale="small")


def test_values_are_those_by_hand(made):
    table, _ = made
    assert list(table) == CLAIMS and set(table.definition) == {"paper", "released"}
    paper = table[table.definition == "paper"]
    normal = paper[paper.baseline == "normal"].set_index("claim")
    ns, nc = (7 + 0.5) / N, (10 + 1) / N  # wins of both attributions and half of the ties, by WINS
    expected = {
        "Soft-NS above NS on average": 14 / N - ns,
        "Soft-NS above NS on every data set": 14 / N - ns,
        "Soft-NC above NC on average": 18 / N - nc,
        "Soft-NC above NC on every data set": 18 / N - nc,
        "NC above NS on average": nc - ns,
        "Soft-NC above Soft-NS on average": (18 - 14) / N,
        SHARE: 1.0,
        "Soft-NS varies less over attributions than NS": 0.5 / N,  # sd of 7 and 8
        "Soft-NC varies less over attributions than NC": 3 / N,  # sd of 8 and 14
    }
    assert normal.value.to_dict() == pytest.approx(expected)
    row = normal.loc["Soft-NS above NS on average"]
    assert [row.verdict, row.model, row.unit, row.n_units] == ["holds", "tiny", "text", N]
    assert normal.verdict[SHARE] == "undecided" and normal.reason[SHARE].startswith("1 seed")
    matched = paper[paper.baseline == "matched"].set_index("claim")
    assert matched.value["Soft-NS above NS on average"] == pytest.approx((8 - 7) / N)  # no tie there
    assert matched.value[SHARE] == pytest.approx(0.5)
    shift = paper[paper.baseline == "normal - matched"].set_index("claim").value
    assert shift["Soft-NS less above NS against matched baseline"] == pytest.approx((6.5 - 1) / N)
    assert shift["Soft-NC less above NC against matched baseline"] == pytest.approx((7 - 0) / N)


def test_intervals_have_a_width_and_three_units(made):
    table, listed = made
    for frame in (table, listed):
        rows = frame[frame.ci_low.notna()]
        assert len(rows) and (rows.ci_high - rows.ci_low > 1e-6).all()
    assert (table.n_units[table.ci_low.notna()] >= 3).all()
    everywhere = table[table.claim.str.contains("every data set") & (table.verdict == "holds")]
    assert (everywhere.failing_cases == "").all()


def test_published_are_of_our_attributions_and_never_beside_generated_corpora(values):
    assert main_of(RECORDS, values).published.isna().all()  # "topics" is generated
    table = main_of(RECORDS[:1], values[values.dataset == "sst"])
    normal = table[(table.baseline == "normal") & (table.definition == "paper")].set_index("claim")
    cells = papers.published("soft_metrics", "table_6")
    cells = cells[(cells.dataset == "sst") & cells.attribution.isin(["attention", "deeplift"])]
    mean = cells.groupby("metric").value.mean()
    row = normal.loc["Soft-NC above NC on average"]
    assert row.published == pytest.approx(mean["Soft-NC"] - mean["NC"]) and row.published_cases == "sst"
    assert table[table.baseline == "matched"].published.isna().all()


def test_ties_are_a_choice_and_what_no_record_shows_is_not_tested(made):
    table, listed = made
    row = listed[(listed.claim == "NC above NS on average") & (listed.definition == "paper")]
    row = row[row.baseline == "normal"].set_index("option").value
    assert row[["main", "strict", "at least"]].tolist() == pytest.approx([3.5 / N, 3 / N, 4 / N])
    assert row["without signed input × gradient"] == pytest.approx((8 - 7) / N)
    assert {"rank", "released", "[MASK]", "gold"} <= set(listed.option[listed.verdict == "not tested"])
    assert table.untested[table.claim == "NC above NS on average"].iloc[0] == 9
    released = listed[(listed.claim == "NC above NS on average") & (listed.definition == "released")]
    assert "at least" not in set(released.option)  # which is the main setting there
    assert set(claims.COMPUTED) < set(CARD.choices) and set(claims.WITHOUT) < set(
        CARD.choices["attributions"]
    )


def test_a_measured_option_is_a_row_of_choices(values):
    """Of the varied texts, the first half, the attribution wins none with another map: opposite verdicts."""
    changed = values[values.varied & (values.metric == "Soft-NC") & (values.draws == DRAWS)]
    changed = changed[changed.definition == "paper"].assign(option="rank")
    changed = changed.assign(raw=changed.raw - (changed.baseline == ""))
    both = pd.concat([values, changed], ignore_index=True)
    table, listed = with_choices(claims, RECORDS, both, "small", choices=["probability"])
    options = listed[(listed.claim == "Soft-NC above NC on average") & (listed.definition == "paper")]
    options = options[options.baseline == "normal"].set_index("option")
    hard = (8 / 10 + 1) / 2  # wins of attention and of deeplift on the first ten texts
    assert options.value["rank"] == pytest.approx(0 - hard)
    row = table[(table.claim == "Soft-NC above NC on average") & (table.definition == "paper")]
    assert (row.verdict.iloc[0], row.depends_on.iloc[0]) == ("depends", "probability")
    released = listed[listed.definition == "released"]
    assert "rank" not in set(released.option)  # which the released definition does not have
    assert "rank" not in set(
        listed[listed.claim == "NC above NS on average"].option
    )  # which it leaves as it is


def test_texts_that_are_predicted_wrong_can_be_left_out(values):
    right = values.assign(correct=values.example >= 10)
    _, listed = with_choices(claims, RECORDS, right, "small", choices=["texts"])
    row = listed[(listed.option == "correctly predicted") & (listed.claim == "Soft-NC above NC on average")]
    row = row[(row.definition == "paper")].set_index("baseline").value
    assert row["normal"] == pytest.approx(8 / 10 - (0 + (2 + 4 / 2) / 10) / 2)


def test_three_seeds_are_crossed_with_texts(values):
    seeds = [unit("sst", seed) for seed in range(3)]
    worse = (seeds[1].metric == "Soft-NS") & (seeds[1].baseline == "") & (seeds[1].example < 3)
    seeds[1]["raw"] -= np.where(worse, 1, 0)  # three wins less
    table = main_of([record("sst", "org/tiny", s, 0.9) for s in range(3)], pd.concat(seeds))
    normal = table[table.baseline == "normal"].set_index("claim")
    row = normal.loc["Soft-NS above NS on average"]
    assert row.unit == "seed" and row.n_units == 3 and row.value == pytest.approx((6.5 - 1) / N)
    assert row.ci_high - row.value >= 4.302 * 3 / N / 3 - 1e-9  # t(.975, 2) · sd / √3, sd of (0, 3, 0) / N
    assert normal.verdict["NC above NS on average"] == "undecided"  # every seed has the same values
    two = main_of(RECORDS[:1], pd.concat(seeds[:2]))
    assert set(two.verdict) == {"undecided"} and two.ci_low.isna().all()


def test_what_is_at_chance_takes_no_part(values):
    records = [RECORDS[0], record("topics", "org/tiny", 0, 0.2)]
    table, listed = with_choices(claims, records, values, "small")
    assert set(table.cases + table.other_cases) == {"sst"}
    assert "data sets" in set(listed.choice)
    refused = [record(name, "org/tiny", 0, 0.2) for name in ("sst", "topics")]
    table = main_of(refused, values)
    assert set(table.verdict) == {"not tested"} and set(table.reason) == {"no data set passes the gate"}


def test_a_share_of_averages_names_its_data_sets(values):
    seeds = [unit("sst", seed) for seed in range(3)] + [unit("ag_news", seed) for seed in range(3)]
    for i, part in enumerate(seeds):  # seeds that differ
        part["raw"] -= np.where((part.metric == "Soft-NS") & (part.baseline == ""), i / 2, 0)
    records = [record(name, "org/tiny", s, 0.9) for name in ("sst", "ag_news") for s in range(3)]
    table = main_of(records, pd.concat(seeds))
    row = table[(table.claim == SHARE) & (table.baseline == "normal") & (table.definition == "paper")].iloc[0]
    assert "sst, ag_news" in (row.cases, row.failing_cases) and row.published_cases == "sst, ag_news"
    cells = [of for name, of in claims.published_cells().items() if name in ("sst", "ag_news")]
    names = values.attribution[values.baseline == ""].unique()
    assert row.published == claims._won([of.loc[names] for of in cells])


def test_quick_has_numbers_and_no_verdict(values):
    table, listed = with_choices(claims, RECORDS, values, "quick", choices=["ties"])
    assert set(table.verdict) == {""} == set(listed.verdict) and table.value.notna().all()
    assert table.published.isna().all()


def test_claims_do_without_a_matched_baseline(values):
    table = main_of(RECORDS, values[values.baseline != "matched"])
    assert set(table.baseline) == {"normal"} and table.value.notna().all()


def test_the_gradient_of_the_spread_is_its_slope():
    means, step = np.array([0.1, 0.4, 0.7, 0.2, 0.3, 0.9]), 1e-6

    def spread(shift):
        return claims._spread_difference(means + shift, 3)

    by_hand = [(spread(step * d) - spread(-step * d)) / (2 * step) for d in np.eye(6)]
    assert claims._spread_gradient(means, 3) == pytest.approx(by_hand, abs=1e-8)


def test_an_option_that_the_claims_do_not_know_is_refused(values):
    for choice, option in {"texts": "wrongly predicted", "ties": "none", "baseline": "uniform"}.items():
        with pytest.raises(ValueError, match=f"{choice}={option!r} is unknown"):
            claims.statements(lambda _: values, {"": set()}, "crossed", None, **{choice: option})
