"""Claims with some options of a card alone, or with none: options take most of the time of a test."""

from dataclasses import replace

import pandas as pd
import pytest


def with_choices(claims, *inputs, choices=(), **more):
    """claims.claims(*inputs, **more) of a paper's module, as if its card had these choices alone."""
    card = replace(claims.CARD, choices={choice: claims.CARD.choices[choice] for choice in choices})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "CARD", card)
        return claims.claims(*inputs, **more)


def main_alone(claims, *inputs, index=None, **more):
    """The table of `with_choices` without any."""
    table, _ = with_choices(claims, *inputs, **more)
    return table.set_index(index) if index else table


def check_rivals(lead):
    """A claim of a lead hands over the lead over each other; its own is the smallest, seed by seed."""
    keys = ["dataset", "model", "seed"]
    worst = pd.concat(lead.rivals.values()).groupby(keys).value.min()
    values = lead.values.set_index(keys).value
    assert len(lead.rivals) > 1 and worst[values.index].to_numpy() == pytest.approx(values.to_numpy())
