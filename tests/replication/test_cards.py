"""The generated block of a paper's card, and that committed cards say what the committed claims say."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from faithlib.report.markdown import with_block
from replication import cards, papers
from replication.cards import BLOCK, WHOLE, card_block, read_block
from replication.claims import CLAIMS
from replication.results import project_root, read_record

BEGIN, END = f"<!-- {BLOCK} -->", "<!-- end -->"
WRITTEN = [
    name for name in papers.names() if (project_root() / "results" / "small" / name / "claims.csv").is_file()
]
AGREE = "1 of 2 options agree, sign equal in 1"
ROW = dict.fromkeys(CLAIMS, "") | {"ci_low": 0.1, "ci_high": 0.3, "published": 0.5, "borderline": False}
ROW |= {"definition": "paper", "baseline": "none", "value": 0.2, "cases": "sst", "unit": "seed"}
ROW |= dict.fromkeys(WHOLE, 0) | {"threshold": 0.0, "n_units": 3, "most_units": 3, "looks": 1}
AGREED = {"agree": 1, "of": 2, "sign_equal": 1}


def row(claim, verdict, **more):
    return ROW | {"claim": claim, "verdict": verdict} | more


def test_verdicts_are_counted_in_a_sentence_and_all_claims_folded():
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
    assert block[1] == "**Of 4 claims, 2 hold, 1 depends on a choice and 1 is undecided.**"
    assert block[3] == "<details><summary>All 4 claims</summary>"
    sst = "Stanford Sentiment Treebank"
    published = "published (the paper's models and training sets)"
    heads = "claim", "verdict", "ours, 95 % interval", published, "data", "options"
    assert block[5] == f"| {' | '.join(heads)} |"
    assert block[7] == (
        f"| A above \\|B\\| | holds (bert, 3 seeds) | +0.200 [+0.100, +0.300] | +0.500 | {sst} |  |"
    )
    assert block[8].endswith(f"| +0.200 [+0.100, +0.300] | +0.500 on CommitmentBank | {sst} | {AGREE} |")
    assert block[9].endswith(f"| +0.200 | none for {sst} | {sst} |  |")
    on = "not shown on CommitmentBank (3 seeds), borderline; the estimate fails on CommitmentBank"
    assert f"| holds on average, {on} |" in block[10]


def test_what_limits_a_verdict_stands_in_the_table():
    counted = {"agree": 1, "of": 3, "sign_equal": 3}
    cases = {"shown_on": "sst (bilstm): |x|; cb", "cases": "sst (bilstm): |x|; cb; mrpc"}
    table = pd.DataFrame(
        [
            row("A", "depends", depends_on="ties; sign", reason="main setting: does not hold", **counted),
            row("B", "does not hold", not_shown_with="ties", **counted),
            row("C", "holds", grid_agree=5, grid_of=8, **cases, **counted),
            row("D", "not tested", reason="no records", n_units=0, **counted),
            row("E", "undecided", reason="all values are equal"),
        ]
    )
    block = card_block(table).splitlines()
    assert "| depends on ties, sign (main setting: does not hold; 3 seeds) |" in block[7]
    assert "| does not hold (not shown with ties; 3 seeds) |" in block[8]
    assert block[9].endswith("| 1 of 3 options agree, sign equal in 3; full grid: 5 of 8 agree |")
    assert block[10].endswith("|  |") and block[11].endswith("|  |")


def test_many_cases_are_counted_and_few_are_named_in_words():
    four = {"cases": "babi_1; babi_2; sst (bilstm)", "other_cases": "sst (all-MiniLM-L6-v2)"}
    five = four | {"other_cases": "sst (all-MiniLM-L6-v2); cb"}
    same = {"cases": "sst (bilstm); sst (all-MiniLM-L6-v2); sst (tiny-bert)"}
    rows = [row("A", "holds", **cases) for cases in (four, five, same)]
    block = card_block(pd.DataFrame(rows).assign(published=float("nan"))).splitlines()
    sst = "Stanford Sentiment Treebank"
    assert f"| bAbI-1, bAbI-2, {sst} (BiLSTM); without an interval: {sst} (MiniLM-L6) |" in block[7]
    assert block[8].endswith(f"; without an interval: {sst} (MiniLM-L6), CommitmentBank |")
    assert f"| {sst} (BiLSTM, MiniLM-L6, tiny BERT) |" in block[9]


def test_definitions_have_rows_of_their_own_and_the_first_is_counted():
    table = pd.DataFrame([row("A", "holds"), row("A", "holds", definition="released")])
    block = card_block(table)
    assert "**Of 1 claim, 1 holds.**" in block
    assert "| *Definition released* |  |  |  |  |\n" in block


PLAIN = re.compile(r"<!-- generated.*?<!-- end -->|```.*?```", re.DOTALL)
LINK = re.compile(r"\]\([^)]*\)|<[^>]*>")
SENTENCE = re.compile(r"""(?<=[.?!])["*)\]]*\s+(?=[^a-z])""")


