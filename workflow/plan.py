"""What a scale holds, what of it is done, and how many hours are left: nothing is run.

    python workflow/plan.py scale=small papers=saloss

Hours are those of units, of which several run at a time. A unit that is not done is given the seconds of
the nearest unit that has been measured: of the same paper, scale, variant, model and kind of device, and of
the same data set where there is one. There is no guess across these: such a unit is "not measured".

Marked ≈ stand estimates for a GPU of what nothing like it was measured, see `estimate`.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import execute
import grid
import missing
import pandas as pd

from faithlib.tasks import SPLITS
from replication.results import listed, slug

KINDS = ("CPU", "GPU")
PEAK = 14_000.0  # GFLOP a second in float32 of the papers' GPU, a V100, where the benchmark has measured none
MODELS = {  # parameters in millions: all, and those that compute (all but the table of embeddings)
    "bilstm": (6, 0.44), "tiny-bert": (0.1, 0.07), "tiny-llama": (0.2, 0.09), "stories260K": (0.26, 0.2),
    "all-MiniLM-L6-v2": (22.7, 10.6), "SmolLM2-135M-Instruct": (135, 106),
    "all-mpnet-base-v2": (109, 86), "gemma-3-270m": (268, 100),
    "bert-base-uncased": (110, 85), "scibert_scivocab_uncased": (110, 85),
    "roberta-base": (125, 85), "roberta-large": (355, 302), "Qwen2-0.5B": (494, 358),
    "Qwen2-1.5B": (1544, 1310), "Llama-3.2-1B": (1236, 973), "Meta-Llama-3-8B": (8030, 6980),
    "gemma-2-2b": (2614, 2024), "gemma-2-9b": (9242, 8325),
}  # fmt: skip
BYTES = {"classification": 16, "prompts": 4}  # a parameter: with its gradient and Adam's two sums, or alone


def status(config):
    """{unit's .json: ("ok" or why it will be computed, whether it will be)}, by Snakemake's own word."""
    given = [f"{name}={value}" for name, value in {"scale": "quick", **config}.items()]
    execute.give_caches_a_place()
    command = [sys.executable, "-m", "snakemake", "-n", "--summary"]
    done = subprocess.run([*command, "--config", *given], capture_output=True, text=True)
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or ["snakemake failed without a word"])[-1])
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {
        row[0]: (row[-2], row[-1] != "no update")
        for row in rows
        if len(row) == 6 and row[2] == "unit" and row[0].endswith(".json")
    }


def measured(folder="results"):
    """One row a record: paper, scale, unit, task, model (its short name), kind of device, seconds."""
    rows = []
    for path in sorted(Path(folder).glob("*/*/*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            seconds, device = record["volatile"]["seconds"], record["provenance"]["device"]
        except (ValueError, KeyError, TypeError):  # no record, or a damaged one, which its report tells
            continue
        rows.append(
            {
                **named(record["params"]),
                "variant": record["params"].get("variant", ""),
                "paper": path.parent.name,
                "scale": path.parent.parent.name,
                "unit": path.stem,
                "kind": KINDS[device != "cpu"],
                "seconds": seconds,
                "texts": texts(record["params"], record["provenance"].get("data", {}).get("rows", {})),
            }
        )
    names = ["task", "model", "variant", "paper", "scale", "unit", "kind", "seconds", "texts"]
    return pd.DataFrame(rows, columns=names)


def texts(parameters, rows):
    """(texts that training sees in all, texts explained) of a unit; rows: of its splits, where not cut."""
    lists = ("strategies", "measures", "recursive", "ratios", "saliences", "weights")
    models = math.prod(len(parameters[name]) or 1 for name in lists if name in parameters)
    train = parameters.get("train_size") or rows.get("train") or 1
    explained = parameters.get("examples") or parameters.get("test_size") or rows.get("test") or 1
    tokens = parameters.get("tokens") or 1  # 0: the next token alone
    return train * parameters.get("epochs", 1) * models, explained * tokens


def estimate(known, parameters, card, peaks):
    """Hours of a unit on a GPU, by FLOP from a unit that a CPU computed; None without one of its paper.

    Its seconds × parameters that compute × texts, the larger of the two ratios of `texts`, × the CPU's peak ÷
    the GPU's: as if both reached the same share of their peaks, and texts were of the same length.

    Args:
        known: rows of `measured` of the unit's paper, on a CPU.
        parameters: of the unit.
        card: the paper's.
        peaks: {"cpu", "cuda": GFLOP a second}.
    """
    names = named(parameters)
    known = known[known.model.isin(MODELS)]
    if known.empty or names["model"] not in MODELS or "cpu" not in peaks:
        return None
    own = known[known.task == names["task"]]
    near = (known if own.empty else own).pipe(lambda rows: rows.loc[rows.seconds.idxmax()])
    sizes = dict(zip(SPLITS, card.use(names["task"]).sizes, strict=True))
    if not (parameters.get("examples") or parameters.get("test_size") or sizes["test"]):
        return None  # nobody says how many texts there are
    more = max(mine / its for mine, its in zip(texts(parameters, sizes), near.texts, strict=True) if its)
    larger = MODELS[names["model"]][1] / MODELS[near.model][1]
    return near.seconds / 3600 * larger * more * peaks["cpu"] / peaks["cuda"]


def peaks(folder="results/benchmarks"):
    """{"cpu", "cuda": GFLOP a second of float32 matrix products, as `make bench` measured them}."""
    found = {"cuda": PEAK}
    for path in sorted(Path(folder).glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if "peak_gflop_per_second" in record:
            found[record["device"]] = record["peak_gflop_per_second"]
    return found


def named(parameters):
    """Data set and model of a unit as tables name them."""
    return {"task": parameters["task"], "model": slug(parameters["model"])}


def nearest(known, task, model, variant=""):
    """The row of `measured`, cut to one paper, scale and kind, that a unit is like; None without one."""
    same = known[(known.model == model) & (known.variant == variant)]
    own = same[same.task == task]
    same = same if own.empty else own
    # of equals the longest: early records of a unit that was resumed count its last stretch alone
    return None if same.empty else same.loc[same.seconds.idxmax()]


def plan(papers, scale, state, known, rates):
    """(a row a paper, lines that say where its hours are from); rates: from `peaks`."""
    rows, sources = [], []
    for paper, entry in papers.items():
        left = {
            unit: named(parameters) | {"variant": parameters.get("variant", "")}
            for unit, parameters in entry.units.items()
            if state.get(f"results/{scale}/{paper}/{unit}.json", ("missing", True))[1]
        }
        printed = entry.card.hours() if entry.card.hours else {}
        own = [printed.get(tuple(named(p).values())) for p in entry.units.values()]
        own = [hours for hours in own if hours is not None]
        row = {"paper": paper, "units": len(entry.units), "done": len(entry.units) - len(left)}
        of_paper = known[known.paper == paper]
        here = of_paper[of_paper.scale == scale]
        for kind in KINDS:
            of_kind = here[here.kind == kind]
            found = {
                unit: near for unit, names in left.items() if (near := nearest(of_kind, **names)) is not None
            }
            spent = sum(near.seconds for near in found.values()) / 3600
            row[f"hours left, {kind}"] = told(spent, len(found), len(left), "not measured")
            for name in dict.fromkeys(near.unit for near in found.values()):
                stands = [unit for unit, near in found.items() if near.unit == name]
                hours = told(found[stands[0]].seconds / 3600, 1, 1, "")
                sources.append(f"{paper}: {name} took {hours} h on a {kind}; so will {listed(stands, 3)}")
        unlike = [names for names in left.values() if nearest(here, **names) is None]
        if bare := sorted({" ".join(filter(None, (n["model"], n["variant"]))) for n in unlike}):
            reason = "nor is any other unit of this paper"
            if len(of_paper):
                near = of_paper.loc[of_paper.seconds.idxmax()]
                hours = told(near.seconds / 3600, 1, 1, "")
                reason = f"the longest there is: {near.scale}/{near.unit}, {hours} h on a {near.kind}"
            sources.append(f"{paper}: {', '.join(bare)} not measured at this scale; {reason}")
        bare = [unit for unit in left if nearest(here[here.kind == "GPU"], **left[unit]) is None]
        on_cpu = of_paper[of_paper.kind == "CPU"]
        guesses = [estimate(on_cpu, entry.units[unit], entry.card, rates) for unit in bare]
        guesses = [hours for hours in guesses if hours is not None]
        row["≈ GPU hours by FLOP"] = told(sum(guesses), len(guesses), len(bare), "no estimate")
        sizes = [MODELS[names["model"]][0] for names in left.values() if names["model"] in MODELS]
        largest = f"{max(sizes, default=0) * BYTES[entry.card.kind] / 1074:.1f}"  # 0.0 if nothing is left
        row["≈ GiB, largest model"] = largest if len(sizes) == len(left) else "unknown"
        rows.append(row | {"in the paper": told(sum(own), len(own), len(entry.units), "not printed")})
    return rows, sources


def told(hours, found, of, none):
    """Hours and how many of the units they cover, in words."""
    if not of:
        return "0"
    if not found:
        return none
    hours = f"{hours:.2f}" if hours < 10 else f"{hours:,.0f}"
    return hours if found == of else f"{hours} ({found} of {of} units)"


def main(arguments):
    config = grid.of_arguments(arguments)
    scale, papers, paths = grid.read_all(config)
    lacking = missing.find(papers, scale, paths)
    units = {(paper, unit) for paper, entry in papers.items() for unit in entry.units}
    out = {(paper, unit) for paper, of in lacking.items() for unit in of}
    state = status(config) if units - out else {}
    rates = peaks()
    rows, sources = plan(papers, scale, state, measured(), rates)
    print(f"Scale {scale}, hours of units, of which several run at a time:\n")
    print(pd.DataFrame(rows).to_string(index=False))
    print(
        "\n≈: not measured, and perhaps wrong by a factor of several. Hours are those of the paper's longest "
        f"unit on a CPU, times parameters and texts, at {rates.get('cpu', math.nan):,.0f} GFLOP/s there and "
        f"{rates['cuda']:,.0f} on the GPU. GiB are weights, gradients and Adam's sums in float32."
    )
    print("\nIn the paper: what it prints for the same, on a V100 (ROAR's RoBERTa: an A100).")
    if sources:
        print("\nWhere the hours are from:\n  " + "\n  ".join(sources))
    again = [f"{path}: {why}" for path, (why, pending) in state.items() if pending and why != "missing"]
    if again:
        print("\nDone before, and to be computed again:\n  " + "\n  ".join(again))
    if lacking:
        print(f"\n{missing.screen(lacking, len(units))}")


if __name__ == "__main__":
    try:
        main(execute.at_root(sys.argv[1:]))
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None
