"""FMM: from records to the tables of Madsen et al. 2024.

`records` and `values` are what `replication.results.load` returns: values have a row a point of a curve, with
columns dataset, model, seed, strategy ("<masking>/<selection>" of the fine-tuning), measure, step, metric and
value. A seed is the unit of every interval, as in the paper: means over seeds with 95 % BCa intervals,
measure and random baseline paired by seed; one seed has none. Seeds that did not converge count, and
`unconverged` says how many they are; leave_out=True leaves them out.
"""

from functools import cache

import numpy as np
import pandas as pd

from faithlib.attributions.registry import look
from faithlib.report.style import cell_text
from faithlib.scores import RANDOM
from notebooks.fmm.card import CARD
from replication import claims, papers, printed, results
from replication import tables as shared
from replication.records import Case, titles

PAPER = "fmm"
MASKED, PLAIN = "half/both", "none/unmasked"
STRATEGIES = {MASKED: "masked fine-tuning", PLAIN: "plain fine-tuning", "all/masked": "only masking"}
PUBLISHED_MODEL = "roberta-base"  # stands beside models that the paper does not have
PARTS = {"fine_tuning": "table_6", "masf": "table_7", "evaluation": "table_8"}  # of the walltime
VARIANTS = ("", "seven-strategies")  # of the units whose records are read; they differ in strategies
SIGNIFICANT = 0.05  # of the in-distribution test
DEFINITIONS = ("paper", "released", "calibrated")  # of MaSF's p-value
CURVE = ["dataset", "model", "strategy"]


def points(values, records, leave_out=False, option="main"):
    """The curves' values in each data set's own metric, `with_convergence`, of a way to explain."""
    values = explained(values, option)
    metric = {dataset: CARD.metric(dataset) for dataset in values.dataset.unique()}
    return with_convergence(values[values.metric == values.dataset.map(metric)], records, leave_out)


def explained(frame, option="main"):
    """The rows of a way to explain, of the column `option`; of measures left alone those of "main"."""
    if "option" not in frame:
        return frame
    curve, chosen = ["dataset", "model", "seed", "strategy", "measure"], frame.option == option
    kept = ~frame.set_index(curve).index.isin(frame[chosen].set_index(curve).index.unique())
    return frame[chosen | (kept & (frame.option == "main"))]


def scores(records: list[dict], leave_out: bool = False) -> pd.DataFrame:
    """The metric rows of all records in one DataFrame, with dataset, model and seed, `with_convergence`."""
    return with_convergence(shared.metric_rows(records), records, leave_out)


def with_convergence(frame, records, leave_out=False):
    """The rows with a column `converged`, which records know by seed and strategy; models by short names."""
    keys = ["dataset", "model", "seed", "strategy"]
    converged = shared.select(shared.metric_rows(records), metric="converged").set_index(keys).value
    by_run = converged.astype(bool).to_dict()
    frame = frame.assign(model=[results.slug(model) for model in frame.model])
    rows = frame[keys].itertuples(index=False, name=None)
    frame = frame.assign(converged=[by_run.get(row, True) for row in rows])
    return frame[frame.converged] if leave_out else frame


def gates(records: list[dict]) -> pd.DataFrame:
    """Which data sets × models take part in claims: those above chance before anything is masked.

    As `statistics.gates.gate_table`, of masked fine-tuning on the test split: the score is the paper's metric
    where that corrects for chance (MCC, macro-F1), else balanced accuracy.
    """
    scores = shared.select(shared.metric_rows(records, ["masked"]), split="test", strategy=MASKED, masked=0)
    names = {dataset: CARD.metric(dataset) for dataset in scores.dataset.unique()}
    metrics = {d: name if name in ("mcc", "macro_f1") else "balanced_accuracy" for d, name in names.items()}
    parts = [claims.gates(scores[scores.dataset == dataset], name) for dataset, name in metrics.items()]
    return pd.concat(parts or [claims.gates(scores)], ignore_index=True)


def load_parts(
    results_dir: str, scale: str, records: list[dict], part: str, leave_out: bool = False
) -> pd.DataFrame:
    """The tables <unit>.<part>.parquet beside the records ("masf", "history"), empty if none has it."""
    table = results.load_tables(results_dir, scale, PAPER, records, part)
    return table if table.empty else with_convergence(table, records, leave_out)


