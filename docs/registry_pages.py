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
    "flip": "one_review",
    "masked": "fmm",
    "curves": "recursive_roar",
    "answerability": "noiser",
    "plausibility": "attributions",
    "noiser": "noiser",
    "random": "against_random",
}
SECTIONS = re.compile(r"^(Args|Returns|Raises|Example|Examples|Note|Attributes):|^>>> ", re.MULTILINE)
ITEM = re.compile(r"^- (\w+(?:, \w+)*): (.*(?:\n  .*)*)\n*", re.MULTILINE)
METRICS = """# Metrics A–Z

What each metric says, and when its value means nothing. Such a value is NaN; it is counted, and left
out of the mean. This page is generated from `faithlib.metrics.registry`;
[Adding a metric](../adding.md#a-metric) says how yours joins.

"""
METHODS = """# Methods A–Z

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
        rows.append((link(entry), entry.better, bounds(entry)))
        facts = {
            "Range": f"{values}; one value for each {'text' if entry.level == 'example' else entry.level}",
            "Means nothing when": entry.void,
            "Tested against a ground truth": truth.get(entry.name, ""),
            "Needs": "; ".join(metrics.NEEDS[need] for need in entry.needs),
            "Source": entry.source,
        }
        sections.append(section(entry, facts))
    return METRICS + table(("metric", "better", "range"), rows) + "".join(sections)


def methods_page():
    """Methods A–Z as Markdown: a table of all, then a section of each."""
    rows, sections = [], []
    for entry in alphabetical(attributions):
        scores = "signed" if entry.signed else "not signed"
        rows.append((link(entry), scores, entry.family, entry.cost))
        facts = {
            "Scores": f"{scores}; family: {entry.family}",
            "Cost": attributions.COSTS[entry.cost],
            "Needs": ", ".join(attributions.NEEDS[need] for need in entry.needs),
        }
        sections.append(section(entry, facts))
    return (
        METHODS
        + picture("three_families")
        + table(("method", "scores", "family", "cost"), rows)
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
    """{metric: how often it orders explanations of known quality right}; {} while it is not known."""
    if not path.is_file():
        return {}
    table = pd.read_csv(path)
    table = table[(table.mechanism == "all") & (table.definition == "paper") & (table.model != "compiled")]
    table, found = table[(table.classes == 3) & (table.masking == "none") & table.ci_low.notna()], {}
    for row in table.itertuples():
        share = f"{row.accuracy:.2f} [{row.ci_low:.2f}, {row.ci_high:.2f}]"
        found.setdefault(row.metric, []).append(f"{share} ({model_title(row.model)}, {row.n_models} models)")
    study = "[ground truth](../../notebooks/ground_truth/README.md)"
    return {
        name: f"{'; '.join(cells)} of pairs of explanations in the right order, chance is 0.5 ({study})"
        for name, cells in found.items()
    }


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
    return f"{heading}\n\n{definition(entry)}\n\n{picture(drawing(entry))}{text}\n"


def anchor(entry):
    """The target of an entry's section, such as "metric-soft-ns"."""
    return f"{type(entry).__name__.lower()}-{entry.name.replace('_', '-')}"


def escaped(label):
    """A label whose signs end neither a table's cell nor a link."""
    return label.replace("|", "&#124;").replace("[", "&#91;").replace("]", "&#93;")
