"""A paper of two tables, for the tests of what stands beside its published numbers."""

import pytest
import yaml

from replication import papers, printed

CELLS = [
    ("sst", "base", "attention", 0.4), ("sst", "base", "lime", 0.2), ("sst", "base", "deeplift", 0.3),
    ("imdb", "base", "attention", 0.3), ("imdb", "base", "lime", 0.4), ("sst", "large", "lime", 0.5),
    ("snli", "base", "lime", 0.6), ("mimic_anemia", "base", "lime", 0.7),
]  # fmt: skip


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A paper of two tables and a folder of ours: returns (write layout entries, folder)."""
    published, folder = tmp_path / "mine" / "published", tmp_path / "results" / "small" / "mine" / "tables"
    published.mkdir(parents=True)
    folder.mkdir(parents=True)
    rows = ["dataset,model,attribution,value"]
    rows += [f"{d},{m},{a},{v}" for d, m, a, v in CELLS]
    (published / "table_1.csv").write_text("\n".join(rows) + "\n")
    means = "attribution,value\nattention,0.35\nlime,0.3\naverage,0.325\n"
    (published / "table_2.csv").write_text(means)
    ours = "dataset,model,attribution,value\nsst,org/small,attention,0.8\nsst,org/small,lime,0.6\n"
    ours += "imdb,org/small,attention,0.5\nimdb,org/small,lime,0.9\n"
    (folder / "values.csv").write_text(ours)
    (folder / "gates.csv").write_text("dataset,model,accepted\nsst,small,True\nimdb,small,False\n")
    monkeypatch.setattr(papers, "FOLDER", tmp_path)

    def write(**changed):
        first = {"title": "First", "rows": ["dataset", "model"], "columns": ["attribution"], "headline": True}
        first |= {"pairs": "attribution", "ours": {"table": "values", "value": "value"}} | changed
        second = {"title": "Means", "rows": ["attribution"], "columns": [], "mean_of": "table_1"}
        tables = {"table_1": first, "table_2": second}
        layout = {"stands_for": {"small": ["base"]}, "tables": tables}
        (published / "layout.yaml").write_text(yaml.safe_dump(layout))
        return printed.layouts("mine")

    return write, folder
