"""Segments as a table, and the search from coarse to fine: against leave-one-out, and by hand."""

import numpy as np
import pytest
import tiny
import torch
from wrong import refused

import faithlib as fl
from faithlib.attributions.segments import segments
from faithlib.engine import forward
from faithlib.study import hierarchical
from faithlib.study import targets as explained
from faithlib.study.data import read

TEXT = "the plot was great . it was long and boring , the ending was not ."
LONG = "the plot was great . it was long !\n\nwas it unlikely ? a boring film"
ASKED = "a long film . the plot was great .\n\nthe ending was not boring .\n\nwas it good ?"
QUESTION = "was it good ?"


@pytest.fixture(params=["bert", "llama"])
def model(request):
    return tiny.causal("llama") if request.param == "llama" else tiny.classifier("bert")


@pytest.fixture
def reads(monkeypatch):
    """How many inputs the model computed: [the number of each batch of passes]."""
    counts, passes = [], forward._passes

    def counted(model, variants, rows):
        counts.append(len(rows))
        return passes(model, variants, rows)

    monkeypatch.setattr(forward, "_passes", counted)
    return counts


def p_of(model, encoding, target, erased=()):
    ids = encoding.ids.copy()
    ids[list(erased)] = model.mask_id
    with torch.no_grad():
        return float(model.model(torch.tensor(ids)[None]).logits[0].double().softmax(-1)[target])


def test_a_token_is_its_own_segment():
    model = tiny.classifier("bert")
    table = fl.by_segment(model, tiny.TEXTS[:3], "token", targets=[1, 0, 2])
    encodings = model.encode(tiny.TEXTS[:3])
    loo = fl.attribute(model, encodings, [1, 0, 2], ["leave_one_out"])["leave_one_out"]
    for i, (encoding, scores) in enumerate(zip(encodings, loo, strict=True)):
        rows = table[table.text == i]
        assert rows.score.tolist() == sorted(rows.score, reverse=True)
        assert len(rows) == encoding.maskable.sum()
        assert rows.sort_values("segment").score.values == pytest.approx(scores[encoding.maskable], abs=1e-6)


def test_sentences_are_erased_by_rank():
    model = tiny.classifier("bert")
    (encoding,) = model.encode([TEXT])
    table = fl.by_segment(model, [TEXT], "sentence", targets=[1])
    assert sorted(table.words) == sorted(
        ["the plot was great .", "it was long and boring , the ending was not ."]
    )
    places = {0: range(1, 6), 1: range(6, 17)}
    best = table.segment[0]
    assert table.p.values == pytest.approx(p_of(model, encoding, 1), abs=1e-6)
    assert table.p_without_top[0] == pytest.approx(p_of(model, encoding, 1, places[best]), abs=1e-6)
    assert table.p_only_top[0] == pytest.approx(p_of(model, encoding, 1, places[1 - best]), abs=1e-6)
    assert table.p_without_top[1] == pytest.approx(p_of(model, encoding, 1, range(1, 17)), abs=1e-6)
    assert table.p_only_top[1] == pytest.approx(table.p[1])  # all of them


def test_answers_of_several_tokens_and_contrasts_are_sums_over_tokens():
    model, prompts = tiny.causal("llama"), ["the plot was . it was great", "boring . long . she liked it"]
    kept = {name: fl.by_segment(model, prompts, "sentence", **asked) for name, asked in {
        "answer": {"targets": [(20, 24), (9,)]}, "other": {"targets": [(11,), (7, 8)]},
        "both": {"targets": [(20, 24), (9,)], "contrast": [(11,), (7, 8)]},
    }.items()}  # fmt: skip
    scores = {name: t.set_index(["text", "segment"]).score.sort_index() for name, t in kept.items()}
    assert scores["both"].values == pytest.approx((scores["answer"] - scores["other"]).values, abs=1e-6)
    p = {name: t.groupby("text").p.first() for name, t in kept.items()}
    assert p["both"].values == pytest.approx((p["answer"] - p["other"]).values)
    texts = read(prompts)
    encodings = texts.encode(model)[0]
    wanted = explained.resolve(model, texts, encodings, [(20, 24), (9,)])
    tokens = explained.attribute(model, encodings, wanted, ["leave_one_out"])["leave_one_out"]
    by_token = fl.by_segment(model, prompts, "token", targets=[(20, 24), (9,)])
    for i, (encoding, s) in enumerate(zip(encodings, tokens, strict=True)):
        rows = by_token[by_token.text == i].sort_values("segment")
        assert rows.score.values == pytest.approx(s[encoding.maskable], abs=1e-6)


