"""Which metric to use when: sentences from the tables, every one with its number."""

import pandas as pd

from faithlib.report.style import cell_text
from notebooks.ground_truth import tables
from notebooks.ground_truth.card import CARD, NO_DIFFERENCE
from notebooks.ground_truth.measure.familiarity import KEPT, REMOVED
from notebooks.ground_truth.tables import ALL, COMPILED, PLAIN, label, over_mechanisms, plain, primary

CONTROLS = ("random", "oracle", "magnitude")
FLAT = "**Beside a flat random explanation**"
CLASSIFIERS, LANGUAGE = "models", "language models"
OF_PAPERS = {  # the metrics that a paper proposes, or that its claims rest on, and of which kind of model
    "soft_metrics": (CLASSIFIERS, ("soft_ns", "soft_nc", "ns", "nc")),
    "recursive_roar": (CLASSIFIERS, ("RACU by ROAR", "RACU by Recursive ROAR")),
    "saloss": (CLASSIFIERS, ("decision_flip", "ns", "nc")),
    "noiser": (LANGUAGE, ("log_ratio", "causal_soft_ns", "causal_soft_nc", "answerability")),
    "fmm": (CLASSIFIERS, ("RACU by masked fine-tuning",)),
}
LEAST = 3  # models, of a sentence
INVARIANT = 0.95  # share of decided pairs that keep their order, of a metric that is called invariant


def sentences(
    scored: pd.DataFrame, overview: pd.DataFrame, cost: pd.DataFrame, familiar: pd.DataFrame, scale: str
) -> list[str]:
    """When to use which metric, [str] of Markdown; none at scale "quick", or of fewer than LEAST models.

    Args:
        scored: from `tables.scores`; overview: from `tables.overview`; cost: from `tables.cost`.
        familiar: from `tables.familiarity`.
        scale: its name.
    """
    own = overview.loc[[not _control(name) for name in overview.index]]
    trained, models = _trained(scored)
    if scale == "quick" or models < LEAST or own.empty:
        return []
    best, last = own.index[0], own.index[-1]
    near = own[own.accuracy >= own.accuracy.iloc[0] - NO_DIFFERENCE]
    cheapest = cost.passes.reindex(near.index).astype(float).idxmin()
    found = [
        f"**In general** {_of(best, own)} ranks most pairs correctly and {_of(last, own)} fewest "
        f"(at most {models} models a mechanism; chance is .50). Within {NO_DIFFERENCE} of the best: "
        f"{_list(near.index)}. The cheapest of them is {label(cheapest)}, with "
        f"{cost.passes[cheapest]:.0f} passes a text.",
        *_by_mechanism(trained),
        _invariance(own),
        _nulls(own),
        *_default_class(scored, trained),
        *_masks(familiar),
    ]
    return [text for text in found if text]


def of_papers(scored: pd.DataFrame, retrained: pd.DataFrame, scale: str) -> pd.DataFrame:
    """What the study says of the metrics of each paper: one sentence a paper.

    Args:
        scored: from `tables.scores`; retrained: from `tables.retrained`.
        scale: "quick", "small" or "paper"; at "quick", or of fewer than LEAST models, there is no sentence.

    Returns:
        DataFrame: paper, text (Markdown, with a link from the paper's card).
    """
    racu = retrained.groupby("metric").agg({"accuracy": "mean", "n_models": "max"})
    parts = zip((CLASSIFIERS, LANGUAGE), tables.by_kind(scored), strict=True)
    kinds = {kind: (tables.overview(part), _trained(part)[1]) for kind, part in parts}
    rows = []
    for paper, (kind, names) in OF_PAPERS.items() if scale != "quick" else ():
        whole, models = kinds[kind]
        accuracy = pd.concat([whole.accuracy, racu.accuracy])
        known = [name for name in names if name in accuracy.index]
        count = racu.n_models[known[0]] if known and known[0] in racu.index else models
        if known and count >= LEAST:
            null = "; in brackets the best explanation beside a flat random one"
            null = null if set(known) & set(whole.index) else ""
            shares = ", ".join(_with_null(name, accuracy[name], whole) for name in known)
            text = (
                "**Can its metrics be believed?** Of pairs of explanations of which one is known to be "
                f"better, they rank correctly: {shares} (chance is 50 %{null}; at most {count} {kind} a "
                "mechanism, which use planted words and nothing else; ties within 1e-6 and one shape of "
                "scores; exploratory, so no intervals are given; "
                f"[{CARD.title}](../{CARD.name}/README.md))."
            )
            rows.append((paper, text))
    return pd.DataFrame(rows, columns=["paper", "text"])


