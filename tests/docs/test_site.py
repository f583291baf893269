"""The site: its pages of the registries, how it reads links and docstrings, and the build as a whole."""

import doctest
import json
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from execute import BAR

from faithlib.attributions import registry as attributions
from faithlib.metrics import registry as metrics
from faithlib.report.markdown import LONG

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def conf(load):
    return load("conf")


@pytest.fixture(scope="module")
def pages(load):
    return load("registry_pages")


# Metrics and methods A to Z -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["metrics", "methods"])
def test_every_name_of_a_registry_has_a_row_and_a_section(pages, kind):
    registry = {"metrics": metrics, "methods": attributions}[kind]
    text = getattr(pages, f"{kind}_page")()
    for name in registry.names():
        target = pages.anchor(registry.get(name))
        assert text.count(f"](#{target}) `{name}` |") == text.count(f"({target})=\n## ") == 1
    assert text.count("\n## ") == len(registry.names())
    assert all(registry.get(name).explain for name in registry.names())


def test_a_section_says_definition_range_and_when_the_value_means_nothing(pages):
    section = pages.metrics_page().partition("(metric-soft-ns)=")[2].partition("\n(metric-")[0]
    assert "Soft-NS: tokens are kept" in section
    assert "- **Range**: at most 1, higher is better; one value for each text" in section
    assert "(1 − S0 below 0.05)" in section and "Zhao and Aletras (2023)" in section
    assert "\n\nSoft sufficiency: " in section and "- **What misleads it**: The size of the scores" in section
    assert "{py:func}`faithlib.metrics.soft.soft_ns`" in section


def test_methods_of_one_function_have_their_own_words(pages):
    first, second = (pages.definition(attributions.get(name)) for name in ("deeplift", "gradient_l1"))
    assert "DeepLift have no rule for GELU" in first and "DeepLift have no rule" not in second
    assert "one-hot vocabulary axis" in second


def test_a_metric_that_is_registered_joins_and_signs_do_not_end_its_cell(pages):
    @metrics.register("some_metric", better="lower", range=(0, 2), label="a|b[0", void="never")
    def some_metric(inputs, scores):
        """The words of its docstring.

        Args:
            inputs, scores: not on the page.
        """

    try:
        text = pages.metrics_page()
    finally:
        metrics.unregister("some_metric")
    assert "| [a&#124;b&#91;0](#metric-some-metric) `some_metric` | lower | 0 to 2 |  |  |\n" in text
    assert "The words of its docstring.\n\n- **Range**: 0 to 2, lower" in text
    assert "not on the page" not in text


def test_entries_stand_in_alphabetical_order(pages):
    labels = [entry.label for entry in pages.alphabetical(attributions)]
    assert labels.index("|leave-one-out|") == labels.index("leave-one-out") + 1  # signs do not count
    assert labels.index("Beam") < labels.index("gradient L1") < labels.index("Noiser")


def test_examples_of_the_generator_run(pages):
    examples = doctest.testmod(pages)
    assert examples.attempted and not examples.failed


# Links and docstrings -----------------------------------------------------------------------------


@pytest.fixture
def link(conf, monkeypatch):
    monkeypatch.setattr(conf, "repository", "")
    docs = {"docs/using", "notebooks/fmm/report", "docs/generated/faithlib.metrics.soft"}
    app = SimpleNamespace(env=SimpleNamespace(found_docs=docs))

    def read(text, docname="docs/adding"):
        conf.linked(app, docname, source := [text])
        return source[0]

    return read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("[a](using.md#data)", "[a](using.md#data)"),  # a page
        ("[a](../notebooks/fmm/report.ipynb)", "[a](../notebooks/fmm/report.ipynb)"),
        ("[a](../faithlib/metrics/soft.py)", "[a](/docs/generated/faithlib.metrics.soft.rst)"),
        ("[a](../Makefile) b", "a b"),  # no page, and no repository to show it
        ("[a](../faithlib/metrics/metrics.toml#metric-ns)", "[a](#metric-ns)"),
        ("[a](no_such_page.md)", "[a](no_such_page.md)"),  # Sphinx names it
        ("[a](https://example.org) [b](#c)", "[a](https://example.org) [b](#c)"),
        ("![a](../figures/small)", "![a](../figures/small)"),
    ],
)
def test_links(link, text, read):
    assert link(text) == read


def test_a_card_has_its_notebooks_below_it_and_bare_names_are_no_output(conf, link):
    card = link("# Title 🟩", "notebooks/fmm/README")
    assert "Report <report>" in card and "title='holds'" in card and "<report>" not in link("# Title")
    path = ROOT / "notebooks/fmm/experiment.ipynb"
    text = path.read_text(encoding="utf-8")
    tidy = link(text, "notebooks/fmm/experiment")
    assert "\"'sentiment.tiny-bert.s0'\"" in text and "\"'sentiment.tiny-bert.s0'\"" not in tidy
    assert len(json.loads(tidy)["cells"]) == len(json.loads(text)["cells"])