@pytest.mark.parametrize("paper", papers.names())
def test_a_card_has_one_screen_before_its_folds_and_short_sentences(paper):
    folder = project_root() / "notebooks" / paper
    text = (folder / "README.md").read_text(encoding="utf-8")
    first, *folds = text.split("<details>")
    assert len(re.findall(r"\w\S*", LINK.sub("]", first))) <= 390 and "\n## " not in text
    names = re.findall(r"<summary>(.*?)</summary>", PLAIN.sub("", text))
    assert [name for name in ("The method", "What it depends on", "Run it again") if name not in names] == []
    for picture in re.findall(r"!\[[^]]+\]\((\S+?\.png)\)", first):
        width, height = Image.open(folder / picture).size
        assert height * 880 / width <= 900, f"{picture}: too high for a page of 880 pixels"
    for line in PLAIN.sub("", text).splitlines():
        words = LINK.sub("]", re.sub(r"^(- |\d+\. )", "", line))
        for sentence in SENTENCE.split(words) if not line.startswith(("|", "!", "<", "#")) else ():
            assert len(re.findall(r"\w\S*", sentence)) <= 30, sentence


NUMBER = re.compile(r"(?<![\w.−-])(?:\d[\d,]*)?(?:\.?\d+)(?: %|%)?(?![\w-])")
SETTINGS = {  # numbers of the cards that are no results: years, sizes, rules of the protocol
    "attributions": "2020 21 40 512",
    "fmm": "2024 8000 3000 1666 1509 1500",
    "ground_truth_2": "2022 1 2 3 4 5 6 7 20 .005 .50 .70 95% .55",
    "noiser": "2025 260000 135",
    "recursive_roar": "2022 36 1500 1666 549367",
    "saloss": "2021 88 13 26",
    "soft_metrics": "2023 18 37 256 512 50 2.42",  # the last of a record: test_readme
}


def is_a_result(text, values):
    """Whether a number of a sentence is a value of a table: as it is, in per cent, or what it falls by."""
    number, share = text.rstrip("%"), text.endswith("%")
    digits, at = len(number.partition(".")[2]), float(number)
    tried = [100 * values, 100 * (1 - values)] if share else [values]
    return any((abs(abs(some) - at) <= 0.5 * 10**-digits + 1e-9).any() for some in tried)


