"""`evaluate`, attributions × metrics of one's own texts as a table; `by_segment` and `hierarchical`."""

from faithlib.study.segmented import by_segment, hierarchical
from faithlib.study.study import Study, evaluate, load_study
from faithlib.study.table import COLUMNS

__all__ = ["COLUMNS", "Study", "by_segment", "evaluate", "hierarchical", "load_study"]
