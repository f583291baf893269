"""Soft metrics of language models: by hand, against a plain loop, and what they must not depend on."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from wrong import refused

from faithlib import models
from faithlib.attributions import attribute
from faithlib.engine import forward
from faithlib.metrics import soft_causal
from faithlib.metrics.soft_causal import Settings, continuations, hellinger

STORIES = Path(__file__).resolve().parents[3] / "shared" / "models" / "stories260K" / "hf"


@pytest.fixture(params=["llama", "gpt2"])
def model(request):
    return tiny.causal(request.param)


@pytest.fixture
def encodings(model):
    return model.encode(tiny.PROMPTS)


def scored(encodings, value=None, seed=0):
    """Scores of every prompt: a constant, or N(0, 1) draws, which leave [0, 1] on both sides."""
    draw = np.random.default_rng(seed).standard_normal
    return [np.where(e.maskable, draw(len(e.ids)) if value is None else value, 0.0) for e in encodings]


def averaged(*inputs):
    """Means over draws of `values`, as records have them."""
    return soft_causal.over_draws(soft_causal.values(*inputs))


# By hand ------------------------------------------------------------------------------------------


def test_hellinger_by_hand():
    p = np.array([[0.5, 0.5, 0], [1, 0, 0], [0.36, 0.64, 0]])
    q = np.array([[0.5, 0.5, 0], [0, 0, 1], [1, 0, 0]])
    # √0.36 = 0.6, √0.64 = 0.8: (1 − 0.6)² + 0.8² = 0.8
    assert hellinger(p, q) == pytest.approx([0, 1, 0.4**0.5])
    assert hellinger(p, q, "released") == pytest.approx([0, 2**0.5, 0.8 / 2**0.5])
    assert hellinger(torch.tensor(p), torch.tensor(q)).numpy() == pytest.approx(hellinger(p, q))


def test_soft_ns_and_nc_by_hand():
    delta, zero = np.array([0.0, 0.2, 0.8, 0.5]), np.array([0.4, 0.4, 0.4, 0.0])
    assert soft_causal.soft_ns(delta, zero)[:3] == pytest.approx([1, 0.5, 0])
    assert soft_causal.soft_nc(delta, zero)[:3] == pytest.approx([0, 0.5, 2])
    assert np.isnan(soft_causal.soft_ns(delta, zero)[3]) and np.isnan(soft_causal.soft_nc(delta, zero)[3])


@pytest.mark.parametrize("definition", ["paper", "released"])
def test_all_ones_keep_all_and_all_zeros_nothing(model, encodings, definition):
    everywhere = [np.ones(len(e.ids)) for e in encodings]
    factors = {"ones": 1, "zeros": 0, "above": 7, "below": -1}
    scores = {name: [factor * s for s in everywhere] for name, factor in factors.items()}
    groups = averaged(model, encodings, scores, Settings(definition)).groupby("attribution")
    for high, low in (("ones", "zeros"), ("above", "below")):
        for name, value in ((high, 1), (low, 0)):
            part = groups.get_group(name)
            assert part.soft_ns.to_numpy() == pytest.approx(value, abs=1e-4)
            assert part.soft_nc.to_numpy() == pytest.approx(value, abs=1e-4)


def test_a_model_that_copies_by_hand():
    """The next token is that of three before: a score of 1 there is sufficient and comprehensive."""
    model = tiny.copying_lm(back=3)
    encodings = model.encode(["she liked the ending a lot"])
    right = np.zeros(len(encodings[0].ids))
    right[-4] = 1
    wrong = np.where(encodings[0].maskable, 1 - right, 0)
    values = averaged(model, encodings, {"right": [right], "wrong": [wrong]}, Settings())
    rows = values[values.baseline == ""].set_index("attribution")
    assert rows.loc["right", ["soft_ns", "soft_nc"]].tolist() == pytest.approx([1, 1], abs=1e-5)
    assert rows.loc["wrong", ["soft_ns", "soft_nc"]].tolist() == pytest.approx([0, 0], abs=1e-5)
    # its own distribution is e⁴ against ones, that of the zero vector uniform
    n = model.outputs
    p = np.exp(np.r_[4, np.zeros(n - 1)]) / (np.e**4 + n - 1)
    assert rows.denominator.iloc[0] == pytest.approx(hellinger(p, np.full(n, 1 / n)), abs=1e-5)


def test_clipping_is_explicit(model, encodings):
    wild = scored(encodings)
    assert min(s.min() for s in wild) < 0 and max(s.max() for s in wild) > 1
    values = averaged(model, encodings, {"wild": wild, "clipped": [s.clip(0, 1) for s in wild]}, Settings())
    rows = values[values.baseline == ""].set_index("attribution")
    clipped = rows.loc["clipped", "soft_ns"].tolist()
    assert rows.loc["wild", "soft_ns"].tolist() == pytest.approx(clipped, abs=1e-6)


def test_scores_are_normalised_over_the_maskable_tokens():
    maskable = np.array([False, True, True, True])
    expected = {
        "none": [0, 0.6, 0, 1],
        "sum 1, signed": [0, 0.4, 0, 0.8],  # the sum of 0.6, −0.3 and 1.2 is 1.5
        "|s| / sum": [0, 0.6 / 2.1, 0.3 / 2.1, 1.2 / 2.1],
        "min-max": [0, 0.6, 0, 1],  # (0.6 + 0.3) / 1.5
    }
    for name, q in expected.items():
        scores = soft_causal.probability([9, 0.6, -0.3, 1.2], maskable, name)
        assert scores == pytest.approx(q), name
    reversed_ = soft_causal.probability([9, 1, -3, 0], maskable, "sum 1, signed")  # the sum is −2
    assert reversed_ == pytest.approx([0, 0, 1, 0])
    nothing = [soft_causal.probability(np.zeros(4), maskable, name)[1:].tolist() for name in expected]
    assert nothing == [[0] * 3] * 3 + [[0.5] * 3]


def test_every_normalisation_is_measured_as_if_alone(model, encodings):
    scores, every = {"a": scored(encodings)}, tuple(soft_causal.NORMALISATIONS)
    for definition, names in (("paper", every), ("released", ("none", "|s| / sum", "min-max"))):
        if definition == "released":
            scores = {"a": [s / s.sum() for s in scores["a"]]}
        table = averaged(model, encodings, scores, Settings(definition, every))
        assert list(table.normalisation.unique()) == list(names)
        for name in names:
            alone = averaged(model, encodings, scores, Settings(definition, (name,)))
            part = table[table.normalisation == name].reset_index(drop=True)
            pd.testing.assert_frame_equal(part, alone, atol=1e-5)


def test_draws_are_averaged_before_or_after_the_clip():
    columns = ["example", "step", "attribution", "baseline", "normalisation", "definition", "draw"]
    rows = [
        (0, 0, "a", "", "none", "paper", 0, -0.4, 0.2, 1.0),
        (0, 0, "a", "", "none", "paper", 1, 0.6, 0.4, 1.0),
        (0, 1, "a", "", "none", "paper", 0, 0.2, 0.4, 1.0),
        (0, 1, "a", "", "none", "paper", 1, 0.2, 0.4, 1.0),
        (1, 0, "a", "", "none", "paper", 0, -0.4, 0.9, 1.0),
        (1, 0, "a", "", "none", "paper", 1, 0.2, 0.9, 1.0),
    ]
    values = pd.DataFrame(rows, columns=[*columns, "kept", "soft_nc", "denominator"])
    means = soft_causal.over_draws(values)
    assert means.soft_ns.tolist() == pytest.approx([0.3, 0.2, 0.1])
    assert means.soft_ns_of_mean.tolist() == pytest.approx([0.1, 0.2, 0])
    assert means.soft_nc.tolist() == pytest.approx([0.3, 0.4, 0.9])
    draws = soft_causal.by_draw(values)  # of example 0 the mean over its steps first
    assert draws.draw.tolist() == [0, 1]
    assert draws.soft_ns.tolist() == pytest.approx([(0.1 + 0) / 2, (0.4 + 0.2) / 2])
    assert draws.soft_nc.tolist() == pytest.approx([(0.3 + 0.9) / 2, (0.4 + 0.9) / 2])


# Against a plain loop -----------------------------------------------------------------------------


def plain(model, encoding, scores, definition, seeds):
    """One prompt at a time and draw by draw, with the model's own forward pass: (soft_ns, soft_nc)."""
    embeddings = model.embed(torch.tensor(encoding.ids)[None]).detach()
    places = torch.tensor(encoding.maskable if definition == "paper" else np.ones(len(encoding.ids), bool))

    def next_token(kept):
        with torch.no_grad():
            erased = torch.where(places[:, None], embeddings[0] * kept, embeddings[0])
            logits = model.model(inputs_embeds=erased[None], use_cache=False).logits
        return logits[0, -1].double().softmax(-1)

    def distance(p, q):
        squares = (p.sqrt() - q.sqrt()).square().sum()
        return (squares / 2).sqrt() if definition == "paper" else squares / np.sqrt(2)

    shape, s = embeddings[0].shape, torch.tensor(scores, dtype=torch.float32)[:, None]
    full = next_token(torch.ones(shape))
    zero = distance(next_token(torch.zeros(shape)), full)
    ns, nc = [], []
    for seed in seeds:
        u = torch.tensor(np.random.default_rng(seed).random(shape, dtype=np.float32))
        ns.append(max(0, zero - distance(next_token(u < s), full)) / zero)
        nc.append(distance(next_token(u >= s), full) / zero)
    return np.mean(ns), np.mean(nc)


