"""A study as a table, as text, in a notebook, and in a folder."""

import json
from types import SimpleNamespace

import IPython
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from studies import NASTY, SCORES, TEXTS, study
from wrong import refused

from faithlib import store
from faithlib.report import display
from faithlib.study import explorer, load_study
from faithlib.study import show as report

pytestmark = pytest.mark.usefixtures("coarse_figures")


def test_attributions_are_rows_and_metrics_columns():
    table = report.wide(study())
    assert list(table) == ["attribution", "NS ↑", "decision flip (fraction) ↓"]
    assert table.values.tolist() == [
        ["leave-one-out", "0.300 [0.100, 0.500] (1 void)", "0.400 [0.200, 0.600]"],
        ["LIME", "0.433", "– (3 void)"],
    ]
    table = report.wide(study(), "diagnosticity", arrows=False)
    assert list(table) == ["attribution", "NS", "decision flip (fraction)"]
    assert table.iloc[:, 1:].values.tolist() == [["0.500", "1.000"], ["0.500", "–"]]


def test_labels_that_two_share_are_told_apart():
    alike = study()
    alike.table = alike.table.replace({"decision_flip": "causal_soft_ns", "ns": "soft_ns"})
    assert list(report.wide(alike))[1:] == ["Soft-NS (soft_ns) ↑", "Soft-NS (causal_soft_ns) ↑"]


def test_notes_say_what_intervals_speak_of_and_where_flags_hold():
    assert report.notes(study()) == [
        "A note & a <tag>.", "95 % intervals over texts, for this model (tiny-bert).",
        "Void: texts in which the metric means nothing; they are left out.", "too few texts: LIME × NS.",
        "no text has a value: LIME × decision flip (fraction).",
    ]  # fmt: skip
    chance = study()
    chance.table["flag"] = "at chance"
    assert report.notes(chance)[-1] == "at chance."


def values(means):
    """Two attributions whose mean NS of each text is given."""
    rows = [
        (i, name, "ns", "", mean + shift)
        for i, mean in enumerate(means)
        for name, shift in (("lime", 0.1), ("leave_one_out", -0.1))
    ]
    return pd.DataFrame(rows, columns=["example", "attribution", "metric", "baseline", "value"])


@pytest.mark.parametrize(
    ("count", "wanted"),
    [(0, []), (1, [4]), (2, [1, 3]), (3, [1, 4, 3]), (5, [1, 0, 4, 2, 3]), (9, [1, 0, 4, 2, 3])],
)
def test_texts_are_chosen_from_the_worst_to_the_best(count, wanted):
    chosen, rule = report.chosen_texts(study(values=values([0.2, 0.1, 0.4, 0.5, 0.3])), count)
    assert chosen == wanted and "from the worst to the best NS" in rule


def test_texts_without_a_value_are_not_chosen_and_lower_may_be_better():
    frame = values([0.2, np.nan, 0.4])
    assert report.chosen_texts(study(values=frame), 3)[0] == [0, 2]
    assert report.chosen_texts(study(values=frame.replace("ns", "decision_flip")), 3)[0] == [2, 0]
    chosen, rule = report.chosen_texts(study(values=values([np.nan] * 3)), 2)
    assert chosen == [0, 1] and rule == "The first texts; no metric has a value."


def test_a_terminal_shows_text(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    report.show(study(), texts=2)
    printed = capsys.readouterr().out
    assert "0.300 [0.100, 0.500] (1 void)" in printed and "Diagnosticity: share" in printed
    assert "Text 3, target good, label good: boring" in printed
    assert "leave-one-out  ly 0.2, un 0.1, <b> 0, like -0.4" in printed
    assert max(map(len, printed.splitlines())) <= 72
    report.show(study(), texts=0)
    assert "Text 3" not in capsys.readouterr().out


def test_a_wide_table_names_the_attributions_in_each_part(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    report.show(study(), texts=0)
    assert capsys.readouterr().out.split("Diagnosticity")[0].count("leave-one-out") == 2


def test_a_notebook_shows_html_and_a_figure(monkeypatch):
    output = []
    monkeypatch.setattr(report, "in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda *things: output.extend(things))
    report.show(study(), texts=3)
    html = "".join(t._repr_html_() for t in output if hasattr(t, "_repr_html_") and t._repr_html_())
    assert "0.300 [0.100, 0.500]" in html and "&lt;b&gt;" in html and "A note &amp; a &lt;tag&gt;." in html
    assert "<script>" not in html and NASTY not in html
    assert sum(type(thing).__name__ == "Image" for thing in output) == 1
    assert html.count("<table>") == 3  # heat maps
    assert not plt.get_fignums()


def test_a_notebook_is_told_by_its_kernel(monkeypatch):
    assert not display.in_notebook()
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=1))
    assert display.in_notebook()
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace())  # a terminal
    assert not display.in_notebook()


