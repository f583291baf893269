"""Claims of fmm: each verdict on values that decide it, and when there is none."""

import json

import numpy as np
import pandas as pd
import pytest
from sample import recursive_roar as roar_sample
from sample.choices import check_rivals, main_alone, with_choices
from sample.fmm import MASKED, curves_of, every, masf_of, option_of, predictions_of, record

from faithlib.report.style import dataset_title
from notebooks.fmm import areas, claims, tables
from notebooks.fmm.card import CARD
from replication.claims import CLAIMS, intervals
from replication.results import project_root

DATASETS = ("sst2", "cola", "whereabouts_2")
UNITS = [(dataset, seed) for dataset in DATASETS for seed in range(3)]
OCCLUSION = "occlusion is the most faithful (best of it less the best gradient)"
ROAR = "more faithful than the same measures by Recursive ROAR (RACU)"
SHARE = "masked data is in distribution with masked fine-tuning (mean share of tests)"
FAITHFUL = "most explanations are faithful (share of areas above random masking)"
AT_MAJORITY = "everything masked: at or above the class majority with masked fine-tuning (models)"


@pytest.fixture(scope="module")
def records():
    rows = [record(*unit) for unit in UNITS]
    for row in rows:  # plain fine-tuning varies over seeds in its own way
        for metric in row["metrics"]:
            if metric.get("strategy") == MASKED and metric["metric"] != "converged":
                metric["value"] += 0.001 * row["params"]["seed"] ** 2
    return rows


@pytest.fixture(scope="module")
def points(records):
    """Curves of three seeds whose areas vary, of each measure in its own way."""
    values, x = every(curves_of, UNITS), None
    x = values.step / 100
    i = values.measure.map({name: i for i, name in enumerate(values.measure.unique())})
    noise = 0.004 * (values.seed - 1) * x * (1 - x) * i
    return tables.points(values.assign(value=values.value + noise), records)


@pytest.fixture(scope="module")
def tests_of(records):
    """One more test of the third seed rejects, so that shares differ."""
    made = every(masf_of, UNITS)
    worse = (made.strategy == MASKED) & (made.seed == 2) & (made.measure == "random") & (made.ratio == 50)
    return tables.with_convergence(made.assign(p=made.p.where(~worse, 0.01)), records)


def table_of(scores, points, *inputs, **more):
    return main_alone(claims, scores, {"main": points}, *inputs, index="claim", **more)


def test_claims_say_what_the_values_were_made_to_say(records, points, tests_of):
    inputs = tables.scores(records), {"main": points}, tests_of
    verdicts, choices = with_choices(claims, *inputs, choices=["area", "fully masked test"])
    assert list(verdicts) == CLAIMS and set(verdicts.definition) == {"paper", "released", "calibrated"}
    table = verdicts[verdicts.definition == "paper"].set_index("claim")

    def expect(start, verdict, value, of=""):
        (row,) = table[table.index.str.startswith(start)].reset_index().to_dict("records")
        assert row["value"] == pytest.approx(value, abs=2e-3), start
        assert row["verdict"] == verdict, row
        assert row["published_cases"] == of
        return row

    row = expect("masked fine-tuning loses no performance:", "holds", -0.01 + 0.005 / 3)
    assert (row["model"], row["unit"], row["n_units"]) == ("MiniLM", "seed", 3)
    for start in ("everything masked: below", AT_MAJORITY):  # of 9 models: Clopper–Pearson
        row = expect(start, "holds", 1)
        assert (row["unit"], row["n_units"], row["ci_low"]) == ("model", 9, pytest.approx(0.025 ** (1 / 9)))
    for start in (OCCLUSION, "signed above absolute: lea"):
        row = expect(start, "holds", 0.5 * 0.225)
        assert np.isnan(row["published"]) and row["cases"] == "; ".join(DATASETS)  # one is generated
    expect("occlusion is the most faithful among", "holds", 0.1 * 0.225)
    row = expect("signed above absolute: x∇x", "does not hold", -0.4 * 0.225)
    assert row["failing_cases"] == row["cases"]
    expect("signed above absolute: integrated", "holds", 0.2 * 0.225)
    expect("Beam at or above", "holds", 0.1 * 0.225)
    expect("x∇x is the worst", "holds", (0.2 + 0.2) * 0.225)
    row = expect("most explanations are faithful", "undecided", 8 / 9)  # all but x∇x, with every seed
    assert row["reason"] == "all values are equal"
    json.dumps(verdicts.to_dict("records"))
    assert {"area", "fully masked test"} < set(choices.choice)


