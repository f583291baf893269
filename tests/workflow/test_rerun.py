"""A unit computed again is compared with its record, value by value."""

import execute
import numpy as np
import pandas as pd
import pytest
import rerun
from sample.units import ROOT

from faithlib.provenance import processor
from faithlib.store import read_record, save_record

INF = float("inf")
VALUES = pd.DataFrame({"metric": ["ns", "nc"], "value": [0.25, 0.5]})
TABLE, METRICS = "world.tiny.s0.parquet: ", "world.tiny.s0.json, metrics: "
TINY = {"train_size": 200, "epochs": 1, "examples": 4, "steps": 3, "samples": 5, "noise": 2, "boundings": []}


def record(folder, values, weights="a", seconds=60.0, source="generated", device="cpu", value=0.5):
    path = folder / "results/small/noiser/world.tiny.s0.json"
    path.parent.mkdir(parents=True)
    about = {"device": device, "data": {"source": source}, "weights": {"w": weights}}
    said = {"format": 2, "unit": "world.tiny.s0", "provenance": about, "volatile": {"cpu_seconds": seconds}}
    said["metrics"] = [{"metric": "k", "value": value}]
    save_record(path, said, {"world.tiny.s0.parquet": values})
    return path


@pytest.mark.parametrize(
    ("values", "others", "differences"),
    [
        (VALUES, {}, []),
        (VALUES.assign(value=[0.25, 0.75]), {}, [(f"{TABLE}column value by up to 0.25", 0.25)]),
        (VALUES, {"weights": "b"}, [("other weights", INF)]),
        (VALUES, {"value": 0.625}, [(f"{METRICS}column value by up to 0.125", 0.125)]),
        (VALUES[:1], {}, [(f"{TABLE}2 rows, now 1", INF)]),
        (
            VALUES.rename(columns={"value": "share"}),
            {},
            [(f"{TABLE}column value is missing now", None), (f"{TABLE}column share is new", None)],
        ),
        (
            VALUES.assign(metric=["ns", "aopc"]),
            {},
            [(f"{TABLE}column metric in 1 of 2 rows, the first 'nc', now 'aopc'", INF)],
        ),
        (
            VALUES.assign(value=[0.25, None]),
            {},
            [(f"{TABLE}column value in 1 of 2 rows, the first np.float64(0.5), now np.float64(nan)", INF)],
        ),
    ],
)
def test_what_differs_is_named_by_file_and_column(tmp_path, values, others, differences):
    old, new = record(tmp_path / "old", VALUES), record(tmp_path / "new", values, **others)
    assert rerun.compare(old, new) == differences


def test_lists_in_a_column_are_compared_by_their_values(tmp_path):
    scores = [np.array([0.1, 0.2]), np.array([0.3])]
    old = record(tmp_path / "old", VALUES.assign(scores=scores))
    same = record(tmp_path / "same", VALUES.assign(scores=[part.copy() for part in scores]))
    other = record(tmp_path / "other", VALUES.assign(scores=[scores[0], np.array([0.4])]))
    assert rerun.compare(old, same) == []
    ((how, size),) = rerun.compare(old, other)
    assert how.startswith(f"{TABLE}column scores in 1 of 2 rows, the first array([0.3])") and size == INF


HERE = {"versions": {"torch": "2"}, "processor": "A, AVX512"}


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (HERE, ""),
        (HERE | {"versions": {"torch": "1"}}, "another version of torch (record: 1, here: 2)"),
        ({"versions": {"torch": "2"}}, "processor of the record unknown (here: A, AVX512)"),
        (
            HERE | {"processor": "B, AVX2"},
            "another kind of processor (record: B, AVX2, here: A, AVX512)",
        ),
    ],
)
def test_other_torch_and_other_processors_are_the_reason(then, reason):
    assert rerun.incomparable(then, HERE) == reason
    far = [("x: column a by up to 0.5", 0.5), ("other weights", INF)]
    if not reason:
        with pytest.raises(SystemExit, match="column a by up to 0.5\nother weights\nthe record is not this"):
            rerun.judged(far, reason)
    else:
        message = f"Not comparable: {reason}; 2 differences, such as other weights."
        assert rerun.judged(far, reason) == message


def test_the_last_bit_counts_on_the_same_machine_alone():
    assert rerun.judged([], "") == rerun.judged([], "another") == (
        "Every value and every weight is the same, bit for bit."
    )  # fmt: skip
    close = [("x: column a by up to 1e-08", 1e-8)]
    assert rerun.judged(close, "another") == "Every value is the same to 1e-06 (largest difference 1e-08)."
    for differences, reason in ((close, ""), ([("x: column a is missing now", None)], "another")):
        with pytest.raises(SystemExit, match="x: column a .*\nthe record is not this code's"):
            rerun.judged(differences, reason)


def test_units_of_minutes_on_generated_corpora_are_drawn(tmp_path, monkeypatch):
    kinds = {"own": {}, "long": {"seconds": 900.0}, "mirror": {"source": "mirror"}, "gpu": {"device": "H100"}}
    for name, kind in kinds.items():
        record(tmp_path / name, VALUES, **kind)
    for name in kinds:
        monkeypatch.chdir(tmp_path / name)
        files = [path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*.json")]
        assert len(rerun.candidates(files)) == (name == "own")


@pytest.mark.slow
def test_a_unit_computed_twice_is_the_same_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    folder = str(tmp_path / "results")
    execute.run(
        "notebooks/noiser/experiment.ipynb", str(tmp_path / "unit.ipynb"), TINY | {"results_dir": folder}
    )
    (path,) = tmp_path.glob("results/quick/noiser/*.json")
    new = rerun.again(path, tmp_path / "again")
    one, other = (read_record(record)["provenance"] for record in (path, new))
    assert one["processor"] == processor() and rerun.incomparable(one, other) == ""
    assert one["weights"] and rerun.judged(rerun.compare(path, new), "").endswith("bit for bit.")
