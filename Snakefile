# configs/<scale>.yaml -> one papermill run per unit -> one report per paper.
#
#     snakemake --profile profiles/local --config scale=small data_dir=<folder> model_dir=<folder>
#
# Slurm and Kubernetes: profiles/.
# Further options: papers=soft_metrics,... device=cuda. A unit whose .json and .parquet exist is computed
# again only when its parameters or its notebook's code change; never because faithlib, a path, the device
# or a notebook's saved outputs changed, nor in a fresh clone. After a crash: snakemake --unlock.
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, f"{workflow.basedir}/notebooks")
from execute import code_hash
from grid import read, set_aside

if workflow.remote_exec:  # a compute node has no network; `make fetch` has filled the cache
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
try:
    SCALE, PAPERS, PATHS = read(config)
except (ValueError, FileNotFoundError) as error:
    sys.exit(str(error))

if workflow.is_main_process and not {"-n", "--dry-run"} & set(sys.argv):
    for line in set_aside(f"results/{SCALE}/{p}/{unit}.json" for p in PAPERS for unit in PAPERS[p].units):
        print(line, file=sys.stderr)

# The tables whose absence calls for a new report; it writes more than these.
TABLES = {
    "attributions": ["evidence"],
    "fmm": ["performance", "racu", "curves", "masf", "walltime"],
    "noiser": ["prompts", "faithfulness", "boundings"],
    "recursive_roar": ["performance", "racu", "curves", "sparsity"],
    "saloss": ["performance", "decision_flip", "lambdas", "fresh"],
    "soft_metrics": ["performance", "diagnosticity", "faithfulness_by_ratio"],
}
READS = {"fmm": ["recursive_roar"]}  # reports that show another paper's records beside their own
# What a unit asks a cluster for: MiB of memory and minutes. Measured with a margin, at the paper scale set by
# what one GPU's host has; both grow with each attempt, and a unit that ran out of time goes on where it was.
NEEDS = {
    "quick": {"": (2048, 15)},
    "small": {"": (8192, 360)},
    "paper": {"": (32768, 1440), "recursive_roar": (32768, 2880)},
}
GPU = {"gpu": 1} if PATHS.get("device", "cuda" if SCALE == "paper" else "cpu") == "cuda" else {}
EXECUTE = [sys.executable, "notebooks/execute.py"]
PATHS = json.dumps(PATHS)


def records(paper):
    """The record files of a paper's units."""
    units = PAPERS[paper].units
    return expand(f"results/{SCALE}/{paper}/{{unit}}.{{kind}}", unit=units, kind=["json", "parquet"])


def need(which):
    """The memory (0) or the minutes (1) of a unit, as a function of its paper and the attempt."""
    of = NEEDS.get(SCALE, NEEDS["small"])
    return lambda wildcards, attempt: of.get(wildcards.paper, of[""])[which] * attempt


wildcard_constraints:
    paper="|".join(PAPERS),


rule all:
    input:  # the records too: Snakemake does not miss an input of a report that is there
        [f"results/{SCALE}/{paper}/claims.csv" for paper in PAPERS],
        [records(paper) for paper in PAPERS],


rule unit:
    input:
        ancient(lambda w: local(PAPERS[w.paper].experiment)),  # sources, wherever results are stored
    output:
        f"results/{SCALE}/{{paper}}/{{unit}}.json",
        f"results/{SCALE}/{{paper}}/{{unit}}.parquet",
    log:  # not an output: Snakemake deletes a failed job's outputs, and the traceback is in here
        f"runs/{SCALE}/{{paper}}/{{unit}}.log",  # beside it the executed notebook
    threads: lambda w: PAPERS[w.paper].units[w.unit].get("workers", 1)
    resources:
        mem_mb=need(0),
        runtime=need(1),
        **GPU,
    params:
        notebook=f"runs/{SCALE}/{{paper}}/{{unit}}.ipynb",
        code=lambda w: code_hash(PAPERS[w.paper].experiment),
        parameters=lambda w: json.dumps(PAPERS[w.paper].units[w.unit], sort_keys=True),
    shell:  # PATHS is not under params: moving the data must not recompute the units
        "{EXECUTE:q} {input:q} {params.notebook:q} {params.parameters:q} {PATHS:q}"


for paper, entry in PAPERS.items():

    rule:
        name:
            f"report_{paper}"
        input:
            notebook=ancient(local(entry.report)),
            records=[records(p) for p in (paper, *READS.get(paper, [])) if p in PAPERS],
        output:
            f"results/{SCALE}/{paper}/claims.csv",
            [f"results/{SCALE}/{paper}/tables/{table}.csv" for table in TABLES.get(paper, [])],
        log:
            f"runs/{SCALE}/{paper}/report.log",
        params:
            notebook=f"runs/{SCALE}/{paper}/report.ipynb",
            code=code_hash(entry.report),
            parameters=json.dumps({"scale": SCALE}),
        shell:
            "{EXECUTE:q} {input.notebook:q} {params.notebook:q} {params.parameters:q}"


onstart:
    units = [job.output[0] for job in workflow.dag.needrun_jobs() if job.rule.name == "unit"]
    os.environ["FAITHLIB_GRID"] = json.dumps({"started": time.time(), "units": units})  # see execute.py
    for paper in PAPERS:
        Path(f"results/{SCALE}/{paper}/missing.csv").unlink(missing_ok=True)


onerror:  # a paper whose units failed gets its report all the same, drawn anew once they are there
    failed = {job.wildcards.paper for job in workflow.scheduler.failed if job.rule.name == "unit"}
    for paper in [p for p in PAPERS if failed & {p, *READS.get(p, [])}]:
        folder = Path(f"results/{SCALE}/{paper}")
        folder.mkdir(parents=True, exist_ok=True)
        holes = sorted(unit for unit in PAPERS[paper].units if not (folder / f"{unit}.json").is_file())
        if holes:
            lines = [f"{unit},runs/{SCALE}/{paper}/{unit}.log\n" for unit in holes]
            (folder / "missing.csv").write_text("unit,log\n" + "".join(lines))
        if len(holes) < len(PAPERS[paper].units):
            output, parameters = f"runs/{SCALE}/{paper}/report.ipynb", json.dumps({"scale": SCALE})
            subprocess.run([*EXECUTE, PAPERS[paper].report, output, parameters], check=False)
        for unit in holes:
            print(f"{paper}: a hole, {unit} has no record; see runs/{SCALE}/{paper}/{unit}.log, then give "
                  "the same command again", file=sys.stderr)
