"""What choices change: definitions, ties, draws and perturbations, counted by hand."""

import pandas as pd
import pytest
from sample.rows import cell
from sample.soft_metrics import DRAWS, N, unit

from notebooks.soft_metrics import sensitivity


def test_definitions_ties_and_draws(values, diagnostic):
    ties = sensitivity.tie_rules(diagnostic)
    row = cell(ties, dataset="sst", metric="NC", definition="paper", baseline="normal")
    assert row.tied == pytest.approx(2 / N)
    both = cell(sensitivity.definitions(values, diagnostic), dataset="sst", metric="NC", baseline="normal")
    assert both["released - paper"] == 0 and both.published == pytest.approx((0.349 + 0.413) / 2)
    draws = sensitivity.soft_draws(values)
    key = dict(dataset="sst", baseline="normal")
    assert [cell(draws, metric="NC", draws=n, **key).value for n in (1, DRAWS)] == pytest.approx([11 / N] * 2)
    assert cell(draws, metric="Soft-NC", draws=DRAWS, **key).value == pytest.approx(18 / N)
    assert cell(draws, metric="Soft-NC", draws=1, **key).value == 0


def test_other_perturbations_are_compared_on_the_varied_texts():
    frame = unit()
    other = frame[(frame.metric == "Soft-NS") & (frame.draws == DRAWS)].assign(perturbation="gaussian_scores")
    both = pd.concat([frame, other], ignore_index=True)
    compared = sensitivity.alternatives(both)
    assert set(compared.metric) == {"NS", "NC", "Soft-NS", "Soft-NC", "Soft-NS (gaussian_scores)"}
    row = cell(compared, metric="Soft-NS (gaussian_scores)", baseline="normal")
    assert row.value == 1 and (row.n, row.draws) == (N // 2, DRAWS)  # the varied texts are the first 10 of 20
    assert row.variance == 1 and compared.variance.isna().sum() == (compared.metric != row.metric).sum()
    small = other[other.varied].assign(option="variance 0.05")
    small["raw"] = small.raw.where(small.baseline == "", 2.0)  # now every random value is preferred
    varied = sensitivity.alternatives(pd.concat([both, small], ignore_index=True))
    noised = varied[(varied.metric == row.metric) & (varied.baseline == "normal")]
    assert noised[["variance", "value", "n"]].to_numpy().tolist() == [[0.05, 0, N // 2], [1, 1, N // 2]]
    assert sensitivity.alternatives(frame).empty


def test_the_variance_is_chosen_on_other_texts_than_it_is_measured_on():
    frame = unit()
    frame = frame[frame.varied & (frame.metric == "Soft-NS") & (frame.draws == DRAWS)]
    noise = frame.assign(perturbation="gaussian_scores")
    small, large = (noise.assign(option=f"variance {v}") for v in (0.05, 2))
    random, even = noise.baseline != "", noise.example % 2 == 0
    # Random values are higher on one half of the texts and lower on the other.
    small["raw"] = small.raw.mask(random, 2.0).mask(random & ~even, -1.0)
    large["raw"] = large.raw.mask(random, -1.0).mask(random & ~even, 2.0)
    noise["raw"] = noise.raw.mask(random, 2.0)
    tuned = sensitivity.tuned_noise(pd.concat([frame, noise, small, large], ignore_index=True))
    row = cell(tuned, metric="Soft-NS", baseline="normal")
    assert (row.variance, row.value, row.n) == (2, 0, N // 4)  # chosen by the texts where it is always better
    assert row.difference == row.value - row.bernoulli
    assert sensitivity.tuned_noise(frame).empty
    assert sensitivity.tuned_noise(pd.concat([frame, small], ignore_index=True)).empty  # one variance alone
