"""What the tables of all reports share: rows by group, intervals, published values, order and layout."""

import numpy as np
import pandas as pd

from faithlib.attributions import registry
from faithlib.metrics import curves
from faithlib.report.io import CSV_FLOAT
from faithlib.report.style import cell_text
from faithlib.scores import RANDOM
from faithlib.statistics import mean_interval
from replication.records import VERDICT_SCALES, slug, unit_columns, variant_columns

# Rows ---------------------------------------------------------------------------------------------


def select(table, **values):
    """The rows that have the given values, column=value or a list of them; a missing one is ""."""
    for column, wanted in values.items():
        wanted = wanted if isinstance(wanted, list) else [wanted]
        table = table[table[column].isin(wanted) | table[column].isna() & ("" in wanted)]
    return table


def groups(frame, keys):
    """({column: value} of the key columns, the rows that have them) of each group, in order of appearance.

    Example:
        >>> frame = pd.DataFrame({"dataset": ["sst", "sst", "imdb"], "value": [1.0, 3.0, 5.0]})
        >>> [row | {"n": len(part)} for row, part in groups(frame, ["dataset"])]
        [{'dataset': 'sst', 'n': 2}, {'dataset': 'imdb', 'n': 1}]
    """
    for key, part in frame.groupby(list(keys), observed=True, sort=False):
        yield dict(zip(keys, key, strict=True)), part


def metric_rows(records, columns=()):
    """A row a metric of all records of `results.load`, dataset, model and seed in front.

    columns: names that the frame has in any case, NaN where no row has them.
    """
    frame = pd.DataFrame([unit_columns(r) | row for r in records for row in r["metrics"]])
    return frame.reindex(columns=list(dict.fromkeys(["dataset", "model", "seed", *frame, *columns])))


# Intervals ----------------------------------------------------------------------------------------


def over_examples(values, name, low="ci_low", high="ci_high"):
    """Mean over (examples,) values with its 95 % BCa interval: {name: mean, low: lower end, high: upper end}.

    NaN where there is no example; values that are all equal have no interval.

    >>> over_examples([0.5, 0.5], "share")
    {'share': 0.5, 'ci_low': nan, 'ci_high': nan}
    """
    interval = mean_interval(values) if len(values) else (np.nan,) * 3
    return dict(zip((name, low, high), interval, strict=True))


def over_seeds(values, name):
    """As `over_examples`, of (seeds,) values: {name: mean, <name>_low: end, <name>_high: end}."""
    mean, low, high = curves.over_seeds(values) if len(values) else (np.nan,) * 3
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def over_paired_examples(frame, keys, cells, value):
    """Means, with 95 % BCa intervals, over the examples that have a value in every cell of a group.

    Args:
        frame: long DataFrame with a column `example`, one value an example and cell.
        keys, cells: lists of the columns that tell groups apart, and that make a cell.
        value: the column of values, or a list of tie rules, whose names go to the column "ties".

    Returns:
        A row a group and cell: value, ci_low, ci_high (NaN where no example has all values) and n.
    """
    rows = []
    for row, part in groups(frame, keys):
        wide = part.pivot(index="example", columns=cells, values=value).dropna()
        names = [name or "ties" for name in wide.columns.names]
        means = mean_interval(wide) if len(wide) else np.full((3, wide.shape[1]), np.nan)
        for cell, *interval in zip(wide.columns, *means, strict=True):
            mean = dict(zip(("value", "ci_low", "ci_high"), interval, strict=True))
            rows.append(row | dict(zip(names, cell, strict=True)) | mean | {"n": len(wide)})
    return pd.DataFrame(rows)


# Published values ---------------------------------------------------------------------------------


def published_row(table, dataset, **values):
    """The first row of a table of `papers.published` for a data set, and further columns=values: a dict.

    {} where the paper has none: a data set that imitates another is no replication of the other's number.
    """
    rows = select(table, dataset=dataset, **values)
    return rows.iloc[0].to_dict() if len(rows) else {}


def published_value(table, dataset, **values):
    """The column `value` of `published_row`, NaN where the paper has none."""
    return published_row(table, dataset, **values).get("value", np.nan)


