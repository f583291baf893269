"""faithlib: measuring whether explanations of NLP models are faithful, after five papers."""

__version__ = "0.1.0"

import warnings

# faithlib's bars are plain text, which saved notebooks show as it was; libraries that import tqdm.auto
# would otherwise greet every reader with a hint to install widgets.
warnings.filterwarnings("ignore", message="IProgress not found")
