"""Submit a grid to Slurm as arrays of jobs, one array a paper: no process has to stay alive while it runs.

    python workflow/submit.py scale=paper device=cuda -- --partition=gpu --gpus=1

What follows `--` goes to sbatch as it is. Each job computes one unit that has no finished record, with the
memory and minutes that grid.py says; a last job, which begins once all others have ended well, draws the
reports. After failures, or a cancelled array, the same command submits what is left: finished units are
never computed again, and a unit that was cut short goes on from what it kept.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import execute
import grid
import plan


def slurm(*command):
    """What a command of Slurm prints; ValueError, in one line, where it fails or is not there."""
    if shutil.which(command[0]) is None:
        raise ValueError(f"there is no {command[0]} here: run this on a login node of a Slurm cluster")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"{command[0]} failed: {' '.join(done.stderr.split())}")
    return done.stdout.strip()


def submit(scale, entries, paths, config, further):
    """Submit what is pending; a line for each array and for the job of the reports."""
    name = f"faithlib-{scale}"
    if queued := slurm("squeue", "--noheader", "--me", "--format=%i", f"--name={name}").split():
        raise ValueError(
            f"{len(queued)} jobs of this scale are in the queue ({queued[0]}): wait for them, or "
            f"scancel --name={name}, then give the same command again"
        )
    jobs = []
    common = ["sbatch", "--parsable", f"--job-name={name}", f"--chdir={Path.cwd()}", "--requeue", *further]
    state, places = plan.status(config), json.dumps(paths)
    for paper, entry in entries.items():
        units = plan.pending(scale, paper, entry, state)
        if not units:
            continue
        yield from grid.make_room(f"results/{scale}/{paper}/{unit}.json" for unit in units)
        listed = Path(f"runs/{scale}/{paper}/array.json")
        listed.parent.mkdir(parents=True, exist_ok=True)
        asked = {f"{listed.parent}/{unit}.ipynb": json.dumps(entry.units[unit]) for unit in units}
        tasks = [[entry.experiment, output, parameters, places] for output, parameters in asked.items()]
        listed.write_text(json.dumps(tasks, indent=1), encoding="utf-8")
        asks = [f"--mem={entry.memory}M", f"--time={entry.minutes}"]
        if entry.gpu and not any(option.startswith("--g") for option in further):
            asks.append("--gpus=1")
        asks += [f"--array=0-{len(units) - 1}", f"--output={listed.parent}/array-%a.out"]
        command = f'"{sys.executable}" workflow/submit.py --run {listed}'
        job = slurm(*common, *asks, "--wrap", command).partition(";")[0]
        jobs.append(job)
        yield f"{paper}: job {job}, {len(units)} units; what they print: {listed.parent}/"
    options = " ".join(f'"{key}={value}"' for key, value in config.items())
    after = [f"--dependency=afterok:{':'.join(jobs)}", "--kill-on-invalid-dep=yes"] if jobs else []
    command = f'"{sys.executable}" -m snakemake --config {options}'
    job = slurm(*common, *after, f"--output=runs/{scale}/reports.out", "--wrap", command)
    yield f"reports: job {job.partition(';')[0]}, {'once all have ended well' if jobs else 'at once'}"


def run(listed):
    """Compute the unit of a list that this job of the array is for."""
    units = json.loads(Path(listed).read_text(encoding="utf-8"))
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no network there; `make fetch` has filled the cache
    execute.main(units[int(os.environ["SLURM_ARRAY_TASK_ID"])])


def main(arguments):
    if arguments[:1] == ["--run"]:
        return run(arguments[1])
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    config = {"scale": "quick", **grid.of_arguments(arguments[:cut])}
    config = {key: value for key, value in config.items() if value}
    scale, entries, paths = grid.read(config)
    for line in submit(scale, entries, paths, config, arguments[cut + 1 :]):
        print(line, flush=True)


if __name__ == "__main__":
    execute.command(main)
