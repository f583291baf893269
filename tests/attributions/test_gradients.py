"""Gradient attributions of classifiers against captum, on its toy models, and against own calculations."""

import captum.attr
import numpy as np
import pytest
import tiny
import torch
from captum.testing.helpers.basic_models import BasicLinearModel2, BasicModel_MultiLayer
from sample import lookup
from sample.captums import SIGNED, gap
from torch.utils._python_dispatch import TorchDispatchMode

from faithlib.attributions import attribute, gradients
from faithlib.engine import batching
from faithlib.scores import generator


class Logits(torch.nn.Module):
    """The Hugging Face model as captum wants it: a module of word embeddings."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, embeddings, present, types):
        typed = {"token_type_ids": types} if self.model.config.model_type == "bert" else {}
        return self.model(inputs_embeds=embeddings, attention_mask=present, **typed).logits


def captums(classifier, algorithm, encodings, targets, **settings):
    """captum's scores summed over the width, 0 where not maskable: (batch, tokens)."""
    batch = classifier.collate(encodings)
    if "baselines" in settings:  # a vector (width,)
        settings["baselines"] = settings["baselines"].expand(1, batch.ids.shape[1], -1)
    scores = algorithm(Logits(classifier.model)).attribute(
        classifier.embed(batch.ids).detach().requires_grad_(),
        target=torch.tensor(targets),
        additional_forward_args=(batch.present.long(), batch.types),
        **settings,
    )
    return torch.where(batch.maskable, scores.sum(-1), 0).detach().numpy()


def vector(classifier, baseline):
    """The embedding that a path starts from, looked up here: (width,)."""
    table = classifier.model.get_input_embeddings().weight.detach()
    tokenizer = classifier.tokenizer
    if baseline == "zero":
        return 0 * table[0]
    return table[{"token": tokenizer.mask_token_id, "pad": tokenizer.pad_token_id}[baseline]]


# Against captum -----------------------------------------------------------------------------------


def test_input_x_gradient_is_captums(classifier):
    encodings, targets = tiny.examples(classifier)
    ours = attribute(classifier, encodings, targets, ["input_x_gradient", "input_x_gradient_abs"])
    theirs = captums(classifier, captum.attr.InputXGradient, encodings, targets)
    assert gap(ours["input_x_gradient"], theirs) < 1e-5
    assert gap(ours["input_x_gradient_abs"], np.abs(theirs)) < 1e-5
    assert np.abs(theirs).max() > 0.05 and theirs.min() < 0


@pytest.mark.parametrize("rule", ["midpoint", "right"])
@pytest.mark.parametrize(("baseline", "steps"), [("zero", 2), ("zero", 7), ("token", 3), ("pad", 4)])
def test_integrated_gradients_are_captums(classifier, baseline, steps, rule):
    encodings, targets = tiny.examples(classifier)
    with torch.no_grad():
        classifier.model.get_input_embeddings().weight[classifier.pad_id] = torch.linspace(-1, 1, 16)  # was 0
    wanted = ["integrated_gradients", "integrated_gradients_abs"]
    ours = attribute(classifier, encodings, targets, wanted, steps=steps, baseline=baseline, rule=rule)
    settings = {"n_steps": steps, "baselines": vector(classifier, baseline)}
    settings["method"] = {"midpoint": "riemann_middle", "right": "riemann_right"}[rule]
    theirs = captums(classifier, captum.attr.IntegratedGradients, encodings, targets, **settings)
    assert gap(ours["integrated_gradients"], theirs) < 1e-5
    assert gap(ours["integrated_gradients_abs"], np.abs(theirs)) < 1e-5
    default = attribute(classifier, encodings, targets, wanted[:1], steps=steps)[wanted[0]]
    assert (gap(ours["integrated_gradients"], default) == 0) == ((baseline, rule) == ("zero", "midpoint"))


