"""Write the generated pages of docs/: faults.md and dependencies.md.

python workflow/pages.py          from results/benchmarks/faults.csv, constraints.txt, installed packages
python workflow/pages.py --run    runs the tests of faults.csv first, and notes the commit of each that passes
"""

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pandas as pd
from execute import command
from stale import ask_git

from faithlib.report import markdown

FAULTS = Path("results/benchmarks/faults.csv")


def head(name):
    """A text of heads/, that stands above the table of a page or beside a plan."""
    return Path(__file__).with_name("heads").joinpath(f"{name}.txt").read_text(encoding="utf-8")


def faults():
    """docs/faults.md as a text."""
    table = pd.read_csv(FAULTS, keep_default_na=False)
    path, name = table.test.str.split("::", expand=True).T.to_numpy()
    table["test"] = [f"[{n.replace('_', ' ')}](../{p})" for p, n in zip(path, name, strict=True)]
    return head("faults") + markdown.table(list(table), table.values)


def dependencies():
    """docs/dependencies.md as a text."""
    pins = Path("constraints.txt").read_text("utf-8").splitlines()
    names = list(dict.fromkeys(pin.split("==")[0] for pin in pins))
    return head("dependencies") + markdown.table(("package", "licence"), [(n, licence(n)) for n in names])


def licence(name):
    """The licence that an installed package declares, on one line; "—" where it is not installed.

    >>> licence("no-such-package")
    '—'
    """
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return "—"
    if declared := about.get("License-Expression"):
        return declared
    classes = [c.split(" :: ")[-1] for c in about.get_all("Classifier", []) if c.startswith("License :: ")]
    text = ", ".join(c for c in classes if c != "OSI Approved") or (about.get("License") or "").strip()
    return text.splitlines()[0][:80] if text else "not declared"


def run():
    """Run the tests of faults.csv; those that pass get the commit, which must be clean."""
    if ask_git("status", "--porcelain"):
        raise ValueError("the project has changes that are not committed: commit them, then run the tests")
    commit = ask_git("rev-parse", "--short=12", "HEAD") or ""
    table = pd.read_csv(FAULTS, keep_default_na=False)
    for test in table.test[~table.test.str.startswith("tests/cluster")].unique():
        asked = [sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow", test]
        passed = subprocess.run(asked, capture_output=True, text=True)
        counted = re.search(r"(\d+) passed", passed.stdout)
        print(f"{test}: {counted[0] if counted else 'nothing passed'}", flush=True)
        table.loc[table.test == test, "commit"] = commit.strip() if counted and not passed.returncode else ""
    table.to_csv(FAULTS, index=False)


def main(arguments):
    if arguments == ["--run"]:
        run()
    for name, page in (("faults", faults), ("dependencies", dependencies)):
        Path("docs", f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    command(main)
