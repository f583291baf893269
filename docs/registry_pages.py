"""The pages "Metrics A–Z" and "Methods A–Z", made from the registries and from docstrings."""

import inspect
import re
from math import isinf
from operator import attrgetter
from pathlib import Path

import pandas as pd

from faithlib.attributions import registry as attributions
from faithlib.metrics import registry as metrics
from faithlib.report.markdown import table
from notebooks.ground_truth_2.tables import ENTRY, PUBLISHED

ROOT = Path(__file__).resolve().parent.parent
TRUTH = ROOT / "results/small/ground_truth_2/tables"
KINDS = {"entries": "classifiers", "language_models": "language models"}  # a table of the study, what of
EQUAL = {"soft_ns": "equal_soft_ns", "soft_nc": "equal_soft_nc"}  # a metric with the map "equal"
DRAWINGS = ROOT / "figures/method"
DRAWN = {  # part of an entry's module and name: the drawing of its idea, the first that fits
    "soft": "soft_metrics",
    "erasure": "erasure",
    "aopc": "erasure",
    "fidelity": "erasure",
    "flip": "one_text",
    "masked": "fmm",
    "curves": "recursive_roar",
    "answerability": "noiser",
    "plausibility": "attributions",
    "noiser": "noiser",
    "random": "against_random",
}
TRUTH_WORDS = "{} (chance is .50; [the study](../../notebooks/ground_truth_2/README.md))"
SECTIONS = re.compile(r"^(Args|Returns|Raises|Example|Examples|Note|Attributes):|^>>> ", re.MULTILINE)
ITEM = re.compile(r"^- (\w+(?:, \w+)*): (.*(?:\n  .*)*)\n*", re.MULTILINE)
METRICS = """(metrics-a-z)=
# Metrics A–Z

What each metric measures, when to use it, and what misleads it. *Worst case*: the share of pairs of
explanations, of which one is known to be better, that the metric as published ranks correctly in the worst
cell of the study, a kind of model and a kind of error; [Which metric should I report?](../which-metric.md)
has the best choices beside it. A value that means nothing is NaN; it is excluded from the mean, and `void`
counts it. This page is generated from `faithlib.metrics.registry`; [Adding a metric](../adding.md#a-metric)
says how yours joins.

"""
METHODS = """(methods-a-z)=
# Methods A–Z

What each attribution method computes and costs. A *signed* method says which tokens speak for the target
(above 0) and which against it. This page is generated from `faithlib.attributions.registry`;
[Adding an attribution](../adding.md#an-attribution) says how yours joins.

"""


def definition(entry):
    """What docstrings say of an entry: of its function, and of a function that this one applies to texts.

    Of a function with several names, the list item of the entry's name stands behind the text.

    >>> definition(metrics.get("decision_flip")).count("`decision_flip`")
    2
    """
    function = entry.resolve()
    text, items = prose(function)
    parts = [text, *(words for names, words in items if entry.name in names)]
    for name in re.findall(r"`(\w+(?:\.\w+)*)`", text.partition("\n\n")[0]):
        other = _found(inspect.getmodule(function), name)
        if inspect.isfunction(other) and other is not function:
            parts.append(f"`{name}`: {prose(other)[0].partition(chr(10) * 2)[0]}")
    return "\n\n".join(parts)


def _found(module, name):
    """What a dotted name means in a module; None where it means nothing."""
    try:
        return attrgetter(name)(module)
    except AttributeError:
        return None


def prose(function):
    """A docstring before its first section: its text, and [(names, words)] of its list of names."""
    text = SECTIONS.split(inspect.getdoc(function), maxsplit=1)[0].strip()
    items = [(match[1].split(", "), " ".join(match[2].split())) for match in ITEM.finditer(text)]
    return ITEM.sub("", text).strip(), items


def metrics_page():
    """Metrics A–Z as Markdown: a table of all, then a section of each."""
    rows, sections, truth = [], [], ground_truth()
    for entry in alphabetical(metrics):
        values = f"{bounds(entry)}, {entry.better} is better"
        what = escaped(entry.explain.partition(". ")[0].rstrip("."))
        rows.append((link(entry), entry.better, bounds(entry), share(truth.get(entry.name, [])), what))
        facts = {
            "Range": f"{values}; one value for each {'text' if entry.level == 'example' else entry.level}",
            "Means nothing when": entry.void,
            "What misleads it": entry.fooled,
            "Ranks pairs correctly in its worst case": _worst(truth.get(entry.name, [])),
            "Needs": "; ".join(metrics.NEEDS[need] for need in entry.needs),
            "Source": entry.source,
        }
        sections.append(section(entry, facts))
    header = ("metric", "better", "range", "worst case", "what it is")
    return METRICS + table(header, rows) + "".join(sections)


