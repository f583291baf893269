"""What the tables of all reports share: which rows are meant, in what order, and where they come from."""

import pandas as pd

from faithlib.tasks.table import TASKS


def original(dataset):
    """The published data set to look up: a generated one's is the one it imitates."""
    return (TASKS[dataset].imitates if dataset in TASKS else "") or dataset


def where(table, **given):
    """The rows that have the given values, column=value."""
    for column, value in given.items():
        table = table[table[column] == value]
    return table


def in_order(names, known):
    """Names as every table and figure lists them: those that are known first, then others."""
    known = list(known)
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))


def ordered(table, **known):
    """The table sorted by some of its columns, column=names in order; without names as they came."""

    def rank(column):
        names = in_order(column.unique(), known[column.name] or dict.fromkeys(column))
        return column.map({name: i for i, name in enumerate(names)})

    by = [column for column in known if column in table]
    return table.sort_values(by, key=rank, kind="stable", ignore_index=True)


def excluded(records):
    """What the records cut or left out, and why: a row a unit and reason."""
    rows = [{"unit": r["unit"], **e} for r in records for e in r["excluded"] if e["n"]]
    return pd.DataFrame(rows, columns=["unit", "split", "what", "why", "n"]).fillna({"split": ""})


def sources(records):
    """Where a report's numbers come from: each unit's file of values, code, device and versions."""
    return pd.DataFrame(
        [
            {
                "unit": r["unit"],
                "values": r["files"][f"{r['unit']}.parquet"][:12],
                "code": (r["provenance"]["git"] or "")[:12],
                "changed since": r["provenance"]["dirty"],
                "device": r["provenance"]["device"],
                **{name: r["provenance"]["versions"][name] for name in ("torch", "transformers")},
            }
            for r in records
        ]
    )
