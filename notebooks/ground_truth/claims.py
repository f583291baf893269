"""Which metric can be believed: eleven claims, fixed before the runs, and their verdicts.

The unit is a trained model; each seed has its own corpus and texts. A case is an architecture with a data
set; a claim is about their mean. A claim of two parts needs both: its p is the larger one. Holm's correction
is over all claims.
"""

import math

import pandas as pd

from faithlib.report.style import cell_text
from faithlib.statistics import Interval, holm
from notebooks.ground_truth.card import HOLM, PRIMARY
from notebooks.ground_truth.tables import ALL, COMPILED, MORE, PLAIN, plain, primary
from replication.cards import WITHOUT_INTERVAL
from replication.cases import average, steady
from replication.claims import CLAIMS, Claim, intervals, judged, rows
from replication.records import Case
from replication.verdicts import DEPENDS, FAILS, HOLDS, UNDECIDED

UNIT = ["dataset", "model", "seed"]
TEXTS = ["claim", "value", "ci_low", "ci_high", "value_more", "ci_low_more", "ci_high_more", "same"]
MASKED = ("one_word", "redundant")  # mechanisms on which masked fine-tuning keeps the accuracy of the gate
VOID = "with a default class Soft-NC means nothing on a third of the texts or more"
HALF = (-0.5, 0.5)  # range of an accuracy less that of chance
CONDITIONS = {  # what a verdict of this version rests on, as its second version showed
    1: "with ties within 1e-6 and one shape of scores",
    2: "with ties within 1e-6 and one shape of scores",
    3: "with ties within 1e-6",
    5: "of this project's own map, shift and clip",
    6: "of this project's own map, shift and clip",
    8: "random scores become uniform under min-max; ones but one token are another null",
}
LATE = "not after Holm's correction", "another part of the claim is not shown"


def claims(scored: pd.DataFrame, scale: str) -> pd.DataFrame:
    """claims.csv: a row for each part of a claim, with `p_holm` of the claim that it belongs to.

    "Does not hold" has to survive Holm's correction over all parts, too. `reason` also says what a verdict
    rests on, of CONDITIONS.

    Args:
        scored: from `tables.scores`.
        scale: its name.
    """
    parts, worst = statements(scored), {}
    lines = [
        line for _, claim in parts for line in rows(claim, scale, *judged(claim))
    ]  # also of claims without a value
    found = pd.DataFrame(lines, columns=CLAIMS)
    own = {claim.claim: _p(claim) for _, claim in parts}
    for number, claim in parts:
        worst[number] = max(worst.get(number, 0.0), own[claim.claim])
    adjusted = dict(zip(worst, holm(list(worst.values())), strict=True))
    of = {claim.claim: adjusted[number] for number, claim in parts}
    found["p_holm"] = found.claim.map(of)
    against = {claim.claim: _p(claim, "<") for _, claim in parts}
    refuted = dict(zip(against, holm(list(against.values())), strict=True))
    opposite = found.claim.map(refuted)
    late = (found.verdict == HOLDS) & (found.p_holm > HOLM)
    late |= (found.verdict == FAILS) & (opposite > HOLM)
    weakest = {claim.claim: own[claim.claim] == worst[number] for number, claim in parts}
    for row in found[late].itertuples():
        reason = LATE[0] if weakest[row.claim] or row.verdict == FAILS else LATE[1]
        found.loc[row.Index, ["verdict", "reason"]] = UNDECIDED, reason
    conditions = {claim.claim: CONDITIONS.get(number, "") for number, claim in parts}
    for row in found[found.verdict.isin([HOLDS, FAILS, DEPENDS, UNDECIDED])].itertuples():
        reasons = filter(None, (row.reason, conditions.get(row.claim)))
        found.loc[row.Index, "reason"] = "; ".join(reasons)
    return found