def test_what_is_wrong_is_refused_before_any_pass():
    model = tiny.causal("llama")
    for wrong, message in {
        ("the plot", "chapter", ""): "unit",
        ("the plot", "word", "blur"): "removal",
    }.items():
        refused(message, fl.by_segment, model, [wrong[0]], wrong[1], removal=wrong[2] or "mask")
    with pytest.raises(ValueError, match="contrast of text 0 is its target"):
        fl.by_segment(model, ["the plot"], "word", targets=[5], contrast=[5])


def test_a_text_whose_tokens_are_deleted_one_after_the_other():
    table = fl.by_segment(tiny.classifier("bert"), ["the plot was great ."], "word", removal="delete")
    assert table["rank"].tolist() == [1, 2, 3, 4, 5] and np.isfinite(table.p_without_top).all()


def test_a_models_name_is_no_model():
    for call in (fl.by_segment, hierarchical):
        refused("model is of type str: give what load_model returns, or", call, "tiny-bert", [TEXT])


# From coarse to fine ------------------------------------------------------------------------------


def of_unit(table, unit):
    """{segment: score} of a unit."""
    rows = table[table.unit == unit]
    return dict(zip(rows.segment, rows.score, strict=True))


def test_the_search_divides_only_the_best_segment(model):
    (encoding,) = model.encode([LONG])
    table = hierarchical(model, [LONG], ["passage", "sentence", "token"], targets=[1])
    passages, sentences, tokens = (of_unit(table, unit) for unit in ("passage", "sentence", "token"))
    best = max(passages, key=passages.get)
    assert sorted(passages) == [0, 1] and sorted(sentences) == [[0, 1], [2, 3]][best]
    inside = segments(encoding, LONG, "sentence") == max(sentences, key=sentences.get)
    numbers = segments(encoding, LONG, "token")
    assert set(tokens) <= set(numbers[inside])  # a token that is unknown is the mask of some models
    every = fl.attribute(model, [encoding], [1], ["leave_one_out"])["leave_one_out"][0]
    at = {int(n): every[i] for i, n in enumerate(numbers)}
    assert tokens == pytest.approx({n: at[n] for n in tokens}, abs=1e-6)
    assert (table.passes == 1 + len(passages) + len(sentences) + len(tokens)).all()
    assert (table.passes < table.flat_passes).all()
    for _, rows in table.groupby("unit"):
        assert list(rows["rank"]) == list(range(1, len(rows) + 1)) and rows.score.is_monotonic_decreasing


def test_keeping_all_segments_is_the_flat_search(model):
    table = hierarchical(model, [LONG], ["sentence", "token"], targets=[1], keep=9)
    assert 1 + len(of_unit(table, "token")) == table.flat_passes[0]
    flat = fl.by_segment(model, [LONG], "token", targets=[1]).set_index("segment").score
    scores = of_unit(table, "token")
    assert scores == pytest.approx({n: flat[n] for n in scores}, abs=1e-6)


def test_passes_are_those_that_the_model_computes(model, reads):
    texts = ["the plot was great . it was .\n\nboring .", "a long film . she liked it ."]
    table = hierarchical(model, texts, ["passage", "sentence", "word"], targets=[1, 2])
    predicted = len(texts) if hasattr(model, "prefix") else 0
    assert sum(reads) - predicted == table.groupby("text").passes.first().sum()
    del reads[:]
    flat = hierarchical(model, texts, ["word"], targets=[1, 2])
    assert sum(reads) - predicted == table.groupby("text").flat_passes.first().sum()
    assert (flat.passes == flat.flat_passes).all()


def test_passes_of_answers_and_contrasts_are_those_that_the_model_computes(reads):
    asked = {"targets": [(20, 24), (9,)], "contrast": [(20, 8), (7,)]}  # the first tokens are equal
    prompts = ["the plot was . it was great", "boring . long . she liked it"]
    table = hierarchical(tiny.causal("llama"), prompts, ["sentence", "word"], **asked)
    assert sum(reads) - len(prompts) == table.groupby("text").passes.first().sum()


def test_answers_and_contrasts_have_the_scores_of_by_segment():
    model, prompts = tiny.causal("llama"), ["the plot was . it was great", "boring . long . she liked it"]
    asked = {"targets": ["long and boring", "it"], "contrast": ["great", "not great"]}
    table = hierarchical(model, prompts, ["sentence", "word"], **asked)
    for unit in ("sentence", "word"):
        flat = fl.by_segment(model, prompts, unit, **asked).set_index(["text", "segment"])
        rows = table[table.unit == unit].set_index(["text", "segment"])
        assert len(rows) and rows.score.values == pytest.approx(flat.score[rows.index].values, abs=1e-6)
        assert (rows.words == flat.words[rows.index]).all()