def performance(scores: pd.DataFrame) -> pd.DataFrame:
    """Tables 3 and 10, Figures 2, 3 and 7 to 15: performance with nothing and with everything masked.

    Returns:
        A row a strategy and split, in fractions, higher is better. majority: of always predicting the class
        that is most frequent in train, the baseline where everything is masked. collapsed: models that
        predict a single class for the whole texts. The data set "all" is the mean over those of masked
        fine-tuning, seed by seed, of the seeds that converged on all of them.
    """
    majority = shared.select(scores, metric="majority").groupby(["dataset", "model"]).value.mean()
    scored = scores[scores.metric == scores.dataset.map(CARD.metric)]
    collapsed = shared.select(scores, metric="collapsed", masked=0).groupby([*CURVE, "split"]).value.sum()
    majorities = papers.published(PAPER, "table_2")[["dataset", "majority"]]
    paper = papers.published(PAPER, "table_3").merge(majorities)
    paper, rows = paper[~paper.dataset.isin(printed.layouts(PAPER)["table_3"].unlike)], []
    for row, part in shared.groups(scored, [*CURVE, "split"]):
        published = published_cell(paper, row) if row["split"] == "test" else {}
        row |= {
            "metric": CARD.metric(row["dataset"]),
            **seed_counts(part),
            "collapsed": int(collapsed.get(tuple(row.values()), 0)),
            **shared.over_seeds(shared.select(part, masked=0).value, "unmasked"),
            **shared.over_seeds(shared.select(part, masked=100).value, "all_masked"),
            "majority": majority.get((row["dataset"], row["model"]), np.nan),
            **shared.published_interval(published),
            "published_model": published.get("model", ""),
            "published_majority": published.get("majority", np.nan) / 100,
        }
        rows.append(row)
    return in_paper_order(pd.DataFrame(rows + _means_over_datasets(scored, majority)))


def curve_table(points: pd.DataFrame) -> pd.DataFrame:
    """All curves of Figures 5 and 22 to 25: mean performance over seeds with its interval, one row a step."""
    rows = [
        row
        | shared.over_seeds(part.value, "value")
        | seed_counts(part)
        | part[["masked_tokens", "unchanged_texts"]].mean().to_dict()
        for row, part in shared.groups(points, [*CURVE, "metric", "measure", "step"])
    ]
    return in_paper_order(pd.DataFrame(rows))


def masf(tests: pd.DataFrame) -> pd.DataFrame:
    """Figures 4 and 18 to 21: the data set's p-value of being in distribution, by measure and ratio.

    Returns:
        A row a strategy, measure and ratio. p_paper is Algorithm 2's, p_released the release's, p_calibrated
        that of reference statistics taken out of sample; means over seeds with intervals. rejected_...: the
        seeds with p < 0.05. share_...: of the n examples, those with p < 0.05; 0.05 where nothing is amiss.
        The measure "validation" is a fresh half of the reference, in distribution by construction.
    """
    rows = []
    for row, part in shared.groups(tests, [*CURVE, "measure", "ratio"]):
        for definition in DEFINITIONS:
            one = shared.select(part, definition=definition)
            row |= shared.over_seeds(one.p, f"p_{definition}") | {f"fisher_{definition}": one.p_fisher.mean()}
            row[f"share_{definition}"] = one.share_below_05.mean()
            row[f"rejected_{definition}"] = (one.p < SIGNIFICANT).sum()
        rows.append(row | {"n": part.n.mean()} | seed_counts(part))
    return in_paper_order(pd.DataFrame(rows))


def walltime(records: list[dict]) -> pd.DataFrame:
    """Tables 6 to 9: minutes of fine-tuning, MaSF, evaluation and of each measure, beside the published.

    A row a strategy and part: means over seeds, on the machine that made the records; the published minutes
    are of one NVIDIA V100. A pass that several measures share counts whole for each of them, as in the paper,
    so the measures' sum exceeds what was spent.
    """
    spent = [
        shared.unit_columns(r) | {"strategy": strategy, "part": part, "minutes": seconds / 60}
        for r in records
        for strategy, parts in r["volatile"]["seconds_of_measures"].items()
        for part, seconds in parts.items()
    ]
    rows = []
    for row, part in shared.groups(pd.DataFrame(spent), [*CURVE, "part"]):
        name = row["part"]
        paper = papers.published(PAPER, PARTS.get(name, "table_9"))
        published = published_cell(paper, row, None if name in PARTS else name)
        row |= {"minutes": part.minutes.mean(), "seeds": part.seed.nunique()}
        row |= {"published": published.get("minutes", np.nan), "published_model": published.get("model", "")}
        rows.append(row)
    return in_paper_order(pd.DataFrame(rows))


