"""Files of one's own that register attributions, metrics and tasks, named by their paths."""

import importlib.util
import sys
from pathlib import Path
from traceback import walk_tb

PREFIX = "faithlib_plugin_"  # of the modules' names


def load(paths, root=".") -> list:
    """Import Python files such as ["my.py"], each once: what they `register` is then known by name.

    `root` is the folder that relative ones are taken from. Raises FileNotFoundError for a file that is not
    there, ValueError where `paths` is no list, or a file fails while it is imported.
    """
    if not isinstance(paths, (list, tuple)) or not all(isinstance(path, (str, Path)) for path in paths):
        raise ValueError(f"plugins={paths!r} is no list of files: give one such as ['my.py']")
    return [_load(Path(root, path)) for path in paths]


def _load(path):
    if not path.is_file():
        raise FileNotFoundError(f"plugins: there is no file {path.as_posix()!r}: check the path")
    name = f"{PREFIX}{path.resolve().as_posix()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ValueError(f"plugins: {path.as_posix()!r} is no Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"plugins: {path.as_posix()} fails: {type(error).__name__}: {error}") from error
    return module


def fault(error):
    """The function of a loaded file that an error was raised in, and the error, in one line; else ""."""
    for frame, line in walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__", "").startswith(PREFIX):
            function = f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}"
            return f"{function} fails in line {line}: {type(error).__name__}: {error}"
    return ""