@pytest.mark.parametrize(
    "fixed", [QUESTION, [QUESTION], [(ASKED.index(QUESTION), len(ASKED))], [15, 16, 17, 18]]
)
def test_a_fixed_part_is_neither_removed_nor_divided(model, fixed):
    free = hierarchical(model, [ASKED], ["passage", "word"], targets=[1], keep=3)
    held = hierarchical(model, [ASKED], ["passage", "word"], targets=[1], keep=3, fixed=[fixed])
    assert QUESTION in set(free.words) and not set(held.words) & {QUESTION, "good", "?"}
    for unit in ("passage", "word"):
        every, kept = of_unit(free, unit), of_unit(held, unit)
        assert 0 < len(kept) < len(every) and kept == pytest.approx({n: every[n] for n in kept}, abs=1e-6)


def test_a_fixed_part_may_look_like_a_list():
    model = tiny.causal("llama")
    words = fl.by_segment(model, ["[2] the plot was good"], "word", targets=[1], fixed=["[2]"]).words
    assert sorted(words) == ["good", "plot", "the", "was"]


def test_the_search_descends_into_what_is_not_fixed():
    """Of this model and target the question costs most, so that without `fixed` it is divided."""
    model = tiny.causal("llama")
    scores = {
        t: of_unit(hierarchical(model, [ASKED], ["passage"], targets=[t]), "passage") for t in range(33)
    }
    target = next(t for t, of in scores.items() if max(of, key=of.get) == 2)
    free = hierarchical(model, [ASKED], ["passage", "word"], targets=[target])
    held = hierarchical(model, [ASKED], ["passage", "word"], targets=[target], fixed=[QUESTION])
    assert set(free.words[free.unit == "word"]) <= set(QUESTION.split())
    assert held.words[held.unit == "word"].isin(held.words[0].split()).all() and len(held) > 2


def test_what_is_fixed_stays_when_segments_are_erased(model):
    (encoding,) = model.encode([ASKED])
    table = fl.by_segment(model, [ASKED], "sentence", targets=[1], fixed=[QUESTION])
    assert QUESTION not in set(table.words) and len(table) == 3
    gone = np.isin(encoding.words, range(15)) & encoding.maskable
    variant = forward.erased(model, encoding, gone)
    p = forward.target_values(model, [variant], [1], "probability")
    assert table.p_without_top.iloc[-1] == pytest.approx(p[0], abs=1e-6)  # the question alone
    assert table.p_only_top.iloc[-1] == pytest.approx(table.p[0], abs=1e-6)  # all of it


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(units=("token", "sentence")), "in this order, each once"),
        (dict(units=()), r"units=\(\): give a list of some of passage, sentence, word, token"),
        (dict(units="sentence"), "units='sentence': give a list of some of passage"),
        (dict(units=("line",)), "unit='line' is unknown"),
        (dict(keep=0), "keep=0 must be at least 1"),
        (dict(removal="zero"), "removal='zero' is unknown: use 'mask', 'pad', 'delete'"),
        (dict(targets=["perhaps"]), "targets of text 0"),
        (dict(targets=[10**6]), "targets of text 0 is 1000000"),
        (dict(targets=[1, 2]), "targets: 2 for 1 texts: give a list, one for each text"),
        (dict(targets=3), "targets=3: give a list, one for each text"),
        (dict(targets=[1], contrast=[1]), "contrast of text 0 is its target"),
        (dict(fixed="the plot"), "fixed='the plot': give one for each of 1 texts"),
        (dict(fixed=[None, None]), "give one for each of 1 texts"),
        (dict(fixed=["zebra"]), "fixed of text 0: 'zebra' is not in the text: correct it"),
        (dict(fixed=[[99]]), "fixed of text 0: names word 99 of 16: give 0 to 15"),
        (dict(fixed=[[(3, 1)]]), r"fixed of text 0: \(3, 1\) is no span of"),
        (dict(fixed=[list(range(16))]), "fixed covers all of text 0: leave out what may be removed"),
    ],
)
def test_what_is_wrong_is_told_before_any_pass(model, monkeypatch, wrong, message):
    monkeypatch.setattr(model, "logits", None)
    refused(message, hierarchical, model, [LONG], **wrong)
    if not {"units", "keep"} & set(wrong):
        refused(message, fl.by_segment, model, [LONG], "word", **wrong)
