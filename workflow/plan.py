"""What a scale holds, what of it is done, and how many hours are left: nothing is run.

    python workflow/plan.py scale=small papers=saloss

Hours are those of units, of which several run at a time. On a CPU a unit that is not done is given those of
the nearest unit that a CPU has computed: of the same paper, scale, variant and model, and of the same data
set where there is one. There is no guess across these: such a unit is "not measured".

On a GPU it is given, in this order, those of such a unit of a GPU; the hours that its paper prints for the
data set and model, times FACTOR and its share of the paper's own unit; those of the paper's unit of a GPU
with another model, times texts and the root of the parameters' ratio: the middle between a GPU that waits for
its host and one that computes all the time. A record of a CPU never stands for a GPU.
"""

import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import execute
import grid
import missing
import pandas as pd
from pages import head

from faithlib.models.places import BUILT
from faithlib.store import listed
from faithlib.tasks import SPLITS
from replication.parameters import defaults
from replication.records import Case, in_config

KINDS = ("CPU", "GPU")
FACTOR = 1.0  # by which printed hours are multiplied: they are of a V100, of ROAR's RoBERTa an A100
MODELS = grid.read_yaml(Path(__file__).with_name("models.yaml"))  # {model: [parameters, computing ones]}
BYTES = {"classification": 16, "prompts": 4}  # a parameter: with its gradient and Adam's two sums, or alone


def status(config):
    """{unit's .json: ("ok" or why it will be computed, whether it will be)}, by Snakemake's own word."""
    options = [f"{name}={value}" for name, value in {"scale": "quick", **config}.items()]
    execute.give_caches_a_place()
    command = [sys.executable, "-m", "snakemake", "-n", "--summary"]
    done = subprocess.run([*command, "--config", *options], capture_output=True, text=True)
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or ["snakemake failed without a word"])[-1])
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    units = [row for row in rows if len(row) == 6 and row[2] == "unit" and row[0].endswith(".json")]
    return {row[0]: (row[-2], row[-1] != "no update") for row in units}


