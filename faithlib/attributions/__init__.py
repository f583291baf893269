"""Attributions: how important each token is for a prediction.

`attribute(model, encodings, targets, names)` gives the scores of each token: 0 at positions that are not
maskable, higher = more important. One pass often yields several scores (a backward pass gives x⊙grad signed
and absolute), so a method is a function that returns them all by name, and runs once. What each attribution
is stands in `registry`; a method of your own joins with its decorator:

    @register("my_method", signed=True, family="perturbation")
    def my_method(model, batch, target):
        return {"my_method": scores}  # (batch, tokens)

In this package `model` is a Classifier or CausalLM, `batch` a Batch of the texts explained, and `target`
(batch,) int, the class or next token explained. A method may take settings as keyword parameters; those of
the same name mean the same everywhere, and a docstring has what is its own:

    wanted      the names asked for
    cache       a `forward.Cache` of the model's outputs, or None
    progress    called with the share of the work just done
    seed        with a text's token ids it determines the text's draws, whatever the batch
    baseline    b: "zero", "token" (the mask token), "pad"; None for the model's default
    removal     what takes a token's place: "mask", "pad" or "delete"

A ValueError says where the tokenizer has no such token, or "delete" would leave an empty input. A method may
also return values per example, (batch,), such as a completeness gap, and per token under names that are no
scores.
"""

from faithlib.attributions.registry import Attribution, described, get, names, register, unregister
from faithlib.lazy import offers

# The functions that run models bring torch, which the list itself does without.
__getattr__ = offers(__name__, {name: "compute" for name in ("attribute", "check", "completeness")})
