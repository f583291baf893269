"""What the agreement of attributions with known evidence supports."""

from dataclasses import replace

from faithlib import results
from faithlib.attributions.registry import describe
from faithlib.papers.attributions.card import CARD
from faithlib.report.claims import Claim, gates
from faithlib.report.multiverse import multiverse_tables
from faithlib.report.tables import metric_rows, select

KNOWN = "known exactly"  # the baseline: what a random order has is computed, not drawn
MAIN = {choice: options[0] for choice, options in CARD.choices.items()}


def claims(records, values, scale):
    """Each attribution against a random order, and each absolute score against its signed twin.

    Claims are about attributions: models and texts vary, so intervals are crossed over seeds × texts, and
    with one seed over the texts of that model. That random scores beat a random order must not hold.

    Args:
        records, values: from `results.load`.
        scale: "quick", "small" or "paper".

    Returns:
        (claims, choices), as `report.multiverse.multiverse_tables`; value: the mean difference of AUPRC.
    """
    gate = gates(select(metric_rows(records), split="test"), "macro_f1")
    design = results.design(records)
    return multiverse_tables(
        lambda **options: statements(values, design, **options), CARD.choices, scale, gate
    )


def statements(values, design, **setting):
    """The claims at one setting.

    Args:
        values: from `results.load`.
        design: "crossed" or "nested", from `results.design`.
        setting: options that depart from the main setting, by `CARD.choices`.

    Returns:
        List of `report.claims.Claim`.
    """
    setting = MAIN | setting
    own = select(values, metric=setting["agreement"])
    own = own[own.value.notna()]
    if setting["texts"] != MAIN["texts"]:
        own = own[own.right.astype(bool)]
    gain = own.assign(gain=own.value - own.chance).pivot(
        index=["dataset", "model", "seed", "example"], columns="attribution", values="gain"
    )
    found = []
    for name in own.attribution.unique():
        found.append(_claim(f"{name} above a random order", gain[name], design))
        signed = name.removesuffix("_abs")
        if not describe(name).signed and signed in gain.columns.drop(name):
            found.append(_claim(f"{name} above {signed}", gain[name] - gain[signed], design))
    return [replace(claim, quantity=setting["agreement"]) for claim in found]


def _claim(claim, gain, design):
    return Claim(claim, gain.dropna().rename("value").reset_index(), design, baseline=KNOWN, limits=(-1, 1))
