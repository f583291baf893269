"""The eleven claims: values by hand, conjunctions, Holm's correction."""

import numpy as np
import pandas as pd
import pytest
from sample.ground_truth import counts, several

from notebooks.ground_truth import claims, tables
from replication.cards import WITHOUT_INTERVAL

CLEAR = {
    "ns": 60, "soft_ns": 80, "nc": 70, "soft_nc": 85, "decision_flip": 90, "equal_soft_ns": 75,
    "equal_soft_nc": 75, "released_soft_ns": 30, "released_soft_nc": 20,
}  # fmt: skip


def judged(values, scale="small"):
    table = claims.claims(tables.scores(values), scale)
    return table.assign(number=[int(text.partition(":")[0]) for text in table.claim])


def test_there_are_eleven_claims():
    scored = tables.scores(several(**CLEAR))
    assert sorted({number for number, _ in claims.statements(scored)}) == list(range(1, 12))


def test_clear_differences_hold_and_their_opposites_do_not():
    table = judged(several(**CLEAR)).set_index("claim")
    assert table.verdict["1: Soft-NS more accurate than NS"] == "holds"
    assert table.reason["1: Soft-NS more accurate than NS"] == claims.CONDITIONS[1]
    assert table.value["1: Soft-NS more accurate than NS"] == pytest.approx(0.2, abs=0.02)
    assert table.verdict["7: the released Soft-NC is below chance"] == "holds"
    assert table.verdict["8: Soft-NS prefers a flat random score to the evidence"] == "does not hold"
    assert table.verdict["11: NC prefers the word that decides to a decoy"] == "holds"
    without = table[table.number.isin([9, 10])]  # no variants
    assert set(without.verdict) == {"not tested"} and without.value.isna().all()
    assert set(without.reason) == {"no record has what it needs"}


def test_a_claim_of_two_parts_needs_both():
    table = judged(several(**CLEAR | {"released_soft_ns": 50}))
    of = table[table.number == 7]
    assert of.p_holm.nunique() == 1 and of.p_holm.iloc[0] > 0.025
    assert not of.verdict.str.startswith("holds").any()
    other = of.set_index("claim").loc["7: the released Soft-NC is below chance"]
    assert (other.verdict, other.reason) == ("undecided", "another part of the claim is not shown")


@pytest.mark.parametrize("sign", [1, -1])
def test_what_does_not_survive_holm_is_not_said(sign):
    """Two models apart by a little: alone the interval excludes 0, among eleven claims it does not."""
    weak = several(np.random.default_rng(0), **CLEAR)
    own = weak.metric == "decision_flip"
    nc = weak[weak.metric == "nc"].set_index(["seed", "mechanism", "ladder"]).right
    shift = dict(zip(range(10, 20), [3, -2, 4, 1, 3, -1, 2, 3, 0, 3], strict=True))
    keys = zip(weak[own].seed, weak[own].mechanism, weak[own].ladder, strict=True)
    weak.loc[own, "right"] = [nc[key] + sign * shift[key[0]] for key in keys]
    row = judged(weak).set_index("number").loc[3]
    assert min(sign * row.ci_low, sign * row.ci_high) > 0  # by itself it would be a verdict
    assert row.verdict == "undecided"
    assert row.reason == f"not after Holm's correction; {claims.CONDITIONS[3]}"


def test_each_claim_is_about_its_own_ladder_mechanism_and_score():
    values = several(**CLEAR)

    def put(metric, right, ties=0, **where):
        rows = values.metric == metric
        for column, allowed in where.items():
            rows &= values[column].isin(allowed)
        values.loc[rows, ["right", "ties"]] = right, ties

    put("soft_ns", 10, ladder=["null flat"])
    put("nc", 95, ladder=["decoy"])
    put("nc", 20, mechanism=["xor", "ordered_pair"], ladder=["fifths", "shuffled"])
    put("ns", 30, 20, mechanism=["one_word"], ladder=["fifths", "shuffled"])
    for metric, share in (("equal_soft_ns", 90), ("soft_ns", 60), ("equal_soft_nc", 95), ("soft_nc", 70)):
        values.loc[values.metric == metric, "invariant"] = share
    found = judged(values).set_index("claim").value
    assert found["8: Soft-NS prefers a flat random score to the evidence"] == pytest.approx(0.4)
    assert found["11: NC prefers the word that decides to a decoy"] == pytest.approx(0.45)
    assert found.filter(like="4: ").iloc[0] < -0.3
    decided = found["1: Soft-NS more accurate than NS on decided pairs"]
    assert found["1: Soft-NS more accurate than NS"] != pytest.approx(decided)
    rescaled = found.filter(like="5: ").iloc[0], found.filter(like="6: ").iloc[0]
    assert rescaled == pytest.approx((0.3, 0.25))


