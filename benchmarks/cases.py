"""What is timed: for every method the bound, faithlib, and the peers at their defaults and at their best.

Methods of HALF also run in bfloat16, faithlib and the peers at their best, and peers under autocast.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import torch

from benchmarks.bounds import backward, forward
from benchmarks.workloads import Workload, compiled, in_half
from faithlib.attributions import attribute

HALF = ("x⊙grad", "IG 20 ±", "leave-one-out ±", "LIME 100")
COMPILED = ("leave-one-out ±",)  # methods of the classifier that are also timed with torch.compile


@dataclass(frozen=True)
class Case:
    """One method on one model.

    implementations: functions that explain all examples; the bound's returns nothing, the others
    {name of scores: [(tokens,)]}. drawn: scores depend on draws, which differ between implementations.
    """

    method: str
    work: Workload
    implementations: dict[str, Callable]
    drawn: bool = False


def encoder(work, few, dear, quick=False):
    """The methods timed on a classifier.

    work, few, dear: the examples of cheap, dearer and dearest methods.
    """
    case = _maker("captum", work, few, dear, partial(compiled, quick=quick))
    once, path = backward(work, [1] * len(work.texts)), backward(few, [20] * len(few.texts))
    four = ["gradient_l1", "gradient_l2", "input_x_gradient", "input_x_gradient_abs"]
    return [
        case("x⊙grad", work, once, ["input_x_gradient"]),
        case("four gradient scores", work, once, four),
        case("IG 20 ±", few, path, ["integrated_gradients", "integrated_gradients_abs"], steps=20),
        *_perturbing(case, few, dear),
    ]


def causal(work, few, dear, quick=False):
    """The methods timed on a causal language model, without reuse of prefixes in the bound."""
    settings = {"samples": 100, "definition": "released", "paper": "noiser"}
    released = partial(attribute, dear.model, dear.encodings, dear.targets, ["lime"], **settings)
    case = _maker("inseq", work, few, dear, **{"LIME 100": {"faithlib, the LIME of inseq": released}})
    return [
        case("x⊙grad", work, backward(work, [1] * len(work.texts)), ["input_x_gradient"]),
        case("IG 50", dear, backward(dear, [50] * len(dear.texts)), ["integrated_gradients"], steps=50),
        *_perturbing(case, few, dear),
    ]


def _perturbing(case, few, dear):
    passes = [1 + int(e.maskable.sum()) for e in few.encodings]
    shap = backward(few, [20] * len(few.texts))
    return [
        case("leave-one-out ±", few, forward(few, passes), ["leave_one_out", "leave_one_out_abs"]),
        case("LIME 100", dear, forward(dear, [100] * len(dear.texts)), ["lime"], drawn=True, samples=100),
        case("GradientSHAP 20", few, shap, ["gradient_shap"], drawn=True, samples=20),
    ]


def _maker(package, work, few, dear, compile=None, **more):
    """The function that makes a `Case`: (method, work, bound, wanted, drawn, **settings) -> Case."""
    halves = {id(part): in_half(part) for part in (work, few, dear)}
    theirs = _peer(package, work, few, dear)
    in_bfloat16 = _peer(package, *halves.values())

    def case(method, work, bound, wanted, drawn=False, **settings):
        def ours(work):
            return partial(attribute, work.model, work.encodings, work.targets, wanted, **settings)

        ways = {"bound": bound, "faithlib": ours(work), **more.get(method, {}), **theirs.get(method, {})}
        if method in HALF:
            half = halves[id(work)]
            ways["faithlib, bfloat16"] = ours(half)
            if compile and method in COMPILED:
                ways["faithlib, compiled"] = ours(compile(work))
                ways["faithlib, bfloat16, compiled"] = ours(compile(half))
            for name, run in theirs.get(method, {}).items():
                if "defaults" not in name:
                    ways[f"{name}, autocast"] = partial(_autocast, run, work.model.device.type)
                    ways[f"{name}, bfloat16"] = in_bfloat16[method][name]
        return Case(method, work, ways, drawn)

    return case


def _autocast(run, device):
    with torch.autocast(device, torch.bfloat16):
        return run()


def _peer(package, work, few, dear):
    """{method: {implementation: function}} of a peer, nothing where it is not installed."""
    if find_spec(package) is None:
        return {}
    return import_module(f"benchmarks.with_{package}").implementations(work, few, dear)
