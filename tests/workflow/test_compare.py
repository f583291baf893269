"""A rerun beside what is committed: cells that have the same names, parameters that differ."""

from math import nan
from pathlib import Path

import compare
import pandas as pd
import pytest

from faithlib.store import save_record

COMMITTED = pd.DataFrame(
    {
        "dataset": ["sst", "sst", "ag_news"], "model": "MiniLM",
        "attribution": ["attention", "random", "attention"], "fraction": [0.5, 0.7, 0.4],
        "ci_low": [0.45, 0.68, None], "ci_high": [0.55, 0.72, None], "n": [150, 150, 100],
        "published": [0.55, None, 0.43],
    }
)  # fmt: skip


def test_cells_with_the_same_names_stand_beside_each_other():
    rerun = COMMITTED.assign(fraction=[0.52, 0.73, 0.41])[::-1].reset_index(drop=True)
    cells = compare.cells("saloss", "flips", rerun, COMMITTED).set_index("cell")
    row = cells.loc["sst, MiniLM, attention"]
    assert (row.quantity, row.rerun, row.committed, row.inside) == ("fraction", 0.52, 0.5, "yes")
    assert cells.inside.tolist() == ["", "no", "yes"] and len(cells) == 3
    assert compare.cells("saloss", "flips", rerun[:0], COMMITTED).empty


def test_a_number_stands_beside_its_own_interval_and_rows_are_told_apart_by_numbers_too():
    areas = pd.DataFrame(
        {"dataset": "cola", "ratio": [0, 10], "unconverged": [0, 1], "acu": [0.4, 0.5], "acu_low": [0.3, 0.4],
         "acu_high": [0.5, 0.6], "racu": [4.0, 5.0], "ci_low": [3.0, 4.0], "ci_high": [5.0, 6.0]}
    )  # fmt: skip
    rows = compare.cells("fmm", "racu", areas.assign(racu=[4.5, 7.0], variant=["", None]), areas)
    assert rows.cell.tolist() == ["cola, 0", "cola, 10"] * 2
    assert rows.quantity.tolist() == ["acu", "acu", "racu", "racu"]
    assert rows.inside.tolist() == ["yes", "yes", "yes", "no"]
    assert compare.cells("fmm", "sizes", *[areas[["dataset", "acu"]]] * 2).empty


TABLES = [path for path in Path("results/small").glob("*/tables/*.csv") if path.stem not in compare.DERIVED]


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parts[2]}/{path.stem}")
def test_committed_numbers_lie_within_their_own_intervals_and_are_told_apart(path):
    table = pd.read_csv(path)
    rows = compare.cells(path.parts[2], path.stem, table, table)
    assert set(rows.inside) <= {"yes", ""} and not rows.duplicated(["cell", "quantity"]).any()
    for quantity, part in rows.groupby("quantity"):  # no row falls out
        assert len(part) == table[quantity].notna().sum()


def test_cells_that_a_paper_prints_stand_beside_the_published_ones():
    printed = pd.DataFrame(
        {"dataset": ["sst", "ag_news"], "printed": [0.4, 0.5], "text": ["0.4", "0.5"], "definition": "",
         "own_model": "MiniLM", "ours": [0.6, None], "accepted": True, "published": [0.4, 0.5], "mark": "",
         "table": "table_6"}
    )  # fmt: skip
    (row,) = compare.printed_cells("fmm", printed.assign(ours=[0.7, None]), printed).to_dict("records")
    assert (row["cell"], row["rerun"], row["committed"], row["published"]) == ("sst, table_6", 0.7, 0.6, 0.4)
    (row,) = compare.printed_cells("fmm", printed.assign(ours=[None, 0.7]), printed).to_dict("records")
    assert (row["cell"], row["published"]) == ("ag_news, table_6", 0.5)  # no committed one


