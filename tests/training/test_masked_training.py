"""Masked fine-tuning: what is masked, how often, in which batches and checks, and what it is good for."""

from functools import cache

import numpy as np
import pytest
import tiny
import torch
from tiny import same, splits
from wrong import refused

from faithlib import models, scores
from faithlib.training import fine_tuning as training
from faithlib.training import minibatches, salience

QUICK = dict(epochs=2, batch_size=4, learning_rate=1e-2)


STRATEGIES = [(m, c) for m in ("none", "half", "all") for c in ("unmasked", "masked", "both")]


def trained(masking, selection="unmasked", seed=0, kind="bert", **settings):
    classifier = tiny.classifier(kind)
    settings = {**QUICK, **settings, "masking": masking, "selection": selection}
    history = training.fine_tune(classifier, splits(classifier), **settings, seed=seed)
    return classifier.model.state_dict(), history


def test_strategies_see_the_same_examples_in_the_same_batches(monkeypatch):
    batches, step = {}, training._step

    def spied(classifier, data, rows, *others):
        batches[strategy].append((isinstance(data, minibatches.MaskedSplit), rows.tolist()))
        return step(classifier, data, rows, *others)

    monkeypatch.setattr(training, "_step", spied)
    for strategy in STRATEGIES:
        batches[strategy] = []
        trained(*strategy, epochs=1)
        assert all(masks == (strategy[0] != "none") for masks, _ in batches[strategy])
    rows = {strategy: [r for _, r in steps] for strategy, steps in batches.items()}
    assert all(r == rows["none", "unmasked"] for r in rows.values()) and len(rows["half", "both"]) == 3


def test_without_masks_it_is_plain_fine_tuning():
    (plain, history), (named, rows) = (trained(*strategy) for strategy in (("none",), ("none", "unmasked")))
    classifier = tiny.classifier()
    before = training.fine_tune(classifier, splits(classifier), **QUICK)
    assert same(plain, named) and same(plain, classifier.model.state_dict()) and history == rows == before
    assert set(history[0]) == {"epoch", "train_loss", "validation_loss", "kept"}


def test_a_seed_is_a_run():
    torch.manual_seed(1)
    (one, history), (again, rows), (other, _) = (trained("half", "both", seed=s) for s in (0, 0, 1))
    assert same(one, again) and history == rows and not same(one, other)
    plain, _ = trained("none", seed=0)
    assert not same(one, plain)


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_every_kind_of_encoder_trains_with_masks(kind):
    classifier = tiny.classifier(kind)
    data = splits(classifier, pairs=True)
    before = training.evaluate(classifier, *data["validation"])["loss"]
    history = training.fine_tune(classifier, data, **{**QUICK, "epochs": 8}, masking="half", selection="both")
    assert min(row["validation_loss_unmasked"] for row in history) < 0.95 * before


# Checks -------------------------------------------------------------------------------------------


@cache
def checked(strategy, best="loss"):
    """History, and the inputs of each evaluation with what it found."""
    checks, evaluate = [], training.evaluate

    def spied(classifier, encodings, labels):
        performance = evaluate(classifier, encodings, labels)
        checks.append(([e.ids.tolist() for e in encodings], performance, labels))
        return performance

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "evaluate", spied)
        _, history = trained(*strategy, best=best)
    return history, checks


@pytest.mark.parametrize(
    ("strategy", "best"),
    [
        *((strategy, best) for strategy in STRATEGIES[1:] for best in ("loss", "macro_f1")),
        *((("half", copies), best) for copies in ("masked", "both") for best in ("accuracy", "mcc")),
    ],
)
def test_the_copies_asked_for_choose_the_check(strategy, best):
    history, checks = checked(strategy, best)
    values = {name: [p[best] for _, p, _ in checks[i::2]] for i, name in enumerate(("unmasked", "masked"))}
    predicted = [
        np.concatenate([one[1]["probabilities"], other[1]["probabilities"]]).argmax(-1)
        for one, other in zip(checks[::2], checks[1::2], strict=True)
    ]
    labels = np.tile(checks[0][2], 2)
    values["both"] = (
        [training.performance(p, labels)[best] for p in predicted]
        if best != "loss"
        else [np.mean(pair) for pair in zip(values["unmasked"], values["masked"], strict=True)]
    )
    choosing = values[strategy[1]]
    for name in ("unmasked", "masked"):
        assert [row[f"validation_{best}_{name}"] for row in history] == values[name]
    assert [row[f"validation_{best}"] for row in history] == pytest.approx(choosing)
    kept = np.argmin(choosing) if best == "loss" else np.argmax(choosing)
    assert [row["kept"] for row in history] == [i == kept for i in range(2)]


def test_the_masked_copy_is_drawn_once_whatever_the_strategy():
    classifier = tiny.classifier()
    whole = [e.ids.tolist() for e in splits(classifier)["validation"][0]]
    copies = []
    for strategy in STRATEGIES[1:]:
        _, checks = checked(strategy)
        assert all(inputs == whole for inputs, *_ in checks[::2])
        copies += [inputs for inputs, *_ in checks[1::2]]
    assert all(inputs == copies[0] for inputs in copies) and copies[0] != whole
    assert len(copies) == 2 * 8