def test_published_values_are_of_the_same_data_sets_and_measures(records, points):
    """By hand from Table 11, RoBERTa-base: CoLA's Beam less leave-one-out; the best of each family."""
    published = claims._published().loc["cola"]
    others = published.drop(["leave_one_out", "leave_one_out_abs", "beam"]).max()
    row = table_of(tables.scores(records), points[points.dataset == "cola"]).loc[OCCLUSION]
    occlusion = published[["leave_one_out", "leave_one_out_abs", "beam"]].max()
    assert row.published == pytest.approx(occlusion - others)
    assert row.published_cases == "cola"
    without = points[(points.dataset == "cola") & (points.measure != "beam")]
    row = table_of(tables.scores(records), without).loc[OCCLUSION]
    less = published[["leave_one_out", "leave_one_out_abs"]].max()
    assert row.published == pytest.approx(less - others)


def test_an_interval_ends_where_the_statistic_does(records, tests_of):
    """Shares of 0, 1 and 1 more than with plain fine-tuning: t over seeds would reach beyond 1."""
    fails = (tests_of.strategy != MASKED) & (tests_of.seed > 0) & (tests_of.measure != "validation")
    changed = tests_of.assign(p=np.where(fails, 0.001, 1.0), p_fisher=1.0)
    more = list(claims._in_distribution(changed[changed.dataset == "cola"], True, "Simes"))[1]
    (interval,) = intervals(more).values()
    estimate = interval.value, interval.low, interval.high
    assert estimate == pytest.approx((2 / 3, -0.768, 1), abs=1e-3)


def test_two_seeds_have_values_and_no_verdict(records, points, tests_of):
    two = [r for r in records if r["params"]["seed"] < 2]
    table = table_of(tables.scores(two), points[points.seed < 2], tests_of[tests_of.seed < 2])
    assert table.verdict[OCCLUSION] == "undecided"
    assert table.reason[OCCLUSION] == "2 seeds: an interval needs 3"
    assert table.value[OCCLUSION] == pytest.approx(0.5 * 0.225, abs=2e-3)
    table = table[~table.index.str.endswith("(models)")]  # six models are counted
    assert set(table.verdict) == {"undecided", "not tested"} and table.ci_low.isna().all()
    assert areas.racu(points[points.seed == 0]).acu_low.isna().all()


def test_a_data_set_of_one_seed_is_in_a_second_line_only(records, points):
    some = points[(points.dataset != "cola") | (points.seed == 0)]
    table = table_of(tables.scores(records), some)
    assert table.loc[OCCLUSION, ["cases", "other_cases"]].tolist() == ["sst2; whereabouts_2", "cola"]
    assert table.verdict[f"{OCCLUSION} (all data sets, no interval)"] == ""


def test_the_fully_masked_test_counts_once(records, points, tests_of):
    scores = tables.scores(records)
    row = table_of(scores, points, tests_of).loc[SHARE].iloc[0]
    mean, half = (18 + 18 + 17) / 3 / 19, 2.446912 / 3 / 19 / 3**0.5  # t(.975, 6) · sd / √(3 · 3), sd of them
    assert [row.value, row.ci_low, row.ci_high] == pytest.approx([mean, mean - half, mean + half], abs=1e-6)
    assert row.verdict == "undecided" and row.unit == "seed"  # .95 is in it
    again = with_choices(claims, scores, {"main": points}, tests_of, choices=["fully masked test"])[1]
    again = again[again.option == "counted for every measure"]
    assert again.value[again.claim == SHARE].tolist() == pytest.approx([(19 + 19 + 18) / 3 / 20] * 3)


