"""Records and values of attributions made by hand, whose every comparison is decided in advance."""

import numpy as np
import pandas as pd

N = 20
LEVEL = {"auprc": 0.3, "precision": 0.25, "first_hit": 3.0}  # of a random order


def unit(dataset="sentiment", seed=0, model="org/tiny", **gains):
    """Values of one unit: `gains` is what an attribution's AUPRC has beyond a random order's, (N,)."""
    parts = []
    for name, gain in gains.items():
        for metric, level in LEVEL.items():
            shift = gain if metric != "first_hit" else -gain
            parts.append(
                pd.DataFrame(
                    {
                        "example": np.arange(N), "attribution": name, "metric": metric,
                        "value": level + shift, "chance": level, "right": np.arange(N) > 4,
                    }
                )
            )  # fmt: skip
    gap = pd.DataFrame(
        {
            "example": np.arange(N), "attribution": "integrated_gradients", "metric": "completeness_gap",
            "value": 9.0, "right": True,
        }
    )  # fmt: skip
    return pd.concat([*parts, gap], ignore_index=True).assign(dataset=dataset, seed=seed, model=model)


SPREAD = np.linspace(0.1, 0.3, N)  # mean 0.2
AROUND = np.linspace(-0.1, 0.1, N)  # mean 0
