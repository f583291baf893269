"""What a host of the repository reads, and what other platforms cannot take: nothing of it runs here."""

import ast
import re
import subprocess
import tomllib

import pytest
import yaml
from docs.page import ROOT

WORKFLOWS = {path.stem: path for path in sorted(ROOT.glob(".github/workflows/*.yml"))}
FORMS = sorted(path for path in ROOT.glob(".github/ISSUE_TEMPLATE/*.yml") if path.stem != "config")
PAGES = [ROOT / f"{name}.md" for name in ("README", "CODE_OF_CONDUCT", "SECURITY", "CONTRIBUTING")]
PAGES += [ROOT / "CITATION.cff", *WORKFLOWS.values()]
PAGES += [ROOT / ".github/pull_request_template.md", *FORMS]
PAGES += [ROOT / "docs/running.md", ROOT / "notebooks/welcome.ipynb"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def workflow(name):
    """A workflow; YAML reads its key `on` as true."""
    return yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))


def commands(job):
    return "\n".join(step.get("run", "") for step in job["steps"])


# Workflows ----------------------------------------------------------------------------------------


def test_tests_run_on_every_platform_and_python_that_the_package_names():
    job = workflow("test")["jobs"]["test"]
    matrix = job["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    named = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", c) for c in PROJECT["classifiers"]]
    assert matrix["python"] == [match[1] for match in named if match]
    assert job["runs-on"] == "${{ matrix.os }}" and "exclude" not in matrix
    assert 'pip install -c constraints.txt -e ".[test]"' in commands(job)
    assert "python -m pytest -q" in commands(job) and "faithlib env" in commands(job)


def test_the_quick_scale_and_the_site_are_made_on_linux():
    jobs = workflow("test")["jobs"]
    assert jobs["quick"]["runs-on"] == jobs["site"]["runs-on"] == "ubuntu-latest"
    assert "make results" in commands(jobs["quick"]) and "make verify" in commands(jobs["quick"])
    assert "python docs/make_site.py" in commands(jobs["site"])


def test_a_release_is_built_and_checked_before_it_is_attached():
    (job,) = workflow("release")["jobs"].values()
    steps = commands(job)
    places = [steps.index(c) for c in ("python -m build", "twine check --strict", "gh release create")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_says_that_it_is_untried_and_reads_no_secret(name):
    text = WORKFLOWS[name].read_text(encoding="utf-8")
    assert text.startswith("# Untried: ") and "secrets." not in text
    assert {"name", True, "permissions", "jobs"} <= set(workflow(name))


def test_the_targets_of_make_that_workflows_call_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split()
    for path in WORKFLOWS.values():
        called = re.findall(r"\bmake ([a-z-]+)", path.read_text(encoding="utf-8"))
        assert set(called) <= set(targets)


# Forms and pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_is_needed(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    fields = {field["id"]: field for field in form["body"]}
    assert form["name"] and form["description"] and len(fields) == len(form["body"])
    assert any(field.get("validations", {}).get("required") for field in fields.values())
    if path.stem in ("bug", "replication"):
        assert "`faithlib env`" in fields["environment"]["attributes"]["description"]


def test_there_is_a_form_for_bugs_metrics_and_replications():
    assert [path.stem for path in FORMS] == ["bug", "new_metric", "replication"]


def test_the_address_of_the_repository_stands_in_one_place():
    """Without it no page shows one, nor a sign in its stead."""
    address = PROJECT.get("urls", {}).get("Repository", "")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if not address:
            assert not re.search(r"(github|gitlab)\.\w+/[\w.-]+/faithlib", text), page
        assert not re.search(r"(?i)<url>|<address|your-org|OWNER/|example\.(com|org)|TODO|\[INSERT", text), (
            page
        )


# Other platforms ----------------------------------------------------------------------------------

POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
POSIX_CALLS = re.compile(r"os\.(fork\w*|get(e?uid|pgid)|setsid|killpg|mkfifo|nice|sysconf|wait\w*)")
SIGNALS = re.compile(r"signal\.SIG(?!INT\b|TERM\b|_DFL\b|_IGN\b)\w+")
POSIX_PATHS = re.compile(r"/(tmp|dev|proc|etc|usr|var)(/|$)")
GUARDED = {  # behind what only Windows has, or read only where it is
    "faithlib/provenance.py: import resource",
    "faithlib/provenance.py: /proc/cpuinfo",
}


def posix_only(path):
    """What a file uses that Windows does not have."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (f"import {name.name}" for name in node.names if name.name in POSIX_MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in POSIX_MODULES:
            yield f"import {node.module}"
        elif isinstance(node, ast.Attribute):
            call = ast.unparse(node)
            if POSIX_CALLS.fullmatch(call) or SIGNALS.fullmatch(call):
                yield call
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and POSIX_PATHS.match(node.value):
            yield node.value


def test_faithlib_uses_nothing_that_windows_lacks():
    uses = {
        f"{path.relative_to(ROOT).as_posix()}: {use}"
        for path in ROOT.glob("faithlib/**/*.py")
        for use in posix_only(path)
    }
    assert uses == GUARDED


def test_what_windows_lacks_is_seen(tmp_path):
    path = tmp_path / "some.py"
    path.write_text(
        "import fcntl, os, signal\nfrom pwd import getpwnam\nos.fork()\nsignal.SIGKILL\nsignal.SIGINT\n"
        "open('/tmp/x')\nfrom os import path\n"
    )
    assert set(posix_only(path)) == {"import fcntl", "import pwd", "os.fork", "signal.SIGKILL", "/tmp/x"}


RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def unfit(names):
    """File names that Windows refuses, or takes for one another."""
    lower = [name.lower() for name in names]
    for name in names:
        parts = name.split("/")
        odd = any(re.search(r'[<>:"|?*\\\x00-\x1f]|[. ]$', part) for part in parts)
        reserved = any(RESERVED.match(part) for part in parts)
        if odd or reserved or len(name) > 180 or lower.count(name.lower()) > 1:
            yield name


def test_windows_takes_every_file_name():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    names = done.stdout.split("\0")[:-1]
    if not names:
        pytest.skip("needs a clone with git")
    assert not list(unfit(names))


def test_names_that_windows_refuses_are_seen():
    names = ["a/aux.py", "a:b", "dot.", "What.py", "what.py", "good.py", "x" * 200, "nul", "console.py"]
    assert list(unfit(names)) == ["a/aux.py", "a:b", "dot.", "What.py", "what.py", "x" * 200, "nul"]
