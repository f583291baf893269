"""A GGUF file of a language model as a folder of safetensors, which `load_causal` takes like any other.

Needs the packages gguf and accelerate: pip install 'faithlib[gguf]'.
"""

import importlib.util
from pathlib import Path

from faithlib.scores import first_line


def convert(gguf, folder):
    """Convert a GGUF file of a language model into a folder of safetensors.

    Raises:
        ValueError: a file that is damaged; then nothing is written.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    path = Path(gguf)
    source = {"gguf_file": path.name, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
        source |= {"dtype": "float32", "output_loading_info": True}
        read, info = AutoModelForCausalLM.from_pretrained(path.parent, **source)
    except Exception as error:  # readers of damaged bytes fail in many ways
        raise ValueError(f"{path.name} is damaged ({first_line(error)}): fetch it again") from error
    broken = [name for name, weight in read.state_dict().items() if not torch.isfinite(weight).all()]
    if lost := sorted(info["missing_keys"]) or broken:
        raise ValueError(f"{path.name} has no whole {lost[0]}: it is damaged, fetch it again")
    del read.config.quantization_config  # the weights are plain now; with it they could not be saved
    fresh = type(read)(read.config)
    fresh.load_state_dict(read.state_dict())
    fresh.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def check_packages():
    """Raise ValueError if a package is missing that reads GGUF files."""
    if missing := [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]:
        raise ValueError(f"GGUF files need the package {missing[0]}: pip install 'faithlib[gguf]'")
