"""The generated block of a paper's card, and that committed cards say what the committed claims say."""

import json

import pandas as pd
import pytest

from faithlib.report.markdown import with_block
from replication import cards, papers
from replication.cards import BLOCK, WHOLE, card_block, read_block
from replication.claims import CLAIMS
from replication.results import project_root

BEGIN, END = f"<!-- {BLOCK} -->", "<!-- end -->"
WRITTEN = [
    name for name in papers.names() if (project_root() / "results" / "small" / name / "claims.csv").is_file()
]
AGREE = "1 of 2 options agree, sign equal in 1"
ROW = dict.fromkeys(CLAIMS, "") | {"ci_low": 0.1, "ci_high": 0.3, "published": 0.5, "borderline": False}
ROW |= {"definition": "paper", "baseline": "none", "value": 0.2, "cases": "sst", "unit": "seed"}
ROW |= dict.fromkeys(WHOLE, 0) | {"n_units": 3, "most_units": 3, "looks": 1}
AGREED = {"agree": 1, "of": 2, "sign_equal": 1}


def row(claim, verdict, **more):
    return ROW | {"claim": claim, "verdict": verdict} | more


def test_the_paragraph_groups_claims_by_verdict():
    nan = float("nan")
    few = "2 seeds: an interval needs 3"
    none = {"ci_low": nan, "ci_high": nan, "published": nan, "published_cases": "none for sst", "n_units": 0}
    table = pd.DataFrame(
        [
            row("A above |B|", "holds", model="bert", published_cases="sst"),
            row("C", "depends", depends_on="ties", model="bert", published_cases="cb", **AGREED),
            row("D", "undecided", reason=few, **none),
            row("E", "holds", borderline=True, failing_cases="cb", quantifier="on average"),
        ]
    )
    block = card_block(table).splitlines()
    assert block[1] == (
        "**Holds** (2 of 4): A above \\|B\\|; E. **Depends** (1 of 4): C (on ties). "
        "**Undecided** (1 of 4): D."
    )
    sst = "Stanford Sentiment Treebank"
    published = "published (the paper's models and training sets)"
    heads = "claim", "verdict", "ours, 95 % interval", published, "data", "options"
    assert block[3] == f"| {' | '.join(heads)} |"
    assert block[5] == (
        f"| A above \\|B\\| | holds (bert, 3 seeds) | +0.200 [+0.100, +0.300] | +0.500 | {sst} |  |"
    )
    assert block[6].endswith(f"| +0.200 [+0.100, +0.300] | +0.500 on CommitmentBank | {sst} | {AGREE} |")
    assert block[7].endswith(f"| +0.200 | none for {sst} | {sst} |  |")
    on = "not shown on CommitmentBank (3 seeds), borderline; the estimate fails on CommitmentBank"
    assert f"| holds on average, {on} |" in block[8]


def test_what_limits_a_verdict_stands_in_the_paragraph_and_in_the_table():
    counted = {"agree": 1, "of": 3, "sign_equal": 3}
    shown = {"shown_on": "sst (bilstm): |x|; cb", "cases": "sst (bilstm): |x|; cb; mrpc"}
    table = pd.DataFrame(
        [
            row("A", "depends", depends_on="ties; sign", reason="main setting: does not hold", **counted),
            row("B", "does not hold", not_shown_with="ties", **counted),
            row("C", "holds", grid_agree=5, grid_of=8, **shown, **counted),
            row("D", "not tested", reason="no records", n_units=0, **counted),
            row("E", "undecided", reason="all values are equal"),
        ]
    )
    block = card_block(table).splitlines()
    sst, cb = "Stanford Sentiment Treebank", "CommitmentBank"
    assert f"C (shown on {sst} (BiLSTM): \\|x\\|, {cb})." in block[1]
    assert "A (on ties, sign)." in block[1] and "B (not shown with ties)." in block[1]
    assert block[1].endswith("**Undecided** (1 of 5): E. **Not tested** (1 of 5): D.")
    assert "| depends on ties, sign (main setting: does not hold; 3 seeds) |" in block[5]
    assert "| does not hold (not shown with ties; 3 seeds) |" in block[6]
    assert block[7].endswith("| 1 of 3 options agree, sign equal in 3; full grid: 5 of 8 agree |")
    assert block[8].endswith("|  |") and block[9].endswith("|  |")


