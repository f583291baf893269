"""Claims of recursive_roar: each verdict on values that decide it, and when there is none."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sample.choices import check_rivals, main_alone, with_choices
from sample.recursive_roar import DROP, LINE, STEPS, curve, record

from notebooks.recursive_roar import claims, tables
from notebooks.recursive_roar.card import CARD
from replication.claims import CLAIMS
from replication.multiverse import COUNTS
from replication.results import project_root
from replication.tables import select

MODELS = "a measure's faithfulness differs between models (difference of ACU, each direction a case)"
TASKS = "which of two measures is more faithful depends on the task (weaker lead, ACU)"
EARLY = "the first 20 % take more performance than 20 % at random (mean over measures)"
RECURSION = "Recursive ROAR finds measures more faithful than ROAR (ACU, mean over measures)"
LEAKAGE = "class leakage on bAbI: performance rises with masking, by more than .01 (mean over measures)"
GRADIENT = "a cheaper gradient is somewhere more faithful than integrated gradients (ACU)"


@pytest.fixture(scope="module")
def points(points):
    """Curves whose areas vary over seeds, of each measure in its own way."""
    x = points.step / 100
    i = points.measure.map({name: i for i, name in enumerate(points.measure.unique())})
    noise = 0.01 * points.seed * x * (1 - x) * i / 4 * (1 + points.recursive / 2)
    return points.assign(value=points.value + noise)


table_of = partial(main_alone, claims, index="claim")


@pytest.fixture(scope="module")
def of_points(points):
    """(claims, choices) of the curves as they are."""
    return claims.claims(points)


def test_kinds_of_models_are_not_averaged(points):
    """The BiLSTM's claims stay what they are; encoders have their own, where there are any."""
    encoder = points[points.measure != "attention"].assign(model="a/b", variant=tables.SAME_TEXTS)
    both, alone = table_of(pd.concat([points, encoder])), table_of(points)
    for claim in (EARLY, RECURSION):
        twin = claim.replace(")", ", an encoder)")
        assert twin in both.index and twin not in alone.index
        same = both.columns.drop(COUNTS)
        assert both.loc[claim, same].equals(alone.loc[claim, same]) and both.cases[twin] == both.cases[claim]


def test_claims_say_what_the_curves_were_made_to_say(points, of_points):
    verdicts, choices = of_points
    table = verdicts.set_index("claim")
    assert list(verdicts) == CLAIMS and table.verdict[MODELS] == "not tested"
    assert table.reason[MODELS] == "no record has what it needs"
    assert MODELS not in table_of(points, "quick").index
    attention = table.loc["attention is faithful (ACU)"]
    assert attention[["verdict", "model", "unit", "n_units"]].tolist() == ["holds", "bilstm", "seed", 3]
    assert attention.value == pytest.approx(0.225, abs=1e-2)  # trapezoids between LINE and DROP
    held = [TASKS, GRADIENT, EARLY, "attention leads the other measures (ACU)"]
    assert table.verdict[held].tolist() == ["holds"] * 4
    tasks = "integrated_gradients_abs above gradient_l2 on babi_1 and below on sst"
    assert tasks in table.shown_on[TASKS] and table.shown_on[GRADIENT] == "sst: gradient_l2"
    shares = [(0.9 - 0.5) + (0.9 - 0.7) + 0]  # of attention, the half-way and the rising curve at 20 %
    assert table.value[EARLY] == pytest.approx(np.mean(shares) / 3, abs=1e-2)
    assert table.value[RECURSION] == pytest.approx(0.1125 / 3, abs=1e-2)  # attention gains, the others do not
    varied = set(choices.choice)
    assert {"area", "masking levels", "share of random"} <= varied <= {"main", *CARD.choices}


def test_the_ratio_is_printed_beside_the_published_one_of_the_same_data_sets(points):
    row = table_of(points).loc["attention is faithful (RACU, clipped as published)"]
    assert (row.verdict, row.reason) == ("not tested", "a ratio: its numerator, ACU, is tested")
    assert np.isnan(row.ci_low)
    assert row.value == pytest.approx(0.9, abs=2e-2)
    assert row.published == pytest.approx((0.665 + 0.157) / 2)  # Table 2: bAbI-1 and SST, no other
    assert row.published_cases == "babi_1; sst"


