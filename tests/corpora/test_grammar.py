"""Sampling from a grammar."""

import pytest

from faithlib import corpora
from faithlib.corpora import relation


def test_a_grammar_that_runs_out_says_so(monkeypatch):
    monkeypatch.setattr(relation, "VERBS", dict(list(relation.VERBS.items())[:2]))
    monkeypatch.setattr(relation, "INTERVENTIONS", ["zinc"])
    monkeypatch.setattr(relation, "COMPARATORS", ["placebo"])
    with pytest.raises(ValueError, match=r"sizes\['train'\] = 500 is more than the relation .*144"):
        corpora.make("relation", 0, {"train": 500})  # 6 settings, 2 orders, 6 label pairs, 2 asked
