"""Claims of noiser: each verdict on values that decide it, and when there is none."""

import json
import re
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sample.choices import main_alone, with_choices
from sample.noiser import N, agreement, judged, part_shares, soft

from notebooks.noiser import claims, figures, tables
from replication.claims import CLAIMS
from replication.results import project_root

FAITHFUL = "Noiser is the most faithful (lead over the best other, log ratio)"
EVERYWHERE = "Noiser is the most faithful everywhere"
BOUNDING = "k_min is the best bounding (lead over the best other, log ratio)"
TWO = "world_facts; world_agreement"


@pytest.fixture
def values(values):
    """Values that vary over prompts in a way of their own for each method, around the same means."""
    wave = np.sin(values.example * (1 + values.attribution.map(len) % 5))
    of = [values.dataset, values.attribution, values.setting, values.baseline]
    wave -= wave.groupby(of).transform("mean")
    return values.assign(soft_nc=values.soft_nc + 0.01 * wave)


def test_units_of_the_papers_table_alone_stand_beside_those_with_options(values):
    """A record with definitions: [paper] and options: none; one from before these parameters."""
    paper = values[(values.definition == "paper") & (values.baseline != "matched")]
    alone = paper[paper.dataset == "world_agreement"]
    mixed = pd.concat([values[values.dataset == "world_facts"], alone], ignore_index=True)
    for rows, shuffled in ((mixed, {"world_facts"}), (alone, set())):
        drawn = tables.faithfulness(rows)
        assert set(drawn[drawn.baseline == "matched"].task) == shuffled
        whole = tables.faithfulness(values)
        of_paper = whole[(whole.definition == "paper") & (whole.baseline == "random")]
        theirs = of_paper[of_paper.task.isin(rows.dataset)].reset_index(drop=True)
        ours = drawn[(drawn.definition == "paper") & (drawn.baseline == "random")].reset_index(drop=True)
        pd.testing.assert_frame_equal(ours, theirs)
        leads = tables.normalisations(rows)
        figures.faithfulness(drawn)
        figure = figures.leads(leads)
        assert len(figure.axes) == 1 + (4 if shuffled else 1)  # the bar of colours, and no empty panel
        figures.agreement(drawn, tables.answerability(judged("world_agreement")))
        every, _ = claims.claims(rows)
        lead = every[(every.claim == FAITHFUL) & (every.definition == "paper")].set_index("baseline")
        assert set(lead.index) == {"random", *(["matched"] if shuffled else [])}
        assert lead.verdict["random"] != "not tested"
    plt.close("all")


table_of = partial(main_alone, claims, index=["claim", "definition", "baseline"])


def test_claims_say_what_the_values_were_made_to_say(values):
    every, choices = claims.claims(values, judged(), part_shares(), agreement())
    assert list(every) == CLAIMS and not every[["claim", "baseline", "definition"]].duplicated().any()
    table = every.set_index(["claim", "definition", "baseline"])
    lead = table.loc[FAITHFUL, "paper", "random"]
    assert lead.value == pytest.approx(np.log(8 / 3)) and (lead.verdict, lead.model) == ("holds", "tiny")
    assert lead.ci_low < lead.value < lead.ci_high and lead.cases == TWO and lead.n_units == N
    assert table.value[FAITHFUL, "paper", "matched"] == pytest.approx(2 * np.log(2) - np.log(2))
    assert table.verdict[EVERYWHERE, "paper", "random"] == "holds"
    assert table.value[BOUNDING, "paper", "random"] == pytest.approx(np.log(16 / 9))
    highest = "Noiser has the highest answerability score (top 1, lead over the next)"
    score = table.loc[highest, "paper", "none"]
    assert score.value == pytest.approx(0.665 - 0.48) and score.verdict == "holds"
    rate = "occlusion has the highest answerability rate (top 1, lead over the next)"
    assert table.value[rate, "paper", "none"] == pytest.approx(0.1)
    ranking = "Noiser: answerability score above its scores in random order (top 1)"
    assert table.value[ranking, "paper", "matched"] == pytest.approx(0.2 * 0.95)
    ignored = "Noiser ignores the distractor (its share of tokens less its share of scores)"
    row = table.loc[ignored, "paper", "matched"]
    assert (row.verdict, row.reason) == ("undecided", "all values are equal")
    assert row.value == pytest.approx(0.25)
    less = "Noiser gives the distractor less than the best other does"
    assert table.value[less, "paper", "none"] == pytest.approx(0.2)
    evidence = "Noiser finds the known evidence (AUPRC above a random order)"
    assert table.verdict[evidence, "paper", "matched"] == "holds"
    assert {"scores", "random baseline"} <= set(choices.choice)
    json.dumps(every.to_dict("records"))


