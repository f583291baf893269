"""A rerun of one's own beside the committed records and the published numbers: faithlib compare FOLDER

The paper's report draws its tables from the records of the folder. Each number that has a 95 % interval
stands beside that of the committed table with the same names, each cell of the paper's own tables beside
what the paper printed.
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

PRINTED, PUBLISHED = DERIVED[0], "published"
COLUMNS = "paper table cell quantity rerun committed ci_low ci_high inside published".split()
NUMBERED = "ratio step top draws epoch weight variance recursive".split()  # numbers that tell cells apart
RESULT = re.compile("accepted|tested|reason|clipped|training_set|best_other|roar_of|published_.*")  # no name
OURS = ("printed", "text", "own_model", "ours", "accepted", PUBLISHED, "mark")  # no names in printed.csv
OTHER = "small"  # the scale that stands beside a rerun of one that has no committed records
SHOWN = 20  # rows that are printed; all are in the CSV


def units_in(folder):
    """The records below a folder, a Path: {(paper, scale): [path]}; FileNotFoundError where there is none."""
    units = {}
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            key = record["paper"], record["scale"]
        except ValueError as error:
            print(f"{path} is damaged and not read ({error})")
            continue
        except (KeyError, TypeError):
            continue  # another JSON file
        if path.name in [other.name for other in units.get(key, ())]:
            raise ValueError(f"{path} is the second {path.name} below {folder}: name one of their folders")
        units.setdefault(key, []).append(path)
    if not units:
        raise FileNotFoundError(f"{folder} has no record: give the folder of faithlib run -o or results_dir=")
    return units


def parameters(path):
    """How a record's parameters and data differ from those of the committed record of its unit: lines.

    Without one, the committed record of the paper with the fewest differences is named.
    """
    new = results.read_record(path)
    places = results.project_root() / "results"
    paths = places.glob(f"*/{new['paper']}/*.json")
    committed = [other for other in paths if other.parents[1].name in records.VERDICT_SCALES]
    if not committed:
        return [f"{new['unit']}: nothing of {new['paper']} is committed to compare it with"]
    if any(other.samefile(path) for other in committed):
        return [f"{path} is what reruns are compared with: make one elsewhere (faithlib run --like)"]
    namesake = places / new["scale"] / new["paper"] / f"{new['unit']}.json"
    old = {path: results.read_record(path) for path in committed}
    changes = {path: records.differences(record["params"], new["params"]) for path, record in old.items()}
    nearest = namesake if namesake in changes else min(changes, key=lambda name: len(changes[name]))
    said = ", ".join(changes[nearest] + other_rows(old[nearest], new)) or "as the committed record"
    if nearest != namesake:
        said = f"not committed; nearest: {nearest.stem} ({said})"
    return [f"{new['unit']}: {said}"]


def other_rows(old, new):
    """The splits whose rows are not those of another record: ["other rows in <split>"]."""
    then, now = ((record["provenance"].get("data") or {}).get("sha256", {}) for record in (old, new))
    return [f"other rows in {split}" for split in then if now.get(split) != then[split]]


def drawn(paper, scale, paths, folder):
    """The tables that the paper's report makes of records: the folder where they lie."""
    place = folder / "rerun" / scale / paper
    place.mkdir(parents=True, exist_ok=True)
    for path in paths:
        for name in [path.name, *results.read_record(path)["files"]]:
            shutil.copy(path.with_name(name), place / name)
    execute_report(scale, paper, folder / "rerun", folder)
    return place / "tables"


def quantities(columns):
    """The numbers of a table that have an interval: {column: (column of its low end, of its high one)}.

    >>> quantities(["dataset", "acu", "acu_low", "acu_high", "racu", "ci_low", "ci_high"])
    {'acu': ('acu_low', 'acu_high'), 'racu': ('ci_low', 'ci_high')}
    """
    columns, ends = list(columns), {}
    for place, low in enumerate(columns):
        name = columns[place - 1] if low == "ci_low" else low.removesuffix("_low").removesuffix("_ci")
        if low.endswith("_low") and name in columns and name != PUBLISHED:
            ends[name] = low, f"{low.removesuffix('low')}high"
    return ends


def cells(paper, name, rerun, committed):
    """The numbers with an interval that two tables have in common: rows with the columns COLUMNS."""
    both = [column for column in rerun if column in committed and not RESULT.fullmatch(column)]
    numeric = pd.api.types.is_numeric_dtype
    names = [c for c in both if c in NUMBERED or not (numeric(rerun[c]) and numeric(committed[c]))]
    if "model" in names and not set(rerun.model) & set(committed.model):
        models = (", ".join(table.model.unique()) for table in (rerun, committed))
        print("{}: another model ({}, not {})".format(name, *models))
        names.remove("model")
    new, old = _aligned(name, rerun, committed, names)
    parts = [pd.DataFrame()]
    for quantity, (low, high) in quantities(committed).items():
        inside = new[quantity].between(old[low], old[high]).map({True: "yes", False: "no"})
        part = pd.DataFrame({"rerun": new[quantity], "committed": old[quantity], "quantity": quantity})
        inside = inside.where(old[low].notna(), "")
        parts.append(part.assign(ci_low=old[low], ci_high=old[high], inside=inside))
    return _rows(paper, name, pd.concat(parts))


