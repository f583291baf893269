"""The tables that readers see, as Markdown: speed in brief, peak memory, targets and whether they are met.

python -m benchmarks.tables     of the last results, nothing is measured
"""

import pandas as pd

from faithlib.results import project_root

ENCODER, LLAMA = "all-MiniLM-L6-v2", "random Llama, 4 layers, 256 wide"
BEST = "the fastest peer"
TARGETS = [  # model, method, implementation, so many times its speed at least
    (ENCODER, "x⊙grad", "bound", 0.9),
    (ENCODER, "leave-one-out ±", "bound", 0.9),
    (ENCODER, "leave-one-out ±", "captum, defaults", 2),
    (ENCODER, "four gradient scores", "captum, defaults, a run a score", 3.5),
    (ENCODER, "four gradient scores", "captum, batched, a run a score", 3.5),
    (ENCODER, "four gradient scores", "captum, batched, a run a score, norms over the width", 3.5),
    (ENCODER, "IG 20 ±", "captum, defaults, a run a score", 1.8),
    (ENCODER, "IG 20 ±", "captum, batched, a run a score", 1.8),
    (LLAMA, "leave-one-out ±", "inseq, defaults", 4.5),
    (LLAMA, "leave-one-out ±", BEST, 4.5),
    (LLAMA, "IG 50", "inseq, defaults", 1.4),
    (LLAMA, "IG 50", BEST, 1.4),
    (LLAMA, "LIME 100", "inseq, defaults", 3),
    (LLAMA, "LIME 100", BEST, 3),
]
STRAIGHTFORWARD = ("one-hot input", "gradient times embedding table")  # ways to Grad L2 over the vocabulary
SAME = 0.02  # up to this largest difference scores are the same but for quadrature and rounding


def page(speed, held):
    """All tables, as text."""
    return "\n\n".join(markdown(t) for t in (compact(speed), held, targets(speed, held)) if len(t))


def targets(speed, held):
    """What was aimed at, what was measured, whether it is met: reported, never asserted."""
    rows = []
    for model, method, implementation, least in TARGETS:
        ratios = speed.query("model == @model and method == @method").set_index("implementation")
        name = fastest(ratios) if implementation == BEST else implementation
        value = 1 / ratios.ratio_to_ours[name] if name in ratios.index else None
        rows.append((f"{model}, {method}", f"≥ {least} × {implementation}", value, value and value >= least))
    value = held.set_index(["method", "implementation"])
    for implementation in STRAIGHTFORWARD if len(held) else ():
        ratio = value.ratio_to_ours["Grad L2", implementation]
        rows.append(
            (f"memory, {value.model.iloc[0]}, Grad L2", f"≤ 1/10 of {implementation}", 1 / ratio, ratio >= 10)
        )
    if len(held):
        gib = value.mib_total["leave-one-out ±", "faithlib"] / 1024
        rows.append(("memory, leave-one-out, 8 texts of 512 tokens", "≤ 2 GiB", gib, gib <= 2))
    frame = pd.DataFrame(rows, columns=["what", "target", "measured", "met"])
    frame["met"] = frame.met.map({True: "yes", False: "**no**"}).fillna("not measured")
    return frame


def peers(part):
    """The rows of one method, by implementation, that are peers'."""
    return part[~part.index.str.startswith(("bound", "faithlib"))]


def fastest(part):
    """Of the rows of one method, by implementation, the fastest peer that gives the same scores, or None."""
    same = peers(part)[~(peers(part).largest_difference > SAME)]
    return same.ratio_to_ours.idxmax() if len(same) else None


def compact(speed):
    """One row a method: faithlib's speed beside the bound, peers at their defaults, and the fastest peer."""
    (rate,) = (column for column in speed if column.startswith("sequences_per"))
    rows = []
    for (model, method), part in speed.groupby(["model", "method"], sort=False):
        part = part.set_index("implementation")
        default = [1 / r for name, r in peers(part).ratio_to_ours.items() if ", defaults" in name]
        best = fastest(part)
        rows.append(
            {
                "model": model,
                "method": method,
                rate.replace("_", " "): part[rate]["faithlib"],
                "of the bound": part.ratio_to_bound["faithlib"],
                "× peer at its defaults": default[0] if default else None,
                "× fastest peer": 1 / part.ratio_to_ours[best] if best else None,
                "which": best,
            }
        )
    return pd.DataFrame(rows)


def markdown(table):
    """The table as Markdown: three digits, nothing where there is no value."""

    def shown(value):
        if isinstance(value, float):
            return "" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return "" if value is None else str(value)

    lines = [list(table), ["---"] * len(table.columns), *([shown(v) for v in row] for row in table.values)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    folder = project_root() / "results" / "benchmarks"
    print(page(pd.read_csv(folder / "attributions.csv"), pd.read_csv(folder / "memory.csv")))
