"""Rows of real data sets, from the hub or a local mirror, as pandas frames with our columns."""

import ast
import re

import datasets
import huggingface_hub
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from faithlib.progress import say_once
from faithlib.scores import first_line
from faithlib.tasks import columns
from faithlib.tasks.table import SPLITS

EVIDENCE = {"spans": "rationale_spans", "sentences": "supporting_sentences"}  # mirror columns
OURS = {"text_b": "auxiliary", "target": "columns", "contrast": "columns"}  # and the field of a task for it


def needed(task, recipe, available):
    """Source splits that the recipe reads; a validation split that it makes itself is not one."""
    names = [source for source, _, _ in recipe.parts.values()]
    if recipe.holdout and "validation" not in available:
        names.remove("validation")
    return list(dict.fromkeys(names))


# The hub ------------------------------------------------------------------------------------------


def read_hub(task, recipe):
    """Read the row's repository at its pinned revision: ({source split: frame}, provenance)."""
    hub = task.hub
    if hub is None:
        why = "has no script-free source on the hub"
        if task.credentialed:
            why = "needs credentials and is never downloaded"
        raise ValueError(
            f"task {task.name!r} {why}: give data_dir, a folder with {_wanted(task)}; "
            f"the rows come from {task.origin}"
        )
    frames = {}
    for split in needed(task, recipe, ("validation",) if hub.has_validation else ()):
        try:
            rows = _download(hub, hub.splits.get(split, split))
        except Exception as error:  # the hub fails in many ways, and for the user they are one
            raise ConnectionError(
                f"cannot read {hub.id!r} from the hub for task {task.name!r} "
                f"({first_line(error)}): check the network, or set HF_HUB_OFFLINE=1 to use what "
                f"is in the cache, or give data_dir, or run scale quick, which downloads nothing"
            ) from None  # its own traceback is hundreds of lines of sockets
        frame = rows.select_columns(list(hub.columns.values())).to_pandas()
        frame.columns = list(hub.columns)
        frames[split] = frame
    return frames, {"hub_id": hub.id, "config": hub.config, "revision": hub.revision}


def _download(hub, split):
    if not huggingface_hub.constants.HF_HUB_OFFLINE:  # fails at once; datasets would retry for 30 s
        huggingface_hub.dataset_info(hub.id, revision=hub.revision, timeout=10)
    pinned = {"revision": hub.revision, "data_files": hub.data_files}
    return datasets.load_dataset(hub.id, hub.config, split=split, **pinned)


def _first_sentences(text, count):
    return " ".join(re.split(r"(?<=[.!?])\s+", text.strip())[:count])


# A local mirror -----------------------------------------------------------------------------------


def read_mirror(task, recipe, folder):
    """Read `<folder>/<name>/<split>.parquet`: ({source split: frame}, provenance)."""
    paths = mirror_files(task, recipe, folder)
    frames = {split: _read_file(task, path) for split, path in paths.items()}
    return frames, {"folder": f"{folder.resolve().name}/{next(iter(paths.values())).parent.name}"}


def mirror_files(task, recipe, folder):
    """The files of a mirror that a recipe reads, checked but for their rows: {source split: path}."""
    if not folder.is_dir():
        raise FileNotFoundError(f"data_dir {str(folder)!r} is not a folder: give one with {_wanted(task)}")
    paths = {split: folder / _file(task, split) for split in SPLITS}
    available = [split for split, path in paths.items() if path.is_file()]
    if not available:
        raise FileNotFoundError(
            f"data_dir {str(folder)!r} has no task {task.name!r}: give a folder with {_wanted(task)}"
        )
    splits = needed(task, recipe, available)
    for split in splits:
        if split not in available:
            raise FileNotFoundError(
                f"data_dir {str(folder)!r} has no split {split!r} of task {task.name!r}, only "
                f"{', '.join(available)}: add {_file(task, split)}"
            )
    for split in splits:  # all files are checked before one is read
        if not paths[split].resolve().is_relative_to(folder.resolve()):
            raise ValueError(
                f"{_short(paths[split])!r} is a link to a file outside data_dir {str(folder)!r}: "
                f"copy the file there, or give the folder that it is in"
            )
        _check_columns(task, paths[split])
    return {split: paths[split] for split in splits}


def _file(task, split):
    return task.files.get(split, f"{task.name}/{split}.parquet")


def _columns(task):
    """{our column: mirror column} that a mirror of the task must have."""
    if task.kind == "prompts":
        return task.columns or {"text": "text"}
    ours = ["text", "text_b", "label"] if task.auxiliary else ["text", "label"]
    return {name: task.columns.get(name, name) for name in ours}


