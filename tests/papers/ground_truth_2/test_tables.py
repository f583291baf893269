"""Tables: from counts that are written down to accuracies, the worst cell, conditions and transfer."""

import pandas as pd
import pytest
from sample.ground_truth_2 import counts

from notebooks.ground_truth_2 import claims, tables
from notebooks.ground_truth_2.worst_case import CORE


def accuracy(entry, kind, error, shape, flagged):
    """AOPC-s is right but in one cell; NS is worse on steep scores and flagged texts; others at chance."""
    if entry == claims.AOPC_S:
        return 0.6 if (kind, error) == ("N1", "halves") else 0.9
    if entry == claims.NS:
        return 0.7 - 0.2 * (shape == "steep") - 0.2 * flagged
    return 0.5


@pytest.fixture(scope="module")
def values():
    return counts(accuracy)


@pytest.fixture(scope="module")
def resolution(values):
    resolution = values.drop_duplicates([*tables.ENTRY, "mechanism", "error"])[
        [*tables.ENTRY, "mechanism", "error"]
    ]
    return resolution.assign(texts_needed=10.0, room_auroc=0.5)


def records(**milliseconds):
    return [{"volatile": {"milliseconds": milliseconds}}]


def test_an_entry_is_worth_its_worst_core_cell(values, resolution):
    spent = {" ".join(claims.AOPC_S): 2.0, " ".join(claims.NS): 1.0}
    table = tables.entries(values, resolution, records(**spent))
    best = table.iloc[0]
    assert (best.metric, best.cell, best.cells) == ("aopc_sufficiency", "N1 halves", len(CORE))
    assert best.worst == best.lowest == pytest.approx(0.605, abs=0.006)
    assert best.ci_low < best.lowest < best.ci_high and best.void == 0
    assert best["mean"] == pytest.approx((15 * 0.905 + 0.605) / 16, abs=0.01)
    assert best.verdict == "undecided" and best.seconds == pytest.approx(0.02)
    assert table.set_index("metric").verdict["nc"] == "fails"
    ns = table[table.metric == "ns"].iloc[0]
    assert ns.outside - ns.inside == pytest.approx(0.2, abs=0.01)


def test_cells_have_an_interval_over_seeds_and_all_widths_of_ties(values):
    wider = values.assign(right_1e6=values.pairs)
    table = tables.cells(wider).set_index([*tables.ENTRY, "kind", "error"])
    row = table.loc[(*claims.AOPC_S, "N1", "halves")]
    assert row.ci_low < row.accuracy < row.ci_high and (row.n_seeds, row.core) == (4, True)
    assert row.right_1e4 == pytest.approx(row.accuracy) and row.right_1e6 == 1
    assert not table.loc[(*claims.NS, "P1", "halves")].core


def test_conditions_are_taken_one_at_a_time(values):
    table = tables.conditions(values)
    ns = table[(table.metric == "ns") & (table.kind == "P1")].set_index(["condition", "level"]).accuracy
    assert ns["shape", "linear"] - ns["shape", "steep"] == pytest.approx(0.2, abs=0.01)
    assert ns["flagged", "False"] - ns["flagged", "True"] == pytest.approx(0.2, abs=0.01)
    assert set(table.condition) == {"shape", "flagged", "empty_keeps"}


def test_transfer_is_between_what_entries_have(values):
    masked = values[values.metric.isin(["ns", "nc"])].assign(operator="mask", by="token")
    table = tables.transfer(pd.concat([values, masked], ignore_index=True))
    assert set(table.between) == {"kind", "operator", "shape"} and table.tau.between(-1, 1).all()
    planted = masked[masked.mechanism.map(tables.KIND) == "P1"]  # where the operators agree
    both = pd.concat([values[values.metric.isin(["ns", "nc"])], planted], ignore_index=True)
    assert tables.transfer(both).query("between == 'operator'").tau.tolist() == [1]
    shapes = table[table.between == "shape"]
    assert len(shapes) == 3 and (shapes.n_seeds == 4).all()


def test_ties_are_of_the_ladder_of_version_1(values):
    fifths = values[values.error == "near"].assign(error="fifths", right_1e6=values.pairs)
    table = tables.ties(fifths).set_index("metric")
    assert list(table.columns[-3:]) == ["ties 0.005", "ties 0.0001", "ties 1e-06"]
    assert table["ties 1e-06"].eq(1).all() and table["ties 0.005"]["ns"] < 0.9


def test_language_models_are_a_kind_of_their_own(values, resolution):
    words = values.assign(model="tiny-llama")
    both = pd.concat([values.assign(model="tiny-bert"), words], ignore_index=True)
    assert [len(part) for part in tables.by_kind(both)] == [len(values), len(words)]
    made = [{"params": {"model": name}} for name in ("tiny-bert", "tiny-llama", "tiny-bert")]
    assert [len(part) for part in tables.records_by_kind(made)] == [2, 1]
    spent = {" ".join(claims.AOPC_S): 2.0}
    planted = words[words.mechanism.map(tables.KIND).isin(["P1", "P2", "P3"])]
    table = tables.entries(planted, resolution, records(**spent), tables.worst_case.PLANTED_CORE)
    assert table.verdict[0] == "passes" and table.cells[0] == 6


def test_certificates_are_those_of_the_mask_kind_and_the_largest_of_all():
    assert tables.of_mask_kind(pd.DataFrame()).empty and tables.largest(pd.DataFrame()).empty
    rows = [
        ("sst", variant, "zero", True, largest, 0.0, 0.3)
        for variant in ("", "mask-kind")
        for largest in (0, 1)
    ]
    columns = ["dataset", "variant", "operator", "certified", "largest", "mean", "all_mean"]
    table = pd.DataFrame(rows, columns=columns)
    assert set(tables.of_mask_kind(table).variant) == {"mask-kind"}
    assert tables.largest(table).largest.tolist() == [1, 1]
