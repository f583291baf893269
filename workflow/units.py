"""What a unit would refuse once it runs, told before it is queued: parameters, by name, in one line each.

Names are those of faithlib's registries, ranges those of `faithlib.options`; neither loads torch, as the
driver of a cluster and each of its jobs come through here.
"""

import json
import math
import re
from pathlib import Path

import execute  # noqa: F401 (it spares jsonschema three seconds)
from jsonschema import Draft202012Validator
from sources import SOURCES

from faithlib import attributions, corpora, options, plugins
from faithlib.options import BILSTM, TINY, TINY_CAUSAL
from faithlib.scores import one_of
from faithlib.tasks import files
from faithlib.tasks.table import TASKS
from replication import results
from replication.papers import refuse

NEEDED = {"attributions", "measures", "definitions", "perturbations", "saliences", "strategies", "recursive",
          "weights"}  # lists that must hold something  # fmt: skip
SCHEMA = json.loads(Path(__file__).parents[1].joinpath("config/schema.json").read_text(encoding="utf-8"))
UNIT = {"$schema": SCHEMA["$schema"], **SCHEMA["$defs"]["unit"]}
KINDS = {"object": "a mapping", "array": "a list", "string": "a text", "integer": "a whole number",
         "boolean": "true or false", "number": "a number"}  # fmt: skip


def conform(value, schema):
    """Raise ValueError, one line, for the first thing in `value` that departs from a JSON schema."""
    error = next(Draft202012Validator(schema).iter_errors(value), None)
    if error is None:
        return
    allowed, place = error.schema.get("properties", {}), ": ".join(map(str, error.absolute_path))
    setting, limit = f"{place or 'the file'} = {error.instance!r}", error.validator_value
    if "errorMessage" in error.schema:
        line = error.schema["errorMessage"].format(error.instance)
    elif error.validator == "minimum":
        line = f"{setting}: it must be at least {limit}; give a whole number from {limit} on"
    elif error.validator == "additionalProperties":
        unknown = next(key for key in error.instance if key not in allowed)
        line = f"{place}: unknown key {unknown!r}; allowed are {', '.join(allowed)}"
    elif error.validator == "required":
        missing = next(key for key in limit if key not in error.instance)
        line = f"{place}: {missing!r} is missing; it takes {', '.join(allowed)}"
    elif error.validator == "enum":
        line = f"{setting} is unknown; use one of {', '.join(map(str, limit))}"
    elif error.validator == "type":
        line = f"{setting} must be {KINDS[limit]}; change it"
    else:
        line = f"{place}: {error.message}; change it"
    raise ValueError(line.removeprefix(": "))


def check(card, parameters, defaults):
    """Raise ValueError for the first parameter with which a unit of a card's paper would end in an error.

    defaults: the notebook's; the default of `ratios` says whether they are shares or per cent.
    """
    plugins.load(parameters.get("plugins", []))
    for name, value in parameters.items():
        check_value(name, value, card.zeros, defaults.get(name))
    for name in ("ratios", "curve_ratios", "fresh_ratios", "counts"):
        if name in parameters:
            check_steps(name, parameters[name], defaults[name])
    check_names(parameters)
    check_task(card, parameters)
    check_model(card, parameters)
    conform(parameters, UNIT)
    check_places(parameters)
    if parameters.get("ratios") == [] and not parameters.get("counts"):
        refuse("ratios", [], "nothing would be masked", "give ratios, or counts where the notebook has them")
    if card.check:
        card.check(parameters)


