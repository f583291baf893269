"""Models: the interface that attributions and metrics use, and loading by name."""

from faithlib.lazy import offers

_HOME = {  # what is offered, and its module
    "Batch": "base",
    "CausalLM": "causal",
    "Classifier": "classifier",
    "Encoding": "base",
    "check_examples": "base",
    "load": "loading",
    "load_causal": "loading",
    "load_model": "own",
}
__all__ = sorted(_HOME)
__getattr__ = offers(__name__, _HOME)
