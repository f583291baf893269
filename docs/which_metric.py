"""The page docs/which-metric.md and README's finding on metrics: python docs/which_metric.py

Version 1 of the study of metrics says what to report until all core cells of version 2 have records.
"""

import re
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from faithlib.metrics import registry  # noqa: E402
from faithlib.report.markdown import table, with_block  # noqa: E402
from notebooks.ground_truth.card import NO_DIFFERENCE  # noqa: E402
from notebooks.ground_truth.tables import label  # noqa: E402

RESULTS, PAGE, README = ROOT / "results/small", ROOT / "docs/which-metric.md", ROOT / "README.md"
KINDS = {"overview": "classifiers", "language_models": "language models"}  # tables of version 1
NULLS = ["above flat", "above peaked", "above normal", "above ones"]
CONTROLS = ("random", "oracle", "magnitude")
SHARES = [f"{kind}: {what}" for kind in KINDS.values() for what in ("right", "against noise")]
HEADER = ("metric", *SHARES, "unchanged by scale", "passes per text")
FINDING = re.compile(r"(<!-- finding: metrics -->).*?(<!-- end -->)")


def scored(results=RESULTS):
    """Version 1's metrics: a row a metric in words, with `right`, `null` (the worst one), `passes` and more.

    Columns are pairs (kind of model, what); metrics of both kinds are first, by their lowest number.
    """
    parts = {}
    for name, kind in KINDS.items():
        rows = pd.read_csv(results / f"ground_truth/tables/{name}.csv")
        rows = rows[~rows.metric.isin(CONTROLS) & ~rows.metric.str.startswith("1 - ")]
        rows = rows.assign(right=rows.accuracy, null=rows[NULLS].min(axis=1), words=rows.metric.map(label))
        parts[kind] = rows.set_index("words")[["metric", "right", "null", "invariance", "passes"]]
    whole = pd.concat(parts, axis=1)
    passes = whole.xs("passes", axis=1, level=1).astype(float).max(axis=1)
    one = whole.xs("right", axis=1, level=1).isna().any(axis=1)  # kind of model
    order = pd.DataFrame({"one": one, "lowest": -lowest(whole).round(2), "passes": passes})
    return whole.loc[order.sort_values(["one", "lowest", "passes"], kind="stable").index]


def lowest(whole):
    """The lowest number of each metric, over kinds of models: how often it is right at its worst."""
    numbers = [(kind, what) for kind in KINDS.values() for what in ("right", "null")]
    return whole[numbers].astype(float).min(axis=1)


def finding(results=RESULTS):
    """What to report, in two sentences with their numbers, each beside its null.

    In version 1 it is the cheapest metric of those for both kinds of models that are near the best one, and
    the metric that a null misleads most.
    """
    whole = scored(results)
    both = whole.dropna(subset=[(kind, "right") for kind in KINDS.values()])
    near = both[lowest(both) >= lowest(both).max() - NO_DIFFERENCE]
    name = near["classifiers"].passes.astype(float).idxmin()
    classes, words = (near[kind].loc[name] for kind in KINDS.values())
    language = whole["language models"]
    fooled = (language.right - language.null).idxmax()
    right, null = map(_percent, (classes.right, classes.null))
    causal_right, causal_null = map(_percent, (words.right, words.null))
    cells = pd.read_csv(results / "ground_truth/tables/metrics.csv").query("classes == 2 and ladder == 'all'")
    (two,) = cells.accuracy[cells.metric == classes.metric]
    return (
        f"**Report {name}.** On planted words, the easy case, it ranks {right} of pairs of explanations "
        f"correctly, and gives the true words a better value than the hardest noise in {null} of texts "
        f"(language models: {causal_right} and {causal_null}); where a model of two classes falls back on "
        f"one of them, it ranks {_percent(two)} correctly. **Not {fooled}** for language models: it ranks "
        f"{_percent(language.right[fooled])} correctly, but gives the true words a better value than "
        f"flat noise in {_percent(language.null[fooled])}."
    )


def metrics_table(results=RESULTS):
    """All metrics of version 1, classifiers and language models side by side, as Markdown."""
    rows = []
    for words, row in scored(results).iterrows():
        numbers = [_percent(row[kind, what]) for kind in KINDS.values() for what in ("right", "null")]
        kept = " / ".join(filter(None, (_percent(row[kind, "invariance"]) for kind in KINDS.values())))
        passes = max(row[kind, "passes"] for kind in KINDS.values() if row[kind, "passes"] > 0)
        rows.append((words, *numbers, kept, f"{passes:.0f}"))
    return table(HEADER, rows)


def fooled_table(results=RESULTS):
    """What misleads each metric, in the words of the registry, as Markdown."""
    rows = {}
    for words, row in scored(results).iterrows():
        names = [row[kind, "metric"] for kind in KINDS.values() if row[kind, "metric"] in registry.names()]
        if texts := dict.fromkeys(registry.get(name).fooled for name in names):
            rows[words] = " Language models: ".join(texts)
    return table(("metric", "what misleads it"), rows.items())


def _percent(value):
    return "" if pd.isna(value) else f"{100 * value:.0f} %"


def pages():
    """{path: its text as it should be}: the page, and the README."""
    page = with_block(PAGE.read_text(encoding="utf-8"), "generated: answer", f"\n{finding()}\n\n")
    page = with_block(page, "generated: metrics", f"\n{metrics_table()}\n")
    page = with_block(page, "generated: fooled", f"\n{fooled_table()}\n")
    readme = README.read_text(encoding="utf-8")
    return {PAGE: page, README: FINDING.sub(lambda match: f"{match[1]}{finding()}{match[2]}", readme)}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