def _worst(values):
    """Values of `ground_truth` in words, "" for none."""
    words = "; ".join(f"{value:.2f} ({cell})" for value, cell in values)
    return TRUTH_WORDS.format(words) if words else ""


def methods_page():
    """Methods A–Z as Markdown: a table of all, then a section of each."""
    rows, sections = [], []
    for entry in alphabetical(attributions):
        scores = "signed" if entry.signed else "not signed"
        rows.append((link(entry), scores, entry.family, entry.cost, escaped(entry.explain.rstrip("."))))
        facts = {
            "Scores": f"{scores}; family: {entry.family}",
            "Cost": attributions.COSTS[entry.cost],
            "Needs": ", ".join(attributions.NEEDS[need] for need in entry.needs),
        }
        sections.append(section(entry, facts))
    return (
        METHODS
        + picture("three_families")
        + table(("method", "scores", "family", "cost", "what it computes"), rows)
        + "".join(sections)
    )


def drawing(entry):
    """The name of the drawing of an entry's idea, "" where there is none.

    >>> drawing(metrics.get("naopc_sufficiency")), drawing(attributions.get("lime"))
    ('erasure', '')
    """
    place = f"{entry.resolve().__module__}.{entry.name}"
    return next((name for part, name in DRAWN.items() if part in place), "")


def picture(name):
    """A drawing with its title as the alternative text, a paragraph of Markdown; "" without a name."""
    if not name:
        return ""
    title = re.search("<title>(.*?)</title>", (DRAWINGS / f"{name}.svg").read_text(encoding="utf-8"))[1]
    return f"![{title}](../../figures/method/{name}.svg)\n\n"


def ground_truth(tables=TRUTH):
    """{metric: [(its worst accuracy as published, in which cell of which models)]} of the study."""
    lowest = {}
    for name, kind in KINDS.items():
        path = tables / f"{name}.csv"
        entries = pd.read_csv(path, keep_default_na=False) if path.is_file() else pd.DataFrame(columns=ENTRY)
        for row in entries[entries[ENTRY].apply(tuple, axis=1).isin(PUBLISHED)].itertuples():
            metric = EQUAL.get(row.metric, row.metric) if row.map == "equal" else row.metric
            lowest.setdefault(metric, []).append((row.lowest, f"{row.cell}, {kind}"))
    return lowest


def share(values):
    """The lowest value of `ground_truth`, for the overview.

    >>> share([(0.96, "P1 near, classifiers"), (0.91, "P3 order, language models")])
    '.91'
    """
    return f"{min(value for value, _ in values):.2f}".lstrip("0") if values else ""


def alphabetical(registry):
    """The entries of a registry by label, signs such as | and ∇ ignored; then by name."""
    entries = [registry.get(name) for name in registry.names()]
    return sorted(entries, key=lambda entry: (re.sub(r"[^a-z0-9 ]", "", entry.label.lower()), entry.name))


def bounds(entry):
    """The range of a metric in words.

    >>> bounds(metrics.get("soft_ns")), bounds(metrics.get("auprc"))
    ('at most 1', '0 to 1')
    """
    low, high = entry.range
    if isinf(low) and isinf(high):
        return "any number"
    return f"at most {high}" if isinf(low) else f"{low} or more" if isinf(high) else f"{low} to {high}"


def link(entry):
    """An entry's label, linked to its section, and its name."""
    return f"[{escaped(entry.label)}](#{anchor(entry)}) `{entry.name}`"


def section(entry, facts):
    """An entry's section: its definition, then the facts that are not empty."""
    function = entry.resolve()
    code = f"{{py:func}}`{function.__module__}.{function.__qualname__}`"
    lines = [f"- **{name}**: {value}" for name, value in facts.items() if value]
    text = "\n".join([*lines, f"- **Name and code**: `{entry.name}`, {code}"])
    heading = f"\n({anchor(entry)})=\n## {escaped(entry.label)} ({entry.name})"
    explain = f"{escaped(entry.explain)}\n\n" if entry.explain else ""
    return f"{heading}\n\n{explain}{definition(entry)}\n\n{picture(drawing(entry))}{text}\n"


def anchor(entry):
    """The target of an entry's section, such as "metric-soft-ns"."""
    return f"{type(entry).__name__.lower()}-{entry.name.replace('_', '-')}"


def escaped(label):
    """A label whose signs end neither a table's cell nor a link."""
    return label.replace("|", "&#124;").replace("[", "&#91;").replace("]", "&#93;")
