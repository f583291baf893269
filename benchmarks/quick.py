"""What the quick scale costs: CPU seconds of all its processes, and the memory of the largest.

    python -m benchmarks.quick            `make results`, in a copy of the project without results
    python -m benchmarks.quick --quick    one paper of it

The copy holds what git tracks, as it is on disk. Writes quick.csv and quick.json to results/benchmarks.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from benchmarks import common
from replication.results import project_root


def main(arguments=None):
    options = common.options(__doc__, repeats=1).parse_args(arguments)
    papers = ["papers=fmm"] if options.quick else []
    with tempfile.TemporaryDirectory() as folder:
        copy(project_root(), Path(folder))
        row = run(Path(folder), ["scale=quick", *papers])
    common.save(options, "quick", pd.DataFrame([row]))


def copy(root, folder):
    """What git tracks in `root` and is there, without results and figures."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    for name in filter(None, tracked.stdout.split("\0")):
        if not name.startswith(("results/", "figures/")) and (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)


def run(folder, grid):
    """Run the commands of `make results`: seconds and memory of all processes that they start."""
    commands = [["workflow/grid.py", *grid], ["-m", "snakemake", "--config", *grid],
                ["-m", "replication", "quick"]]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for command in commands:
        subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "what": "make results",
        "units": len(list(folder.glob("results/quick/*/*.json"))),
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "wall_seconds": wall,
        "peak_mib_of_a_process": after.ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()
