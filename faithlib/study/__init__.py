"""`evaluate`: attributions × metrics of one model, or several, on one's own texts, as a table."""

from faithlib.study.study import Study, evaluate
from faithlib.study.table import COLUMNS

__all__ = ["COLUMNS", "Study", "evaluate"]
