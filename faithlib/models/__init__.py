"""Models: the interface that attributions and metrics use, and loading by name."""

from faithlib.models.base import Batch, Encoding, check_examples
from faithlib.models.causal import CausalLM, Prefix
from faithlib.models.classifier import Classifier
from faithlib.models.loading import load, load_causal, locate
from faithlib.models.own import load_model

__all__ = [
    "Batch",
    "CausalLM",
    "Classifier",
    "Encoding",
    "Prefix",
    "check_examples",
    "load",
    "load_causal",
    "load_model",
    "locate",
]
