"""The grid of one scale: configs/<scale>.yaml, checked against the notebooks, expanded into units.

Everything a user can get wrong here is told in one line, as ValueError or FileNotFoundError, before
any notebook starts.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml
from execute import check

PATHS = ("data_dir", "model_dir", "device")  # where a unit runs, not what it computes
OPTIONS = ("scale", "papers", *PATHS)


@dataclass
class Paper:
    """One paper's part of the grid: its two notebooks, and the parameters of every unit by name."""

    experiment: str
    report: str
    units: dict[str, dict]


def keys(given, what, allowed, required=()):
    """Raise ValueError, naming the first key that is not allowed or missing."""
    if not isinstance(given, dict):
        raise ValueError(f"{what}: {given!r} is not a mapping; it takes {', '.join(allowed)}")
    if unknown := [key for key in given if key not in allowed]:
        raise ValueError(f"{what}: unknown key {unknown[0]!r}; allowed are {', '.join(allowed)}")
    if missing := [key for key in required if key not in given]:
        raise ValueError(f"{what}: {missing[0]!r} is missing; it takes {', '.join(allowed)}")


def options(config):
    """(scale, wanted papers or None, paths) from Snakemake's `--config name=value ...`."""
    keys(config, "--config", OPTIONS)
    given = {key: str(value) for key, value in config.items() if value not in (None, "")}
    paths = {key: given[key] for key in PATHS if key in given}
    for key in ("data_dir", "model_dir"):
        if key in paths:
            folder = Path(paths[key]).expanduser()
            if not folder.is_dir():
                raise FileNotFoundError(
                    f"{key}={paths[key]}: there is no such folder; check the path"
                )
            paths[key] = folder.as_posix()
    wanted = given["papers"].split(",") if "papers" in given else None
    return given.get("scale", "quick"), wanted, paths


def expand(scale, defaults, row):
    """(unit name, parameters) for each seed of one row of a config's `units`."""
    parameters = {**defaults, **row, "scale": scale}
    if missing := [key for key in ("task", "model", "seed") if key not in parameters]:
        raise ValueError(f"unit {row}: {missing[0]!r} is missing; name task, model and seed")
    seeds = parameters["seed"] if isinstance(parameters["seed"], list) else [parameters["seed"]]
    for seed in seeds:
        slug = str(parameters["model"]).rstrip("/").split("/")[-1]
        yield f"{parameters['task']}.{slug}.s{seed}", {**parameters, "seed": seed}


def read_paper(name, entry, scale, paths):
    """One paper of a config, with every unit's parameters checked against the notebook."""
    keys(entry, name, ("notebook", "defaults", "units"), required=("notebook", "units"))
    experiment = f"notebooks/experiments/{entry['notebook']}.ipynb"
    report = f"notebooks/reports/{name}.ipynb"
    check(report, {"scale": scale})
    units = {}
    for row in entry["units"]:
        for unit, parameters in expand(scale, entry.get("defaults", {}), row):
            if unit in units:
                raise ValueError(f"{name}: unit {unit} is there twice; remove one")
            check(experiment, parameters | paths)
            units[unit] = parameters
    return Paper(experiment, report, units)


def read(config, folder="configs"):
    """(scale, {paper: Paper}, paths) for Snakemake's config dictionary."""
    scale, wanted, paths = options(config)
    scales = sorted(path.stem for path in Path(folder).glob("*.yaml"))
    if scale not in scales:
        raise ValueError(f"scale={scale}: unknown scale; choose one of {', '.join(scales)}")
    source = f"{folder}/{scale}.yaml"
    try:
        content = yaml.safe_load(Path(source).read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{source} is not valid YAML: {' '.join(str(error).split())}") from None
    keys(content, source, ("scale", "papers"), required=("scale", "papers"))
    if content["scale"] != scale:
        raise ValueError(
            f"{source}: says scale {content['scale']!r}; the file's name says {scale!r}"
        )
    entries = content["papers"]
    if unknown := [name for name in wanted or () if name not in entries]:
        raise ValueError(f"papers={unknown[0]}: unknown paper; {source} has {', '.join(entries)}")
    try:
        papers = {n: read_paper(n, entries[n], scale, paths) for n in wanted or entries}
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    return scale, papers, paths