@pytest.mark.parametrize("definition", ["paper", "released"])
def test_values_are_those_of_a_plain_loop(model, encodings, definition):
    scores = [
        np.where(e.maskable | (definition == "released"), s, 0)
        for e, s in zip(encodings, [0.6 * s for s in scored(encodings)], strict=True)
    ]
    values = averaged(model, encodings, {"own": scores}, Settings(definition, soft_draws=4, seed=7))
    rows = values[(values.attribution == "own") & (values.baseline == "")]
    for i, (encoding, s) in enumerate(zip(encodings, scores, strict=True)):
        expected = plain(model, encoding, s, definition, [[7, i, 0, draw] for draw in range(4)])
        row = rows[rows.example == i].iloc[0]
        assert [row.soft_ns, row.soft_nc] == pytest.approx(expected, abs=1e-4)


@pytest.mark.skipif(not STORIES.is_dir(), reason="the real model is not here")
def test_the_released_definition_on_a_real_model():
    model = models.load_causal(str(STORIES))
    (encoding,) = model.encode(["Once upon a time, there was a little girl named"])
    s = np.random.default_rng(0).random(len(encoding.ids)) * 1.5 - 0.25
    values = averaged(model, [encoding], {"own": [s]}, Settings("released", soft_draws=3))
    expected = plain(model, encoding, s, "released", [[0, 0, 0, draw] for draw in range(3)])
    row = values[values.attribution == "own"].iloc[0]
    assert [row.soft_ns, row.soft_nc] == pytest.approx(expected, abs=1e-4)
    assert 1.0 < row.denominator < 2**0.5  # √2 times a square: above what a Hellinger distance can be


