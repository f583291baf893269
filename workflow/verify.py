"""Check what is committed under results/ and figures/: hashes anew, tables and figures anew, byte for byte.

    python workflow/verify.py                   every committed scale and paper; papers=fmm: this one
    python workflow/verify.py data_dir=<folder> the hashes of real data sets as well

No model is run. A record must be as it was written (by its own hashes; one of format 1 as git has it) and
fit its files, its code the commit that it names, its data what the loader gives. Each report is executed on a
copy of the committed records, and must give the committed tables and figures, and the outputs that it was
saved with, if they are of that scale. Each row of a table that names a data set and a model must have a
record of them. The verdicts in cards and README must be those of the committed claims, the papers' tables
those of notebooks/published.sha256, and records under results/archive/, where they were fetched from the
release, those of results/archive.sha256. Everything that differs is named; then the exit status is 1.
"""

import filecmp
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path, PurePosixPath

import execute
import grid
import pandas as pd
from stale import ask_git

from faithlib import provenance, store, tasks
from replication import cards, papers, results
from replication.__main__ import COMMITTED
from replication.parameters import cells, defaults
from replication.printed import DERIVED
from replication.records import scale_of
from replication.tables import unit_columns

SHOWN = {".csv", ".png"}  # what is committed; PDF, SVG, LaTeX and HTML are made on demand
ARCHIVE = Path("results/archive")
SUMS = Path("notebooks/published.sha256")  # of the tables copied from the papers, as sha256sum writes it


def committed():
    """The files of results/ and figures/ that git knows, or all of them where there is no git."""
    if (names := ask_git("ls-files", "-z", "results", "figures")) is not None:
        return [Path(name) for name in names.split("\0") if name]
    return [path for folder in ("results", "figures") for path in Path(folder).rglob("*") if path.is_file()]


def by_paper(files):
    """{(scale, paper): (record files, tables and figures)} of those that belong to a paper."""
    by_key = {}
    for path in files:
        if len(path.parts) < 4 or not scale_of(path):
            continue
        records, outputs = by_key.setdefault(path.parts[1:3], ([], []))
        if path.parts[0] == "results" and len(path.parts) == 4 and path.suffix in (".json", ".parquet"):
            records.append(path)
        elif is_shown(path):
            outputs.append(path)
    return by_key


def is_shown(path):
    """Whether a path, from results/ or figures/ on, is of a table, of claims or choices, or of a figure."""
    return path.suffix in SHOWN and (
        path.parts[0] == "figures" or path.parts[3] == "tables" or path.stem in ("claims", "choices")
    )


@cache
def edited():
    """Files under results/ that differ from what git holds; none where there is no git."""
    return set((ask_git("diff", "--name-only", "-z", "--", "results") or "").split("\0"))


@cache
def code_of(commit):
    """What `provenance.code_digest()` was at a commit; None where git does not have it."""
    names = ask_git("ls-tree", "-r", "--name-only", commit, "notebooks") or ""
    of_papers = [name for name in names.splitlines() if provenance.paper_of(name)]  # what computes there
    done = subprocess.run(["git", "archive", commit, "faithlib", *of_papers], capture_output=True)
    if done.returncode:
        return None
    hashes = {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            if member.name.endswith((".py", ".toml")):
                content = archive.extractfile(member).read()
                hashes[PurePosixPath(member.name)] = hashlib.sha256(content).hexdigest()
    paths = sorted(hashes, key=lambda path: (path.parts[0] != "faithlib", path))  # the library's first
    return results.digest([(str(path).removeprefix("faithlib/"), hashes[path]) for path in paths])


def without_hashes(data, data_dir):
    """Why the hashes of a record's data cannot be checked; "" where they can."""
    if "task" not in data:
        return "which the unit generates itself"
    if data["source"] == "file":
        return "a file of the user's own"
    return "" if data_dir or data["source"] == "generated" else "which need data_dir=<folder>"


def check_record(path, data_dir=""):
    """(what is wrong with a record: lines, what could not be checked: pairs of its path and what)."""
    try:
        record = results.read_record(path)
        if Path(path).read_text(encoding="utf-8") != store.as_text(record):
            return [f"{path}: is not as it was written: its JSON was edited"], []
        if "sha256" not in record and Path(path).as_posix() in edited():
            return [f"{path}: is not what git has, and of format 1, which has no hash of its own"], []
        params, provenance = record["params"], record["provenance"]
        commit, code, data = provenance["git"], provenance["code"], provenance["data"]
    except (ValueError, OSError) as error:
        return [f"{path}: {error}"], []
    except KeyError as error:
        return [f"{path}: its provenance has no {error}"], []
    wrong, unchecked = [], []
    if provenance["dirty"] or not commit or (then := code_of(commit)) is None:
        unchecked.append((path, f"the hash of its code, which is no commit that git has ({commit})"))
    elif then != code:
        wrong.append(f"{path}: faithlib at {commit[:12]} has hash {then[:12]}, the record says {code[:12]}")
    if reason := without_hashes(data, data_dir):
        return wrong, [*unchecked, (path, f"the hashes of its data, {reason}")]
    card = papers.card(data["paper"]) if data["paper"] else None
    seed = data.get("subset_seed", data.get("seed", params["seed"]))
    loaded = tasks.load(data["task"], card, data_dir or None, seed, data["rows"])
    for split, digest in loaded.provenance["sha256"].items():
        if digest != (recorded := data["sha256"][split]):
            what = f"the {split} split of {data['task']}"
            wrong.append(f"{path}: {what} has hash {digest[:12]}, the record says {recorded[:12]}")
    return wrong, unchecked


def redraw(scale, paper, files, folder):
    """Execute a report on a copy of the scale's committed records, in `folder`; the executed notebook."""
    config = Path("config", f"{scale}.yaml")  # it says which of them a report shows
    for path in [*files, *([config] if config.is_file() else [])]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path)
    return execute_report(scale, paper, folder / "results", folder)


