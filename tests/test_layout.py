"""The layout holds: what imports what, what an import loads, how long things are, and where tests stand."""

import ast
import json
import re
import statistics
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from faithlib import attributions
from faithlib.provenance import paper_of
from replication import papers

ROOT = Path(__file__).resolve().parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for pattern in ("faithlib/**/*.py", "replication/*.py", "notebooks/**/*.py")
    for path in sorted(ROOT.glob(pattern))
    if "tutorials" not in path.parts
}
NOTEBOOKS = sorted(ROOT.glob("notebooks/*/*.ipynb"))
NO_PROSE = re.compile(r"```.*?```|`[^`]*`|\$[^$]*\$", re.DOTALL)  # code and formulas
UNKNOWN_TAG = re.compile(r"<(?!/?(?:a|b|br|details|img|sub|summary|sup)\b|https?:|!--)[a-zA-Z][^>]*>")
TIERS = (  # a module may import what stands in its own tier or in a later one
    ("notebooks",),
    ("replication",),
    ("study",),
    ("report", "metrics", "training"),
    ("attributions",),
    ("engine",),
    ("models", "environment"),
    ("tasks", "corpora"),
    tuple("statistics store provenance scores options progress registry plugins lazy clone".split()),
)
TIER = {part: number for number, tier in enumerate(TIERS) for part in tier}
DOORS = ("faithlib", "faithlib.__main__", "replication.__main__")  # they lead everywhere
COMPUTES_NAMES = ("faithlib.lazy", "replication.papers")  # they import what a registry or a folder names
NAMED = re.compile(r"(?:faithlib|replication|notebooks)(?:\.\w+)+")
CITED = set(papers.names()) - {"attributions", *attributions.names()}  # names that mean a paper alone


def part(module):
    """The part of the project that a module belongs to: "metrics" of faithlib.metrics.soft."""
    first, *rest = module.split(".")
    return first if first != "faithlib" else (rest or [""])[0]


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def literals(path):
    """(line, text) of every string in a file that is no docstring."""
    nodes = list(ast.walk(tree(path)))
    docs = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def imported(path):
    """The modules of the project that a file imports: at its top, inside a function, or by a string."""
    names = {text.partition(":")[0] for _, text in literals(path) if NAMED.fullmatch(text.partition(":")[0])}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: line {node.lineno} imports by a relative name"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inside & set(MODULES) or {node.module}
    return {name for name in names if name in MODULES}


IMPORTS = {module: imported(path) - {module} for module, path in MODULES.items()}


# What imports what --------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [module for module in MODULES if module not in DOORS])
def test_imports_go_down(module):
    assert part(module) in TIER, f"{module} has no tier: give it one in TIERS"
    tier = TIER[part(module)]
    wrong = [name for name in IMPORTS[module] if name == "faithlib" or TIER[part(name)] < tier]
    assert not wrong, f"{module} imports {wrong}, which stand above it"


def test_an_import_in_a_string_is_seen(tmp_path):
    path = tmp_path / "some.py"
    path.write_text('import_module("faithlib.training.roar")\nsay("faithlib.study is", "faithlib.engine")\n')
    assert imported(path) == {"faithlib.training.roar", "faithlib.engine"}


@pytest.mark.parametrize("module", [module for module in MODULES if module not in COMPUTES_NAMES])
def test_no_name_of_an_import_is_computed(module):
    for node in ast.walk(tree(MODULES[module])):
        if isinstance(node, ast.Call) and "import" in ast.unparse(node.func).rpartition(".")[2]:
            assert all(isinstance(argument, ast.Constant) for argument in node.args), ast.unparse(node)


def test_no_imports_run_in_a_circle():
    try:
        TopologicalSorter(IMPORTS).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_metrics_know_no_attribution():
    for module in MODULES:
        if part(module) == "metrics":
            assert not {name for name in IMPORTS[module] if part(name) == "attributions"}, module


def test_faithlib_knows_neither_papers_nor_verdicts():
    for module in MODULES:
        if module.startswith("faithlib.") and module not in DOORS:
            wrong = {name for name in IMPORTS[module] if part(name) in ("notebooks", "replication")}
            assert not wrong, module


SHARED = {module: path for module, path in MODULES.items() if part(module) != "notebooks"}
SHARED |= {f"workflow.{path.stem}": path for path in sorted(ROOT.glob("workflow/*.py"))}
RELEASES = ("faithlib.attributions.releases", "faithlib.attributions.releases_inseq")


