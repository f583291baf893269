"""Against captum and a loop written by hand: the same scores and the same NS and NC through `evaluate`."""

import captum.attr
import numpy as np
import pytest
import tiny
import torch

from faithlib.study import evaluate

RATIOS = (0.01, 0.05, 0.10, 0.20, 0.50)  # of Zhao and Aletras (2023)


@pytest.fixture(scope="module", params=tiny.KINDS)
def classifier(request):
    return tiny.classifier(request.param, seed=4)  # one that few texts are void for


def text_inputs(classifier, text):
    """The Hugging Face tokenizer's own tensors, and which tokens belong to the text."""
    tensors = classifier.tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
    real = tensors.pop("special_tokens_mask")[0].numpy() == 0
    return tensors, real


def by_hand(classifier, text, algorithm, **settings):
    """Predicted class and captum's scores of one text, nothing of faithlib between."""
    model, (tensors, real) = classifier.model, text_inputs(classifier, text)
    others = {name: value for name, value in tensors.items() if name != "input_ids"}
    embeddings = model.get_input_embeddings()(tensors["input_ids"]).detach().requires_grad_()
    target = int(model(inputs_embeds=embeddings, **others).logits.argmax())
    scores = algorithm(lambda x: model(inputs_embeds=x, **others).logits).attribute(
        embeddings, target=target, **settings
    )
    return target, np.where(real, scores.sum(-1)[0].detach().numpy(), 0)


def captums(classifier, algorithm, **settings):
    pairs = [by_hand(classifier, text, algorithm, **settings) for text in tiny.TEXTS]
    return [target for target, _ in pairs], [scores for _, scores in pairs]


def ablation(classifier):
    """Leave-one-out by captum's FeatureAblation on the ids."""
    targets, rows = [], []
    for text in tiny.TEXTS:
        tensors, real = text_inputs(classifier, text)
        ids = tensors.pop("input_ids")

        def logits(ids, tensors=tensors):
            with torch.no_grad():
                return classifier.model(
                    inputs_embeds=classifier.model.get_input_embeddings()(ids),
                    **{name: value.expand(len(ids), -1) for name, value in tensors.items()},
                ).logits

        targets.append(int(logits(ids).argmax()))
        mask = classifier.tokenizer.mask_token_id
        scores = captum.attr.FeatureAblation(logits).attribute(ids, mask, targets[-1])
        rows.append(np.where(real, scores[0].numpy(), 0))
    return targets, rows


def ns_and_nc(classifier, text, target, scores):
    """NS and NC of one text: the embedding layer's output is multiplied by 0, token by token."""
    model, (tensors, real) = classifier.model, text_inputs(classifier, text)

    def probability(kept):
        layer = model.base_model.embeddings
        factor = torch.tensor(kept, dtype=torch.float32)[None, :, None]
        hook = layer.register_forward_hook(lambda module, args, output: output * factor)
        ids = tensors["input_ids"]
        others = {name: value for name, value in tensors.items() if name != "input_ids"}
        try:
            with torch.no_grad():
                embeddings = model.get_input_embeddings()(ids)
                logits = model(inputs_embeds=embeddings, **others).logits
        finally:
            hook.remove()
        return float(logits.softmax(-1)[0, target])

    full, empty = probability(np.ones(len(real))), probability(~real)
    s_zero = 1 - max(0, full - empty)
    if 1 - s_zero < 0.05:
        return np.nan, np.nan
    order = sorted(np.flatnonzero(real), key=lambda i: -scores[i])
    ns, nc = [], []
    for ratio in RATIOS:
        rationale = np.isin(np.arange(len(real)), order[: int(np.ceil(round(ratio * real.sum(), 9)))])
        s = 1 - max(0, full - probability(~real | rationale))
        c = max(0, full - probability(~rationale))
        ns.append((s - s_zero) / (1 - s_zero))
        nc.append(c / (1 - s_zero))
    return np.mean(ns), np.mean(nc)


def test_scores_are_captums_and_ns_and_nc_those_of_a_loop(classifier):
    names = ["input_x_gradient", "integrated_gradients", "leave_one_out"]
    study = evaluate(classifier, tiny.TEXTS, names, ["ns", "nc"], operator="zero", steps=6)
    ig = dict(n_steps=6, method="riemann_middle")
    expected = {
        "input_x_gradient": captums(classifier, captum.attr.InputXGradient),
        "integrated_gradients": captums(classifier, captum.attr.IntegratedGradients, **ig),
        "leave_one_out": ablation(classifier),
    }
    values = (
        study.values[study.values.baseline == ""]
        .set_index(["attribution", "metric", "example"])
        .value.sort_index()
    )
    for name, (targets, theirs) in expected.items():
        assert study.targets.tolist() == targets
        for i, (ours, captum_scores) in enumerate(zip(study.scores[name], theirs, strict=True)):
            assert np.abs(captum_scores).max() > 1e-3
            assert np.abs(ours - captum_scores).max() < 1e-5 * max(1, np.abs(captum_scores).max())
            ns, nc = ns_and_nc(classifier, tiny.TEXTS[i], targets[i], captum_scores)
            assert values[name, "ns", i] == pytest.approx(ns, abs=1e-4, nan_ok=True)
            assert values[name, "nc", i] == pytest.approx(nc, abs=1e-4, nan_ok=True)
    row = study.table.set_index(["attribution", "metric"]).loc["leave_one_out", "nc"]
    assert row.value == pytest.approx(values["leave_one_out", "nc"].mean(), abs=1e-4)
    assert row.n == values["leave_one_out", "nc"].notna().sum() >= 4


def test_captums_scores_given_have_the_values_of_our_own(classifier):
    targets, theirs = captums(classifier, captum.attr.InputXGradient)
    study = evaluate(
        classifier, tiny.TEXTS, {"ours": "input_x_gradient", "captum": theirs}, ["ns", "soft_nc"], targets
    )
    table = study.table.set_index(["attribution", "metric"])
    for metric in ("ns", "soft_nc"):
        ours, other = (table.loc[name, metric] for name in ("ours", "captum"))
        assert ours.value == pytest.approx(other.value, abs=1e-4) and ours.n == other.n