# What values must not depend on -------------------------------------------------------------------


def test_batch_and_order_change_nothing(model, encodings):
    scores = {"a": scored(encodings), "b": scored(encodings, seed=1)}
    plan, keys = Settings(), [*soft_causal.KEYS, "draw"]
    together = soft_causal.values(model, encodings, scores, plan).sort_values(keys)
    parts = [
        soft_causal.values(model, [encodings[i]], {n: [s[i]] for n, s in scores.items()}, plan, examples=[i])
        for i in (2, 0, 3, 1)
    ]
    alone = pd.concat(parts).sort_values(keys)
    assert alone[keys].to_numpy().tolist() == together[keys].to_numpy().tolist()
    for column in ("kept", "soft_nc", "denominator"):
        assert np.abs(alone[column].to_numpy() - together[column].to_numpy()).max() < 1e-5
    one = soft_causal.values(model, encodings, {"b": scores["b"]}, plan)  # "a" changes none of its values
    rows = together[(together.attribution == "b") & (together.baseline == "")]
    assert one[one.baseline == ""].kept.tolist() == pytest.approx(rows.kept.tolist(), abs=1e-5)
    matched = [t[(t.attribution == "b") & (t.baseline == "matched")].kept.tolist() for t in (together, one)]
    assert matched[0] == pytest.approx(matched[1], abs=1e-5)


def test_the_release_scores_the_token_before_the_prompt(model, encodings):
    whole = soft_causal.everywhere(encodings)
    assert all(e.maskable.all() for e in whole) and not encodings[0].maskable.all()
    targets = forward.probabilities(model, [forward.unchanged(e) for e in encodings]).argmax(1)
    scores = attribute(model, whole, targets, ["leave_one_out"])
    assert all(s[0] != 0 for s in scores["leave_one_out"])
    tables = [soft_causal.values(model, texts, scores, Settings("released")) for texts in (encodings, whole)]
    pd.testing.assert_frame_equal(*tables)


def test_rows_tell_what_they_are(model, encodings):
    values = soft_causal.values(model, encodings, {"a": scored(encodings)}, Settings(soft_draws=2))
    assert list(values) == soft_causal.COLUMNS
    counts = values.groupby(["attribution", "baseline"]).size()
    assert counts.to_dict() == {("a", ""): 8, ("a", "matched"): 8, ("random", "random"): 8}
    assert ((values.kept <= 1) & (values.soft_nc >= 0)).all() and values.draw.unique().tolist() == [0, 1]
    matched = values[values.baseline == "matched"].groupby("example").kept
    assert (matched.nunique() > 1).any()  # each draw has an order of its own
    alone = Settings(soft_draws=2, matched=False)
    alone = soft_causal.values(model, encodings, {"a": scored(encodings)}, alone)
    kept = values[values.baseline != "matched"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, kept, rtol=1e-5)  # others meet the same draws without them


