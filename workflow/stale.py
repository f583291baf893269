"""List the results that other code than this made: nothing is changed, and none is computed again by itself.

    python workflow/stale.py

A record is stale where a part of faithlib that computes (all but report/ and papers/), or its notebook's
code cells, are not what they were at the commit that the record names. What a clean commit did not make, or a
commit that git does not have, is compared by faithlib's hash alone.
"""

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path, PurePosixPath

from execute import at_root, code_hash

from faithlib import results

SHOWING = ("report", "papers")  # they make tables, not records


@cache
def git(*arguments):
    """What git prints; None where it fails, as for a commit that it does not have."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def moved(commit):
    """The parts of faithlib, modules and packages, that differ from a commit's; None without the commit."""
    names = git("diff", "--name-only", commit, "--", "faithlib")
    if names is None:
        return None
    parts = {PurePosixPath(name).parts[1] for name in names.splitlines() if name.endswith(".py")}
    return sorted(parts - set(SHOWING))


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
    parts = None if provenance["dirty"] or not commit else moved(commit)
    if parts is None:
        if provenance["code"] != results.code_digest():
            reasons = ["made by code that is no commit here, and not by this"]
    else:
        reasons = [f"faithlib's {', '.join(parts)} since {commit[:12]}"] if parts else []
        if hash_then(commit, notebook) not in (None, code_hash(notebook)):
            reasons.append("the notebook's code")
    if provenance["versions"]["faithlib"] != (now := results.code_provenance()["versions"]["faithlib"]):
        reasons.append(f"faithlib {provenance['versions']['faithlib']}, now {now}")
    return reasons


def main():
    paths = [path for path in sorted(Path("results").glob("*/*/*.json")) if path.parts[1] in results.SCALES]
    stale = 0
    for path in paths:
        try:
            reasons = why(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError):
            reasons = ["damaged, or no record"]
        if reasons:
            print(f"{path}: {'; '.join(reasons)}")
            stale += 1
    print(
        f"{stale} of {len(paths)} records are of other code than this"
        + (": delete those to be computed again, then `make results SCALE=...`" if stale else "")
    )


if __name__ == "__main__":
    at_root()
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
