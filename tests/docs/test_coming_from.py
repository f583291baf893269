"""docs/coming-from.md: our half of each pair runs, theirs where the library is installed; names are known."""

import re
from types import SimpleNamespace

import pytest
from docs.page import BLOCK, ROOT

from faithlib import attributions
from faithlib.metrics import registry

PAGE = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
LIBRARIES = ("captum", "inseq", "ferret", "Quantus", "shap")


def explanation(texts):
    """What shap returns for texts, by its attributes: a value a word and class."""
    data = [re.findall(r"\S+\s*", text) for text in texts]
    values = [[[len(piece), -len(piece)] for piece in pieces] for pieces in data]
    return SimpleNamespace(values=values, data=data, base_values=0.0)


def blocks(heading):
    """The blocks of Python of a section, "" for what stands before the first."""
    before, *sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    text = next((s for s in sections if s.startswith(f"{heading}\n")), "") if heading else before
    return [code for language, code in BLOCK.findall(text) if language == "python"]


@pytest.fixture(scope="module")
def shared():
    """The model and the texts of the page's first block."""
    (code,) = blocks("")
    exec(code, names := {})
    return names | {"explanation": explanation(names["texts"])}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", LIBRARIES)
def test_our_half_runs(library, shared):
    assert blocks(library)
    place = dict(shared)
    for code in blocks(library):
        exec(code, place)
    table = place["study"].table
    assert table.value.notna().any() and (table.n + table.void <= 8).all()
    if library == "captum":  # their path starts at the embedding of [PAD], ours at zero
        theirs = place["theirs"].table
        assert theirs.metric.tolist() == table.metric.tolist()
        assert (theirs.value - table.value).abs().max() < 0.05


def test_every_library_has_a_row_and_a_section():
    table = PAGE.partition("\n## ")[0]
    for library in LIBRARIES:
        assert f"| {library}: " in table and f"\n## {library}\n" in PAGE


def test_the_names_of_the_tables_are_registered():
    registered = {*attributions.names(), *registry.names()}
    named = set(re.findall(r"`((?:n?aopc|soft|gradient|input|leave|auprc|lime)[a-z_]*)`", PAGE))
    assert named - {"aopc_compr", "aopc_suff", "auprc_plau"} <= registered