def measured(folder="results"):
    """One row a record: paper, scale, unit, task, model (its short name), kind of device, seconds, piece.

    piece: seconds of the longest training, of which an interrupted unit keeps nothing; all if unknown.
    """
    rows = []
    for path in sorted(Path(folder).glob("*/*/*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            volatile, device = record["volatile"], record["provenance"]["device"]
            seconds = volatile["seconds"]
        except (ValueError, KeyError, TypeError):  # no record, or a damaged one, which its report tells
            continue
        params, sizes = record["params"], record["provenance"].get("data", {}).get("rows", {})
        place = path.parent.name, path.parent.parent.name, path.stem
        piece = min(seconds, longest_training(volatile) or seconds)
        rows.append((*Case.of(params)[:3], *place, KINDS[device != "cpu"], seconds, piece, params, sizes))
    names = "task model variant paper scale unit kind seconds piece params rows".split()
    return pd.DataFrame(rows, columns=names)


def longest_training(volatile):
    """Seconds of the longest training of a unit, of what its record holds under `volatile`; 0 if unknown."""
    of_models = [seconds[0] for seconds in volatile.get("seconds_of_models", {}).values()]
    of_strategies = [of.get("fine_tuning", 0) for of in volatile.get("seconds_of_measures", {}).values()]
    return max([volatile.get("longest_training", 0), *of_models, *of_strategies])


def device_kind(paths):
    """The kind of device that units get on this machine, of KINDS; paths: of `grid.read`."""
    if paths.get("device", "auto") != "auto":
        return KINDS[paths["device"] != "cpu"]
    from faithlib.models import placement  # which loads torch

    return KINDS[placement.best() != "cpu"]


def unit_seconds(parameters, entry, scale, kind, computed):
    """(seconds of a unit, of its longest piece of which nothing is kept) by the plan; None if not known.

    kind: of KINDS; computed: of `measured`. What trains no model is kept text by text: its piece is 0.
    """
    here = computed[(computed.paper == entry.card.name) & (computed.kind == kind)]
    of_scale = here[here.scale == scale]
    near = nearest(of_scale, Case.of(parameters))
    if near is not None:
        seconds, piece = near.seconds, near.piece
    elif kind == "GPU" and (hours := gpu_hours(parameters, entry, (of_scale, here), *setup_of(entry.card))):
        seconds = piece = 3600 * hours[0]
    else:
        return None
    untrained = entry.card.kind == "prompts" and parameters["model"] not in BUILT
    return seconds, 0 if untrained else piece


def texts(parameters, rows):
    """(texts that training sees in all, texts explained × draws) of a unit, the latter 0 if it names none.

    rows: {split: rows}, where not cut.
    """
    lists = ("strategies", "measures", "recursive", "ratios", "saliences", "weights")
    models = math.prod(len(parameters[name]) or 1 for name in lists if name in parameters)
    train = parameters.get("train_size") or rows.get("train") or 1
    explained = parameters.get("examples") or parameters.get("test_size") or rows.get("test") or 1
    if "examples" not in parameters:  # all texts are explained, by each model
        explained = 0
    times = (parameters.get("tokens") or 1) * parameters.get("soft_draws", 1)  # 0 tokens: the next one
    return train * parameters.get("epochs", 1) * models, explained * times


def share(parameters, of, sizes, rows, trained=True):
    """How many times the texts of another unit one has, the larger ratio of `texts`; None where nobody says.

    parameters, of: of both units, with the notebook's defaults; sizes, rows: {split: rows} of both, where not
    cut; trained: whether they train their model.
    """
    if not (parameters.get("examples") or parameters.get("test_size") or sizes.get("test")):
        return None
    pairs = zip(texts(parameters, sizes), texts(of, rows), strict=True)
    return max(mine / its for mine, its in list(pairs)[0 if trained else 1 :] if its)


def gpu_hours(parameters, entry, computed, printed, setups):
    """(hours, "measured", "printed" or "scaled") of a unit on a GPU; None where nothing is like it.

    Args:
        parameters: of the unit.
        entry: its grid.Paper.
        computed: (rows of `measured` of its paper and scale, of its paper), on a GPU.
        printed: {(data set, model): hours} of the paper.
        setups: {(data set, model): parameters} of the paper's own units.
    """
    case = Case.of(parameters)
    if (near := nearest(computed[0], case)) is not None:
        return near.seconds / 3600, "measured"
    sizes = dict(zip(SPLITS, entry.card.use(parameters["task"]).sizes, strict=True))
    values = defaults(entry.experiment) if entry.experiment else {}
    cell = case[:2]
    if cell in printed:
        part = share(values | parameters, values | setups[cell], sizes, sizes) if cell in setups else 1
        return printed[cell] * FACTOR * min(1, part or 1), "printed"
    alike = computed[1][computed[1].model.isin(MODELS)]
    if alike.empty or case.model not in MODELS:
        return None
    same = alike[alike.task == case.dataset]
    near = (alike if same.empty else same).pipe(lambda rows: rows.loc[rows.seconds.idxmax()])
    trained = entry.card.kind != "prompts"
    more = share(values | parameters, near.params, sizes, near.rows, trained)
    larger = math.sqrt(MODELS[case.model][1] / MODELS[near.model][1])
    return (near.seconds / 3600 * larger * more, "scaled") if more else None


def nearest(rows, case):
    """The row of `measured`, cut to one paper, scale and kind, that a case is like; None without one."""
    same = rows[(rows.model == case.model) & (rows.variant == case.variant)]
    of_task = same[same.task == case.dataset]
    same = same if of_task.empty else of_task
    # of equals the longest: early records of a unit that was resumed count its last stretch alone
    return None if same.empty else same.loc[same.seconds.idxmax()]


def setup_of(card):
    """({(data set, model): hours that a paper prints}, {the same: parameters in its own set-up})."""
    printed = card.hours() if card.hours else {}
    _, units = in_config("results", "paper", card.name)  # none in a project without that scale
    return printed, {Case.of(unit)[:2]: unit for unit in units.values() if not unit.get("variant")}


def pending(scale, paper, entry, state):
    """The units of a paper that will be computed by Snakemake's word (`status`), by name."""
    paths = {unit: f"results/{scale}/{paper}/{unit}.json" for unit in entry.units}
    return [unit for unit, path in paths.items() if state.get(path, ("missing", True))[1]]


def plan(papers, scale, state, computed):
    """(a row a paper, lines that say where its hours are from)."""
    rows, sources = [], []
    for paper, entry in papers.items():
        left = {unit: Case.of(entry.units[unit]) for unit in pending(scale, paper, entry, state)}
        printed, setups = setup_of(entry.card)
        cells = [Case.of(parameters)[:2] for parameters in entry.units.values()]
        printed_hours = [printed[cell] for cell in cells if cell in printed]
        row = {"paper": paper, "units": len(entry.units), "done": len(entry.units) - len(left)}
        of_paper = computed[computed.paper == paper]
        here = of_paper[of_paper.scale == scale]
        of_cpu, of_gpu = (here[here.kind == kind] for kind in KINDS)
        near_units = {u: near for u, case in left.items() if (near := nearest(of_cpu, case)) is not None}
        spent = [near.seconds / 3600 for near in near_units.values()]
        row["hours left, CPU"] = in_words(spent, len(left), "not measured")
        measured = of_gpu, of_paper[of_paper.kind == "GPU"]
        hours = [gpu_hours(entry.units[unit], entry, measured, printed, setups) for unit in left]
        hours = [of for of in hours if of]
        row["hours left, GPU"] = in_words([of for of, _ in hours], len(left), "no estimate")
        how = Counter(source for _, source in hours)
        row["from"] = ", ".join(f"{count} {source}" for source, count in how.most_common())
        for name in dict.fromkeys(near.unit for near in near_units.values()):
            stands = [unit for unit, near in near_units.items() if near.unit == name]
            took = in_words([near_units[stands[0]].seconds / 3600])
            sources.append(f"{paper}: {name} took {took} h on a CPU; so will {listed(stands, 3)}")
        unlike = [case for case in left.values() if nearest(here, case) is None]
        if bare := sorted({f"{case.model} {case.variant}".strip() for case in unlike}):
            reason = "nor is any other unit of this paper"
            if len(of_paper):
                near = of_paper.loc[of_paper.seconds.idxmax()]
                took = in_words([near.seconds / 3600])
                reason = f"the longest there is: {near.scale}/{near.unit}, {took} h on a {near.kind}"
            sources.append(f"{paper}: {', '.join(bare)} not measured at this scale; {reason}")
        sizes = [MODELS[case.model][0] for case in left.values() if case.model in MODELS]
        largest = f"{max(sizes, default=0) * BYTES[entry.card.kind] / 1074:.1f}"  # 0.0 if nothing is left
        row["≈ GiB, largest model"] = largest if len(sizes) == len(left) else "unknown"
        row["in the paper"] = in_words(printed_hours, len(entry.units), "not printed")
        rows.append(row)
    return rows, sources


def in_words(hours, of=1, none=""):
    """The sum of the hours of some units in words, and how many of all units these are."""
    if not of:
        return "0"
    if not hours:
        return none
    total = sum(hours)
    text = f"{total:.2f}" if total < 10 else f"{total:,.0f}"
    return text if len(hours) == of else f"{text} ({len(hours)} of {of} units)"


def main(arguments):
    config = grid.of_arguments(arguments)
    scale, papers, paths = grid.read_all(config)
    lacking = missing.find(papers, scale, paths)
    units = {(paper, unit) for paper, entry in papers.items() for unit in entry.units}
    out = {(paper, unit) for paper, of in lacking.items() for unit in of}
    state = status(config) if units - out else {}
    rows, sources = plan(papers, scale, state, measured())
    print(f"Scale {scale}, hours of units, of which several run at a time:\n")
    print(pd.DataFrame(rows).to_string(index=False))
    print(f"\n{head('plan').strip().format(factor=FACTOR)}")
    if sources:
        print("\nWhere the hours are from:\n  " + "\n  ".join(sources))
    again = [f"{path}: {why}" for path, (why, pending) in state.items() if pending and why != "missing"]
    if again:
        print("\nDone before, and to be computed again:\n  " + "\n  ".join(again))
    if lacking:
        print(f"\n{missing.screen(lacking, len(units))}")


if __name__ == "__main__":
    execute.command(main)
