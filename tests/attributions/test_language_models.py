"""Attributions of a next token: against captum, without prefixes, on a model that copies, and invariants."""

import captum.attr
import numpy as np
import pytest
import tiny
import torch
from sample.captums import ALL, GRADIENTS, Probability, gap

from faithlib.attributions import attribute, gradients
from faithlib.engine import batching
from faithlib.scores import generator


@pytest.fixture(params=tiny.CAUSAL_KINDS)
def model(request):
    return tiny.causal(request.param)


def captums(model, algorithm, encoding, target, token=None, **settings):
    """captum's scores of one prompt summed over the width; the path starts from `token`, from 0 if None."""
    ids = torch.tensor(encoding.ids)[None]
    embeddings = model.embed(ids).detach()
    base = 0 * embeddings if token is None else model.embed(torch.full_like(ids, token)).detach()
    start = {} if algorithm is captum.attr.InputXGradient else {"baselines": base}
    scores = algorithm(Probability(model.model, target)).attribute(
        embeddings.requires_grad_(), **start, **settings
    )
    return np.where(encoding.maskable, scores.sum(-1)[0].detach().numpy(), 0)


def prompts(model):
    """Encoded prompts and likely next tokens: small probabilities would hide everything."""
    encodings = model.encode(tiny.PROMPTS)
    with torch.no_grad():
        likely = model.logits(model.collate(encodings)).topk(3).indices
    return encodings, likely[torch.arange(len(encodings)), torch.tensor([0, 1, 2, 0])].numpy()


# Against captum -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Setting forward")
def test_gradients_are_captums(model):
    encodings, targets = prompts(model)
    ours = attribute(model, encodings, targets, ["input_x_gradient", "deeplift"])
    from_zero = attribute(model, encodings, targets, ["deeplift"], baseline="zero")["deeplift"]
    for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True)):
        theirs = captums(model, captum.attr.InputXGradient, encoding, target)
        assert gap([ours["input_x_gradient"][i], from_zero[i]], [theirs, theirs]) < 1e-5
        # SiLU, tanh-GELU, RMS norm, softmax: captum has no rule for them, and says nothing.
        theirs = captums(model, captum.attr.DeepLift, encoding, target, model.mask_id)
        assert gap([ours["deeplift"][i]], [theirs]) < 1e-5
    assert gap(ours["deeplift"], ours["input_x_gradient"]) > 1e-3


@pytest.mark.parametrize(("baseline", "steps"), [(None, 4), ("zero", 3)])
def test_integrated_gradients_are_captums(model, baseline, steps):
    encodings, targets = prompts(model)
    ours = attribute(model, encodings, targets, ["integrated_gradients"], steps=steps, baseline=baseline)
    token = {None: model.tokenizer.unk_token_id, "zero": None}[baseline]
    rule = dict(n_steps=steps, method="riemann_middle")
    theirs = [
        captums(model, captum.attr.IntegratedGradients, e, t, token, **rule)
        for e, t in zip(encodings, targets, strict=True)
    ]
    assert gap(ours["integrated_gradients"], theirs) < 1e-5
    assert max(np.abs(row).max() for row in theirs) > 1e-2


def test_gradient_shap_is_captums_with_the_same_draws(model, monkeypatch):
    encodings, targets = prompts(model)
    ours = attribute(model, encodings, targets, ["gradient_shap"], samples=5, seed=2)["gradient_shap"]
    for encoding, target, scores in zip(encodings, targets, ours, strict=True):
        draws = generator(encoding, 2).random(5)
        monkeypatch.setattr(np.random, "uniform", lambda low, high, size, draws=draws: draws.reshape(size))
        theirs = captums(model, captum.attr.GradientShap, encoding, target, model.mask_id, n_samples=5)
        assert gap([scores], [theirs]) < 1e-5


# Against own calculations -------------------------------------------------------------------------


def test_gradient_norms_are_norms_over_the_vocabulary(model):
    encodings, targets = prompts(model)
    ours = attribute(model, encodings, targets, ["gradient_l1", "gradient_l2"])
    vocabulary = torch.eye(model.outputs)
    # As `embed` has it: Gemma-2 scales what its table says.
    table = model.embed(torch.arange(model.outputs)).detach()
    for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True)):
        one_hot = vocabulary[encoding.ids].requires_grad_()  # (tokens, vocabulary)
        y = Probability(model.model, int(target))((one_hot @ table)[None])
        (slope,) = torch.autograd.grad(y, one_hot)
        for name, norm in (("gradient_l1", slope.abs().sum(-1)), ("gradient_l2", slope.norm(dim=-1))):
            assert gap([ours[name][i]], [np.where(encoding.maskable, norm, 0)]) < 1e-5


