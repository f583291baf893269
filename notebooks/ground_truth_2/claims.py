"""The eight claims, fixed before the final runs, from the accuracies of cells to claims.csv.

A value is one of a seed. A claim of several parts needs all of them, so its p is their largest (a test of
intersection and union); Holm's correction is over the eight claims, of which one without a record has p = 1.
Claims 3 to 5 are about the mean of the kinds of models that they name, with equal weights. A part whose value
is the same for all seeds has no interval, no verdict and p = 1, as in every other claim of the project.
"""

import math

import pandas as pd

from faithlib.statistics import holm, seeds_interval
from notebooks.ground_truth_2.card import BELOW, BLIND, CARD, DIFFERENCE, GAIN, GHOST, HOLM, PASSES, SEES
from notebooks.ground_truth_2.tables import ENTRY, accuracies, in_core
from notebooks.ground_truth_2.worst_case import CORE, KIND
from replication.cases import average
from replication.claims import CLAIMS, Claim, judged, rows
from replication.records import Case
from replication.verdicts import FAILS, HOLDS, JOIN, UNDECIDED

NATURAL = ("N1", "N2")
ERRORS = ("halves", "order", "missed", "false above")  # of natural texts, with equal weights
OF_PLANTED = {"P1": ("near", "one of two", "false above"), "P3": ("order", "false above")}
AOPC_S, AOPC_C = ("aopc_sufficiency", "", "mask", "token"), ("aopc_comprehensiveness", "", "mask", "token")
FLIP = ("decision_flip", "", "mask", "token")
NS, NC = (("ns", "", "zero", "element"), ("nc", "", "zero", "element"))
SOFT_NS, SOFT_NC = ((name, "minmax", "zero", "element") for name in ("soft_ns", "soft_nc"))
EQUAL = "soft_ns", "equal", "zero", "element"
EQUAL_TOKEN, EQUAL_MASK = (("soft_ns", "equal", operator, "token") for operator in ("zero", "mask"))
WEAK = {  # of claim 1: each other entry as published, and the cell that it fails in
    "NS": (NS, "N1", "halves"),
    "equal Soft-NS": (EQUAL, "P1", "false above"),
    "Soft-NS": (SOFT_NS, "P3", "ones but one"),
    "Soft-NC": (SOFT_NC, "P3", "ones but one"),
    "NC": (NC, "P1", "one of two"),
    "AOPC-c": (AOPC_C, "P1", "one of two"),
    "decision flip": (FLIP, "P1", "one of two"),
    "F-Fidelity+": (("f_fidelity_plus", "", "mask", "token"), "P1", "one of two"),
    "F-Fidelity−": (("f_fidelity_minus", "", "mask", "token"), "P1", "one of two"),
}
VERSION_1 = {  # number of a claim of version 1 about two metrics: the entries that it compares
    1: (SOFT_NS, NS),
    2: (SOFT_NC, NC),
    3: (FLIP, NC),
    4: (NC, NS),
}
LATE = "not after Holm's correction"
OPPOSITE = {">": "<", "<": ">"}


def claims(values: pd.DataFrame, certificates: pd.DataFrame, scale: str) -> pd.DataFrame:
    """claims.csv: the eight claims of the card (`whole`), behind them the parts of those that have several.

    values: of the main setting. certificates: the table of that name of the `mask` kind: operator, mean,
    all_mean, seed. `p_holm` is that of a whole claim; its parts have none.
    """
    parts = statements(values, certificates)
    lines = [
        {
            "number": number,
            "p": _p(claim, claim.relation),
            "against": _p(claim, OPPOSITE[claim.relation]),
            **line,
        }
        for number, claim in parts
        for line in rows(claim, scale, *judged(claim))
    ]
    table = pd.DataFrame(lines, columns=["number", "p", "against", *CLAIMS])
    largest = table.groupby("number").p.max()
    adjusted = dict(zip(largest.index, holm(largest.to_numpy()), strict=True))
    table["p_holm"] = table.number.map(adjusted)
    of_claim = [(CARD.headline[number - 1].claim, of) for number, of in table.groupby("number")]
    wholes = pd.DataFrame([whole(sentence, of) for sentence, of in of_claim], columns=table.columns)
    several = table[table.duplicated("number", keep=False)].assign(p_holm=math.nan)
    return pd.concat([wholes, several], ignore_index=True).drop(columns=["number", "p", "against"])


