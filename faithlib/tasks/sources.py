"""Rows of real data sets: from the hub or from a local mirror, as pandas frames with the columns of the vocabulary."""

import ast
import re

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


def needed(task, recipe, available):
    """Source splits that the recipe reads. A held-out validation split is made from train unless the source has one."""
    names = [source for source, _, _ in recipe.parts.values()]
    if recipe.holdout and "validation" not in available:
        names.remove("validation")
    return list(dict.fromkeys(names))


# The hub --------------------------------------------------------------------------------------------------------------


def read_hub(task, recipe):
    """Read the row's repository at its pinned revision. Returns ({source split: frame}, origin for the provenance)."""
    if task.credentialed:
        raise ValueError(
            f"task {task.name!r} needs credentials and is never downloaded: give data_dir, a folder with "
            f"{_wanted(task)}; source: {task.where}"
        )
    if task.hub is None:
        raise ValueError(
            f"task {task.name!r} has no script-free source on the hub: give data_dir, a folder with {_wanted(task)}; "
            f"source: {task.where}"
        )
    hub = task.hub
    available = ("validation",) if hub.has_validation else ()
    frames = {}
    for split in needed(task, recipe, available):
        try:
            rows = datasets.load_dataset(
                hub.id,
                hub.config,
                split=hub.splits.get(split, split),
                revision=hub.revision,
                data_files=hub.data_files,
            )
        except Exception as error:  # the hub fails in many ways, and for the user they are one
            raise ConnectionError(
                f"cannot read {hub.id!r} from the hub for task {task.name!r} ({_first_line(error)}): check the "
                f"network, or give data_dir, or run a generated task (scale quick)"
            ) from error
        frames[split] = rows.select_columns(list(hub.columns.values())).to_pandas()
        frames[split].columns = list(hub.columns)
    origin = {"hub_id": hub.id, "config": hub.config, "revision": hub.revision}
    return frames, origin


# A local mirror -------------------------------------------------------------------------------------------------------


def read_mirror(task, recipe, folder):
    """Read `<folder>/<name>/<split>.parquet`. Returns ({source split: frame}, origin for the provenance)."""
    if not folder.is_dir():
        raise FileNotFoundError(
            f"data_dir {str(folder)!r} is not a folder: give one with {_wanted(task)}"
        )
    paths = {split: folder / _file(task, split) for split in ("train", "validation", "test")}
    available = [split for split, path in paths.items() if path.is_file()]
    if not available:
        raise FileNotFoundError(
            f"data_dir {str(folder)!r} has no task {task.name!r}: give a folder with {_wanted(task)}"
        )
    splits = needed(task, recipe, available)
    for split in splits:
        if split not in available:
            raise FileNotFoundError(
                f"task {task.name!r} in data_dir {str(folder)!r} has no split {split!r} (it has "
                f"{', '.join(available)}): add {_file(task, split)}, or ask for a paper that does not need it"
            )
    frames = {split: _read_file(task, paths[split]) for split in splits}
    origin = {
        "folder": f"{folder.resolve().name}/{task.name}",
        "files": {s: paths[s].name for s in splits},
    }
    return frames, origin


def _file(task, split):
    return task.files.get(split, f"{task.name}/{split}.parquet")


def _wanted(task):
    """What a local mirror must hold, in words for an error message."""
    names = columns(task)
    types = {"label": f"int, 0 to {len(task.labels) - 1}"}
    listed = ", ".join(f"{theirs} ({types.get(ours, 'text')})" for ours, theirs in names.items())
    if task.kind == "prompts":
        return f"{_file(task, 'test')}" + ("" if task.files else f" and the columns {listed}")
    return f"{task.name}/<split>.parquet and the columns {listed}"


def columns(task):
    """{our column: mirror column} that a mirror of the task must have."""
    if task.kind == "prompts":
        return {"text": "text", **({"target": "target"} if task.columns else {}), **task.columns}
    return {"text": "text", **({"text_b": "text_b"} if task.auxiliary else {}), "label": "label"}


