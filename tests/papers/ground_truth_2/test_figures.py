"""The heat map of version 2: labels, order and the frame of the worst cell."""

import pandas as pd
from matplotlib.colors import to_rgb

from notebooks.ground_truth_2 import figures, tables
from notebooks.ground_truth_2.worst_case import CORE


def test_rows_are_entries_in_their_order_and_the_worst_cell_is_framed():
    names = [("ns", "", "mask", "token"), ("soft_ns", "equal", "zero", "element")]
    rows = [(*name, *cell, True, 0.4 if cell == CORE[3 * i] else 0.8) for i, name in enumerate(names)
            for cell in CORE]  # fmt: skip
    cells = pd.DataFrame(rows, columns=[*tables.ENTRY, "kind", "error", "core", "accuracy"])
    order = pd.DataFrame(names[::-1], columns=tables.ENTRY).assign(cells=len(CORE))
    axes = figures.cells(cells, order, "small").axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["Soft-NS, equal, zero by element", "NS, [MASK]"]
    assert [t.get_text() for t in axes.get_xticklabels()] == [" ".join(cell) for cell in CORE]
    frames = [(patch.get_x(), patch.get_y()) for patch in axes.patches]
    assert frames == [(3, 0), (0, 1)]
    assert {patch.get_edgecolor()[:3] for patch in axes.patches} == {to_rgb("black")}
    assert set(figures.CAPTIONS) == {"cells", "language_models"}


def test_all_as_published_are_drawn_and_the_best_others():
    others = [("ns_10", how, "delete", "token") for how in map(str, range(30))]
    names = [*others, *tables.OF_CLASSES]
    rows = [(*name, *CORE[0], True, 0.5) for name in names]
    cells = pd.DataFrame(rows, columns=[*tables.ENTRY, "kind", "error", "core", "accuracy"])
    order = pd.DataFrame(names, columns=tables.ENTRY).assign(cells=1)
    axes = figures.cells(cells, order, "small").axes[0]
    labels = [t.get_text() for t in axes.get_yticklabels()]
    assert len(labels) == figures.BEST + len(tables.OF_CLASSES)
    assert labels[0].startswith("NS of 10 ratios") and "AOPC, sufficiency, [MASK]" in labels
