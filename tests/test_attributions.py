"""Attributions against captum, against finite differences, and what all of them must keep."""

from types import SimpleNamespace

import captum.attr
import numpy as np
import pytest
import tiny
import torch
from captum.testing.helpers.basic_models import BasicLinearModel2, BasicModel_MultiLayer
from torch.utils._python_dispatch import TorchDispatchMode

from faithlib import attributions, forward
from faithlib.attributions import attribute, gradients, random
from faithlib.models import Classifier

SIGNED = ("input_x_gradient", "integrated_gradients", "sequential_integrated_gradients", "gradient_shap")
GRADIENTS = (*SIGNED, *(f"{name}_abs" for name in SIGNED), "deeplift", "gradient_l1", "gradient_l2")
ALL = ("attention", "scaled_attention", "attention_rollout", *GRADIENTS)


@pytest.fixture(params=tiny.KINDS)
def classifier(request):
    return tiny.classifier(request.param)


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
        classifier.embed(batch.ids).detach().requires_grad_(), target=torch.tensor(targets),
        additional_forward_args=(batch.present.long(), batch.types), **settings)
    return torch.where(batch.maskable, scores.sum(-1), 0).detach().numpy()


def gap(ours, theirs):
    """The largest difference over the tokens of all examples, padding left out; a share of scores above 1."""
    pairs = [(o, t[: len(o)]) for o, t in zip(ours, theirs, strict=True)]
    return max(np.abs(o - t).max() / max(1, np.abs(o).max()) for o, t in pairs)


def vector(classifier, baseline):
    """The embedding that a path starts from, looked up here: (width,)."""
    table = classifier.model.get_input_embeddings().weight.detach()
    tokenizer = classifier.tokenizer
    return {"zero": 0 * table[0], "token": table[tokenizer.mask_token_id],
            "pad": table[tokenizer.pad_token_id]}[baseline]


def examples(classifier):
    return classifier.encode(tiny.TEXTS, tiny.TEXTS_B), np.array([0, 1, 2, 1, 0])


# Against captum -----------------------------------------------------------------------------------


def test_input_x_gradient_is_captums(classifier):
    encodings, targets = examples(classifier)
    ours = attribute(classifier, encodings, targets, ["input_x_gradient", "input_x_gradient_abs"])
    theirs = captums(classifier, captum.attr.InputXGradient, encodings, targets)
    assert gap(ours["input_x_gradient"], theirs) < 1e-5
    assert gap(ours["input_x_gradient_abs"], np.abs(theirs)) < 1e-5
    assert np.abs(theirs).max() > 0.05 and theirs.min() < 0


@pytest.mark.parametrize(("baseline", "steps"), [("zero", 2), ("zero", 7), ("token", 3), ("pad", 4)])
def test_integrated_gradients_are_captums(classifier, baseline, steps):
    encodings, targets = examples(classifier)
    with torch.no_grad():
        classifier.model.get_input_embeddings().weight[classifier.pad_id] = torch.linspace(-1, 1, 16)  # was 0
    wanted = ["integrated_gradients", "integrated_gradients_abs"]
    ours = attribute(classifier, encodings, targets, wanted, steps=steps, baseline=baseline)
    theirs = captums(classifier, captum.attr.IntegratedGradients, encodings, targets,
                     n_steps=steps, method="riemann_middle", baselines=vector(classifier, baseline))
    assert gap(ours["integrated_gradients"], theirs) < 1e-5
    assert gap(ours["integrated_gradients_abs"], np.abs(theirs)) < 1e-5
    default = attribute(classifier, encodings, targets, wanted[:1], steps=steps)[wanted[0]]
    assert (gap(ours["integrated_gradients"], default) == 0) == (baseline == "zero")


@pytest.mark.parametrize("baseline", ["zero", "token"])
def test_gradient_shap_is_captums_with_the_same_draws(classifier, baseline, monkeypatch):
    encodings, targets = examples(classifier)
    wanted = ["gradient_shap", "gradient_shap_abs"]
    ours = attribute(classifier, encodings, targets, wanted, samples=6, seed=4, baseline=baseline)
    draws = np.concatenate([random.generator(e, 4).random(6) for e in encodings])  # captum's order of rows
    monkeypatch.setattr(np.random, "uniform", lambda low, high, size: draws.reshape(size))
    theirs = captums(classifier, captum.attr.GradientShap, encodings, targets, n_samples=6,
                     baselines=vector(classifier, baseline))
    assert gap(ours["gradient_shap"], theirs) < 1e-5
    assert gap(ours["gradient_shap_abs"], np.abs(theirs)) < 1e-5
    assert len(set(draws)) == 30 and np.abs(theirs).max() > 0.05


