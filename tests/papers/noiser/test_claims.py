"""Claims of noiser: each verdict on values that decide it, and when there is none."""

import json

import numpy as np
import pandas as pd
import pytest
from sample.noiser import N, agreement, found, judged, soft

from faithlib.papers.noiser import claims, tables
from faithlib.report.claims import CLAIMS
from faithlib.statistics import text_interval

FAITHFUL = "Noiser is the most faithful (lead over the best other, log ratio)"
EVERYWHERE = "Noiser is the most faithful everywhere"
BOUNDING = "k_min is the best bounding (lead over the best other, log ratio)"
TWO = "world_facts, world_agreement"


@pytest.fixture
def values(values):
    """Values that vary over prompts in a way of their own for each method, around the same means."""
    wave = np.sin(values.example * (1 + values.attribution.map(len) % 5))
    wave -= wave.groupby([values.dataset, values.attribution, values.bounding, values.baseline]).transform(
        "mean"
    )
    return values.assign(soft_nc=values.soft_nc + 0.01 * wave)


def table_of(*given, **more):
    return claims.claims(*given, **more)[0].set_index(["claim", "definition", "baseline"])


def test_claims_say_what_the_values_were_made_to_say(values):
    every, choices = claims.claims(values, judged(), found(), agreement())
    assert list(every) == CLAIMS and not every[["claim", "baseline", "definition"]].duplicated().any()
    table = every.set_index(["claim", "definition", "baseline"])
    lead = table.loc[FAITHFUL, "paper", "random"]
    assert lead.value == pytest.approx(np.log(8 / 3)) and lead.verdict.startswith("holds for tiny (40 ")
    assert lead.ci_low < lead.value < lead.ci_high and lead.cases == TWO and lead.n_units == N
    assert table.value[FAITHFUL, "paper", "matched"] == pytest.approx(2 * np.log(2) - np.log(2))
    assert table.verdict[EVERYWHERE, "paper", "random"].startswith("holds for tiny")
    assert table.value[BOUNDING, "paper", "random"] == pytest.approx(np.log(16 / 9))
    score = table.loc[
        "Noiser has the highest answerability score (top 1, lead over the next)", "paper", "none"
    ]
    assert score.value == pytest.approx(0.665 - 0.48) and score.verdict.startswith("holds")
    rate = "occlusion has the highest answerability rate (top 1, lead over the next)"
    assert table.value[rate, "paper", "none"] == pytest.approx(0.1)
    ranking = "Noiser: answerability score above its scores in random order (top 1)"
    assert table.value[ranking, "paper", "matched"] == pytest.approx(0.2 * 0.95)
    ignored = "Noiser ignores the distractor (its share of tokens less its share of scores)"
    assert table.verdict[ignored, "paper", "matched"] == "not tested (all values are equal)"
    assert table.value[ignored, "paper", "matched"] == pytest.approx(0.25)
    less = "Noiser gives the distractor less than the best other does"
    assert table.value[less, "paper", "none"] == pytest.approx(0.2)
    known = "Noiser finds the known evidence (AUPRC above a random order)"
    assert table.verdict[known, "paper", "matched"].startswith("holds")
    assert {"scores", "random baseline"} <= set(choices.choice)
    json.dumps(every.to_dict("records"))


def test_no_published_value_stands_beside_a_generated_task(values):
    table = table_of(values)
    assert table.published.isna().all() and set(table.published_cases) == {""}
    real = values[values.dataset == "world_facts"].assign(dataset="knowns")
    row = table_of(real).loc[FAITHFUL, "paper", "random"]
    assert row.published_cases == "knowns" and 1 < row.published < 3
    assert np.isnan(table_of(real).published[FAITHFUL, "paper", "matched"])


