"""The same scores from inseq, as its users get them: at its defaults, and batched as well as it can be.

Tokenizing is included: inseq takes texts. It explains given continuations one prompt at a time; prompts
share a batch only where it generates the continuation itself, which then is part of the work. An
implementation returns {name of scores: [(tokens,)]}.
"""

import copy
import logging
from functools import partial

import inseq
from transformers.utils import logging as transformers_logging

from benchmarks.workloads import SPECIAL


def implementations(work, few, dear):
    """{method: {implementation: function}} for the workloads of cheap, dearer and dearest methods."""
    logging.getLogger("inseq").setLevel(logging.ERROR)  # it says for every call that its batch size is 1
    transformers_logging.set_verbosity_error()  # and generation that no attention mask is given
    # A copy, because it leaves hooks on the model it is given.
    model = inseq.load_model(copy.deepcopy(work.model.model), "saliency", tokenizer=work.model.tokenizer)
    gradient, path, loss, fit, shap = (
        partial(scores, model, *method)
        for method in (
            ("input_x_gradient", "input_x_gradient"),
            ("integrated_gradients", "integrated_gradients"),
            ("occlusion", "leave_one_out_abs"),
            ("lime", "lime"),
            ("gradient_shap", "gradient_shap"),
        )
    )
    return {
        "x⊙grad": {
            "inseq, defaults": partial(gradient, work),
            "inseq, 8 generated at a time": partial(gradient, work, generated=8),
        },
        "IG 50": {
            "inseq, defaults": partial(path, dear, n_steps=50),
            "inseq, 25 at a time": partial(path, dear, n_steps=50, internal_batch_size=25),
            "inseq, 25 at a time, 8 generated": partial(
                path, dear, n_steps=50, internal_batch_size=25, generated=8
            ),
        },
        "leave-one-out ±": {
            "inseq, defaults": partial(loss, few),
            "inseq, 32 at a time": partial(loss, few, perturbations_per_eval=32),
        },
        "LIME 100": {
            "inseq, defaults": partial(fit, dear, n_samples=100),
            "inseq, 32 at a time": partial(fit, dear, n_samples=100, perturbations_per_eval=32),
        },
        "GradientSHAP 20": {"inseq, defaults": partial(shap, few, n_samples=20)},
    }


def scores(model, method, name, work, generated=0, **settings):
    """{name: scores} of the next tokens of all prompts.

    generated: how many prompts share a batch whose next tokens inseq generates (they are the targets), 0
    to give it the targets.
    """
    explain = partial(model.attribute, method=method, show_progress=False, **settings)
    if generated:
        word = {"max_new_tokens": 1, "do_sample": False, "suppress_tokens": list(range(SPECIAL))}
        explained = explain(work.texts, batch_size=generated, generation_args=word).sequence_attributions
    else:
        tokens = work.model.tokenizer.convert_ids_to_tokens(work.targets.tolist())
        continued = [f"{text} {token}" for text, token in zip(work.texts, tokens, strict=True)]
        if method == "lime":  # it takes one prompt a call
            pairs = zip(work.texts, continued, strict=True)
            explained = [explain(*pair).sequence_attributions[0] for pair in pairs]
        else:
            explained = explain(work.texts, continued).sequence_attributions
    return {name: [_of_tokens(e.target_attributions, method).float().numpy() for e in explained]}


def _of_tokens(attributed, method):
    """(tokens + 1, 1) or (tokens + 1, 1, width), the last row the next token's own, to (tokens,)."""
    attributed = attributed[:-1, 0]
    if attributed.ndim == 1:
        return attributed
    return attributed.norm(dim=-1) if method == "lime" else attributed.sum(-1)