@pytest.mark.filterwarnings("ignore:Setting forward")
def test_deeplift_as_published_is_the_signed_input_x_gradient(classifier):
    """captum has no rule for GELU, layer norm and softmax: what is left is gradient × difference."""
    encodings, targets = examples(classifier)
    ours = attribute(classifier, encodings, targets, ["deeplift", "input_x_gradient"])
    assert gap(ours["deeplift"], ours["input_x_gradient"]) == 0
    theirs = captums(classifier, captum.attr.DeepLift, encodings, targets)
    if classifier.model.config.model_type == "bert":  # the tanh of its pooler does have a rule
        assert 1e-4 < gap(ours["deeplift"], theirs)
    else:
        assert gap(ours["deeplift"], theirs) < 1e-5


# On captum's toy models ---------------------------------------------------------------------------


class Numbers(torch.nn.Module):
    """A toy model of captum as a Hugging Face classifier: token id n is embedded as the number n."""

    def __init__(self, toy, outputs):
        super().__init__()
        self.config = SimpleNamespace(model_type="numbers", max_position_embeddings=8, num_labels=outputs)
        self.words = torch.nn.Embedding.from_pretrained(torch.arange(200.0)[:, None])
        self.toy = toy

    def get_input_embeddings(self):
        return self.words

    def forward(self, inputs_embeds, attention_mask):
        return SimpleNamespace(logits=self.toy(inputs_embeds[..., 0]))


def numbers(toy, ids, outputs):
    """A Classifier over a toy model, and one encoding whose tokens are all maskable."""
    tokenizer = SimpleNamespace(mask_token_id=1, pad_token_id=0)
    encoding = tiny.encoding(len(ids), range(len(ids)), ids)
    return Classifier(Numbers(toy, outputs), tokenizer, "numbers"), encoding


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
        torch.tensor([[0.0, 100.0, 0.0]]), target=1, n_steps=50, method="riemann_middle")
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
    encodings, targets = examples(classifier)
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
    encodings, targets = examples(classifier)
    first = attribute(classifier, encodings, targets, ["gradient_l2"])["gradient_l2"]
    kept = gradients.gram(classifier)
    assert gradients.gram(classifier) is kept
    with torch.no_grad():
        classifier.model.get_input_embeddings().weight.mul_(2)
    table = classifier.model.get_input_embeddings().weight.detach().double()
    assert torch.allclose(gradients.gram(classifier), table.T @ table)
    assert gap(attribute(classifier, encodings, targets, ["gradient_l2"])["gradient_l2"], first) > 0.1
    classifier.model.double()
    assert gradients.gram(classifier).dtype == torch.float64


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
    encodings, targets = examples(classifier)
    name = "sequential_integrated_gradients"
    ours = attribute(classifier, encodings, targets, [name, f"{name}_abs"], steps=5, baseline="token")
    for encoding, target, scores in zip(encodings, targets, ours[name], strict=True):
        batch = classifier.collate([encoding])
        embeddings = classifier.embed(batch.ids).detach()
        for i in np.flatnonzero(encoding.maskable):
            without = embeddings.clone()
            without[0, i] = vector(classifier, "token")
            theirs = captum.attr.IntegratedGradients(Logits(classifier.model)).attribute(
                embeddings, without, target=int(target), n_steps=5, method="riemann_middle",
                additional_forward_args=(batch.present.long(), batch.types))
            assert scores[i] == pytest.approx(theirs[0, i].sum().item(), abs=1e-5)
    assert gap(ours[f"{name}_abs"], [np.abs(row) for row in ours[name]]) == 0


