"""Tables of noiser: by hand, beside the published numbers, with what is flagged and left out."""

import numpy as np
import pandas as pd
import pytest
from sample.noiser import N, agreement, judged, needed, part_shares, record, soft
from sample.rows import cell

from faithlib import store
from faithlib.metrics.plausibility import chance
from faithlib.statistics import seeds_interval
from notebooks.noiser import tables
from replication import results


@pytest.fixture
def values(values):
    """The values as if their prompts were the paper's."""
    return values.replace({"dataset": {"world_facts": "knowns", "world_agreement": "longra"}})


def test_faithfulness_by_hand(values):
    table = tables.faithfulness(values)
    assert list(table) == tables.FAITHFULNESS
    here = {"task": "knowns", "definition": "paper"}
    row = cell(table, **here, method="noiser", setting="k_min", baseline="random")
    assert row.log_ratio == pytest.approx(np.log(2) + np.log(8)) and row.ci_low < row.log_ratio < row.ci_high
    assert (row.log_ns, row.log_nc) == pytest.approx((np.log(2), np.log(8)))
    assert (row.soft_ns, row.soft_nc) == pytest.approx((0.4, 0.8))
    assert (row.model, row.n, row.undefined) == ("tiny", N, 0) and row.published == 1.8103
    row = cell(table, **here, method="noiser", setting="k_min", baseline="matched")
    assert row.log_ratio == pytest.approx(2 * np.log(2)) and np.isnan(row.published)
    assert cell(table, **here, method="leave_one_out", baseline="random").published == 0.4645
    first = table[(table.task == "knowns") & (table.definition == "paper")]
    assert first.method.drop_duplicates().tolist() == ["attention", "leave_one_out", "noiser"]
    intact = (1.9148 + 0.3255 - 0.0110 + 1.0762) / 4  # without the two columns of which one was copied
    longra = cell(table, task="longra", method="attention", baseline="random")
    assert longra.published == pytest.approx(intact)
    noiser = cell(table, task="longra", method="noiser", baseline="random").published
    assert noiser == pytest.approx((6.8055 + 4.8072 + 3.1779 + 5.1627) / 4)  # the same four models
    assert "l2" not in set(table.setting)


def test_published_values_stand_beside_what_is_not_normalised(values):
    both = pd.concat([values, values.assign(normalisation="min-max")])
    table = tables.faithfulness(both).set_index("normalisation")
    assert table.loc["min-max"].published.isna().all() and table.loc["none"].published.notna().any()
    assert table.loc["none"].log_ratio.tolist() == pytest.approx(table.loc["min-max"].log_ratio.tolist())


def test_released_prompts_stand_beside_well_formed_ones(values):
    longra = values[values.dataset == "longra"].assign(variant="malformed-prompts")
    worse = longra.assign(soft_nc=longra.soft_nc / np.where(longra.attribution == "random", 1, 2))
    both = pd.concat([values.assign(variant=""), worse])
    table = tables.by_prompts(both)
    assert set(table.task) == {"longra"} and set(table.normalisation) == {"none"}
    ratio = table[(table.method == "noiser") & (table.baseline == "random")].set_index("prompts").log_ratio
    assert ratio["well formed"] - ratio["as released"] == pytest.approx(np.log(2))
    alone = tables.faithfulness(values)
    expected = cell(alone, task="longra", method="noiser", setting="k_min", baseline="random").log_ratio
    assert ratio["well formed"] == expected
    assert tables.by_prompts(values.assign(variant="")).empty
    beside = pd.concat(
        [both, values.assign(variant=tables.CAPITALS)]
    )  # prompts of Figure 2, of no interest here
    pd.testing.assert_frame_equal(tables.by_prompts(beside), table)


def test_prompts_without_a_value_are_counted(values):
    one = values[(values.dataset == "knowns") & (values.definition == "paper")].copy()
    one.loc[one.example == 3, ["soft_ns", "soft_ns_of_mean", "soft_nc"]] = np.nan
    row = cell(tables.faithfulness(one), method="noiser", baseline="random")
    assert (row.n, row.undefined) == (N - 1, 1) and np.isfinite([row.log_ratio, row.ci_low]).all()
    nothing = one.assign(soft_ns=one.soft_ns.where(one.attribution != "attention", 0))
    row = cell(tables.faithfulness(nothing), method="attention", baseline="random")
    assert row.log_ratio == -np.inf and np.isnan([row.ci_low, row.ci_high]).all()