def published_interval(row, name="published"):
    """{name, <name>_low, <name>_high}: a published row's value, less minus and plus plus, from per cent."""
    value, plus, minus = (row.get(column, np.nan) for column in ("value", "plus", "minus"))
    return {name: value / 100, f"{name}_low": (value - minus) / 100, f"{name}_high": (value + plus) / 100}


# Order --------------------------------------------------------------------------------------------


def in_order(names, order):
    """Names as every table and figure lists them: those that are known first, then others."""
    order = list(order)
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def attribution_order(published=(), baseline_last=False):
    """All attributions, each once, in the order of a paper's tables: the paper's, then the registry's others.

    Args:
        published: names in the order of the paper, such as a column of one of its tables.
        baseline_last: whether the random baseline stands behind all others, not in front of them.

    Example:
        >>> attribution_order(["lime", "attention"])[:4]
        ['random', 'lime', 'attention', 'attention_rollout']
    """
    names = [n for n in dict.fromkeys([*published, *registry.names()]) if n != RANDOM]
    return [*names, RANDOM] if baseline_last else [RANDOM, *names]


def ordered(table, **orders):
    """The table sorted by some of its columns, column=names in order; without names as they came."""

    def rank(column):
        names = in_order(column.unique(), orders[column.name] or dict.fromkeys(column))
        return column.map({name: i for i, name in enumerate(names)})

    by = [column for column in orders if column in table]
    return table.sort_values(by, key=rank, kind="stable", ignore_index=True)


# Layout -------------------------------------------------------------------------------------------


def bracketed(frame: pd.DataFrame, precision: int = 3) -> pd.DataFrame:
    """The frame with texts such as "0.61 [0.56, 0.69]" in place of values and the columns of their ends.

    Args:
        frame: with columns `x`, `x_low` and `x_high`, or `x`, `x_ci_low` and `x_ci_high`. A value without an
            interval stands alone; a missing one is "".
        precision: digits after the point.

    Example:
        >>> bracketed(pd.DataFrame({"acu": [0.614], "acu_low": [0.56], "acu_high": [0.69]}), 2).acu[0]
        '0.61 [0.56, 0.69]'
    """
    frame = frame.copy()
    for low in [c for c in frame if c.endswith("_low")]:
        high, value = f"{low.removesuffix('_low')}_high", low.removesuffix("_low").removesuffix("_ci")
        rows = frame[[value, low, high]].to_numpy(float)
        frame[value] = [cell_text(*row, precision=precision) for row in rows]
        frame = frame.drop(columns=[low, high])
    return frame


def as_printed(table, texts, rows, columns):
    """A long table in a paper's layout: one text a cell, "" where there is none, `rows` as first columns.

    Args:
        table: the long table, one row a cell.
        texts: the text of each of its rows, such as those of `cell_text`.
        rows, columns: lists of columns of `table` whose values become rows and columns, as they come.
    """
    table = table.assign(text=texts)
    wide = table.pivot_table("text", list(rows), list(columns), aggfunc="first", sort=False)
    wide.columns = [", ".join(map(str, c)) if isinstance(c, tuple) else c for c in wide.columns]
    return wide.fillna("").reset_index()


# Of every report ----------------------------------------------------------------------------------


def excluded(records: list[dict]) -> pd.DataFrame:
    """What the records cut or left out, and why: a row a unit and reason."""
    rows = [{"unit": r["unit"], "split": "", **e} for r in records for e in r["excluded"] if e["n"]]
    return pd.DataFrame(rows, columns=["unit", "split", "what", "why", "n"])


def sizes(records: list[dict]) -> pd.DataFrame:
    """The splits whose size is not the paper's, and why: a row a data set, model, variant and split."""
    rows = [variant_columns(r) | split for r in records for split in r["provenance"]["sizes"]]
    columns = ["dataset", "model", "variant", "split", "rows", "published", "note"]
    return pd.DataFrame(rows, columns=columns).drop_duplicates(ignore_index=True)


