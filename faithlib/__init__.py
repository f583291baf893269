"""faithlib: measuring whether explanations of NLP models are faithful, after five papers."""

__version__ = "0.1.0"