def test_many_cases_are_counted_and_few_are_named_in_words():
    four = {"cases": "babi_1; babi_2; sst (bilstm)", "other_cases": "sst (all-MiniLM-L6-v2)"}
    five = four | {"other_cases": "sst (all-MiniLM-L6-v2); cb"}
    same = {"cases": "sst (bilstm); sst (all-MiniLM-L6-v2); sst (tiny-bert)"}
    rows = [row("A", "holds", **cases) for cases in (four, five, same)]
    block = card_block(pd.DataFrame(rows).assign(published=float("nan"))).splitlines()
    sst = "Stanford Sentiment Treebank"
    assert f"| bAbI-1, bAbI-2, {sst} (BiLSTM); without an interval: {sst} (MiniLM-L6) |" in block[5]
    assert "| +0.200 [+0.100, +0.300] | 5 cases |" in block[6]
    assert f"| {sst} (BiLSTM, MiniLM-L6, tiny BERT) |" in block[7]


def test_definitions_and_baselines_have_paragraphs_of_their_own():
    table = pd.DataFrame([row("A", "holds"), row("A", "holds", definition="released")])
    block = card_block(table)
    assert "Definition paper: **Holds** (1 of 1): A." in block
    assert "| *Definition released* |  |  |  |  |\n" in block


def test_empty_columns_are_left_out_and_holms_p_has_one():
    nan = float("nan")
    table = pd.DataFrame([row("A", "holds", published=nan, p_holm=p) for p in (0.0301, 1e-5, nan)])
    lines = cards.claims_table(table).splitlines()
    assert lines[0] == "| claim | verdict | ours, 95 % interval | data | p, Holm |"
    assert lines[2].endswith("| 0.030 |") and lines[4].endswith("|  |")
    assert lines[3].endswith("| &lt; 0.001 |")


def test_the_paper_s_definition_is_open_and_every_other_one_folded():
    definitions = {"A": "paper", "B": "released", "C": "paper", "D": "calibrated"}
    table = pd.DataFrame([row(name, "undecided", definition=by) for name, by in definitions.items()])
    text = cards.claims_tables(table)
    first, *others = text.split("<details>")
    assert [name for name in table.claim if f"| {name} |" in first] == ["A", "C"]
    named = [other.partition("</summary>")[0].removeprefix("<summary>") for other in others]
    assert named == ["Definition released: 1 claim", "Definition calibrated: 1 claim"]
    assert "| B |" in others[0] and "| D |" in others[1] and "Definition" not in first


def test_hours_are_of_cores_where_all_records_have_them(tmp_path):
    assert cards._computed(tmp_path) == []

    def write(name, device="cpu", **spent):
        record = {"provenance": {"device": device}, "volatile": {"seconds": 7200} | spent}
        (tmp_path / f"{name}.json").write_text(json.dumps(record))

    write("a", cpu_seconds=3600)
    assert cards._computed(tmp_path) == ["Computed in 1 unit (1.0 core hours)."]
    write("b")
    assert cards._computed(tmp_path) == ["Computed in 2 units (4.0 hours on the clock)."]
    write("b", device="a GPU", cpu_seconds=60)
    both = "Computed in 1 unit on a GPU (2.0 hours on the clock) and 1 unit (1.0 core hours)."
    assert cards._computed(tmp_path) == [both]


def test_a_card_keeps_what_is_around_its_block(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="no block to write"):
        with_block("text", BLOCK, "block")
    folder = tmp_path / "results" / "small" / "fmm"
    folder.mkdir(parents=True)
    pd.DataFrame([row("A", "holds")]).to_csv(folder / "claims.csv", index=False)
    card = tmp_path / "notebooks" / "fmm" / "README.md"
    card.parent.mkdir(parents=True)
    card.write_text(f"# Title\n\n{BEGIN}\n{END}\n\nafter\n")
    monkeypatch.setattr(cards, "project_root", lambda: tmp_path)
    assert cards.write_cards() == ["fmm"] == cards.write_cards()
    text = card.read_text()
    assert "| p, Holm |" not in text
    pd.DataFrame([row("A", "holds", p_holm=0.02)]).to_csv(folder / "claims.csv", index=False)
    cards.write_cards()
    assert "| p, Holm |" in card.read_text() and "| 0.020 |" in card.read_text()
    assert text.startswith("# Title") and text.endswith("after\n") and "+0.200 [+0.100, +0.300]" in text


