"""What the releases about classifiers compute, against the way they go about it, and captum."""

import captum.attr
import numpy as np
import pytest
import tiny
import torch
from sample.releases import agree, keeps_its_scores, prompts, released

from faithlib.attributions import attribute

REPEATING = ["it was not great , it was long and boring", "the plot was the plot", "a a boring a"]
REPEATING_B = ["was it good ?", "the plot ?", "a ?"]
CLASSIFIERS = {
    "soft_metrics": ("scaled_attention", "input_x_gradient_abs", "integrated_gradients", "deeplift"),
    "recursive_roar": ("integrated_gradients_abs",),
    "saloss": ("attention", "scaled_attention", "input_x_gradient_abs", "integrated_gradients"),
    "fmm": ("integrated_gradients", "integrated_gradients_abs"),
}


@pytest.fixture(params=tiny.KINDS)
def classifier(request):
    """In float64: what SaLoss divides by may be nearly 0, which magnifies rounding."""
    built = tiny.classifier(request.param)
    built.model.double()
    return built


def examples(classifier):
    """Pairs and single texts whose words repeat, and a target each."""
    pairs = classifier.encode(REPEATING, REPEATING_B)
    return [*pairs, *classifier.encode(REPEATING)], np.array([0, 1, 2, 2, 1, 0])


def inputs(classifier, encoding):
    """What the Hugging Face model takes, ids and not embeddings."""
    fields = {"input_ids": torch.tensor(encoding.ids)[None]}
    if classifier.model.config.model_type == "bert":
        fields["token_type_ids"] = torch.tensor(encoding.types)[None]
    return fields


# As the releases go about it ----------------------------------------------------------------------


class Erasing:
    """A classifier explained the way SoftFaith and SaLoss do it: gradients read off the embedding matrix."""

    def __init__(self, classifier, encoding, target, probability, reset):
        self.model, self.encoding, self.target = classifier.model, encoding, target
        self.inputs = inputs(classifier, encoding)
        self.probability = probability  # or the logit
        self.reset = reset  # gradients, between passes
        self.weight = classifier.model.get_input_embeddings().weight
        self.model.zero_grad()

    def backward(self, scale=1.0):
        """The embedding matrix's gradient at each token after one more pass; keeps attention's gradient."""
        layer = self.model.base_model.embeddings
        hook = layer.register_forward_hook(lambda module, args, output: output * scale)
        self.model.set_attn_implementation("eager")
        output = self.model(**self.inputs, output_attentions=True)
        hook.remove()
        self.attention = output.attentions[-1]
        self.attention.retain_grad()
        y = output.logits.softmax(-1) if self.probability else output.logits
        if self.reset:
            self.model.zero_grad()
        y[0, self.target].backward()
        return self.weight.grad[self.encoding.ids].clone()

    def scores(self):
        words = self.weight.detach()[self.encoding.ids]
        steps = [self.backward()]
        alpha = self.attention[0, :, 0].mean(0).detach()
        steps += [self.backward(scale) for scale in np.arange(10) / 10]
        return {
            "attention": alpha,
            "input_x_gradient_abs": (steps[0] * words).sum(-1).abs(),
            "integrated_gradients": (torch.stack(steps).mean(0) * words).sum(-1),
            "scaled_attention": alpha * self.attention.grad[0, :, 0].mean(0),
        }


def test_soft_metrics_read_gradients_off_the_embedding_matrix(classifier):
    encodings, targets = examples(classifier)
    wanted = ["input_x_gradient_abs", "integrated_gradients", "scaled_attention", "attention"]
    ours = released(classifier, encodings, targets, "soft_metrics", wanted)
    paper = attribute(classifier, encodings, targets, wanted)
    for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True)):
        expected = Erasing(classifier, encoding, target, probability=False, reset=True).scores()
        expected["scaled_attention"] = expected["attention"] ** 2
        for name in wanted:
            agree(ours[name][i], expected[name].numpy(), encoding)
            assert (np.abs(ours[name][i] - paper[name][i]).max() > 1e-3) == (name != "attention")
    classifier.model.zero_grad()