def test_of_a_pair_the_path_may_be_that_of_the_text_alone(classifier):
    """As captum has it where the baseline of text_b and of what follows is what is there."""
    paired, targets = tiny.examples(classifier)
    encodings, notes = [*classifier.encode(tiny.TEXTS[:2]), *paired[2:]], {}
    name, settings = "integrated_gradients", {"steps": 60, "baseline": "token"}
    whole = attribute(classifier, encodings, targets, [name], **settings)
    ours = attribute(classifier, encodings, targets, [name], **settings, path="text", notes=notes)[name]
    explainer = captum.attr.IntegratedGradients(Logits(classifier.model))
    for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True)):
        batch = classifier.collate([encoding])
        embeddings = classifier.embed(batch.ids).detach()
        base, stays = vector(classifier, "token").expand_as(embeddings).clone(), encoding.auxiliary.copy()
        if stays.any():
            stays[np.flatnonzero(encoding.maskable)[-1] + 2 :] = True  # behind the separator of `text`
        base[0, stays] = embeddings[0, stays]
        path = dict(n_steps=60, method="riemann_middle", return_convergence_delta=True)
        extra = batch.present.long(), batch.types
        theirs, left_out = explainer.attribute(embeddings, base, int(target), extra, **path)
        assert gap([ours[i]], [theirs[0].sum(-1).numpy() * encoding.maskable]) < 1e-5
        assert notes["completeness_gap"][i] == pytest.approx(left_out.abs().item(), abs=1e-5)
        assert (gap([ours[i]], [whole[name][i]]) > 1e-4) == (i >= 2)


@pytest.mark.parametrize("baseline", ["zero", "token"])
def test_gradient_shap_is_captums_with_the_same_draws(classifier, baseline, monkeypatch):
    encodings, targets = tiny.examples(classifier)
    wanted = ["gradient_shap", "gradient_shap_abs"]
    ours = attribute(classifier, encodings, targets, wanted, samples=6, seed=4, baseline=baseline)
    draws = np.concatenate([generator(e, 4).random(6) for e in encodings])  # captum's order of rows
    monkeypatch.setattr(np.random, "uniform", lambda low, high, size: draws.reshape(size))
    settings = {"n_samples": 6, "baselines": vector(classifier, baseline)}
    theirs = captums(classifier, captum.attr.GradientShap, encodings, targets, **settings)
    assert gap(ours["gradient_shap"], theirs) < 1e-5
    assert gap(ours["gradient_shap_abs"], np.abs(theirs)) < 1e-5
    assert len(set(draws)) == 30 and np.abs(theirs).max() > 0.05


@pytest.mark.filterwarnings("ignore:Setting forward")
def test_deeplift_as_published_is_the_signed_input_x_gradient(classifier):
    """captum has no rule for GELU, layer norm and softmax: what is left is gradient × difference."""
    encodings, targets = tiny.examples(classifier)
    ours = attribute(classifier, encodings, targets, ["deeplift", "input_x_gradient"])
    assert gap(ours["deeplift"], ours["input_x_gradient"]) == 0
    theirs = captums(classifier, captum.attr.DeepLift, encodings, targets)
    if classifier.model.config.model_type == "bert":  # the tanh of its pooler does have a rule
        assert 1e-4 < gap(ours["deeplift"], theirs)
    else:
        assert gap(ours["deeplift"], theirs) < 1e-5


# On captum's toy models ---------------------------------------------------------------------------


def numbers(toy, ids, outputs):
    """A toy model of captum as a classifier, token id n being the number n; an encoding, all maskable."""
    model = lookup.classifier(lambda values, present: toy(values), range(200), outputs, mask=1)
    return model, tiny.encoding(len(ids), range(len(ids)), ids)