PAGES = [project_root() / "README.md", *sorted((project_root() / "notebooks").glob("*/README.md"))]
HALF = " with instructions for bfloat16, else add -p dtype=float32 (slower)"
AGAIN = re.compile(
    rf"^faithlib run (\w+) --like (\S+) .* took (\d+) minutes on (?:two cores|an (\w+))({re.escape(HALF)})?$",
    re.M,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_unit_to_run_again_is_committed_and_took_these_minutes(page):
    text = page.read_text(encoding="utf-8")
    units = AGAIN.findall(text)
    assert len(units) == text.count(" --like ")
    for paper, path, minutes, gpu, half in units:
        record = read_record(project_root() / path)
        assert record["paper"] == paper and round(record["volatile"]["seconds"] / 60) == int(minutes)
        assert record["provenance"]["device"].endswith(gpu or "cpu")
        assert bool(half) == (not gpu and record["provenance"]["dtype"] == "bfloat16")


@pytest.mark.parametrize("paper", papers.names())
def test_a_number_in_a_sentence_of_a_card_is_of_a_table_or_a_setting(paper):
    root = project_root()
    frames = [pd.read_csv(path) for path in root.glob(f"results/small/{paper}/**/*.csv")]
    columns = [frame.select_dtypes("number").to_numpy(float).ravel() for frame in frames]
    values = np.concatenate([*columns, np.array([np.inf])])
    text = (root / "notebooks" / paper / "README.md").read_text(encoding="utf-8")
    lines = [re.sub(r"`[^`]*`", "", LINK.sub("]", line)) for line in PLAIN.sub("", text).splitlines()]
    numbers = [n for line in lines if line[:1] not in "#!" for n in NUMBER.findall(line)]
    stated = {n.replace(",", "").replace(" ", "") for n in numbers}
    settings = set(SETTINGS[paper].split())
    assert [n for n in sorted(stated - settings) if not is_a_result(n, values[np.isfinite(values)])] == []
    assert settings <= stated


def test_empty_columns_are_left_out_and_holms_p_has_one():
    nan = float("nan")
    table = pd.DataFrame([row("A", "holds", published=nan, p_holm=p) for p in (0.0301, 1e-5, nan)])
    lines = cards.claims_table(table).splitlines()
    assert lines[0] == "| claim | verdict | ours, 95 % interval | data | p, Holm (holds up to .025) |"
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


def test_hours_are_of_cores_where_all_records_have_them():
    def record(device="cpu", **spent):
        return {"provenance": {"device": device}, "volatile": {"seconds": 7200} | spent}

    assert cards._computed([]) == []
    on_cores, bare = record(cpu_seconds=3600), record()
    assert cards._computed([on_cores]) == ["Computed in 1 unit (1.0 core hours)."]
    assert cards._computed([on_cores, bare]) == ["Computed in 2 units (4.0 hours of wall time)."]
    both = "Computed in 1 unit on a GPU (2.0 hours of wall time) and 1 unit (1.0 core hours)."
    assert cards._computed([on_cores, record("a GPU", cpu_seconds=60)]) == [both]


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
    assert "| p, Holm (holds up to .025) |" not in text
    pd.DataFrame([row("A", "holds", p_holm=0.02)]).to_csv(folder / "claims.csv", index=False)
    cards.write_cards()
    assert "| p, Holm (holds up to .025) |" in card.read_text() and "| 0.020 |" in card.read_text()
    assert text.startswith("# Title") and text.endswith("after\n") and "+0.200 [+0.100, +0.300]" in text


@pytest.mark.parametrize("paper", WRITTEN)
def test_committed_cards_say_what_the_claims_say(paper):
    block = read_block(project_root() / "results" / "small" / paper)
    card = (project_root() / "notebooks" / paper / "README.md").read_text(encoding="utf-8")
    assert card.count(BEGIN) == card.count(END) == 1
    assert with_block(card, BLOCK, block) == card, "run `python -m replication small --cards`"
    tested = any(one.main for one in papers.headline(paper))
    assert block.count("**Does it hold?** *") == tested and block.count("**Why do ours differ?** *") <= 1


def test_a_card_says_which_units_have_no_record(tmp_path):
    folder = tmp_path / "results" / "small" / "fmm"
    folder.mkdir(parents=True)
    pd.DataFrame([row("A", "holds")]).to_csv(folder / "claims.csv", index=False)
    unit = {"unit": "sst2.tiny-bert.s0", "params": {"task": "sst2", "model": "tiny-bert", "seed": 0}}
    (folder / "sst2.tiny-bert.s0.json").write_text(json.dumps(unit))
    assert "not computed yet" not in read_block(folder)  # without a config nobody knows
    (tmp_path / "config").mkdir()
    grid = "papers: {fmm: {defaults: {model: tiny-bert}, units: [%s]}}"
    asked = "{task: sst2, seed: [0, 1, 2]}, {task: cola, seed: 0, variant: few-texts}"
    (tmp_path / "config" / "small.yaml").write_text(grid % asked)
    (tmp_path / "config" / "paper.yaml").write_text(grid % "{task: sst2, seed: 0}, {task: rte, seed: [0, 1]}")
    block = read_block(folder)
    assert "SST-2, tiny BERT (2 seeds of 3); CoLA, tiny BERT, few-texts (1 seed of 1)." in block
    assert "not yet run: RTE.\n" in block
    assert cards.read_block(folder) == block


def test_a_card_says_what_a_study_found_about_its_metrics(tmp_path):
    for paper in ("fmm", "mine"):
        (tmp_path / paper / "tables").mkdir(parents=True)
    pd.DataFrame([row("A", "holds")]).to_csv(tmp_path / "fmm" / "claims.csv", index=False)
    findings = pd.DataFrame({"paper": ["fmm", "saloss"], "text": ["RACU is right.", "Flip is wrong."]})
    findings.to_csv(tmp_path / "mine" / "tables" / cards.ABOUT, index=False)
    block = read_block(tmp_path / "fmm")
    assert "\n\nRACU is right.\n" in f"\n{block}" and "Flip" not in block


MARGINS = {"A": 0.02, "B": 0.01, "C": 0.01, "D": 0.01}
HEADLINE = tuple(papers.Headline(claim, margin) for claim, margin in MARGINS.items())


SST = "Stanford Sentiment Treebank"


def headline_claims():
    common = {"headline": True, "baseline": "none", "at_least_half": "", "within_margin": ""}
    small = common | {"at_least_half": "no", "within_margin": "yes", "reason": "few seeds"}
    apart = common | {"depends_on": "ties; sign", "looks": 2, "published": float("nan")}
    rows = [
        row("A", "holds", **common), row("B", "undecided", **small), row("C, MiniLM", "depends", **apart),
        row("C, Llama", "holds", **common), row("D", "holds", **common | {"definition": "released"}),
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_headline_claims_stand_first_and_all_others_in_a_fold():
    block = card_block(headline_claims(), HEADLINE, ["Computed in 3 units."]).splitlines()
    assert block[1] == "**Of 4 headline claims, 1 holds, 1 depends on a choice and 1 is undecided.**"
    assert block[5:9] == [
        f"| 🟩 holds | A | +0.500 | +0.200 [+0.100, +0.300] | {SST} |",
        f"| ⬜ undecided: few seeds; no larger than ±0.01 | B | +0.500 | +0.200 [+0.100, +0.300] | {SST} |",
        f"| 🟧 depends on ties, sign | C |  | +0.200 [+0.100, +0.300] (97.5 %) | {SST} |",
        "| 🔲 no record yet | D |  |  |  |",
    ]
    assert block.index("Computed in 3 units.") > block.index("| *Definition released* |  |  |  |  |")
    assert cards.strip(headline_claims(), HEADLINE) == "🟩⬜🟧🔲"
    assert "\nOf 4 headline claims none has a record yet.\n" in card_block(headline_claims()[:0], HEADLINE)


def test_a_card_says_what_turns_a_verdict_and_where_the_paper_fails_its_own_claim(tmp_path):
    one = row("A", "depends", headline=True, at_least_half="no", value=-0.2, depends_on="ties", published=0.5)
    two = row("B", "holds", headline=True, published=-0.1)
    options = [("main", "main", -0.2, "does not hold"), ("ties", "as losses", 0.4, "holds")]
    columns = ["choice", "option", "value", "verdict"]
    choices = pd.concat([pd.DataFrame(options, columns=columns).assign(claim=name) for name in "AB"])
    choices.assign(definition="paper", baseline="none").to_csv(tmp_path / "choices.csv")
    pd.DataFrame([one, two]).to_csv(tmp_path / "claims.csv", index=False)
    a, b = cards._read(tmp_path).to_dict("records")
    assert cards.finding(a).endswith(f"[+0.100, +0.300] on {SST}; with ties as losses +0.400.")
    assert "ties" not in cards.finding(b)
    table = cards.headline_table(pd.DataFrame([a, b]), HEADLINE[:2])
    assert "depends on ties; opposite sign |" in table
    assert "holds; the paper's own number on these data contradicts it |" in table