def test_against_recursive_roar_only_the_same_architecture_counts(records, points):
    scores = tables.scores(records)
    row = table_of(scores, points).loc[ROAR]
    reason = "no data set has Recursive ROAR's records of the same architecture"
    assert (row.verdict, row.reason) == ("not tested", reason) and np.isnan(row.published)

    def curve(shape, measure, seed, model):
        noise = 0.02 * seed * roar_sample.STEPS / 100 * (1 - roar_sample.STEPS / 100)
        columns = {"dataset": "sst", "metric": "macro_f1", "model": model, "seed": seed}
        return roar_sample.curve(shape + noise * (measure != "random"), measure, **columns)

    def roar_of(model):
        some = (roar_sample.LINE, "random"), (roar_sample.LINE, "gradient_l2")
        values = pd.concat([curve(*one, s, model) for one in some for s in range(3)])
        return values.assign(model=model)

    assert table_of(scores, points, roar=roar_of("bilstm")).reason[ROAR] == reason
    row = table_of(scores, points, roar=roar_of("MiniLM")).loc[ROAR]
    assert (row.verdict, row.n_units, row.cases) == ("holds", 3, "sst2")
    assert row.value == pytest.approx(0.36, abs=0.03)  # RACU of gradient_l2, less about 0
    assert row.published == pytest.approx(0.404 - 0.261) and row.published_cases == "sst2"
    fewer = table_of(scores, points, roar=roar_of("MiniLM").assign(variant="1500-texts")).loc[ROAR]
    assert fewer.verdict == "undecided"
    assert fewer.reason == "Recursive ROAR was run with 1500-texts only"
    assert fewer.value == pytest.approx(row.value) and np.isnan(fewer.ci_low)


def test_a_flat_random_curve_is_counted_takes_no_part_and_is_kept_as_an_option(records, points):
    flat = points.assign(value=points.value.where(points.dataset != "sst2", 0.5 + 0.001 * points.seed))
    masked = flat[flat.strategy == MASKED]
    assert areas.areas(masked, "RACU")["sst2", "MiniLM"].isna().all(axis=None)
    counted = areas.racu(masked).groupby("dataset").flat.first()
    assert counted.to_dict() == {"sst2": 3, "cola": 0, "whereabouts_2": 0}
    scores = tables.scores(records)
    verdicts, choices = with_choices(claims, scores, {"main": flat}, choices=["flat random curves"])
    row = verdicts.set_index("claim").loc[OCCLUSION]
    assert row.cases == "cola; whereabouts_2" and row.value == pytest.approx(0.5 * 0.225, abs=2e-3)
    kept = choices[choices.claim == OCCLUSION].set_index("option").value["kept"]
    assert kept == pytest.approx(0.5 * 0.225 * 2 / 3, abs=2e-3)


def test_a_data_set_below_the_gate_takes_no_part(records, points, tests_of):
    gate = pd.DataFrame({"dataset": ["sst2"], "model": "MiniLM", "accepted": [False]})
    verdicts, choices = with_choices(claims, tables.scores(records), {"main": points}, tests_of, gate=gate)
    table = verdicts.set_index("claim")
    assert table.cases[OCCLUSION] == "cola; whereabouts_2" == table.cases[SHARE].iloc[0]
    assert "those below the gate as well" in set(choices.option)
    gate = pd.DataFrame({"dataset": DATASETS, "model": "MiniLM", "accepted": False})
    none = table_of(tables.scores(records), points, gate=gate)
    assert none.verdict[OCCLUSION] == "not tested"
    assert none.reason[OCCLUSION] == "no data set passes the gate"


def test_the_gate_takes_the_papers_score_or_balanced_accuracy(records):
    gate = tables.gates(records).set_index("dataset")
    assert gate.accepted["sst2"] and gate.chance["sst2"] == 0.5 and gate.chance["cola"] == 0
    assert gate.value["sst2"] == pytest.approx(
        0.9 + 0.005 / 3
    )  # balanced accuracy, where the paper has accuracy
    low = [r | {"metrics": [m | {"value": 0.52} for m in r["metrics"]]} for r in records]
    reason = tables.gates(low).set_index("dataset").reason["cola"]
    assert reason.endswith("balanced accuracy 0.520 is less than 0.05 above chance (0.500)")


def test_what_only_masking_and_the_chosen_epoch_do(records, points):
    table = table_of(tables.scores(records), points)
    assert table.value["only masking loses performance on whole texts"] == pytest.approx(0.11)  # than plain
    (kept,) = table.index[table.index.str.contains("class majority with only masking")]
    assert table.value[kept] == 1
    of = table.index.str.contains("copy chooses|copy.s epoch")  # no record of these strategies
    assert table.verdict[of].tolist() == ["not tested"] * 3
    assert set(table.reason[of]) == {"no record has what it needs"}