def test_files_are_in_the_repository_once_its_address_is_set(conf, link, monkeypatch):
    monkeypatch.setattr(conf, "repository", "https://example.org/o/r")
    assert link("[a](../Makefile)") == "[a](https://example.org/o/r/blob/main/Makefile)"


def test_docstrings_are_read_as_plain_text(conf):
    lines = ["The |x| of `a|b`s:", "", "    |kept| `as` it is", "", "Then |y|.", ">>> `|z|`", "", "|w|"]
    conf.restructured(None, "function", "f", None, None, lines)
    assert lines == ["The \\|x\\| of ``a|b``\\ s::", "", "    |kept| `as` it is", "", "Then \\|y\\|.",
                     ">>> `|z|`", "", "\\|w\\|"]  # fmt: skip


def test_what_is_returned_is_a_text_and_no_type(conf):
    """Napoleon would break "{name: [values]}" at its colon."""
    pytest.importorskip("myst_nb")
    from sphinx.ext.napoleon import Config, GoogleDocstring

    conf.setup(SimpleNamespace(connect=lambda *args, **more: None))
    config = Config(napoleon_use_rtype=True)
    text = str(GoogleDocstring("F.\n\nReturns:\n    {name: [values]}, by size.\n", config))
    assert ":returns: {name: [values]}, by size." in text and ":rtype:" not in text


def test_nothing_is_executed_and_mathjax_is_here(conf):
    assert conf.nb_execution_mode == "off"
    assert (ROOT / "docs/_static" / conf.mathjax_path).is_file()
    shipped = [path.stat().st_size for path in (ROOT / "docs/_static").rglob("*") if path.is_file()]
    assert sum(shipped) <= 1_600_000


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/**/*.ipynb")), ids=lambda path: path.stem)
def test_every_picture_of_a_notebook_has_an_alternative_text_and_no_progress_bar_is_saved(path):
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            assert not BAR.search("".join(output.get("text", "")))
            if "image/png" in output.get("data", {}):
                assert output["metadata"].get("image/png", {}).get("alt"), "".join(cell["source"])


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/*/report.ipynb")), ids=lambda p: p.parent.name)
def test_a_report_begins_with_a_picture_and_folds_long_tables(path):
    first, *cells = json.loads(path.read_text("utf-8"))["cells"]
    assert "](../../figures/method/" in "".join(first["source"])
    for cell in cells:
        for output in cell.get("outputs", []):
            table = "".join(output.get("data", {}).get("text/html", ""))
            as_printed = table.startswith("<table><caption>Table ")  # the paper's own, with its numbers
            short = as_printed or table.count("<tr>") <= LONG + 2
            assert short or table.startswith("<details>"), "".join(cell["source"])


# The build ----------------------------------------------------------------------------------------


def test_without_the_extra_one_line_says_what_to_install():
    code = "import importlib.util as u, runpy; u.find_spec = lambda name: None\n"
    run = f"{code}runpy.run_path('docs/make_site.py', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True)
    needed = "sphinx, myst_nb, sphinx_book_theme, sphinx_copybutton"
    line = f"the site needs {needed}: python -m pip install -c constraints.txt -e .[docs]\n"
    assert (done.returncode, done.stderr) == (1, line)


class Links(HTMLParser):
    """What a page links to, what it loads, its anchors, and its pictures without an alternative text."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.ids, self.unnamed = set(), set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values.get("id"), values.get("name")} - {None}
        if tag == "a" and values.get("href"):
            self.links.add(values["href"])
        if tag == "img" and not values.get("alt"):
            self.unnamed.add(values["src"])
        if address := values.get("src") or (tag == "link" and values.get("href")):
            self.loaded.add(address)


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("sphinx_book_theme"), reason="needs the extra docs: pip install -e .[docs]")
def test_the_site_builds_without_warnings_and_its_links_lead_somewhere(load, tmp_path):
    assert load("make_site").build(tmp_path / "site") == 0
    read = cache(Links)
    broken, fetched, unnamed = [], [], []
    pages = [page for page in (tmp_path / "site").rglob("*.html") if "_static" not in page.parts]  # templates
    for page in sorted(pages):
        fetched += [(page.name, address) for address in read(page).loaded if "//" in address]
        unnamed += [(page.name, address) for address in read(page).unnamed]
        for address in read(page).links | read(page).loaded:
            place, _, anchor = unquote(address).partition("#")
            if ":" in place:  # another site, or data
                continue
            path = (page.parent / place.partition("?")[0]).resolve() if place else page
            if not path.is_file() or (path.suffix == ".html" and anchor and anchor not in read(path).ids):
                broken.append((page.relative_to(tmp_path / "site").as_posix(), address))
    assert not fetched and not broken and not unnamed
    size = sum(path.stat().st_size for path in (tmp_path / "site").rglob("*") if path.is_file())
    assert size <= 25_000_000
    built = {path.parent.name for path in (tmp_path / "site/notebooks").glob("*/report.html")}
    assert built == {path.parent.name for path in ROOT.glob("notebooks/*/report.ipynb")}
