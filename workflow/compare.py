"""A rerun of one's own beside the committed records and the published numbers: faithlib compare FOLDER

The paper's report draws its tables from the records of the folder; each cell stands beside the cell of the
committed table with the same names, its 95 % interval, and what the paper printed.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path

import pandas as pd
from verify import execute_report

from replication import records, results
from replication.printed import DERIVED

PUBLISHED = "published"
ENDS = ("ci_low", "ci_high")
COLUMNS = ["paper", "table", "cell", "quantity", "rerun", "committed", *ENDS, "inside", PUBLISHED]
ABOUT = re.compile("n|seeds|draws|sd|weight|ratio|p_.*|published.*|.*_(low|high)")  # numbers, but no result
SHOWN = 20  # rows that are printed; all are in the CSV


def units_in(folder):
    """The records below a folder: {(paper, scale): [path]}; FileNotFoundError where there is none."""
    units = {}
    place = Path(folder)
    for path in [place] if place.is_file() else sorted(place.rglob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            key = record["paper"], record["scale"]
        except (ValueError, KeyError, TypeError):
            continue  # another JSON file
        units.setdefault(key, []).append(path)
    if not units:
        raise FileNotFoundError(
            f"{folder}: there is no record in it; name the folder of `faithlib run -o` or of results_dir="
        )
    return units


def parameters(path):
    """How a record's parameters differ from those of the committed record of its unit: lines.

    Without one, the committed record of the paper with the fewest differences is named.
    """
    new = results.read_record(path)
    places = results.project_root() / "results"
    paths = places.glob(f"*/{new['paper']}/*.json")
    committed = [path for path in paths if records.scale_of(path.relative_to(places.parent))]
    if not committed:
        return [f"{new['unit']}: nothing of {new['paper']} is committed to compare it with"]
    old = {path: results.read_record(path)["params"] for path in committed}
    changes = {path: records.differences(params, new["params"]) for path, params in old.items()}
    namesake = places / new["scale"] / new["paper"] / f"{new['unit']}.json"
    nearest = namesake if namesake in changes else min(changes, key=lambda name: len(changes[name]))
    said = ", ".join(changes[nearest]) or "the parameters of the committed record"
    if nearest != namesake:
        said = f"not committed; nearest: {nearest.stem} ({said})"
    return [f"{new['unit']}: {said}"]


def drawn(paper, scale, paths, folder):
    """The tables that the paper's report makes of records: the folder where they lie."""
    place = folder / "rerun" / scale / paper
    place.mkdir(parents=True, exist_ok=True)
    for path in paths:
        for name in [path.name, *results.read_record(path)["files"]]:
            shutil.copy(path.with_name(name), place / name)
    execute_report(scale, paper, folder / "rerun", folder)
    return place / "tables"


def cells(paper, name, rerun, committed):
    """The cells that two tables have in common: rows with the columns COLUMNS."""
    both = [c for c in rerun if c in committed]
    names = [c for c in both if not pd.api.types.is_numeric_dtype(rerun[c])]
    numbers = [c for c in both if c not in names and not ABOUT.fullmatch(c)]
    numbers = [c for c in numbers if pd.api.types.is_numeric_dtype(committed[c])]
    if not names or not numbers:
        return pd.DataFrame(columns=COLUMNS)
    value = numbers[0]
    if "model" in names and not set(rerun.model) & set(committed.model):
        models = (", ".join(table.model.unique()) for table in (rerun, committed))
        print("{}: another model ({}, not {})".format(name, *models))
        names.remove("model")
    new, old = (t.drop_duplicates(names).astype(dict.fromkeys(names, str)) for t in (rerun, committed))
    new = new[[*names, value]].rename(columns={value: "rerun"})
    rows = []
    for row in new.merge(old, on=names).to_dict("records"):
        low, high = (row.get(end, row.get(f"{value}{end.removeprefix('ci')}")) for end in ENDS)
        inside = "" if low is None or low != low else "yes" if low <= row["rerun"] <= high else "no"
        cell = ", ".join(str(row[column]) for column in names if str(row[column]) != "nan")
        numbers = row["rerun"], row[value], low, high, inside, row.get(PUBLISHED)
        rows.append((paper, name, cell, value, *numbers))
    return pd.DataFrame(rows, columns=COLUMNS)


def within(rows):
    """One line a table: how many of its cells lie within the committed intervals, where it has any."""
    for (paper, table), cells in rows.groupby(["paper", "table"], sort=False):
        tested = cells[cells.inside != ""]
        inside = f"{(tested.inside == 'yes').sum()} of {len(tested)} cells lie within the committed interval"
        yield f"{paper}, {table}: {inside if len(tested) else 'no intervals in this table'}"


def compare(folder, output):
    """Print the comparison of all records below a folder, or of one record, and write it as the CSV `output`.

    Returns a DataFrame with the columns COLUMNS.
    """
    compared = []
    for (paper, scale), paths in units_in(folder).items():
        print(*(line for path in paths for line in parameters(path)), sep="\n")
        committed = results.project_root() / "results" / scale / paper / "tables"
        if not committed.is_dir():
            print(f"{paper}: nothing is committed at scale {scale!r} to compare with")
            continue
        with tempfile.TemporaryDirectory() as name:
            tables = drawn(paper, scale, paths, Path(name))
            for table in sorted(tables.glob("*.csv")):
                if (committed / table.name).is_file() and table.stem not in DERIVED:
                    both = (pd.read_csv(path) for path in (table, committed / table.name))
                    compared.append(cells(paper, table.stem, *both))
    rows = pd.concat(compared, ignore_index=True) if compared else pd.DataFrame(columns=COLUMNS)
    if rows.empty:
        print("No cell is in both.")
        return rows
    first = rows.sort_values(PUBLISHED, key=lambda column: column.isna(), kind="stable")
    first = first.head(SHOWN).drop(columns="paper")
    print(first.to_string(index=False, float_format="{:.3f}".format, na_rep=""))
    print(*within(rows), sep="\n")
    rows.to_csv(output, index=False)
    print(f"All {len(rows)} cells: {output}")
    return rows
