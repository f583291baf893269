"""The papers and studies: each is a folder in notebooks/ with a card, found by its name.

A folder `notebooks/<name>/` holds `card.py` (what the paper is and does with each data set; texts may stand
in `card.yaml`), `tables.py`, `claims.py`, `figures.py` and, in `published/`, the printed numbers as tidy CSV:
data sets, attributions and metrics carry faithlib's names, numbers are as printed, and a row's `note` says
where the paper contradicts itself. Of faithlib only the command line imports a paper.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import pandas as pd

from faithlib.scores import one_of, suggestion
from faithlib.tasks.table import TASKS, Use

# Of headline claims, by name: of fractions and ACU, of F1, of log ratios.
MARGINS = {"share": 0.01, "score": 0.02, "log ratio": math.log(1.1)}
ENDPOINT = "api:"  # what the name of a model behind an endpoint begins with
FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


@dataclass(frozen=True)
class Headline:
    """One of the at most eight claims that a paper's card shows, by the paper's own definition and baseline.

    Attributes:
        claim: its sentence, as `claims.Claim` has it.
        margin: what counts as no difference, for two one-sided tests; None where the statistic is no effect.
        baseline: of the claim.
        main: whether it tests the first of the card's `claims`.
        caveat: what a reader of its verdict has to know besides.
    """

    claim: str
    margin: float | None = None
    baseline: str = "none"
    main: bool = False
    caveat: str = ""


@dataclass(frozen=True)
class Card:
    """What a paper is and does.

    Attributes:
        name: the folder's name.
        title, citation, url: as a reader would look it up.
        claims: what the paper claims, in a sentence each.
        kind: the kind of task it explains, one of `tasks.table.KINDS`.
        tasks: {task: Use}, where the paper says how a data set is split and scored; others may run too.
        tables: the CSV tables that its report writes; one that is missing calls for a new report.
        attributions: those that it compares, in the order of its table: what its experiment explains with
            where its parameter `attributions` is empty.
        reads: other papers whose records its report shows.
        hours: () -> {(data set, model): hours} that the paper prints for one unit, where it prints any.
        choices: {choice: (main option, other options ...)}, what the paper leaves open, fixed before the run.
        models: those of another kind than its tasks that it takes as well.
        minutes: by scale, what a unit asks of a cluster where it is not what the scale's config says.
        beside: {parameter: kind of model} of the parameters that name a further model of a unit; "" is none,
            and what begins with ENDPOINT is asked over the network.
        headline: the `Headline`s, at most eight, frozen before a scale's first unit.
        figure: the figure that the card shows, by the name of its file.
        looks: {scale: {"data set model variant": numbers of seeds with which its verdicts were or will be
            drawn}}, where they are several; the last one is the number planned.
        zeros: parameters for which 0 stands for the paper's own value, such as ("learning_rate",).
        check: (parameters of a unit) -> None; raises ValueError for what its notebook would refuse.
        demand: ([parameters]) -> None; raises ValueError where units need what is not installed here.
    """

    name: str
    title: str
    citation: str
    url: str
    claims: Sequence[str]
    tables: Sequence[str]
    kind: str = "classification"
    attributions: tuple[str, ...] = ()
    tasks: dict = field(default_factory=dict)
    reads: Sequence[str] = ()
    choices: dict = field(default_factory=dict)
    models: tuple[str, ...] = ()
    minutes: dict = field(default_factory=dict)
    beside: dict = field(default_factory=dict)
    zeros: Sequence[str] = ()
    headline: tuple = ()
    figure: str = ""
    looks: dict = field(default_factory=dict)
    hours: Callable | None = None
    check: Callable | None = None
    demand: Callable | None = None

    @classmethod
    def read(cls, file, **entries):
        """The card that card.yaml beside a file holds, margins by their names, and `entries` of Python."""
        folder = Path(file).parent
        texts = layout(folder, "card.yaml")
        rows = texts.pop("headline", [])
        choices = {name: tuple(options) for name, options in texts.pop("choices", {}).items()}
        for row in rows:
            one_of(f"{folder.name}/card.yaml: margin", row.get("margin"), (None, *MARGINS))
        headline = [Headline(**row | {"margin": MARGINS.get(row.get("margin"))}) for row in rows]
        return cls(folder.name, headline=tuple(headline), choices=choices, **texts, **entries)

    def use(self, task):
        """How the paper splits and scores a task: its own way, or the task's where the paper has none.

        A task that only the user has is scored by accuracy; one of another kind is a ValueError.
        """
        row = TASKS.get(task)
        if row and row.kind != self.kind:
            fitting = ", ".join(t for t in TASKS if TASKS[t].kind == self.kind)
            what = f"task {task!r} holds {row.kind}, and {self.name} explains {self.kind}"
            raise ValueError(f"{what}: use one of {fitting}")
        return self.tasks.get(task, Use(row.recipe, row.metric) if row else Use())

    def metric(self, task: str) -> str:
        """The metric that the paper reports for a task; micro F1 of one label a text is accuracy."""
        metric = self.use(task).metric
        return {"micro_f1": "accuracy"}.get(metric, metric)

    def main_setting(self):
        """The paper's own option of each choice, the first one: {choice as a keyword: option}."""
        return {choice.replace(" ", "_"): options[0] for choice, options in self.choices.items()}

    def sources(self, parameters):
        """The models that a unit reads from the hub or a folder: [name]."""
        further = [parameters.get(name, "") for name in self.beside]
        return [parameters["model"], *(name for name in further if name and not name.startswith(ENDPOINT))]


def names():
    """All papers and studies, by name: the folders of notebooks/."""
    folders = [path.name for path in FOLDER.iterdir() if path.is_dir()]
    return sorted(name for name in folders if name[0] not in "_." and name != "tutorials")


def card(name):
    """The `Card` of a paper; ValueError for an unknown one, or a folder without a card.

    >>> card("fmm").citation
    'Madsen, Reddy and Chandar (2024), ICML'
    """
    if name not in names():
        raise ValueError(f"paper {name!r} is unknown: {suggestion(name, names())}")
    if not name.isidentifier():
        raise ValueError(f"paper {name!r} cannot be imported: rename its folder, with letters, digits and _")
    if not (FOLDER / name / "card.py").is_file():
        raise ValueError(f"paper {name!r} has no card: write {name}/card.py with CARD = Card({name!r}, …)")
    return import_module(f"notebooks.{name}.card").CARD


def headline(name):
    """The headline claims of a folder's card; () of a folder that is no paper's."""
    return card(name).headline if name in names() else ()


def captions(name):
    """{beginning of a figure's name: caption} of a paper."""
    return import_module(f"notebooks.{name}.figures").CAPTIONS


def layout(paper, file):
    """What a YAML file in the folder of a paper says; None without it."""
    import yaml  # comes with transformers

    path = FOLDER / paper / file
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None


def published(paper, table):
    """One published table: `published("soft_metrics", "table_6")` -> DataFrame, one row a number.

    ValueError for a paper or a table that is not here; the message names those that are.
    """
    with_tables = [name for name in names() if (FOLDER / name / "published").is_dir()]
    one_of("published numbers: paper", paper, with_tables)
    folder = FOLDER / paper / "published"
    tables = sorted(path.stem for path in folder.glob("*.csv"))
    one_of(f"published numbers of {paper}: table", table, tables)
    return pd.read_csv(folder / f"{table}.csv").fillna({"note": ""})


def refuse(name, value, reason, fix):
    """Raise ValueError in one line for a parameter: the value, what is allowed, the fix."""
    raise ValueError(f"{name} = {value!r}: {reason}; {fix}")