def test_two_models_are_compared_where_their_settings_are_equal(points):
    other = points[points.dataset == "sst"].assign(model="other")
    attention = other.measure == "attention"
    other.loc[attention, "value"] = 1 - (1 - other[attention].value) * 0.2
    both = pd.concat([points, other])
    row = table_of(both).loc[MODELS]
    assert row.verdict == "holds" and row.shown_on.startswith("sst: attention (bilstm above other)")
    one, two = record("sst"), record("sst", model="other")
    one["params"]["ig_steps"], two["params"]["ig_steps"] = 50, 10
    row = table_of(both, records=[one, two]).loc[MODELS]
    assert (row.verdict, row.reason) == ("undecided", "settings differ: ig_steps") and np.isnan(row.ci_low)
    encoder = table_of(both).loc["an encoder's attention is faithful (ACU)"]
    assert (encoder.model, encoder.n_units) == ("other", 3) and np.isnan(encoder.published)


def test_two_models_on_the_same_texts_are_compared_and_the_main_setting_stays(points):
    same = points[points.dataset == "sst"].assign(variant=tables.SAME_TEXTS)
    attention = same.measure == "attention"
    other = same.assign(model="other", value=same.value.where(~attention, 1 - (1 - same.value) * 0.2))
    both, records = pd.concat([points, same, other]), [record("sst")]
    records[0]["params"]["ig_steps"] = 50  # of all texts
    records += [record("sst", model=model, variant=tables.SAME_TEXTS) for model in ("bilstm", "other")]
    table, before = table_of(both, records=records), table_of(points, records=records[:1])
    assert table.verdict[MODELS] == "holds"
    assert table.shown_on[MODELS].startswith("sst: attention (bilstm above other)")
    for claim in ("attention is faithful (ACU)", TASKS):
        assert table.loc[claim, ["cases", "value"]].tolist() == before.loc[claim, ["cases", "value"]].tolist()
    encoder = table.loc["an encoder's attention is faithful (ACU)"]
    assert (encoder.model, encoder.n_units) == ("other", 3)
    gate = pd.DataFrame({"dataset": "sst", "model": ["bilstm", "other"], "variant": tables.SAME_TEXTS})
    refused = gate.assign(accepted=[False, True])
    assert table_of(both, records=records, gate=refused).reason[MODELS] == "settings differ: ig_steps"


def test_six_outputs_are_an_option_of_the_claims_about_babi(points):
    claim = "attention is faithful (ACU)"
    babi = points[points.dataset == "babi_1"]
    changed = (babi.measure == "attention") & babi.recursive & babi.step.between(1, 99)
    six = babi.assign(variant="6-outputs", value=babi.value.where(~changed, babi.value + 0.1))
    _, choices = with_choices(claims, pd.concat([points, six]), choices=["outputs of bAbI"])
    row = choices[(choices.claim == claim) & (choices.option == "6")].iloc[0]
    main = choices[(choices.claim == claim) & (choices.choice == "main")].iloc[0]
    # SST stays as it is, bAbI-1 loses nine levels of .1, each .1 wide; the mean is over the two.
    assert row.value == pytest.approx(main.value - 0.09 / 2) and row.verdict == "holds"
    _, without = with_choices(claims, points, choices=["outputs of bAbI"])
    assert set(without[without.option == "6"].verdict) == {"not tested"}


def test_the_released_form_takes_the_place_of_integrated_gradients(points):
    gradients = points[points.measure == "integrated_gradients_abs"]
    released = gradients.assign(measure="weighted_integrated_gradients_abs", value=gradients.value * 0.5)
    table, choices = with_choices(claims, pd.concat([points, released]), choices=["integrated gradients"])
    first = main_alone(claims, points)
    assert table.set_index("claim").value[RECURSION] == first.set_index("claim").value[RECURSION]
    lead = choices[choices.claim == "attention leads the other measures (ACU)"].set_index("option")
    assert lead.value["released"] < 0 < lead.value["main"]
    printed = "attention leads the other measures (RACU, clipped as published)"
    assert table.set_index("claim").value[printed] < 0  # the published one is of the released form too


