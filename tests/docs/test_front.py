"""What readers see first: the pages of coverage and figures, the drawings, badges, the first notebook."""

import doctest
import json
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from faithlib.tasks.table import TASKS
from replication import papers

ROOT = Path(__file__).resolve().parents[2]
PAPERS = [name for name in papers.names() if (papers.FOLDER / name / "coverage.csv").is_file()]


# Coverage -----------------------------------------------------------------------------------------


ROW = {"item": "Table 0", "what": "w", "figure": "", "reason": "r"}  # of a list of coverage
ROW |= {"datasets": "sst2 cola", "models": "roberta-base", "table": "racu"}


@pytest.fixture(scope="module")
def coverage(load):
    return load("coverage_page")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_table_is_on_the_list_once(paper):
    rows = pd.read_csv(papers.FOLDER / paper / "coverage.csv", keep_default_na=False)
    assert rows["item"].is_unique and rows.what.all()
    tables = {path.stem for path in (papers.FOLDER / paper / "published").glob("table_*.csv")}
    assert {name.replace("table_", "Table ") for name in tables} <= set(rows["item"])
    assert all(row.table or row.reason for row in rows.itertuples())  # here, or why not


@pytest.mark.parametrize("paper", PAPERS)
def test_the_list_names_data_sets_and_models_of_the_paper(coverage, paper):
    rows = pd.read_csv(papers.FOLDER / paper / "coverage.csv", keep_default_na=False)
    tasks, models = (set(names) for names in zip(*coverage.cells(paper), strict=True))
    for names, allowed in ((rows.datasets, tasks), (rows.models, models)):
        assert {name for text in names for name in text.split()} - {"*"} <= allowed
    assert tasks <= set(papers.card(paper).tasks) <= set(TASKS)


def test_cells_are_data_sets_times_models_of_the_paper(coverage):
    assert len(coverage.cells("fmm")) == 32 and len(coverage.cells("recursive_roar")) == 16
    assert len(coverage.cells("noiser")) == 18
    assert coverage.item("fmm", ROW)[3] == "0 of 2"


def test_what_is_computed_moves_its_cell(coverage, tmp_path, monkeypatch):
    for scale, model in (("paper", "roberta-base"), ("small", "all-MiniLM-L6-v2")):
        folder = tmp_path / f"results/{scale}/fmm/tables"
        folder.mkdir(parents=True)
        (folder / "racu.csv").write_text(f"dataset,model\ncola,{model}\n")
    assert coverage.cells("fmm")  # read before the folder of results is another
    monkeypatch.setattr(coverage, "ROOT", tmp_path)
    _, _, small, paper, here, reason = coverage.item("fmm", ROW)
    assert small == "1 of 2: CoLA (MiniLM-L6)" and paper == "1 of 2" and reason == "r"
    assert here == "[racu](../../results/small/fmm/tables/racu.csv)"


def test_a_figure_of_roar_has_no_data_set_with_recursive_roar_alone(coverage):
    rows = pd.read_csv(papers.FOLDER / "recursive_roar/coverage.csv", keep_default_na=False)
    rows = {row["item"]: row for row in rows.to_dict("records")}
    small = {name: coverage.item("recursive_roar", rows[name])[2] for name in ("Figure 4", "Figure 8")}
    curves = pd.read_csv(ROOT / "results/small/recursive_roar/tables/curves.csv")
    assert curves[curves.dataset == "babi_2"].recursive.all()
    assert "bAbI-2" in small["Figure 4"] and "bAbI-2" not in small["Figure 8"] and "SNLI" in small["Figure 8"]


def test_a_cell_has_models_that_stand_in_for_its_own_and_no_other_of_the_paper(coverage, monkeypatch):
    """The paper's two models are a BiLSTM and RoBERTa; MiniLM stands in for RoBERTa."""
    records = [("babi_1", "bilstm", 0), ("babi_1", "bilstm", 1), ("sst", "org/all-MiniLM-L6-v2", 0)]
    units = [dict(task=task, model=model, seed=seed) for task, model, seed in records]
    monkeypatch.setattr(coverage, "recorded", lambda paper: units)
    monkeypatch.setattr(coverage, "read", lambda path: pd.DataFrame())
    assert coverage.at_small("recursive_roar", "babi_1", "bilstm") == ("BiLSTM, 2 seeds", ())
    assert coverage.at_small("recursive_roar", "babi_1", "roberta-base")[0] == "—"
    assert coverage.at_small("recursive_roar", "sst", "roberta-base") == ("MiniLM-L6, 1 seed", coverage.UNRUN)
    minilm = "all-MiniLM-L6-v2"
    assert coverage.stands("fmm", minilm, "roberta-base")
    assert not coverage.stands("fmm", minilm, "roberta-large")
    planned = coverage.at_small("noiser", "wikitext_prompts", "Qwen2-0.5B")
    assert planned == ("—", ("planned", ", not computed yet"))


