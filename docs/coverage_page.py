"""The page "Coverage": each table and figure of the papers, at which scale it is here, and what is missing.

What a paper has stands in notebooks/<paper>/coverage.csv, its units in config/paper.yaml, what is here
in results/; hours are estimated by workflow/plan.py.
"""

import json
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "docs")]

import plan  # noqa: E402
from gallery_page import anchor, title  # noqa: E402

from faithlib.report.markdown import table  # noqa: E402
from faithlib.report.style import cell_text, dataset_title, model_title  # noqa: E402
from faithlib.tasks.table import TASKS  # noqa: E402
from replication import cards, papers, printed, records  # noqa: E402

PAGE = """(coverage)=
# Coverage

Each table and figure of the five papers: how much of it is here, and why the rest is missing. A *cell* is a
data set with a model, as in the paper. The *small* scale has the papers' data sets with smaller models; it
never counts as a cell of the paper's own models, and a model of it stands beside one model of a paper. Where
a table is drawn as the paper prints it, its printed numbers are counted that have one of ours beside them.
The *paper* scale is the papers' own set-up
([config/paper.yaml](../../config/paper.yaml)). It needs a GPU and the papers' checkpoints, and has not been
run where its column says 0. *Why not more* counts data sets by what they lack; the list below each paper's
table has them one by one. This page is generated.

"""
ITEMS = (
    "in the paper", "what it shows", "small scale, data sets", "paper scale, cells", "here", "why not more",
)  # fmt: skip
UNITS = ("data set", "model in the paper", "small scale", "why not more", "hours printed", "≈ GPU hours")
UNRUN = ("checkpoint", ": the paper's own model was not run")  # (kind of reason, the rest of its words)
AGREEMENT = (
    "table", "definition of ours", "numbers compared", "Spearman's ρ", "pairs in the same order",
    "level, ours / published",
)  # fmt: skip
AGREE = """
### Agreement

Our numbers beside the published ones, cell by cell, without models at chance; averages are over the same
data sets. *Pairs*: of those that the table invites to compare. In brackets 95 % bootstrap intervals over
cells. Every cell: [printed.csv](../../results/small/{paper}/tables/printed.csv).

{table}"""
HOURS = """
Hours are those of all seeds. *Printed*: what the paper gives for its own hardware. *≈ GPU hours*: scaled from
units that a GPU computed, by texts and the root of the parameters' ratio, and perhaps wrong by it.
Together: {printed} hours printed, ≈ {estimated} GPU hours.
"""


def page():
    """The page as Markdown: for each paper its tables and figures, then its data sets and models."""
    of_papers = [section(paper) for paper in papers.names() if coverage_file(paper).is_file()]
    return PAGE + "\n".join([*of_papers, f"(sizes)=\n## Does size matter?\n\n{cards.sizes(ROOT)}\n"])


def section(paper):
    """What one paper has and what of it is here."""
    card = papers.card(paper)
    rows = pd.read_csv(coverage_file(paper), keep_default_na=False).to_dict("records")
    items = table(ITEMS, [item(paper, row) for row in rows]) + agreement(paper)
    lines, printed, estimated = units(paper)
    listed = table(UNITS, lines, folded=f"{len(lines)} data sets and models")
    hours = HOURS.format(printed=printed, estimated=estimated)
    return (
        f"({paper}-coverage)=\n## {card.citation}\n\n[{card.title}](../../notebooks/{paper}/README.md)\n\n"
        f"{items}\n### Data sets and models\n\n{listed}{hours}"
    )


def coverage_file(paper):
    """The list of a paper's tables and figures; a study of our own has none."""
    return papers.FOLDER / paper / "coverage.csv"


def item(paper, row):
    """The cells of one table or figure of a paper, as Markdown."""
    first, last = (row["item"], row["what"]), row["reason"]
    if not row["datasets"] and not row["table"]:
        return *first, "—", "—", "—", last
    here = []
    if (table := ROOT / f"results/small/{paper}/tables/{row['table']}.csv").is_file():
        here.append(f"[{row['table']}](../../{table.relative_to(ROOT).as_posix()})")
    if row["figure"]:
        pictures = sorted((ROOT / f"figures/small/{paper}").glob(f"{row['figure']}*.png"))
        more = f" and {len(pictures) - 1} more" if len(pictures) > 1 else ""
        here += [f"[{title(path.stem)}](#{anchor(paper, path.stem)}){more}" for path in pictures[:1]]
    if not row["datasets"]:
        return *first, "all" if here else "none", "—", ", ".join(here), last
    wanted = [
        cell for cell in cells(paper) if chosen(cell[0], row["datasets"]) and chosen(cell[1], row["models"])
    ]
    source = paper, row["table"], row.get("rows")
    computed = pairs("paper", *source)
    done = [cell for cell in wanted if cell in computed or (cell[0], "") in computed]
    small = drawn(paper, row["item"])
    small = small or data_sets(paper, wanted, stand_ins(paper, wanted, pairs("small", *source)))
    last = last or why(paper, [cell for cell in wanted if cell not in done])
    return *first, small, f"{len(done)} of {len(wanted)}", ", ".join(here), last


