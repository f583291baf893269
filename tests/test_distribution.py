"""What a release holds: the source archive, the wheel built from it, a study with the wheel alone."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from docs.page import BLOCK, ROOT
from docs.test_readme import MODEL, README

pytestmark = pytest.mark.slow
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
IN_ARCHIVE = set(
    "LICENSE README.md SECURITY.md constraints.txt pyproject.toml benchmarks/README.md config/quick.yaml "
    "docs/using.md faithlib/__init__.py faithlib/py.typed figures/method/one_text.svg hatch_build.py "
    "notebooks/fmm/README.md notebooks/fmm/experiment.ipynb replication/records.py tests/test_main.py "
    "workflow/Snakefile".split()
)
NOT_IN_ARCHIVE = ("results/", "figures/small/", "docs/generated/", "docs/_static/mathjax", ".git/", ".venv/")


def run(*command, cwd):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fresh(folder):
    """The Python of a new environment without packages."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The source archive."""
    place = tmp_path_factory.mktemp("release")
    python = fresh(place / "builder")
    run(python, "-m", "pip", "install", "-q", "hatchling", cwd=place)
    run(python, "-m", "hatchling", "build", "-t", "sdist", "-d", place, cwd=ROOT)
    return place / f"faithlib-{VERSION}.tar.gz"


@pytest.fixture(scope="module")
def wheel(archive):
    """The wheel, built from the source archive."""
    place = archive.parent
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", place, archive, cwd=place)
    return place / f"faithlib-{VERSION}-py3-none-any.whl"


def test_the_archive_holds_the_code_and_no_results(archive):
    assert archive.stat().st_size <= 3_000_000
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert names >= IN_ARCHIVE
    assert not [name for name in names if name.startswith(NOT_IN_ARCHIVE) or name.endswith("report.ipynb")]


def test_the_wheel_holds_faithlib_alone(wheel):
    assert wheel.stat().st_size <= 400_000
    with zipfile.ZipFile(wheel) as files:
        names = {name for name in files.namelist() if ".dist-info/" not in name}
    assert names == set(run("git", "ls-files", "faithlib", cwd=ROOT).splitlines())


def test_the_page_on_a_registry_has_no_link_that_leads_nowhere(wheel):
    with zipfile.ZipFile(wheel) as files:
        (page,) = [files.read(name).decode() for name in files.namelist() if name.endswith("/METADATA")]
    links = re.findall(r"\]\(([^)\s]+)", page)
    assert "# faithlib" in page and links and all(link.startswith(("https://", "#")) for link in links)


def test_the_wheel_alone_runs_the_five_lines_of_the_readme(wheel, tmp_path):
    python = fresh(tmp_path / "reader")
    pins = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "-q", "-c", pins, wheel, cwd=tmp_path)
    five_lines = next(text for language, text in BLOCK.findall(README) if language == "python")
    (tmp_path / "study.py").write_text(MODEL + five_lines, encoding="utf-8")
    run(python, "study.py", cwd=tmp_path)
    assert (tmp_path / "out/explorer.html").is_file() and (tmp_path / "out/tables/results.csv").is_file()
    printed = run(python, "-m", "faithlib", "env", cwd=tmp_path)
    assert VERSION in printed and "git           unknown" in printed
    place = run(python, "-c", "import faithlib; print(faithlib.__file__)", cwd=tmp_path)
    assert Path(place).is_relative_to(tmp_path / "reader")
