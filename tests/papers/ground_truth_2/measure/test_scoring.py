"""Scoring: controls are what they must be, and counts lose no pair."""

import numpy as np
import pandas as pd
import pytest

from notebooks.ground_truth_2.measure import entries, scoring

EXPLANATIONS = [
    {("best", ""): np.array([1, 0.5, 0]), ("mid", ""): np.array([0.5, 1, 0]), ("last", ""): np.ones(3)}
]
PAIRS = [[("near", "linear", ("best", ""), ("mid", "")), ("near", "linear", ("mid", ""), ("last", ""))]]


@pytest.fixture(scope="module")
def table():
    values = scoring.controls(EXPLANATIONS * 50, PAIRS * 50, 1, 0)
    return entries.right(values, PAIRS * 50)


def test_the_oracle_is_right_and_random_is_half_right(table):
    right = table.groupby("metric").right.mean()
    assert right["oracle"] == 1 and right["random"] == pytest.approx(0.5, abs=0.15)
    best_mid = table[(table.metric == "magnitude") & (table.pair == "best > mid")]
    assert (best_mid.right == 0.5).all()  # both have 1 as their largest score


def test_controls_of_a_text_do_not_depend_on_the_others():
    whole, part = (
        scoring.controls(EXPLANATIONS * 3, PAIRS * 3, 1, 0),
        scoring.controls(EXPLANATIONS, PAIRS, 1, 2),
    )
    assert whole[whole.text == 2].value.tolist() == part.value.tolist()


def test_depths_follow_the_longest_way():
    pairs = [("near", "", "a", "c"), ("near", "", "b", "c"), ("near", "", "a", "b")]
    assert scoring.depths(["a", "b", "c"], pairs) == {"a": 0, "b": 1, "c": 2}


def test_the_mirror_turns_one_entry():
    values = pd.DataFrame({"metric": ["ns", "nc"], "operator": "zero", "value": [0.2, 0.4]})
    assert scoring.mirrored(values)[["metric", "value"]].to_numpy().tolist() == [["mirror", -0.2]]


def test_counts_lose_no_pair_and_tell_flagged_texts_apart(table):
    table = table.assign(room=np.where(table.text < 10, 0.01, 0.5), seconds=0.0)
    counts = scoring.counts(table)
    assert counts.pairs.sum() == len(table) and counts.right.sum() == table.right.sum()
    assert counts[counts.flagged].pairs.sum() == (table.text < 10).sum()
    resolution = scoring.resolution(table).set_index("metric")
    assert resolution.texts_needed["oracle"] == 1 and resolution.room["oracle"] == pytest.approx(0.402)