def with_more_texts(fixed: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """The claims with more texts of a model, beside those with the number that was fixed before the runs.

    Args:
        fixed, more: from `claims`, of `tables.scores` of `tables.as_fixed` and `tables.with_more_texts`.

    Returns:
        DataFrame with the columns TEXTS, a row a part of a claim; second rows, of data sets without an
        interval, are left out. `same`: whether the verdict has the same word. The larger number was chosen
        once the first verdicts were known: it has no verdict of its own.
    """
    numbers, fixed = ["value", "ci_low", "ci_high"], fixed[~fixed.claim.str.contains(WITHOUT_INTERVAL)]
    both = fixed[["claim", "verdict", *numbers]].merge(
        more[["claim", "verdict", *numbers]], on="claim", suffixes=("", "_more"), sort=False
    )
    return both.assign(same=both.verdict == both.verdict_more)[TEXTS]


def both_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """What a page shows of `with_more_texts`: claim, value [95 % interval] of both, "same verdict"."""
    fixed, more = (
        [cell_text(*row) for row in table[[name + end for name in ("value", "ci_low", "ci_high")]].to_numpy()]
        for end in ("", "_more")
    )
    return pd.DataFrame(
        {
            "claim": table.claim,
            "as fixed": fixed,
            MORE.replace("-", " "): more,
            "same verdict": table.same.map({True: "yes", False: "no"}),
        }
    )


def of_more_texts(table: pd.DataFrame) -> str:
    """How much the number of texts decides, in one sentence.

    Args:
        table: from `with_more_texts`.
    """
    change = (table.value_more - table.value).abs()
    other = "; ".join(table.claim[~table.same])
    return (
        f"With {MORE.replace('-', ' ')}, {table.same.sum()} of {len(table)} parts of claims have the same "
        f"verdict{f' (not: {other})' * bool(other)}; the largest change of a value is {change.max():.3f}."
    )


def statements(scored):
    """[(number of the claim, Claim)]: the parts of the eleven claims.

    Args:
        scored: from `tables.scores`.
    """
    own = scored[scored.model != COMPILED]
    own = own[own.mechanism != ALL]
    main = primary(own)
    three, whole = plain(own), plain(main)

    def of(part, metric, score="accuracy"):
        """A value a model and mechanism: the mean of a metric over ladders, of a part of the rows."""
        return part[part.metric == metric].groupby([*UNIT, "mechanism"])[score].mean()

    def above(number, text, one, other, part=whole, score="accuracy"):
        return number, _claim(f"{number}: {text}", of(part, one, score) - of(part, other, score))

    pairs = whole[whole.mechanism.isin(["xor", "ordered_pair"])]
    flat = three[(three.ladder == "null flat") & three.mechanism.isin(list(PRIMARY))]
    decoy = three[three.ladder == "decoy"]
    two = main[(main.classes == 2) & (main.masking == PLAIN)]
    tuned = main[(main.masking != PLAIN) & (main.classes == 3) & main.mechanism.isin(MASKED)]
    lost = {m: of(whole, m) - of(two, m) for m in ("decision_flip", "soft_nc")}
    kept = "with equal retention reverses fewer pairs when scores are rescaled"
    return [
        above(1, "Soft-NS more accurate than NS", "soft_ns", "ns"),
        above(1, "Soft-NS more accurate than NS on decided pairs", "soft_ns", "ns", score="decided_accuracy"),
        above(2, "Soft-NC more accurate than NC", "soft_nc", "nc"),
        above(2, "Soft-NC more accurate than NC on decided pairs", "soft_nc", "nc", score="decided_accuracy"),
        above(3, "decision flip more accurate than NC", "decision_flip", "nc"),
        above(4, "NC more accurate than NS where two words are needed", "nc", "ns", pairs),
        above(5, f"Soft-NS {kept}", "equal_soft_ns", "soft_ns",
              score="invariance"),
        above(6, f"Soft-NC {kept}", "equal_soft_nc",
              "soft_nc", score="invariance"),
        (7, _claim("7: the released Soft-NS is below chance", 0.5 - of(whole, "released_soft_ns"), HALF)),
        (7, _claim("7: the released Soft-NC is below chance", 0.5 - of(whole, "released_soft_nc"), HALF)),
        (8, _claim("8: Soft-NS prefers a flat random score to the evidence", 0.5 - of(flat, "soft_ns"),
                   HALF)),
        (9, _claim("9: NC more accurate on a masked-tuned model", of(tuned, "nc") - of(whole, "nc"))),
        (10, _claim("10: a default class costs decision flip more accuracy than Soft-NC",
                    lost["decision_flip"] - lost["soft_nc"], reason=VOID if len(two) else "")),
        *(
            (11, _claim(f"11: {name} prefers the word that decides to a decoy", of(decoy, metric) - 0.5,
                        HALF))
            for metric, name in (("nc", "NC"), ("soft_nc", "Soft-NC"), ("decision_flip", "decision flip"))
        ),
    ]  # fmt: skip


def _claim(text, values, limits=(-1, 1), reason=""):
    """A claim of values a model and mechanism: of each model the mean over mechanisms.

    Args:
        text: the claim.
        values: Series with the index UNIT and the mechanism.
        limits: range of the values.
        reason: why there is no value, where models were measured and none is.
    """
    values = values.dropna().groupby(UNIT).mean().rename("value").reset_index()
    none = {Case(): Interval(math.nan, "seed", 0, reason=reason)} if reason else {}
    return Claim(text, values if len(values) else none, "seeds", limits=limits)


def _p(claim, relation=">"):
    """One-sided p of a claim on average, or of its opposite, "<"; 1 where no case has an interval."""
    found = intervals(claim)
    if not any(case.exists for case in found.values()):
        return 1.0
    cases = {name: steady(case) for name, case in found.items()}  # as the verdict counts equal values
    return average({name: case for name, case in cases.items() if case.components}).pvalue(relation)
