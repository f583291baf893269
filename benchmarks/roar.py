"""How many models a minute a unit of ROAR trains: several processes, and a loop as it is usually written.

    python -m benchmarks.roar                  on a CPU, about ten minutes
    python -m benchmarks.roar --device cuda    on a GPU, several models at once on the same one
    python -m benchmarks.roar --quick          tiny: whether it runs, not how fast

The models of one level differ in their masks alone. The loop trains one after the other by the same code,
with one thread and with as many as there are cores; as "packed" it does so with torch's bidirectional LSTM
over packed sequences, as the paper's release and most code for texts of several lengths have it, all else
being equal. `training.roar.run` trains one in each process; the target is told beside both loops. Wall-clock
time, medians of repeats in which the ways take turns. On a CPU all that use one thread and the same LSTM have
to give the very same table. What processes need to start, once a unit, is told apart. The bound of a way is
the loop on one thread, times the threads of all its processes: as if these shared nothing. Writes roar.csv
and roar.json to results/benchmarks.
"""

import json
import os
import pathlib
import tempfile
import time
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks import common
from faithlib import corpora, models, training
from faithlib.training import roar

TASK, BILSTM = "whereabouts_1", dict(paired=True, width=50, hidden=32)  # bAbI: Table 4, and the release
EPOCHS, BATCH_SIZE = 3, 50


def main(arguments=None):
    options = common.options(__doc__, devices=common.BOTH).parse_args(arguments)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if options.device == "cpu":  # (processes, threads of each, LSTMs)
        loops = [(1, threads, lstm) for lstm in ("packed", "padded") for threads in (1, cores)]
        ways = [*loops, (cores, 1, "padded")]
    else:
        ways = [(1, 1, "packed"), *((n, 1, "padded") for n in (1, 2, 4, 8, 16) if n <= cores)]
    table = measure(unit(options.device, options.quick), list(dict.fromkeys(ways)), options.repeats)
    how = {"task": TASK, "model": BILSTM, "epochs": EPOCHS, "batch_size": BATCH_SIZE}
    common.save(options, "roar", table, cores=cores, **how)


def unit(device, quick):
    """What `roar.run` takes: a BiLSTM, generated stories, and two curves of models that train for seconds."""
    train, others = (50, 10) if quick else (3000, 500)
    sizes = {"train": train, "validation": others, "test": others}
    rows = corpora.make(TASK, sizes=sizes)
    texts = [row[part] for row in rows["train"] for part in ("text", "text_b")]
    labels = corpora.GENERATORS[TASK].LABELS
    make_model = partial(models.load, "bilstm", labels, texts, device=device, **BILSTM)
    classifier = make_model()
    splits = {
        split: (
            classifier.encode([r["text"] for r in part], [r["text_b"] for r in part]),
            np.array([r["label"] for r in part]),
        )
        for split, part in rows.items()
    }
    steps = (50, 100) if quick else tuple(range(10, 101, 10))
    settings = {**training.recipe(classifier.model, EPOCHS), "batch_size": BATCH_SIZE}
    return make_model, splits, roar.Plan(["gradient_l2"], steps, recursive=[False]), settings


def measure(arguments, ways, repeats):
    """One row a way to train the same models: models a minute, and how many times those of the best loop."""
    starts, tables = {way: [] for way in ways}, {}

    def trained(way):
        start, total, tables[way] = timed(arguments, *way)
        starts[way].append(start)
        return total

    seconds = common.turns({way: way for way in ways}, repeats, trained)
    if arguments[0].keywords["device"] == "cpu":
        same = [
            table.drop(columns=roar.COSTS)
            for (_, threads, lstm), table in tables.items()
            if (threads, lstm) == (1, "padded")
        ]
        assert all(table.equals(same[0]) for table in same), "processes give other results than the loop"
    n, medians = len(arguments[2].jobs()), np.array([np.median(seconds[way]) for way in ways])
    frame = pd.DataFrame(ways, columns=["processes", "threads", "lstm"]).assign(
        models=n,
        start_seconds=[np.median(starts[way]) for way in ways],
        models_per_minute=60 * n / medians,
        spread=[np.ptp(seconds[way]) for way in ways] / medians,
    )
    loops = frame[frame.processes == 1].groupby("lstm").models_per_minute.max()
    alone = frame[(frame.processes == 1) & (frame.threads == 1)].set_index("lstm").models_per_minute
    bound = frame.processes * frame.threads * frame.lstm.map(alone)
    return frame.assign(
        ratio_to_bound=frame.models_per_minute / bound,
        ratio_to_best_loop=frame.models_per_minute / loops["padded"],
        ratio_to_best_packed=frame.models_per_minute / loops["packed"],
    )


def timed(arguments, processes, threads, lstm):
    """Seconds until the first model is begun, seconds from then on, and the table of curves."""
    with tempfile.TemporaryDirectory() as folder:
        kept, start = pathlib.Path(folder), time.time()
        if lstm == "packed":
            arguments = partial(packed, arguments[0]), *arguments[1:]
        if processes == 1:
            loop(arguments, kept, threads)
        else:
            roar.run(*arguments, kept, workers=processes)
        total = time.time() - start
        begun = (
            min(
                path.stat().st_mtime - sum(json.loads(path.read_text())[key] for key in roar.SECONDS)
                for path in kept.rglob("*.json")
            )
            - start
        )
        curves, *_ = roar.run(*arguments, kept)  # reads what is kept
    return begun, total - begun, curves


def loop(arguments, kept, threads):
    """All models, one after the other."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    trainer = roar.Trainer(*arguments, kept)
    for job in arguments[2].jobs().values():
        trainer.train(job)
    torch.set_num_threads(before)


class Packed(torch.nn.Module):
    """A BiLSTM of faithlib with the same weights, over packed sequences."""

    def __init__(self, lstms):
        super().__init__()
        self.lstm = torch.nn.LSTM(
            lstms.ahead.input_size, lstms.ahead.hidden_size, batch_first=True, bidirectional=True
        )
        back = {f"{name}_reverse": weight for name, weight in lstms.back.state_dict().items()}
        self.lstm.load_state_dict(lstms.ahead.state_dict() | back)

    def forward(self, x, lengths):
        parts = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, (last, _) = self.lstm(parts)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])
        return states, torch.cat([*last], -1)  # (batch, tokens, 2 hidden), (batch, 2 hidden)


def packed(make_model):
    """A classifier as make_model() makes it, its BiLSTMs over packed sequences."""
    classifier = make_model()
    encoder = classifier.model.encoder
    for name in ("text", "text_b"):
        setattr(encoder, name, Packed(getattr(encoder, name)).to(classifier.device))
    return classifier


if __name__ == "__main__":
    main()