def check_value(name, value, zeros=(), default=None):
    """One parameter by itself: finite, not doubled, not empty unless by default, in its range."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, float) and not math.isfinite(item):
            refuse(name, value, "it must be finite", "give a number")
    if isinstance(value, list):
        if name in NEEDED and not value and default != []:
            refuse(name, value, "nothing is left to measure", "give at least one, or leave the key out")
        if len(value) != len({(type(item), item) for item in value}):
            refuse(name, value, "an item is there twice", "name each once")
    if isinstance(value, str) and (value != value.strip() or re.search(r"[\x00-\x1f]", value)):
        refuse(name, value, "it has blanks around it or control characters", "remove them")
    if value == 0 and name in zeros:
        return
    try:
        options.check({name: value}, options.PARAMETERS)
    except ValueError as error:
        raise ValueError(f"{error}; give another") from None


def check_steps(name, value, default):
    """Ratios and counts: shares of a text, or per cent where the notebook's default is in whole numbers."""
    shares = any(isinstance(item, float) for item in default) or (name != "counts" and not default)
    if shares:
        if wrong := [item for item in value if not 0 < item <= 1]:
            refuse(name, wrong[0], "it is outside (0, 1]", "give shares of the tokens, such as 0.2")
        return
    if wrong := [item for item in value if isinstance(item, bool) or not isinstance(item, int) or item < 1]:
        refuse(name, wrong[0], "it is no whole number from 1 on", "give steps such as 10, 20")
    if list(value) != sorted(value):
        refuse(name, value, "steps must increase", f"write {sorted(value)}")
    if name == "ratios" and value and value[-1] > 100:
        refuse(name, value[-1], "per cent are 100 at most", "give steps such as 10, 20, 100")


def check_names(parameters):
    """Names of attributions, perturbations, definitions and so on, which registries and modules know."""
    for name in ("attributions", "measures"):
        for value in parameters.get(name, []):
            attributions.get(value)
    for value in parameters.get("explained", []):
        one_of("explained", value, parameters["strategies"])
    if "dtype" in parameters:
        one_of("dtype", parameters["dtype"], options.DTYPES)


def absent(name, value, reason, fix):
    """Raise FileNotFoundError, in `refuse`'s form, for a file or folder of one unit."""
    raise FileNotFoundError(f"{name} = {value!r}: {reason}; {fix}")


def check_places(parameters):
    """Folders and files are there, and the device is one; results are where the workflow looks for them."""
    for name in ("data_dir", "model_dir"):
        if (value := parameters.get(name)) and not Path(value).expanduser().is_dir():
            absent(name, value, "there is no such folder", "check the path")
    if (value := parameters.get("results_dir", "results")) != "results":
        refuse("results_dir", value, "the workflow keeps results/", "leave it out; execute.py takes it")
    if "device" in parameters:
        results.check_device(parameters["device"])
    if value := parameters.get("vectors"):
        folder = Path(parameters.get("model_dir", "")).expanduser()
        if not any(path.is_file() for path in (folder / value, Path(value).expanduser())):
            fix = "check the path, or leave it empty"
            if value in SOURCES:
                fix = "get it by make fetch, and give its folder (MODELS=<folder>, model_dir=<folder>)"
            absent("vectors", value, "there is no such file", fix)


def check_task(card, parameters):
    """A task that is known, of the kind that the paper explains, and no larger than its generator.

    Files of one's own must be there.
    """
    name = parameters["task"]
    if files.is_path(name):
        files.find(name)
        return
    task = TASKS.find(name)
    card.use(name)
    if task.generated:
        most = dict.fromkeys(("train_size", "validation_size", "test_size"), corpora.LARGEST)
        if task.kind == "prompts":
            most["examples"] = corpora.LARGEST // 4
        for key, limit in most.items():
            if (size := parameters.get(key, 0)) > limit:
                reason = f"the generated task {name!r} has {corpora.LARGEST} texts at most"
                refuse(key, size, reason, f"give {limit} or fewer")


def check_model(card, parameters):
    """A model that can be had here, and that fits the task."""
    model = parameters["model"]
    if not results.slug(model) or re.search(r"[{}*?\\]", model) or ".." in model.split("/"):
        refuse("model", model, "it is no model's name", "give a name as on the hub, or a folder")
    for name, kind in {"model": card.kind, **card.beside}.items():
        value = parameters[name]
        if value.startswith(("/", "./", "~")) and not Path(value).expanduser().is_dir():
            absent(name, value, "there is no such folder", "check the path")
        if kind == "prompts" and value in (TINY, BILSTM):
            refuse(name, value, "it is a classifier", f"use {TINY_CAUSAL!r} or a language model")
        if kind != "prompts" and value == TINY_CAUSAL and value not in card.models:
            refuse(name, value, "it is a language model", f"use {TINY!r} or an encoder")