def test_saloss_accumulates_gradients_and_divides_by_a_signed_sum(classifier):
    encodings, targets = examples(classifier)
    wanted = list(CLASSIFIERS["saloss"])
    ours = released(classifier, encodings, targets, "saloss", wanted)
    for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True)):
        expected = Erasing(classifier, encoding, target, probability=True, reset=False).scores()
        for name in wanted:
            scores = np.where(encoding.maskable, expected[name].numpy(), 0)
            agree(ours[name][i], scores / scores.sum(), encoding)
            assert ours[name][i].sum() == pytest.approx(1, abs=1e-3)
    classifier.model.zero_grad()


def test_a_negative_sum_turns_the_ranking_of_saloss_round():
    classifier = tiny.classifier()
    encodings, targets = examples(classifier)
    both = []
    for encoding, target in zip(encodings, targets, strict=True):
        scores = Erasing(classifier, encoding, target, probability=True, reset=False).scores()
        raw = scores["integrated_gradients"].numpy()[encoding.maskable]
        (ours,) = released(classifier, [encoding], [target], "saloss", ["integrated_gradients"])[
            "integrated_gradients"
        ]
        same = np.argmax(ours[encoding.maskable]) == np.argmax(raw)
        assert same == (raw.sum() > 0) or len(set(raw)) == 1
        both.append(raw.sum() > 0)
    assert set(both) == {True, False}


@pytest.mark.filterwarnings("ignore:Setting forward")
def test_deeplift_of_soft_metrics_feeds_raw_word_embeddings(classifier):
    encodings, targets = examples(classifier)
    ours = released(classifier, encodings, targets, "soft_metrics", ["deeplift"])["deeplift"]
    kind, model = classifier.model.config.model_type, classifier.model
    tail = {
        "bert": lambda h: model.classifier(model.bert.pooler(h)) if kind == "bert" else None,
        "roberta": lambda h: model.classifier(h),
        "distilbert": lambda h: model.classifier(torch.relu(model.pre_classifier(h[:, 0]))),
    }[kind]
    encoder = model.base_model.transformer if kind == "distilbert" else model.base_model.encoder

    class Raw(torch.nn.Module):
        def forward(self, embeddings):
            return tail(encoder(embeddings, attention_mask=None).last_hidden_state)

    for encoding, target, scores in zip(encodings, targets, ours, strict=True):
        words = model.get_input_embeddings()(torch.tensor(encoding.ids))[None].detach().requires_grad_()
        theirs = captum.attr.InputXGradient(Raw()).attribute(words, target=int(target))
        agree(scores, theirs.sum(-1)[0].detach().numpy(), encoding)


def late_points(classifier, encoding, target, steps, base, scaled):
    """e · mean of the gradients by the embedding before it is scaled, one pass after the other."""
    words = classifier.model.get_input_embeddings()(torch.tensor(encoding.ids))[None].detach()
    total = torch.zeros_like(words)
    for k in range(1, steps + 1):
        leaf = words.clone().requires_grad_()
        path = torch.where(torch.tensor(scaled)[:, None], base + k / steps * (leaf - base), leaf)
        fields = inputs(classifier, encoding)
        del fields["input_ids"]
        y = classifier.model(inputs_embeds=path, **fields).logits[0, target]
        total += torch.autograd.grad(y, leaf)[0] / steps
    return (words * total).sum(-1)[0].numpy()


def test_recursive_roar_weighs_late_points_more(classifier):
    encodings, targets = examples(classifier)
    name = "integrated_gradients_abs"
    ours = released(classifier, encodings, targets, "recursive_roar", [name], steps=6)[name]
    for encoding, target, scores in zip(encodings, targets, ours, strict=True):
        scaled = np.ones(len(encoding.ids), bool)
        if encoding.auxiliary.any():  # the separator after the text is the last one scaled
            scaled[encoding.ids.tolist().index(classifier.tokenizer.sep_token_id) + 1 :] = False
        expected = late_points(classifier, encoding, target, 6, 0.0, scaled)
        agree(scores, np.abs(expected), encoding)
    fifty, default = (
        released(classifier, encodings, targets, "recursive_roar", [name], **s)[name]
        for s in (dict(steps=50), {})
    )
    assert all((a == b).all() for a, b in zip(fifty, default, strict=True))
    by_itself = attribute(classifier, encodings, targets, [f"weighted_{name}"])[f"weighted_{name}"]
    assert all((a == b).all() for a, b in zip(fifty, by_itself, strict=True))


