"""List the results that other code than this made: nothing is changed, and none is computed again by itself.

    python workflow/stale.py

A record is stale where a part of faithlib that computes, what its paper computes with, or its notebook's code
cells are not what they were at the commit that the record names. In faithlib all but report/ computes; in a
paper's folder it is `measure`. What a clean commit did not make, or a commit that git does not have, is
compared by the hash of the code alone. Files of one's own that a record read are compared by theirs.
"""

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path, PurePosixPath

from execute import command

from faithlib.provenance import paper_of
from replication import records, results
from replication.parameters import code_hash

SHOWING = {"report", "papers"}  # of faithlib: what draws, and where papers stood before


def ask_git(*arguments):
    """What git prints; None where it fails, as for a commit that it does not have."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


git = cache(ask_git)  # of what does not change


def moved(commit, paper):
    """The parts of faithlib that a paper computes with and that differ from a commit's; None without it."""
    names = git("diff", "--name-only", commit, "--", "faithlib", "notebooks")
    if names is None:
        return None
    changed = [name for name in names.splitlines() if name.endswith((".py", ".toml"))]
    parts = {PurePosixPath(name).parts[1] for name in changed if name.startswith("faithlib/")}
    return sorted(parts - SHOWING) + sorted(name for name in changed if paper_of(name) == paper)


@cache
def hash_then(commit, notebook):
    """`code_hash` of a notebook as it was at a commit; None where it was not there."""
    text = git("show", f"{commit}:{notebook}")
    if text is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "then.ipynb")
        path.write_text(text, encoding="utf-8")
        return code_hash(path)


def why(record):
    """What has changed since a record was made, as a list of words; [] where it is this code's."""
    provenance, notebook = record["provenance"], f"notebooks/{record['paper']}/experiment.ipynb"
    commit, reasons = provenance["git"] or "", []
    parts = None if provenance["dirty"] or not commit else moved(commit, record["paper"])
    if parts is None:
        if provenance["code"] != results.code_digest():
            reasons = ["made by code that is no commit here, and not by this"]
    else:
        reasons = [f"faithlib's {', '.join(parts)} since {commit[:12]}"] if parts else []
        if hash_then(commit, notebook) not in (None, code_hash(notebook)):
            reasons.append("the notebook's code")
    if provenance["versions"]["faithlib"] != (now := results.code_provenance()["versions"]["faithlib"]):
        reasons.append(f"faithlib {provenance['versions']['faithlib']}, now {now}")
    if then := provenance.get("own"):
        now = results.own_files(record["params"])
        reasons += [f"{name} was edited, or is gone" for name in then if now.get(name) != then[name]]
    return reasons


def main(arguments=()):
    paths = [path for path in sorted(Path("results").glob("*/*/*.json")) if records.scale_of(path)]
    stale = 0
    for path in paths:
        try:
            reasons = why(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError):
            reasons = ["damaged, or no record"]
        if reasons:
            print(f"{path}: {'; '.join(reasons)}")
            stale += 1
    fix = ": delete those to be computed again, then `make results SCALE=...`" if stale else ""
    print(f"{stale} of {len(paths)} records are of other code than this{fix}")


if __name__ == "__main__":
    command(main)