def test_a_multilayer_toy_model_is_explained_as_by_hand_and_by_captum():
    toy = BasicModel_MultiLayer()  # y = relu(Σ − 10) + 3 relu(Σ + 1) + 1 for class 1
    model, encoding = numbers(toy, [3, 2, 4], outputs=2)
    scores = attribute(model, [encoding], [1], [*SIGNED, "deeplift", "gradient_l2"], steps=50, samples=50)
    assert scores["input_x_gradient"][0].tolist() == [9, 6, 12]  # Σ = 9 stays below 10 on all of the path
    for name in ("integrated_gradients", "gradient_shap", "sequential_integrated_gradients", "deeplift"):
        assert scores[name][0] == pytest.approx([9, 6, 12], abs=1e-4)
    assert scores["gradient_l2"][0] == pytest.approx([3 * np.sqrt(np.sum(np.arange(200.0) ** 2))] * 3)
    model, encoding = numbers(toy, [0, 100, 0], outputs=2)
    (ours,) = attribute(model, [encoding], [1], ["integrated_gradients"], steps=50)["integrated_gradients"]
    theirs = captum.attr.IntegratedGradients(toy).attribute(
        torch.tensor([[0.0, 100.0, 0.0]]), target=1, n_steps=50, method="riemann_middle"
    )
    assert ours == pytest.approx(theirs[0].tolist(), abs=1e-4)
    assert ours.tolist() == pytest.approx([0, 390, 0], abs=1e-3)


def test_on_a_linear_model_integrated_gradients_are_input_x_gradient():
    toy = BasicLinearModel2(4, 3)
    model, encoding = numbers(toy, [3, 2, 4, 7], outputs=3)
    notes = {}
    scores = attribute(model, [encoding], [2], [*SIGNED, "deeplift"], notes=notes, steps=3, samples=2)
    expected = toy.linear.weight[2].detach().numpy() * [3, 2, 4, 7]
    for name, (row,) in scores.items():
        assert row == pytest.approx(expected, abs=1e-5), name
    assert notes["completeness_gap"] < 1e-5
    from_one = attribute(model, [encoding], [2], [*SIGNED, "deeplift"], baseline="token", steps=3, samples=2)
    for name, (row,) in from_one.items():
        less = 0 if name == "input_x_gradient" else 1  # the mask token is the number 1
        assert row == pytest.approx(expected / [3, 2, 4, 7] * (np.array([3, 2, 4, 7]) - less), abs=1e-5), name


# Against own calculations -------------------------------------------------------------------------


def test_gradient_norms_are_norms_over_the_vocabulary(classifier, monkeypatch):
    monkeypatch.setattr(gradients, "CHUNK", 7)  # several, the last one shorter
    encodings, targets = tiny.examples(classifier)
    ours = attribute(classifier, encodings, targets, ["gradient_l1", "gradient_l2"])
    batch = classifier.collate(encodings)
    embeddings = classifier.embed(batch.ids).detach().requires_grad_()
    logits = Logits(classifier.model)(embeddings, batch.present.long(), batch.types)
    (slope,) = torch.autograd.grad(logits[range(5), targets].sum(), embeddings)
    one_hot = slope @ classifier.model.get_input_embeddings().weight.detach().T  # (batch, tokens, vocabulary)
    for name, norm in (("gradient_l1", one_hot.abs().sum(-1)), ("gradient_l2", one_hot.norm(dim=-1))):
        expected = torch.where(batch.maskable, norm, 0).numpy()
        assert expected.max() > 1 and gap(ours[name], expected) < 1e-5


def test_the_gram_matrix_is_computed_again_when_the_weights_have_changed():
    classifier = tiny.classifier()
    encodings, targets = tiny.examples(classifier)
    first = attribute(classifier, encodings, targets, ["gradient_l2"])["gradient_l2"]
    kept = gradients.gram(classifier)
    assert gradients.gram(classifier) is kept
    with torch.no_grad():
        classifier.model.get_input_embeddings().weight.mul_(2)
    table = classifier.model.get_input_embeddings().weight.detach().double()
    assert torch.allclose(gradients.gram(classifier), table.T @ table)
    assert gap(attribute(classifier, encodings, targets, ["gradient_l2"])["gradient_l2"], first) > 0.1
    classifier.model.get_input_embeddings().weight.data.mul_(2)  # as some optimisers write
    assert torch.allclose(gradients.gram(classifier), 4 * table.T @ table)
    classifier.model.double()
    assert gradients.gram(classifier).dtype == torch.float64


