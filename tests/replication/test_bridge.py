"""From our number to the published one, step by step: by hand, and what of it is committed."""

import numpy as np
import pandas as pd
import pytest
import yaml

from replication import bridge, papers

FIVE = ("fmm", "noiser", "recursive_roar", "saloss", "soft_metrics")


def bridged(folder, **changed):
    ours = {"table": "values", "where": {"dataset": "sst", "attribution": "attention"}}
    entry = {"claim": "c", "ours": ours, "margin": 0.02}
    cell = {"dataset": "sst", "model": "base", "attribution": "attention"}
    entry["published"] = {"table": "table_1", "where": cell}
    entry["steps"] = [{"choice": "texts", "what": "lime's", "to": {"attribution": "lime"}}]
    return bridge.of_entry(entry | changed, "mine", folder)


def test_a_bridge_goes_step_by_step_and_says_what_is_left(paper):
    _, folder = paper
    gap = bridged(folder, same={"model": "the paper's"})
    assert (gap.ours, gap.published) == (0.8, 0.4) and gap.left == pytest.approx(-0.2)
    assert gap.unknown == ("definition", "attributions' code", "baseline", "ties", "data set", "training")
    assert "explain -0.200: texts -0.200. Unexplained: -0.200 (not measured" in gap.sentence()
    assert gap.table().difference.dropna().sum() == pytest.approx(-0.4)
    reached = bridged(folder, margin=0.25)
    assert reached.sentence().endswith("With them the published value is reached.")
    assert "Measured choices explain nothing. Unexplained" in bridged(folder, steps=[]).sentence()
    assert "is the published" in bridged(folder, margin=0.5).sentence()
    figure = bridge.draw(gap)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()][:2] == ["ours", "texts: lime's"]


def test_a_wrong_step_is_one_line_and_what_has_no_value_is_unknown(paper):
    _, folder = paper
    with pytest.raises(ValueError, match="^mine/published/bridge.yaml: choice='luck' is unknown: use 'def"):
        bridged(folder, steps=[{"choice": "luck", "what": "", "to": {}}])
    assert np.isnan(bridged(folder, ours={"table": "values", "where": {"dataset": "rte"}}).ours)
    step = {"choice": "texts", "what": "", "to": {"attribution": "beam"}}
    assert "texts" in bridged(folder, steps=[step]).unknown


@pytest.mark.parametrize("paper", FIVE)
def test_every_step_of_a_committed_bridge_has_a_value(paper):
    entries = yaml.safe_load((papers.FOLDER / paper / "published/bridge.yaml").read_text())
    bridges = bridge.bridges(paper, papers.FOLDER.parent / "results/small" / paper / "tables")
    assert [one.claim for one in bridges] == [entry["claim"] for entry in entries]
    assert [len(one.steps) for one in bridges] == [len(entry["steps"]) for entry in entries]
    assert not any(np.isnan(one.published) for one in bridges)


def test_the_step_to_another_model_reads_the_tables_of_base():
    folder = papers.FOLDER.parent / "results"
    first, *_ = bridge.bridges("soft_metrics", folder / "small/soft_metrics/tables")
    wanted = "dataset == 'sst' and metric == 'NS' and definition == 'released' and baseline == 'normal'"
    means = [
        pd.read_csv(folder / scale / "soft_metrics/tables/diagnosticity.csv")
        .query(f"{wanted} and ties == 'strict'")
        .value.mean()
        for scale in ("small", "base")
    ]
    assert first.ours == pytest.approx(0.69568) and first.steps[-1][2] == means[1] - means[0] < 0
    assert first.steps[-1][0] == "model" and "other model" in first.unknown


def test_a_table_that_is_not_there_has_no_value(tmp_path):
    spec = {"place": "benchmarks", "table": "nothing", "where": {"metric": "ns"}}
    assert np.isnan(bridge._value(spec, "soft_metrics", tmp_path))
