"""Data sets: one table of rows (`TASKS`) and one function (`load`) for three sources, hub, local mirror, generated."""

from faithlib.tasks.loading import Loaded, load
from faithlib.tasks.table import PAPERS, SPLITS, TASKS, Hub, Recipe, Task, Use

__all__ = ["PAPERS", "SPLITS", "TASKS", "Hub", "Loaded", "Recipe", "Task", "Use", "load"]
