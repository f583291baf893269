"""Worked examples of soft_metrics."""

import numpy as np
import pandas as pd
import pytest
from sample.soft_metrics import unit

from notebooks.soft_metrics import examples


def test_worked_examples_name_the_rationale_in_the_order_of_the_text():
    texts = pd.DataFrame(
        {
            "example": [0],
            "tokens": [["[CLS]", "a", "truly", "bad", "film", "."]],
            "scores_attention": [[0, 0.1, 0.2, 0.9, 0.3, 0.1]],
            "scores_deeplift": [[0, -1.0, 2.0, -3.0, 0.5, 1.0]],
        }
    )
    values = unit().assign(denominator=lambda v: np.where(v.example == 0, 0.9, 0.1))
    record = {"params": {"task": "sst", "model": "org/tiny", "seed": 0}}
    both = pd.concat([values, unit("topics"), unit(seed=1)], ignore_index=True)
    assert len(examples.unit_values(both, record)) == len(values)
    table = examples.worked_examples(texts, examples.unit_values(both, record), ratio=0.4)
    table = table.set_index("attribution")
    assert table.rationale.to_dict() == {"attention": "bad film", "deeplift": "truly .", "random": ""}
    assert table.loc["attention", "Soft-NC"] == pytest.approx(0.6 / 0.9)
    assert table.loc["random", "NC"] == pytest.approx(0.5 / 0.9)
