"""faithlib: measuring whether explanations of NLP models are faithful, after five papers."""

import warnings
from importlib import import_module

__version__ = "0.2.0"

# faithlib's progress bars are plain text, which saved notebooks show as it was; libraries that import
# tqdm.auto would otherwise greet every reader with a hint to install widgets.
warnings.filterwarnings("ignore", message="IProgress not found")

_HOME = {  # what faithlib offers, and the module that it stands in: imported when it is first used
    "attribute": "attributions",
    "by_segment": "study.segmented",
    "evaluate": "study",
    "load_causal": "models:load_causal",
    "load_data": "tasks",
    "load_model": "models",
    "register": "attributions",
    "register_metric": "metrics.registry:register",
    "register_task": "tasks",
}
__all__ = sorted(_HOME)


def __getattr__(name):
    if name in _HOME:
        module, _, there = _HOME[name].partition(":")
        return getattr(import_module(f"faithlib.{module}"), there or name)
    raise AttributeError(f"module 'faithlib' has no attribute {name!r}: it has {', '.join(__all__)}")


def __dir__():
    return [*__all__, "__version__"]
