"""Are the inputs that metrics build in the distribution that a model knows? MaSF of each perturbation."""

import zlib

import numpy as np
import pandas as pd

from faithlib.statistics import stream
from notebooks.ground_truth.measure.explanations import with_order
from notebooks.ground_truth.measure.gates import PERTURBATIONS
from notebooks.ground_truth.measure.protocol import evidence_of, placed

TOP = 0.2  # share of the tokens at the top of the ranking, which are removed or kept
COLUMNS = ["perturbation", "input", "rejected", "n"]
REMOVED, KEPT = "top removed", "top kept"


def of_perturbations(model, rows, validation, masking="none", seed=0):
    """How often MaSF rejects that a perturbed text is in the distribution of a model's texts.

    Every text has an explanation with its evidence first. Under each of `gates.PERTURBATIONS` the top of its
    ranking is removed, or all else; "soft" erases single dimensions of the embeddings, as Soft-NC and Soft-NS
    do; "none" changes nothing, so that REJECTED of these texts are expected to be rejected.

    Args:
        model: a Classifier.
        rows: examples with whole evidence.
        validation: texts like those of training, [str], the reference.
        masking: as in training; with "half" the reference is masked likewise.
        seed: of the explanations, soft draws and the reference.

    Returns:
        DataFrame with COLUMNS: the perturbation, what is left of the text (REMOVED, KEPT or "whole"), the
        share of texts with p < `masked.REJECTED` and their number. No rows for a model without layers of one
        width (a BiLSTM, the compiled model).
    """
    from faithlib.metrics import masf, masked

    encodings = model.encode([row["text"] for row in rows])
    if not _has_layers(model, encodings[:1]):
        return pd.DataFrame(columns=COLUMNS)
    reference = model.encode(validation)
    known = (
        masf.fit(masf.signals(model, reference), "calibrated", masked.REJECTED, seed)
        if masking == "none"
        else masked.reference(model, reference, masking, seed)
    )
    inputs = {("none", "whole"): [(e, None) for e in encodings]}
    for row, e in zip(rows, encodings, strict=True):
        rng, evidence = stream("familiarity", seed, row["text"]), evidence_of(e, row["evidence"])
        scores = placed(e, with_order(np.flatnonzero(evidence), [], len(evidence), rng))
        for key, found in _perturbed(model, e, scores, [seed, zlib.crc32(e.ids.tobytes())]):
            inputs.setdefault(key, []).append(found)
    found = []
    for key, made in inputs.items():
        changed, factors = zip(*made, strict=True)
        factors = factors if any(f is not None for f in factors) else None
        p = known.p_values(masf.signals(model, list(changed), factors=factors))
        found.append((*key, float((p < masked.REJECTED).mean()), len(p)))
    return pd.DataFrame(found, columns=COLUMNS)


def _perturbed(model, encoding, scores, seed):
    """((perturbation, input), (encoding, factor or None)) of one text, under each perturbation."""
    from faithlib.engine import forward
    from faithlib.metrics import erasure, soft

    top, inside = erasure.rationale(scores, encoding.maskable, TOP), encoding.maskable
    a, width = soft.to_probability(scores, inside), model.factor_width
    for name, erased in ((REMOVED, top), (KEPT, inside & ~top)):
        for perturbation in PERTURBATIONS:
            variant = forward.erased(model, encoding, erased, perturbation)
            yield (perturbation, name), (variant.encoding, variant.factor and variant.factor())
        drawn = soft.factor("bernoulli", a, inside, name == KEPT, width, seed)
        yield ("soft", name), (encoding, drawn)


def _has_layers(model, encodings):
    states = model.hidden_states(model.collate(encodings))
    return len(states) > 1 and len({state.shape[-1] for state in states}) == 1
