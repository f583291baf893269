"""Data sets: a table of rows (`TASKS`) and one function (`load`) for hub, mirror and generator."""

from faithlib.tasks.loading import Loaded, load
from faithlib.tasks.table import PAPERS, SPLITS, TASKS, Hub, Recipe, Task, Use

__all__ = ["PAPERS", "SPLITS", "TASKS", "Hub", "Loaded", "Recipe", "Task", "Use", "load"]
