"""A command that is stopped once some minutes are over, as by Ctrl-C: what is finished is kept.

    python workflow/box.py 10 snakemake --config scale=small

Of the units that are left it starts those that end in this time by the plan (`plan.unit_seconds`), then those
that keep a piece of their work in it and go on the next time, and those without an estimate. Others wait,
which a line says.
"""

import math
import os
import signal
import subprocess
from pathlib import Path

import grid
import missing
import plan
from execute import command

LEAST = 1  # minutes: the start of a unit alone takes part of it
PATIENCE = 60  # seconds that the units have to end


def minutes(text):
    """The minutes of a text; ValueError, in one line, for what is none or too short for any unit."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not LEAST <= number < math.inf:
        fix = f"give a number of minutes from {LEAST} on, or leave it out"
        raise ValueError(f"MINUTES={text} is no number, or too short for any unit: {fix}")
    return number


def choose(estimates, seconds):
    """(units that end in so many seconds, units that are started after them, units that wait), each a list.

    estimates: {unit: `plan.unit_seconds`}, of what is left. Those that end do so together, one after another,
    the shortest first.
    """
    costs = {unit: of for unit, of in estimates.items() if of}
    ends, later, spent = [], [unit for unit in estimates if unit not in costs], 0.0
    for unit in sorted(costs, key=costs.get):
        if spent + costs[unit][0] <= seconds:
            ends.append(unit)
            spent += costs[unit][0]
        elif costs[unit][1] < costs[unit][0] and costs[unit][1] <= seconds:
            later.append(unit)  # it keeps what it finished, and no piece is longer than the box
    return ends, later, [unit for unit in costs if unit not in (*ends, *later)]


def said(estimates, waiting, started, number):
    """What is told of the units that wait; ValueError where no other is there."""
    if not waiting:
        return ""
    shortest = math.ceil(min(estimates[unit][0] for unit in waiting) / 60)
    why = f"would be cut with nothing kept, the shortest after {shortest} minutes by the plan"
    if not started:
        raise ValueError(
            f"MINUTES={number:g} is too short for any of the {len(waiting)} units left: each {why}; give "
            f"MINUTES={shortest} or more, or leave it out"
        )
    return f"{len(waiting)} of {len(estimates)} units left are not started in {number:g} minutes: each {why}."


def narrowed(words, number):
    """Snakemake's command for what `choose` starts; words: as given, with its --config last."""
    config = grid.of_arguments(words[words.index("--config") + 1 :])
    scale, papers, paths = grid.read_all(config)
    papers = grid.without(papers, missing.find(papers, scale, paths))
    state, computed = plan.status(config) if papers else {}, plan.measured()
    kind = plan.device_kind(paths)
    estimates = {}  # by the record
    for name, entry in papers.items():
        for unit in plan.pending(scale, name, entry, state):
            estimate = plan.unit_seconds(entry.units[unit], entry, scale, kind, computed)
            estimates[f"results/{scale}/{name}/{unit}.json"] = estimate
    ends, later, waiting = choose(estimates, 60 * number)
    if line := said(estimates, waiting, [*ends, *later], number):
        print(line, flush=True)
    held = {Path(record).parent.name for record in waiting}
    whole = [name for name, entry in papers.items() if not held & {name, *entry.card.reads}]
    reports = [f"results/{scale}/{name}/claims.csv" for name in whole]
    targets = [*ends, *later, *reports] if waiting else []
    first = ["--prioritize", *ends] if ends and later else []
    return [words[0], *targets, *first, *words[1:]]


def run(words, seconds):
    """(exit status, whether the time was over) of a command, whose processes end with it.

    It is asked to stop as by Ctrl-C, and those of its processes that go on are ended.
    """
    process = subprocess.Popen(words, start_new_session=True)
    try:
        return process.wait(seconds), False
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait(), isinstance(error, subprocess.TimeoutExpired)


def main(arguments):
    number = minutes(arguments[0])
    status, over = run(narrowed(arguments[1:], number), 60 * number)
    if over:
        print(
            f"{number:g} minutes are over: stopped. Finished units, trained models and examples are kept, "
            "and the same command goes on. A unit that keeps nothing new in this time needs more minutes."
        )
    raise SystemExit(0 if over else status)


if __name__ == "__main__":
    command(main)
