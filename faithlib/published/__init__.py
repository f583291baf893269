"""The papers' published numbers as tidy CSV, one folder a paper, one file a table.

Data sets, attributions and metrics carry faithlib's names. Numbers are as printed; where the paper
contradicts itself the row's `note` says how, and the folder's README collects the contradictions.
"""

from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent


def load(paper, table):
    """One published table: `load("soft_metrics", "table_6")` -> DataFrame, one row a number.

    Raises ValueError for a paper or a table that is not here, naming those that are.
    """
    papers = sorted(p.name for p in FOLDER.iterdir() if p.is_dir() and any(p.glob("*.csv")))
    if paper not in papers:
        raise ValueError(f"no published numbers of {paper!r}: use one of {', '.join(papers)}")
    tables = sorted(path.stem for path in (FOLDER / paper).glob("*.csv"))
    if table not in tables:
        raise ValueError(f"{paper} has no table {table!r}: use one of {', '.join(tables)}")
    frame = pd.read_csv(FOLDER / paper / f"{table}.csv")
    if "note" in frame:
        frame["note"] = frame["note"].fillna("")
    return frame
