"""The grid of one scale: config/<scale>.yaml, checked against the notebooks, expanded into units.

    python workflow/grid.py scale=paper device=cuda    checks only, also that this machine has the device and
                                                        what the units left need

Everything a user can get wrong here is told in one line, as ValueError or FileNotFoundError, before
any notebook starts.
"""

import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import units
import yaml
from execute import command

from faithlib import store
from replication import papers, records, results
from replication.parameters import check, code, defaults

PATHS = ("data_dir", "model_dir", "device")  # where a unit runs, not what it computes
OPTIONS = ("scale", "papers", *PATHS)
ROOM = 2**16  # bytes
# Of a cluster, for a unit, where no config says; gpus: of one machine, which gives each unit one.
ASKED: dict[str, Any] = {"memory": 8192, "minutes": 360, "gpu": False, "gpus": 1}


@dataclass
class Paper:
    """One paper's part of the grid: its card, its two notebooks, its units, and what each of them asks for.

    Attributes:
        units: {name: parameters}.
        memory, minutes, gpu: of a cluster: MiB, minutes, and whether a GPU.
        gpus: how many GPUs one machine shares among its units.
        missing: {unit: the line that says which of its files is not there}.
    """

    card: papers.Card
    experiment: str
    report: str
    units: dict[str, dict]
    memory: int = ASKED["memory"]
    minutes: int = ASKED["minutes"]
    gpu: bool = ASKED["gpu"]
    gpus: int = ASKED["gpus"]
    missing: dict[str, str] = field(default_factory=dict)


def check_tables(card, report):
    """Raise ValueError for a table of the card that its report never names."""
    written = code(report)
    if missing := [table for table in card.tables if not re.search(rf"\b{re.escape(table)}\b", written)]:
        raise ValueError(f"{report} writes no table {missing[0]!r}: save it, or take it out of the card")


def options(config):
    """(scale, wanted papers or None, paths) from Snakemake's `--config name=value ...`."""
    if unknown := [key for key in config if key not in OPTIONS]:
        raise ValueError(f"--config: unknown key {unknown[0]!r}; allowed are {', '.join(OPTIONS)}")
    settings = {key: str(value) for key, value in config.items() if value not in (None, "")}
    paths = {key: settings[key] for key in PATHS if key in settings}
    for key in ("data_dir", "model_dir"):
        if key in paths:
            folder = Path(paths[key]).expanduser()
            if not folder.is_dir():
                raise FileNotFoundError(f"{key}={paths[key]}: there is no such folder; check the path")
            paths[key] = folder.as_posix()
    results.check_device(paths.get("device", "auto"))
    wanted = settings["papers"].split(",") if "papers" in settings else None
    return settings.get("scale", "quick"), wanted, paths


def of_arguments(arguments):
    """The dictionary that `read` takes, from a command line's `name=value ...`."""
    if wrong := [a for a in arguments if "=" not in a]:
        raise ValueError(f"{wrong[0]!r} is not name=value; the names are {', '.join(OPTIONS)}")
    return dict(argument.split("=", 1) for argument in arguments)


def read_paper(name, entry, scale, paths, asked):
    """One paper of a config, with every unit's parameters checked."""
    card = papers.card(name)
    experiment, report = f"notebooks/{name}/experiment.ipynb", f"notebooks/{name}/report.ipynb"
    check(report, {"scale": scale})
    check_tables(card, report)
    values, entries, missing = defaults(experiment), {}, {}
    for row in entry["units"]:
        try:
            expanded = list(records.expand(scale, entry.get("defaults", {}), row))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        for unit, parameters in expanded:
            if unit in entries:
                raise ValueError(f"{name}: unit {unit} is there twice; remove one, or give one a variant")
            check(experiment, parameters | paths)
            try:
                if device := parameters.get("device"):
                    units.refuse("device", device, "no unit has its own", f"give DEVICE={device} to make")
                units.check(card, values | paths | parameters, values)
            except FileNotFoundError as error:
                missing[unit] = f"{name}: {error}"
            except (ValueError, OSError) as error:
                raise ValueError(f"{name}: {unit}: {error}") from None
            entries[unit] = parameters
    memory, minutes = asked["memory"], card.minutes.get(scale, asked["minutes"])
    gpu = paths["device"].startswith("cuda") if "device" in paths else asked["gpu"]
    return Paper(card, experiment, report, entries, memory, minutes, gpu, asked["gpus"], missing)


