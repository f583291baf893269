"""An attribution that is registered takes part in tables and claims: no other list names attributions."""

import numpy as np
import pandas as pd
import pytest
from sample import fmm as fmm_sample
from sample import noiser as noiser_sample
from sample import recursive_roar as roar_sample
from sample import saloss as saloss_sample
from sample.choices import main_alone

from faithlib.attributions import registry
from notebooks.fmm import areas as fmm_areas
from notebooks.fmm import claims as fmm_claims
from notebooks.fmm import tables as fmm
from notebooks.noiser import tables as noiser
from notebooks.recursive_roar import claims as roar_claims
from notebooks.recursive_roar import tables as roar
from notebooks.saloss import tables as saloss

OCCLUSION = "occlusion is the most faithful (best of it less the best gradient)"
ABSOLUTE = "occlusion is the most faithful among absolute measures"


@pytest.fixture
def register():
    """The function that registers an attribution for the time of a test."""
    names = []

    def register(name, **settings):
        registry.register(name, **settings)(lambda model, batch, target: {})
        names.append(name)

    yield register
    for name in names:
        registry.unregister(name)


def fmm_points(**levels):
    """The curves of the sample, and those of further measures, {measure: how far from LINE to DROP}."""
    units = [(dataset, seed) for dataset in ("sst2", "cola") for seed in range(3)]
    records = [fmm_sample.record(*unit) for unit in units]
    values = fmm_sample.every(fmm_sample.curves_of, units)
    line = values[values.measure == "random"]
    for measure, level in levels.items():
        drop = fmm_sample.LINE + level * (fmm_sample.DROP - fmm_sample.LINE)
        curve = line.assign(measure=measure, value=np.where(line.metric == "loss", 0, drop[line.step // 10]))
        values = pd.concat([values, curve], ignore_index=True)
    x = values.step / 100
    i = values.measure.map({name: i for i, name in enumerate(values.measure.unique())})
    varied = values.assign(value=values.value + 0.001 * (values.seed - 1) * x * (1 - x) * i)
    return records, fmm.points(varied, records)


def fmm_verdicts(**levels):
    records, points = fmm_points(**levels)
    return main_alone(fmm_claims, fmm.scores(records), {"main": points}, index="claim")


def test_a_new_gradient_takes_part_in_the_claims_of_fmm(register):
    before = fmm_verdicts()
    assert before.value[OCCLUSION] == pytest.approx(0.5 * 0.225, abs=2e-3)
    register("gradient_l3", signed=False, family="gradient")
    after = fmm_verdicts(gradient_l3=1.5)  # above Beam, the best occlusion, which is at 1.1
    assert after.value[OCCLUSION] == pytest.approx((1.1 - 1.5) * 0.225, abs=2e-3)
    assert after.verdict[OCCLUSION] == "does not hold"
    assert after.value[ABSOLUTE] == pytest.approx((0.5 - 1.5) * 0.225, abs=1e-3)
    assert after.published[OCCLUSION] == before.published[OCCLUSION]  # the paper has no such measure


def test_a_new_perturbation_and_its_absolute_twin_take_part_in_the_claims_of_fmm(register):
    register("blank", signed=True, family="perturbation", label="blanked words", occlusion=True)
    register("blank_abs", signed=False, family="perturbation", occlusion=True)
    after = fmm_verdicts(blank=2.0, blank_abs=1.0)
    assert after.value[OCCLUSION] == pytest.approx((2.0 - 0.6) * 0.225, abs=1e-3)
    assert after.value[ABSOLUTE] == pytest.approx((1.0 - 0.4) * 0.225, abs=1e-3)
    twins = after.loc["signed above absolute: blanked words"]
    assert twins.value == pytest.approx(0.225, abs=1e-3) and np.isnan(twins.published)


@pytest.mark.parametrize("family", ["attention", "perturbation"])
def test_a_new_attribution_that_is_no_occlusion_changes_no_claim_about_it(register, family):
    register("heads", signed=False, family=family)
    assert fmm_verdicts(heads=3.0).value[OCCLUSION] == pytest.approx(0.5 * 0.225, abs=2e-3)


def test_an_attribution_that_is_not_registered_is_in_no_claim():
    """A gradient of .9 would count as an occlusion, or not at all, if its name were read instead."""
    with pytest.raises(ValueError, match="attribution 'smooth_grad' is not registered"):
        fmm_verdicts(smooth_grad=0.9)


def test_a_new_attribution_has_its_row_and_its_sign_in_the_tables_of_fmm(register):
    register("token_length", signed=False, family="perturbation")
    table = fmm_areas.racu(fmm_points(token_length=0.3)[1])
    masked = table[(table.dataset == "sst2") & (table.strategy == fmm.MASKED)]
    assert masked.measure.iloc[-1] == "token_length" and masked.variant.iloc[-1] == "absolute"
    assert masked.acu.iloc[-1] == pytest.approx(0.3 * 0.225) and np.isnan(masked.published.iloc[-1])
    assert fmm_areas.racu_as_printed(table).measure.iloc[-1] == "token_length"
    assert fmm.variant("attention") == fmm.variant("random_uniform") == "absolute"
    assert fmm.variant("random") == fmm.variant("leave_one_out") == "signed"


def test_a_new_gradient_takes_part_in_the_claims_of_recursive_roar(register):
    claim = "a cheaper gradient is somewhere more faithful than integrated gradients (ACU)"

    def verdicts(cheap):
        x = roar_sample.STEPS / 100
        line, steep = (roar_sample.LINE, 0 * x), (roar_sample.DROP, 0.1 * x * (1 - x))
        shapes = {"random": line, "integrated_gradients_abs": line, cheap: steep}
        seeds = [(m, seed) for m in shapes for seed in range(3)]
        parts = [roar_sample.curve(shapes[m][0] + s * shapes[m][1], m, seed=s) for m, s in seeds]
        points = roar.points(pd.concat(parts, ignore_index=True))
        return main_alone(roar_claims, points, index="claim").verdict

    register("quick_gradient", signed=False, family="gradient", cost="constant")
    register("slow_gradient", signed=False, family="gradient", cost="steps")
    assert verdicts("quick_gradient")[claim] == "holds"
    assert verdicts("slow_gradient")[claim] == "not tested"


def test_a_new_attribution_stands_behind_those_of_the_paper(register):
    register("blank", signed=True, family="perturbation", label="blanked words")
    values = saloss_sample.flips()
    more = values[values.attribution == "attention"].assign(attribution="blank")
    table = saloss.decision_flip(pd.concat([values, more], ignore_index=True))
    assert table.attribution.unique().tolist() == [*saloss_sample.FLIPPED, "blank"]

    answers = noiser_sample.judged()
    more = answers[answers.attribution == "attention"].assign(attribution="blank")
    table = noiser.answerability(pd.concat([answers, more], ignore_index=True))
    assert table.method.unique().tolist() == ["attention", "leave_one_out", "noiser", "blank", "random"]
    assert "blanked words" in noiser.as_printed(table, "rate", columns=("task", "top")).method.tolist()