def execute_report(scale, paper, records, folder):
    """Execute a report on the folder of records, its figures and itself into `folder`; the notebook."""
    places = {"results_dir": str(records), "figures_dir": str(folder / "figures")}
    report = f"notebooks/{paper}/report.ipynb"
    execute.run(report, str(folder / f"{paper}.ipynb"), {"scale": scale, **places})
    return folder / f"{paper}.ipynb"


def saved(notebook):
    """(its scale, the outputs of each code cell) of a notebook; outputs are [] where none were saved."""
    injected = "injected-parameters"
    values = defaults(notebook) | defaults(notebook, injected)
    outputs = [c["outputs"] for c in cells(notebook) if injected not in c["metadata"].get("tags", [])]
    return values.get("scale", ""), outputs if any(outputs) else []


def plain(outputs, folder=None):
    """A cell's outputs as one text: streams joined, without addresses in memory and paths into `folder`.

    Bars of progress, which a slower machine shows, and ids of tables count for nothing.
    """
    streams, others = {}, []
    for output in outputs:
        if output["output_type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + "".join(output["text"])
        else:
            kinds = output.get("data", {}).items()
            data = {kind: "".join(v) if isinstance(v, list) else v for kind, v in kinds}
            others.append({**output, "data": data, "execution_count": None})
    streams = {name: execute.BAR.sub("", text).strip() for name, text in streams.items()}
    streams = {name: text for name, text in streams.items() if text}
    text = json.dumps([streams, others], sort_keys=True, ensure_ascii=False)
    text = text.replace(f"{folder}/", "") if folder else text
    return re.sub(r"\b(0x|T_)[0-9a-f]+", r"\1", text)


def unlike(report, drawn, scale, folder):
    """(differences, what could not be checked) of the outputs saved in a report and those it has now."""
    of, outputs = saved(report)
    if not outputs:
        return [], [(report, "it was saved without outputs")]
    if of != scale:
        return [], [(report, f"its saved outputs, which are of the {of} scale")]
    new = saved(drawn)[1]
    return [
        f"{report}: the saved output of code cell {number} is not what the records give"
        for number, (old, now) in enumerate(zip(outputs, new, strict=True), 1)
        if plain(old) != plain(now, folder)
    ], []


def differences(outputs, folder):
    """One line for each table or figure that is not, byte for byte, the one drawn anew."""
    _, others, absent = filecmp.cmpfiles("", folder, outputs, shallow=False)
    lines = [f"{path} is not what its records give" for path in others]
    for path in absent:
        no_more = "is not what the report makes now: it makes no such file"
        lines.append(f"{path} {no_more if path.is_file() else 'is committed and gone'}")
    return sorted(lines)


def nowhere(table, records):
    """Data set, model and, where it is there, seed of rows of a table of which there is no record."""
    table = table.rename(columns={"task": "dataset"})
    keys = [key for key in ("dataset", "model", "seed") if key in table]
    if not {"dataset", "model"} <= set(keys):
        return []  # such a row is over all records of the paper
    table = table[table["dataset"] != "all"].copy()  # and so is a mean over data sets
    recorded = {tuple(unit_columns(record)[key] for key in keys) for record in records}
    table["dataset"], table["model"] = table.dataset.map(str), [results.slug(str(m)) for m in table.model]
    return sorted(set(table[keys].itertuples(index=False, name=None)) - recorded)


def verify(scale, paper, files, data_dir=""):
    """(differences, what could not be checked) for one paper at one scale."""
    records, outputs = files[scale, paper]
    stems = [path for path in records if path.suffix == ".json"]
    if not stems:
        return [], [(path, "a table without committed records") for path in outputs if path.suffix == ".csv"]
    wrong, unchecked = [f"{path} is committed and gone" for path in records if not path.is_file()], []
    for path in stems:
        more, unsure = check_record(path, data_dir)
        wrong, unchecked = wrong + more, unchecked + unsure
    if wrong:
        return [*wrong, f"results/{scale}/{paper} is not drawn anew, as its records are not whole"], unchecked
    if not outputs:
        return [], [*unchecked, (f"results/{scale}/{paper}", "its records, which no committed table has yet")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            of_scale = [path for key, (paths, _) in files.items() if key[0] == scale for path in paths]
            drawn = redraw(scale, paper, of_scale, folder)
        except SystemExit as error:
            if isinstance(error.code, int):  # it was stopped by a signal
                raise
            return [error.code], unchecked
        made = [p.relative_to(folder) for p in folder.glob(f"*/{scale}/{paper}/**/*") if p.is_file()]
        new = sorted(set(filter(is_shown, made)) - set(outputs))
        wrong = [*differences(outputs, folder), *(f"{path} is made now, and not committed" for path in new)]
        more, unsure = unlike(f"notebooks/{paper}/report.ipynb", drawn, scale, folder)
        wrong, unchecked = wrong + more, unchecked + unsure
        loaded = [json.loads(path.read_text(encoding="utf-8")) for path in stems]
        for path in sorted(folder.glob(f"results/{scale}/{paper}/tables/*.csv")):
            lost = [] if path.stem in DERIVED else nowhere(pd.read_csv(path), loaded)
            wrong += [f"{path.relative_to(folder)}: no record of {row}" for row in lost]
    return wrong, unchecked


def unlike_listed(sums, files, fix):
    """Files that are not those of a list of hashes, as sha256sum writes it: one line each."""
    there = {path.as_posix(): store.file_digest(path) for path in files}
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.is_file() else []
    listed = {name: digest for digest, name in map(str.split, lines)}
    changed = [name for name in sorted({*listed, *there}) if listed.get(name) != there.get(name)]
    return [f"{name}: is not what {sums} lists: {fix}" for name in changed]


def transcribed():
    """The published tables that are not as SUMS has them: one line each."""
    fix = "look it up in the paper, then write the hash with sha256sum"
    return unlike_listed(SUMS, Path("notebooks").glob("*/published/*.csv"), fix)


def archived():
    """The files of results/archive/, which a release has and no report reads, that were changed or lost."""
    files = [path for kind in ("json", "parquet") for path in ARCHIVE.rglob(f"*.{kind}")]
    sums = ARCHIVE.with_suffix(".sha256")
    return unlike_listed(sums, files, "take it from the release") if files else []


def unwritten():
    """Which cards, and whether the README, do not say what the committed claims say: one line each."""
    line = f"its verdicts are not those of claims.csv: run `python -m replication {COMMITTED} --cards`"
    return [f"{path}: {line}" for path, (text, new) in cards.pages(scale=COMMITTED).items() if text != new]


def summed_up(pairs):
    """Lines "path: what" of pairs of them, those that say the same of several paths as one.

    >>> summed_up([("a.json", "its data"), ("b.json", "its data"), ("report.ipynb", "its outputs")])
    ['a.json and 1 more: its data', 'report.ipynb: its outputs']
    """
    paths = {}
    for path, what in pairs:
        paths.setdefault(what, []).append(str(path))
    return [f"{results.listed(of, 1)}: {what}" for what, of in paths.items()]


def each(files, data_dir, wanted=None):
    """(scale, paper, what `verify` returns) of all or the wanted papers, verified on all cores."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of each process, as when reports were drawn
    keys = [key for key in sorted(files) if wanted is None or key[1] in wanted]
    scales, names = zip(*keys, strict=True)
    with ProcessPoolExecutor(min(len(files), os.cpu_count()), get_context("spawn")) as pool:
        # where one fails, what waits is cancelled
        lines = pool.map(verify, scales, names, repeat(files), repeat(data_dir))
        yield from zip(scales, names, lines, strict=True)


def main(arguments):
    _, wanted, paths = grid.options(grid.of_arguments(arguments))
    files = committed()
    by_key, bad = by_paper(files), 0
    if not by_key:
        raise SystemExit(f"{Path.cwd()} has no committed results: there was nothing to verify")
    if unknown := set(wanted or ()) - {paper for _, paper in by_key}:
        raise ValueError(f"papers={min(unknown)}: nothing of it is committed")
    for scale, paper, (wrong, unchecked) in each(by_key, paths.get("data_dir", ""), wanted):
        records, outputs = by_key[scale, paper]
        made = f"{len(records)} files of records, {len(outputs)} tables and figures"
        lines = [*wrong, *(f"not checked: {line}" for line in summed_up(unchecked))]
        print(f"{scale}/{paper}: {made}, {len(wrong)} differences", *lines, sep="\n  ", flush=True)
        bad += len(wrong)
    others = {"archive": archived(), "published tables": transcribed(), "cards and README": unwritten()}
    for name, wrong in others.items():
        print(f"{name}: {len(wrong)} differences", *wrong, sep="\n  ")
        bad += len(wrong)
    if bad:
        raise SystemExit(f"{bad} differences: run `make results` of that scale, or take the files from git")


if __name__ == "__main__":
    execute.command(main)