@pytest.mark.parametrize("budget", [10, 1024])
def test_sequential_integrated_gradients_need_no_prefix(model, budget, monkeypatch):
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", budget)
    encodings, targets = prompts(model)
    lengths, computed = [], model.logits
    monkeypatch.setattr(
        model,
        "logits",
        lambda batch, **more: (lengths.append(batch.ids.shape[1]), computed(batch, **more))[1],
    )
    name = "sequential_integrated_gradients"
    ours = attribute(model, encodings, targets, [name], steps=3)[name]
    # The last token's path needs nothing but itself, and what is not maskable has no path.
    assert (min(lengths), max(lengths)) == (1, max(len(e.ids) for e in encodings) - 1)
    for encoding, target, scores in zip(encodings, targets, ours, strict=True):
        embeddings = model.embed(torch.tensor(encoding.ids)[None]).detach()
        for i in np.flatnonzero(encoding.maskable):
            base = embeddings.clone()
            base[0, i] = model.embed(torch.tensor(model.mask_id)).detach()
            whole = captum.attr.IntegratedGradients(Probability(model.model, int(target))).attribute(
                embeddings, base, n_steps=3, method="riemann_middle"
            )
            assert scores[i] == pytest.approx(whole[0, i].sum().item(), abs=1e-5)


def test_sequential_paths_agree_with_a_model_that_has_no_prefixes(model):
    class Whole:
        def __getattr__(self, name):
            if name == "prefix":
                raise AttributeError
            return getattr(model, name)

    batch, target = model.collate(model.encode(tiny.PROMPTS)), torch.tensor([5, 6, 7, 8])
    method = gradients.sequential_integrated_gradients
    model.model.double()  # in float32 rounding alone is larger than the bound on some processors
    try:
        ours, whole = (method(m, batch, target, steps=4) for m in (model, Whole()))
    finally:
        model.model.float()
    for name in ours:
        assert (ours[name] - whole[name]).abs().max() < 1e-6 and whole[name].abs().max() > 1e-3


@pytest.mark.parametrize("kind", ["gpt2", "gemma2"])
def test_integrated_gradients_add_up_from_a_token(kind):
    model, notes = tiny.causal(kind), {}
    model.model.double()
    encodings, targets = prompts(model)
    attribute(model, encodings, targets, ["integrated_gradients"], steps=500, notes=notes)
    assert notes["completeness_gap"].shape == (4,) and notes["completeness_gap"].max() < 1e-3
    attribute(model, encodings, targets, ["integrated_gradients"], steps=2, notes=notes)
    assert notes["completeness_gap"].max() > 1e-3


def test_the_gap_is_large_from_zero_where_a_norm_forgets_scale():
    model, gaps = tiny.causal("llama"), {}
    encodings, targets = prompts(model)
    for baseline in ("token", "zero"):
        notes, settings = {}, dict(steps=50, baseline=baseline)
        attribute(model, encodings, targets, ["integrated_gradients"], notes=notes, **settings)
        gaps[baseline] = notes["completeness_gap"].max()
    assert gaps["token"] < 0.02 < 0.2 < gaps["zero"]


def test_attention_is_what_the_last_token_pays(model):
    encodings, targets = prompts(model)
    ours = attribute(model, encodings, targets, ["attention", "attention_rollout"])
    model.model.set_attn_implementation("eager")
    for i, encoding in enumerate(encodings):
        with torch.no_grad():
            layers = model.model(torch.tensor(encoding.ids)[None], output_attentions=True).attentions
        matrices = [layer[0].mean(0).double().numpy() for layer in layers]
        product = np.eye(len(encoding.ids))
        for matrix in matrices:
            product = (matrix + np.eye(len(matrix))) / 2 @ product
        for name, expected in (("attention", matrices[-1][-1]), ("attention_rollout", product[-1])):
            assert expected.sum() == pytest.approx(1, abs=1e-5)
            assert np.abs(ours[name][i] - np.where(encoding.maskable, expected, 0)).max() < 1e-5


