"""A metric or an attribution of one's own in the cells of this study, beside the entries of its records.

The models of three seeds are trained once and kept in the output folder. Planted cells need no download;
those of natural texts need a folder of data sets.
"""

import json
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, repeat
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

from faithlib.attributions import registry as attributions
from faithlib.metrics import registry
from notebooks.ground_truth_2 import tables
from notebooks.ground_truth_2.worst_case import CORE
from replication import results
from replication.papers import FOLDER

SEEDS = 3
MODELS = {  # task: model, mechanisms
    "planted": ("tiny-bert", ("redundant", "xor", "ordered_pair", "graded")),
    "sst": ("sentence-transformers/all-MiniLM-L6-v2", ()),
    "ag_news": ("sentence-transformers/all-MiniLM-L6-v2", ()),
}
WORDS = {"redundant": 2, "xor": 2, "ordered_pair": 2, "graded": 3}  # of evidence in a text
OPERATORS = ("zero", "mask")
EXAMPLES = 20
WORKERS = min(4, os.cpu_count() or 1)  # models that are trained at a time
BESIDE = ("gradient_l2", "integrated_gradients_abs", "leave_one_out_abs", "random_uniform")
VOID = 1 / 3  # share of pairs without a value from which a metric is refused
CHECKED = 8  # explanations that are also scored in another order


def report(metric=None, attribution=None, better="higher", seed=0, output="out", data_dir="", model_dir=""):
    """What `score` finds as text, with the file that it writes; Args: as there."""
    result = score(metric, attribution, better, seed, output, data_dir, model_dir)
    lines = []
    if "cells" in result:
        cells = pd.DataFrame(result["cells"])
        wide = cells.pivot(index=tables.ENTRY, columns=["kind", "error"], values="accuracy")
        wide.index = wide.index.map(lambda parts: " ".join(filter(None, parts)))
        text = wide.T.reset_index().round(2).to_string(index=False)
        lines += [f"{result['name']}: accuracy in {len(wide.columns)} of {len(CORE)} core cells", text, ""]
        if result["beside"]:
            beside = pd.DataFrame(result["beside"]).round(2)
            lines += ["Lowest core cell and mean of the study's entries:", beside.to_string(index=False), ""]
    if "attributions" in result:
        table = pd.DataFrame(result["attributions"]).round(2)
        lines += ["AUPRC of the words that the models use:", table.to_string(index=False), ""]
    file = f"{Path(output).as_posix()}/ground_truth.json"
    return "\n".join([*lines, f"{file}: these numbers; the trained models are kept beside it"])


def score(metric=None, attribution=None, better="higher", seed=0, output="out", data_dir="", model_dir=""):
    """Score a metric, an attribution, or both.

    Args:
        metric: the name of a registered metric, a function of (inputs, scores), or None.
        attribution: a name, a function of (model, batch, target), or None.
        better: "higher" or "lower", of a metric that is not registered.
        seed: the first of SEEDS.
        output: the folder of trained models and of ground_truth.json.
        data_dir: a folder with SST and AG News, for the cells of natural texts; "" for planted cells alone.
        model_dir: a folder of models to look in first, for these cells.

    Returns:
        {"name", "cells": [ENTRY, kind, error, accuracy, n_seeds], "missing": core cells without a value,
        "beside": [entry, lowest, mean]} of one, {"attributions": [attribution, auprc]} of an attribution.

    Raises:
        ValueError: neither is given; a metric that returns another length, is NaN on more than a third of the
            pairs, or whose values depend on the order of the texts.
    """
    if metric is None and attribution is None:
        raise ValueError("nothing to score: give --metric my.py:metric or --attribution my.py:method")
    if isinstance(attribution, str):
        attributions.get(attribution)  # before a model is trained
    if data_dir and not Path(data_dir).is_dir():
        raise ValueError(f"data_dir={data_dir!r}: there is no such folder; check the path")
    entry, result = None if metric is None else _entry(metric, better), {}
    counts, precise = [], []
    for about, prepared in _models(seed, output, data_dir, model_dir):
        if entry is not None:
            counts += [table.assign(**about) for table in _counts(entry, prepared)]
        if attribution is not None and about["task"] == "planted":
            precise.append(_auprc(attribution, prepared, WORDS[about["mechanism"]]))
    if entry is not None:
        result |= {"name": entry.metric} | _cells(pd.concat(counts, ignore_index=True))
    if precise:
        means = pd.concat(precise).groupby("attribution").auprc.mean().sort_values(ascending=False)
        result["attributions"] = means.reset_index().to_dict("records")
    Path(output).mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    Path(output, "ground_truth.json").write_text(text, encoding="utf-8")
    return result