def test_more_draws_are_steadier(model, encodings):
    def spread(draws):
        values = [
            averaged(model, encodings, {"a": scored(encodings, 0.5)}, Settings(soft_draws=draws, seed=seed))
            for seed in range(6)
        ]
        return np.std([v[v.baseline == ""].soft_nc.mean() for v in values])

    assert spread(16) < spread(1)


def test_the_released_random_baseline_is_nearly_uniform(model, encodings):
    for definition, largest in (("paper", 1.0), ("released", 0.4)):
        drawn = [
            soft_causal._sources(encodings[1], {}, Settings(definition), [0, i, 0])["random", "random"][0]
            for i in range(50)
        ]
        assert max(s.max() for s in drawn) < largest
        assert (np.ptp(np.concatenate(drawn)) > 0.9) == (definition == "paper")


# Continuations ------------------------------------------------------------------------------------


def test_continuations_are_greedy(model, encodings):
    steps = continuations(model, encodings, tokens=5)
    for i, encoding in enumerate(encodings):
        chosen = np.flatnonzero(steps.examples == i)
        ids = torch.tensor(encoding.ids)[None]
        for step, row in enumerate(chosen):
            assert steps.steps[row] == step and steps.encodings[row].ids.tolist() == ids[0].tolist()
            with torch.no_grad():
                token = model.model(input_ids=ids).logits[0, -1].argmax()
            assert steps.targets[row] == token
            ids = torch.cat([ids, token[None, None]], 1)
        last = steps.encodings[chosen[-1]]
        assert last.maskable.sum() == encoding.maskable.sum() + len(chosen) - 1
        assert last.words.max() == encoding.words.max() + len(chosen) - 1
        assert len(chosen) == 5 or steps.targets[chosen[-1]] == model.tokenizer.eos_token_id


def test_a_continuation_ends_at_the_end_token(encodings, monkeypatch):
    model = tiny.copying_lm(back=0)
    model.tokenizer.eos_token_id = int(encodings[0].ids[-1])
    first = model.encode(["the plot was", "boring plot the"])
    assert np.bincount(continuations(model, first, tokens=4).examples).tolist() == [1, 4]


def test_a_prompt_of_one_token(model):
    (encoding,) = model.encode(["boring"])
    values = averaged(model, [encoding], {"a": scored([encoding], 1.0)}, Settings())
    assert values[values.baseline == ""][["soft_ns", "soft_nc"]].to_numpy() == pytest.approx(1, abs=1e-4)


def test_a_model_that_does_not_look_has_no_value():
    model = tiny.copying_lm(back=1)
    with torch.no_grad():
        model.model.head.weight.zero_()
    encodings = model.encode(tiny.PROMPTS)
    values = averaged(model, encodings, {"a": scored(encodings)}, Settings())
    assert values.soft_ns.isna().all() and values.soft_nc.isna().all() and len(values)


# What is refused ----------------------------------------------------------------------------------


def test_a_plan_says_what_is_wrong():
    message = "normalisation='p' is unknown: use 'none', 'sum 1, signed'"
    refused(message, Settings, normalisations=("p",))


def test_scores_must_fit(model, encodings):
    with pytest.raises(ValueError, match="NaN or infinite scores"):
        soft_causal.values(model, encodings, {"a": scored(encodings, np.nan)}, Settings())
    refused("give as many", soft_causal.values, model, encodings, {"a": scored(encodings)[:2]}, Settings())
    with pytest.raises(ValueError, match="this is the baseline's name"):
        soft_causal.values(model, encodings, {"random": scored(encodings)}, Settings())


def test_distances_meet_their_own_reference(model, encodings):
    full = forward.probabilities(model, [forward.unchanged(e) for e in encodings])
    variants = [forward.unchanged(e) for e in encodings for _ in range(2)]
    distances = forward.distances(model, variants, full, [0, 1, 1, 0, 2, 3, 3, 3], hellinger)
    rows = [0, 0, 1, 1, 2, 2, 3, 3]
    assert distances == pytest.approx(hellinger(full[rows], full[[0, 1, 1, 0, 2, 3, 3, 3]]), abs=1e-5)
