"""Records and values of recursive_roar made by hand, whose every comparison is decided in advance."""

import numpy as np
import pandas as pd

STEPS = np.arange(0, 101, 10)
LINE = 1 - STEPS / 200  # random: from 1 to ½, evenly
DROP = np.where(STEPS > 0, 0.5, 1.0)  # at the end at once
RISE = np.where(STEPS == 60, 0.9, LINE)  # below the line before and after, and a jump at 60 %


def curve(
    shape, measure, recursive=True, dataset="babi_1", seed=0, metric="accuracy", model="bilstm", variant=""
):
    jobs = ["unmasked", *(f"{measure}.{recursive}.{s}" for s in STEPS[1:-1]), "all-masked"]
    return pd.DataFrame(
        {
            "dataset": dataset, "model": f"folder/{model}", "seed": seed, "variant": variant,
            "measure": measure, "recursive": recursive, "by": "ratio", "step": STEPS, "job": jobs,
            "metric": metric, "value": shape, "epochs": 8.0, "best_epoch": 5.0 + seed,
            "masked_tokens": STEPS * 10, "new_tokens": 10, "unchanged_texts": 0, "classes_predicted": 6,
        }
    )  # fmt: skip


def record(dataset="babi_1", seed=0, model="bilstm", variant=""):
    jobs = {f"{m}.True.{s}": [60.0, 30.0] for m in ("random", "attention") for s in STEPS[1:-1]}
    return {
        "unit": f"{dataset}.{model}.s{seed}",
        "params": {"task": dataset, "model": f"folder/{model}", "seed": seed, "variant": variant},
        "metrics": [{"metric": "majority", "split": "test", "value": 0.2, "n": 10}],
        "volatile": {"seconds_of_models": jobs},
    }
