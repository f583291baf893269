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

from faithlib.report import markdown

FAULTS = Path("results/benchmarks/faults.csv")
LICENCE = "License :: "
FAULTS_PAGE = """# What breaks, and what is lost

Each row is a test that breaks the thing and looks at what is left. Afterwards the same command goes on: what
was finished stays byte for byte, and the end equals that of an undisturbed run. *Commit* is where the test
last passed (`python workflow/pages.py --run`). The Slurm of the last rows is a real one, of one node
([log](../results/quick/cluster/slurm.log)).

"""
DEPENDENCIES_PAGE = """# Dependencies

`constraints.txt` pins every package, `requirements.txt` the same versions by hash. `make lock` compiles both.

```bash
pip install --require-hashes -r requirements.txt    # refuses a file that is not the one that was locked
pip install --no-deps -e .
```

Known vulnerabilities, where a network and its database can be reached:

```bash
pip install pip-audit
pip-audit --require-hashes --disable-pip -r requirements.txt
```

It is no gate: a package that it could not look up is printed as skipped, and with all of them skipped it
still ends in "No known vulnerabilities found". Read which packages it skipped.

The licences are those that the packages declare. "—": the package is of another platform, or was not
installed when this page was generated.

"""


def faults():
    """docs/faults.md as a text."""
    table = pd.read_csv(FAULTS, keep_default_na=False)
    path, name = table.test.str.split("::", expand=True).T.to_numpy()
    table["test"] = [f"[{n.replace('_', ' ')}](../{p})" for p, n in zip(path, name, strict=True)]
    return FAULTS_PAGE + markdown.table(list(table), table.values)


def dependencies():
    """docs/dependencies.md as a text."""
    pins = Path("constraints.txt").read_text("utf-8").splitlines()
    names = list(dict.fromkeys(pin.split("==")[0] for pin in pins))
    return DEPENDENCIES_PAGE + markdown.table(("package", "licence"), [(n, licence(n)) for n in names])


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
    classes = [c.split(" :: ")[-1] for c in about.get_all("Classifier", []) if c.startswith(LICENCE)]
    text = ", ".join(c for c in classes if c != "OSI Approved") or (about.get("License") or "").strip()
    return text.splitlines()[0][:80] if text else "not declared"


def run():
    """Run the tests of faults.csv; those that pass get the commit, which must be clean."""
    if subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True).stdout:
        raise ValueError("the project has changes that are not committed: commit them, then run the tests")
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout
    table = pd.read_csv(FAULTS, keep_default_na=False)
    for test in table.test[~table.test.str.startswith("tests/cluster")].unique():
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow", test]
        passed = subprocess.run(command, capture_output=True, text=True)
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
