"""What the agreement of attributions with known evidence supports."""

from functools import partial

import pandas as pd

from faithlib.attributions.registry import described
from faithlib.tasks.table import generated
from notebooks.attributions.card import CARD
from replication import results
from replication.claims import Claim, gates, multiverse_tables
from replication.tables import metric_rows, select

KNOWN = "known exactly"  # the baseline: what a random order has is computed, not drawn
MAIN = {choice: options[0] for choice, options in CARD.choices.items()}


def claims(
    records: list[dict], values: pd.DataFrame, scale: str, seeds: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Each attribution against a random order, and each absolute score against its signed twin.

    Claims are about attributions: models and texts vary, so intervals are crossed over seeds × texts, and
    with one seed over the texts of that model. That random scores beat a random order must not hold. The
    words that decide a generated text are known. Rationales that people marked are their reasons, and the
    model may have others: claims about them are rows of their own.

    Returns:
        (claims, choices), as `replication.claims.multiverse_tables`; value: the mean difference of AUPRC.
    """
    gate = gates(select(metric_rows(records), split="test"), "macro_f1")
    design = results.design(records)
    return multiverse_tables(partial(statements, values, design), CARD, scale, gate, seeds)


def statements(values, design, **setting):
    """The claims at one setting, [Claim]; setting: options other than the main ones, by `CARD.choices`."""
    setting = MAIN | setting
    scored = select(values, metric=setting["agreement"])
    scored = scored[scored.value.notna()]
    if setting["texts"] != MAIN["texts"]:
        scored = scored[scored.right.astype(bool)]
    gain = scored.assign(gain=scored.value - scored.chance).pivot(
        index=["dataset", "model", "seed", "example"], columns="attribution", values="gain"
    )
    ours = generated(gain.index.get_level_values("dataset"))
    claims = []
    for by, rows in (("", ours), (", by marked rationales", ~ours)):
        gains = gain[rows].dropna(axis=1, how="all")
        for name in [name for name in scored.attribution.unique() if name in gains]:
            claims.append(_claim(f"{name} above a random order{by}", gains[name], design))
            signed = name.removesuffix("_abs")
            if not described(name).signed and signed in gains.columns.drop(name):
                claims.append(_claim(f"{name} above {signed}{by}", gains[name] - gains[signed], design))
    return claims


def _claim(claim, gain, design):
    return Claim(claim, gain.dropna().rename("value").reset_index(), design, baseline=KNOWN, limits=(-1, 1))
