"""What units lack on this machine, told before anything starts, each with the line that gets it.

A unit whose record is there lacks nothing. The hub is asked once if it answers, where its cache will not do.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

from huggingface_hub import auth_check, constants, get_token, try_to_load_from_cache
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from sources import GATED, SOURCES

from faithlib.models.places import BUILT, locate
from faithlib.store import listed
from faithlib.tasks.files import is_path
from faithlib.tasks.table import TASKS
from replication.records import departures

INDEX = "model.safetensors.index.json"  # names the files of weights where there are several
FOLDERS = ("data_dir", "model_dir")
SECONDS = 5  # that the hub has for an answer
SHOWN = 12  # data sets or models that a line names
TERMS = "agree to its terms at https://huggingface.co/<name>, then export HF_TOKEN=<your key>"


class Lack(NamedTuple):
    """A thing that a unit lacks, "" if the line says it, and the line that gets it."""

    what: str
    fix: str


@cache
def hub_answers():
    """Whether the Hugging Face hub can be reached."""
    if constants.HF_HUB_OFFLINE:
        return False
    try:
        with urlopen(constants.ENDPOINT, timeout=SECONDS):
            return True
    except HTTPError:
        return True
    except OSError:
        return False


def find(entries, scale, paths):
    """{paper: {unit: [Lack]}} of the units of {paper: grid.Paper} that cannot run here.

    paths: {"data_dir", "model_dir"}, of what is given.
    """
    lacking = {}
    for name, entry in entries.items():
        for unit, parameters in entry.units.items():
            if is_done(Path("results", scale, name, f"{unit}.json"), parameters):
                continue
            if unit in entry.missing:
                lacking.setdefault(name, {})[unit] = [Lack("", entry.missing[unit])]
                continue
            folders = {key: value for key, value in (paths | parameters).items() if key in FOLDERS}
            if lines := lacks(entry.card, parameters, f"make fetch SCALE={scale}", **folders):
                lacking.setdefault(name, {})[unit] = lines
    return lacking


def is_done(record, parameters):
    """Whether a record is there that has these parameters."""
    try:
        there = json.loads(record.read_text(encoding="utf-8"))["params"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return not departures(there, parameters)


def lacks(card, parameters, fetch, data_dir="", model_dir=""):
    """[Lack], one a thing that a unit lacks; fetch: the command that gets data sets and models."""
    models = [name for name in card.sources(parameters) if name not in (*BUILT, *card.models)]
    lacking = [lacks_data(card, parameters["task"], fetch, data_dir)]
    lacking += [lacks_model(name, fetch, model_dir) for name in models]
    if card.demand:
        try:
            card.demand([parameters])
        except ValueError as error:
            lacking.append(Lack("", str(error)))
    return [lack for lack in lacking if lack]


def lacks_data(card, name, fetch, folder):
    """A Lack if a data set is not at hand, else None."""
    if is_path(name) or TASKS[name].generated:
        return None
    import datasets  # takes seconds, and generated data need none of it

    from faithlib.tasks.sources import mirror_files

    task = TASKS[name]
    if folder:
        try:
            mirror_files(task, card.use(name).recipe, Path(folder))
            return None
        except ValueError as error:
            return Lack(name, str(error))
        except FileNotFoundError:
            pass
    elif task.hub:
        cached = Path(datasets.config.HF_DATASETS_CACHE, task.hub.id.replace("/", "___"))
        if cached.is_dir() or hub_answers():
            return None
    if task.hub or name in SOURCES:
        return Lack(name, f"{fetch} DATA={folder or '<folder>'}")
    return Lack(name, f"DATA=<folder> with {task.origin or name}: the columns are in docs/running.md")


def lacks_model(name, fetch, folder):
    """A Lack if a model is not at hand, else None."""
    if present(name, folder):
        return None
    on_hub = name.count("/") == 1
    config = try_to_load_from_cache(name, "config.json") if on_hub else None
    if isinstance(config, str) and has_weights(Path(config).parent):
        return None
    source, place = SOURCES.get(name), f"MODELS={folder or '<folder>'}"
    if source and not (source.hub and hub_answers()):
        consent = f" CONSENT={source.consent}" if source.consent else ""
        return Lack(name, f"{fetch} {place}{consent}")
    if not on_hub:
        return Lack(name, "MODELS=<folder> with its folder, as save_pretrained writes it")
    if name.startswith(GATED) and not get_token():
        return Lack(name, TERMS)
    return lacks_access(name) if hub_answers() else Lack(name, f"{fetch} {place}")


@cache
def lacks_access(name):
    """A Lack if the hub does not have a model or does not give it to this user, else None."""
    try:
        auth_check(name)
    except GatedRepoError:
        return Lack(name, TERMS)
    except RepositoryNotFoundError:
        return Lack(name, "a name that the hub has, or an HF_TOKEN that may read it")
    return None


def present(name, folder):
    """A line if a model is there, else ""."""
    place = Path(locate(name, folder))
    return f"is there ({place.name})" if has_weights(place) else ""


def has_weights(folder):
    """Whether a model's folder holds weights, and all of their files where an index names several."""
    if not (folder / INDEX).is_file():
        return any(folder.glob("*.safetensors"))
    files = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    return all((folder / name).is_file() and (folder / name).stat().st_size for name in files)


def screen(by_paper, units):
    """What is missing (`find`) of so many units, as text of one screen, one line a way to get it; or ""."""
    if not by_paper:
        return ""
    waiting, things = Counter(), {}
    lacking = [lacks for of in by_paper.values() for lacks in of.values()]
    for lacks in lacking:
        waiting.update(list(dict.fromkeys(lack.fix for lack in lacks)))  # each once, in order
        for lack in lacks:
            things.setdefault(lack.fix, {})[lack.what] = None
    said = {}
    for fix, _ in waiting.most_common():
        what = listed(list(filter(None, things[fix])), SHOWN)
        said[fix] = f"{fix} ({what})" if what else fix
    if units == len(waiting) == 1:  # one unit, one reason: one line
        return said[fix]
    lines = [f"{len(lacking)} of {units} units cannot run here and are left out. They wait for:"]
    lines += [f"{waiting[fix]:>4} units: {line}" for fix, line in said.items()]
    if any("make fetch" in fix for fix in waiting):
        lines.append("make fetch needs a network; where a node has none, run it elsewhere (docs/running.md).")
    return "\n".join(lines)
