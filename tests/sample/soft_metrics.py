"""Records and values of soft_metrics made by hand, whose every comparison is decided in advance."""

import numpy as np
import pandas as pd

from notebooks.soft_metrics import figures, sensitivity, tables

N = 20
DRAWS, NOISE = 4, 1.0
RATIOS = (0.01, 0.05, 0.1, 0.2, 0.5)
# wins and ties out of N against the normal baseline; against the matched one, wins are fewer
WINS = {
    "NS": {"attention": (6, 2), "deeplift": (8, 0)},
    "NC": {"attention": (8, 0), "deeplift": (12, 4)},
    "Soft-NS": {"attention": (14, 0), "deeplift": (14, 0)},
    "Soft-NC": {"attention": (18, 0), "deeplift": (18, 0)},
}
MATCHED = {"NS": 0, "NC": 0, "Soft-NS": 6, "Soft-NC": 8}  # wins lost against the matched baseline


def rows(metric, attribution, baseline, draw, values, definition="paper"):
    """Values of one metric as a record holds them; hard ones at 5 ratios that average to them.

    A soft metric of one draw is lower by NOISE, so that the attribution loses every comparison.
    """
    soft = metric.startswith("Soft")
    spread = {np.nan: 0.0} if soft else dict(zip(RATIOS, (-0.2, -0.1, 0, 0.1, 0.2), strict=True))
    if not soft and definition == "paper":
        spread[0.3] = 50.0  # a ratio of Figures 2 and 3 that is no part of the AOPC
    return [
        pd.DataFrame(
            {
                "example": np.arange(len(values), dtype=np.int32), "attribution": attribution,
                "baseline": baseline, "draw": np.int16(draw), "definition": definition,
                "perturbation": "bernoulli" if soft else "hard", "metric": metric,
                "ratio": np.float32(ratio), "draws": np.int16(n if soft else 0),
                "raw": np.float32(values + shift - NOISE * (n < DRAWS) * (baseline == "") * soft),
                "denominator": np.float32(1), "option": "", "correct": True,
                "varied": np.arange(len(values)) < N // 2,
            }
        )
        for ratio, shift in spread.items()
        for n in ((1, DRAWS) if soft else (0,))
    ]  # fmt: skip


def unit(dataset="sst", seed=0, definition="paper", model="org/tiny"):
    parts = []
    for metric, by_attribution in WINS.items():
        for draw in (0, 1):  # two draws of the random attribution, alike
            parts += rows(metric, "random", "normal", draw, np.full(N, 0.5), definition)
        for attribution, (wins, ties) in by_attribution.items():
            values = np.full(N, 0.4)
            values[:wins] = 0.6
            values[wins : wins + ties] = 0.5 + 4e-7  # ties up to 1e-6
            parts += rows(metric, attribution, "", 0, values, definition)
            against = np.where(np.arange(N) < wins - MATCHED[metric], 0.3, 0.7)
            parts += rows(metric, attribution, "matched", 0, against, definition)
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(dataset=dataset, seed=seed, model=model)


def record(task, model, seed, accuracy):
    metrics = [
        {"metric": name, "split": "test", "value": accuracy, "n": 1821}
        for name in ("accuracy", "macro_f1", "loss")
    ]
    return {
        "unit": f"{task}.{model}.s{seed}",
        "metrics": metrics,
        "params": {"task": task, "model": model, "seed": seed},
        "provenance": {"data": {"rows": {"train": 6920, "validation": 872, "test": 1821}}},
        "excluded": [{"split": "test", "what": "text cut", "why": "too long", "n": 3 * seed}],
    }


def draw(name, values, diagnostic, scale="quick"):
    if name == "faithfulness_by_ratio":
        return figures.faithfulness_by_ratio(tables.faithfulness_by_ratio(values), scale)
    if name == "diagnosticity_by_ratio":
        by_ratio = tables.diagnosticity_by_ratio(tables.preferences(tables.at_ratios(values)))
        return figures.diagnosticity_by_ratio(by_ratio, scale)
    if name == "soft_draws":
        return figures.soft_draws(sensitivity.soft_draws(values), scale)
    return figures.hard_and_soft(diagnostic, scale)