def test_two_seeds_have_values_and_no_verdict(points):
    table = table_of(points[points.seed < 2])
    row = table.loc["attention is faithful (ACU)"]
    assert (row.verdict, row.reason) == ("undecided", "2 seeds: an interval needs 3")
    assert row.value == pytest.approx(0.225, abs=1e-2)
    assert table.ci_low.isna().all() and set(table.verdict) == {"undecided", "not tested"}


def test_quick_runs_have_numbers_and_no_verdicts(points):
    table = table_of(points, scale="quick")
    assert set(table.verdict) == {""} and table.published.isna().all() and table.value.notna().all()


def test_a_verdict_depends_on_opposite_data_sets_which_have_rows_of_their_own(points):
    inside = points.recursive & (points.measure != "random") & points.step.between(1, 99)
    by = points.dataset.map({"sst": 0.3, "babi_1": -0.2})
    points = points.assign(value=points.value.where(~inside, points.value + by))
    table = table_of(points)
    said = ["depends", "the data set", "above on babi_1, below on sst"]
    assert table.loc[RECURSION, ["verdict", "depends_on", "reason"]].tolist() == said
    each = table.verdict[[f"{RECURSION}: babi_1", f"{RECURSION}: sst"]]
    assert each.tolist() == ["holds", "does not hold"]


def test_leakage_is_a_rise_with_masking(points):
    rising = points.recursive & (points.dataset == "babi_1") & points.step.between(50, 90)
    rising &= points.measure != "random"
    assert table_of(points).verdict[LEAKAGE] == "does not hold"
    points = points.assign(value=points.value.where(~rising, points.value + 0.5))
    row = table_of(points).loc[LEAKAGE]
    assert row.verdict == "holds" and row.cases == "babi_1"


def test_a_collapsed_model_is_counted_and_interpolated_over(points):
    at = points.recursive & (points.measure == "attention") & (points.step == 50) & (points.seed == 1)
    at &= points.dataset == "sst"
    classes = points.classes_predicted.where(~at, 1)
    points = points.assign(classes_predicted=classes, value=points.value.where(~at, 0.0))
    racu = tables.racu(points).set_index(["dataset", "recursive", "measure"]).collapsed
    assert racu["sst", True, "attention"] == 1 and racu.sum() == 1
    curve = tables.complete_curves(points, "interpolated over")["sst", "bilstm", True].loc["attention", 1]
    assert curve[50] == pytest.approx((curve[40] + curve[60]) / 2)
    assert tables.complete_curves(points)["sst", "bilstm", True].loc["attention", 1][50] == 0


def test_a_data_set_below_the_gate_takes_no_part(points):
    gate = pd.DataFrame({"dataset": ["babi_1", "sst"], "model": "bilstm", "variant": ""})
    gate["accepted"] = [True, False]
    table = table_of(points, gate=gate)
    assert table.cases["attention is faithful (ACU)"] == "babi_1"
    assert table.loc[TASKS, ["verdict", "reason"]].tolist() == ["not tested", "no record has what it needs"]
    none = table_of(points, gate=gate.assign(accepted=False)).loc["attention is faithful (ACU)"]
    assert (none.verdict, none.reason) == ("not tested", "no data set passes the gate")
    assert claims.cases(points, gate=gate.assign(accepted=False)).empty


def test_the_gate_is_on_macro_f1_before_masking(points):
    values = points.assign(metric="macro_f1", value=points.value.where(points.dataset != "sst", 0.5))
    gate = tables.gates(values).set_index("dataset")
    assert gate.accepted.to_dict() == {"babi_1": True, "sst": False}
    assert "is not above chance (0.500)" in gate.reason["sst"]


def test_another_data_set_leaves_every_other_interval_as_it_is(points):
    one = claims.cases(points[points.dataset == "sst"])
    both = claims.cases(points)
    claim = "attention is faithful (ACU)"
    rows = [t[(t.claim == claim) & (t.case == "sst")][["value", "ci_low", "ci_high"]] for t in (one, both)]
    assert rows[0].to_numpy().tolist() == rows[1].to_numpy().tolist() != []


