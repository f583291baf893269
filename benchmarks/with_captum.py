"""The same scores from captum, as its users get them: at its defaults, and batched as well as it can be.

Tokenizing is left out: captum works on tensors. An implementation returns {name of scores: [(tokens,)]}.
"""

from functools import partial

import numpy as np
import torch
from captum.attr import FeatureAblation, GradientShap, InputXGradient, IntegratedGradients, Lime, Saliency

from faithlib.engine.batching import TOKEN_BUDGET, batches_by_length


def implementations(work, few, dear):
    """{method: {implementation: function}} for the workloads of cheap, dearer and dearest methods."""
    paths = {"n_steps": 20, "method": "riemann_middle"}  # our quadrature, so that the scores can be compared
    one, many = one_by_one(work), batched(work)
    return {
        "x⊙grad": {
            "captum, defaults": partial(x_gradient, work, one),
            "captum, batched": partial(x_gradient, work, many),
        },
        "four gradient scores": {
            "captum, defaults, a run a score": partial(four_gradients, work, one, one_hot_norm),
            "captum, batched, a run a score": partial(four_gradients, work, many, one_hot_norm),
            "captum, batched, a run a score, norms over the width": partial(
                four_gradients, work, many, width_norm
            ),
            "captum, batched, one run shared by hand": partial(four_gradients_at_once, work, many),
        },
        "IG 20 ±": {
            "captum, defaults, a run a score": partial(both_paths, few, one_by_one(few), **paths),
            "captum, batched, a run a score": partial(
                both_paths, few, batched(few), internal_batch_size=32, **paths
            ),
            "captum, batched, one run shared by hand": partial(
                path, few, batched(few), internal_batch_size=32, **paths
            ),
        },
        "leave-one-out ±": {
            "captum, defaults": partial(losses, few, perturbations_per_eval=1),
            "captum, 32 at a time": partial(losses, few, perturbations_per_eval=32),
        },
        "LIME 100": {
            "captum, defaults": partial(fits, dear, n_samples=100, perturbations_per_eval=1),
            "captum, 32 at a time": partial(fits, dear, n_samples=100, perturbations_per_eval=32),
        },
        "GradientSHAP 20": {"captum, defaults": partial(shaps, few, one_by_one(few), n_samples=20)},
    }


def one_by_one(work):
    """Batches of one example, as captum's tutorials have it."""
    return [[i] for i in range(len(work.encodings))]


def batched(work):
    """Batches of examples of similar length."""
    return batches_by_length([len(e.ids) for e in work.encodings], TOKEN_BUDGET[work.model.device.type])


def x_gradient(work, batches):
    return {"input_x_gradient": by_gradient(work, InputXGradient, batches, width_sum)}


def four_gradients(work, batches, norm):
    """A run for each of the scores: captum has no way to get several from one."""
    gradient, product = (
        partial(by_gradient, work, Saliency, batches, abs=False),
        partial(by_gradient, work, InputXGradient, batches),
    )
    return {
        "gradient_l1": gradient(reduce=norm(work, 1)),
        "gradient_l2": gradient(reduce=norm(work, 2)),
        "input_x_gradient": product(reduce=width_sum),
        "input_x_gradient_abs": product(reduce=lambda *a: width_sum(*a).abs()),
    }


def four_gradients_at_once(work, batches):
    """What a user can do who knows that one gradient is enough."""
    l1, l2 = one_hot_norm(work, 1), one_hot_norm(work, 2)

    def reduce(gradient, embeddings):
        product = (gradient * embeddings).sum(-1)
        return torch.stack([l1(gradient, None), l2(gradient, None), product, product.abs()], -1)

    scores = by_gradient(work, Saliency, batches, reduce, abs=False)
    names = "gradient_l1", "gradient_l2", "input_x_gradient", "input_x_gradient_abs"
    return {name: [row[:, k] for row in scores] for k, name in enumerate(names)}


def both_paths(work, batches, **settings):
    signed = by_gradient(work, IntegratedGradients, batches, width_sum, baselines=0, **settings)
    again = by_gradient(work, IntegratedGradients, batches, width_sum, baselines=0, **settings)
    return {"integrated_gradients": signed, "integrated_gradients_abs": [abs(row) for row in again]}


