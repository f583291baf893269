"""A unit that stops for good where it is told to, and models whose processes die or wait."""

import multiprocessing
import os
import resource
import threading
from functools import partial

import pandas as pd
import tiny

from faithlib.training import fine_tuning as training
from replication import results

TEXTS = ["good film", "bad film", "good good plot", "bad plot"] * 4


class Doomed(partial):
    """Makes a model, in the process that was told to, and ends it in any other one."""

    def __call__(self):
        if os.getpid() != self.keywords["home"]:
            os._exit(3)
        return self.func()


class Held(partial):
    """Makes a model; once `folder` holds three results, not before the process's parent has ended."""

    def __call__(self):
        if len(list(self.keywords["folder"].rglob("*.json"))) >= 3:
            multiprocessing.parent_process().join()
        return self.func()


def save_all(sender, *arguments, **more):
    """As `unit`; sends what an OSError says."""
    try:
        unit(*arguments, **more)
    except OSError as error:
        sender.send(str(error))


def unit(folder, stop="", ready=None, largest=None):
    """Compute a unit in `folder`. stop: "training", or part of the name of the file not to be renamed.

    ready: an event, set when it has stopped. largest: bytes that a file may have, as on a full disk.
    """

    def halt():
        ready.set()
        threading.Event().wait()

    rename = os.replace

    def replace(part, path):
        if stop and stop in path.name:
            halt()
        rename(part, path)

    os.replace = replace
    if largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    params = {"task": "sst", "model": "tiny", "seed": 0, "scale": "quick", "device": "cpu"}
    run = results.start("paper", params | {"results_dir": f"{folder}/results"})
    classifier = tiny.classifier()
    data = classifier.encode(TEXTS), [0, 1] * 8

    steps, step = [], training._step

    def counted(*inputs):
        steps.append(1)
        if stop == "training" and len(steps) == 5:  # of 8
            halt()
        return step(*inputs)

    training._step = counted

    def train():
        splits = {"train": data, "validation": data}
        return training.fine_tune(classifier, splits, epochs=2, batch_size=4, learning_rate=1e-3)

    def make(start, stop):
        p = training.evaluate(classifier, data[0][start:stop], data[1][start:stop])["probabilities"]
        return pd.DataFrame({"example": range(start, stop), "p": p[:, 0]})

    history = run.keep_weights(classifier, train, "key")
    values = run.in_parts("values", len(TEXTS), make, "key", 4)
    run.save([{"metric": "loss", "value": history[-1]["train_loss"]}], values)