@pytest.mark.parametrize("paper", WRITTEN)
def test_committed_cards_say_what_the_claims_say(paper):
    block = read_block(project_root() / "results" / "small" / paper)
    card = (project_root() / "notebooks" / paper / "README.md").read_text(encoding="utf-8")
    assert card.count(BEGIN) == card.count(END) == 1
    assert with_block(card, BLOCK, block) == card, "run `python -m replication small --cards`"


def test_a_card_says_which_units_have_no_record(tmp_path):
    folder = tmp_path / "results" / "small" / "fmm"
    folder.mkdir(parents=True)
    pd.DataFrame([row("A", "holds")]).to_csv(folder / "claims.csv", index=False)
    (folder / "sst2.tiny-bert.s0.json").write_text("{}")
    assert "not computed yet" not in read_block(folder)  # without a config nobody knows
    (tmp_path / "config").mkdir()
    grid = "papers: {fmm: {defaults: {model: tiny-bert}, units: [%s]}}"
    asked = "{task: sst2, seed: [0, 1, 2]}, {task: cola, seed: 0, variant: few-texts}"
    (tmp_path / "config" / "small.yaml").write_text(grid % asked)
    (tmp_path / "config" / "paper.yaml").write_text(grid % "{task: sst2, seed: 0}, {task: rte, seed: [0, 1]}")
    block = read_block(folder)
    assert "SST-2, tiny BERT (2 seeds of 3); CoLA, tiny BERT, few-texts (1 seed of 1)." in block
    assert "that are not there: RTE.\n" in block
    assert cards.read_block(folder) == block


def test_a_card_says_what_a_study_found_about_its_metrics(tmp_path):
    for paper in ("fmm", "mine"):
        (tmp_path / paper / "tables").mkdir(parents=True)
    pd.DataFrame([row("A", "holds")]).to_csv(tmp_path / "fmm" / "claims.csv", index=False)
    told = pd.DataFrame({"paper": ["fmm", "saloss"], "text": ["RACU is right.", "Flip is wrong."]})
    told.to_csv(tmp_path / "mine" / "tables" / cards.ABOUT, index=False)
    block = read_block(tmp_path / "fmm")
    assert "\n\nRACU is right.\n" in f"\n{block}" and "Flip" not in block


HEADLINE = (
    papers.Headline("A", 0.02),
    papers.Headline("B", 0.01),
    papers.Headline("C", 0.01),
    papers.Headline("D", 0.01),
)


def headline_claims():
    own = {"headline": True, "baseline": "none", "at_least_half": "", "within_margin": ""}
    rows = [
        row("A", "holds", **own),
        row("B", "undecided", **{**own, "at_least_half": "no", "within_margin": "yes"}),
        row(
            "C, MiniLM",
            "depends",
            **{**own, "depends_on": "ties; sign", "looks": 2, "published": float("nan")},
        ),
        row("C, Llama", "holds", **own),
        row("D", "holds", **{**own, "definition": "released"}),
    ]
    return pd.DataFrame(rows)


def test_headline_claims_stand_first_and_all_others_in_a_fold():
    block = card_block(headline_claims(), HEADLINE, ["Computed in 3 units."]).splitlines()
    assert block[1] == "**Of 4 headline claims, 1 holds, 1 depends on a choice and 1 is undecided.**"
    assert block[5:9] == [
        "| 🟩 holds | A | +0.500 | +0.200 [+0.100, +0.300] |",
        "| ⬜ undecided; less than half of the published effect; no more than ±0.01 | B | +0.500 "
        "| +0.200 [+0.100, +0.300] |",
        "| 🟧 depends on ties, sign | C, MiniLM |  | +0.200 [+0.100, +0.300] (97.5 %, 2 looks) |",
        "| ◽ no record yet | D |  |  |",
    ]
    assert block.index("Computed in 3 units.") > block.index("| *Definition released* |  |  |  |  |")
    assert cards.strip(headline_claims(), HEADLINE) == "🟩⬜🟧◽"
    assert cards.answer(headline_claims()[:0], HEADLINE) == "Of 4 headline claims none has a record yet."
