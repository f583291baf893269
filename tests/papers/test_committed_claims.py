"""The committed claims of papers and studies: intervals, cases, choices."""

import json
from math import prod

import pandas as pd
import pytest

from replication import papers, results
from replication.cards import read_claims
from replication.claims import CLAIMS, UNGATED, WITHOUT_INTERVAL
from replication.multiverse import CELLS, CROSS
from replication.verdicts import JOIN, UNDECIDED, UNTESTED

ROOT = results.project_root()
OF_CLAIM = ["claim", "definition", "baseline"]
PAPERS = [path.parent.name for path in sorted(ROOT.glob("results/small/*/claims.csv"))]


@pytest.fixture(params=PAPERS)
def paper(request):
    return request.param


@pytest.fixture
def claims(paper):
    return read_claims(ROOT / "results/small" / paper / "claims.csv")


def test_an_interval_has_a_width_and_three_units(claims):
    assert list(claims)[: len(CLAIMS)] == CLAIMS
    assert not claims[["claim", "definition", "baseline"]].duplicated().any()
    tested = claims[claims.ci_low.notna()]
    assert (tested.ci_low < tested.ci_high).all() and (tested.n_units >= 3).all()
    assert tested.value.between(tested.ci_low, tested.ci_high).all()
    untested = claims[claims.ci_low.isna() & ~claims.claim.str.contains(WITHOUT_INTERVAL)]
    assert untested.verdict.isin([UNDECIDED, UNTESTED]).all() and (untested.n_units == 0).all()


def test_what_holds_everywhere_has_no_failing_case(claims):
    holds = claims[claims.verdict.str.startswith("holds") & claims.claim.str.contains("every")]
    assert (holds.failing_cases == "").all()


def test_published_values_name_the_data_sets_of_ours(claims):
    published = claims[claims.published.notna()]
    for row in published.itertuples():
        every = JOIN.join([row.cases, row.other_cases]).replace(", ", JOIN)  # a share is over several
        ours = {name.partition(" (")[0] for name in every.split(JOIN)}
        assert set(row.published_cases.replace(", ", JOIN).split(JOIN)) <= ours, row.claim
    others = claims[claims.published.isna()].published_cases
    assert others[others != ""].str.startswith("none for ").all()


def test_options_are_those_of_the_card(paper, claims):
    stated, path = papers.card(paper).choices, ROOT / "results/small" / paper / "choices.csv"
    if not stated:
        assert not path.exists()
        return
    choices = pd.read_csv(path)
    assert set(choices.claim) <= set(claims.claim)
    options = {(choice, option) for choice, (_, *more) in stated.items() for option in more}
    options.add(UNGATED)
    changed = choices[choices.choice != "main"]
    crossed = changed.choice.str.contains(CROSS, regex=False)
    for row in changed[crossed].itertuples():
        cell = list(zip(row.choice.split(CROSS), row.option.split(CROSS), strict=True))
        assert set(cell) <= options and len(dict(cell)) == len(cell) > 1
    alone = changed[~crossed]
    assert set(zip(alone.choice, alone.option, strict=True)) <= options
    for names, of_claim in alone[alone.verdict != UNTESTED].groupby(OF_CLAIM):
        settings = prod(of_claim.choice.value_counts() + 1)
        rows = (changed[crossed][OF_CLAIM] == list(names)).all(axis=1).sum()
        assert rows <= (settings - 1 - len(of_claim) if settings <= CELLS else 0), names
    assert (choices.groupby(OF_CLAIM).choice.first() == "main").all()


def test_what_the_cards_of_noiser_and_saloss_say_of_completeness_draws_and_the_papers_grid():
    folder = ROOT / "results/small"
    gaps = pd.read_csv(folder / "noiser/tables/completeness.csv").query("path_from == 'zero'")
    assert gaps.query("model == 'tiny-llama'")["median"].min() > 0.9
    ends = gaps.query("model == 'SmolLM2-135M-Instruct'")["mean"].agg(["min", "max"])
    errors = pd.read_csv(folder / "noiser/tables/draws.csv").groupby("model").mc_error.max().round(2)
    text = (ROOT / "notebooks/noiser/README.md").read_text(encoding="utf-8")
    assert "miss {:.2f} to {:.2f} of it on average".format(*ends).replace("0.", ".") in text
    ours, other = errors["SmolLM2-135M-Instruct"], errors["stories260K"]
    assert f"up to {ours} in a log ratio (SmolLM2), {other} with Llama 260K" in text
    assert errors.idxmax() == "SmolLM2-135M-Instruct"
    options = pd.read_csv(folder / "noiser/choices.csv").set_index(["claim", "definition", "baseline"])
    other = options.query("choice == 'baseline of integrated gradients'")
    main = options.query("choice == 'main'").loc[other.index]
    assert (other.value != main.value).sum() == 1 and "it moves one claim, and no verdict" in text
    assert (other.verdict == main.verdict).all()
    assert "weights" not in set(pd.read_csv(folder / "saloss/choices.csv").choice)
    assert "weights" in papers.card("saloss").choices


def test_what_left_git_is_listed_with_its_hash_and_described():
    lines = (ROOT / "results/archive.sha256").read_text(encoding="utf-8").splitlines()
    for line in lines:
        digest, path = line.split("  ")
        readme = (ROOT / path).with_name("README.md").read_text(encoding="utf-8")
        unit = path.rpartition("/")[2].partition(".s")[0]
        assert len(digest) == 64 and unit in readme, path
    assert len({path for path in lines}) == len(lines) > 100


def test_what_the_cards_say_of_flat_random_curves_and_of_texts():
    folder = ROOT / "results/small"
    options = pd.read_csv(folder / "recursive_roar/choices.csv").query("choice == 'flat random curves'")
    (word,) = options.verdict[options.claim == "attention is faithful (ACU)"]
    text = (ROOT / "notebooks/recursive_roar/README.md").read_text(encoding="utf-8")
    assert word == "depends" and "*attention is faithful* depends on the data set" in text
    records = [json.loads(path.read_text(encoding="utf-8")) for path in (folder / "fmm").glob("*.json")]
    texts = {record["params"]["task"]: record["provenance"]["examples"]["n"] for record in records}
    text = (ROOT / "notebooks/fmm/README.md").read_text(encoding="utf-8")
    assert f": {texts['cola']} of CoLA, {texts['sst2']} of each of the others. " in text
    assert texts["sst2"] == texts["mrpc"] == texts["snli"]
