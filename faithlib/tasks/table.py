"""The data sets, one row of tasks.toml each; `register_task` adds a row. Nothing here touches data."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from faithlib import options
from faithlib.corpora import planted, world
from faithlib.registry import Registry, read_rows
from faithlib.scores import one_of

SPLITS = ("train", "validation", "test")
SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl")  # of files of one's own
KINDS = ("classification", "prompts")
METRICS = ("accuracy", "micro_f1", "macro_f1", "mcc", "soft_ns_nc")
EVIDENCE = ("", "spans", "sentences")  # how a mirror writes it


@dataclass(frozen=True)
class Recipe:
    """How a paper makes train, validation and test from the splits of a source.

    `train`, `validation`, `test` name a source split, or a share of it by position ("train[:80%]");
    "" = no such split. `holdout`: share of train held out when the source has no validation split,
    by scikit-learn's `train_test_split(test_size=holdout, random_state=random_state)`.
    `test_share`: share of test that is kept, drawn the same way. `words` = (low, high): only texts
    with low < number of words < high are kept.
    """

    train: str = "train"
    validation: str = "validation"
    test: str = "test"
    holdout: float | None = None
    test_share: float | None = None
    random_state: int = 0
    words: tuple[int, int] | None = None

    def __post_init__(self):
        for split in SPLITS:
            if (written := getattr(self, split)) and split not in self.parts:
                raise ValueError(f"{split}={written!r} is no share: give one in per cent, as 'train[:80%]'")
        for name in ("holdout", "test_share"):
            options.Optional(options.SHARE).check(name, getattr(self, name))
        if self.holdout and "validation" not in [source for source, _, _ in self.parts.values()]:
            raise ValueError(f"holdout={self.holdout}: no split reads it: set validation='validation'")

    @property
    def parts(self):
        """{split: (source split, start share, stop share)}, without the splits that are "" ."""
        sources = {}
        for split in SPLITS:
            match = re.fullmatch(r"(\w+)(?:\[(?:(\d\d?)%)?:(?:(\d\d?|100)%)?\])?", str(getattr(self, split)))
            if match:
                source, start, stop = match.groups()
                sources[split] = (source, int(start or 0) / 100, int(stop or 100) / 100)
        return sources


@dataclass(frozen=True)
class Use:
    """What a paper does with a data set; `sizes` = the printed (train, validation, test)."""

    recipe: Recipe = Recipe()
    metric: str = "accuracy"
    sizes: tuple[int | None, int | None, int | None] = (None, None, None)
    note: str = ""


@dataclass(frozen=True)
class Hub:
    """A script-free repository; `columns` and `splits` map our names to theirs."""

    id: str
    revision: str
    columns: dict
    config: str | None = None
    splits: dict = field(default_factory=dict)  # only those with another name
    data_files: dict | None = None
    has_validation: bool = True


@dataclass(frozen=True)
class Task:
    """One data set. `masked` is the part that is explained and erased, `auxiliary` is never."""

    name: str
    title: str
    labels: tuple[str, ...] = ()
    masked: str = "text"
    auxiliary: str = ""
    hub: Hub | None = None
    origin: str = ""  # where the rows come from when the hub has none
    kind: str = "classification"  # one of KINDS
    generated: bool = False
    imitates: str = ""  # the data set whose kind of problem a generated one has
    credentialed: bool = False
    unlabelled: bool = False  # label -1 marks pairs without a gold label; they are left out
    columns: dict = field(default_factory=dict)  # {ours: the mirror's}: if named otherwise; of prompts all
    files: dict = field(default_factory=dict)  # mirror files that are not <name>/<split>.parquet
    extras: tuple[str, ...] = ()  # further mirror columns, kept as they are
    evidence: str = ""  # one of EVIDENCE
    first_sentences: int | None = None  # keep only this many sentences of the text
    recipe: Recipe = Recipe()  # where no paper's card says otherwise
    metric: str = "accuracy"

    @property
    def place(self):
        """What tells it from another task of its name."""
        return repr(self.title)


# Recipes ------------------------------------------------------------------------------------------

OFFICIAL = Recipe()
AG_NOTE = "the release keeps the description and drops the title"
AG = Recipe(holdout=0.15, random_state=16377)
HIDDEN_TEST = Recipe(train="train[:80%]", validation="train[80%:]", test="validation")  # GLUE, SuperGLUE
BABI = Recipe(holdout=0.15, random_state=0)
IMDB_SHORT = Recipe(holdout=0.2, test_share=0.2, words=(6, 400))
PROMPTS = Recipe(train="", validation="")

RECIPES = {"ag": AG, "babi": BABI, "hidden_test": HIDDEN_TEST, "imdb_short": IMDB_SHORT, "prompts": PROMPTS}
LABELS = {"planted": planted.LABELS, "world": world.LABELS}  # of generators, where they are many


def _task(name, row):
    """The `Task` of a row of tasks.toml."""
    row = {"labels": LABELS.get(name, ())} | row
    if "hub" in row:
        row["hub"] = Hub(**row["hub"])
    if "recipe" in row:
        row["recipe"] = RECIPES[row["recipe"]]
    return Task(name, **row)


TASKS = Registry("task")  # {name: Task}
unregister_task = TASKS.remove


def generated(names):
    """Which of some data sets, a Series or Index of names, this project generates: (names,) bool.

    Example:
        >>> import pandas as pd
        >>> generated(pd.Index(["topics", "ag_news", "mine.csv"])).tolist()
        [True, False, False]
    """
    return names.isin([name for name, task in TASKS.items() if task.generated])


def register_task(task: Task) -> Task:
    """Add a row to `TASKS`, so that a data set of your own is known by name everywhere.

    Without a `hub` its rows are read from `<data_dir>/<name>/<split>.parquet` with the columns text and label
    (and text_b if `auxiliary` is named), or text alone for prompts.

    Raises:
        ValueError: a name that is taken, a classification without labels, a field of another kind or with an
            unknown value, a hub whose columns do not include those that the task needs.

    Example:
        >>> _ = register_task(Task("reviews", "our shop's reviews", ("bad", "good")))
        >>> TASKS["reviews"].labels, unregister_task("reviews")
        (('bad', 'good'), None)
    """
    if not isinstance(task, Task):
        raise ValueError(f"{task!r} is no task: give a faithlib.tasks.Task")
    if not isinstance(task.name, str) or not re.fullmatch(r"[a-z]\w*", task.name):
        raise ValueError(f"task {task.name!r}: give a name of small letters, digits and _")
    named = isinstance(task.labels, (tuple, list)) and all(isinstance(label, str) for label in task.labels)
    if task.kind == "classification" and not (named and 1 < len(task.labels) == len(set(task.labels))):
        raise ValueError(f"task {task.name!r} has labels {task.labels!r}: name two or more that differ")
    wanted = ["text", *["text_b"] * bool(task.auxiliary), *["label"] * (task.kind == "classification")]
    missing = [name for name in wanted if task.hub and name not in task.hub.columns]
    if missing:
        raise ValueError(f"task {task.name!r}: its hub columns lack {missing[0]!r}: say its name there")
    for name, kind in {"columns": dict, "files": dict, "extras": tuple, "recipe": Recipe}.items():
        if not isinstance(value := getattr(task, name), kind):
            raise ValueError(f"task {task.name!r}: {name}={value!r} is no {kind.__name__}: give one")
    for split, file in task.files.items():
        one_of(f"task {task.name!r}: files: split", split, SPLITS)
        if not str(file).endswith((".parquet", ".txt") if task.kind == "prompts" else ".parquet"):
            raise ValueError(f"task {task.name!r}: file {file!r}: give a .parquet, or of prompts a .txt")
    TASKS.add(task, kind=KINDS, metric=METRICS, evidence=EVIDENCE)
    return task


for _name, _row in read_rows(Path(__file__).with_name("tasks.toml")):
    register_task(_task(_name, _row))