class Loader(yaml.SafeLoader):
    """YAML whose mappings name each key once: of two, PyYAML silently takes the later."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if double := [key for key in keys if not isinstance(key, list) and keys.count(key) > 1]:
            raise ValueError(f"key {double[0]!r} is there twice{node.start_mark}; remove one")
        return super().construct_mapping(node, deep)


def read_yaml(source):
    """The content of a config; ValueError, in one line, for what is no YAML."""
    try:
        return yaml.load(Path(source).read_text(encoding="utf-8"), Loader)
    except (yaml.YAMLError, RecursionError) as error:  # the latter where it is nested too deeply
        raise ValueError(f"{source} is not valid YAML: {' '.join(str(error).split())}; correct it") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} is not UTF-8 ({error}); save it as UTF-8") from None
    except (ValueError, OSError) as error:
        raise ValueError(f"{source}: {' '.join(str(error).split())}") from None


def writable(folder):
    """Raise ValueError unless ROOM bytes can be written in a folder, or in what there is of its path."""
    path = next(p for p in (Path(folder), *Path(folder).parents) if p.exists())
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(bytes(ROOM))
    except OSError as error:
        raise ValueError(
            f"{path.as_posix()} cannot be written ({error.strerror}), and {Path(folder).as_posix()} goes "
            "there: make room, or correct its rights (chmod -R u+w), then give the same command again"
        ) from None


def read(config, folder="config"):
    """(scale, {paper: Paper}, paths) for Snakemake's config dictionary, of the units that can run here.

    What the others lack stands on stderr, on one screen; FileNotFoundError if none is left.
    """
    import missing  # it takes seconds, and each job of a cluster reads this module

    scale, entries, paths = read_all(config, folder=folder)
    lacking = missing.find(entries, scale, paths)
    screen = missing.screen(lacking, sum(len(entry.units) for entry in entries.values()))
    ready = without(entries, lacking)
    if not ready:
        raise FileNotFoundError(screen)
    if screen:
        print(screen, file=sys.stderr)
    return scale, ready, paths


def without(entries, lacking):
    """{paper: Paper} of the units that lack nothing, by `missing.find`."""
    for name, entry in entries.items():
        entry.units = {unit: p for unit, p in entry.units.items() if unit not in lacking.get(name, {})}
    return {name: entry for name, entry in entries.items() if entry.units}


def read_all(config, folder="config"):
    """As `read`, with all units, also those that cannot run here."""
    scale, wanted, paths = options(config)
    scales = sorted(path.stem for path in Path(folder).glob("*.yaml"))
    if not scales:
        raise FileNotFoundError(f"{Path.cwd() / folder} holds no scales: run this in the project's folder")
    results.check_scale(scale)
    if scale not in scales:
        raise ValueError(f"scale={scale}: unknown scale; choose one of {', '.join(scales)}")
    source = f"{folder}/{scale}.yaml"
    content = read_yaml(source)
    try:
        units.conform(content, units.SCHEMA)
        if content["scale"] != scale:
            raise ValueError(f"says scale {content['scale']!r}; the file's name says {scale!r}")
        entries, asked = content["papers"], ASKED | content.get("asks", {})
        if unknown := [name for name in wanted or () if name not in entries]:
            raise ValueError(f"papers={unknown[0]}: unknown paper; it has {', '.join(entries)}")
        papers = {n: read_paper(n, entries[n], scale, paths, asked) for n in wanted or entries}
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    writable(f"results/{scale}")
    writable(".snakemake")  # its locks and its log
    return scale, papers, paths


def set_aside(records):
    """Rename the files of damaged records to *.damaged, so that their units run again; a line for each.

    records: paths of records that may be there.
    """
    for path in filter(Path.is_file, map(Path, records)):
        try:
            results.read_record(path)
        except store.UnreadableRecord as error:
            kept = store.set_aside(path, "damaged")
            yield f"{error.reason}: set aside as {kept.as_posix()}, and its unit runs again"


def make_room(records):
    """Rename the files of records that are about to be computed again to *.replaced; a line for each.

    As of a unit whose parameters, or whose notebook's code, have changed: Snakemake would delete them.
    """
    for path in filter(Path.is_file, map(Path, records)):
        kept = store.set_aside(path, "replaced")
        yield f"{path.as_posix()} is computed again: the record before is kept as {kept.as_posix()}"


def demand(device, papers):
    """Raise ValueError for a GPU that is demanded and not here.

    A line in print, where units that are not done want a half precision that this processor only imitates.
    """
    units = [(name, unit, p) for name, entry in papers.items() for unit, p in entry.units.items()]
    left = [p for name, unit, p in units if not Path(f"results/{p['scale']}/{name}/{unit}.json").is_file()]
    gpus = max((entry.gpus for entry in papers.values()), default=1)
    wanted = [p["dtype"] for p in left if p.get("dtype", "float32") not in ("float32", "auto")]
    if device in ("auto", "cpu") and not wanted and gpus == 1:
        return
    import torch

    from faithlib.models import placement
    from faithlib.models.precision import has_instructions

    try:
        here = placement.existing(placement.best() if device == "auto" else device)
    except ValueError as error:
        raise ValueError(f"{error}, or a cluster: make results PROFILE=slurm DEVICE={device}") from None
    if gpus > max(1, there := torch.cuda.device_count()):
        raise ValueError(f"asks: gpus = {gpus}: this machine shows {there}; write as many into the config")
    for dtype in sorted(set(wanted)):
        if not has_instructions(dtype, here):
            print(
                f"{wanted.count(dtype)} of the {len(left)} units left compute in {dtype}: this {here.type} "
                "has no instructions for it, which takes several times as long. Take another machine, or "
                f"write dtype: float32 in config/{left[0]['scale']}.yaml, for all seeds of a case"
            )


def main(arguments):
    _, entries, paths = read_all(of_arguments(arguments))
    demand(paths.get("device", "auto"), entries)


if __name__ == "__main__":
    command(main)