def whole(sentence: str, parts: pd.DataFrame) -> pd.Series:
    """The row of a claim, of the rows of its parts: that of the weakest, refuted or with the largest p.

    It holds where all parts do, also after Holm's correction over the claims. It does not hold where a part
    is refuted after Holm's correction over its parts, and is undecided else.
    """
    weakest = parts.assign(fails=parts.verdict == FAILS).sort_values(["fails", "p"]).iloc[-1]
    about = {"claim": sentence, "headline": True}
    holding, words = parts.verdict == HOLDS, set(parts.verdict)
    if len(parts) > 1 and words != {""}:
        refuted = (holm(parts.against.to_numpy()) <= HOLM).any()
        alike = len(words) == 1 and FAILS not in words
        about["verdict"] = FAILS if refuted else weakest.verdict if alike else UNDECIDED
        why = f" ({weakest.reason})" if weakest.reason else ""
        about["reason"] = (
            f"{holding.sum()} of {len(parts)} parts hold; shown is the weakest: {_words(weakest)}{why}"
        )
        about["failing_cases"] = JOIN.join(dict.fromkeys(filter(None, parts.failing_cases)))
    if words == {HOLDS} and weakest.p_holm > HOLM:
        about |= {"verdict": UNDECIDED, "reason": LATE}
    return pd.Series({**weakest, **about})


def _words(part):
    """A part's sentence without the number of its claim."""
    return part.claim.partition(": ")[2]


def beside(values: pd.DataFrame, version_1: pd.DataFrame) -> pd.DataFrame:
    """Claims of version 1 (its claims.csv) about two metrics, beside the same difference in these cells.

    claim, verdict and value of version 1; planted and natural, the difference of mean accuracies over core
    cells (means over seeds; NaN without records), with ties within .005.
    """
    cell = accuracies(values[in_core(values)])
    natural = cell.index.get_level_values("kind").isin(NATURAL)
    means = {name: cell[rows].groupby(ENTRY).mean() for name, rows in
             (("planted", ~natural), ("natural", natural))}  # fmt: skip
    rows = []
    for row in version_1.itertuples():
        one, other = VERSION_1.get(int(row.claim.partition(":")[0]), (None, None))
        if one and "decided" not in row.claim:
            now = {name: of.get(one, math.nan) - of.get(other, math.nan) for name, of in means.items()}
            rows.append({"claim": row.claim, "verdict": row.verdict, "value": row.value} | now)
    return pd.DataFrame(rows, columns=["claim", "verdict", "value", *means])


def steps(values: pd.DataFrame) -> pd.DataFrame:
    """Claim 4 in two steps: equal Soft-NS by element, by token, and by token as [MASK], a row a kind."""
    natural = values[values.mechanism.map(KIND).isin(NATURAL) & values.error.isin(ERRORS)]
    means = accuracies(natural).groupby([*ENTRY, "kind"]).mean()
    entry = means.index.droplevel("kind")
    words = {"zero by element": EQUAL, "zero by token": EQUAL_TOKEN, "[MASK]": EQUAL_MASK}
    by_word = {word: means[entry == one].droplevel(ENTRY) for word, one in words.items()}
    return pd.DataFrame(by_word).rename_axis("kind").reset_index()


def flagged_texts(values: pd.DataFrame) -> str:
    """On how many texts claim 7 rests, in a sentence."""
    rows = values[(values[ENTRY] == list(AOPC_C)).all(axis=1) & values.error.isin(ERRORS)]
    texts = rows[rows.mechanism.map(KIND) == "N1"].groupby(["flagged", "seed"]).texts.max()
    flagged = texts[texts.index.get_level_values("flagged")]
    return f"Claim 7 rests on {flagged.sum()} flagged texts of {texts.sum()}, of {len(flagged)} seeds."