def test_flat_random_curves_are_counted_take_no_part_and_are_kept_as_an_option(points):
    flat = (points.measure == "random") & (points.dataset == "sst")
    points = points.assign(value=points.value.where(~flat, 0.6))
    assert tables.racu(points).groupby("dataset").flat.first().to_dict() == {"babi_1": 0, "sst": 3}
    table, choices = with_choices(claims, points, choices=["flat random curves"])
    faithful = "attention is faithful (ACU)"
    table, kept = table.set_index("claim"), choices[choices.option == "kept"].set_index("claim").value
    assert table.cases[faithful] == "babi_1" and table.value[faithful] == pytest.approx(0.225, abs=1e-2)
    assert kept[faithful] == pytest.approx((0.225 + 0.6 - 0.525) / 2, abs=1e-2)  # below .6: DROP has .525
    assert table.cases[EARLY] == "babi_1; sst" and table.verdict[TASKS] == "not tested"


def test_the_mean_over_cheap_gradients_by_hand():
    """One is at the end at once (an area of .225), the other half way, as integrated gradients are."""
    x, half = STEPS / 100, (LINE + DROP) / 2
    shapes = {"random": LINE, "gradient_l2": DROP, "input_x_gradient_abs": half}
    shapes |= {"integrated_gradients_abs": half, "attention": 0 * LINE}
    parts = [
        curve(shape - 0.1 * seed * x * (1 - x) * (name == "gradient_l2"), name, seed=seed)
        for name, shape in shapes.items()
        for seed in range(3)
    ]
    curves = tables.complete_curves(tables.points(pd.concat(parts, ignore_index=True)))
    somewhere, mean = claims._cheaper_gradient(claims.areas(curves))
    by_hand = [(0.225 - 0.1125 + 0.1 * seed * 0.165) / 2 for seed in range(3)]  # trapezoids of x (1 - x)
    assert mean.values.value.tolist() == pytest.approx(by_hand)
    claim = "a cheaper gradient is more faithful than integrated gradients (ACU, mean over gradients)"
    assert mean.claim == claim
    gains = {case.part: interval.value for case, interval in somewhere.values.items()}
    by_hand = {"gradient_l2": 0.1125 + 0.1 * 0.165, "input_x_gradient_abs": 0}
    assert gains == pytest.approx(by_hand)


def test_attention_is_sparser_by_what_it_has_above_the_next_measure(points):
    shares = {"attention": [0.6, 0.61, 0.62], "gradient_l2": [0.5, 0.49, 0.4], "random": [0.3, 0.3, 0.5]}
    rows = [
        {"measure": name, "seed": seed, "share": share}
        for name, of_seeds in shares.items()
        for seed, share in enumerate(of_seeds)
    ]
    bilstm = pd.DataFrame(rows).assign(
        dataset="sst", model="bilstm", variant="", job="unmasked", by="ratio", top=20
    )
    other = {"job": "attention.True.50", "by": "count", "top": 10, "variant": tables.SAME_TEXTS}
    others = [bilstm.assign(share=0.9, **{column: value}) for column, value in other.items()]
    encoder = bilstm.assign(model="other", share=1 - bilstm.share)
    table = table_of(points, shares=pd.concat([bilstm, *others, encoder]))
    claim = "attention is sparser than the other measures (share of importance on the top 20 %{})"
    row, of_encoder = table.loc[claim.format("")], table.loc[claim.format(", an encoder")]
    leads = np.array([0.1, 0.12, 0.12])
    half = 4.302653 * leads.std(ddof=1) / 3**0.5
    assert [row.value, row.ci_low] == pytest.approx([leads.mean(), leads.mean() - half], abs=1e-6)
    assert row[["verdict", "cases", "baseline"]].tolist() == ["holds", "sst", "none"]
    assert of_encoder.value == pytest.approx(-(0.3 + 0.31 + 0.22) / 3)  # behind two that change places
    assert of_encoder[["verdict", "reason"]].tolist() == ["undecided", "no single other is shown to be ahead"]
    (made,) = claims._sparser(bilstm)
    check_rivals(made)


def test_a_lead_hands_over_the_lead_over_each_other(points):
    of_lead = [c for c in claims.statements(points) if "attention leads the other measures (ACU" in c.claim]
    made = [c for c in of_lead if len(c.values)]  # there is no encoder
    assert made
    for lead in made:
        check_rivals(lead)