def test_options_that_records_have_are_in_the_multiverse(records, points, tests_of):
    values = every(curves_of, UNITS)
    more = pd.concat([values, option_of(values), option_of(values, "predicted label", 0.6)])
    options = areas.options(more, records, every(predictions_of, UNITS))
    assert list(options) == ["main", "main, correctly predicted", "predicted label", "released"]
    of_both = every(predictions_of, UNITS)
    of_both = pd.concat([of_both, of_both[of_both.measure == "beam"].assign(option="predicted label")])
    assert "predicted label, correctly predicted" in areas.options(more, records, of_both)
    both = {"texts": "correctly predicted", "explained_label": "predicted"}
    assert claims.statements(tables.scores(records), options, tests_of, **both) is None  # not the label alone
    of = ["texts", "explained label", "integrated gradients", "occlusion", "p of a data set"]
    _, choices = with_choices(claims, tables.scores(records), options, tests_of, choices=of)
    signed = choices[choices.claim == "signed above absolute: integrated gradients"]
    value = signed.set_index("option").value
    assert value["as released"] - value["main"] == pytest.approx(0.6 * 0.225)
    assert np.isnan(value["from padding"])  # no records
    assert "predicted" not in value  # it has the same values
    assert set(choices[choices.option == "leave-one-out alone"].claim) == {OCCLUSION, FAITHFUL}
    fisher = choices[(choices.option == "Fisher") & (choices.claim == SHARE)]
    assert fisher.value.tolist() == pytest.approx([8 / 19] * 3)  # 10 to 40 % of two measures, of 19 tests


def test_seeds_that_did_not_converge_may_leave_nothing(records, points):
    gate = pd.DataFrame({"dataset": DATASETS, "model": "MiniLM", "accepted": True})
    none = points.assign(converged=False)
    scores = tables.scores(records).assign(converged=False)
    verdicts, choices = with_choices(claims, scores, {"main": none}, gate=gate, choices=["unconverged seeds"])
    assert OCCLUSION in set(verdicts.claim)
    assert set(choices[choices.choice == "unconverged seeds"].verdict) == {"not tested"}  # nothing is left


def test_the_card_says_what_the_explained_label_decides():
    root = project_root()
    table = pd.read_csv(root / "results/small/fmm/choices.csv").set_index(["claim", "option"])
    card = (root / "notebooks/fmm/README.md").read_text(encoding="utf-8")
    table = table[(table.definition == "paper") & (table.baseline == "random")]
    main, predicted = table.xs("main", level="option"), table.xs("predicted", level="option")
    signed = [claim for claim in main.index if claim.startswith("signed above absolute")]
    smaller = predicted.value[[OCCLUSION, *signed]] < main.value[[OCCLUSION, *signed]] / 2
    assert len(signed) == 3 and ("less than half as large" in card) == smaller.all()
    unclear = predicted.index[(predicted.ci_low < 0) & (predicted.ci_high > 0) & (main.verdict == "holds")]
    phrases = {
        "signed above absolute: x∇x": "of x∇x over its absolute value",
        "Beam at or above leave-one-out": "of Beam over leave-one-out",
    }
    assert set(unclear) == set(phrases)
    assert all(words in card for words in (*phrases.values(), "can no longer be distinguished from zero"))
    curves = pd.read_csv(root / "results/small/fmm/tables/curves.csv")
    lowest = curves[(curves.measure == "leave_one_out") & (curves.metric == "mcc")].value.min()
    assert ("takes the model of CoLA below chance" in card) == (lowest < 0)


def test_the_card_names_the_data_sets_that_take_part_in_no_claim():
    root = project_root()
    gates = pd.read_csv(root / "results/small/fmm/tables/gates.csv")
    refused = [dataset_title(name) for name in gates.dataset[~gates.accepted]]
    card = (root / "notebooks/fmm/README.md").read_text(encoding="utf-8")
    assert refused == ["BoolQ", "CommitmentBank", "RTE"]
    assert "BoolQ, CB and RTE are not above chance" in card
    assert "these three take part in no claim" in card