def test_the_users_style_of_figures_stays():
    before = dict(plt.rcParams)
    with display.figure_style():
        assert plt.rcParams["svg.hashsalt"] == "faithlib"
    assert dict(plt.rcParams) == before


def test_the_figure_has_a_panel_for_each_metric():
    drawn = report.figure(study())
    titles = [axis.get_title() for axis in drawn.axes if axis.get_visible()]
    assert [" ".join(title.split()) for title in titles] == [
        "NS ↑ 1 of 3 texts void",
        "decision flip (fraction) ↓ 3 of 3 texts void 1 of 3 texts never flip",
    ]
    points = [
        line.get_xdata()[0] for line in drawn.axes[0].lines if line.get_marker() not in ("", "None", "|")
    ]
    assert points == pytest.approx([0.3, 0.4333])
    assert [text.get_text() for text in drawn.axes[0].get_yticklabels()] == ["leave-one-out", "LIME"]
    plt.close(drawn)


FILES = [
    "explorer.html",
    *(f"figures/{name}.{kind}" for name in ("agreement", "results") for kind in ("pdf", "png", "svg")),
    "record.json", "record.parquet", "record.scores.parquet", "record.texts.parquet",
    *(f"tables/{name}.{kind}" for name in ("agreement", "diagnosticity", "results")
      for kind in ("csv", "html", "tex")),
]  # fmt: skip


def test_a_folder_holds_the_study(tmp_path):
    folder = report.save(study(), tmp_path / "my" / "study")
    assert folder == tmp_path / "my" / "study"
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    assert sorted(files) == sorted(FILES)
    record = store.read_record(folder / "record.json")
    assert (record["kind"], record["model"], record["texts"]["n"]) == ("study", "tiny-bert", 3)
    assert record["attributions"] == list(SCORES) and record["metrics"] == ["ns", "decision_flip"]
    assert record["table"][0]["value"] == 0.3 and record["table"][3]["value"] is None
    assert {"git", "code", "versions"} <= set(record["provenance"])
    pd.testing.assert_frame_equal(
        pd.read_parquet(folder / "record.parquet"), study().values, check_dtype=False
    )
    scores = pd.read_parquet(folder / "record.scores.parquet")
    assert scores[scores.example == 0].lime.tolist() == SCORES["lime"][0]
    assert scores.columns.tolist() == ["example", "position", "token", "maskable", "word", *SCORES]
    table = pd.read_csv(folder / "tables" / "results.csv")
    assert table.value.tolist()[:3] == pytest.approx([0.3, 0.4, 0.4333])
    latex = (folder / "tables" / "results.tex").read_text()
    assert r"NS $\uparrow$" in latex and "↑" not in latex
    assert not any(text in (folder / "record.json").read_text() for text in TEXTS)


def test_the_same_study_is_left_and_another_is_set_aside(tmp_path, capsys):
    report.save(study(), tmp_path)
    before = (tmp_path / "record.json").read_bytes()
    report.save(study(), tmp_path)
    assert (tmp_path / "record.json").read_bytes() == before and capsys.readouterr().out == ""
    report.save(study(model_name="other"), tmp_path)
    assert "it is kept as record.json.replaced" in capsys.readouterr().out
    assert json.loads((tmp_path / "record.json.replaced").read_text())["model"] == "tiny-bert"
    assert store.read_record(tmp_path / "record.json")["model"] == "other"


def test_a_saved_study_is_read_again(tmp_path):
    report.save(study(), tmp_path)
    again = load_study(tmp_path)
    assert report.as_text(again, [0, 1]) == report.as_text(study(), [0, 1])
    assert explorer.data(again) == explorer.data(study())
    pd.testing.assert_frame_equal(again.table, study().table)
    assert load_study(tmp_path / "record.json").table.equals(again.table)
    lines = str(again).splitlines()
    assert len(lines) == 5 and lines[0] == "Study of tiny-bert: 3 texts, 2 attributions, 2 metrics"
    assert "NS LIME (0.433)" in lines[1] and "NS 1, decision flip (fraction) 3" in lines[2]
    (tmp_path / "record.texts.parquet").unlink()
    refused("record record.json has lost its file record.texts.parquet", load_study, tmp_path)
    with pytest.raises(FileNotFoundError, match="has no record.json: give a folder that study.save made"):
        load_study(tmp_path / "none")


def test_a_single_metric_has_no_agreement_to_draw(tmp_path):
    single = study()
    single.table, single.values = (frame[frame.metric == "ns"] for frame in (single.table, single.values))
    report.save(single, tmp_path)
    assert not list((tmp_path / "figures").glob("agreement*"))
