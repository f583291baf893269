"""Data sets: a table of rows (`TASKS`) and one function (`load`) for hub, mirror and generator."""

from faithlib.lazy import offers
from faithlib.tasks.table import SPLITS, TASKS, Hub, Recipe, Task, Use, register_task, unregister_task

# Loading brings `datasets`, which the table does without.
__getattr__ = offers(__name__, {"Loaded": "loading", "load": "loading", "load_data": "own"})
