"""The papers' own tables beside ours, and how far they agree: by hand, and what of it is committed."""

import pandas as pd
import pytest
from wrong import refused

from faithlib.report.style import MOST
from faithlib.store import project_root
from replication import papers, printed

LAYOUTS = [(paper, name) for paper in papers.names() for name in printed.layouts(paper)]


def test_fifty_published_cells_are_those_of_the_papers():
    golden = pd.read_csv(project_root() / "tests/golden/published_cells.csv")
    assert len(golden) == 50 and set(golden.paper.value_counts()) == {10}
    for row in golden.itertuples():
        cells = printed.published(printed.layouts(row.paper)[row.table])
        for key, value in (pair.split("=") for pair in row.cell.split()):
            cells = cells[cells[key].astype(str) == value]
        assert cells.printed.tolist() == [row.value], row


@pytest.mark.parametrize("paper, name", LAYOUTS)
def test_every_layout_is_one_of_its_paper_and_keeps_its_cells(paper, name):
    layout = printed.layouts(paper)[name]
    cells = printed.cells(layout)
    assert len(cells) == len(printed.published(layout)) * cells.definition.nunique()
    assert not cells.duplicated([*layout.keys, "definition"]).any()
    assert (cells.ours.notna() | cells["mark"].isin(list(printed.MARKS))).all()
    assert not layout.pairs or layout.pairs in layout.keys
    assert all(head.count("<th>") <= MOST for head in printed.page(layout).split("<tr>"))


def test_each_paper_has_headline_tables():
    headline = {paper for paper, name in LAYOUTS if printed.layouts(paper)[name].headline}
    assert headline == {"soft_metrics", "recursive_roar", "saloss", "noiser", "fmm"}


def test_ours_stand_beside_the_published_and_a_mark_says_why_not(paper):
    write, folder = paper
    layout = write()["table_1"]
    cells = printed.cells(layout, folder).set_index(["dataset", "model", "attribution"])
    assert cells.ours["sst", "base", "attention"] == 0.8 and cells.ours.notna().sum() == 4
    assert cells["mark"].tolist() == ["", "", "×", "†", "†", "□", "○", "§"]
    page = printed.page(layout, folder)
    assert "Table 1. First" in page and "small, small scale" in page and "† our model is not above" in page
    assert '<span style="color:#767676">0.40</span><br><b>0.80</b>' in page
    assert '<span style="color:#767676">0.50†</span>' in page  # at chance: grey, with its mark
    assert printed.MARKS["≠"] not in page
    unlike = printed.cells(write(unlike=["sst"])["table_1"], folder)
    assert unlike["mark"].tolist()[:2] == ["≠", "≠"] and unlike.published.isna().sum() == 4


def test_averages_are_over_the_same_accepted_cells(paper):
    write, folder = paper
    cells = printed.cells(write()["table_2"], folder).set_index("attribution")
    assert cells.printed.tolist() == [0.35, 0.3, 0.325]  # as the paper has them
    assert cells.published.tolist() == pytest.approx([0.4, 0.2, 0.3])  # imdb failed the gate
    assert cells.ours.tolist() == pytest.approx([0.8, 0.6, 0.7])


def test_an_average_leaves_out_copied_columns():
    layout = printed.layouts("noiser")["table_1"]
    cells = printed.cells(layout)
    row = cells[(cells.dataset == "longra") & (cells.attribution == "noiser") & (cells.model == "average")]
    whole = papers.published("noiser", "table_1")
    four = whole[
        (whole.dataset == "longra") & (whole.attribution == "noiser") & ~whole.model.str.contains("gemma")
    ]
    assert row.published.iloc[0] == pytest.approx(four[four.model != "average"].value.mean())
    assert row.printed.iloc[0] == 5.0657


def test_a_cell_printed_twice_shows_both_numbers_and_a_csv_that_does_not_fit_is_one_line(paper):
    write, folder = paper
    path = papers.FOLDER / "mine/published/table_1.csv"
    path.write_text(path.read_text() + "sst,base,attention,0.45\n")
    cells = printed.published(write()["table_1"])
    assert cells.text[0] == "0.40 / 0.45" and cells.printed[0] == 0.4
    message = r"^mine/published/table_1.csv has no column 'measure', only dataset, model"
    refused(message, printed.published, write(columns=["measure"])["table_1"])