def _entry(metric, better):
    """The `entries.Entry` of one's own metric, or of a registered one; its values are checked."""
    from faithlib.study.measure import numbers
    from notebooks.ground_truth_2.measure.entries import Entry

    name, function = (metric, None) if isinstance(metric, str) else (metric.__name__, metric)
    if function is None:
        registered = registry.get(name)
        if registered.level != "example" or not set(registered.needs) <= {"classifier", "mask"}:
            raise ValueError(f"metric {name!r} has no value of a text and a classifier alone: leave it out")
        function, better = registered.resolve(), registered.better

    def checked(inputs, scores):
        return numbers(name, function(inputs, scores), len(scores))

    return Entry(name, "", 0, checked, 1 if better == "higher" else -1)


def _models(seed, output, *folders):
    """({task, mechanism, seed}, `scoring.Prepared`) of each model that passes its gate."""
    import torch

    from notebooks.ground_truth_2.measure.units import TASK, Unit

    units, places = [], (output, *folders)
    for task in MODELS if folders[0] else (TASK,):
        model, mechanisms = MODELS[task]
        for number in range(seed, seed + SEEDS):
            for alone in [(name,) for name in mechanisms] or [()]:
                units.append(Unit(task, model, number, alone, operators=OPERATORS, examples=EXAMPLES))
    with ProcessPoolExecutor(WORKERS, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        small = pool.map(_prepared, [unit for unit in units if unit.task == TASK], *map(repeat, places))
        large = (_prepared(unit, *places) for unit in units if unit.task != TASK)  # takes all threads
        for about, refused, prepared in chain(small, large):
            if refused:
                print(f"{about['mechanism']}, seed {about['seed']}, takes no part: {refused}")
            else:
                yield about, prepared


def _prepared(unit, output, *folders):
    """The one model of a unit: ({task, mechanism, seed}, why it is refused, `scoring.Prepared`)."""
    params = {"task": unit.task, "model": unit.model, "seed": unit.seed, "scale": "quick", "device": "cpu"}
    places = {"results_dir": str(Path(output).absolute() / "results")}
    ((name, trained),) = unit.models(*folders, results.start("ground_truth_2", params | places))
    about = {"task": unit.task, "mechanism": name, "seed": unit.seed}
    return about, trained.refused, None if trained.refused else unit.prepared(trained)


def _counts(entry, prepared):
    """`scoring.counts` of one entry under each operator; raises ValueError for values that cannot be used."""
    from notebooks.ground_truth_2.measure import entries, scoring

    for operator in prepared.operators:
        if (operator.name, operator.by) == ("zero", "token"):
            continue
        texts = operator, prepared.encodings, prepared.targets, prepared.explanations
        values = entries.values(*texts, [entry], prepared.seed)
        few = [dict(list(of_text.items())[:CHECKED][::-1]) for of_text in prepared.explanations[:1]]
        again = entries.values(operator, *(x[:1] for x in texts[1:3]), few, [entry], prepared.seed)
        first = values[values.text == 0].set_index("explanation").value
        same = again.set_index("explanation").value, first[list(few[0])]
        if not np.allclose(*same, atol=1e-4, equal_nan=True):
            raise ValueError(
                f"metric {entry.metric!r} gives an explanation another value in another order of the texts: "
                "draw random numbers from inputs.seeds(i, draws)"
            )
        table = entries.right(values, prepared.pairs)
        if table.void.mean() > VOID:
            raise ValueError(
                f"metric {entry.metric!r} is NaN for {table.void.mean():.0%} of the pairs: it cannot be "
                "scored where that is more than a third"
            )
        yield scoring.counts(table)


def _cells(counts):
    """{"cells", "missing", "beside"} of one's own counts."""
    table = tables.cells(counts)
    table = table[table.core]
    there = set(zip(table.kind, table.error, strict=True))
    path = FOLDER.parent / "results/small/ground_truth_2/tables/entries.csv"
    beside = []
    if path.is_file():
        others = pd.read_csv(path, keep_default_na=False).head(20)
        names = others[tables.ENTRY].agg(lambda parts: " ".join(filter(None, parts)), axis=1)
        beside = others.assign(entry=names)[["entry", "lowest", "mean"]].to_dict("records")
    columns = [*tables.ENTRY, "kind", "error", "accuracy", "n_seeds"]
    return {
        "cells": table[columns].to_dict("records"),
        "missing": [" ".join(cell) for cell in CORE if cell not in there],
        "beside": beside,
    }


def _auprc(attribution, prepared, words):
    """A row a method and text: auprc of the attribution against the `words` words that the model uses."""
    from faithlib.attributions import attribute
    from faithlib.metrics.plausibility import auprc
    from faithlib.study import methods

    model, encodings, rows = prepared.operators[0].model, prepared.encodings, []
    best = [of_text["near 0", "linear"] for of_text in prepared.explanations]
    evidence = [scores >= np.sort(scores)[-words] for scores in best]
    with methods.joined(list(dict.fromkeys([*BESIDE, attribution]))) as joined:
        names = list(joined.computed.values())
        computed = attribute(model, encodings, prepared.targets, names, seed=prepared.seed)
    for name in names:
        for encoding, scores, true in zip(encodings, computed[name], evidence, strict=True):
            rows.append((name, auprc(scores[encoding.maskable], true)))
    return pd.DataFrame(rows, columns=["attribution", "auprc"])
