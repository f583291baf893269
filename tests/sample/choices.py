"""Claims of the main setting alone, for tests that look at nothing else: options take most of the time."""

from contextlib import contextmanager

import pytest


@contextmanager
def without(card):
    """Inside, a card has no open choices."""
    with pytest.MonkeyPatch.context() as patch:
        for choice in list(card.choices):
            patch.delitem(card.choices, choice)
        yield