def test_no_published_value_stands_beside_a_generated_task(values):
    table = table_of(values)
    assert table.published.isna().all() and set(table.published_cases) == {""}
    real = values[values.dataset == "world_facts"].assign(dataset="knowns")
    row = table_of(real).loc[f"{FAITHFUL}, tiny", "paper", "random"]
    assert row.published_cases == "knowns" and 1 < row.published < 3
    assert np.isnan(table_of(real).published[f"{FAITHFUL}, tiny", "paper", "matched"])


def test_prompts_of_one_fact_are_one_observation(values):
    some = values[(values.dataset == "world_facts") & (values.definition == "paper")]
    in_tens = some.assign(fact=some.example % 10)
    row, plain = (table_of(v).loc[FAITHFUL, "paper", "random"] for v in (in_tens, some))
    assert (row.n_units, plain.n_units) == (10, N) and row.value == pytest.approx(plain.value, abs=1e-9)
    facts = ["prompts of a fact"]
    for prompts in (in_tens, some):  # without shared facts it would change nothing
        options = with_choices(claims, prompts, choices=facts)[1]
        assert ("prompts of a fact" in set(options.choice)) == (prompts is in_tens)
    gain = "Noiser: answerability score above its scores in random order (top 1)"
    assert table_of(in_tens, judged()).n_units[gain, "paper", "matched"] == 10


def test_every_choice_of_the_card_has_its_values(values):
    """Normalisation, baseline of integrated gradients and clip, each in values that only it changes."""
    some = values[(values.dataset == "world_facts") & (values.definition == "paper")]
    better = some[(some.attribution == "noiser") & (some.setting == "k_min") & (some.baseline == "")]
    zero = better.assign(attribution="integrated_gradients", setting="zero", soft_nc=better.soft_nc / 2)
    token = better.assign(attribution="integrated_gradients", setting="token", soft_nc=better.soft_nc * 2)
    for other in (zero, token):  # equal values would have no interval
        other["soft_nc"] += 0.01 * np.cos(other.example)
        other["soft_ns_of_mean"] = other.soft_ns
    behind = some.assign(
        normalisation="min-max", soft_nc=some.soft_nc.where(~some.index.isin(better.index), 0.1)
    )
    some = pd.concat([some, zero, token, behind])
    rows, choices = claims.claims(some)
    main = choices[(choices.claim == FAITHFUL) & (choices.baseline == "random")].set_index("option").value
    assert main["main"] == pytest.approx(np.log(2), abs=0.01)  # over integrated gradients from zero
    assert main["token"] == pytest.approx(-np.log(2), abs=0.01)
    assert main["min-max"] == pytest.approx(np.log(1 / 3), abs=0.01)
    assert main["the mean"] != main["main"]
    assert "sum 1, signed" not in main  # no record has it
    row = rows.set_index(["claim", "baseline"]).loc[FAITHFUL, "random"]
    choices = "normalisation; baseline of integrated gradients"
    assert (row.verdict, row.depends_on) == ("depends", choices)


def test_generated_worlds_and_published_models_have_claims_of_their_own(values):
    paper = values[values.definition == "paper"]
    real = soft("tinystories", "stories260K")
    real["soft_nc"] += 0.02 * np.cos(real.example * real.attribution.map(len))
    table = table_of(pd.concat([paper, real]))
    assert table.cases[FAITHFUL, "paper", "random"] == TWO
    row = table.loc[f"{FAITHFUL}, stories260K", "paper", "random"]
    alone = table_of(real).loc[f"{FAITHFUL}, stories260K", "paper", "random"]
    assert row.cases == "tinystories" and row.equals(alone)  # another model changes no digit
    assert row.ci_low < row.value < row.ci_high


def test_a_lost_case_is_named(values):
    worse = (values.dataset == "world_facts") & (values.attribution == "noiser") & (values.baseline == "")
    values.loc[worse, "soft_nc"] *= 0.1
    row = table_of(values).loc[EVERYWHERE, "paper", "random"]
    assert (row.verdict, row.reason) == ("does not hold", "violated on world_facts")
    assert row.failing_cases == "world_facts"