def test_the_completeness_gap_is_what_integrated_gradients_leave_out():
    classifier = tiny.classifier()
    encodings, targets = examples(classifier)
    few, many = {}, {}
    for steps, notes in ((1, few), (200, many)):
        attribute(classifier, encodings, targets, ["integrated_gradients_abs"], notes=notes, steps=steps,
                  baseline="token")
    assert few["completeness_gap"].shape == (5,) and (many["completeness_gap"] < 1e-3).all()
    for encoding, target, left_out in zip(encodings, targets, few["completeness_gap"], strict=True):
        batch = classifier.collate([encoding])
        scores = gradients.integrated_gradients(
            classifier, batch, torch.tensor([target]), steps=1, baseline="token")["integrated_gradients"]
        base = vector(classifier, "token").expand(1, len(encoding.ids), -1)
        with torch.no_grad():
            y, y_base = (Logits(classifier.model)(e, batch.present.long(), batch.types)[0, target].item()
                         for e in (classifier.embed(batch.ids), base))
        assert left_out == pytest.approx(abs(scores.sum().item() - (y - y_base)), abs=1e-5)
    assert (few["completeness_gap"] > 0.01).any()


def test_integrated_gradients_add_up_to_what_the_input_adds(classifier):
    classifier.model.double()
    batch, target = classifier.collate(classifier.encode(tiny.TEXTS[:3])), torch.tensor([0, 1, 2])
    method = attributions.gradients.integrated_gradients
    scores = method(classifier, batch, target, steps=500)["integrated_gradients"]
    embeddings = classifier.embed(batch.ids)
    with torch.no_grad():
        y, y_zero = (classifier.logits(batch, embeddings=e).gather(1, target[:, None])[:, 0]
                     for e in (embeddings, 0 * embeddings))
    total = torch.where(batch.present, scores, 0).sum(1)
    assert (y - y_zero).abs().max() > 0.1
    kinked = classifier.model.config.model_type == "distilbert"  # the ReLU of its head slows the sum
    assert (total - (y - y_zero)).abs().max() < (3e-3 if kinked else 1e-3)
    assert scores[~batch.present].abs().max() == 0  # nothing flows through padding


def test_attention_is_what_cls_pays_in_the_last_layer(classifier):
    encodings, targets = examples(classifier)
    ours = attribute(classifier, encodings, targets, ["attention"])["attention"]
    model = classifier.model
    model.set_attn_implementation("eager")
    for encoding, scores in zip(encodings, ours, strict=True):
        types = torch.tensor(encoding.types)[None]
        typed = {"token_type_ids": types} if model.config.model_type == "bert" else {}
        with torch.no_grad():
            layers = model(torch.tensor(encoding.ids)[None], **typed, output_attentions=True).attentions
        expected = layers[-1][0, :, 0].mean(0).numpy()
        assert expected.sum() == pytest.approx(1, abs=1e-5)
        assert np.abs(scores - np.where(encoding.maskable, expected, 0)).max() < 1e-5
        assert 0 < scores.sum() < 1 - 1e-3  # special tokens and text_b got their part, and it is not ours


def test_rollout_is_a_product_of_matrices(classifier):
    encodings, targets = examples(classifier)
    ours = attribute(classifier, encodings, targets, ["attention_rollout"])["attention_rollout"]
    for encoding, scores in zip(encodings, ours, strict=True):
        with torch.no_grad():
            _, layers = classifier.attentions(classifier.collate([encoding]))
        product = np.eye(len(encoding.ids))
        for layer in layers:
            product = (layer[0].mean(0).numpy() / 2 + np.eye(len(encoding.ids)) / 2) @ product
        assert product[0].sum() == pytest.approx(1, abs=1e-5)
        assert np.abs(scores - np.where(encoding.maskable, product[0], 0)).max() < 1e-6