def statements(values, certificates):
    """[(number, Claim)]: the parts of the eight claims, each with values a seed."""
    cell = accuracies(values)
    steep = accuracies(values[values["shape"] == "steep"])
    linear = accuracies(values[values["shape"] == "linear"])
    natural = values[values.mechanism.map(KIND).isin(NATURAL) & values.error.isin(ERRORS)]
    flagged = {inside: accuracies(natural[natural.flagged == inside]) for inside in (True, False)}

    def of(entry, kind, *errors, among=cell):
        """The mean over errors by seed; empty where a record is not there."""
        place = among.index.droplevel(["error", "seed"])
        chosen = among[place == (*entry, kind)].unstack("error").reindex(columns=errors)
        return chosen.mean(axis=1, skipna=False).droplevel([*ENTRY, "kind"])

    def each(one, other, kinds, among=(cell, cell)):
        """{kind: the difference of two entries by seed}, kinds {kind: errors}."""
        return {kind: of(one, kind, *errors, among=among[0]) - of(other, kind, *errors, among=among[1])
                for kind, errors in kinds.items()}  # fmt: skip

    all_errors = dict.fromkeys(NATURAL, ERRORS)
    gain = each(EQUAL_MASK, EQUAL, all_errors)
    planted = each(EQUAL_MASK, EQUAL, OF_PLANTED)
    less = {kind: gain[kind] - sum(planted.values()) / len(planted) for kind in NATURAL}
    shapes = {"P1": ("near",), "P3": ("near",), "N1": ("order",), "N2": ("order",)}
    at_steep, at_linear = (each(SOFT_NS, NS, shapes, (of_shape,) * 2) for of_shape in (steep, linear))
    outside, inside = (of(AOPC_C, "N1", *ERRORS, among=flagged[flag]) for flag in (False, True))
    ghost = {operator: part.set_index("seed")["mean"] / part.set_index("seed").all_mean
             for operator in ("zero", "delete")
             for part in [certificates[certificates.operator == operator]]}  # fmt: skip
    nulls = {kind: of(SOFT_NS, kind, "ones but one") for kind in ("P2", "P3", *NATURAL)}
    return [
        *(part(1, f"AOPC-s under [MASK] on {kind}, {error}", {kind: of(AOPC_S, kind, error)}, ">", PASSES)
          for kind, error in CORE),
        *(part(1, f"{name} on {kind}, {error}", {kind: of(entry, kind, error)}, "<", BELOW)
          for name, (entry, kind, error) in WEAK.items()),
        part(2, "Soft-NS prefers ones but one to the best", nulls, "<", 0.5, "everywhere"),
        part(3, "AOPC-s above equal Soft-NS", each(AOPC_S, EQUAL, all_errors), ">", DIFFERENCE),
        part(4, "equal Soft-NS gains from whole tokens as [MASK] on N1 and N2", gain, ">", GAIN),
        part(4, "it gains less on P1 and P3", less, ">", 0.0),
        part(5, "Soft-NS − NS larger with steep than with linear scores",
             {kind: at_steep[kind] - at_linear[kind] for kind in shapes}, ">", GAIN),
        *(part(6, f"{name} cannot tell one copy from none", {"P1": of(entry, "P1", "one of two")}, "<", BLIND)
          for name, entry in (("NC", NC), ("AOPC-c", AOPC_C), ("decision flip", FLIP))),
        *(part(6, f"{name} tells one copy from none", {"P1": of(entry, "P1", "one of two")}, ">", SEES)
          for name, entry in (("NS", NS), ("AOPC-s", AOPC_S))),
        part(7, "AOPC-c less accurate where 1 − S0 < .05", {"N1": outside - inside}, ">", DIFFERENCE),
        *(part(8, f"unread words move p under {operator}", {"N1, mask kind": share}, ">", GHOST)
          for operator, share in ghost.items()),
    ]  # fmt: skip


def part(number, sentence, by_kind, relation, threshold, quantifier="on average"):
    """(number, Claim) of {kind of model: values by seed}; kinds without a value take no part."""
    cases = {
        Case(part=kind): seeds_interval(values.dropna().to_numpy(), limits=(-1.0, 1.0))
        for kind, values in by_kind.items()
        if values.notna().any()
    }
    text = f"{number}: {sentence}, {relation} {threshold:g}"
    return number, Claim(text, cases, "seeds", relation, threshold, quantifier)


def _p(claim, relation):
    """The one-sided p of a part: of the mean over kinds, or the largest of all kinds; 1 without a value."""
    cases = {name: case for name, case in claim.values.items() if case.exists}
    if not cases:
        return 1.0
    tested = cases.values() if claim.quantifier == "everywhere" else [average(cases)]
    return max(case.pvalue(relation, claim.threshold) for case in tested)
