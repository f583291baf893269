"""ReAGent: against inseq's update and stopping rule, a plain loop, and models whose answer is known."""

from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
from scipy.special import softmax

from faithlib.attributions import attribute, reagent
from faithlib.engine import forward
from faithlib.scores import generator


@torch.no_grad()
def p_of(model, ids):
    """The probabilities of the next token after `ids`, by the model alone."""
    return model.model(torch.as_tensor(ids)[None]).logits[0, -1].double().softmax(-1).numpy()


def by_a_loop(model, encoding, target, probes, rounds, seed):
    draw, places = generator(encoding, seed), np.flatnonzero(encoding.maskable)
    clean, fillers = p_of(model, encoding.ids)[target], reagent.vocabulary(model)
    scores, live = draw.random((probes, len(places))), list(range(probes))
    for _ in range(rounds):
        masks = [draw.random(len(places)) < 0.3 for _ in live]
        for probe, at in zip(live, masks, strict=True):
            ids, new = encoding.ids.copy(), draw.choice(fillers, len(places))
            ids[places[at]] = new[at]
            drop = clean - p_of(model, ids)[target]
            odds = np.log((1 + drop) / (1 - drop))
            scores[probe] += np.where(at, odds, -odds)
        still = []
        for probe in live:
            ids, new = encoding.ids.copy(), draw.choice(fillers, len(places))
            lowest = np.argsort(-scores[probe], kind="stable")[min(5, -(-len(places) // 2)) :]
            ids[places[lowest]] = new[lowest]
            p = p_of(model, ids)
            if target not in np.argsort(-p)[:3]:
                still.append(probe)
        live = still
        if not live:
            break
    done = [probe for probe in range(probes) if probe not in live]
    return softmax(scores, axis=1)[done or slice(None)].mean(0), len(done) / probes


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_scores_are_those_of_a_plain_loop(kind):
    model, notes = tiny.causal(kind), {}
    encodings = model.encode(tiny.PROMPTS)
    targets = [int(p_of(model, e.ids).argmax()) for e in encodings]
    targets[-1] = int(p_of(model, encodings[-1].ids).argsort()[-9])  # one that need not return
    settings = {"probes": 3, "rounds": 4, "seed": 5}
    scores = attribute(model, encodings, targets, ["reagent"], notes=notes, **settings)["reagent"]
    for encoding, target, ours, ended in zip(encodings, targets, scores, notes["ended"], strict=True):
        loop, done = by_a_loop(model, encoding, target, **settings)
        assert ours[encoding.maskable] == pytest.approx(loop, abs=1e-5) and ended == done
        assert ours.sum() == pytest.approx(1) and not ours[~encoding.maskable].any()


def test_a_round_is_that_of_inseq():
    core = pytest.importorskip("inseq.attr.feat.ops.reagent_core.importance_score_evaluator")
    model = tiny.causal("llama")
    (encoding,) = model.encode(["she liked the ending"])
    ids, target = torch.tensor(encoding.ids)[None], 4
    mask = torch.zeros(ids.shape, dtype=torch.bool)
    mask[0, [1, 2]] = True
    other = torch.where(mask, 7, ids)
    evaluator = core.DeltaProbImportanceScoreEvaluator(
        model.model, model.tokenizer, lambda _: (other, mask), None, 1
    )
    before = torch.zeros(ids.shape)
    clean, moved = (p_of(model, x)[target] for x in (encoding.ids, other[0].numpy()))
    with torch.no_grad():
        theirs = evaluator.update_importance_score(
            before, ids, torch.tensor([target]), torch.tensor([[clean]])
        )
    ours = reagent.step(mask[0].numpy(), clean - moved)
    assert ours == pytest.approx(theirs[0].numpy(), abs=1e-5) and abs(ours).max() > 1e-4


def test_the_tokens_that_are_kept():
    assert list(reagent.but_highest(np.array([0.1, 3, 2, 0.5]))) == [True, False, False, True]  # half
    assert reagent.but_highest(np.arange(30.0)).sum() == 25 and not reagent.but_highest(np.zeros(1)).any()


def test_a_step_stays_finite():
    mask = np.array([True, False])
    assert reagent.step(mask, 1.0) == pytest.approx([np.log((1 - 1e-6) / 1e-6), -np.log((1 - 1e-6) / 1e-6)])
    assert reagent.step(mask, 0.0) == pytest.approx([0, 0])
    assert reagent.step(mask, 0.5) == pytest.approx([np.log(3), -np.log(3)])  # .75 to .25


def test_the_one_token_that_decides_is_found(monkeypatch):
    """A next token whose probability is .9 if the token at place 2 stands, else .05, the tenth of all."""
    model = tiny.causal("llama")
    (encoding,) = model.encode(["a long , not unlikely film about"])
    kept, target = encoding.ids[2], 11

    def answers(_, variants):
        rows = np.full((len(variants), model.outputs), 0.0)
        for row, variant in zip(rows, variants, strict=True):
            there = variant.encoding.ids[2] == kept
            row[:10], row[target] = 0.1 * (1 - 0.9 * there), 0.9 if there else 0.05
        return rows

    monkeypatch.setattr(reagent, "probabilities", answers)
    batch = SimpleNamespace(encodings=[encoding], ids=torch.tensor(encoding.ids)[None])
    monkeypatch.setattr(reagent, "padded", lambda rows, _: torch.tensor(np.array(rows)))
    result = reagent.reagent(model, batch, torch.tensor([target]), probes=40, rounds=60)
    assert result["reagent"][0].argmax() == 2 and result["ended"][0] == 1


def test_replacements_are_words_of_the_vocabulary():
    model = tiny.classifier("bert")
    words = reagent.vocabulary(model)
    assert not set(words) & set(model.tokenizer.all_special_ids)
    assert len(words) + len(set(model.tokenizer.all_special_ids)) == len(model.tokenizer)
    (encoding,) = model.encode(["the plot was great"])
    mask = np.array([True, False, False, True])
    variant = reagent.filled(encoding, mask, np.array([9, 9, 9, 8]))
    assert list(variant.encoding.ids[1:5]) == [9, *encoding.ids[2:4], 8] and variant.start == 1
    assert reagent.filled(encoding, ~mask & mask, mask) == forward.unchanged(encoding)
