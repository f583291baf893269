"""Models: the interface that attributions and metrics use, and loading by name."""

from importlib import import_module

_HOME = {  # what is offered, and its module: imported when it is first used, as transformers takes seconds
    "Batch": "base",
    "CausalLM": "causal",
    "Classifier": "classifier",
    "Encoding": "base",
    "Prefix": "causal",
    "check_examples": "base",
    "load": "loading",
    "load_causal": "loading",
    "load_model": "own",
    "locate": "loading",
}
__all__ = sorted(_HOME)


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"faithlib.models.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
