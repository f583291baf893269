"""Which metric to use when: sentences from made-up records, by hand."""

import pandas as pd
import pytest
from sample.ground_truth import counts

from notebooks.ground_truth import advice, tables

COST = pd.DataFrame({"passes": {"nc": 5, "soft_nc": 16, "ns": 5, "random": float("nan")}})
FAMILIAR = pd.DataFrame(
    [
        ("planted", "tiny-bert", 3, "none", p, f"top {left}", r)
        for p, r, left in (("zero", 0.5, "removed"), ("mask", 0.25, "removed"), ("mask", 0.75, "kept"))
    ],
    columns=["dataset", "model", "classes", "masking", "perturbation", "input", "rejected"],
)


def models_with(**right):
    return pd.concat([counts(seed=seed, **right) for seed in range(10, 20)], ignore_index=True)


@pytest.fixture
def told():
    def sentences(values, scale="small"):
        scored = tables.scores(values)
        return advice.sentences(scored, tables.overview(scored), COST, FAMILIAR, scale)

    return sentences


def test_sentences_name_the_best_and_the_cheapest_near_it(told):
    values = models_with(soft_nc=95, nc=94, ns=40, oracle=100)
    first, *rest = told(values)
    assert first.startswith(
        "**In general** Soft-NC (0.95) ranks most pairs correctly and NS (0.40) fewest (at most 10 models"
    )
    assert "the best: Soft-NC; NC. The cheapest of them is NC, with 5 passes" in first
    assert "oracle" not in " ".join([first, *rest])
    assert any("NS prefers the evidence in 40% of the texts" in text for text in rest)
    (masks,) = [text for text in rest if "familiar" in text]
    assert "*without* their top tokens in 25% (mask), 50% (zero) of the cases" in masks
    assert "*only* the top tokens are left in 75% (mask)." in masks


def test_metrics_that_depend_on_the_ranking_are_named_with_their_share(told):
    values = models_with(soft_nc=(95, 0, 97), nc=(94, 0, 100), ns=(60, 0, 81))
    (text,) = [text for text in told(values) if "different sizes" in text]
    assert "All decisions of these stay: NC. Soft-NC keeps 97%. NS keeps fewest, 81%." in text


def test_a_default_class_is_a_sentence_where_there_are_two_classes(told):
    values = models_with(soft_nc=90, nc=89, ns=60)
    assert not any("two classes needs" in text for text in told(values))
    two = [counts(seed=s, classes=2, soft_nc=88, nc=60, ns=60) for s in range(10, 20)]
    without = [part[part.metric != "soft_nc"] for part in two]
    text, other = (
        next(t for t in told(pd.concat([values, *models])) if "two classes needs" in t)
        for models in (two, without)
    )
    assert "accuracy falls most for NC (by 0.29) and least for NS (by 0.00)." in text
    assert other.endswith("Not compared, because fewer than 3 models give them a value: Soft-NC.")
    few = pd.concat([values, *without, *(part[part.metric == "soft_nc"] for part in two[:2])])
    assert other in told(few)  # two models are not compared either


def test_the_quick_scale_advises_nothing(told):
    assert told(models_with(soft_nc=90, nc=89, ns=60), "quick") == []


def test_each_paper_has_a_sentence_with_the_numbers_of_its_own_metrics():
    values = models_with(soft_ns=80, soft_nc=95, nc=94, ns=40, oracle=100)
    again = [
        counts("bilstm", s, masking="roar", mechanisms=["xor"], **{"RACU by ROAR": 70}) for s in (10, 11, 12)
    ]
    of_words = [counts("tiny-llama", s, log_ratio=90, causal_soft_ns=20) for s in (10, 11, 12)]
    scored = tables.scores(pd.concat([values, *again, *of_words]))
    racu = pd.DataFrame({"metric": ["RACU by ROAR"], "accuracy": [0.7], "n_models": [3]})
    found = advice.of_papers(scored, racu, "small").set_index("paper").text
    shares = "Soft-NS 80% (80%), Soft-NC 95% (95%), NS 40% (40%), NC 94% (94%)"
    assert (
        f"{shares} (chance is 50 %; in brackets the best explanation beside a flat" in found["soft_metrics"]
    )
    assert "they rank correctly: RACU by ROAR 70% (chance is 50 %; at most 3" in found["recursive_roar"]
    assert "oracle" not in " ".join(found) and "fmm" not in found
    assert "log ratio 90% (90%), Soft-NS 20% (20%)" in found["noiser"]
    assert "at most 3 language models" in found["noiser"]
    assert advice.of_papers(scored, racu, "quick").empty