def test_the_interval_is_that_of_the_linear_part():
    """By hand: ln of a mean, whose error is that of (x - m) / m."""
    x = pd.DataFrame(np.linspace(0.2, 0.8, 20) ** 2)
    cells = {
        ("t", "m", 0): pd.concat(
            {
                ("soft_ns", "a", "", ""): x[0],
                ("soft_nc", "a", "", ""): 0 * x[0] + 1,
                ("soft_ns", "random", "", "random"): 0 * x[0] + 0.5,
                ("soft_nc", "random", "", "random"): 0 * x[0] + 1,
            },
            axis=1,
        )
    }
    (frame,) = claims._log_ratios(cells, "random").values()
    interval = text_interval(frame["a", ""])
    m = x[0].mean()
    assert interval.value == pytest.approx(np.log(m / 0.5))
    se = x[0].std(ddof=1) / m / np.sqrt(20)
    assert interval.components[0][0] == pytest.approx(se)


def test_prompts_of_one_fact_are_one_observation(values):
    facts = pd.DataFrame(
        {"task": "world_facts", "seed": 0, "example": range(N), "fact": [f"f{i % 10}" for i in range(N)]}
    )
    some = values[(values.dataset == "world_facts") & (values.definition == "paper")]
    row, plain = (table_of(some, facts=f).loc[FAITHFUL, "paper", "random"] for f in (facts, None))
    assert (row.n_units, plain.n_units) == (10, N) and row.value == pytest.approx(plain.value, abs=1e-9)
    assert "prompts of a fact" in set(claims.claims(some, facts=facts)[1].choice)


def test_facts_are_the_names_outside_brackets_and_the_answer():
    examples = pd.DataFrame(
        {
            "dataset": [
                "world_agreement",
                "world_agreement",
                "tinystories",
                "world_biographies",
                "world_biographies",
            ],
            "seed": 0,
            "example": [0, 1, 0, 0, 0],
            "step": [0, 0, 0, 0, 1],
            "target": [7, 7, 3, 4, 5],
            "tokens": [
                "i took ilva . ( a dream of fini ) . the job".split(),
                "a letter to ilva . ( no news ) . the job".split(),
                "once upon".split(),
                "ruda is a baker".split(),
                "ruda is a baker and".split(),
            ],
        }
    )
    table = tables.facts(examples)
    assert table.fact.str.strip().tolist() == ["ilva 7", "ilva 7", "ruda"]
    assert tables.facts(pd.DataFrame()).empty


def test_a_lost_case_is_named(values):
    worse = (values.dataset == "world_facts") & (values.attribution == "noiser") & (values.baseline == "")
    values.loc[worse, "soft_nc"] *= 0.1
    row = table_of(values).loc[EVERYWHERE, "paper", "random"]
    assert row.verdict.startswith("does not hold for tiny (violated on world_facts")
    assert row.failing_cases == "world_facts"


def test_every_seed_of_a_generated_task_has_its_own_world(values):
    own = values[values.definition == "paper"]
    seeds = pd.concat([own.assign(seed=s, soft_nc=own.soft_nc * (1 + s / 50)) for s in range(3)])
    row = table_of(seeds).loc[FAITHFUL, "paper", "matched"]
    assert row.verdict == "not tested (all values are equal)"  # a factor leaves the ratios as they are
    noiser = (seeds.attribution == "noiser") & (seeds.baseline == "")
    seeds["soft_nc"] = seeds.soft_nc.where(~noiser, seeds.soft_nc * (1 + seeds.seed / 50))
    row = table_of(seeds).loc[FAITHFUL, "paper", "matched"]
    assert row.unit == "seed" and row.n_units == 3 and row.verdict == "holds (tiny, 3 seeds)"
    two = table_of(seeds[seeds.seed < 2]).loc[FAITHFUL, "paper", "matched"]
    assert two.verdict == "not tested (2 seeds: an interval needs 3)"


def test_seeds_of_one_model_are_averaged():
    real = pd.concat([soft("knowns", seed=s) for s in range(3)])
    wave = 0.02 * np.cos(real.example * real.attribution.map(len) + real.seed)
    row = table_of(real.assign(soft_nc=real.soft_nc + wave)).loc[FAITHFUL, "paper", "random"]
    assert row.unit != "seed" and row.n_units == N


def test_without_noiser_there_is_no_claim(values):
    others = values[values.attribution != "noiser"]
    assert claims.claims(others)[0].empty


def test_quick_runs_have_numbers_and_no_verdicts(values):
    table = table_of(values, scale="quick")
    assert set(table.verdict) == {""} and table.value.notna().all()