def test_fmm_starts_from_the_padding_token_and_multiplies_by_the_input(classifier):
    padding = torch.linspace(-1, 1, 16).double()  # a constant would not get past the layer norm
    with torch.no_grad():
        classifier.model.get_input_embeddings().weight[classifier.tokenizer.pad_token_id] = padding
    encodings, targets = examples(classifier)
    wanted = list(CLASSIFIERS["fmm"])
    ours = released(classifier, encodings, targets, "fmm", wanted)
    for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True)):
        everywhere = np.ones(len(encoding.ids), bool)
        expected = late_points(classifier, encoding, target, 20, padding, everywhere)
        agree(ours["integrated_gradients"][i], expected, encoding)
        agree(ours["integrated_gradients_abs"][i], np.abs(expected), encoding)


# What all of them keep ----------------------------------------------------------------------------


@pytest.mark.parametrize("paper", CLASSIFIERS)
def test_a_classifiers_scores_do_not_depend_on_the_batch(classifier, paper, monkeypatch):
    encodings, targets = examples(classifier)
    keeps_its_scores(classifier, encodings, targets, paper, list(CLASSIFIERS[paper]), monkeypatch)


def test_a_released_score_is_not_overwritten_by_the_definitions():
    classifier = tiny.classifier()
    encodings, targets = examples(classifier)
    name = "input_x_gradient_abs"
    for others in (["gradient_l2"], ["scaled_attention", "input_x_gradient", "attention"]):
        alone, beside = (
            released(classifier, encodings, targets, "soft_metrics", [name, *names])[name]
            for names in ([], others)
        )
        assert all((a == b).all() for a, b in zip(alone, beside, strict=True))


def test_what_no_release_changes_is_the_definition():
    classifier = tiny.classifier()
    encodings, targets = examples(classifier)
    for paper, name in (("fmm", "gradient_l2"), ("soft_metrics", "attention"), ("saloss", "deeplift")):
        ours = released(classifier, encodings, targets, paper, [name])[name]
        theirs = attribute(classifier, encodings, targets, [name])[name]
        assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))


def test_a_prediction_that_nothing_moves_has_shares_of_zero():
    classifier = tiny.classifier()
    with torch.no_grad():
        classifier.model.classifier.weight.zero_()
        classifier.model.classifier.bias[:] = torch.tensor([0.0, 50.0, 0.0])
    encodings = classifier.encode(REPEATING)
    for name in ("input_x_gradient_abs", "integrated_gradients", "scaled_attention"):
        scores = released(classifier, encodings, [1, 1, 1], "saloss", [name])[name]
        assert all((row == 0).all() for row in scores)


def test_a_release_about_encoders_is_not_for_language_models():
    model = tiny.causal("llama")
    encodings, targets = prompts(model)
    with pytest.raises(ValueError, match="tiny-llama is no encoder: what soft_metrics and saloss"):
        released(model, encodings, targets, "saloss", ["scaled_attention"])


@pytest.mark.parametrize("paper", [p for p in CLASSIFIERS if p != "saloss"])  # which divides by small sums
def test_releases_of_classifiers_compute_in_half_precision(paper):
    classifier = tiny.classifier()
    encodings, targets = examples(classifier)
    whole = released(classifier, encodings, targets, paper, CLASSIFIERS[paper])
    classifier.cast(torch.bfloat16)
    half = released(classifier, encodings, targets, paper, CLASSIFIERS[paper])
    for name in CLASSIFIERS[paper]:
        one, two = (np.concatenate(scores[name]) for scores in (whole, half))
        assert np.corrcoef(one, two)[0, 1] > 0.95, name
