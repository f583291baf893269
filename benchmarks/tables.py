"""The tables that readers see: the targets and whether they are met, speed in brief, both as Markdown."""

import pandas as pd

ENCODER, LLAMA = "all-MiniLM-L6-v2", "random Llama, 4 layers, 256 wide"
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
    (LLAMA, "leave-one-out ±", "inseq, 32 at a time", 4.5),
    (LLAMA, "IG 50", "inseq, defaults", 1.4),
    (LLAMA, "IG 50", "inseq, 25 at a time, 8 generated", 1.4),
    (LLAMA, "LIME 100", "inseq, defaults", 3),
    (LLAMA, "LIME 100", "inseq, 32 at a time", 3),
]
STRAIGHTFORWARD = ("one-hot input", "gradient times embedding table")  # ways to Grad L2 over the vocabulary
SAME = 0.02  # up to this largest difference scores are the same but for quadrature and rounding


def targets(speed, held):
    """What was aimed at, what was measured, whether it is met: reported, never asserted."""
    rows = []
    for model, method, implementation, least in TARGETS:
        found = speed.query("model == @model and method == @method and implementation == @implementation")
        value = 1 / found.ratio_to_ours.item() if len(found) else None
        rows.append((f"{model}, {method}", f"≥ {least} × {implementation}", value, value and value >= least))
    value = held.set_index(["method", "implementation"])
    for implementation in STRAIGHTFORWARD if len(held) else ():
        ratio = value.ratio_to_ours["Grad L2", implementation]
        rows.append((f"memory, {value.model.iloc[0]}, Grad L2", f"≤ 1/10 of {implementation}", 1 / ratio,
                     ratio >= 10))
    if len(held):
        gib = value.mib_total["leave-one-out ±", "faithlib"] / 1024
        rows.append(("memory, leave-one-out, 8 texts of 512 tokens", "≤ 2 GiB", gib, gib <= 2))
    frame = pd.DataFrame(rows, columns=["what", "target", "measured", "met"])
    frame["met"] = frame.met.map({True: "yes", False: "**no**"}).fillna("not measured")
    return frame


def compact(speed):
    """One row a method: faithlib's speed beside the bound, peers at their defaults, and the fastest peer.

    The fastest is taken among the peers that give the same scores.
    """
    (rate,) = (column for column in speed if column.startswith("sequences_per"))
    rows = []
    for (model, method), part in speed.groupby(["model", "method"], sort=False):
        part = part.set_index("implementation")
        peers = part.drop(["bound", "faithlib"])
        same = peers[~(peers.largest_difference > SAME)]
        default = [1 / r for name, r in peers.ratio_to_ours.items() if name.split(", ")[1] == "defaults"]
        fastest = same.ratio_to_ours.idxmax() if len(same) else None
        rows.append({
            "model": model, "method": method, rate.replace("_", " "): part[rate]["faithlib"],
            "of the bound": part.ratio_to_bound["faithlib"],
            "× peer at its defaults": default[0] if default else None,
            "× fastest peer": 1 / same.ratio_to_ours[fastest] if len(same) else None,
            "which": fastest})
    return pd.DataFrame(rows)


def markdown(table):
    """The table as Markdown: three digits, nothing where there is no value."""
    def shown(value):
        if isinstance(value, float):
            return "" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return "" if value is None else str(value)

    lines = [list(table), ["---"] * len(table.columns), *([shown(v) for v in row] for row in table.values)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
