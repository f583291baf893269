"""The parameters of a notebook: its one cell tagged `parameters`, read without running it."""

import ast
import hashlib
import json
from pathlib import Path


def cells(notebook):
    """A notebook's code cells."""
    content = json.loads(Path(notebook).read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def code(notebook):
    """A notebook's code cells as one text."""
    return "\n".join("".join(cell["source"]) for cell in cells(notebook))


def code_hash(notebook):
    """Digest of a notebook's code cells: saved outputs and prose never cause a rerun."""
    return hashlib.sha256(code(notebook).encode()).hexdigest()[:12]


def defaults(notebook, tag="parameters"):
    """{parameter: default}, each a literal; with the tag "injected-parameters" {parameter: value of a run}.

    Raises:
        FileNotFoundError: there is no such notebook.
        ValueError: papermill would err in silence: no cell is tagged, so that injected values get
            overwritten, or a value is computed there, which stays stale.
    """
    path = Path(notebook)
    if not path.is_file():
        raise FileNotFoundError(f"{path.as_posix()}: there is no such notebook")
    tagged = [cell for cell in cells(path) if tag in cell["metadata"].get("tags", [])]
    if tag != "parameters" and not tagged:
        return {}
    if len(tagged) != 1:
        raise ValueError(f"{path.as_posix()}: {len(tagged)} cells are tagged 'parameters'; tag exactly one")
    values = {}
    for statement in ast.parse("".join(tagged[0]["source"])).body:
        try:
            (name,) = statement.targets
            values[name.id] = ast.literal_eval(statement.value)
        except (AttributeError, ValueError):
            what = f"{path.as_posix()}: {ast.unparse(statement)!r} in the cell tagged 'parameters'"
            fix = "move it to the next cell, or it stays stale"
            raise ValueError(f"{what} is not of the form name = literal; {fix}") from None
    return values


def fits(value, default):
    """Whether a value has the type of its default; int passes for float, bool for no number."""
    if default and isinstance(default, list) and isinstance(value, list):
        return all(any(fits(item, example) for example in default) for item in value)
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return default is None or type(value) is type(default)


def check(notebook, parameters, advice=""):
    """Raise ValueError unless the notebook takes these parameters, by name and by type.

    advice: what else to do about a name that is unknown.
    """
    takes, name = defaults(notebook), Path(notebook).as_posix()
    if unknown := sorted(set(parameters) - set(takes)):
        raise ValueError(f"{name}: unknown parameter {unknown[0]!r}; it takes {', '.join(takes)}{advice}")
    for key, value in parameters.items():
        if not fits(value, takes[key]):
            hint = " (YAML reads 1e-5 as a text: write 1.0e-5)" if isinstance(value, str) else ""
            fix = f"its default is {takes[key]!r}, give a value of that type{hint}"
            raise ValueError(f"{name}: parameter {key} = {value!r} has the wrong type; {fix}")
