"""The tables of benchmarks/README.md, from the last results and `targets.yaml`; nothing is measured.

python -m benchmarks.tables    writes them between their marks, <!-- speed --> to <!-- end -->
"""

from pathlib import Path

import numpy as np
import pandas as pd
import yaml  # comes with transformers

from faithlib.report import markdown
from faithlib.report.style import MOST, narrow
from replication.results import project_root

ENCODER = "all-MiniLM-L6-v2"
BEST, BEST_HALF = "the fastest peer", "the fastest peer in bfloat16"
HALF = "faithlib, bfloat16"
TARGETS = yaml.safe_load(Path(__file__).with_name("targets.yaml").read_text(encoding="utf-8"))
# Half precision is used for committed results where scores correlate at least so well, a mean moves by at
# most so many standard errors, and the test accuracy of models that were trained in it by at most so many.
CORRELATION, OF_MEAN, OF_TRAINING = 0.98, 0.2, 1
SAME = 0.02  # up to this largest difference scores are the same but for quadrature and rounding
TABLES = {  # mark -> what is in its place, from {name of a file: its table}; others are a file as it is
    "speed": lambda files: compact(files["attributions"]),
    "half": lambda files: halves(files["attributions"]),
    "precision": lambda files: files["precision"].query("dtype != 'float32'"),
    "rule": lambda files: rule(files["precision"]),
    "targets": lambda files: targets(files),
}
FILES = ("study", "study_captum", "estimate", "memory", "roar", "noiser", "masf", "quick")


def page(text, files):
    """A page with its tables drawn anew; a table whose file is missing is "Not measured yet."."""
    for name in (*TABLES, *FILES):
        try:
            drawn = as_markdown(TABLES[name](files) if name in TABLES else files[name])
        except KeyError as missing:
            if missing.args[0] not in (*FILES, "precision", "attributions"):
                raise
            drawn = "Not measured yet.\n"
        text = markdown.with_block(text, name, drawn)
    return text


def read(folder):
    """The results of the CPU, {name of a file: its table}."""
    return {path.stem: pd.read_csv(path) for path in sorted(folder.glob("*.csv"))}


def targets(files):
    """What was aimed at, what was measured, whether it is met: reported, never asserted."""
    names = ["model", "method", "implementation", "ratio_to_ours", "largest_difference"]
    rows, speed = [], files.get("attributions", pd.DataFrame(columns=names))
    for model, method, implementation, least, other in TARGETS["speed"]:
        part = speed.query("model == @model and method == @method").set_index("implementation")
        name = fastest(part, other == BEST_HALF) if other in (BEST, BEST_HALF) else other
        both = {implementation, name} <= set(part.index)
        value = part.ratio_to_ours[implementation] / part.ratio_to_ours[name] if both else np.nan
        half = ", bfloat16" if implementation == HALF else ""
        rows.append((f"{model}, {method}{half}, × {other}", "≥", least, value))
    precision = files.get("precision", pd.DataFrame(columns=["model", "method", "dtype", "ratio"]))
    for method, least in TARGETS["precision"].items():
        part = precision.query("model.str.endswith(@ENCODER) and method == @method and dtype != 'float32'")
        rows.append((f"{ENCODER}, {method}, bfloat16, × float32", "≥", least, part.ratio.min()))
    for aim in TARGETS["others"]:
        part = pd.Series(dtype=float)
        if aim["file"] in files:
            part = files[aim["file"]].query(aim["rows"])[aim["column"]]
        value = part.max() if aim["relation"] == "≤" else part.min()
        rows.append((aim["what"], aim["relation"], aim["target"], value))
    frame = pd.DataFrame(rows, columns=["what", "relation", "target", "measured"])
    met = np.where(frame.relation == "≥", frame.measured >= frame.target, frame.measured <= frame.target)
    said = np.where(frame.measured.isna(), "not measured", np.where(met, "yes", "**no**"))
    frame["target"] = frame.pop("relation") + " " + frame.target.map("{:,.4g}".format)
    texts = frame.measured.map("{:,.4g}".format).where(frame.measured.notna(), "")
    return frame.assign(measured=texts, met=said)


def peers(part, half=False):
    """The rows of one method, by implementation, that are peers', in float32 or in bfloat16."""
    peer = ~part.index.str.startswith(("bound", "faithlib"))
    return part[peer & (part.index.str.contains("bfloat16|autocast") == half)]


def fastest(part, half=False):
    """Of the rows of one method, by implementation, the fastest peer that gives the same scores, or None.

    In bfloat16 no scores are the same: there it is the fastest.
    """
    rivals = peers(part, half)
    same = rivals if half else rivals[~(rivals.largest_difference > SAME)]
    return same.ratio_to_ours.idxmax() if same.ratio_to_ours.notna().any() else None


def compact(speed):
    """One row a method: faithlib's speed beside the bound, peers at their defaults, and the fastest peer."""
    rows, rate = [], _rate(speed)
    names = ["model", "method", rate, "of the bound", "× peer at its defaults", "× fastest peer", "which"]
    for (model, method), part in _methods(speed):
        default = [1 / r for name, r in peers(part).ratio_to_ours.items() if ", defaults" in name]
        best = fastest(part)
        ours = part[rate]["faithlib"], part.ratio_to_bound["faithlib"], default[0] if default else None
        rows.append((model, method, *ours, 1 / part.ratio_to_ours[best] if best else None, best))
    return pd.DataFrame(rows, columns=names)


def halves(speed):
    """The rows in bfloat16, under autocast and compiled: speed beside faithlib's in float32."""
    chosen = speed[speed.implementation.str.contains("bfloat16|autocast|compiled")]
    if chosen.empty:
        raise KeyError("attributions")
    columns = {_rate(speed): _rate(speed), "ratio_to_ours": "× faithlib in float32"}
    columns |= {"correlation": "correlation of scores", "note": "note"}
    columns = {name: head for name, head in columns.items() if name in speed}
    return chosen[["model", "method", "implementation", *columns]].rename(columns=columns)


def rule(precision):
    """Of each model: how many comparisons keep the rule of half precision, and which do not."""
    rows, half = [], precision.query("dtype != 'float32'")
    for model, part in half.groupby("model", sort=False):
        training = part.method == "fine_tuning"
        least = part.spearman_mean.isna() | (part.spearman_mean >= CORRELATION)
        kept = least & (part.change_in_se.abs().fillna(0) <= np.where(training, OF_TRAINING, OF_MEAN))
        rows.append([model, int(kept.sum()), ", ".join(part.method[~kept]), int(part.n.max())])
    return pd.DataFrame(rows, columns=["model", "keep it", "do not", "texts, at most"])


def _rate(speed):
    (rate,) = (column for column in speed if column.startswith("sequences_per"))
    return rate


def _methods(speed):
    for key, part in speed.groupby(["model", "method"], sort=False):
        yield key, part.set_index("implementation")


def as_markdown(table):
    """The table as Markdown, made `narrow`: three digits, nothing where there is no value."""

    def shown(value):
        if isinstance(value, float):
            return "" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return "" if value is None else str(value)

    ratios = [name for name in table if name.startswith("ratio") and table.shape[1] > MOST]
    others = [name for name in table if name not in ratios]  # the last are left out
    table, about = narrow(table[[*others[:6], *ratios, *others[6:]]])
    text = markdown.table(
        [name.replace("_", " ") for name in table], [map(shown, row) for row in table.values]
    )
    return f"{text}\n{about}\n" if about else text


def main():
    path = project_root() / "benchmarks" / "README.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(page(text, read(project_root() / "results" / "benchmarks")), encoding="utf-8")


if __name__ == "__main__":
    main()
