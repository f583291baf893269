# configs/<scale>.yaml -> one papermill run per unit -> one report per paper.
#
#     snakemake --profile profiles/local --config scale=small data_dir=<folder> model_dir=<folder>
#
# Further options: papers=soft_metrics,... device=cuda. A unit whose .json and .parquet exist is computed
# again only when its parameters or its notebook's code change; never because faithlib, a path, the device
# or a notebook's saved outputs changed, nor in a fresh clone. After a crash: snakemake --unlock.
import json
import sys

sys.path.insert(0, f"{workflow.basedir}/notebooks")
from execute import code_hash
from grid import read

try:
    SCALE, PAPERS, PATHS = read(config)
except (ValueError, FileNotFoundError) as error:
    sys.exit(str(error))

# The tables whose absence calls for a new report; it writes more than these.
TABLES = {
    "attributions": ["evidence"],
    "fmm": ["performance", "racu", "curves", "masf", "walltime"],
    "recursive_roar": ["performance", "racu", "curves", "sparsity"],
    "saloss": ["performance", "decision_flip", "lambdas", "fresh"],
    "soft_metrics": ["performance", "diagnosticity", "faithfulness_by_ratio"],
}
EXECUTE = [sys.executable, "notebooks/execute.py"]
PATHS = json.dumps(PATHS)


def records(paper):
    """The record files of a paper's units."""
    units = PAPERS[paper].units
    return expand(f"results/{SCALE}/{paper}/{{unit}}.{{kind}}", unit=units, kind=["json", "parquet"])


wildcard_constraints:
    paper="|".join(PAPERS),


rule all:
    input:  # the records too: Snakemake does not miss an input of a report that is there
        [f"results/{SCALE}/{paper}/claims.csv" for paper in PAPERS],
        [records(paper) for paper in PAPERS],


rule unit:
    input:
        ancient(lambda w: PAPERS[w.paper].experiment),
    output:
        f"results/{SCALE}/{{paper}}/{{unit}}.json",
        f"results/{SCALE}/{{paper}}/{{unit}}.parquet",
    log:  # not an output: Snakemake deletes a failed job's outputs, and the traceback is in here
        notebook=f"runs/{SCALE}/{{paper}}/{{unit}}.ipynb",
    params:
        code=lambda w: code_hash(PAPERS[w.paper].experiment),
        parameters=lambda w: json.dumps(PAPERS[w.paper].units[w.unit], sort_keys=True),
    shell:  # PATHS is not under params: moving the data must not recompute the units
        "{EXECUTE:q} {input:q} {log.notebook:q} {params.parameters:q} {PATHS:q}"


for paper, entry in PAPERS.items():

    rule:
        name:
            f"report_{paper}"
        input:
            notebook=ancient(entry.report),
            records=records(paper),
        output:
            f"results/{SCALE}/{paper}/claims.csv",
            [f"results/{SCALE}/{paper}/tables/{table}.csv" for table in TABLES.get(paper, [])],
        log:
            notebook=f"runs/{SCALE}/{paper}/report.ipynb",
        params:
            code=code_hash(entry.report),
            parameters=json.dumps({"scale": SCALE}),
        shell:
            "{EXECUTE:q} {input.notebook:q} {log.notebook:q} {params.parameters:q}"