@pytest.mark.parametrize("module", [module for module in SHARED if module not in RELEASES])
def test_no_paper_is_named_outside_its_folder(module):
    """But in the releases, which hold what the papers' code does; a command may have a study's name."""
    words = re.compile(rf"\b({'|'.join(sorted(CITED))})\b")
    named = {name for name in imported(SHARED[module]) if name.startswith("notebooks.")}
    texts = [(line, text) for line, text in literals(SHARED[module]) if words.search(text)]
    if module == "faithlib.__main__":
        named = texts = named - {"notebooks.ground_truth_2.trial"}
    assert not named and not texts


def test_the_workflow_is_below_no_paper():
    for path in ROOT.glob("workflow/*.py"):
        assert not {name for name in imported(path) if part(name) == "notebooks"}, path


# What an import loads -----------------------------------------------------------------------------

LOADED = "import sys; print(sorted({name.partition('.')[0] for name in sys.modules}))"


def loaded(code):
    """The packages that a fresh process has imported after some code."""
    command = [sys.executable, "-c", f"{code}\n{LOADED}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return set(ast.literal_eval(done.stdout))


def test_the_front_door_is_light():
    assert not loaded("import faithlib") & {"torch", "transformers", "matplotlib", "seaborn", "pandas"}


def test_a_report_draws_without_seaborn_until_it_draws():
    assert not loaded("import faithlib.report") & {"torch", "transformers", "seaborn"}


def test_records_reports_papers_and_registries_load_no_model():
    """Of a paper all but `measure`, which computes."""
    names = [module for module in MODULES if part(module) in ("replication", "report", "notebooks")]
    computing = [name for name in names if paper_of(MODULES[name].relative_to(ROOT)) or name in DOORS]
    names = [name for name in names if name not in computing]
    assert len(names) > 25 and len(computing) > 10
    registries = ("attributions", "attributions.registry", "metrics.registry", "tasks", "tasks.table")
    names += [f"faithlib.{name}" for name in registries]
    assert not loaded("\n".join(f"import {name}" for name in names)) & {"torch", "transformers"}


# Notebooks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_notebooks_are_prose_and_short_cells(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [c for c in cells if c["cell_type"] == "code"]
    lines = [len("".join(c["source"]).splitlines()) for c in code]
    listed = ["parameters" in c["metadata"].get("tags", []) for c in code]  # a line a parameter
    assert (len(cells) - len(code)) / len(cells) >= 0.45
    assert statistics.median(lines) <= 8
    assert max(n for n, is_list in zip(lines, listed, strict=True) if not is_list) <= 21
    assert all(n <= 34 for n, is_list in zip(lines, listed, strict=True) if is_list)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_word_of_a_notebook_vanishes_as_a_tag(path):
    """A placeholder such as <model> in a sentence is a tag, which a page does not show."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = [NO_PROSE.sub("", "".join(c["source"])) for c in cells if c["cell_type"] == "markdown"]
    assert not [tag for text in texts for tag in UNKNOWN_TAG.findall(text)]


# Where tests stand --------------------------------------------------------------------------------


def defines(path):
    """Whether a file defines a function or a class that others may use."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) and not node.name.startswith("_") for node in tree(path).body)


def test_every_public_module_has_a_test_file_of_its_name():
    """Cards, which define nothing, are all in tests/replication/test_papers.py."""
    sources = [path.relative_to(ROOT) for path in MODULES.values() if defines(path)]
    sources = [p.relative_to("faithlib") if p.parts[0] == "faithlib" else p for p in sources]
    sources = [Path("papers", *p.parts[1:]) if p.parts[0] == "notebooks" else p for p in sources]
    sources += [path.relative_to(ROOT) for path in ROOT.glob("workflow/*.py")]
    missing = []
    for source in sources:
        name = {"__main__": "main", "__init__": source.parent.name}.get(source.stem, source.stem)
        here = ROOT / "tests" / source.parent
        if name == "card" or (here / f"test_{name}.py").is_file():
            continue
        if source.stem != "__init__" or not (here.parent / f"test_{name}.py").is_file():
            missing.append(source.as_posix())
    assert not missing, f"no test file for {missing}"


def test_a_test_that_a_page_names_is_there():
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/**/*.ipynb")]
    pages += [*ROOT.glob("notebooks/**/*.md"), *ROOT.glob("faithlib/**/*.md")]
    named = {name for page in pages for name in re.findall(r"tests/[\w/]+\.py", page.read_text("utf-8"))}
    assert named and not [name for name in sorted(named) if not (ROOT / name).is_file()]