def test_p_is_of_the_mean_that_the_verdict_is_of():
    rows = [("a", "bert", s, 0.2 + 0.01 * (s % 2)) for s in range(10)]
    rows += [("a", "lstm", s, -0.12) for s in range(10)]
    keys = [(*row[:3], "one") for row in rows]
    index = pd.MultiIndex.from_tuples(keys, names=[*claims.UNIT, "mechanism"])
    claim = claims._claim("a", pd.Series([v for *_, v in rows], index))
    cases = {name: claims.steady(case) for name, case in claims.intervals(claim).items()}
    assert claims._p(claim) == claims.average(cases).pvalue(">") and len(cases) == 2


def test_two_classes_and_masked_models_are_compared_with_the_plain_model_of_their_seed():
    rng, plain = np.random.default_rng(1), several(**CLEAR)
    two = [
        counts(seed=s, classes=2, decision_flip=60 + int(rng.integers(5)), soft_nc=85) for s in range(10, 20)
    ]
    tuned = [counts(seed=s, masking="half", nc=80 + int(rng.integers(5))) for s in range(10, 20)]
    table = judged(pd.concat([plain, *two, *tuned], ignore_index=True)).set_index("number")
    assert table.value[9] == pytest.approx(0.12, abs=0.02) and table.verdict[9].startswith("holds")
    assert table.value[10] == pytest.approx(0.28, abs=0.02) and table.verdict[10].startswith("holds")


def test_a_metric_without_values_for_two_classes_is_said_to_have_none():
    two = [counts(seed=s, classes=2, decision_flip=60) for s in range(10, 13)]
    two = [part[part.metric != "soft_nc"] for part in two]
    table = judged(pd.concat([several(**CLEAR), *two], ignore_index=True)).set_index("number")
    assert (table.verdict[10], table.reason[10]) == ("not tested", claims.VOID)
    assert np.isnan(table.value[10]) and table.p_holm[10] == 1


def test_quick_has_numbers_and_no_verdicts():
    table = judged(counts(**CLEAR), "quick")
    assert set(table.verdict) == {""} and table.value.isna().sum() == 2  # no variants


def test_more_texts_stand_in_for_the_same_models_and_beside_what_was_fixed():
    few = pd.concat([several(**CLEAR), several(np.random.default_rng(1), **CLEAR).assign(model="bilstm")])
    more = several(np.random.default_rng(2), tables.MORE, **CLEAR | {"decision_flip": 50})
    values = pd.concat([few, more], ignore_index=True)
    pd.testing.assert_frame_equal(tables.as_fixed(values), few.reset_index(drop=True))
    replaced = tables.with_more_texts(values)
    assert set(replaced[replaced.model == "tiny-bert"].variant) == {tables.MORE}
    assert len(replaced) == len(few)
    fixed, more = (judged(of) for of in (tables.as_fixed(values), replaced))
    second = fixed[:1].assign(claim=f"{fixed.claim[0]} ({WITHOUT_INTERVAL})")
    table = claims.with_more_texts(pd.concat([fixed, second]), more)
    assert list(table) == claims.TEXTS and len(table) == 16
    flip = table.set_index("claim").loc["3: decision flip more accurate than NC"]
    assert (flip.value, flip.value_more) == pytest.approx((0.2, 0), abs=0.02) and not flip.same
    assert table.same.sum() < 16 and table.same[0]
    text = claims.of_more_texts(table)
    assert f"{table.same.sum()} of 16 parts" in text and "3: decision flip" in text
    shown = claims.both_numbers(table)
    assert list(shown) == ["claim", "as fixed", "100 texts", "same verdict"]
    assert shown["same verdict"][0] == "yes" and shown["as fixed"][0].startswith("0.199 [")
