"""The report notebook of soft_metrics on records made by hand."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from sample.soft_metrics import record, unit

from faithlib import store
from notebooks.soft_metrics import tables
from replication.claims import CLAIMS


@pytest.fixture
def values():
    units = [unit(d, definition=k) for d in ("sst", "topics") for k in ("paper", "released")]
    return pd.concat(units, ignore_index=True)


def test_the_notebook_makes_its_tables_and_figures(values, tmp_path):
    folder = tmp_path / "results" / "quick" / "soft_metrics"
    folder.mkdir(parents=True)
    for dataset, part in values.groupby("dataset"):
        done = record(dataset, "org/tiny", 0, 0.9)
        part = part.drop(columns=["dataset", "model", "seed"])
        path = folder / f"{done['unit'].replace('/', '-')}.parquet"
        part.to_parquet(path)
        done |= {"paper": "soft_metrics", "unit": path.stem, "files": {path.name: store.file_digest(path)}}
        done["provenance"] |= {
            "git": None, "dirty": False, "device": "cpu", "versions": {"torch": "2", "transformers": "5"},
        }  # fmt: skip
        path.with_suffix(".json").write_text(json.dumps(done))
    book = Path(__file__).parents[2] / "notebooks/soft_metrics/report.ipynb"
    names = {"display": lambda value: None}
    for code in (c for c in json.loads(book.read_text())["cells"] if c["cell_type"] == "code"):
        exec("".join(code["source"]), names)
        if "parameters" in code["metadata"].get("tags", []):
            folders = {f"{kind}_dir": str(tmp_path / kind) for kind in ("results", "figures")}
            names |= {"scale": "quick", **folders}
    plt.close("all")
    written = {p.name for p in (folder / "tables").iterdir()}
    names = "performance diagnosticity faithfulness_by_ratio table_2 table_3 soft_draws"
    for table in names.split():
        assert {f"{table}.csv", f"{table}.tex", f"{table}.html"} <= written
    table = pd.read_csv(folder / "tables" / "diagnosticity.csv")
    assert list(table.columns) == tables.TABLE_6 and len(table) == 192
    claims = pd.read_csv(folder / "claims.csv")
    assert list(claims) == CLAIMS and claims.verdict.isna().all() and claims.published.isna().all()
    assert (folder / "choices.csv").is_file()
    assert len(list((tmp_path / "figures" / "quick" / "soft_metrics").glob("*.p*"))) == 8
