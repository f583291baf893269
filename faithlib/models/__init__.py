"""Models: what a metric may ask of one, and where one is found by name."""

from faithlib.models.classifier import Batch, Classifier, Encoding, check_examples
from faithlib.models.loading import load, locate

__all__ = ["Batch", "Classifier", "Encoding", "check_examples", "load", "locate"]
