"""Data sets: a table of rows (`TASKS`) and one function (`load`) for hub, mirror and generator."""

from importlib import import_module

from faithlib.tasks.table import SPLITS, TASKS, Hub, Recipe, Task, Use, register_task, unregister_task


def __getattr__(name):  # loading brings `datasets`, which the table does without
    if name in ("Loaded", "load"):
        return getattr(import_module("faithlib.tasks.loading"), name)
    if name == "load_data":
        return import_module("faithlib.tasks.own").load_data
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
