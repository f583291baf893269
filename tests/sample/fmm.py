"""Records and values of fmm made by hand, whose every comparison is decided in advance."""

import numpy as np
import pandas as pd

from notebooks.fmm import tables
from notebooks.fmm.card import CARD

STEPS = np.arange(0, 101, 10)
LINE = 1 - STEPS / 200  # random: from 1 to ½, evenly
DROP = np.where(STEPS > 0, 0.5, 1.0)  # at the end at once: RACU 0.9, ACU 0.225
MASKED, PLAIN = tables.MASKED, tables.PLAIN
LEVEL = {
    "gradient_l2": 0.4,
    "gradient_l1": 0.4,
    "input_x_gradient": -0.2,
    "input_x_gradient_abs": 0.2,
    "integrated_gradients": 0.6,
    "integrated_gradients_abs": 0.4,
    "leave_one_out": 1.0,
    "leave_one_out_abs": 0.5,
    "beam": 1.1,
}  # how far each measure is from LINE (0) to DROP (1)
UNITS = [(dataset, seed) for dataset in ("sst2", "cola", "whereabouts_2") for seed in (0, 1)]


def curves_of(dataset="sst2", seed=0, model="folder/MiniLM"):
    parts, metric = [], CARD.metric(dataset)
    for strategy in (MASKED, PLAIN):
        for measure, level in (("random", 0), *LEVEL.items()):
            value = LINE + level * (DROP - LINE) + 0.01 * seed * (measure == "beam") * (STEPS == 50)
            parts += [
                pd.DataFrame(
                    {
                        "strategy": strategy, "measure": measure, "step": STEPS, "metric": name, "value": v,
                        "masked_tokens": STEPS * 10, "unchanged_texts": 0,
                    }
                )
                for name, v in ((metric, value), ("loss", 0 * value))
            ]  # fmt: skip
    return pd.concat(parts, ignore_index=True).assign(
        option="main", dataset=dataset, model=model, seed=seed, variant=""
    )


def option_of(values, option="released", level=1.2):
    """Curves with another option: integrated gradients that are further from LINE, all else as it was."""
    ig = values[(values.measure == "integrated_gradients") & (values.strategy == MASKED)]
    line = LINE[ig.step.to_numpy() // 10]
    return ig.assign(option=option, value=line + level / LEVEL["integrated_gradients"] * (ig.value - line))


def predictions_of(dataset="sst2", seed=0, model="folder/MiniLM"):
    """Ten texts, eight of them correct at first; random loses one more in each draw, Beam five at 10 %."""
    label, rows = np.arange(10) % 2, []
    for measure, wrong in (("random 1", 0), ("random 2", 1), ("beam", 5)):
        for step in STEPS:
            right = (np.arange(10) >= 2 + (wrong if step else 0)) if step < 100 else label == 0
            about = {"measure": measure, "step": step, "example": np.arange(10), "label": label}
            rows.append(pd.DataFrame(about | {"predicted": np.where(right, label, 1 - label)}))
    return pd.concat(rows, ignore_index=True).assign(
        strategy=MASKED, option="main", dataset=dataset, model=model, seed=seed
    )


def draws_of(dataset="sst2", seed=0, model="folder/MiniLM"):
    """The random curve is LINE with two draws, and a tenth higher with one."""
    parts = [
        pd.DataFrame({"draws": n, "step": STEPS, "value": LINE + 0.1 * (n == 1) + 0.01 * seed})
        for n in (1, 2)
    ]
    return pd.concat(parts).assign(
        metric=CARD.metric(dataset), strategy=MASKED, dataset=dataset, model=model, seed=seed
    )


def record(dataset="sst2", seed=0, converged=True):
    metric = CARD.metric(dataset)
    rows = [{"metric": "majority", "split": "test", "value": 0.5, "n": 100}]
    for strategy, values in ((MASKED, (0.9, 0.5)), (PLAIN, (0.91, 0.4)), ("all/masked", (0.8, 0.5))):
        about = {"split": "test", "n": 100, "strategy": strategy}
        rows += [
            about | {"metric": metric, "value": values[0] + 0.01 * seed, "masked": 0},
            about | {"metric": metric, "value": values[1], "masked": 100},
            about | {"metric": "balanced_accuracy", "value": values[0], "masked": 0},
            about | {"metric": "collapsed", "value": float(strategy == PLAIN and seed == 1), "masked": 0},
            {"metric": "converged", "strategy": strategy, "value": int(converged)},
        ]
    times = {"fine_tuning": 60.0, "masf": 30.0, "leave_one_out": 90.0 + 60 * seed, "random": 0.0}
    return {
        "unit": f"{dataset}.MiniLM.s{seed}",
        "metrics": rows,
        "files": {},
        "params": {"task": dataset, "model": "folder/MiniLM", "seed": seed},
        "volatile": {"seconds_of_measures": {MASKED: times, PLAIN: {"fine_tuning": 60.0}}},
    }


def masf_of(dataset="sst2", seed=0):
    """In distribution with masked fine-tuning, but for one test of 20; out of it without."""
    rows = []
    for strategy in (MASKED, PLAIN):
        for definition in tables.DEFINITIONS:
            about = {"strategy": strategy, "definition": definition, "n": 100}
            control = {"measure": "validation", "ratio": 0, "share_below_05": 0.05, "p_fisher": 0.3}
            rows.append(about | control | {"p": 0.0 if definition == "released" else 0.5})
            for measure in ("random", "leave_one_out"):
                for ratio in STEPS:
                    amiss = strategy == PLAIN or (measure, ratio) == ("random", 100)
                    p = 0.01 if amiss and ratio else 0.4 + 0.1 * seed + 0.002 * ratio
                    point = {"measure": measure, "ratio": ratio, "share_below_05": 0.1}
                    rows.append(about | point | {"p": p, "p_fisher": 0.6 if ratio < 50 else 0.02})
    return pd.DataFrame(rows).assign(dataset=dataset, model="folder/MiniLM", seed=seed)


def epochs_of(dataset="sst2", seed=0):
    return pd.DataFrame(
        [
            {
                "strategy": strategy, "epoch": epoch, "unmasked": 0.9 - 0.3 / epoch + 0.01 * seed,
                "masked": 0.7 - 0.2 / epoch if strategy == MASKED else np.nan,
            }
            for strategy in (MASKED, PLAIN)
            for epoch in (1, 2, 3)
        ]
    ).assign(dataset=dataset, model="folder/MiniLM", seed=seed)  # fmt: skip


def every(make, units=UNITS):
    return pd.concat([make(*unit) for unit in units], ignore_index=True)