def _read_file(task, path):
    if path.suffix == ".txt":  # one prompt a line
        lines = path.read_text(encoding="utf-8").splitlines()
        return pd.DataFrame(
            {"text": [line.strip() for line in lines if line.strip()], "target": ""}
        )
    short = "/".join(path.parts[-2:])
    try:
        schema = pq.read_schema(path)
        wanted = _check_columns(task, short, schema)
        frame = pq.read_table(path, columns=wanted).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"cannot read {short!r} ({_first_line(error)}): the file is damaged or not parquet; copy it again"
        ) from error
    return frame.rename(columns={theirs: ours for ours, theirs in columns(task).items()})


def _check_columns(task, short, schema):
    """Columns to read; raises ValueError when one is missing or has the wrong type."""
    has = set(schema.names)
    for ours, theirs in columns(task).items():
        if theirs not in has:
            raise ValueError(
                f"{short!r} has no column {theirs!r} (it has {', '.join(schema.names)}): give {_wanted(task)}"
            )
        kind = schema.field(theirs).type
        good = pa.types.is_integer(kind) if ours == "label" else _is_text(kind)
        if not good:
            raise ValueError(
                f"column {theirs!r} of {short!r} is {kind}, not {'int' if ours == 'label' else 'text'}: "
                f"give {_wanted(task)}"
            )
    known = {"spans": "rationale_spans", "sentences": "supporting_sentences"}.get(task.evidence)
    return [*columns(task).values(), *(name for name in (*task.extras, known) if name in has)]


def _is_text(kind):
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


# What every source goes through ---------------------------------------------------------------------------------------


def tidy(task, split, frame):
    """Columns in their final form; raises ValueError for an empty text or a label out of range, with row numbers."""
    if task.unlabelled:
        frame = frame[frame["label"] != -1].reset_index(drop=True)
    if task.hub and task.hub.first_sentences and "target" not in frame:
        frame["text"] = [_first_sentences(text, task.hub.first_sentences) for text in frame["text"]]
    if len(frame) == 0:
        raise ValueError(f"split {split!r} of task {task.name!r} has no rows: check the file")
    for column in ("text", "text_b"):
        if column in frame:
            empty = frame.index[frame[column].fillna("").str.strip() == ""]
            if len(empty):
                raise ValueError(
                    f"split {split!r} of task {task.name!r} has {len(empty)} rows with an empty {column} "
                    f"(first: {', '.join(map(str, empty[:5]))}): remove or fill them"
                )
    if task.kind == "prompts":
        return frame if "target" in frame else frame.assign(target="")
    good = frame["label"].isin(range(len(task.labels)))
    if not good.all():
        bad = frame.index[~good]
        raise ValueError(
            f"split {split!r} of task {task.name!r} has {len(bad)} labels outside 0 to {len(task.labels) - 1} (first: "
            f"{frame['label'][bad[0]]} in row {bad[0]}): allowed are {_names(task)}"
        )
    if "text_b" not in frame:
        frame.insert(1, "text_b", "")
    return _evidence(task, frame.assign(label=frame["label"].astype(int)))


def _names(task):
    return ", ".join(f"{i} = {label}" for i, label in enumerate(task.labels))


def _first_sentences(text, count):
    return " ".join(re.split(r"(?<=[.!?])\s+", text.strip())[:count])


def _evidence(task, frame):
    """Replace the mirror's evidence column, if it has one, by `evidence`: word indices into text.split()."""
    if task.evidence == "spans" and "rationale_spans" in frame:
        spans = frame.pop("rationale_spans").map(ast.literal_eval)
        found = [sorted({i for a, b in row for i in range(a, b)}) for row in spans]
    elif task.evidence == "sentences" and "supporting_sentences" in frame:
        chosen = frame.pop("supporting_sentences").map(ast.literal_eval)
        found = [
            _sentence_words(text, row) for text, row in zip(frame["text"], chosen, strict=True)
        ]
    else:
        return frame
    return frame.assign(evidence=found) if any(found) else frame


def _sentence_words(text, chosen):
    """Indices of the words of the sentences numbered in `chosen`; a sentence ends with a word that ends with "."."""
    number, indices = 0, []
    for i, word in enumerate(text.split()):
        if number in chosen:
            indices.append(i)
        number += word.endswith(".")
    return indices


def _first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