def test_what_random_loses_at_20_per_cent_is_measured_or_a_line(points):
    """The main setting takes the random curve as it is at 20 %, the option the line between its ends."""
    bent = points.assign(value=points.value - 0.1 * ((points.measure == "random") & (points.step == 20)))

    def early(**option):
        (claim,) = [c for c in claims.statements(bent, **option) if c.claim == EARLY]
        return claim.values.value.mean()

    option = {"share_of_random": CARD.choices["share of random"][1]}
    assert early(**option) - early() == pytest.approx(0.1, abs=5e-3)


def test_every_second_masking_level_ends_at_both_ends(points):
    whole = tables.complete_curves(points)
    some = tables.complete_curves(points, masking_levels="every second")
    assert some.keys() == whole.keys() and some
    for key, table in some.items():
        assert table.columns.tolist() == [0, 20, 40, 60, 80, 100]
        pd.testing.assert_frame_equal(table, whole[key][table.columns])


def test_a_rise_counts_from_one_per_cent_on(points):
    thresholds = {(c.relation, c.threshold) for c in claims.statements(points) if "rises" in c.claim}
    assert thresholds == {(">", 0.01)}


def test_the_card_says_what_fewer_training_texts_leave_of_the_verdicts():
    root = project_root()
    choices = pd.read_csv(root / "results/small/recursive_roar/choices.csv")
    verdicts = {option: rows.set_index("claim").verdict for option, rows in choices.groupby("option")}
    fewer = verdicts["1,500"]
    held = verdicts["main"][fewer.index] == "holds"
    assert fewer.index[held & (fewer != "holds")].tolist() == [f"{RECURSION}: sst"]
    card = (root / "notebooks/recursive_roar/README.md").read_text(encoding="utf-8")
    assert "BiLSTM on SST, that recursion finds measures more faithful there is no longer shown" in card


def test_the_card_says_what_the_model_of_snli_reads():
    root = project_root()
    curves = select(pd.read_csv(root / "results/small/recursive_roar/tables/curves.csv"), recursive=True)
    snli = select(curves, dataset="snli").pivot(index="measure", columns="step", values="value")
    said = [snli.loc["random", 0], snli.loc["random", 100], snli.loc["integrated_gradients_abs", 20]]
    card = (root / "notebooks/recursive_roar/README.md").read_text(encoding="utf-8")
    part = next(line for line in card.splitlines() if line.startswith("- **What the model reads.**"))
    assert re.findall(r"\.\d\d", part) == [f"{value:.2f}"[1:] for value in said]
    table = pd.read_csv(root / "results/small/recursive_roar/claims.csv").set_index("claim")
    assert "snli" not in table.cases["attention is faithful (ACU)"] and table.failing_cases[EARLY] == "snli"


def test_the_card_says_how_many_seeds_were_planned_and_looked_at():
    folder = project_root() / "results/small/recursive_roar/tables"
    seeds = pd.read_csv(folder / "seeds.csv").query("model == 'bilstm' and variant != variant")
    counts = seeds.set_index("dataset")[["seeds", "planned", "looks"]].T.to_dict("list")
    assert (counts["sst"], counts["babi_1"]) == ([5, 5, 3], [3, 6, 2])
    card = (project_root() / "notebooks/recursive_roar/README.md").read_text(encoding="utf-8")
    assert "verdicts were read after three, four and five; bAbI-1 has three of six and is read twice" in card
    assert CARD.looks["small"]["babi_1 bilstm"] == [3, 6]


def test_the_card_says_what_masks_of_a_collapsed_model_tell():
    folder = project_root() / "results/small/recursive_roar"
    card = (project_root() / "notebooks/recursive_roar/README.md").read_text(encoding="utf-8")
    at, classes = {}, {}
    for seed in range(3):
        curves = pd.read_parquet(folder / f"babi_2.bilstm.s{seed}.parquet")
        curves = curves[curves.recursive & (curves.metric == "accuracy")].set_index(["measure", "step"])
        at[seed], classes[seed] = curves.value, curves.classes_predicted
    measure = "input_x_gradient_abs"
    assert [seed for seed in classes if classes[seed][measure, 60] == 1] == [1]
    leaked, random = at[1][measure, 80], at[1]["random", 80]
    phrase = f"the next model reaches {leaked:.2f}; random masking leaves {random:.2f}"
    assert phrase.replace("0.", ".") in card
    assert {f"{at[seed][measure, 80]:.2f}" for seed in (0, 2)} == {"0.18"}
    assert "the other two seeds have .18" in card