def test_the_card_says_how_many_training_texts_there_are():
    root, sizes = project_root(), {}
    for path in root.glob("results/small/fmm/*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        sizes[record["params"]["task"]] = record["provenance"]["data"]["rows"]["train"]
    card = (root / "notebooks/fmm/README.md").read_text(encoding="utf-8")
    words = "SST-2 has {sst2:,}, IMDB {imdb:,}, SNLI {snli:,} and BoolQ {boolq:,}."
    assert words.format(**sizes) in card


def test_the_card_says_what_recursive_roar_has_more_of():
    root = project_root()
    table = pd.read_csv(root / "results/small/fmm/tables/racu.csv")
    both = table[(table.roar_of.str.startswith("ours")) & (table.strategy == tables.MASKED)]
    card = (root / "notebooks/fmm/README.md").read_text(encoding="utf-8")
    assert len(both) == 3 and (both.roar_acu > both.acu).sum() == 2 and (both.racu > both.roar).all()
    assert "in ACU, Recursive ROAR has the larger area for two of the three measures" in card


def test_the_card_says_how_often_the_control_is_rejected():
    folder = project_root() / "results/small/fmm/tables"
    table, gates = pd.read_csv(folder / "masf.csv"), pd.read_csv(folder / "gates.csv")
    table = table[table.dataset.isin(gates.dataset[gates.accepted]) & (table.measure == "validation")]
    card = (project_root() / "notebooks/fmm/README.md").read_text(encoding="utf-8")
    masked, plain = (table[table.strategy == name] for name in (tables.MASKED, tables.PLAIN))

    def shares(column):
        for of in (masked, plain):
            yield f"{100 * of[column].min():.0f} to {100 * of[column].max():.0f} %"

    said = "{} of single control texts have p < 0.05 after masked fine-tuning and {} after plain"
    assert len(masked) == len(plain) == 5 and said.format(*shares("share_paper")) in card
    assert "calibrated, {} and {}".format(*shares("share_calibrated")) in card
    both = pd.concat([masked, plain])
    assert (both.fisher_paper < 0.05).all() and (both.fisher_released == 1).all()
    every = pd.read_csv(folder / "masf.csv")
    every = every[every.dataset.isin(gates.dataset[gates.accepted]) & (every.strategy == tables.PLAIN)]
    assert (every.fisher_released == 1).all()  # "rejects nothing"


def test_an_unconverged_seed_is_left_out_of_scores_curves_and_tests(records, points, tests_of):
    of = tables.scores(records), points, tests_of
    scores, curves, masf = (table.assign(converged=table.seed != 2) for table in of)
    option = CARD.choices["unconverged seeds"][1]
    made = claims.statements(scores, {"main": curves}, masf, unconverged_seeds=option)
    of_seeds = [c for c in made if not isinstance(c.values, dict) and len(c.values)]
    assert all(set(c.values.seed) <= {0, 1} for c in of_seeds)
    assert {OCCLUSION, SHARE} <= {c.claim for c in of_seeds}
    (models,) = [next(iter(c.values.values())) for c in made if c.claim == AT_MAJORITY]
    assert models.n_units == 6


def test_a_lead_hands_over_the_lead_over_each_other(records, points):
    made = claims.statements(tables.scores(records), {"main": points})
    (lead,) = [c for c in made if c.claim == OCCLUSION and c.definition == "paper"]
    check_rivals(lead)


def test_models_at_the_majority_are_counted(records, points):
    """Within .01 of it counts: 7 of 9 do, by Clopper and Pearson's table from .400 to .972."""
    scores = tables.scores(records)
    masked = (scores.strategy == MASKED) & (scores.masked == 100) & (scores.dataset == "sst2")
    below = scores.seed.map({0: 0.495, 1: 0.485, 2: 0.485})
    row = table_of(scores.assign(value=scores.value.where(~masked, below)), points).loc[AT_MAJORITY]
    estimate = [row.value, row.ci_low, row.ci_high]
    assert estimate == pytest.approx([7 / 9, 0.39991, 0.97186], abs=1e-5)
    assert (row.verdict, row.unit, row.n_units) == ("undecided", "model", 9)


def test_shares_of_faithful_measures_and_the_worst_of_them_by_hand():
    """Areas of three seeds, and of one whose random curve is flat."""
    measures = ["leave_one_out", "gradient_l2", "input_x_gradient", "beam"]
    rows = [[0.2, 0.1, -0.1, 0.3], [0.2, -0.1, -0.2, 0.3], [0.2, 0.1, 0.05, 0.3], [np.nan] * 4]
    acu = pd.DataFrame(rows, pd.RangeIndex(4, name="seed"), measures)
    made = {c.claim: c for c in claims._faithfulness({("sst2", "MiniLM"): acu}, "ACU")}
    share, worst = made[FAITHFUL], made["x∇x is the worst (lead of the next over it)"]
    assert share.values.value.tolist() == [3 / 4, 2 / 4, 4 / 4]
    assert (share.relation, share.threshold) == (">", 0.5)
    assert worst.values.value.tolist() == pytest.approx([0.1 + 0.1, -0.1 + 0.2, 0.1 - 0.05])
    published = claims._published().loc["sst2", measures]
    assert share.published["sst2"] == (published > 0).mean()
    assert worst.published["sst2"] == pytest.approx(
        published.drop("input_x_gradient").min() - published.input_x_gradient
    )
