"""From our number to the published one, one choice at a time: what explains the difference, and what is left.

`notebooks/<paper>/published/bridge.yaml` lists bridges. Each has a claim in words, where its published value
stands, where ours does, and steps:

    - claim: NS on SST, mean over attributions
      published: {table: table_6, where: {dataset: sst, metric: NS}}
      ours: {table: diagnosticity, value: value, where: {dataset: sst, metric: NS, definition: paper}}
      margin: 0.02                      # a difference that counts as none
      same: {data set: all 6,920 training texts}
      steps:
        - {choice: definition, what: that of the release, to: {definition: released}}

A value is the mean of a column over the rows of `where`, less that of the rows with the entries `minus`. A
step is the difference of two such values: `to` and `from` change the `where` of ours, `value` and
`from_value` its column, `place` and `from_place` where its table is; without one of these from-entries it
starts at our value. With a `table` of its own a step has a `where` of its own. `place` is "published", a
folder in results/, such as "benchmarks", or, by default, "report": the report's tables. A bridge's own
`where` holds in all of them; a `scale` says of which it is.
A choice without a step that is not said to be the `same` as the paper's is unknown; of one of which a step
changes a `part`, "other <choice>" is.
"""

from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd

from faithlib.report.display import show_figure
from faithlib.report.style import ROLES
from faithlib.scores import one_of
from replication import WORDING, papers
from replication.records import project_root
from replication.tables import number, select

CHOICES, CAPTION = WORDING["bridge"]["choices"], WORDING["captions"]["bridge"]
COLUMNS = ["claim", "choice", "what", "value", "difference"]
OURS, LEFT, PUBLISHED = "ours", "left", "published"


@dataclass(frozen=True)
class Bridge:
    """The steps from ours to the published value of a claim.

    Attributes:
        claim: in words.
        ours, published: the two values.
        steps: [(choice, what changes, difference)].
        unknown: choices that nobody measured and that are not the same as the paper's.
        margin: a difference that counts as none.
    """

    claim: str
    ours: float
    published: float
    steps: list = field(default_factory=list)
    unknown: tuple = ()
    margin: float = 0.0

    @property
    def left(self):
        """What no step explains: published − ours − Σ differences."""
        return self.published - self.ours - self.explained().sum()

    def explained(self):
        """What the steps explain of the difference, by choice, the largest first: a Series."""
        steps = pd.DataFrame(self.steps, columns=["choice", "what", "by"])
        steps["choice"] = steps.what.where(("other " + steps.choice).isin(self.unknown), steps.choice)
        return steps.groupby("choice", sort=False).by.sum().sort_values(key=lambda by: -by.abs())

    def sentence(self):
        """Why ours differs, in words: the difference, what the steps explain of it, what nobody measured.

        >>> steps = [("ties", "as losses", -0.2), ("texts", "60 of them", 0.05)]
        >>> print(Bridge("NS", 0.72, 0.41, steps, (), 0.02).sentence().split(". ")[1])
        Measured choices explain -0.150: ties -0.200, texts +0.050
        """
        published, ours, gap = map(number, (self.published, self.ours, self.published - self.ours))
        if abs(self.published - self.ours) <= self.margin:
            return f"Ours, {ours}, is the published {published} within {self.margin:g}."
        by_choice = self.explained().rename({"definition": "the release's definition"}).map(number)
        parts = ", ".join(f"{choice} {by}" for choice, by in by_choice.items() if float(by))
        explained = float(number(self.explained().sum()))
        does = "explain" if explained * (self.published - self.ours) >= 0 else "move ours the other way, by"
        by = number(explained) if explained else "nothing"
        said = f"{does} {by}" + f": {parts}" * bool(parts)
        text = f"Published {published}, ours {ours}: a gap of {gap}. Measured choices {said}. "
        if abs(self.left) <= self.margin:
            return f"{text}With them the published value is reached."
        unknown = f" (not measured: {', '.join(self.unknown)})" if self.unknown else ""
        return f"{text}Unexplained: {number(self.left)}{unknown}."

    def table(self):
        """The steps as a DataFrame: a row each, with the value reached; NaN where nothing was measured."""
        value, rows = self.ours, [(self.claim, OURS, "", self.ours, np.nan)]
        for choice, what, difference in self.steps:
            value += difference
            rows.append((self.claim, choice, what, value, difference))
        rows += [(self.claim, choice, "not measured", np.nan, np.nan) for choice in self.unknown]
        rows.append((self.claim, LEFT, "unknown", np.nan, self.left))
        rows.append((self.claim, PUBLISHED, "", self.published, np.nan))
        return pd.DataFrame(rows, columns=COLUMNS)


def bridges(paper, folder):
    """The bridges of a paper of which ours has a value here; a step without one is unknown.

    folder: results/<scale>/<paper>/tables. A step whose choice is not one of CHOICES is a ValueError.
    """
    entries, here = papers.layout(paper, "published/bridge.yaml") or [], folder.parents[1].name
    listed = [of_entry(entry, paper, folder) for entry in entries if entry.get("scale", here) == here]
    return [one for one in listed if not np.isnan(one.ours)]