def walltime_as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Minutes, "ours (published)", of masked and plain fine-tuning: a row a part, a column a data set."""
    table = table[table.strategy.isin([MASKED, PLAIN])]
    spent = table[["minutes", "published"]].to_numpy()
    texts = [cell_text(ours, published=cell_text(v100, precision=0), precision=2) for ours, v100 in spent]
    return by_dataset(table, texts, ["strategy", "part"])


def history(epochs: pd.DataFrame) -> pd.DataFrame:
    """Figures 16 and 17: validation performance by epoch on the unmasked and on the masked copy."""
    table = epochs.melt([*CURVE, "seed", "epoch", "converged"], ["unmasked", "masked"], "copy").dropna()
    rows = [
        row | shared.over_seeds(part.value, "value") | seed_counts(part)
        for row, part in shared.groups(table, [*CURVE, "copy", "epoch"])
    ]
    return in_paper_order(pd.DataFrame(rows))


def variant(measure):
    """ "signed" if a measure tells what speaks for the class from what speaks against it, else "absolute"."""
    return "signed" if measure == RANDOM or look(measure).signed else "absolute"


def strategy_title(strategy: str) -> str:
    """How tables and figures call a strategy: section 5.1's name, or what is masked and what chooses."""
    other = "{} masked, epoch by {} copy".format(*strategy.split("/")).replace("both copy", "both copies")
    return STRATEGIES.get(strategy, other)


def with_titles(table: pd.DataFrame) -> pd.DataFrame:
    """A table for a page: its strategies as `strategy_title` calls them."""
    return table.assign(strategy=table.strategy.map(strategy_title))


def measure_order():
    """All measures in the order of the paper's tables, the random baseline first."""
    return shared.attribution_order(papers.published(PAPER, "table_9").measure)


def published_dataset(dataset):
    """The published data set to look up: SST2 for SST."""
    return {"sst": "sst2"}.get(dataset, dataset)


@cache
def published_areas():
    """Tables 1, 11 and 12 in one; where 1 and 11 print the same cell, that of Table 1."""
    both = pd.concat([papers.published(PAPER, table) for table in ("table_1", "table_11", "table_12")])
    both = both[both.method == PAPER]
    return both.drop_duplicates(["dataset", "model", "measure", "statistic"])


def _means_over_datasets(scores, majority):
    """The rows of "all", of the strategies that have been run on all data sets of masked fine-tuning."""
    scores = scores[(scores.split == "test") & scores.converged]
    rows = []
    for model, part in scores.groupby("model", sort=False):
        of_strategy = part.groupby("strategy", sort=False).dataset.unique().map(set)
        sets = of_strategy.get(MASKED, set())
        if len(sets) < 2:
            continue
        expected = np.mean([majority.get((name, model), np.nan) for name in sets])
        for strategy in of_strategy.index[[sets <= of for of in of_strategy]]:
            of = part[(part.strategy == strategy) & part.dataset.isin(sets)]
            row = {"dataset": "all", "model": model, "strategy": strategy, "split": "test", "metric": "mean"}
            for name, masked in (("unmasked", 0), ("all_masked", 100)):
                wide = shared.select(of, masked=masked).pivot(index="seed", columns="dataset", values="value")
                means = wide.reindex(columns=sorted(sets)).dropna().mean(axis=1)
                row |= shared.over_seeds(means, name) | {"seeds": len(means)}
            rows.append(row | {"majority": expected, "unconverged": 0, "published_model": ""})
    return rows


def seed_counts(part):
    """How many seeds there are, and how many of them did not converge."""
    return {"seeds": part.seed.nunique(), "unconverged": part.seed[~part.converged].nunique()}


def published_cell(table, row, measure=None):
    """The published row of a row's data set and model, RoBERTa-base's for a model that the paper lacks.

    {} where there is none, beside generated data, and for other strategies than masked fine-tuning.
    """
    if row["strategy"] != MASKED:
        return {}
    model = row["model"] if row["model"] in set(table.model) else PUBLISHED_MODEL
    more = {"measure": measure} if measure else {}
    return shared.published_row(table, published_dataset(row["dataset"]), model=model, **more)


def claimed_first(table: pd.DataFrame, gate: pd.DataFrame) -> pd.DataFrame:
    """Its rows with the data sets that claims rest on first, those at chance last; gate: from `gates`.

    >>> gate = pd.DataFrame({"dataset": ["rte", "cola"], "accepted": [False, True], "tested": True})
    >>> claimed_first(pd.DataFrame({"dataset": ["rte", "cola", "all"]}), gate).dataset.tolist()
    ['cola', 'rte', 'all']
    """
    ranked = gate.sort_values(["accepted", "tested"], ascending=False, kind="stable").dataset
    return shared.ordered(table, dataset=tuple(dict.fromkeys(ranked)))


def by_dataset(table, texts, rows):
    """Texts of a long table as the paper prints it: a column a data set, and a model where it has several."""
    cases = [Case(*pair) for pair in zip(table.dataset, table.model, strict=True)]
    table = table.assign(column=list(map(titles(cases).get, cases)))
    return in_paper_order(shared.as_printed(table, texts, rows, ["column"]))


def in_paper_order(table):
    """Data sets and models as they came, then strategies, splits and measures in the paper's order."""
    measures = measure_order()
    orders = {"dataset": (), "model": (), "strategy": STRATEGIES, "split": (), "measure": measures}
    return shared.ordered(table, **orders, part=(*PARTS, *measures), copy=())