def path(work, batches, **settings):
    signed = by_gradient(work, IntegratedGradients, batches, width_sum, baselines=0, **settings)
    return {"integrated_gradients": signed, "integrated_gradients_abs": [abs(row) for row in signed]}


def losses(work, **settings):
    signed = by_perturbation(work, FeatureAblation, lambda logits: logits, **settings)
    return {"leave_one_out": signed, "leave_one_out_abs": [abs(row) for row in signed]}


def fits(work, **settings):
    return {"lime": by_perturbation(work, Lime, lambda logits: logits.softmax(-1), **settings)}


def shaps(work, batches, **settings):
    baseline = torch.zeros(1, 1, work.model.embedding_table.shape[1], device=work.model.device)
    return {
        "gradient_shap": by_gradient(work, GradientShap, batches, width_sum, baselines=baseline, **settings)
    }


def by_gradient(work, attribution, batches, reduce, baselines=None, **settings):
    """Scores of a captum attribution that needs gradients, of the target's logit.

    reduce: from attributions and word embeddings, both (batch, tokens, width), to scores (batch, tokens).
    """

    weights = next(work.model.model.parameters()).dtype

    def logits(embeddings, present, types):
        inputs = {"attention_mask": present} | ({"token_type_ids": types} if types.any() else {})
        return work.model.model(inputs_embeds=embeddings.to(weights), **inputs).logits.float()

    explainer, scores = attribution(logits), [None] * len(work.encodings)
    for rows in batches:
        batch = work.model.collate([work.encodings[i] for i in rows])
        embeddings = work.model.embed(batch.ids)
        if torch.is_tensor(baselines):
            settings["baselines"] = baselines.expand(1, *embeddings.shape[1:])
        elif baselines is not None:
            settings["baselines"] = baselines
        attributed = explainer.attribute(
            embeddings,
            target=torch.as_tensor(work.targets[rows], device=embeddings.device),
            additional_forward_args=(batch.present.long(), batch.types),
            **settings,
        )
        values = reduce(attributed.detach(), embeddings).cpu().numpy()
        for i, row in zip(rows, values, strict=True):
            scores[i] = row[: len(work.encodings[i].ids)]
    return scores


def by_perturbation(work, attribution, output, **settings):
    """Scores of a captum attribution that replaces tokens by the mask token, one example after the other.

    Only the text's tokens are features: the special tokens around them are put back for the model.
    output: from logits to what is explained, (batch, classes).
    """

    def outputs(tokens, before, after):
        n = len(tokens)
        ids = torch.cat([before[:1].expand(n, -1), tokens, after[:1].expand(n, -1)], 1)
        return output(work.model.model(input_ids=ids).logits.float())

    explainer, scores = attribution(outputs), []
    for encoding, target in zip(work.encodings, work.targets, strict=True):
        ids = torch.from_numpy(encoding.ids).to(work.model.device)
        start, stop = np.flatnonzero(encoding.maskable)[[0, -1]] + [0, 1]
        values = explainer.attribute(
            ids[None, start:stop],
            baselines=work.model.mask_id,
            target=int(target),
            additional_forward_args=(ids[None, :start], ids[None, stop:]),
            **settings,
        )
        row = np.zeros(len(ids))
        row[start:stop] = values[0].detach().cpu().numpy()
        scores.append(row)
    return scores


def width_sum(attributed, embeddings):
    """Of x⊙∇x and its like: the sum over the embedding's width."""
    return attributed.sum(-1)


def one_hot_norm(work, order):
    """The norm over the vocabulary of the gradient of a one-hot input, the straightforward way."""
    table = work.model.embedding_table
    return lambda gradient, embeddings: (gradient @ table.T).norm(p=order, dim=-1)


def width_norm(work, order):
    """The norm over the embedding's width: a cheaper score that is not the one-hot norm."""
    return lambda gradient, embeddings: gradient.norm(p=order, dim=-1)
