"""The protocol on a metric or an attribution of one's own, in a minute: where does it stand?

All primary mechanisms on the compiled model, and one word on a tiny BERT that is trained in seconds.
"""

from pathlib import Path

import pandas as pd

from faithlib.report.style import cell_text
from notebooks.ground_truth import tables
from notebooks.ground_truth.card import CARD, PRIMARY
from notebooks.ground_truth.measure import protocol
from replication import results

MODELS = {tables.COMPILED: tuple(PRIMARY), "tiny-bert": ("one_word",)}  # mechanisms of each model
SIZES = {"train_size": 3000, "epochs": 6, "examples": 20, "draws": 4}
FOUND = ["auprc", "precision", "mean_rank"]  # how well an attribution finds planted words
TABLES = {
    "metrics": "Metrics: accuracy on a trained model (one word), accuracy on the compiled one (all)",
    "attributions": "Attributions: how well they find planted words, means over models and mechanisms",
}


def report(metric=None, attribution=None, better="higher", seed=0, output="out"):
    """The tables of `compare` as text, one's own row marked; saved as <output>/<name>.csv.

    Args: as `compare` takes them.
    """
    lines = []
    for name, (table, own) in compare(metric, attribution, better, seed, output).items():
        Path(output).mkdir(parents=True, exist_ok=True)
        table.rename_axis(name.removesuffix("s")).to_csv(Path(output) / f"{name}.csv")
        shown = table.map(cell_text, precision=2)
        shown.index = [f"> {n}" if n == own else f"  {n}" for n in table.index]
        place = list(table.index).index(own) + 1
        lines += [f"{TABLES[name]}: {own} is number {place} of {len(table)}.", shown.to_string(), ""]
    return "\n".join([*lines, f"{Path(output).as_posix()}/: these tables, and the trained model"])


def compare(metric=None, attribution=None, better="higher", seed=0, output="out"):
    """Score a metric, an attribution, or both, beside those that are known.

    Args:
        metric: the name of a registered metric, a function of (inputs, scores), or None.
        attribution: a name, a function of (model, batch, target), or None.
        better: "higher" or "lower", of a metric that is not registered.
        seed: of texts, models and draws.
        output: the folder that keeps the trained model.

    Returns:
        {"metrics": (table, one's own name), "attributions": (table, one's own name)}, tables with the best
        first; what is None has no entry.

    Raises:
        ValueError: neither is given; a metric that needs more than a text and a classifier with a mask token,
            that means nothing on more than a third of the pairs or gives another number of values.
    """
    if metric is None and attribution is None:
        raise ValueError("nothing to score: give --metric my.py:metric or --attribution my.py:method")
    if attribution is None:
        return {"metrics": _of_metric(metric, better, seed, output)}
    from faithlib.study import methods  # loads torch

    with methods.joined(list(dict.fromkeys([*CARD.attributions, attribution]))) as joined:
        names = list(joined.computed.values())
        own = attribution if isinstance(attribution, str) else names[-1]
        found = {"attributions": (_of_attributions(names, seed, output), own)}
    return ({} if metric is None else {"metrics": _of_metric(metric, better, seed, output)}) | found


def _of_metric(metric, better, seed, output):
    """(table, name) of one's own metric among all others and the controls."""
    known = protocol.metrics(draws=SIZES["draws"])
    if isinstance(metric, str):
        own = protocol.metrics([metric], SIZES["draws"])
    else:
        own = {metric.__name__: (metric, 1 if better == "higher" else -1)}
    (name,) = own
    functions = own | {n: f for n, f in known.items() if n != name}
    functions |= protocol.controls(functions, seed)
    counts = []
    for about, mechanism, classifier, rows in _models(seed, output):
        table, void = protocol.total(protocol.score(classifier, mechanism, rows, functions, seed))
        if name in dict(void):
            raise ValueError(
                f"metric {name!r} is NaN for {dict(void)[name]:.0%} of the pairs of {mechanism.name}: it "
                "cannot be scored where that is more than a third"
            )
        counts.append(table.assign(**about))
    scored = tables.scores(pd.concat(counts, ignore_index=True))
    compiled = scored.model == tables.COMPILED
    table = tables.overview(scored[~compiled]).assign(compiled=tables.overview(scored[compiled]).accuracy)
    return table.sort_values(["accuracy", "compiled"], ascending=False), name


def _of_attributions(names, seed, output):
    from notebooks.ground_truth.measure import unit as measure

    found = [
        measure.attributed(classifier, rows, names, {}, seed).assign(**about)
        for about, _, classifier, rows in _models(seed, output)
    ]
    keys = ["attribution", "metric"]
    means = pd.concat(found).groupby([*keys, "model", "mechanism"], sort=False).value.mean()
    return means.groupby(keys).mean().unstack()[FOUND].sort_values("auprc", ascending=False)


def _models(seed, output):
    """(columns that name it, mechanism, classifier, examples that count) of each model and mechanism."""
    from notebooks.ground_truth.measure import unit as measure

    for model, mechanisms in MODELS.items():
        unit = measure.Unit(model, seed, **SIZES)
        given = {"task": "planted", "model": model, "seed": seed, "scale": "quick", "device": "cpu"}
        run = results.start("ground_truth", given | {"results_dir": str(Path(output).absolute() / "results")})
        for mechanism in unit.mechanisms(mechanisms):
            rows = measure.corpus(unit, mechanism)
            classifier, _ = measure.model_of(run, unit, mechanism, rows)
            kept, gate = measure.gated(unit, classifier, mechanism, rows)
            if not kept:
                raise ValueError(f"{model} on {mechanism.name}: {gate['refused']}: give another --seed")
            about = {"dataset": "planted", "model": model, "classes": 3, "masking": "none", "seed": seed}
            yield about | {"mechanism": mechanism.name}, mechanism, classifier, kept
