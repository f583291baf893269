"""Cards: every folder has one, it fits the table of tasks, and what is wrong is one line."""

import pytest
from wrong import refused

from faithlib.tasks.table import KINDS, TASKS
from replication import papers


@pytest.mark.parametrize("name", papers.names())
def test_every_folder_is_a_whole_paper(name):
    card, folder = papers.card(name), papers.FOLDER / name
    assert card.name == name and card.title and card.citation and card.url.startswith("https://")
    assert card.claims and card.tables and card.kind in KINDS
    for part in ("tables", "claims", "figures"):
        assert (folder / f"{part}.py").is_file()
    for notebook in ("experiment", "report"):
        assert (papers.FOLDER.parent / "notebooks" / name / f"{notebook}.ipynb").is_file()
    assert set(card.tasks) <= set(TASKS) and set(card.reads) <= set(papers.names())
    assert {TASKS[task].kind for task in card.tasks} <= {card.kind}


def test_a_card_has_at_most_eight_headline_claims_each_once():
    for name in papers.names():
        claims = [(claim.claim, claim.baseline) for claim in papers.card(name).headline]
        assert len(set(claims)) == len(claims) <= 8
        assert all(claim.margin is None or 0 < claim.margin < 0.1 for claim in papers.card(name).headline)


def test_a_paper_runs_on_every_task_of_its_kind():
    for name in papers.names():
        card = papers.card(name)
        for task, row in TASKS.items():
            if row.kind == card.kind:
                assert card.use(task) == card.tasks.get(task, papers.Use(row.recipe, row.metric))
            else:
                refused(f"'{task}' holds {row.kind}, and {name} explains", card.use, task)


def test_micro_f1_of_one_label_is_accuracy():
    assert papers.card("recursive_roar").use("snli").metric == "micro_f1"
    assert papers.card("recursive_roar").metric("snli") == "accuracy"
    assert papers.card("fmm").metric("cola") == "mcc"


def test_an_unknown_paper_and_a_folder_without_a_card_are_one_line(tmp_path, monkeypatch):
    refused("paper 'fm' is unknown: did you mean 'fmm'", papers.card, "fm")
    monkeypatch.setattr(papers, "FOLDER", tmp_path)
    (tmp_path / "bare").mkdir()
    (tmp_path / "__pycache__").mkdir()
    assert papers.names() == ["bare"]
    refused("'bare' has no card: write bare/card.py", papers.card, "bare")
    (tmp_path / "my-paper").mkdir()
    refused("'my-paper' cannot be imported: rename its folder", papers.card, "my-paper")


def test_a_margin_is_one_of_those_that_have_a_name(tmp_path):
    (tmp_path / "card.yaml").write_text("headline:\n  - {claim: one, margin: shares}\n")
    with pytest.raises(ValueError, match=r"card.yaml: margin='shares' is unknown: use .*'share'"):
        papers.Card.read(tmp_path / "card.py")


def test_the_papers_own_hours_are_the_printed_ones():
    hours = {name: papers.card(name).hours() for name in ("fmm", "recursive_roar")}
    text = papers.published("fmm", "text").set_index("name").value
    seeds = sum(h for (_, model), h in hours["fmm"].items() if model == "roberta-base") * 5 * 60
    parts = ("masf", "evaluation", "measures")
    printed = sum(float(text[f"{part}_minutes_base_all_seeds"]) for part in parts)
    tuned = papers.published("fmm", "table_6").query("model == 'roberta-base'").minutes.sum() * 5
    assert seeds == pytest.approx(printed + tuned, rel=0.02)  # printed minutes are cut, not rounded
    roar = sum(h for (_, model), h in hours["recursive_roar"].items() if model == "bilstm")
    assert roar == pytest.approx(9 * (13 + 38 / 60), abs=0.2)
