"""Headline claims at the scales small and base, side by side, from made claims."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from replication import cards, papers
from replication.cards import NO_RECORD, WHOLE, with_counts
from replication.claims import CLAIMS

ROW = dict.fromkeys(CLAIMS, "") | {"published": 0.5, "borderline": False, "headline": True, "cases": "sst"}
ROW |= dict.fromkeys(WHOLE, 0) | {"n_units": 3, "looks": 1}
HEADLINE = papers.headline("saloss")
README = "| <!-- verdicts: saloss --><!-- end --> |"


@pytest.fixture
def root(tmp_path):
    """A project with claims of SaLoss at both scales; base lacks the second headline claim."""
    for scale, verdict, shift, lacks in (("small", "holds", 0, None), ("base", "does not hold", -0.5, 1)):
        numbers = {"value": 0.2 + shift, "ci_low": 0.1 + shift, "ci_high": 0.3 + shift}
        about = ROW | numbers | {"verdict": verdict, "model": scale}
        rows = [
            about | {"claim": one.claim, "definition": "paper", "baseline": one.baseline}
            for i, one in enumerate(HEADLINE)
            if i != lacks
        ]
        folder = tmp_path / "results" / scale / "saloss"
        folder.mkdir(parents=True)
        pd.DataFrame(rows).to_csv(folder / "claims.csv", index=False)
    return tmp_path


def test_without_a_record_of_base_one_sentence_says_so_and_nothing_is_drawn(root):
    (root / "results/base/saloss/claims.csv").unlink()
    assert cards.sizes(root) == cards.UNSIZED and not (cards.draw_sizes(root) or cards.of_sizes(root))
    text = with_counts(README, root / "results/small")
    assert text == f"| <!-- verdicts: saloss -->{'🟩' * len(HEADLINE)}<!-- end --> |"


def test_claims_of_both_scales_stand_side_by_side(root):
    text = cards.sizes(root)
    first, second = [line for line in text.splitlines() if line.startswith("| ")][2:4]
    assert (
        "🟩 **Holds**" in first
        and "+0.200 [+0.100, +0.300] on Stanford Sentiment Treebank with small." in first
    )
    assert (
        "🟥 **Does not hold**" in first
        and "-0.300 [-0.400, -0.200] on Stanford Sentiment Treebank with base." in first
    )
    assert "🟩 **Holds**" in second and second.endswith(f"| {NO_RECORD} |") and "![" not in text
    base = "🟥" + NO_RECORD + "🟥" * (len(HEADLINE) - 2)
    readme = with_counts(README, root / "results/small")
    assert readme == f"| <!-- verdicts: saloss -->small {'🟩' * len(HEADLINE)}<br>base {base}<!-- end --> |"


def test_a_card_folds_the_claims_of_larger_models(root):
    (text,) = cards._larger(root / "results/small/saloss", HEADLINE)
    assert f"Scale base, base: 🟥{NO_RECORD}🟥" in text
    assert text.count("🟥 does not hold") == len(HEADLINE) - 1 and text.count("-0.300 [-0.400, -0.200]") > 1
    assert cards._larger(root / "results/small/fmm", papers.headline("fmm")) == []


def test_the_figure_has_a_mark_a_claim_and_scale(root):
    figure = cards.draw_sizes(root)
    (axis,) = figure.axes
    marks = [line for line in axis.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in marks] == [len(HEADLINE), len(HEADLINE) - 1]
    assert len(axis.get_yticks()) == len(HEADLINE)
    plt.close(figure)
