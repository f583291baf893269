"""The verdicts of the committed records under other random streams of the bootstrap."""

import pytest

from faithlib.statistics import intervals
from notebooks.attributions import claims as attributions
from notebooks.noiser import claims as noiser
from notebooks.soft_metrics import claims as soft_metrics
from replication import results
from replication.claims import judged

pytestmark = pytest.mark.slow
FULL_GRID = True
FURTHER = {"noiser": ("answers", "parts", "evidence")}  # tables behind the values
MODULES = (noiser, soft_metrics, attributions)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.CARD.name)
def test_twenty_other_streams_change_verdicts_of_borderline_rows_alone(module, monkeypatch):
    """The papers that have a model with one seed alone: all other intervals draw nothing."""
    paper, stream, drawn = module.CARD.name, intervals.stream, set()
    records, values = results.load("results", "small", paper)
    further = FURTHER.get(paper, ())
    tables = [results.load_tables("results", "small", paper, records, name) for name in further]
    inputs = (values, *tables, "small") if tables else (records, values, "small")
    monkeypatch.setattr(
        module, "multiverse_tables", lambda state, card, scale, gate=None, seeds=None: (state(), gate)
    )
    stated, gate = module.claims(*inputs)

    def verdicts(salt):
        def salted(*names):
            drawn.add(names)
            return stream(*names, *salt)

        monkeypatch.setattr(intervals, "stream", salted)
        return [judged(claim, gate)[0] for claim in stated]

    first = verdicts(())
    for i in range(20):
        for claim, one, other in zip(stated, first, verdicts((f"stream {i}",)), strict=True):
            assert one.word == other.word or one.borderline, claim.key
    assert len(drawn) > 10