def test_cells_within_intervals_are_counted_by_table():
    some = compare.cells("saloss", "flips", COMMITTED.assign(fraction=[0.52, 0.73, 0.41]), COMMITTED)
    without = compare.cells("saloss", "sizes", *[COMMITTED.assign(ci_low=nan, ci_high=nan)] * 2)
    (first,) = compare.within(pd.concat([some, without]))
    assert first == "saloss, flips: 1 of 2 cells lie within the committed interval"


def test_a_run_that_fails_the_gate_is_said():
    lines = list(compare.refused("fmm", Path("results/small/fmm/tables")))
    assert "fmm, cb with all-MiniLM-L6-v2: no claim rests on this run, as score 0.449" in lines[1]


def test_another_model_is_compared_and_said(capsys):
    cells = compare.cells("saloss", "flips", COMMITTED.assign(model="bert-base-uncased"), COMMITTED)
    assert "another model (bert-base-uncased, not MiniLM)" in capsys.readouterr().out
    assert cells.cell.tolist() == ["sst, attention", "sst, random", "ag_news, attention"]
    both = pd.concat([COMMITTED.assign(model=model) for model in ("bert", "roberta")])
    assert len(compare.cells("saloss", "flips", both, COMMITTED)) == 3
    assert "flips: 3 rows have the name of an earlier one, not compared: sst" in capsys.readouterr().out


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setattr("replication.results.project_root", lambda: tmp_path)
    return tmp_path


def save(folder, seed=0, rows="1f", **more):
    params = {"task": "sst", "model": "bert", "seed": seed, **more}
    unit = f"sst.bert.s{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    about = {"provenance": {"data": {"sha256": {"train": "0a", "test": rows}}}, "volatile": {}}
    said = {"format": 2, "paper": "saloss", "scale": "small", "unit": unit, "params": params, **about}
    save_record(folder / f"{unit}.json", said, {f"{unit}.parquet": COMMITTED})
    return folder / f"{unit}.json"


def test_parameters_that_differ_are_named_and_so_is_the_nearest_record(project):
    path = save(project / "mine", epochs=3)
    assert compare.parameters(path) == ["sst.bert.s0: nothing of saloss is committed to compare it with"]
    committed = project / "results/small/saloss"
    save(committed, epochs=3)
    assert compare.parameters(path) == ["sst.bert.s0: as the committed record"]
    assert compare.parameters(save(project / "other", epochs=4)) == ["sst.bert.s0: epochs=3, not 4"]
    other = save(project / "other", rows="2e", epochs=3)
    assert compare.parameters(other) == ["sst.bert.s0: other rows in test"]
    (line,) = compare.parameters(save(project / "mine", seed=7, epochs=3))
    assert line == "sst.bert.s7: not committed; nearest: sst.bert.s0 (seed=0, not 7)"


def test_a_run_is_never_compared_with_itself(project):
    path = save(project / "results/one-gpu/saloss", epochs=3)
    (project / "results/one-gpu/saloss/tables").mkdir()
    assert compare.beside("saloss", "one-gpu", [path]) is None
    committed = save(project / "results/small/saloss")
    (tables := project / "results/small/saloss/tables").mkdir()
    assert compare.beside("saloss", "one-gpu", [path]) == compare.beside("saloss", "small", [path]) == tables
    assert compare.beside("saloss", "small", [committed]) is None
    assert "is what reruns are compared with" in compare.parameters(committed)[0]
    assert compare.parameters(path) == ["sst.bert.s0: epochs=unknown, not 3"]


def test_a_folder_without_records_is_refused(tmp_path):
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match="has no record: give the folder"):
        compare.units_in(tmp_path)


def test_two_records_of_one_unit_and_a_damaged_one_are_told(project, capsys):
    save(project / "runs/a"), save(project / "runs/b")
    with pytest.raises(ValueError, match=r"is the second sst.bert.s0.json below .*: name one of their"):
        compare.units_in(project / "runs")
    (project / "runs/a/half.json").write_text('{"paper"')
    assert len(compare.units_in(project / "runs/a")) == 1
    assert "half.json is damaged and not read" in capsys.readouterr().out
