"""Intervals and tests: every error is one clear line."""

import numpy as np
import pandas as pd
import pytest
from sample.statistics import table_of
from wrong import refused

from faithlib import statistics


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: statistics.mean_interval([]), "at least one example"),
        (lambda: statistics.mean_interval([0.1, np.nan]), "1 of 2 values"),
        (lambda: statistics.seeds_interval([]), "no values"),
        (lambda: statistics.seeds_interval([0.1, np.nan, 0.2]), "1 of 3 values"),
        (lambda: statistics.seeds_interval([[0.1, 0.2]]), r"shape \(1, 2\): give one number a seed"),
        (lambda: statistics.seeds_interval([1, 2, 3]).pvalue("=="), "unknown relation '=='"),
        (lambda: statistics.crossed_interval([1.0, 2.0]), "not seeds × texts"),
        (lambda: statistics.text_interval(np.arange(30)), "a random stream needs names"),
        (lambda: statistics.share_interval([0.5, 1]), "give True or False"),
        (lambda: statistics.share_interval([True, False, True], [1, np.nan, 2]), "give a label each"),
        (lambda: statistics.count_interval([np.nan, 0, 1, 1]), "1 of 4 values"),
        (lambda: statistics.count_interval([0.3, 0, 1, 1]), "give True or False"),
        (lambda: statistics.share_interval([True, False], [1]), "2 observations, and clusters of shape"),
        (lambda: statistics.interval_from_table(table_of(3, 3), "paired"), "unknown design 'paired'"),
        (lambda: statistics.interval_from_table(table_of(3, 3), "crossed", text="run"), "no column run"),
        (lambda: statistics.interval_from_table(pd.concat([table_of(3, 3)] * 2), "crossed"), "9 rows repeat"),
        (lambda: statistics.interval_from_table(table_of(3, 3).query("seed == text"), "crossed"), "nested"),
        (lambda: statistics.interval_from_table(table_of(3, 0), "crossed"), "no values"),
        (lambda: statistics.holm([0.5, 1.2]), "within"),
        (lambda: statistics.stream(), "needs names"),
    ],
)
def test_errors_are_one_clear_line(call, words):
    refused(words, call)
