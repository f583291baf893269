"""Attributions: how important each token is for a prediction.

`scores = attribution(model, batch, target)`, of a `Batch` and the class or next token of each text (batch,):
a float tensor (batch, tokens), 0 at positions that are not maskable, higher = more important. One pass often
yields several scores (a backward pass gives x⊙grad signed and absolute), so a method is a function that
returns them all by name, and `attribute` runs each function once. What each attribution is stands in
`registry`; a method of your own joins with its decorator:

    @register("my_method", signed=True, family="perturbation")
    def my_method(model, batch, target):
        return {"my_method": scores}  # (batch, tokens)

A method may take settings as keyword parameters; those of the same name mean the same everywhere:
`wanted` (the names asked for), `cache` (a forward.Cache), `progress` (called with the share of the
work just done), `seed`, `steps`, `samples`, `baseline`, `path`, `removal`, `beam`, and Noiser's own. It may
also return values per example, (batch,), such as a completeness gap, and per token under names that are no
scores.
"""

from faithlib.attributions.registry import Attribution, described, get, names, register, unregister
from faithlib.lazy import offers

# The functions that run models bring torch, which the list itself does without.
__getattr__ = offers(__name__, {name: "compute" for name in ("attribute", "check", "completeness")})