def _with_null(name, accuracy, whole):
    """A metric's accuracy in words, and in brackets that beside a flat random explanation."""
    flat = whole["above flat"].get(name, float("nan"))
    return f"{label(name)} {accuracy:.0%}" + ("" if pd.isna(flat) else f" ({flat:.0%})")


def _by_mechanism(trained):
    """The best and the worst metric where the evidence is redundant, and where two words are needed."""
    for mechanisms, when in (
        (("redundant",), "the evidence occurs twice"),
        (("xor", "ordered_pair"), "two words decide together"),
    ):
        part = primary(trained[trained.mechanism.isin(mechanisms)])
        part = part.loc[[not _control(name) for name in part.metric]]
        if len(part):
            table = over_mechanisms(part).sort_values("accuracy", ascending=False)
            yield f"**Where {when}** use {_of(table.index[0], table)}, not {_of(table.index[-1], table)}."


def _invariance(own):
    whole, least = own.invariance == 1, own.invariance.idxmin()
    nearly = own[(own.invariance >= INVARIANT) & ~whole].invariance
    kept = [f"{label(name)} keeps {share:.0%}" for name, share in nearly.items()]
    return (
        "**Where attributions have scores of different sizes** use a metric whose decisions stay when scores "
        f"are raised to a power. All decisions of these stay: {_list(own[whole].index) or 'none'}. "
        + "".join(f"{text}. " for text in dict.fromkeys(kept))
        + f"{label(least)} keeps fewest, {own.invariance[least]:.0%}."
    )


def _nulls(own):
    if low := _below(own):
        return f"{FLAT} do not use alone: {low}."
    return f"{FLAT} every metric prefers the evidence in at least half of the texts."


def _below(own):
    """The metrics that prefer a flat random explanation to the evidence, in words."""
    low = own[own["above flat"] < 0.5].sort_values("above flat")
    return "; ".join(
        f"{label(name)} prefers the evidence in {row['above flat']:.0%} of the texts"
        for name, row in low.iterrows()
    )


def _default_class(scored, trained):
    """What the best metrics lose where a model needs no evidence for one of two classes."""
    two = scored[(scored.classes == 2) & (scored.masking == PLAIN) & (scored.model != COMPILED)]
    same = trained[trained.model.isin(two.model) & trained.mechanism.isin(two.mechanism)]
    both = [part[part.mechanism.ne(ALL) & part.ladder.isin(["fifths", "shuffled"])] for part in (same, two)]
    if two.empty or same.empty:
        return
    whole, default = (over_mechanisms(part).accuracy for part in both)
    above = [name for name, value in whole.items() if value > 0.5 and not _control(name)]
    enough = set.intersection(*({n for n, k in _models(part).items() if k >= LEAST} for part in both))
    few = [name for name in above if name not in enough]
    lost = (whole - default).reindex([name for name in above if name in enough]).sort_values()
    if lost.empty:
        return
    rest = f" Not compared, because fewer than {LEAST} models give them a value: {_list(few)}."
    yield (
        f"**Where one of two classes needs no evidence** accuracy falls most for {label(lost.index[-1])} "
        f"(by {cell_text(lost.iloc[-1], precision=2)}) and least for {label(lost.index[0])} "
        f"(by {cell_text(lost.iloc[0], precision=2)}).{rest * bool(few)}"
    )


def _models(part):
    """How many models give each metric a value."""
    part = part[part.accuracy.notna()].drop_duplicates(["metric", "dataset", "model", "seed"])
    return part.metric.value_counts()


def _masks(familiar):
    """How often a plainly trained model finds what metrics build unfamiliar."""
    if familiar.empty:
        return
    rows = plain(familiar).groupby(["input", "perturbation"], sort=False).rejected.mean()
    parts = [rows[name].sort_values() if name in rows else rows[:0] for name in (REMOVED, KEPT)]
    without, alone = (", ".join(f"{share:.0%} ({p})" for p, share in part.items()) for part in parts)
    if without and alone:
        yield (
            "**Are the inputs familiar to a plainly trained model?** MaSF (Max, Simes, Fisher: a test of "
            f"being in distribution) rejects texts *without* their top tokens in {without} of the cases, and "
            f"texts of which *only* the top tokens are left in {alone}. Sufficiency metrics use the second "
            "kind."
        )


def _trained(scored):
    """(the rows of plainly trained models with three classes, how many models)."""
    rows = plain(scored[scored.model != COMPILED])
    return rows, rows.groupby(["dataset", "model", "seed"]).ngroups


def _control(name):
    return name in CONTROLS or name.startswith("1 - ")


def _of(name, table):
    return f"{label(name)} ({cell_text(table.accuracy[name], precision=2)})"


def _list(names):
    return "; ".join(map(label, names))