def _wanted(task):
    """What a mirror must hold, in words for an error message."""
    if task.files:
        rows = "a column text" if _file(task, "test").endswith(".parquet") else "one prompt a line"
        return f"{_file(task, 'test')}, {rows}"
    types = {"label": f"int, 0 to {len(task.labels) - 1}"}
    named = [f"{theirs} ({types.get(ours, 'text')})" for ours, theirs in _columns(task).items()]
    split = "test" if task.kind == "prompts" else "<split>"
    return f"{task.name}/{split}.parquet, columns {', '.join(named)}"


def _check_columns(task, path):
    if path.suffix != ".parquet":
        return
    schema = readable(path, pq.read_schema)
    for ours, theirs in _columns(task).items():
        if theirs not in schema.names:
            raise ValueError(
                f"{_short(path)!r} has no column {theirs!r}, only {', '.join(schema.names)}: "
                f"give {_wanted(task)}"
            )
        kind = schema.field(theirs).type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not (pa.types.is_integer(kind) if ours == "label" else text):
            raise ValueError(f"column {theirs!r} of {_short(path)!r} has type {kind}: give {_wanted(task)}")


def _read_file(task, path):
    if path.suffix != ".parquet":
        lines = path.read_text(encoding="utf-8").split("\n")  # splitlines() ends them at U+2028 too
        return pd.DataFrame({"text": [line.strip() for line in lines if line.strip()]})
    names = {theirs: ours for ours, theirs in _columns(task).items()}
    table = readable(path, pq.read_table)
    more = [n for n in (*task.extras, EVIDENCE.get(task.evidence)) if n in table.column_names]
    for unread in sorted(OURS.keys() & set(table.column_names) - {*names, *more}):
        of = f"the column {unread!r} of {_short(path)!r}"
        say_once(f"task {task.name!r} does not read {of}: register it with {OURS[unread]}=… if it should")
    return table.select([*names, *more]).to_pandas().rename(columns=names)


def readable(path, read):
    """read(path); ValueError, one line, for a file that is damaged or of another format."""
    try:
        return read(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"cannot read {_short(path)!r} ({first_line(error)}): the file is damaged or not "
            f"parquet; copy it again"
        ) from error


def _short(path):
    return "/".join(path.parts[-2:])


# What every source goes through -------------------------------------------------------------------


def tidy(task, split, frame):
    """The frame with its final columns; ValueError for an empty text or a label out of range."""
    if task.unlabelled:
        frame = frame[frame["label"] != -1].reset_index(drop=True)
    if len(frame) == 0:
        raise ValueError(f"split {split!r} of task {task.name!r} has no rows: fill its file")
    for column in ("text", "text_b"):
        if column in frame:
            columns.texts(frame[column], column, f"split {split!r} of task {task.name!r}")
    if task.first_sentences:
        frame = frame.assign(text=[_first_sentences(text, task.first_sentences) for text in frame["text"]])
    if task.kind == "prompts":
        return frame if "target" in frame else frame.assign(target="")
    _check_labels(task, split, frame["label"])
    if "text_b" not in frame:
        frame.insert(1, "text_b", "")
    return _evidence(task, frame.assign(label=frame["label"].astype(int)))


def _check_labels(task, split, labels):
    bad = labels.index[~labels.isin(range(len(task.labels)))]
    if len(bad):
        allowed = ", ".join(f"{i} = {label}" for i, label in enumerate(task.labels))
        raise ValueError(
            f"split {split!r} of task {task.name!r} has {len(bad)} labels out of range (first: "
            f"{labels[bad[0]]} in row {bad[0]}): allowed are {allowed}"
        )


def _evidence(task, frame):
    """Turn the mirror's evidence column, where it has one, into `evidence`: word indices."""
    name = EVIDENCE.get(task.evidence)
    if name not in frame:
        return frame
    words = [ast.literal_eval(value) for value in frame[name]]
    if task.evidence == "spans":
        words = [sorted({i for a, b in spans for i in range(a, b)}) for spans in words]
    else:
        words = [_words_of(*pair) for pair in zip(frame["text"], words, strict=True)]
    frame = frame.drop(columns=name)
    return frame.assign(evidence=words) if any(words) else frame


def _words_of(text, sentences):
    """Indices of the words of the numbered sentences; a word that ends with "." ends a sentence."""
    number, indices = 0, []
    for i, word in enumerate(text.split()):
        if number in sentences:
            indices.append(i)
        number += word.endswith(".")
    return indices
