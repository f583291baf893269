"""Counts of metrics as units of the study of metrics record them, made by hand."""

import numpy as np
import pandas as pd

from notebooks.ground_truth.card import PRIMARY

PAIRS = 100


def counts(model="tiny-bert", seed=10, classes=3, masking="none", mechanisms=PRIMARY, variant="", **right):
    """A unit: {metric: pairs of PAIRS that it tells right}, or (right, ties, invariant of 100)."""
    rows = []
    for mechanism in mechanisms:
        for metric, found in right.items():
            hits, ties, invariant = found if isinstance(found, tuple) else (found, 0, PAIRS)
            for ladder in (*PRIMARY.get(mechanism, ("fifths",)), "null flat", "decoy"):
                rows.append(
                    {
                        "mechanism": mechanism,
                        "metric": metric,
                        "ladder": ladder,
                        "pairs": PAIRS,
                        "right": hits,
                    }
                    | {"ties": ties, "void": 0, "decided": 100, "invariant": invariant, "texts": 20}
                )
    unit = {"dataset": "planted", "model": model, "seed": seed, "classes": classes, "masking": masking}
    unit["variant"] = variant
    return pd.DataFrame(rows).assign(**unit)


def means(seed=10, model="tiny-bert", turned=()):
    """Means of three attributions by three metrics that agree, those of `turned` in the other order."""
    rows = [
        (mechanism, name, metric, (-1 if metric in turned else 1) * (i + 0.01 * seed), 20)
        for mechanism in ("one_word", "xor")
        for metric in ("ns", "nc", "soft_nc", "auprc", "precision", "mean_rank")
        for i, name in enumerate(("random_uniform", "lime", "gradient_l2"))
    ]
    table = pd.DataFrame(rows, columns=["mechanism", "attribution", "metric", "value", "n"])
    return table.assign(dataset="planted", model=model, seed=seed, classes=3, masking="none")


def several(rng=None, variant="", **right):
    """Ten models whose counts vary by a few pairs around those given."""
    rng = rng or np.random.default_rng(0)
    return pd.concat(
        [
            counts(seed=seed, variant=variant, **{m: int(n + rng.integers(-2, 3)) for m, n in right.items()})
            for seed in range(10, 20)
        ],
        ignore_index=True,
    )
