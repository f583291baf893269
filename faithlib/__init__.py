"""faithlib: measuring whether explanations of NLP models are faithful, after five papers."""

import warnings

from faithlib.lazy import offers

__version__ = "0.2.0"

# faithlib's progress bars are plain text, which saved notebooks show as it was; libraries that import
# tqdm.auto would otherwise greet every reader with a hint to install widgets.
warnings.filterwarnings("ignore", message="IProgress not found")

_HOME = {  # what faithlib offers, and the module that it stands in
    "attribute": "attributions",
    "by_segment": "study.segmented",
    "evaluate": "study",
    "fine_tune": "training",
    "load_causal": "models",
    "load_data": "tasks",
    "load_model": "models",
    "load_study": "study",
    "register": "attributions",
    "register_metric": "metrics.registry:register",
    "register_task": "tasks",
}
__all__ = sorted(_HOME)
__getattr__ = offers(__name__, _HOME)


def __dir__():
    return [*__all__, "__version__"]