def test_scaled_attention_is_attention_times_finite_differences(model, monkeypatch):
    """The last layer's weights are moved one by one, on their way to the values."""
    encodings, targets = prompts(model)
    batch, target = model.collate(encodings[:1]), torch.tensor(targets[:1])
    ours = attribute(model, encodings[:1], targets[:1], ["scaled_attention"])["scaled_attention"][0]
    model.model.double()
    softmax, moved, calls = torch.nn.functional.softmax, {}, []

    def nudged(*args, **kwargs):
        weights = softmax(*args, **kwargs)  # (1, heads, from, to)
        calls.append(1)
        if len(calls) == 2:  # the second of two layers
            weights[0, moved["head"], -1, moved["token"]] += moved["by"]
        return weights

    def y(**move):
        moved.update(move)
        calls.clear()
        with torch.no_grad(), monkeypatch.context() as patched:
            patched.setattr(torch.nn.functional, "softmax", nudged)
            logits, layers = model.attentions(batch)
        return model.explained(logits.double(), target).item(), layers[-1][0, :, -1]

    _, weights = y(head=0, token=0, by=0)  # (heads, tokens)
    heads, tokens = weights.shape
    expected, by = np.zeros(tokens), 1e-3
    for head in range(heads):
        for token in range(tokens):
            slope = (y(head=head, token=token, by=by)[0] - y(head=head, token=token, by=-by)[0]) / (2 * by)
            expected[token] += weights[head, token].item() * slope / heads
    assert np.abs(expected).max() > 1e-3
    assert ours == pytest.approx(np.where(encodings[0].maskable, expected, 0), abs=1e-4)


# What every attribution keeps ---------------------------------------------------------------------


def test_batch_padding_and_order_do_not_change_scores(model, monkeypatch):
    encodings, targets = prompts(model)
    together = attribute(model, encodings, targets, ALL, steps=4, samples=4)
    order = [3, 0, 2, 1]
    shuffled = attribute(model, [encodings[i] for i in order], targets[order], ALL, steps=4, samples=4)
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 1)
    alone = attribute(model, encodings, targets, ALL, steps=4, samples=4)
    for name in ALL:
        assert gap(together[name], alone[name]) < 1e-5
        assert gap([together[name][i] for i in order], shuffled[name]) < 1e-5
        assert all((s[~e.maskable] == 0).all() for e, s in zip(encodings, together[name], strict=True))


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen2"])  # Gemma-2 has eager attention only
def test_sdpa_gives_the_scores_of_eager_attention(kind):
    model = tiny.causal(kind)
    encodings, targets = prompts(model)
    scores = {}
    for attention in ("eager", "sdpa"):
        model.model.set_attn_implementation(attention)
        scores[attention] = attribute(model, encodings, targets, ALL, steps=4, samples=4)
    for name in ALL:
        assert gap(scores["eager"][name], scores["sdpa"][name]) < 1e-4


def test_explaining_leaves_the_model_as_it_was(model):
    encodings, targets = prompts(model)
    computed = []
    for name, parameter in model.model.named_parameters():
        parameter.register_hook(lambda gradient, name=name: computed.append(name))
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    attribute(model, encodings, targets, ALL, steps=2, samples=2)
    assert not computed and all(p.grad is None and p.requires_grad for p in model.model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.model.state_dict().items())


def test_a_model_that_copies_a_token_is_explained_by_that_token():
    model = tiny.copying_lm(back=3)
    encodings = model.encode(["she liked the ending a lot", "was it not long and great ?"])
    targets = [e.ids[-4] for e in encodings]
    # Its attention does not depend on the prompt, and rollout gives the reader itself one half. ReAGent ends
    # as soon as the token is among those that it keeps, in whatever order.
    names = set(tiny.methods()) - set(
        "scaled_attention attention_rollout reagent random_uniform random_normal".split()
    )
    assert {"attention", "lime", "leave_one_out", *GRADIENTS} <= names
    for name, rows in attribute(model, encodings, targets, sorted(names)).items():
        for encoding, scores in zip(encodings, rows, strict=True):
            assert scores.argmax() == len(encoding.ids) - 4, name
            assert np.delete(scores, scores.argmax()).max() < scores.max() - 1e-3, name
