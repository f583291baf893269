"""Fine-tuning: what is kept, at which rates, from which seed, and what is refused."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
from tiny import same, splits

from faithlib import models
from faithlib.attributions import attribute
from faithlib.training import fine_tuning as training
from faithlib.training import salience

QUICK = dict(epochs=2, batch_size=2, learning_rate=1e-2)
AMSGRAD = dict(optimiser="amsgrad", schedule="constant", warmup=0, clip=None)
STEADY = dict(batch_size=2, learning_rate=1e-2, seed=5, **AMSGRAD)


def trained(seed=0, kind="bert", **settings):
    classifier = tiny.classifier(kind)
    history = training.fine_tune(classifier, splits(classifier), **{**QUICK, **settings}, seed=seed)
    return tiny.state(classifier), history


class Rates(torch.optim.AdamW):
    """AdamW that keeps the rates of its groups at every step, and the number of weights in them."""

    def __init__(self, groups, **settings):
        super().__init__(groups, **settings)
        Rates.seen, Rates.optimiser = [], self

    def step(self):
        Rates.seen.append([group["lr"] for group in self.param_groups])
        return super().step()


@pytest.fixture
def rates(monkeypatch):
    monkeypatch.setattr(training.torch.optim, "AdamW", Rates)
    return Rates


def test_training_lowers_the_loss_and_keeps_the_least():
    classifier = tiny.classifier()
    data = splits(classifier)
    before = training.evaluate(classifier, *data["validation"])["loss"]
    history = training.fine_tune(classifier, data, **{**QUICK, "epochs": 15})
    after = training.evaluate(classifier, *data["validation"])
    assert after["loss"] < 0.7 * before and after["accuracy"] > 0.3
    losses = [row["validation_loss"] for row in history]
    assert after["loss"] == pytest.approx(min(losses))
    assert [row["kept"] for row in history] == [i == np.argmin(losses) for i in range(15)]
    assert set(history[0]) == {"epoch", "train_loss", "validation_loss", "kept"}
    assert not classifier.model.training


def scripted(monkeypatch, metric, values):
    """Checks that find `values` one after the other; the list that the weights then held are put on."""
    states = []

    def check(classifier, encodings, labels):
        states.append(tiny.state(classifier))
        return {"loss": 1.0 + len(states), metric: values[len(states) - 1]}  # another loss only rises

    monkeypatch.setattr(training, "evaluate", check)
    return states


@pytest.mark.parametrize(
    ("best", "values", "kept"),
    [
        ("loss", [0.1, 0.8, 0.85, 0.95], 0), ("loss", [0.9, 0.1, 0.85, 0.95], 1),
        ("loss", [0.9, 0.8, 0.85, 0.1], 3), ("loss", [0.5, 0.5, 0.5, 0.5], 0),
        ("accuracy", [0.5, 0.7, 0.6, 0.7], 1), ("micro_f1", [0.5, 0.7, 0.6, 0.7], 1),
        ("macro_f1", [0.5, 0.7, 0.6, 0.7], 1),
    ],
)  # fmt: skip
def test_the_weights_of_the_best_check_are_kept_and_of_equal_ones_the_first(monkeypatch, best, values, kept):
    classifier, states = tiny.classifier(), scripted(monkeypatch, best, values)
    history = training.fine_tune(classifier, splits(classifier), **QUICK, checks_per_epoch=2, best=best)
    expected = [i == kept for i in range(4)]
    assert [same(tiny.state(classifier), weights) for weights in states] == expected
    assert [row["kept"] for row in history] == expected
    assert [row[f"validation_{best}"] for row in history] == values
    assert [row["epoch"] for row in history] == [0.4, 1, 1.4, 2]  # 5 steps an epoch: after 2 and 5


@pytest.mark.parametrize(
    ("settings", "shares"),
    [
        ({"warmup": 0.4}, [0.5, 1, *((10 - step) / 8 for step in range(2, 10))]),  # 5 steps an epoch
        ({"warmup": 0}, [(10 - step) / 10 for step in range(10)]),
        ({"warmup": 0.4, "schedule": "constant"}, [0.5] + [1] * 9),
        ({"warmup": 0.8, "epochs": 4}, [0.25, 0.5, 0.75, 1, *((20 - step) / 16 for step in range(4, 20))]),
    ],
)
def test_the_rate_rises_for_a_part_of_the_epochs_and_falls_to_zero_or_stays(rates, settings, shares):
    trained(**settings)
    assert [rate for rate, _ in rates.seen] == pytest.approx(1e-2 * np.array(shares))


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_the_head_has_its_own_rate(rates, kind):
    trained(kind=kind, head_learning_rate=3e-2, warmup=0)
    assert rates.seen[0] == [1e-2, 3e-2]
    model = tiny.classifier(kind).model
    head = {n for n, _ in model.named_parameters() if not n.startswith(model.base_model_prefix + ".")}
    assert {n.split(".")[0] for n in head} <= {"classifier", "pre_classifier"} and head
    body_size, head_size = (sum(p.numel() for p in g["params"]) for g in rates.optimiser.param_groups)
    assert head_size == sum(p.numel() for n, p in model.named_parameters() if n in head)
    assert body_size + head_size == sum(p.numel() for p in model.parameters())
    assert {g["weight_decay"] for g in rates.optimiser.param_groups} == {0.01}


def test_one_rate_for_all_where_the_head_has_none(rates):
    trained()
    assert all(encoder == head for encoder, head in rates.seen)


def test_gradients_are_clipped(monkeypatch):
    norms, clip = [], torch.nn.utils.clip_grad_norm_

    def spied(parameters, limit):
        parameters = list(parameters)
        clip(parameters, limit)
        norms.append(torch.stack([p.grad.norm() for p in parameters if p.grad is not None]).norm().item())

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", spied)
    trained(clip=0.01)
    assert np.allclose(norms, 0.01, rtol=1e-3)


def test_a_seed_is_a_run_and_nothing_else_is_touched():
    torch.manual_seed(123)
    before, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()
    (one, history), (again, history_again), (other, _) = (trained(seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before) and (np.random.get_state()[1] == legacy).all()
    assert same(one, again) and history == history_again
    assert not same(one, other)
    torch.manual_seed(7)
    assert same(one, trained(0)[0])  # whatever the global generator says: dropout has a seed of its own


def test_a_development_loss_that_is_not_finite_is_told(monkeypatch):
    monkeypatch.setattr(training, "evaluate", lambda *split: {"loss": float("nan")})
    with pytest.raises(FloatingPointError, match="learning_rate"):
        trained()


def test_performance_by_hand(monkeypatch):
    classifier = tiny.classifier()
    p = {0: [0.5, 0.25, 0.25], 1: [0.1, 0.8, 0.1], 2: [0.2, 0.2, 0.6]}  # by which text it is
    texts = ["boring", "the plot", "not great , it was"]
    encodings = classifier.encode(texts)
    ids = {tuple(e.ids.tolist()): p[i] for i, e in enumerate(encodings)}

    def logits(batch):
        rows = [ids[tuple(r[k].tolist())] for r, k in zip(batch.ids, batch.present, strict=True)]
        return torch.tensor(rows).log()

    monkeypatch.setattr(classifier, "logits", logits)
    performance = training.evaluate(classifier, encodings, np.array([0, 1, 1]))
    assert performance["loss"] == pytest.approx(-(np.log(0.5) + np.log(0.8) + np.log(0.2)) / 3)
    assert performance["accuracy"] == pytest.approx(2 / 3)
    assert performance["macro_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)  # class 2: predicted, never right
    assert performance["micro_f1"] == performance["accuracy"]
    assert performance["balanced_accuracy"] == pytest.approx((1 + 1 / 2) / 2)  # recall of classes 0 and 1
    assert np.allclose(performance["probabilities"], list(p.values()))


# What Madsen et al. (2022) add -----------------------------------------------------------------------


UNSTEADY = [0.5, 0.4, 0.6, 0.6, 0.6, 0.7, 0.1, 0.1]


@pytest.mark.parametrize(
    ("values", "patience", "checks"),
    [(UNSTEADY, 1, 2), (UNSTEADY, 2, 5), (UNSTEADY, 3, 8), (UNSTEADY, None, 8), ([0.5] + [1.0] * 7, None, 2)],
)
def test_patience_counts_checks_without_a_better_one_and_nothing_beats_1(
    monkeypatch, values, patience, checks
):
    classifier, states = tiny.classifier(), scripted(monkeypatch, "accuracy", values)
    settings = {**QUICK, "epochs": 8, "best": "accuracy", "patience": patience}
    history = training.fine_tune(classifier, splits(classifier), **settings)
    best = int(np.argmax(values[:checks]))
    assert len(history) == checks and history[best]["kept"]
    assert same(tiny.state(classifier), states[best])


def test_amsgrad_is_torchs_with_the_decay_in_the_gradient():
    settings = STEADY | {"epochs": 3, "weight_decay": 0.1, "betas": (0.9, 0.5)}  # β₂: v falls, too
    classifier, other = (tiny.without_dropout(tiny.classifier()) for _ in range(2))
    encodings, labels = splits(classifier)["train"]
    # Its validation is never better than after the last step, so that these are the weights kept.
    checks = iter(range(9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "evaluate", lambda *split: {"loss": 1.0 - 0.1 * next(checks)})
        training.fine_tune(classifier, splits(classifier), **settings)
    optimiser = torch.optim.Adam(
        other.model.parameters(), lr=1e-2, betas=(0.9, 0.5), amsgrad=True, foreach=False, fused=False
    )
    generator, lengths = np.random.default_rng(5), [len(e.ids) for e in encodings]
    other.model.train()
    for _ in range(3):
        for rows in training.shuffled_by_length(lengths, 2, generator):
            logits = other.logits(other.collate([encodings[i] for i in rows]))
            penalty = 0.05 * sum(p.square().sum() for p in other.model.parameters() if p.requires_grad)
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor(labels[rows]))
            optimiser.zero_grad()
            (loss + penalty).backward()
            optimiser.step()
    for (name, p), q in zip(classifier.model.named_parameters(), other.model.parameters(), strict=True):
        if not name.endswith("key.bias"):  # attention does not depend on it: its gradient is rounding alone
            assert torch.allclose(p, q, atol=2e-4), name


def test_parameters_without_weight_decay_are_named(rates):
    trained(undecayed=("bias", "LayerNorm"), head_learning_rate=3e-2, warmup=0, betas=(0.8, 0.9))
    sizes = {
        (g["initial_lr"], g["weight_decay"]): sum(p.numel() for p in g["params"])
        for g in rates.optimiser.param_groups
    }
    model = tiny.classifier().model
    for head, rate in ((False, 1e-2), (True, 3e-2)):
        for decay in (0.0, 0.01):
            assert sizes[rate, decay] == sum(
                p.numel()
                for n, p in model.named_parameters()
                if n.startswith("classifier") == head and ("bias" in n or "LayerNorm" in n) == (decay == 0)
            )
    assert all(g["betas"] == (0.8, 0.9) for g in rates.optimiser.param_groups)


def test_without_a_clip_gradients_are_left_alone(monkeypatch):
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *args: pytest.fail("clipped"))
    trained(clip=None)


def test_recipes_are_the_papers_tables():
    single, paired = (models.load("bilstm", tiny.LABELS, tiny.TEXTS, paired=p).model for p in (False, True))
    table4 = dict(epochs=8, learning_rate=1e-3, weight_decay=1e-5, **AMSGRAD)
    assert training.recipe(single, 8) == {**table4, "undecayed": ("attention.",)}
    assert training.recipe(paired, 8) == {**table4, "undecayed": ()}
    groups = training._groups(single, 1, 1, 1e-5, ("attention.",))
    free = {id(p) for g in groups if g["weight_decay"] == 0 for p in g["params"]}
    assert free == {id(p) for p in single.attention.parameters()}
    table5 = training.recipe(tiny.classifier("roberta").model, 3)
    assert (table5["learning_rate"], table5["weight_decay"]) == (2e-5, 0.01)
    assert table5["warmup"] == pytest.approx(0.18)  # 6 % of three epochs
    for kind in tiny.KINDS:
        model = tiny.classifier(kind).model
        groups = training._groups(model, 1, 1, 0.01, table5["undecayed"])
        assert all((p.ndim == 1) == (g["weight_decay"] == 0) for g in groups for p in g["params"])


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_an_encoder_trains_by_the_recipe(rates, kind):
    classifier = tiny.classifier(kind)
    before = training.evaluate(classifier, *splits(classifier)["validation"])["accuracy"]
    settings = training.recipe(classifier.model, 20) | {"learning_rate": 1e-2, "batch_size": 2}
    training.fine_tune(classifier, splits(classifier), **settings, best="accuracy")
    assert training.evaluate(classifier, *splits(classifier)["validation"])["accuracy"] >= max(0.6, before)
    assert rates.seen[0][0] == pytest.approx(1e-2 / 6)  # 6 % of the 100 steps are a warm-up


def test_an_unknown_setting_is_told():
    with pytest.raises(ValueError, match="setting 'epoch' is unknown: did you mean 'epochs'"):
        trained(epoch=2)


def test_the_step_whose_loss_is_not_finite_is_named():
    classifier = tiny.classifier()
    steps, logits = iter(range(99)), classifier.logits
    classifier.logits = lambda batch: logits(batch) * (float("nan") if next(steps) == 3 else 1.0)
    with pytest.raises(
        FloatingPointError, match="training loss is nan in epoch 1, step 4: lower learning_rate .0.01."
    ):
        training.fine_tune(classifier, splits(classifier), **QUICK)


# Salience loss (Chrysostomou & Aletras 2021) -----------------------------------------------------------


def salient(classifier, kind="textrank", definition="paper"):
    """Splits, and the salience of the training encodings."""
    data = splits(classifier)
    return data, salience.fit(kind, *data["train"], definition)(data["train"][0])


def attention_kl(classifier, encodings):
    """KL(α, σ) of a split, TextRank, without dropout."""
    attention = attribute(classifier, encodings, np.zeros(len(encodings), int), ["attention"])["attention"]
    return salience.divergence(attention, salience.fit("textrank", encodings)(encodings))


def bilstm():
    return models.load("bilstm", tiny.LABELS, tiny.TEXTS, width=16, hidden=8)


def test_without_salience_it_is_plain_fine_tuning(monkeypatch):
    plain, history = trained(seed=3)
    classifier = tiny.classifier()
    data, _ = salient(classifier)
    monkeypatch.setattr(classifier, "attentions", None)  # is not called
    rows = training.fine_tune(classifier, data, **QUICK, seed=3, salience=None, salience_weight=1.0)
    assert rows == history and same(classifier.model.state_dict(), plain)


@cache
def guided(kind, weight, definition):
    """KL(α, σ) on the development set after training, and the first and last salience loss."""
    classifier = bilstm() if kind == "bilstm" else tiny.classifier(kind)
    data, sigma = salient(classifier, definition=definition)
    few = dict(epochs=20, batch_size=5, learning_rate=2e-2)  # 40 steps
    settings = few | {"salience_weight": weight, "definition": definition}
    history = training.fine_tune(classifier, data, **settings, salience=sigma)
    kl = attention_kl(classifier, data["validation"][0]).mean()
    return kl, [row.get("salience_loss") for row in (history[0], history[-1])]


@pytest.mark.parametrize("kind", [*tiny.KINDS, "bilstm"])
def test_a_large_weight_brings_attention_on_the_development_set_to_salience(kind):
    plain, _ = guided(kind, 0.0, "paper")
    kl, (first, last) = guided(kind, 10.0, "paper")
    assert kl < 0.2 * plain and last < 0.2 * first


@pytest.mark.parametrize("kind", ["distilbert", "bilstm"])
def test_the_released_loss_is_lowered_too_but_attention_does_not_reach_salience(kind):
    plain, _ = guided(kind, 0.0, "paper")
    kl, (first, last) = guided(kind, 100.0, "released")
    assert last < 0.9 * first and 0.05 < kl < 0.6 * plain


@pytest.mark.parametrize("definition", ["paper", "released"])
@pytest.mark.parametrize("pairs", [False, True])
def test_the_loss_is_equation_2(definition, pairs):
    settings = STEADY | {"epochs": 1, "weight_decay": 0.0, "salience_weight": 0.5, "definition": definition}
    classifier, other = (tiny.without_dropout(tiny.classifier()) for _ in range(2))
    labels = np.array([0, 1, 2, 0, 1])
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B if pairs else None)
    sigma = salience.fit("textrank", encodings, definition=definition)(encodings)
    data = {"train": (encodings, labels), "validation": (encodings, labels)}
    history = training.fine_tune(classifier, data, **settings, salience=sigma)
    optimiser = torch.optim.Adam(other.model.parameters(), lr=1e-2, amsgrad=True, foreach=False, fused=False)
    other.model.set_attn_implementation("eager")
    other.model.train()
    parts = []
    for rows in training.shuffled_by_length([len(e.ids) for e in encodings], 2, np.random.default_rng(5)):
        losses, kls = [], []
        for i in rows:  # one text at a time, without padding
            e = encodings[i]
            output = other.model(
                torch.tensor(e.ids)[None], token_type_ids=torch.tensor(e.types)[None], output_attentions=True
            )
            alpha, s = output.attentions[-1][0, :, 0].mean(0), torch.tensor(sigma[i]).float()
            if definition == "paper":
                alpha, s = alpha[e.maskable] / alpha[e.maskable].sum(), s[e.maskable]
            else:
                alpha, s = alpha.softmax(0), s.softmax(0)
            kls.append((alpha * (alpha.log() - s.log())).sum())
            losses.append(torch.nn.functional.cross_entropy(output.logits, torch.tensor(labels[i : i + 1])))
        ce, kls = torch.stack(losses).mean(), torch.stack(kls)
        parts.append((ce.item(), (kls.mean() if definition == "paper" else kls.sum() ** 2)))
        optimiser.zero_grad()
        (ce + 0.5 * parts[-1][1]).backward()
        optimiser.step()
    (row,) = history
    assert list(row) == ["epoch", "train_loss", "validation_loss", "salience_loss", "kept"]
    assert row["train_loss"] == pytest.approx(np.mean([ce for ce, _ in parts]), rel=1e-4)
    assert row["salience_loss"] == pytest.approx(np.mean([kl.item() for _, kl in parts]), rel=1e-4)
    for (name, p), q in zip(classifier.model.named_parameters(), other.model.parameters(), strict=True):
        if not name.endswith("key.bias"):  # its gradient is 0 but for rounding, which Adam magnifies
            assert torch.allclose(p, q, atol=1e-4), name


def test_cross_entropy_alone_chooses_the_check():
    classifier = tiny.classifier()
    data, sigma = salient(classifier)
    history = training.fine_tune(
        classifier, data, **{**QUICK, "epochs": 6}, salience=sigma, salience_weight=3.0
    )
    losses = [row["validation_loss"] for row in history]
    assert [row["kept"] for row in history] == [i == np.argmin(losses) for i in range(6)]
    assert training.evaluate(classifier, *data["validation"])["loss"] == pytest.approx(min(losses))


def test_dropout_may_leave_nothing_of_a_short_text():
    classifier = tiny.without_dropout(tiny.classifier(), 0.6)
    encodings, labels = classifier.encode(["boring"] * 16), np.arange(16) % 2
    data = {"train": (encodings, labels), "validation": (encodings, labels)}
    sigma = salience.fit("uniform", encodings)(encodings)
    history = training.fine_tune(classifier, data, **QUICK, salience=sigma, salience_weight=1.0)
    assert all(np.isfinite(row["salience_loss"]) for row in history)
    assert all(p.isfinite().all() for p in classifier.model.parameters())


def test_a_salience_that_is_none_is_told_before_training(monkeypatch):
    classifier = tiny.classifier()
    data, sigma = salient(classifier)
    monkeypatch.setattr(training, "_step", None)  # is not reached
    row = sigma[1]
    outside = np.full(len(row), 1 / len(row))
    for message, rows in {
        "salience of example 1 is 0 for every token: remove": [0 * row],
        "example 1 is not a distribution over its maskable tokens .sum 2,": [2 * row],
        "example 1 is not a distribution .*use salience.fit": [outside],
        "salience of example 1 has values below 0 or not finite": [row * np.nan],
        "example 1 has values below 0": [-row],
        f"salience of example 1 has the shape .3,. for {len(row)} tokens": [row[:3]],
        "salience has 9 rows for 10 training examples": [],
    }.items():
        with pytest.raises(ValueError, match=message):
            training.fine_tune(
                classifier, data, **QUICK, salience=[sigma[0], *rows, *sigma[2:]], salience_weight=1.0
            )


def test_the_salience_of_another_definition_is_told():
    classifier = tiny.classifier()
    for one, other, message in [("paper", "released", "divided by its sum"), ("released", "paper", "not a")]:
        data, sigma = salient(classifier, definition=one)
        with pytest.raises(ValueError, match=f"salience of example 0 .*{message}"):
            training.fine_tune(
                classifier, data, **QUICK, salience=sigma, salience_weight=1.0, definition=other
            )


def test_a_model_without_attention_is_told(monkeypatch):
    classifier = tiny.classifier()
    data, sigma = salient(classifier)
    monkeypatch.setattr(classifier, "_attend", lambda batch: (classifier.logits(batch), ()))
    with pytest.raises(ValueError, match="tiny-bert gives no attention weights .*: train it without"):
        training.fine_tune(classifier, data, **QUICK, salience=sigma, salience_weight=1.0)


def test_a_salience_loss_that_is_not_finite_is_told(monkeypatch):
    classifier = tiny.classifier()
    data, sigma = salient(classifier)
    monkeypatch.setattr(salience, "salience_loss", lambda *args: torch.tensor(float("nan")))
    with pytest.raises(FloatingPointError, match="salience loss is nan in epoch 1, step 1: lower"):
        training.fine_tune(classifier, data, **QUICK, salience=sigma, salience_weight=1.0)


def weights_after(weight, device="cpu"):
    """The weights of a model with dropout after training beside a salience of this λ."""
    torch.manual_seed(0)
    classifier = tiny.classifier()
    for module in classifier.model.modules():
        for name in ("p", "dropout_prob", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.1)
    classifier.model.to(device)
    data, sigma = salient(classifier)
    settings = dict(epochs=2, batch_size=2, learning_rate=1e-2, seed=3, salience_weight=weight)
    training.fine_tune(classifier, data, **settings, salience=sigma)
    return torch.cat([p.detach().flatten().cpu() for p in classifier.model.parameters()])


CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=CUDA)])
def test_a_pair_trains_along_the_same_path_and_draws_the_same_dropout(device):
    nothing, vanishing, some = (weights_after(weight, device) for weight in (0.0, 1e-30, 0.5))
    assert torch.equal(nothing, vanishing) and not torch.equal(nothing, some)


def test_what_cannot_be_trained_is_told_in_one_line():
    model = tiny.classifier()
    long = {split: (model.encode(["great " * 900, "plot"]), [0, 1]) for split in ("train", "validation")}
    with pytest.raises(ValueError, match="902 tokens, tiny-bert takes 64"):
        training.fine_tune(model, long)
    with pytest.raises(ValueError, match="mine is no model of transformers: train it yourself"):
        training.fine_tune(SimpleNamespace(name="mine"), {"train": ([], []), "validation": ([], [])})