def test_every_incomplete_table_says_why(coverage):
    for paper in PAPERS:
        rows = pd.read_csv(papers.FOLDER / paper / "coverage.csv", keep_default_na=False)
        for row in rows.to_dict("records"):
            _, _, small, cells, _, reason = coverage.item(paper, row)
            assert reason or small == "all" or cells == "—", (paper, row["item"])


def test_the_page_has_every_paper_and_says_why_cells_are_missing(coverage):
    page = coverage.page()
    for paper in PAPERS:
        assert page.count(f"({paper}-coverage)=") == 1
    assert "licence: MIMIC-III" in page and "≈" in page
    assert page.count("### Agreement") == 5 and "| 0 of 280 numbers |" in page  # of Table 12, RoBERTa-large
    examples = doctest.testmod(coverage)
    assert examples.attempted and not examples.failed


# Figures ------------------------------------------------------------------------------------------


def test_the_gallery_has_every_committed_figure_with_its_caption(load):
    gallery = load("gallery_page")
    page = gallery.page()
    figures = sorted(ROOT.glob("figures/small/*/*.png"))
    assert figures
    for path in figures:
        assert page.count(f"](../../{path.relative_to(ROOT).as_posix()})") == 1
    assert page.count("<table class='strip'>") == len(list(ROOT.glob("figures/small/*/claims_by_choice.png")))
    assert "title='holds: 0." in page and "title='does not hold: -" in page
    with pytest.raises(ValueError, match="figure 'new' has no caption"):
        gallery.caption_of("new", {"other": ""})
    assert not doctest.testmod(gallery).failed


def test_the_drawings_are_what_the_scripts_draw_and_fit_their_frame(load):
    of_papers, of_lessons = load("method_figures").FIGURES, load("lesson_figures").FIGURES
    assert {figure.__name__ for figure in of_papers} == set(papers.names())
    for figure in (*of_papers, *of_lessons):
        drawn = figure()
        assert (ROOT / f"figures/method/{figure.__name__}.svg").read_text(encoding="utf-8") == drawn
        root = ElementTree.fromstring(drawn)
        width, height = float(root.get("width")), float(root.get("height"))
        for part in root.iter("{http://www.w3.org/2000/svg}rect"):
            x, y, w, h = (float(part.get(name, 0)) for name in ("x", "y", "width", "height"))
            assert 0 <= x and x + w <= width and 0 <= y and y + h <= height, (figure.__name__, x, y, w, h)


@pytest.mark.parametrize("paper", papers.names())
def test_a_card_shows_its_drawing(paper):
    text = (ROOT / f"notebooks/{paper}/README.md").read_text(encoding="utf-8")
    assert f"](../../figures/method/{paper}.svg)" in text


# Badges and the first notebook --------------------------------------------------------------------


def test_pages_have_the_badges_of_the_repository_and_none_without_one(load):
    badges = load("badges")
    name = badges.repository()
    for page, notebook in badges.opened().items():
        text, path = page.read_text(encoding="utf-8"), notebook.relative_to(ROOT).as_posix()
        if page.suffix == ".ipynb":
            text = "".join(json.loads(text)["cells"][0]["source"])
        assert badges.with_badges(text, name, path).strip() == text.strip(), "run `python docs/badges.py`"
    for page in (ROOT / "notebooks/welcome.ipynb", ROOT / "docs/running.md"):
        text = page.read_text(encoding="utf-8")
        assert text.count(badges.CLONE.format(name=name) if name else badges.ZIP) == 1
    examples = doctest.testmod(badges)
    assert examples.attempted and not examples.failed


def test_the_first_notebook_has_outputs_and_links_that_lead_somewhere():
    cells = json.loads((ROOT / "notebooks/welcome.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in code[1:])
    assert not any(output["output_type"] == "error" for cell in code for output in cell["outputs"])
