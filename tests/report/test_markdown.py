"""Markdown that is generated: cells that would break a table, blocks that are not there."""

import pytest

from faithlib.report.markdown import table, with_block

PAGE = "before\n<!-- one -->\nold\n<!-- end -->\nbetween\n<!-- two -->\n<!-- end -->\nafter\n"


def test_cells_may_hold_bars_tags_and_numbers():
    assert table(["a", "b"], [["x|y", "<b>"], [1, 0.5]]) == (
        "| a | b |\n| --- | --- |\n| x\\|y | &lt;b> |\n| 1 | 0.5 |\n"
    )


def test_a_long_table_is_folded():
    short, long = ([[i] for i in range(n)] for n in (20, 21))
    assert table(["n"], short, "all < 30") == table(["n"], short)
    assert table(["n"], long, "all < 30") == (
        f"<details><summary>all &lt; 30</summary>\n\n{table(['n'], long)}\n</details>\n"
    )


def test_a_block_is_written_anew_and_nothing_else():
    assert with_block(PAGE, "two", "new\n") == PAGE.replace("<!-- two -->\n", "<!-- two -->\nnew\n")
    assert with_block(PAGE, "one", "old\n") == PAGE


@pytest.mark.parametrize(
    "page", ["", PAGE.replace("one", "three"), "<!-- one -->\nno end", "<!-- end --> <!-- one -->\n"]
)
def test_a_page_without_the_block_is_refused(page):
    with pytest.raises(ValueError, match="^the page has no block to write: add the lines <!-- one --> and"):
        with_block(page, "one", "new\n")
