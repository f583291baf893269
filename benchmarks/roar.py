"""How many models a minute a unit of ROAR trains: several processes, and a loop as it is usually written.

    python -m benchmarks.roar                  on a CPU, about ten minutes
    python -m benchmarks.roar --device cuda    on a GPU, several models at once on the same one
    python -m benchmarks.roar --quick          tiny: whether it runs, not how fast

The models of one level differ in their masks alone. The loop trains one after the other by the same code,
with one thread and with as many as there are cores; as "packed" it does so with torch's bidirectional LSTM
over packed sequences, as the paper's release and most code for texts of several lengths have it, all else
being equal. `faithlib.roar.run` trains one in each process; the target is told beside both loops. Wall-clock
time, medians of repeats in which the ways take turns. On a CPU all that use one thread and the same LSTM have
to give the very same table. What processes need to start, once a unit, is told apart. The bound of a way is
the loop on one thread, times the threads of all its processes: as if these shared nothing. Writes roar.csv
and roar.json to results/benchmarks.
"""

import argparse
import json
import os
import pathlib
import platform
import tempfile
import time
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.tables import markdown
from faithlib import corpora, models, results, roar, training

TARGET = 1.8  # times the best loop, on two cores
TASK, BILSTM = "whereabouts_1", dict(paired=True, width=50, hidden=32)  # bAbI: Table 4, and the release
EPOCHS, BATCH_SIZE = 3, 50


def main(arguments=None):
    folder = results.project_root() / "results" / "benchmarks"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, default=folder)
    options = parser.parse_args(arguments)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if options.device == "cpu":  # (processes, threads of each, LSTMs)
        loops = [(1, threads, lstm) for lstm in ("packed", "padded") for threads in (1, cores)]
        ways = [*loops, (cores, 1, "padded")]
    else:
        ways = [(1, 1, "packed"), *((n, 1, "padded") for n in (1, 2, 4, 8, 16) if n <= cores)]
    table = measure(unit(options.device, options.quick), list(dict.fromkeys(ways)), options.repeats)
    write(options.folder, table, options.device, cores, options.repeats)
    print(f"\n{markdown(table)}\n\n{verdict(table, cores)}")


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


def measure(given, ways, repeats):
    """One row a way to train the same models: models a minute, and how many times those of the best loop."""
    seconds, starts, tables = {way: [] for way in ways}, {way: [] for way in ways}, {}
    for repeat in range(repeats):
        for way in ways[repeat % len(ways) :] + ways[: repeat % len(ways)]:
            start, total, tables[way] = timed(given, *way)
            starts[way].append(start)
            seconds[way].append(total)
    if given[0].keywords["device"] == "cpu":
        same = [
            table.drop(columns=roar.COSTS)
            for (_, threads, lstm), table in tables.items()
            if (threads, lstm) == (1, "padded")
        ]
        assert all(table.equals(same[0]) for table in same), "processes give other results than the loop"
    n, medians = len(given[2].jobs()), np.array([np.median(seconds[way]) for way in ways])
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


def timed(given, processes, threads, lstm):
    """Seconds until the first model is begun, seconds from then on, and the table of curves."""
    with tempfile.TemporaryDirectory() as folder:
        kept, start = pathlib.Path(folder), time.time()
        if lstm == "packed":
            given = partial(packed, given[0]), *given[1:]
        if processes == 1:
            loop(given, kept, threads)
        else:
            roar.run(*given, kept, workers=processes)
        total = time.time() - start
        begun = (
            min(
                path.stat().st_mtime - sum(json.loads(path.read_text())[key] for key in roar.SECONDS)
                for path in kept.rglob("*.json")
            )
            - start
        )
        curves, *_ = roar.run(*given, kept)  # reads what is kept
    return begun, total - begun, curves


def loop(given, kept, threads):
    """All models, one after the other."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    trainer = roar.Trainer(*given, kept)
    for job in given[2].jobs().values():
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


def write(folder, table, device, cores, repeats):
    """The table as CSV, and where it comes from as JSON."""
    name = "roar" if device == "cpu" else f"roar_{device}"
    results.write_atomically(folder / f"{name}.csv", partial(table.to_csv, index=False, float_format="%.4g"))
    where = {
        "host": f"{platform.system()} {platform.machine()}, {cores} cores",
        "repeats": repeats,
        "device": results.device_name(torch.device(device)),
        "task": TASK,
        "model": BILSTM,
        "epochs": EPOCHS,
        "batch_size": BATCH_SIZE,
        **results.code_provenance(),
    }
    text = json.dumps(where, indent=1) + "\n"
    results.write_atomically(folder / f"{name}.json", lambda path: path.write_text(text))


def verdict(table, cores):
    """The target, and beside each of the two loops what was measured: three lines."""
    best, packed = table.ratio_to_best_loop.max(), table.ratio_to_best_packed.max()
    bound = (table.ratio_to_best_loop / table.ratio_to_bound).max()

    def met(ratio):
        return ("met" if ratio >= TARGET else "missed") if cores == 2 else f"not measured, these are {cores}"

    return (
        f"target on two cores: ≥ {TARGET} times the models a minute of the best loop\n"
        f"over packed sequences, as released: {packed:.2f} times, {met(packed)}\n"
        f"by the same code: {best:.2f} times, {bound:.2f} at most, {met(best)}"
    )


if __name__ == "__main__":
    main()
