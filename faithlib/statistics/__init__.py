"""Intervals and tests.

Intervals of claims (`verdicts`, `cases` turn them into verdicts) depend on the unit of replication:

=======================================  ==================  ===============================================
design                                   function            interval
=======================================  ==================  ===============================================
trained models (seeds), one number each  seeds_interval      t over seeds
every seed has its own texts             nested_interval     t over the seeds' means
every seed has the same texts            crossed_interval    two-way, never narrower than t over seeds
one model                                text_interval       t below 30 texts, studentised bootstrap from 30
a share of tests                         share_interval      Wilson, corrected for clusters
=======================================  ==================  ===============================================

`interval_from_table` chooses among them for a long table. Fewer than three units, or values that are all
equal, have no interval.

Intervals of figures and of single table cells: `mean_interval` (BCa bootstrap).
"""

from faithlib.statistics.base import DRAW_COUNTS, FEWEST_UNITS, direction, holm, monte_carlo_error, stream
from faithlib.statistics.bootstrap import mean_interval, rank_sum, t_test
from faithlib.statistics.intervals import (
    Interval,
    crossed_interval,
    nested_interval,
    seeds_interval,
    text_interval,
)
from faithlib.statistics.shares import count_interval, interval_from_table, share_interval
