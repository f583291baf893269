"""RACU by recursive masking of a model trained with masks (Madsen et al. 2024, section 3.4), and MaSF.

Where MaSF says that masked texts are not in the model's distribution, RACU means nothing.
"""

import numpy as np

from faithlib.metrics import curves, masf, recursion
from faithlib.scores import mask
from faithlib.training import minibatches

DRAWS = 8  # random orders that the baseline's curve is the mean of
LEAST = 40  # texts of the reference, for p-values below REJECTED
REJECTED = 0.05


def reference(model, encodings, masking, seed=0):
    """MaSF of texts that are masked as they were in training: see `masf.fit`, "calibrated".

    encodings: LEAST texts of the validation split at least; masking: "half" or "all"; seed: of the masks.
    """
    generator = np.random.default_rng([seed, minibatches.VALIDATION])
    calibration = masf.signals(model, minibatches.masked(model, encodings, generator, masking))
    return masf.fit(calibration, "calibrated", REJECTED, seed)


def masked_metrics(inputs, labels, calibration, scores_of, families, once=()):
    """RACU and MaSF of attributions, by masking the most important tokens of a model trained with masks.

    - masked_racu: RACU of the accuracy; `recursion.recursive_masking` asks for scores again at every level.
    - masf: the share of masking levels at which MaSF rejects that the text is in the model's distribution.

    Args:
        inputs: `metrics.inputs.Inputs` of a classifier; labels: (examples,) int.
        calibration: the `reference`; scores_of, families, once: as of `recursion.recursive_masking`.

    Returns:
        {attribution: (RACU, NaN where the random curve falls by less than `curves.FLAT`; (examples,) share of
        masking levels below 100 % with p < REJECTED)}.
    """
    model, encodings, seed = inputs.model, inputs.encodings, inputs.seed
    masked_levels = recursion.recursive_masking(
        model, encodings, scores_of, families, recursion.RATIOS, once, seed
    )
    drawn = recursion.random_masking(model, encodings, recursion.RATIOS, seed, DRAWS)
    names = [name for family in families for name in family]
    masked_at = {name: masked_levels[name] for name in names} | {k: draw for k, draw in enumerate(drawn)}
    table, _ = recursion.performance(model, encodings, labels, masked_at, recursion.RATIOS, inputs.cache)
    accuracy = table[table.metric == "accuracy"].pivot(index="measure", columns="step", values="value")
    share, random = accuracy.columns.to_numpy() / 100, accuracy.loc[list(range(DRAWS))].mean().to_numpy()
    flat = curves.racu_denominator(share, random) < curves.FLAT
    result = {}
    for name in names:
        area = np.nan if flat else float(curves.racu(share, accuracy.loc[name].to_numpy(), random))
        masks = [[at <= ratio for at in masked_levels[name]] for ratio in recursion.RATIOS if ratio < 100]
        levels = [mask(encodings, of_level, model.mask_id) for of_level in masks]
        p = np.array([calibration.p_values(masf.signals(model, masked)) for masked in levels])
        result[name] = area, (p < REJECTED).mean(0)
    return result
