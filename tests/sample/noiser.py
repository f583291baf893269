"""Records and values of noiser made by hand, whose every comparison is decided in advance."""

import numpy as np
import pandas as pd

from faithlib.metrics.plausibility import chance

N = 40
# means of Soft-NS and Soft-NC, and of the same scores in random order
SOFT = {
    ("attention", ""): (0.2, 0.2, 0.2, 0.2), ("leave_one_out", ""): (0.4, 0.3, 0.3, 0.2),
    ("noiser", "l2"): (0.3, 0.6, 0.3, 0.5), ("noiser", "k_min"): (0.4, 0.8, 0.2, 0.4),
}  # fmt: skip
RANDOM = (0.2, 0.1)
# share of prompts answered with the first answer, and mass of the words shown
JUDGED = {"leave_one_out": (0.8, 0.6), "noiser": (0.7, 0.95), "attention": (0.3, 0.5), "random": (0.25, 0.6)}


def soft(dataset="world_facts", model="folder/tiny", seed=0, definition="paper", normalisation="none"):
    """Values that vary evenly around the means, each prompt a fact."""
    spread, rows = np.linspace(-0.1, 0.1, N), []

    def add(attribution, setting, baseline, ns, nc):
        names = {"attribution": attribution, "setting": setting, "baseline": baseline}
        measured = {
            "soft_ns": ns + spread,
            "soft_ns_of_mean": ns + spread - 0.01,
            "soft_nc": nc + spread[::-1],
        }
        prompts = {"example": np.arange(N), "step": 0, "fact": np.arange(N), "denominator": 0.5}
        rows.append(pd.DataFrame(prompts | names | measured))

    for (attribution, setting), (ns, nc, own_ns, own_nc) in SOFT.items():
        add(attribution, setting, "", ns, nc)
        add(attribution, setting, "matched", own_ns, own_nc)
    add("random", "", "random", *RANDOM)
    how = {"definition": definition, "normalisation": normalisation}
    return pd.concat(rows, ignore_index=True).assign(dataset=dataset, model=model, seed=seed, **how)


def judged(dataset="world_facts", seed=0):
    """Right first answers for the first prompts of each attribution, right fifth ones for 10 % more."""
    rows = []
    for name, (rate, mass) in JUDGED.items():
        for baseline, less in (("", 0), ("matched", 0.2)):
            right = np.arange(N) < (rate - less) * N
            later = np.arange(N) < (rate - less + 0.1) * N
            rows.append(
                pd.DataFrame(
                    {
                        "judge": "other", "baseline": baseline, "example": np.arange(N), "shown": 3,
                        "attribution": name, "place": np.select([right, later], [1, 5], 0), "mass": mass,
                    }
                )
            )  # fmt: skip
    return pd.concat(rows, ignore_index=True).assign(dataset=dataset, model="folder/tiny", seed=seed)


def needed(dataset="world_facts", seed=0):
    frame = judged(dataset, seed).drop(columns=["shown", "place", "mass"])
    share = frame.attribution.map({"leave_one_out": 0.2, "noiser": 0.3}).fillna(0.6)
    return frame.assign(share=np.where(frame.example < N - 4, share, np.nan), words=6, calls=4)


def part_shares(dataset="world_agreement", seed=0):
    rows = [
        (i, name, part, share, level)
        for i in range(N)
        for name, of in (("noiser", (0.4, 0.1)), ("leave_one_out", (0.3, 0.3)))
        for part, share, level in zip(("subject", "distractor"), of, (0.1, 0.35), strict=True)
    ]
    return pd.DataFrame(rows, columns=["example", "attribution", "part", "share", "chance"]).assign(
        dataset=dataset, model="folder/tiny", seed=seed
    )


def agreement(dataset="world_facts", seed=0):
    level = chance(8, 2)
    rows = [
        (i, name, metric, value, level[metric])
        for i in range(N)
        for name, shift in (("noiser", 0.3), ("attention", 0.0))
        for metric, value in (
            ("auprc", level["auprc"] + shift + 0.001 * i),
            ("precision", 0.5),
            ("first_hit", 1.5),
        )
    ]
    return pd.DataFrame(rows, columns=["example", "attribution", "metric", "value", "chance"]).assign(
        dataset=dataset, model="folder/tiny", seed=seed
    )


def record(dataset="world_facts", model="folder/tiny", seed=0):
    rows = [
        {"metric": "prompts", "stage": "all", "value": 100},
        {"metric": "prompts", "stage": "kept", "value": 90},
        {"metric": "k", "setting": "k_min", "value": 0.2, "n": N},
        {"metric": "flipped", "setting": "k_min", "value": 0.95, "n": N},
    ]
    return {
        "unit": f"{dataset}.tiny.s{seed}", "metrics": rows, "files": {},
        "params": {"task": dataset, "model": model, "seed": seed},
    }  # fmt: skip