def test_scaled_attention_is_attention_times_finite_differences():
    """BERT's last layer computed here from its parts, its attention weights moved one by one."""
    classifier = tiny.classifier("bert")
    model, eps, target = classifier.model.double(), 1e-5, 1
    (encoding,) = classifier.encode(tiny.TEXTS[:1], tiny.TEXTS_B[:1])
    batch = classifier.collate([encoding])
    layer = model.bert.encoder.layer[-1]
    with torch.no_grad():
        below = classifier.hidden_states(batch)[-2]  # (1, tokens, width)
        heads = layer.attention.self.num_attention_heads
        split = (1, below.shape[1], heads, -1)
        query, key, value = (part(below).view(split).transpose(1, 2) for part in (
            layer.attention.self.query, layer.attention.self.key, layer.attention.self.value))
        alpha = (query @ key.transpose(2, 3) / query.shape[-1] ** 0.5).softmax(-1)  # (1, heads, to, from)

        def y(weights):
            context = (weights @ value).transpose(1, 2).reshape(below.shape)
            attended = layer.attention.output(context, below)
            top = layer.output(layer.intermediate(attended), attended)
            return model.classifier(model.bert.pooler(top))[0, target].item()

        assert y(alpha) == pytest.approx(classifier.logits(batch)[0, target].item(), abs=1e-6)
        expected = np.zeros(below.shape[1])
        for head in range(heads):
            for j in range(below.shape[1]):
                moved = torch.zeros_like(alpha)
                moved[0, head, 0, j] = eps
                slope = (y(alpha + moved) - y(alpha - moved)) / (2 * eps)
                expected[j] += alpha[0, head, 0, j].item() * slope / heads
    ours = attribute(classifier, [encoding], [target], ["scaled_attention"])["scaled_attention"][0]
    assert np.abs(expected).max() > 1e-2 and expected.min() < 0
    assert np.abs(ours - np.where(encoding.maskable, expected, 0)).max() < 1e-6


# What every attribution keeps ---------------------------------------------------------------------


def test_scores_are_zero_where_nothing_is_maskable(classifier):
    encodings, targets = examples(classifier)
    for name, rows in attribute(classifier, encodings, targets, ALL).items():
        for encoding, scores in zip(encodings, rows, strict=True):
            assert scores.shape == encoding.ids.shape and scores.dtype == np.float64
            assert (scores[~encoding.maskable] == 0).all() and (scores[encoding.maskable] != 0).all(), name


def test_batch_padding_and_order_do_not_change_scores(classifier, monkeypatch):
    encodings, targets = examples(classifier)
    together = attribute(classifier, encodings, targets, ALL)
    order = [3, 0, 4, 1, 2]
    shuffled = attribute(classifier, [encodings[i] for i in order], targets[order], ALL)
    monkeypatch.setitem(forward.TOKEN_BUDGET, "cpu", 1)
    alone = attribute(classifier, encodings, targets, ALL)
    for name in ALL:
        assert gap(together[name], alone[name]) < 1e-5
        assert gap([together[name][i] for i in order], shuffled[name]) < 1e-5


def test_the_target_is_what_is_explained(classifier):
    encodings, _ = examples(classifier)
    one, two = (attribute(classifier, encodings, np.full(5, t), ALL) for t in (0, 1))
    for name in ALL:
        assert (gap(one[name], two[name]) > 1e-3) == (name not in ("attention", "attention_rollout"))


def test_names_asked_for_are_the_names_given(classifier):
    encodings, targets = examples(classifier)
    scores = attribute(classifier, encodings[:1], targets[:1], ["deeplift", "attention"])
    assert list(scores) == ["deeplift", "attention"]
    assert set(ALL) <= set(attributions.names())


def test_explaining_leaves_the_model_as_it_was(classifier):
    encodings, targets = examples(classifier)
    batch = classifier.collate(encodings)
    with torch.no_grad():
        before = classifier.logits(batch)
        attribute(classifier, encodings, targets, ALL)
        assert torch.equal(classifier.logits(batch), before)
    assert all(p.grad is None and p.requires_grad for p in classifier.model.parameters())


def test_gradients_of_parameters_are_never_computed(classifier):
    encodings, targets = examples(classifier)
    before = attribute(classifier, encodings, targets, ALL)
    computed = []
    for name, parameter in classifier.model.named_parameters():
        parameter.register_hook(lambda gradient, name=name: computed.append(name))
    after = attribute(classifier, encodings, targets, ALL)
    assert not computed
    for parameter in classifier.model.parameters():
        parameter.requires_grad_(False)
    of_a_frozen_model = attribute(classifier, encodings, targets, ALL)
    assert not any(parameter.requires_grad for parameter in classifier.model.parameters())
    for name in ALL:
        assert gap(before[name], after[name]) == 0 and gap(before[name], of_a_frozen_model[name]) == 0