def test_every_seed_of_a_generated_task_has_its_own_world(values):
    paper = values[values.definition == "paper"]
    seeds = pd.concat([paper.assign(seed=s, soft_nc=paper.soft_nc * (1 + s / 50)) for s in range(3)])
    row = table_of(seeds).loc[FAITHFUL, "paper", "matched"]
    assert (row.verdict, row.reason) == ("undecided", "all values are equal")  # a factor leaves ratios alone
    noiser = (seeds.attribution == "noiser") & (seeds.baseline == "")
    seeds["soft_nc"] = seeds.soft_nc.where(~noiser, seeds.soft_nc * (1 + seeds.seed / 50))
    row = table_of(seeds).loc[FAITHFUL, "paper", "matched"]
    assert row.unit == "seed" and row.n_units == 3 and row.verdict == "holds"
    two = table_of(seeds[seeds.seed < 2]).loc[FAITHFUL, "paper", "matched"]
    assert (two.verdict, two.reason) == ("undecided", "2 seeds: an interval needs 3")


def test_seeds_of_one_model_are_averaged():
    real = pd.concat([soft("knowns", seed=s) for s in range(3)])
    wave = 0.02 * np.cos(real.example * real.attribution.map(len) + real.seed)
    row = table_of(real.assign(soft_nc=real.soft_nc + wave)).loc[f"{FAITHFUL}, tiny", "paper", "random"]
    assert row.unit != "seed" and row.n_units == N


def test_without_noiser_there_is_no_claim(values):
    assert claims.claims(values[values.attribution != "noiser"])[0].empty


def test_quick_runs_have_numbers_and_no_verdicts(values):
    table = table_of(values, scale="quick")
    assert set(table.verdict) == {""} and table.value.notna().all()


def test_the_card_says_how_often_the_judge_on_knowns_is_right():
    table = pd.read_csv(project_root() / "results/small/noiser/tables/answerability.csv")
    five = table[(table.task == "knowns") & (table.top == 5) & table.baseline.isna()].set_index("method")
    card = (project_root() / "notebooks/noiser/README.md").read_text(encoding="utf-8")
    part = card[card.index("On Knowns SmolLM2-135M-Instruct judges itself") :]
    numbers = re.findall(r" (\.\d\d)", part[: part.index("([answerability.csv]")])
    rates, published = five.rate[["leave_one_out", "noiser", "random"]], five.published_rate
    said = [*rates, *published[["leave_one_out", "noiser"]]]
    assert numbers == [f"{share:.2f}"[1:] for share in said]
    assert rates.leave_one_out == five.rate.max() and "occlusion" in part


def test_the_card_says_who_looks_at_the_distractor_of_longra():
    table = pd.read_csv(project_root() / "results/small/noiser/tables/parts.csv")
    longra = table[(table.task == "longra") & (table.method != "random")]
    shares = longra.pivot(index="method", columns="part", values="share")
    chance = longra.groupby("part").chance.first()
    noiser, others = shares.loc["noiser"], shares.drop(index="noiser")
    said = [chance.distractor, noiser.distractor, noiser.subject, chance.subject, others.subject.max()]
    card = (project_root() / "notebooks/noiser/README.md").read_text(encoding="utf-8")
    part = card[card.index("- **LongRA's distractor**") :]
    numbers = re.findall(r"\.\d\d", part[: part.index("Attention gives")])
    assert numbers == [f"{share:.2f}"[1:] for share in said]
    assert (others.distractor > noiser.distractor).sum() == 7 and len(others) == 9
    assert f"Attention gives the distractor {others.distractor.attention:.2f}".replace("0.", ".") in part
    assert others.loc["attention_rollout"].max() < 1e-4


def test_smollm2_has_four_draws_of_each_prompt():
    table = pd.read_csv(project_root() / "results/small/noiser/tables/draws.csv")
    smollm2 = table[table.model == "SmolLM2-135M-Instruct"]
    assert smollm2.draws.max() == 4 and smollm2.mc_error.min() > 0


def test_published_leads_are_those_of_the_papers_tables():
    """Noiser's value less the highest of the others, averaged over the paper's models."""
    leads = claims._published_lead("noiser", ["dataset", "model"], "attribution", "table_1")
    assert leads == pytest.approx(
        {"knowns": 1.128267, "longra": 1.903475, "wikibio": 1.86025, "wikitext_prompts": 1.86025}, abs=1e-6
    )
    bounding = claims._published_lead("k_min", "model", "bounding", "table_2")
    assert bounding["knowns"] == pytest.approx(0.0918333, abs=1e-6)
    score = claims._published_lead("noiser", "model", "attribution", "table_3", metric="score")
    assert score["knowns"] == pytest.approx(0.08245, abs=1e-6)
