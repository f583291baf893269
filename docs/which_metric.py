"""The page docs/which-metric.md and README's finding on metrics: python docs/which_metric.py"""

import re
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from faithlib.metrics import registry  # noqa: E402
from faithlib.report.markdown import table, with_block  # noqa: E402
from notebooks.ground_truth_2 import advice, figures  # noqa: E402
from notebooks.ground_truth_2.card import SEEDS, TEXTS  # noqa: E402

RESULTS, PAGE, README = ROOT / "results/small", ROOT / "docs/which-metric.md", ROOT / "README.md"
KINDS = {  # of model: the tables of its cells and entries
    "classifiers": ("cells", "entries"),
    "language models": ("language_model_cells", "language_models"),
}
TABLES = "ground_truth_2/tables"  # of a scale's results
FOOLED = {  # statistics of a paper that are no metrics of the library
    "log_ratio": "Flat scores: they keep nearly the whole prompt, whichever tokens matter.",
    "answerability": "Errors among the highest tokens: it sees which tokens are there, and nothing else.",
}
TOKENS = 15  # of the text for which a metric's passes are counted
FINDING = re.compile(r"(<!-- finding: metrics -->).*?(<!-- end -->)")


def read(results, name):
    """A table of the study."""
    path, ends = results / TABLES / f"{name}.csv", dict.fromkeys(("ci_low", "ci_high", "inside"), "")
    return pd.read_csv(path, keep_default_na=False, na_values=ends)


def kinds(results):
    """The kinds of models that have records, [str]."""
    return [kind for kind, (_, name) in KINDS.items() if (results / TABLES / f"{name}.csv").is_file()]


def ranked(results, kind):
    """The entries of a kind of model that have all cells that have records, the best first."""
    _, name = KINDS[kind]
    entries = read(results, name)
    return entries[entries.cells == entries.cells.max()].reset_index(drop=True)


def finding(results=RESULTS):
    """What to report for classifiers, and the metric that does worst as published, each with its number."""
    entries = ranked(results, "classifiers")
    best = advice.not_told_apart(entries[entries.operator == entries.operator[0]]).drop_duplicates("metric")
    worst, names = advice.as_published(entries).iloc[-1], " or ".join(best.metric.map(figures.label_of))
    return (
        f"For classifiers **{names}**, with `operator={best.operator[0]!r}`: in the worst of {best.cells[0]} "
        f"kinds of models and errors {' and '.join(map(_percent, best.lowest))} of pairs are right, with "
        f"{figures.label_of(worst.metric)} as published {_percent(worst.lowest)}; chance is 50 %."
    )


def answer(results=RESULTS):
    """What to report, for each kind of model a list of sentences, as Markdown."""
    parts = []
    for kind, (cells, entries) in KINDS.items():
        if kind not in kinds(results):
            parts.append(f"For **{kind}** there are no records yet.")
            continue
        sentences = advice.sentences(read(results, cells), read(results, entries), results.name)
        parts.append(f"For **{kind}**:\n\n" + "\n".join(f"- {sentence}" for sentence in sentences))
    return "\n\n".join(parts)


def metrics_table(results=RESULTS):
    """A row a metric: its worst cell as published and with the best choice, of both kinds of models."""
    cells, names = {}, {}
    for kind in kinds(results):
        entries = ranked(results, kind)
        entries = entries.assign(words=entries.metric.map(figures.label_of))
        as_published = advice.as_published(entries).set_index("words")
        for words, best in entries.drop_duplicates("words").set_index("words").iterrows():
            names.setdefault(words, best.metric)
            chosen = f"{_percent(best.lowest)}: {figures.choice(best)}".removesuffix(": ")
            first = as_published.loc[words] if words in as_published.index else None
            before = "" if first is None else f"{_percent(first.lowest)}: {first.cell}"
            cells.setdefault(words, {})[kind] = (before, chosen)
    columns = [f"{kind}, {what}" for kind in kinds(results) for what in ("as published", "best choice")]
    rows = []
    for words, of in cells.items():
        both = [cell for kind in kinds(results) for cell in of.get(kind, ("", ""))]
        rows.append((words, *both, _passes(names[words])))
    return table(["metric", *columns, "inputs a text"], rows)


def fooled_table(results=RESULTS):
    """What misleads each metric, in the words of the registry, as Markdown."""
    rows = {}
    for kind in kinds(results):
        for metric in ranked(results, kind).metric:
            misled = registry.get(metric).fooled if metric in registry.names() else FOOLED.get(metric)
            if misled:
                rows.setdefault(figures.label_of(metric), misled)
    return table(("metric", "what misleads it"), rows.items())


def rests(results=RESULTS):
    """Seeds, models and texts of the study, what its gates refused, and how far its order carries."""
    gates, seeds = read(results, "gates"), SEEDS["P"]
    tau = read(results, "transfer").query("between == 'kind'").tau
    return (
        f"Seeds {seeds[0]} to {seeds[-1]} (language models: {len(SEEDS['language models'])}), each with "
        f"models and texts of its own: planted mechanisms ({TEXTS['P']} texts), SST ({TEXTS['N1']}), AG News "
        f"({TEXTS['N2']}). Of {len(gates)} models, {(gates.refused != '').sum()} did not learn and took no "
        "part. The order of entries hardly carries over from one kind of model to another (Kendall's τ "
        f"{tau.min():.2f} to {tau.max():.2f}), so what counts is the lowest cell of all kinds."
    )


def _passes(metric):
    """Inputs of the model for one explanation of a text of TOKENS tokens, with the metric's own draws."""
    if metric not in registry.names():
        return ""
    passes = registry.get(metric).passes
    return f"{passes(TOKENS) if callable(passes) else passes:.0f}"


def _percent(value):
    return f"{100 * value:.0f} %"


def pages():
    """{path: its text as it should be}: the page, and the README."""
    page = with_block(PAGE.read_text(encoding="utf-8"), "generated: answer", f"\n{answer()}\n\n")
    page = with_block(page, "generated: metrics", f"\n{metrics_table()}\n")
    page = with_block(page, "generated: fooled", f"\n{fooled_table()}\n")
    page = with_block(page, "generated: rests", f"\n{rests()}\n")
    readme = README.read_text(encoding="utf-8")
    return {PAGE: page, README: FINDING.sub(lambda match: f"{match[1]}{finding()}{match[2]}", readme)}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