def test_what_nobody_asked_for_is_not_computed(monkeypatch):
    def never(*_):
        raise AssertionError

    classifier = tiny.classifier()
    encodings, targets = examples(classifier)
    for module, name in ((gradients, "vocabulary_l1"), (gradients, "vocabulary_l2"),
                         (attributions.attention, "rollout"), (attributions.attention, "differentiated")):
        monkeypatch.setattr(module, name, never)
    attribute(classifier, encodings, targets, ["input_x_gradient", "deeplift", "attention"])
    for name in ("gradient_l1", "gradient_l2", "attention_rollout", "scaled_attention"):
        with pytest.raises(AssertionError):
            attribute(classifier, encodings, targets, [name])


def test_points_of_a_path_share_passes(monkeypatch):
    classifier, rows = tiny.classifier(), []
    encodings = classifier.encode(tiny.TEXTS)
    computed = classifier.logits

    def logits(batch, **given):
        if torch.is_grad_enabled():
            rows.append(tuple(batch.ids.shape))
        return computed(batch, **given)

    monkeypatch.setattr(classifier, "logits", logits)
    attribute(classifier, encodings[:1], [0], ["integrated_gradients"], steps=20)
    assert rows == [(20, 6)]
    rows.clear()  # 12, 12, 11, 6 and 3 tokens, 7 points each, at most 180 tokens a pass
    monkeypatch.setitem(forward.TOKEN_BUDGET, "cpu", 180)
    attribute(classifier, encodings, np.zeros(5, int), ["integrated_gradients"], steps=7)
    assert rows == [(14, 12), (14, 11), (7, 3)]
    rows.clear()
    attribute(classifier, encodings[1:2], [0], ["integrated_gradients"], steps=40)
    assert rows == [(14, 12), (14, 12), (12, 12)]


@pytest.mark.parametrize("budget", [1, 30, 100, 400, 10**4])
def test_passes_hold_every_point_of_every_example_once(budget, monkeypatch):
    monkeypatch.setitem(forward.TOKEN_BUDGET, "cpu", budget)
    classifier = tiny.classifier()
    encodings = classifier.encode([tiny.TEXTS[i] for i in (2, 0, 1, 4, 3)])  # the shortest first
    seen = []
    for examples, places, part in gradients.passes(classifier.collate(encodings), 7):
        few, points = range(5)[examples], range(7)[places]
        seen += [(k, i) for k in points for i in few]
        assert part.present.sum(1).tolist() == [len(encodings[i].ids) for _ in points for i in few]
        assert part.ids.numel() <= budget or len(part.ids) == 1
    assert sorted(seen) == [(k, i) for k in range(7) for i in range(5)]


def test_sdpa_gives_the_scores_of_eager_attention(classifier):
    encodings, targets = examples(classifier)
    scores = {}
    for kind in ("eager", "sdpa"):
        classifier.model.set_attn_implementation(kind)
        scores[kind] = attribute(classifier, encodings, targets, ALL)
    for name in ALL:
        assert gap(scores["eager"][name], scores["sdpa"][name]) < 1e-4


def test_draws_belong_to_an_example_and_the_seed():
    classifier = tiny.classifier()
    encodings, targets = examples(classifier)
    name = "gradient_shap"
    one, same, other = (attribute(classifier, encodings, targets, [name], seed=s)[name] for s in (1, 1, 2))
    assert gap(one, same) == 0 and gap(one, other) > 1e-4


def test_a_registered_method_is_known_everywhere():
    classifier, calls = tiny.classifier(), []

    @attributions.register("length", "length_negative")
    def length(model, batch, target, scale=1.0):
        calls.append(len(batch.ids))
        scores = batch.present.sum(1, keepdim=True).float().expand(batch.ids.shape) * scale
        return {"length": scores, "length_negative": -scores}

    try:
        assert "length" in attributions.names()
        encodings, targets = examples(classifier)
        scores = attribute(classifier, encodings, targets, ["length_negative", "length"], scale=2.0, steps=9)
        assert sum(calls) == len(encodings)  # one call yields both
        both = zip(encodings, scores["length"], scores["length_negative"], strict=True)
        for encoding, plus, minus in both:
            assert (plus == 2 * len(encoding.ids) * encoding.maskable).all() and (minus == -plus).all()
    finally:
        for name in ("length", "length_negative"):
            del attributions._METHODS[name]
    with pytest.raises(ValueError, match="'length' is unknown"):
        attributions.check(["length"])


