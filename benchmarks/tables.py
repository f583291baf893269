"""The tables of benchmarks/README.md, from the last results; nothing is measured.

python -m benchmarks.tables    writes them between their marks, <!-- speed --> to <!-- end -->
"""

import numpy as np
import pandas as pd

from faithlib.report import markdown
from replication.results import project_root

ENCODER, LLAMA = "all-MiniLM-L6-v2", "random Llama, 4 layers, 256 wide"
BEST, BEST_HALF = "the fastest peer", "the fastest peer in bfloat16"
HALF = "faithlib, bfloat16"
TARGETS = [  # model, method, implementation, so many times the speed of what, at least
    (ENCODER, "x⊙grad", "faithlib", 0.9, "bound"),
    (ENCODER, "leave-one-out ±", "faithlib", 0.9, "bound"),
    (ENCODER, "leave-one-out ±", "faithlib", 2, "captum, defaults"),
    (ENCODER, "four gradient scores", "faithlib", 3.5, "captum, defaults, a run a score"),
    (ENCODER, "four gradient scores", "faithlib", 3.5, "captum, batched, a run a score"),
    (
        ENCODER,
        "four gradient scores",
        "faithlib",
        3.5,
        "captum, batched, a run a score, norms over the width",
    ),
    (ENCODER, "IG 20 ±", "faithlib", 1.8, "captum, defaults, a run a score"),
    (ENCODER, "IG 20 ±", "faithlib", 1.8, "captum, batched, a run a score"),
    (LLAMA, "leave-one-out ±", "faithlib", 4.5, "inseq, defaults"),
    (LLAMA, "leave-one-out ±", "faithlib", 4.5, BEST),
    (LLAMA, "IG 50", "faithlib", 1.4, "inseq, defaults"),
    (LLAMA, "IG 50", "faithlib", 1.4, BEST),
    (LLAMA, "LIME 100", "faithlib", 3, "inseq, defaults"),
    (LLAMA, "LIME 100", "faithlib", 3, BEST),
    (ENCODER, "leave-one-out ±", HALF, 2.4, BEST),
    (ENCODER, "leave-one-out ±", HALF, 1, BEST_HALF),
    (ENCODER, "LIME 100", HALF, 2.2, "faithlib"),
]
PRECISION = {"soft_ns": 2.2, "soft_nc": 2.2, "fine_tuning": 1.6}  # of MiniLM, times our float32
ONE_HOT, PROJECTED = "one-hot input", "gradient times embedding table"
OTHERS = [  # file, rows, column, relation, target, what
    ("study", "what == 'whole study'", "ratio", "≤", 1.1, "a whole study, × its distinct passes"),
    ("study", "what == 'metrics'", "ratio", "≤", 1.1, "metrics of a study, × their distinct passes"),
    ("study_captum", "implementation.str.endswith('batched')", "ratio_to_ours", "≥", 1.5,
     "a first study, captum and a batched loop, × our seconds"),
    ("study_captum", "implementation.str.endswith('batched')", "ratio_to_half", "≥", 2.5,
     "a first study, captum and a batched loop, × ours in bfloat16"),
    ("estimate", "median > 0", "median", "≤", 1.3, "the line before a study, times off, median of six"),
    ("quick", "units > 0", "cpu_seconds", "≤", 420, "`make results`, CPU seconds"),
    ("quick", "units > 0", "wall_seconds", "≤", 240, "`make results`, seconds"),
    ("quick", "units > 0", "peak_mib_of_a_process", "≤", 2048, "`make results`, MiB of a process"),
    ("roar", "processes == 2", "ratio_to_best_packed", "≥", 1.8, "ROAR, two processes, × packed in a loop"),
    ("roar", "processes == 2", "ratio_to_best_loop", "≥", 1.8, "ROAR, two processes, × padded in a loop"),
    ("noiser", "implementation == 'faithlib'", "ratio_to_loop", "≥", 4, "Noiser, × the loop"),
    ("masf", "reference == reference.max() and way == 'sort and search'", "times_as_fast", "≥", 50,
     "MaSF, × all pairs, sorting included"),
    ("masf", "reference == reference.max() and way == 'search'", "times_as_fast", "≥", 50,
     "MaSF, × all pairs, of a further test set"),
    ("memory", "implementation == @ONE_HOT", "ratio_to_ours", "≥", 10, f"Grad L2, {ONE_HOT}, × our memory"),
    ("memory", "implementation == @PROJECTED", "ratio_to_ours", "≥", 10,
     f"Grad L2, {PROJECTED}, × our memory"),
    ("memory", "method == 'leave-one-out ±' and examples == 8", "mib_total", "≤", 2048,
     "leave-one-out, 8 texts of 512 tokens, MiB"),
    ("memory", "model.str.contains('1B') and implementation != 'faithlib'", "mib_above_loaded", "≤", 1024,
     "leave-one-out, 1,000 tokens, Llama of 10⁹ weights, with a budget, MiB above the weights"),
]  # fmt: skip
# Half precision is used for committed results where scores correlate at least so well, a mean moves by at
# most so many standard errors, and the test accuracy of models that were trained in it by at most so many.
CORRELATION, OF_MEAN, OF_TRAINING = 0.98, 0.2, 1
SAME = 0.02  # up to this largest difference scores are the same but for quadrature and rounding
TABLES = {  # mark -> what is in its place, from {name of a file: its table}
    "speed": lambda files: compact(files["attributions"]),
    "half": lambda files: halves(files["attributions"]),
    "precision": lambda files: files["precision"].query("dtype != 'float32'"),
    "rule": lambda files: rule(files["precision"]),
    "study": lambda files: files["study"],
    "study_captum": lambda files: files["study_captum"],
    "estimate": lambda files: files["estimate"],
    "memory": lambda files: files["memory"],
    "roar": lambda files: files["roar"],
    "noiser": lambda files: files["noiser"],
    "masf": lambda files: files["masf"],
    "quick": lambda files: files["quick"],
    "targets": lambda files: targets(files),
}


