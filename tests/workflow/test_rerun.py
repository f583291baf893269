"""A unit computed again is compared with its record, value by value."""

import math

import pandas as pd
import pytest
import rerun

from faithlib.store import save_record

VALUES = pd.DataFrame({"metric": ["ns", "nc"], "value": [0.25, 0.5]})


def record(folder, values, weights="a", seconds=60.0, source="generated", device="cpu"):
    path = folder / "results/small/noiser/world.tiny.s0.json"
    path.parent.mkdir(parents=True)
    about = {"device": device, "data": {"source": source}, "weights": {"w": weights}}
    said = {"format": 2, "unit": "world.tiny.s0", "provenance": about, "volatile": {"cpu_seconds": seconds}}
    save_record(path, said, {"world.tiny.s0.parquet": values})
    return path


@pytest.mark.parametrize(
    ("values", "weights", "largest", "told"),
    [
        (VALUES, "a", 0.0, 0),
        (VALUES.assign(value=[0.25, 0.5 + 1e-8]), "a", pytest.approx(1e-8, rel=1e-3), 0),
        (VALUES, "b", 0.0, 1),
        (VALUES.assign(metric=["ns", "aopc"]), "a", math.inf, 0),
        (VALUES.assign(value=[0.25, None]), "a", math.inf, 0),
        (VALUES[:1], "a", math.inf, 1),
    ],
)
def test_the_largest_difference_and_other_weights_are_named(tmp_path, values, weights, largest, told):
    old, new = record(tmp_path / "old", VALUES), record(tmp_path / "new", values, weights)
    found, lines = rerun.compare(old, new)
    assert found == largest and len(lines) == told


def test_units_of_minutes_on_generated_corpora_are_drawn(tmp_path, monkeypatch):
    kinds = {"own": {}, "long": {"seconds": 900.0}, "mirror": {"source": "mirror"}, "gpu": {"device": "H100"}}
    for name, kind in kinds.items():
        record(tmp_path / name, VALUES, **kind)
    for name in kinds:
        monkeypatch.chdir(tmp_path / name)
        files = [path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*.json")]
        assert len(rerun.candidates(files)) == (name == "own")
