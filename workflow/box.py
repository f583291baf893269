"""A command that is stopped once some minutes are over, as by Ctrl-C: what is finished is kept.

python workflow/box.py 10 snakemake --config scale=small
"""

import os
import signal
import subprocess
import sys

LEAST = 1  # minutes: the start of a unit alone takes part of it
PATIENCE = 60  # seconds that the units have to end
NAMED = "MINUTES={} {}: give a number of minutes from {} on, or leave it out"


def minutes(text):
    """The minutes of a text; ValueError, in one line, for what is none or too short for any unit."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError(NAMED.format(text, "is no number", LEAST)) from None
    if not LEAST <= number < float("inf"):
        raise ValueError(NAMED.format(text, "is too short for any unit", LEAST))
    return number


def run(command, seconds):
    """(exit status, whether the time was over) of a command, whose processes end with it.

    It is asked to stop as by Ctrl-C, and those of its processes that go on are ended.
    """
    process = subprocess.Popen(command, start_new_session=True)
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
    try:
        main(sys.argv[1:])
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None