def with_training_sets(table: pd.DataFrame, records: list[dict]) -> pd.DataFrame:
    """A table of dataset, model and any variant with training_set: how it departs from the paper's, or "".

    >>> split = {"split": "train", "rows": 8000, "published": 53879, "note": ""}
    >>> record = {"params": {"task": "sst2", "model": "a/bert", "seed": 0}, "provenance": {"sizes": [split]}}
    >>> table = with_training_sets(pd.DataFrame({"dataset": ["sst2", "all"], "model": "bert"}), [record])
    >>> table.training_set.tolist()
    ['reduced: 8,000 of 53,879', '']
    """
    departures = {}
    for row in sizes(records).query("split == 'train'").itertuples():
        less = f"reduced: {row.rows:,} of {row.published:,}"
        words = less if row.rows < row.published else f"{row.rows:,}, in the paper {row.published:,}"
        departures[row.dataset, slug(row.model), row.variant] = words
    variants = table.variant if "variant" in table else [""] * len(table)
    keys = zip(table.dataset, map(slug, table.model), variants, strict=True)
    return table.assign(training_set=[departures.get(key, "") for key in keys])


def sources(records: list[dict]) -> pd.DataFrame:
    """Where a report's numbers come from: each unit's file of values, code, device and versions."""
    rows = []
    for r in records:
        unit, about = r["unit"], r["provenance"]
        row = {"unit": unit, "values": r["files"][f"{unit}.parquet"][:12], "code": (about["git"] or "")[:12]}
        row |= {"changed since": about["dirty"], "device": about["device"]}
        rows.append(row | {name: about["versions"][name] for name in ("torch", "transformers")})
    return pd.DataFrame(rows)


def banner(records: list[dict], scale: str) -> str:
    """What a report was made from: models, data sets, seeds, texts, dtype and device, a line of Markdown.

    >>> record = {"paper": "fmm", "params": {"task": "sst", "model": "a/bert", "seed": 0}}
    >>> record["provenance"] = {"device": "cpu", "examples": {"n": 300, "of": 1821}}
    >>> print(banner([record], "small").split(" [")[0])
    **Small scale, 1 record.** bert: sst (1 seed, 300 of 1,821 texts). Computed in float32 on cpu.
    """
    units = pd.DataFrame([variant_columns(r) | {"of": _texts(r)} for r in records])
    models: dict[str, list[str]] = {}
    for row, part in groups(units, ["model", "dataset", "variant"]):
        name = f"{row['dataset']} {row['variant']}".strip()
        text = f"{name} ({counted(part.seed.nunique(), 'seed')}{part.of.iloc[0]})"
        models.setdefault(row["model"], []).append(text)
    parts = [f"{model}: {', '.join(texts)}" for model, texts in models.items()]
    provenance = [r["provenance"] for r in records]
    dtypes = " and ".join(dict.fromkeys(p.get("dtype", "float32") for p in provenance))
    devices = " and ".join(dict.fromkeys(p.get("device", "an unknown device") for p in provenance))
    about = f"**{scale.capitalize()} scale, {counted(len(records), 'record')}.** {'; '.join(parts)}."
    warning = "" if scale in VERDICT_SCALES else " No verdict follows at this scale."
    if scale == "quick":
        warning = " Generated data and models of a minute: no verdict follows."
    tables = f"../../results/{scale}/{records[0]['paper']}/tables"  # beside the report's folder
    return f"{about} Computed in {dtypes} on {devices}. [All tables as CSV]({tables}).{warning}"


def _texts(record):
    """How many texts a unit explains, ", 300 of 1,821 texts"; "" where the record does not say."""
    of = record["provenance"].get("examples", {})
    return f", {of['n']:,} of {of['of']:,} texts" if {"n", "of"} <= set(of) else ""


def counted(n, what):
    """A number and what is counted, "1 record" or "3 records"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def number(x):
    """Three digits of a number as a CSV file has it, so that a report and a card never differ by rounding.

    "" for NaN.
    """
    return "" if np.isnan(x) else f"{float(CSV_FLOAT % x):+.3f}"