@cache
def drawn(paper, name):
    """How many printed numbers of a table have one of ours beside them, in words; "" without a layout."""
    layout = {layout.number: layout for layout in printed.layouts(paper).values()}.get(name)
    if layout is None:
        return ""
    cells = printed.cells(layout)
    cells = cells[cells.definition == cells.definition.iloc[0]]
    models = ", ".join(sorted(map(model_title, cells.own_model.dropna().unique())))
    text = f"{cells.ours.notna().sum()} of {cells.printed.notna().sum()} numbers"
    return f"{text} ({models})" if models else text


def agreement(paper):
    """The section on how far ours agree with the published numbers; "" without a table."""
    agreed = read(ROOT / f"results/small/{paper}/tables/agreement.csv")
    if agreed.empty:
        return ""
    rows = []
    for row in agreed.astype({"definition": object}).fillna({"definition": ""}).to_dict("records"):
        counted = f"{row['cells']} of {row['of']}"
        counted += f"; {row['at_chance']} at chance left out" if row["at_chance"] else ""
        numbers = [interval(row, name) for name in ("spearman", "pairs", "level")]
        rows.append((row["table"], row["definition"], counted, *numbers))
    return AGREE.format(paper=paper, table=table(AGREEMENT, rows))


def interval(row, name):
    """A number with its interval, "" where there is none."""
    return cell_text(row[name], row[f"{name}_low"], row[f"{name}_high"], precision=2)


def why(paper, missing):
    """Why the paper scale lacks cells, in words: of each kind of reason, how many data sets."""
    kinds = {}
    for task, model in missing:
        kind, _ = at_small(paper, task, model)[1] or UNRUN
        kinds.setdefault(kind, set()).add(task)
    return ", ".join(f"{kind} ({len(tasks)})" for kind, tasks in kinds.items())


def stands(paper, ours, model):
    """Whether a model of ours stands beside a model of the paper: its own, or as layout.yaml says."""
    return ours == model or bool({model, printed.AVERAGE} & set(stand_for(paper).get(ours, [])))


def stand_ins(paper, wanted, computed):
    """The pairs of a table that stand for wanted cells, and those of generated data."""
    models = {model for _, model in wanted}
    return {
        (task, one)
        for task, one in computed
        if not one or (task in TASKS and TASKS[task].generated) or any(stands(paper, one, m) for m in models)
    }


def data_sets(paper, wanted, small):
    """Which of the paper's data sets the small scale has, and with which models, in words."""
    names = list(dict.fromkeys(task for task, _ in wanted))
    tasks = [task for task in names if any(task == name for name, _ in small)]
    like = [name for name, _ in sorted(small) if name in TASKS and TASKS[name].imitates in names]
    models = sorted({model_title(model) for task, model in small if task in tasks and model})
    text = f"{len(tasks)} of {len(names)}"
    text += f": {', '.join(map(dataset_title, tasks))}" if 0 < len(tasks) < len(names) else ""
    text += f" ({', '.join(models)})" if models else ""
    text += f"; imitated by {', '.join(dict.fromkeys(map(dataset_title, like)))}" if like else ""
    return text


def units(paper):
    """(a row a data set and model of the paper, hours printed, hours estimated), both as texts."""
    card, costs = papers.card(paper), measured()
    costs = costs[(costs.paper == paper) & (costs.kind == "GPU")]
    costs = costs[costs.scale == "paper"], costs
    entry = SimpleNamespace(card=card, experiment=f"{ROOT}/notebooks/{paper}/experiment.ipynb")
    printed, rows, sums = card.hours() if card.hours else {}, [], {"printed": [], "estimated": []}
    for cell, parameters in cells(paper).items():
        hours = len(parameters) * printed[cell] if cell in printed else None
        guesses = [plan.gpu_hours(params, entry, costs, {}, {}) for params in parameters]
        guess = None if None in guesses else sum(hours for hours, _ in guesses)
        sums["printed"].append(hours)
        sums["estimated"].append(guess)
        task, model = cell
        has, reason = at_small(paper, task, model)
        titles = dataset_title(task), model_title(model)
        rows.append((*titles, has, "".join(reason), number(hours), number(guess)))
    totals = (number(sum(h for h in each if h is not None) or None) for each in sums.values())
    return rows, *totals