def test_both_copies_are_one_split_and_not_the_mean_of_two_metrics():
    labels = np.array([0, 0, 1, 1])
    one, other = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])
    both = training.performance(np.concatenate([one, other]), np.tile(labels, 2))
    assert both["accuracy"] == 0.75 and both["macro_f1"] == pytest.approx((0.8 + 2 / 3) / 2)
    means = [np.mean([training.performance(p, labels)[m] for p in (one, other)]) for m in ("macro_f1", "mcc")]
    assert both["macro_f1"] != pytest.approx(means[0]) and both["mcc"] != pytest.approx(means[1])


def test_patience_counts_checks_of_the_copies_asked_for(monkeypatch):
    masked = iter([0.2, 0.4, 0.3, 0.3, 0.9])
    state = {"at": 0}

    def scripted(classifier, encodings, labels):
        state["at"] += 1
        value = next(masked) if state["at"] % 2 == 0 else 0.1 * state["at"]
        return {"loss": 1.0, "accuracy": value, "probabilities": np.eye(3)[labels]}

    monkeypatch.setattr(training, "evaluate", scripted)
    _, history = trained("half", "masked", best="accuracy", patience=2, epochs=5)
    assert [row["validation_accuracy"] for row in history] == [0.2, 0.4, 0.3, 0.3]
    assert [row["kept"] for row in history] == [False, True, False, False]


# What it is good for ------------------------------------------------------------------------------


def test_masked_fine_tuning_supports_masks_and_loses_nothing():
    """Two of three texts are of class 1: all masked, that is what a model that knows masks must say."""
    draw = np.random.default_rng(0)
    words, about = sorted(set(tiny.WORDS) - {"boring", "great"})[:12], {0: "boring", 1: "great"}

    def texts(n):
        labels = (np.arange(n) % 3 > 0).astype(int)
        made = [[*draw.choice(words, 4), about[label]] for label in labels]
        return [" ".join(draw.permutation(text)) for text in made], labels

    (train, y), (test, z) = texts(240), texts(90)
    accuracy = {}
    for strategy in (("none", "unmasked"), ("half", "both")):
        classifier = models.load("tiny-bert", ("no", "yes"), train, seed=1)
        encodings, held_out = classifier.encode(train), classifier.encode(test)
        data = {"train": (encodings[60:], y[60:]), "validation": (encodings[:60], y[:60])}
        settings = dict(zip(("masking", "selection"), strategy, strict=True))
        settings |= dict(epochs=6, batch_size=16, learning_rate=5e-3, best="accuracy")
        training.fine_tune(classifier, data, **settings)
        nothing = scores.mask(held_out, [e.maskable for e in held_out], classifier.mask_id)
        accuracy[strategy] = [training.evaluate(classifier, e, z)["accuracy"] for e in (held_out, nothing)]
    assert accuracy["half", "both"][1] == pytest.approx(2 / 3)  # the class majority
    assert accuracy["half", "both"][0] >= accuracy["none", "unmasked"][0] - 0.02 >= 0.9


@pytest.mark.parametrize("masking", ["none", "half"])
def test_one_training_keeps_the_best_weights_by_each_rule(masking):
    rules = ["masked", "unmasked", "both"]
    settings = {"epochs": 6, "patience": 2, "best": "macro_f1", "learning_rate": 3e-3}
    classifier = tiny.classifier()
    by_rule = training.fine_tune(
        classifier, splits(classifier), **{**QUICK, **settings}, masking=masking, selection=rules
    )
    for rule, (history, weights) in by_rule.items():
        alone, expected = trained(masking, rule, **settings)
        assert same(alone, weights) and history == expected
    assert same(classifier.model.state_dict(), by_rule["masked"][1])
    assert len({len(history) for history, _ in by_rule.values()}) > 1  # they stop apart


# Bad input ----------------------------------------------------------------------------------------


def test_half_of_one_example_is_none_and_refused():
    refused("masking='half' with batch_size=1: .* give 2 or more", trained, "half", batch_size=1)


@pytest.mark.parametrize(("masking", "selection"), [("half", "unmasked"), ("none", "both")])
def test_a_model_without_a_mask_token_is_told(masking, selection):
    classifier = tiny.classifier()
    classifier.tokenizer.mask_token = None
    message = "tiny-bert has no mask token to replace others by: choose another model"
    with pytest.raises(ValueError, match=message):
        training.fine_tune(classifier, splits(classifier), **QUICK, masking=masking, selection=selection)
    refused(message, training.masked, classifier, splits(classifier)["train"][0], np.random.default_rng(0))
    training.fine_tune(classifier, splits(classifier), **{**QUICK, "epochs": 1})


@pytest.mark.parametrize(("masking", "selection"), [("half", "unmasked"), ("none", "both")])
def test_salience_and_masks_do_not_go_together(masking, selection):
    classifier = tiny.classifier()
    data = splits(classifier)
    settings = QUICK | {"salience_weight": 1.0, "masking": masking, "selection": selection}
    settings["salience"] = salience.fit("textrank", *data["train"])(data["train"][0])
    message = f"masking='{masking}', selection='{selection}' and a salience"
    refused(message, training.fine_tune, classifier, data, **settings)
