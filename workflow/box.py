"""A command that is stopped once some minutes are over, as by Ctrl-C: what is finished is kept.

python workflow/box.py 10 snakemake --config scale=small
"""

import math
import os
import signal
import subprocess

from execute import command

LEAST = 1  # minutes: the start of a unit alone takes part of it
PATIENCE = 60  # seconds that the units have to end


def minutes(text):
    """The minutes of a text; ValueError, in one line, for what is none or too short for any unit."""
    try:
        number, reason = float(text), "is too short for any unit"
    except ValueError:
        number, reason = math.nan, "is no number"
    if not LEAST <= number < math.inf:
        fix = f"give a number of minutes from {LEAST} on, or leave it out"
        raise ValueError(f"MINUTES={text} {reason}: {fix}")
    return number


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
    status, over = run(arguments[1:], 60 * number)
    if over:
        print(
            f"{number:g} minutes are over: stopped. Finished units, trained models and examples are kept, "
            "and the same command goes on. A unit that keeps nothing new in this time needs more minutes."
        )
    raise SystemExit(0 if over else status)


if __name__ == "__main__":
    command(main)
