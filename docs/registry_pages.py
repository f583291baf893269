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
from faithlib.report.style import model_title

ROOT = Path(__file__).resolve().parent.parent
TRUTH = ROOT / "results/small/ground_truth/tables/metrics.csv"
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
TRUTH_WORDS = "{} (chance is .50; [ground truth](../../notebooks/ground_truth/README.md))"
SECTIONS = re.compile(r"^(Args|Returns|Raises|Example|Examples|Note|Attributes):|^>>> ", re.MULTILINE)
ITEM = re.compile(r"^- (\w+(?:, \w+)*): (.*(?:\n  .*)*)\n*", re.MULTILINE)
METRICS = """(metrics-a-z)=
# Metrics A–Z

What each metric measures, when to use it, and what misleads it. *Ranks pairs correctly*: the share of pairs
of explanations, of which one is known to be better, that it ranks correctly, the lowest and the highest over
kinds of models; [Which metric should I report?](../which-metric.md) has the null explanations beside it. A
value that means nothing is NaN; it is excluded from the mean, and `void` counts it. This page is generated
from `faithlib.metrics.registry`; [Adding a metric](../adding.md#a-metric) says how yours joins.

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
            "Ranks pairs of known order correctly": TRUTH_WORDS.format("; ".join(truth[entry.name]))
            if entry.name in truth
            else "",
            "Needs": "; ".join(metrics.NEEDS[need] for need in entry.needs),
            "Source": entry.source,
        }
        sections.append(section(entry, facts))
    header = ("metric", "better", "range", "ranks pairs correctly", "what it is")
    return METRICS + table(header, rows) + "".join(sections)


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


def ground_truth(path=TRUTH):
    """{metric: [how often it ranks explanations of known quality correctly, by kind of model]}, or {}."""
    if not path.is_file():
        return {}
    table = pd.read_csv(path)
    table = table[(table.mechanism == "all") & (table.definition == "paper") & (table.model != "compiled")]
    table, found = table[(table.classes == 3) & (table.masking == "none") & table.ci_low.notna()], {}
    for row in table.itertuples():
        value = f"{row.accuracy:.2f} [{row.ci_low:.2f}, {row.ci_high:.2f}]"
        found.setdefault(row.metric, []).append(f"{value} ({model_title(row.model)}, {row.n_models} models)")
    return found


def share(cells):
    """The lowest and the highest value of `ground_truth`, for the overview.

    >>> share(["0.96 [0.95, 0.97] (BiLSTM, 10 models)", "0.91 [0.9, 0.92] (tiny BERT, 10 models)"])
    '0.91 to 0.96'
    """
    values = sorted(cell.partition(" ")[0] for cell in cells)
    return " to ".join(dict.fromkeys(values[:1] + values[-1:]))


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
