"""One look for every attribution, and tables as notebooks show them."""

import re

import numpy as np
import pandas as pd

from faithlib import attributions, report
from faithlib.report.io import save_table
from faithlib.report.style import MOST, in_words, label, styled
from faithlib.scores import RANDOM


def test_each_attribution_has_one_look():
    names = [RANDOM, *attributions.names()]
    looks = {name: tuple(map(str, report.line(name).values())) for name in names}
    assert len(set(looks.values())) == len(looks) and set(names) == set(looks)
    new = report.line("my_method")
    assert new == report.line("my_method") and new["label"] == "my method"


def test_tables_of_one_page_do_not_share_css():
    first = report.styled(pd.DataFrame({"verdict": ["holds"]})).to_html()
    second = report.styled(pd.DataFrame({"verdict": ["undecided"]})).to_html()
    names = [re.search(r'id="(T_\w+)"', html).group(1) for html in (first, second)]
    assert names[0] != names[1]
    assert names[0] in report.styled(pd.DataFrame({"verdict": ["holds"]})).to_html()  # and stay the same


def test_a_long_table_is_folded_and_says_what_it_has():
    long = pd.DataFrame({"task": ["sst"] * 21, "<n>": 0.5})
    html = report.styled(long)._repr_html_()
    assert html.startswith("<details><summary>Table of 21 rows: task, &lt;n&gt;</summary>")
    assert html.count("<tr>") == 22 and html.endswith("</details>")
    assert "Table of 21 rows: by task</summary>" in report.styled(long).set_caption("by task")._repr_html_()
    for table in (report.styled(long[:20]), report.styled(long, folded=False)):
        assert "<details>" not in table._repr_html_()


def test_every_attribution_has_a_label_that_can_be_read():
    assert report.label("integrated_gradients_abs") == "|integrated gradients|"
    assert report.label("input_x_gradient") == "x∇x" and report.label("input_x_gradient_abs") == "|x∇x|"
    assert report.label("gradient_shap_abs") == "|GradientSHAP|" and report.label("my_own") == "my own"
    assert report.label(RANDOM) == "random"


def test_tables_for_pages_say_names_in_words_and_csv_files_keep_them(tmp_path):
    frame = pd.DataFrame(
        {
            "task": ["sst", "all", None],
            "model": ["a/bilstm", "x", ""],
            "measure": ["gradient_l2", "random", "own"],
        }
    )
    page = styled(frame).to_html()
    for words in ("Stanford Sentiment Treebank", "mean of the data sets", ">BiLSTM<", ">random<", ">own<"):
        assert words in page
    assert label("gradient_l2") in page and ">sst<" not in page
    save_table(frame, tmp_path / "t")
    assert "sst,a/bilstm,gradient_l2" in (tmp_path / "t.csv").read_text()
    for suffix in ("html", "tex"):
        assert "BiLSTM" in (tmp_path / f"t.{suffix}").read_text()
    assert in_words(pd.DataFrame({("a", "b"): [1]})).columns.nlevels == 2
    heads = ["value", "sst, bilstm, paper", "sst (bilstm)", "macro_f1", 2]
    sst = "Stanford Sentiment Treebank"
    assert list(in_words(pd.DataFrame(columns=heads)))[1:3] == [f"{sst}, BiLSTM, paper", f"{sst} (BiLSTM)"]
    twice = ["all-MiniLM-L6-v2", "MiniLM-L6"]  # one title for two columns would lose one
    assert list(in_words(pd.DataFrame(columns=twice))) == twice
    assert list(in_words(pd.DataFrame({"metric": ["macro_f1", "soft_ns"]})).metric) == ["macro-F1", "soft_ns"]


def test_a_table_without_rows_says_so():
    assert styled(pd.DataFrame(columns=["why", "n"]))._repr_html_() == "<p>None.</p>"


def test_latex_gets_signs_that_it_prints(tmp_path):
    save_table(pd.DataFrame({"attribution": ["input_x_gradient_abs", "scaled_attention"]}), tmp_path / "t")
    bar, x, alpha = r"\ensuremath{|}", r"x\ensuremath{\nabla}x", r"\ensuremath{\alpha}"
    text = (tmp_path / "t.tex").read_text()
    assert f"{bar}{x}{bar}" in text and rf"{alpha}\ensuremath{{\nabla}}{alpha}" in text and "α" not in text


def test_a_wide_table_is_made_narrow_and_says_what_is_left_out():
    wide = pd.DataFrame({"dataset": ["sst", "cb"], "model": "bilstm", "empty": np.nan, "value": [0.1, 0.2]})
    wide = wide.assign(ci_low=0.05, ci_high=0.3, **{f"<{i}>": [i, i + 1] for i in range(7)})
    table = report.styled(wide)
    assert list(table.data)[:3] == ["dataset", "value", "<0>"] and len(table.data.columns) == MOST
    assert table.data.value.tolist() == ["0.100 [0.050, 0.300]", "0.200 [0.050, 0.300]"]
    assert table.caption == "The same in all rows: model BiLSTM. Not shown here: &lt;6&gt;."
    names = {"value": "all_masked", "ci_low": "all_masked_low", "ci_high": "all_masked_high"}
    assert report.styled(wide.rename(columns=names)).data["all masked"].tolist() == table.data.value.tolist()
    assert report.styled(wide, whole=True).data.shape == wide.shape
    assert not report.styled(wide.iloc[:, :8]).caption
