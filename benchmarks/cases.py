"""What is timed: for every method the bound, faithlib, and the peers at their defaults and at their best."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec

from benchmarks.bounds import backward, forward
from benchmarks.workloads import Workload
from faithlib.attributions import attribute


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


def encoder(work, few, dear):
    """The methods timed on a classifier.

    work, few, dear: the examples of cheap, dearer and dearest methods.
    """
    case = partial(_case, _peer("captum", work, few, dear))
    return [
        case("x⊙grad", work, backward(work, [1] * len(work.texts)), ["input_x_gradient"]),
        case(
            "four gradient scores",
            work,
            backward(work, [1] * len(work.texts)),
            ["gradient_l1", "gradient_l2", "input_x_gradient", "input_x_gradient_abs"],
        ),
        case(
            "IG 20 ±",
            few,
            backward(few, [20] * len(few.texts)),
            ["integrated_gradients", "integrated_gradients_abs"],
            steps=20,
        ),
        *_perturbing(case, few, dear),
    ]


def causal(work, few, dear):
    """The methods timed on a causal language model, without reuse of prefixes in the bound."""
    theirs = _peer("inseq", work, few, dear)
    released = partial(
        attribute,
        dear.model,
        dear.encodings,
        dear.targets,
        ["lime"],
        samples=100,
        definition="released",
        paper="noiser",
    )
    theirs["LIME 100"] = {"faithlib, the LIME of inseq": released, **theirs.get("LIME 100", {})}
    case = partial(_case, theirs)
    return [
        case("x⊙grad", work, backward(work, [1] * len(work.texts)), ["input_x_gradient"]),
        case("IG 50", dear, backward(dear, [50] * len(dear.texts)), ["integrated_gradients"], steps=50),
        *_perturbing(case, few, dear),
    ]


def _perturbing(case, few, dear):
    passes = [1 + int(e.maskable.sum()) for e in few.encodings]
    return [
        case("leave-one-out ±", few, forward(few, passes), ["leave_one_out", "leave_one_out_abs"]),
        case("LIME 100", dear, forward(dear, [100] * len(dear.texts)), ["lime"], drawn=True, samples=100),
        case(
            "GradientSHAP 20",
            few,
            backward(few, [20] * len(few.texts)),
            ["gradient_shap"],
            drawn=True,
            samples=20,
        ),
    ]


def _case(theirs, method, work, bound, wanted, drawn=False, **settings):
    ours = partial(attribute, work.model, work.encodings, work.targets, wanted, **settings)
    return Case(method, work, {"bound": bound, "faithlib": ours, **theirs.get(method, {})}, drawn)


def _peer(package, work, few, dear):
    """{method: {implementation: function}} of a peer, nothing where it is not installed."""
    if find_spec(package) is None:
        return {}
    return import_module(f"benchmarks.with_{package}").implementations(work, few, dear)
