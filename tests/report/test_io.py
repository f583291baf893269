"""Tables and figures on disk: the same bytes for the same content."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from wrong import refused

from faithlib import report
from faithlib.report.style import VERDICT_COLOURS


def test_saved_tables(tmp_path):
    frame = pd.DataFrame({"claim": ["a_b & c < d"], "verdict": ["holds"], "ci_low": [0.123456789]})
    for _ in range(2):  # the second time over the first
        report.save_table(frame, tmp_path / "tables" / "claims", better={"ci_low": "higher"})
    assert (tmp_path / "tables/claims.csv").read_text() == (
        "claim,verdict,ci_low\na_b & c < d,holds,0.123457\n"
    )
    latex = (tmp_path / "tables/claims.tex").read_text()
    assert r"ci\_low $\uparrow$" in latex and r"a\_b \& c" in latex and "0.123" in latex
    html = (tmp_path / "tables/claims.html").read_text()
    assert "ci_low ↑" in html and "c &lt; d" in html and VERDICT_COLOURS["holds"] in html
    refused("no column 'value'", report.styled, frame, {"value": "higher"})
    refused("'up' is no direction", report.styled, frame, {"ci_low": "up"})


def test_a_figure_is_the_same_bytes_every_time(tmp_path):
    report.use_style()
    saved = []
    for folder in ("first", "second"):
        figure, axes = plt.subplots()
        axes.plot([0, 1], [0.5, 0.25], **report.line("lime"))
        axes.legend()
        report.save_figure(figure, tmp_path / folder / "curve")
        saved.append([path.read_bytes() for path in sorted((tmp_path / folder).iterdir())])
    assert len(saved[0]) == 3 and saved[0] == saved[1]  # pdf, png, svg


def test_the_last_bit_of_a_layout_changes_no_drawing(tmp_path):
    report.use_style()
    figure, axis = plt.subplots(layout="none")
    axis.plot([0, 1], [0, 1])
    texts, left = [], 0.1234567
    for edge in (left, np.nextafter(left, 1)):
        axis.set_position([edge, left, 2 * left, 2 * left])
        report.save_figure(figure, tmp_path / "line")
        texts.append((tmp_path / "line.svg").read_text())
    plt.close(figure)
    assert texts[0] == texts[1] and 'clipPath id="clip1"' in texts[0] and "url(#clip1)" in texts[0]