def printed_cells(paper, rerun, committed):
    """The cells of the paper's own tables that a rerun has: rows with the columns COLUMNS."""
    names = [column for column in rerun if column in committed and column not in OURS]
    new, old = _aligned(PRINTED, rerun.dropna(subset="ours"), committed, names)
    rows = pd.DataFrame({"rerun": new.ours, "committed": old.ours, PUBLISHED: new.published})
    return _rows(paper, PRINTED, rows.assign(quantity="as printed", inside=""))


def _aligned(what, rerun, committed, names):
    """The rows of two tables that have the same names, which are the index as a text."""
    tables = []
    for table in (rerun, committed):
        texts = table[names].astype(object).fillna("").astype(str)
        table = table.assign(cell=[", ".join(filter(None, row)) for row in texts.itertuples(index=False)])
        if again := list(table.cell[table.cell.duplicated()]):
            print(f"{what}: {len(again)} rows have the name of an earlier one, not compared: {again[0]}, …")
        tables.append(table.drop_duplicates("cell").set_index("cell"))
    same = tables[0].index.intersection(tables[1].index, sort=False)
    return [table.loc[same] for table in tables]


def _rows(paper, name, rows):
    rows = rows.rename_axis("cell").reset_index().assign(paper=paper, table=name).reindex(columns=COLUMNS)
    return rows.dropna(subset="rerun").dropna(subset=["committed", PUBLISHED], how="all")


def within(rows):
    """One line a table with intervals: how many of its cells lie within the committed ones."""
    for (paper, table), inside in rows[rows.inside != ""].groupby(["paper", "table"], sort=False).inside:
        count = (inside == "yes").sum()
        yield f"{paper}, {table}: {count} of {len(inside)} cells lie within the committed interval"


def refused(paper, tables):
    """One line a data set and model that fail the gate in a folder of tables."""
    path = tables / "gates.csv"
    for row in pd.read_csv(path).query("not accepted").itertuples() if path.is_file() else ():
        yield f"{paper}, {row.dataset} with {row.model}: no claim rests on this run, as {row.reason}"


def beside(paper, scale, paths):
    """The folder of committed tables that stands beside records, of their scale or else of OTHER; or None.

    Records below results/<scale>/<paper> are no committed ones of a scale that has none.
    """
    runs = {path.resolve().parent for path in paths}
    for name in dict.fromkeys((scale, OTHER)):
        folder = results.project_root() / "results" / name / paper
        if name in records.VERDICT_SCALES and (folder / "tables").is_dir() and folder.resolve() not in runs:
            return folder / "tables"
    return None


def compare(folder, output):
    """Print the comparison of all records below a folder, or of one record, and write it as the CSV `output`.

    Returns a DataFrame with the columns COLUMNS.
    """
    compared = []
    for (paper, scale), paths in units_in(folder).items():
        print(*(line for path in paths for line in parameters(path)), sep="\n")
        committed = beside(paper, scale, paths)
        if committed is None:
            print(f"{paper}: nothing else is committed at scale {scale!r} or {OTHER!r} to compare with")
            continue
        if (other := committed.parents[1].name) != scale:
            print(f"{paper}: nothing is committed at scale {scale!r}; beside it stands scale {other!r}")
        with tempfile.TemporaryDirectory() as name:
            tables = drawn(paper, scale, paths, Path(name))
            for line in refused(paper, tables):
                print(line)
            for table in sorted(path for path in tables.glob("*.csv") if (committed / path.name).is_file()):
                both = [pd.read_csv(path) for path in (table, committed / table.name)]
                if table.stem == PRINTED:
                    compared.append(printed_cells(paper, *both))
                elif table.stem not in DERIVED:
                    compared.append(cells(paper, table.stem, *both))
    compared = [rows for rows in compared if len(rows)]
    if not compared:
        print("No cell is in both: no committed table has these data sets or variants; above is the nearest")
        return pd.DataFrame(columns=COLUMNS)
    rows = pd.concat(compared, ignore_index=True)
    first = rows.sort_values(PUBLISHED, key=pd.isna, kind="stable").head(SHOWN)
    print(first.drop(columns="paper").to_string(index=False, float_format="{:.3f}".format, na_rep=""))
    print(*within(rows), sep="\n")
    rows.to_csv(output, index=False)
    print(f"All {len(rows)} cells: {output}")
    return rows