# Bad input ----------------------------------------------------------------------------------------


def test_an_unknown_name_is_told_with_the_nearest_one(classifier):
    encodings, targets = examples(classifier)
    with pytest.raises(ValueError) as error:
        attribute(classifier, encodings, targets, ["attention", "integrated_gradient"])
    message = str(error.value)
    assert "'integrated_gradient' is unknown: did you mean 'integrated_gradients'" in message
    assert "\n" not in message and "scaled_attention" in message
    with pytest.raises(ValueError, match="'zzz' is unknown: Known are attention"):
        attributions.check(["zzz"])


def test_a_target_that_is_no_class_is_told(classifier):
    encodings, targets = examples(classifier)
    with pytest.raises(ValueError, match="target 3 is none of the outputs: tiny-.* has 0 to 2"):
        attribute(classifier, encodings, targets + 1, ["attention"])


def test_a_negative_target_is_named(classifier):
    encodings, targets = examples(classifier)
    with pytest.raises(ValueError, match="target -1 is none of the outputs"):
        attribute(classifier, encodings, targets - 1, ["attention"])


def test_steps_below_one_are_told(classifier):
    encodings, targets = examples(classifier)
    for steps in (0, -3):
        with pytest.raises(ValueError, match=f"steps={steps} must be at least 1"):
            attribute(classifier, encodings, targets, ["integrated_gradients"], steps=steps)


def test_a_baseline_that_the_tokenizer_lacks_is_told():
    model, encoding = numbers(BasicLinearModel2(2, 2), [3, 2], outputs=2)
    model.tokenizer.mask_token_id = None
    with pytest.raises(ValueError, match="baseline='token': numbers has no such token: use 'zero'"):
        attribute(model, [encoding], [0], ["integrated_gradients"], baseline="token")


@pytest.mark.parametrize("name", ALL)
def test_scores_that_are_not_finite_are_told(classifier, name):
    encodings, targets = examples(classifier)
    with torch.no_grad():
        embedding = classifier.model.get_input_embeddings().weight
        embedding[encodings[0].ids[1]] = float("nan")
    with pytest.raises(FloatingPointError, match=f"(attribution '{name}'|the model) gives NaN or infinite"):
        attribute(classifier, encodings, targets, [name])


# Random attributions ------------------------------------------------------------------------------


def test_normal_scores_have_the_moments_of_a_standard_normal():
    encoding = tiny.encoding(20_004, range(1, 20_001))
    scores = random.normal(encoding, np.random.default_rng(0))
    assert (scores[[0, 20_001, 20_002, 20_003]] == 0).all()
    drawn = scores[1:20_001]
    assert abs(drawn.mean()) < 0.03 and abs(drawn.std() - 1) < 0.02
    assert abs((drawn**3).mean()) < 0.1 and abs((drawn**4).mean() - 3) < 0.2
    assert (scores == random.normal(encoding, np.random.default_rng(0))).all()
    assert (drawn != random.normal(encoding, np.random.default_rng(1))[1:20_001]).all()


def test_permuted_scores_are_the_same_scores_elsewhere():
    encoding = tiny.encoding(30, range(2, 25))
    scores = np.arange(30.0)
    shuffled = random.permuted(scores, encoding, np.random.default_rng(0))
    assert sorted(shuffled[2:25]) == list(range(2, 25)) and (shuffled[2:25] != scores[2:25]).any()
    assert (shuffled[[0, 1, *range(25, 30)]] == scores[[0, 1, *range(25, 30)]]).all()
    assert (scores == np.arange(30)).all()  # a copy


def test_every_order_is_equally_likely():
    encoding, generator = tiny.encoding(5, (1, 2, 3)), np.random.default_rng(0)
    scores = np.array([0, 1.0, 2.0, 3.0, 0])
    orders = [tuple(random.permuted(scores, encoding, generator)[1:4]) for _ in range(6000)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6 and min(counts) > 880 and max(counts) < 1120  # 1000 ± 4 standard deviations