def at_small(paper, task, model):
    """(what the small scale has of a data set and model, why it has no more: as UNRUN, () where it has all).

    Other models count that stand in for a model of the paper, such as MiniLM for RoBERTa-base alone.
    """
    planned = {(params["task"], records.slug(params["model"])) for params in grid_units("small", paper)}
    there = [(p["task"], records.slug(p["model"]), p["seed"]) for p in recorded(paper)]
    used = {ours for _, ours, *_ in (*planned, *there)}
    counted = {ours for ours in used if stands(paper, ours, model)}
    seeds = {}
    for name, ours, seed in there:
        if name == task and ours in counted:
            seeds.setdefault(ours, set()).add(seed)
    words = [f"{model_title(m)}, {len(s)} seed{'s' * (len(s) > 1)}" for m, s in sorted(seeds.items())]
    gates = read(ROOT / f"results/small/{paper}/tables/gates.csv")
    if len(gates):
        failed = gates[(gates.dataset == task) & ~gates.accepted.astype(bool) & gates.model.isin(counted)]
        words += [f"not above chance ({', '.join(map(model_title, failed.model))})"] if len(failed) else []
    if words:
        return "; ".join(words), () if model in seeds else UNRUN
    if TASKS[task].credentialed:
        return "—", ("licence", ": MIMIC-III is open to credentialed users only")
    if any((task, ours) in planned for ours in counted):
        return "—", ("planned", ", not computed yet")
    if TASKS[task].kind == "prompts":
        return "—", ("checkpoint", ": needs a language model that knows the answers")
    return "—", ("compute", ": beyond the hours of the small scale")


# What there is --------------------------------------------------------------------------------------------


@cache
def grid_units(scale, paper):
    """The parameters of each unit of config/<scale>.yaml, without those of a variant."""
    _, units = records.in_config(ROOT / "results", scale, paper)
    return [parameters for parameters in units.values() if not parameters.get("variant")]


@cache
def cells(paper):
    """{(data set, model): the parameters of its units at the paper scale}."""
    units = {}
    for parameters in grid_units("paper", paper):
        units.setdefault((parameters["task"], records.slug(parameters["model"])), []).append(parameters)
    return units


@cache
def recorded(paper):
    """The parameters of the records in results/small/<paper>."""
    paths = sorted((ROOT / "results/small" / paper).glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8"))["params"] for path in paths]


@cache
def stand_for(paper):
    """{our model: the paper's models beside which it stands}."""
    return next((layout.stands_for for layout in printed.layouts(paper).values()), {})


@cache
def measured():
    return plan.measured(ROOT / "results")


@cache
def read(path):
    return pd.read_csv(path) if path.is_file() else pd.DataFrame()


def pairs(scale, paper, table, rows=None):
    """{(data set, model)} of a table; all of its paper's performance where it is a mean over data sets.

    `rows` is a condition on the columns, such as `recursive == False`; rows that fail it do not count.
    """
    frame = read(ROOT / f"results/{scale}/{paper}/tables/{table}.csv")
    frame = frame.query(rows) if rows and len(frame) else frame
    frame = frame.rename(columns={"task": "dataset"})
    if len(frame) and "dataset" not in frame:
        frame = read(ROOT / f"results/{scale}/{paper}/tables/performance.csv")
    if "dataset" not in frame:
        return set()
    models = frame.model if "model" in frame else [""] * len(frame)
    return {(task, records.slug(str(model))) for task, model in zip(frame.dataset, models, strict=True)}


# Words ----------------------------------------------------------------------------------------------------


def chosen(name, names):
    """Whether a name is in a list of coverage.csv: names with blanks between them, or * for all."""
    return names == "*" or name in names.split()


def number(hours):
    """Hours in words.

    >>> number(None), number(0.04), number(3.21), number(1234.5)
    ('—', '0.04', '3.2', '1,234')
    """
    if hours is None:
        return "—"
    return f"{hours:.2f}" if hours < 1 else f"{hours:.1f}" if hours < 100 else f"{hours:,.0f}"