def page(text, files):
    """A page with its tables drawn anew; a table whose file is missing is "Not measured yet."."""
    for name, table in TABLES.items():
        try:
            drawn = as_markdown(table(files))
        except KeyError as missing:
            if missing.args[0] not in (*TABLES, "attributions"):
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
    for model, method, implementation, least, other in TARGETS:
        part = speed.query("model == @model and method == @method").set_index("implementation")
        name = fastest(part, other == BEST_HALF) if other in (BEST, BEST_HALF) else other
        both = {implementation, name} <= set(part.index)
        value = part.ratio_to_ours[implementation] / part.ratio_to_ours[name] if both else np.nan
        half = ", bfloat16" if implementation == HALF else ""
        rows.append((f"{model}, {method}{half}, × {other}", "≥", least, value))
    precision = files.get("precision", pd.DataFrame(columns=["model", "method", "dtype", "ratio"]))
    for method, least in PRECISION.items():
        part = precision.query("model.str.endswith(@ENCODER) and method == @method and dtype != 'float32'")
        rows.append((f"{ENCODER}, {method}, bfloat16, × float32", "≥", least, part.ratio.min()))
    for name, which, column, relation, target, what in OTHERS:
        part = files[name].query(which)[column] if name in files else pd.Series(dtype=float)
        rows.append((what, relation, target, part.max() if relation == "≤" else part.min()))
    frame = pd.DataFrame(rows, columns=["what", "relation", "target", "measured"])
    met = np.where(frame.relation == "≥", frame.measured >= frame.target, frame.measured <= frame.target)
    said = np.where(frame.measured.isna(), "not measured", np.where(met, "yes", "**no**"))
    frame["target"] = frame.pop("relation") + " " + frame.target.map("{:,.4g}".format)
    shown = frame.measured.map("{:,.4g}".format).where(frame.measured.notna(), "")
    return frame.assign(measured=shown, met=said)


def peers(part, half=False):
    """The rows of one method, by implementation, that are peers', in float32 or in bfloat16."""
    peer = ~part.index.str.startswith(("bound", "faithlib"))
    return part[peer & (part.index.str.contains("bfloat16|autocast") == half)]


def fastest(part, half=False):
    """Of the rows of one method, by implementation, the fastest peer that gives the same scores, or None.

    In bfloat16 no scores are the same: there it is the fastest.
    """
    found = peers(part, half)
    same = found if half else found[~(found.largest_difference > SAME)]
    return same.ratio_to_ours.idxmax() if same.ratio_to_ours.notna().any() else None


def compact(speed):
    """One row a method: faithlib's speed beside the bound, peers at their defaults, and the fastest peer."""
    rows = []
    for (model, method), part in _methods(speed):
        default = [1 / r for name, r in peers(part).ratio_to_ours.items() if ", defaults" in name]
        best = fastest(part)
        rows.append(
            {
                "model": model,
                "method": method,
                _rate(speed).replace("_", " "): part[_rate(speed)]["faithlib"],
                "of the bound": part.ratio_to_bound["faithlib"],
                "× peer at its defaults": default[0] if default else None,
                "× fastest peer": 1 / part.ratio_to_ours[best] if best else None,
                "which": best,
            }
        )
    return pd.DataFrame(rows)


def halves(speed):
    """The rows in bfloat16, under autocast and compiled: speed beside faithlib's in float32."""
    chosen = speed[speed.implementation.str.contains("bfloat16|autocast|compiled")]
    if chosen.empty:
        raise KeyError("attributions")
    columns = {_rate(speed): _rate(speed).replace("_", " "), "ratio_to_ours": "× faithlib in float32"}
    columns |= {"correlation": "correlation of scores", "note": "note"}
    columns = {name: shown for name, shown in columns.items() if name in speed}
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
    """The table as Markdown: three digits, nothing where there is no value."""

    def shown(value):
        if isinstance(value, float):
            return "" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return "" if value is None else str(value)

    return markdown.table(list(table), [map(shown, row) for row in table.values])


def main():
    path = project_root() / "benchmarks" / "README.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(page(text, read(project_root() / "results" / "benchmarks")), encoding="utf-8")


if __name__ == "__main__":
    main()
