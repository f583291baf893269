"""One look for every attribution, and tables as notebooks show them."""

import re

import pandas as pd

from faithlib import attributions, report
from faithlib.scores import RANDOM


def test_each_attribution_has_one_look():
    names = [RANDOM, *attributions.names()]
    looks = {name: tuple(map(str, report.line(name).values())) for name in names}
    assert len(set(looks.values())) == len(looks) and set(names) == set(looks)
    new = report.line("my_method")
    assert new == report.line("my_method") and new["label"] == "my method"


def test_tables_of_one_page_do_not_share_css():
    first = report.styled(pd.DataFrame({"verdict": ["holds"]})).to_html()
    second = report.styled(pd.DataFrame({"verdict": ["inconclusive"]})).to_html()
    names = [re.search(r'id="(T_\w+)"', html).group(1) for html in (first, second)]
    assert names[0] != names[1]
    assert names[0] in report.styled(pd.DataFrame({"verdict": ["holds"]})).to_html()  # and stay the same


def test_intervals_stand_behind_their_values():
    nan = float("nan")
    table = pd.DataFrame(
        {
            "task": ["a", "b", "c"],
            "f1": [0.5, 0.25, nan],
            "f1_low": [0.4, nan, nan],
            "f1_high": [0.625, nan, nan],
            "auc": [1.0, 0.0, -1.0],
            "n": [3, 4, 5],
            "auc_ci_low": [0.9, -0.1, -1.0],
            "auc_ci_high": [1.0, 0.1, -0.5],
        }
    )
    shown = report.bracketed(table, precision=2)
    assert list(shown) == ["task", "f1", "auc", "n"] and shown.n.tolist() == [3, 4, 5]
    assert shown.f1.tolist() == ["0.50 [0.40, 0.62]", "0.25", ""]
    assert shown.auc.tolist() == ["1.00 [0.90, 1.00]", "0.00 [-0.10, 0.10]", "-1.00 [-1.00, -0.50]"]
    assert len(table.columns) == 8 and report.bracketed(shown).equals(shown)


def test_every_attribution_has_a_label_that_can_be_read():
    assert report.label("integrated_gradients_abs") == "|integrated gradients|"
    assert report.label("input_x_gradient") == "x∇x" and report.label("input_x_gradient_abs") == "|x∇x|"
    assert report.label("gradient_shap_abs") == "|GradientSHAP|" and report.label("my_own") == "my own"
    assert report.label(RANDOM) == "random"