def show(paper: str, folder: Path, drawn: Path) -> pd.DataFrame:
    """Show why ours differs in a notebook: the first bridge as a picture, all as sentences.

    paper, folder: as of `bridges`; drawn: the folder of the paper's figures. Returns the steps of all bridges
    as one DataFrame, with a column `sentence`.
    """
    from IPython.display import Markdown, display

    rows: list[pd.DataFrame] = []
    for one in bridges(paper, folder):
        text = f"**{one.claim}.** {one.sentence()}"
        if rows:
            display(Markdown(text))
        else:
            show_figure(draw(one), drawn / "bridge", {"bridge": f"{text} {CAPTION}"})
        rows.append(one.table().assign(sentence=one.sentence()))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=[*COLUMNS, "sentence"])


def of_entry(entry, paper, folder):
    """The Bridge of one entry of bridge.yaml."""
    everywhere, steps, explained = entry.get("where", {}), [], set(entry.get("same", {}))
    specs = {"place": "published"} | entry["published"], entry["ours"]
    printed, ours = (spec | {"where": everywhere | spec["where"]} for spec in specs)
    values = _value(ours, paper, folder), _value(printed, paper, folder)
    for step in entry.get("steps", []):
        one_of(f"{paper}/published/bridge.yaml: choice", step["choice"], CHOICES)
        changed = {"value": "value"} | ours | {n: step[n] for n in ("table", "value", "place") if n in step}
        rows = everywhere if "table" in step else ours["where"]
        after = _value(changed | {"where": rows | step["to"]}, paper, folder)
        start = changed | {"where": rows | step.get("from", {})}
        start |= {name: step[f"from_{name}"] for name in ("value", "place") if f"from_{name}" in step}
        before = _value(start, paper, folder) if {"from", "from_value"} & set(step) else values[0]
        if not np.isnan(after - before):
            steps.append((step["choice"], step["what"], after - before))
            explained |= set() if "part" in step else {step["choice"]}
    partly = {choice: f"other {choice}" for choice, *_ in steps}
    unknown = tuple(partly.get(choice, choice) for choice in CHOICES if choice not in explained)
    return Bridge(entry["claim"], *values, steps, unknown, entry.get("margin", 0.0))


def draw(bridge):
    """A staircase from ours to the published value: a matplotlib figure."""
    import matplotlib.pyplot as plt

    table = bridge.table()
    ours, step, grey = (ROLES[name][0] for name in ("proposed", "usual", "reference"))
    figure, axis = plt.subplots(figsize=(6.8, 0.9 + 0.3 * len(table)))
    value, beside = bridge.ours, {"color": grey, "va": "center", "backgroundcolor": "white"}
    for place, row in enumerate(table.itertuples()):
        if row.choice in (OURS, PUBLISHED):
            axis.plot(row.value, place, "o", color=ours, fillstyle="full" if row.choice == OURS else "none")
            text, at = number(row.value), row.value
        elif np.isnan(row.difference):
            text, at = "not measured", value
        else:
            look = {"color": grey, "hatch": "//", "fill": False} if row.choice == LEFT else {"color": step}
            axis.barh(place, row.difference, left=value, height=0.6, **look)
            text, at = number(row.difference), max(value, value + row.difference)
            value += row.difference
        axis.annotate(text, (at, place), (9, 0), textcoords="offset points", zorder=1, **beside)
    axis.axvline(bridge.published, color=grey, linestyle=":", zorder=0)
    axis.set_yticks(range(len(table)), [_words(row) for row in table.itertuples()])
    axis.invert_yaxis()
    axis.use_sticky_edges = False
    axis.set(xlabel=fill(bridge.claim, 70), xmargin=0.2, title="From our number to the published one")
    return figure


def _words(row):
    if row.choice == LEFT:
        return "not explained"
    return fill(f"{row.choice}: {row.what}" if row.what and not np.isnan(row.value) else row.choice, 42)


def _value(spec, paper, folder):
    """The mean of a column over the rows of `where`, less that of the rows `minus`; NaN without a row."""
    table, rows, column = _read(spec, paper, folder), spec["where"], spec.get("value", "value")
    value = select(table, **rows)[column].mean()
    if "minus" in spec:
        value -= select(table, **rows | spec["minus"])[column].mean()
    return float(value * spec.get("times", 1))


def _read(spec, paper, folder):
    """The table of a value: published, a benchmark's, the report's, claims or choices; empty if absent."""
    place, name = spec.get("place", ""), f"{spec['table']}.csv"
    if place == "published":
        return papers.published(paper, spec["table"])
    if place not in ("", "report"):
        folder = project_root() / "results" / place
    path = folder / name if (folder / name).is_file() else folder.parent / name
    columns = [*spec["where"], spec.get("value", "value")]
    return pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=columns)
