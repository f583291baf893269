"""Notebooks run as units of small sizes, and what is left of them."""

import json
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks/soft_metrics/experiment.ipynb"


def run_here(parameters, notebook=NOTEBOOK):
    """Run the notebook's cells in this process, without a kernel."""
    cells = [c for c in json.loads(notebook.read_text())["cells"] if c["cell_type"] == "code"]
    names = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
        if "parameters" in cell["metadata"].get("tags", ()):
            names |= parameters


class ReachedTraining(Exception):
    pass


def science(results_dir, unit, paper="soft_metrics", volatile=()):
    """{file name: content} of a unit at quick scale, without what may differ between two runs."""
    folder = Path(results_dir, "quick", paper)
    record = json.loads((folder / f"{unit}.json").read_text())
    fields = {"finished", "seconds", "cpu_seconds", "peak_memory_mib", "host"}
    assert set(record.pop("volatile")) - {"longest_training"} == {*fields, *volatile}
    del record["sha256"], record["volatile_sha256"]
    for name in ("git", "dirty", "code"):  # a file may be edited while this test runs
        del record["provenance"][name]
    return {path.name: path.read_bytes() for path in folder.iterdir()} | {f"{unit}.json": json.dumps(record)}


def mirror(folder, task):
    """A mirror of a real data set with generated rows, where the real one is not at hand."""
    from faithlib import corpora

    generated = corpora.make("sentiment", 0, {"train": 60, "validation": 20, "test": 20})
    (folder / task).mkdir(parents=True)
    for split, rows in generated.items():
        rows = pd.DataFrame(rows)
        rows["text_b"] = "was it good ? || yes" if task == "multirc" else ""
        rows[["text", "text_b", "label"]].to_parquet(folder / task / f"{split}.parquet")
    return folder