def test_a_model_that_was_left_in_training_is_explained_without_dropout():
    classifier = tiny.classifier()
    encodings, targets = tiny.examples(classifier)
    first = attribute(classifier, encodings, targets, ["gradient_l2"])["gradient_l2"]
    tiny.without_dropout(classifier, 0.5).model.train()
    assert gap(attribute(classifier, encodings, targets, ["gradient_l2"])["gradient_l2"], first) < 1e-6


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64])
def test_targets_may_be_whole_numbers_of_any_size(dtype):
    classifier = tiny.classifier()
    encodings, targets = tiny.examples(classifier)
    names = ["gradient_l2", "scaled_attention"]
    first = attribute(classifier, encodings, targets, names)
    for name, scores in attribute(classifier, encodings, np.asarray(targets, dtype), names).items():
        assert gap(scores, first[name]) < 1e-6


class Largest(TorchDispatchMode):
    """Remembers how many numbers the largest tensor made inside has."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out._base is None:
            self.numbers = max(self.numbers, out.numel())
        return out


def test_the_vocabulary_axis_is_never_whole(monkeypatch):
    monkeypatch.setattr(gradients, "CHUNK", 8)
    classifier = tiny.classifier()
    batch = classifier.collate(classifier.encode(tiny.TEXTS))
    with Largest() as largest:
        gradients.gradients(classifier, batch, torch.tensor([0, 1, 2, 1, 0]))
    vocabulary, width = classifier.embedding_table.shape
    feed_forward = batch.ids.numel() * 2 * width  # the largest activation of the model itself
    assert vocabulary > 2 * width and largest.numbers == feed_forward


def test_sequential_integrated_gradients_give_each_token_a_path_of_its_own(classifier):
    encodings, targets = tiny.examples(classifier)
    name = "sequential_integrated_gradients"
    ours = attribute(classifier, encodings, targets, [name, f"{name}_abs"], steps=5, baseline="token")
    explainer = captum.attr.IntegratedGradients(Logits(classifier.model))
    for encoding, target, scores in zip(encodings, targets, ours[name], strict=True):
        batch = classifier.collate([encoding])
        embeddings, extra = classifier.embed(batch.ids).detach(), (batch.present.long(), batch.types)
        for i in np.flatnonzero(encoding.maskable):
            without = embeddings.clone()
            without[0, i] = vector(classifier, "token")
            path = dict(n_steps=5, method="riemann_middle")
            theirs = explainer.attribute(embeddings, without, int(target), extra, **path)
            assert scores[i] == pytest.approx(theirs[0, i].sum().item(), abs=1e-5)
    assert gap(ours[f"{name}_abs"], [np.abs(row) for row in ours[name]]) == 0


def test_the_completeness_gap_is_what_integrated_gradients_leave_out():
    classifier = tiny.classifier()
    encodings, targets = tiny.examples(classifier)
    few, many = {}, {}
    for steps, notes in ((1, few), (200, many)):
        settings = {"steps": steps, "baseline": "token"}
        attribute(classifier, encodings, targets, ["integrated_gradients_abs"], notes=notes, **settings)
    assert few["completeness_gap"].shape == (5,) and (many["completeness_gap"] < 1e-3).all()
    for encoding, target, left_out in zip(encodings, targets, few["completeness_gap"], strict=True):
        batch = classifier.collate([encoding])
        scores = gradients.integrated_gradients(
            classifier, batch, torch.tensor([target]), steps=1, baseline="token"
        )["integrated_gradients"]
        base = vector(classifier, "token").expand(1, len(encoding.ids), -1)
        with torch.no_grad():
            y, y_base = (
                Logits(classifier.model)(e, batch.present.long(), batch.types)[0, target].item()
                for e in (classifier.embed(batch.ids), base)
            )
        assert left_out == pytest.approx(abs(scores.sum().item() - (y - y_base)), abs=1e-5)
    assert (few["completeness_gap"] > 0.01).any()


def test_integrated_gradients_add_up_to_what_the_input_adds(classifier):
    classifier.model.double()
    batch, target = classifier.collate(classifier.encode(tiny.TEXTS[:3])), torch.tensor([0, 1, 2])
    method = gradients.integrated_gradients
    scores = method(classifier, batch, target, steps=500)["integrated_gradients"]
    embeddings = classifier.embed(batch.ids)
    with torch.no_grad():
        y, y_zero = (
            classifier.logits(batch, embeddings=e).gather(1, target[:, None])[:, 0]
            for e in (embeddings, 0 * embeddings)
        )
    total = torch.where(batch.present, scores, 0).sum(1)
    assert (y - y_zero).abs().max() > 0.1
    kinked = classifier.model.config.model_type == "distilbert"  # the ReLU of its head slows the sum
    assert (total - (y - y_zero)).abs().max() < (3e-3 if kinked else 1e-3)
    assert scores[~batch.present].abs().max() == 0  # nothing flows through padding


# Passes, draws, baselines -------------------------------------------------------------------------


def test_points_of_a_path_share_passes(monkeypatch):
    classifier, rows = tiny.classifier(), []
    encodings = classifier.encode(tiny.TEXTS)
    computed = classifier.logits

    def logits(batch, **more):
        if torch.is_grad_enabled():
            rows.append(tuple(batch.ids.shape))
        return computed(batch, **more)

    monkeypatch.setattr(classifier, "logits", logits)
    attribute(classifier, encodings[:1], [0], ["integrated_gradients"], steps=20)
    assert rows == [(20, 6)]
    rows.clear()  # 12, 12, 11, 6 and 3 tokens, 7 points each, at most 180 tokens a pass
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 180)
    attribute(classifier, encodings, np.zeros(5, int), ["integrated_gradients"], steps=7)
    assert rows == [(14, 12), (14, 11), (7, 3)]
    rows.clear()
    attribute(classifier, encodings[1:2], [0], ["integrated_gradients"], steps=40)
    assert rows == [(14, 12), (14, 12), (12, 12)]


@pytest.mark.parametrize("budget", [1, 30, 100, 400, 10**4])
def test_passes_hold_every_point_of_every_example_once(budget, monkeypatch):
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", budget)
    classifier = tiny.classifier()
    encodings = classifier.encode([tiny.TEXTS[i] for i in (2, 0, 1, 4, 3)])  # the shortest first
    seen = []

    def compute(examples, places, part):
        few, points = range(5)[examples], range(7)[places]
        seen.extend((k, i) for k in points for i in few)
        assert part.present.sum(1).tolist() == [len(encodings[i].ids) for _ in points for i in few]
        assert part.ids.numel() <= budget or len(part.ids) == 1

    gradients.in_passes(classifier, classifier.collate(encodings), 7, compute)
    assert sorted(seen) == [(k, i) for k in range(7) for i in range(5)]


def test_draws_belong_to_an_example_and_the_seed():
    classifier = tiny.classifier()
    encodings, targets = tiny.examples(classifier)
    name = "gradient_shap"
    one, same, other = (attribute(classifier, encodings, targets, [name], seed=s)[name] for s in (1, 1, 2))
    assert gap(one, same) == 0 and gap(one, other) > 1e-4


@pytest.mark.parametrize(("baseline", "kind", "other"), [("token", "mask", "pad"), ("pad", "pad", "token")])
def test_a_baseline_that_the_tokenizer_lacks_is_told(baseline, kind, other):
    classifier = tiny.classifier()
    setattr(classifier.tokenizer, f"{kind}_token", None)
    encodings, targets = tiny.examples(classifier)
    message = f"baseline='{baseline}': .* has no {kind} token: use 'zero' or '{other}'"
    with pytest.raises(ValueError, match=message):
        attribute(classifier, encodings, targets, ["integrated_gradients"], baseline=baseline)
    scores = attribute(classifier, encodings, targets, ["integrated_gradients"])  # batches are padded still
    assert all(np.isfinite(row).all() for row in scores["integrated_gradients"])