def test_boundings_stand_beside_table_2(values):
    table = tables.boundings(values, [record("knowns")])
    row = cell(table, task="knowns", definition="paper", baseline="random", bounding="l2")
    assert row.published == 1.7185 and np.isnan(row.k)
    assert np.isnan(cell(table, task="longra", baseline="random", bounding="l2").published)
    row = cell(table, task="knowns", definition="paper", baseline="random", bounding="k_min")
    assert (row.k, row.flipped, row.published) == (0.2, 0.95, 1.8103)


def test_boundings_are_compared_on_the_prompts_that_have_all(values):
    some = values[~((values.setting == "l2") & (values.example >= N // 2))]
    half = values[values.example < N // 2]
    of = {"task": "knowns", "definition": "paper", "baseline": "random", "bounding": "k_min"}
    one, other = (cell(tables.boundings(v), **of).log_ratio for v in (some, half))
    assert one == pytest.approx(other)


def test_normalisations_tell_who_leads(values):
    weaker = values.attribution.eq("noiser") & values.setting.eq("k_min") & values.baseline.eq("")
    other = values.assign(normalisation="min-max", soft_nc=values.soft_nc.where(~weaker, 0.1))
    table = tables.normalisations(pd.concat([values, other]))
    here = {"task": "knowns", "definition": "paper", "baseline": "random", "question": "method"}
    row = cell(table, **here, normalisation="none")
    assert row.lead == pytest.approx(np.log(8 / 3)) and (row["rank"], row["of"]) == (1, 3)
    row = cell(table, **here, normalisation="min-max")
    assert row.lead == pytest.approx(np.log(1 / 3)) and (row["rank"], row["of"]) == (2, 3)
    assert row.best_other == "leave_one_out"
    row = cell(table, **(here | {"question": "bounding"}), normalisation="none")
    assert row.lead == pytest.approx(np.log(16 / 9)) and row.best_other == "l2"


def test_draws_are_means_over_seeds():
    rows = [
        {"attribution": name, "setting": setting, "baseline": baseline, "draw": draw, "soft_ns": ns}
        for name, setting, baseline, ns_of in (
            ("noiser", "k_min", "", (0.4, 0.8)),
            ("noiser", "k_min", "matched", (0.2, 0.2)),
            ("random", "", "random", (0.1, 0.1)),
        )
        for draw, ns in enumerate(ns_of)
    ]
    how = {"dataset": "world_facts", "model": "tiny", "definition": "paper", "normalisation": "none"}
    one = pd.DataFrame(rows).assign(soft_nc=0.5, seed=0, **how)
    two = one.assign(seed=1, soft_ns=one.soft_ns.where(one.baseline != "", one.soft_ns / 2))
    table = tables.draws(pd.concat([one, two], ignore_index=True)).set_index(["baseline", "draws"])
    assert table.log_ratio["random", 1] == pytest.approx(np.log(4) - np.log(2) / 2)
    assert table.log_ratio["random", 2] == pytest.approx(np.log(6) - np.log(2) / 2)
    error = np.log([4, 8]).std(ddof=1) / 2**0.5  # of each seed
    assert table.mc_error["random", 2] == pytest.approx(error / 2**0.5)


def test_gaps_of_seeds_are_averaged():
    gap = {"metric": "completeness_gap", "setting": "zero", "value": 0.2, "median": 0.1, "largest": 0.9}
    seeds = [record(seed=s) for s in (0, 1)]
    seeds[0]["metrics"].append(gap)
    seeds[1]["metrics"].append(gap | {"value": 0.4, "median": 0.3, "largest": 0.5})
    row = cell(tables.completeness(seeds), path_from="zero")
    assert (row["mean"], row["median"], row.largest) == pytest.approx((0.3, 0.2, 0.9))


def test_published_numbers_of_a_models_own():
    frame = pd.concat([soft("longra", f"google/{model}") for model in ("gemma-2-2b", "gemma-2-9b")])
    table = tables.faithfulness(pd.concat([frame, soft("longra", "Qwen/Qwen2-0.5B")]))
    table = table[table.baseline == "random"].pivot(index="method", columns="model", values="published")
    assert table["Qwen2-0.5B"].tolist() == [1.9148, 3.9424, 6.8055]
    assert table.loc["noiser"].tolist() == [6.8055, 4.2727, 6.1681]
    copied = table.loc[["attention", "leave_one_out"], ["gemma-2-2b", "gemma-2-9b"]]
    assert copied.isna().all(axis=None)


def test_answerability_by_hand():
    table = tables.answerability(judged("knowns"), needed("knowns"))
    row = cell(table, method="noiser", baseline="", top=1)
    assert (row.rate, row.score, row.score_all) == pytest.approx((0.7, 0.95, 0.665)) and row.n == N
    assert row.rate_ci_low < 0.7 < row.rate_ci_high and row.min_top_k == pytest.approx(0.3)
    assert (row.published_rate, row.published_score) == (0.45, 0.4381)
    row = cell(table, method="leave_one_out", baseline="", top=5)
    assert (row.rate, row.published_rate) == (pytest.approx(0.9), 0.63) and np.isnan(row.min_top_k)
    row = cell(table, method="noiser", baseline="matched", top=1)
    assert (row.rate, row.score) == pytest.approx((0.5, 0.95)) and np.isnan(row.published_rate)
    assert table.method.drop_duplicates().tolist() == ["attention", "leave_one_out", "noiser", "random"]
    assert tables.answerability(judged("knowns")).min_top_k.isna().all()


def test_beside_a_generated_task_stands_no_published_value():
    assert tables.faithfulness(soft()).published.isna().all()
    assert tables.answerability(judged()).published_rate.isna().all()
    assert tables.prompts([record()]).published.isna().all()


def test_where_every_seed_has_its_own_world_the_seed_is_the_unit():
    one = judged("world_facts")
    right = {0: 4, 1: 8, 2: 9}  # examples, of each seed
    each = [one.assign(seed=seed, place=(one.example < n).astype(int)) for seed, n in right.items()]
    row = cell(tables.answerability(pd.concat(each)), method="noiser", top=1, baseline="")
    expected = seeds_interval([4 / N, 8 / N, 9 / N])
    assert [row.rate, row.rate_ci_low, row.rate_ci_high] == pytest.approx([expected.value, *expected.ends()])
    assert row.n == 3 * N
    shares = [part_shares().assign(seed=seed, share=share) for seed, share in enumerate((0.1, 0.2, 0.6))]
    row = cell(tables.parts(pd.concat(shares)), method="noiser", part="subject")
    assert row.ci_low < 0.1 and row.ci_high > 0.5 and row.n == 3 * N


def test_evidence_parts_and_prompts():
    row = cell(tables.evidence(agreement()), method="noiser")
    assert row.auprc == pytest.approx(chance(8, 2)["auprc"] + 0.3195) and row.n == N
    row = cell(tables.parts(part_shares()), method="noiser", part="distractor")
    assert (row.share, row.chance, row.n, row.unscored) == (pytest.approx(0.1), pytest.approx(0.35), N, 0)
    row = cell(tables.prompts([record(), record(model="Qwen/Qwen2-0.5B", dataset="knowns")]), task="knowns")
    assert (row["all"], row.kept, row.share) == (100, 90, 0.9) and row.published == pytest.approx(661 / 1208)


def test_parts_are_read_where_there_are_any(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "quick" / "noiser"
    store.write_parquet(folder / "world_facts.tiny.s0.answers.parquet", judged()[["judge", "mass"]])
    with_part = record() | {"files": {"world_facts.tiny.s0.answers.parquet": "digest"}}
    frame = results.load_tables("results", "quick", "noiser", [with_part, record(seed=1)], "answers")
    assert set(frame.seed) == {0} and set(frame.dataset) == {"world_facts"} and len(frame) == len(judged())
    assert results.load_tables("results", "quick", "noiser", [with_part], "parts").empty


def test_shown_has_the_published_in_brackets(values):
    table = tables.faithfulness(values)
    paper = table[(table.baseline == "random") & (table.definition == "paper")]
    wide = tables.as_printed(paper, "log_ratio").set_index("method")
    assert wide.columns.tolist() == ["knowns, tiny", "longra, tiny"]
    assert wide.loc["Noiser", "knowns, tiny"].startswith("2.77 [") and "(1.81)" in wide.iloc[2, 0]
    assert wide.index.tolist() == ["attention α", "leave-one-out", "Noiser"]
    answers = tables.answerability(judged("knowns"))
    answers = answers[(answers.top == 1) & (answers.baseline == "")]
    wide = tables.as_printed(answers, "rate", beside="published_rate").set_index("method")
    assert wide.loc["leave-one-out"].tolist() == ["0.80 (0.51)"] and wide.loc["random"].tolist() == ["0.25"]


def test_the_bridge_of_wikibio_is_of_the_method_that_comes_nearest():
    place = results.project_root() / "results/small/noiser/tables/faithfulness.csv"
    table = pd.read_csv(place, keep_default_na=False)
    released = table.query(
        "task == 'wikitext_prompts' and definition == 'released' and normalisation == 'none'"
    )
    released = (
        released.query("baseline == 'random'").set_index("method")[["log_ratio", "published"]].astype(float)
    )
    assert released.diff(axis=1).published.abs().idxmin() == "gradient_shap" and len(released) == 10
