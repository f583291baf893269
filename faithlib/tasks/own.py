"""`load_data`: a task by its name, or anyone's file, folder, table or list of texts, as a `Loaded`."""

from collections.abc import Sequence
from typing import Any

from faithlib.tasks.loading import Loaded, check_sizes, load, loaded, subsets
from faithlib.tasks.table import TASKS, Task
from faithlib.tasks.tables import read


def load_data(
    source: Any,
    text: str = "text",
    text_b: str | None = None,
    label: str | None = None,
    evidence: str | None = None,
    target: str | None = None,
    contrast: str | None = None,
    labels: Sequence[str] | None = None,
    **settings: Any,
) -> Loaded:
    """Load a data set: a task by its name, or one's own data.

    Args:
        source: a name of `tasks.TASKS` (then the settings are those of `tasks.load`); a parquet, csv, tsv or
            jsonl file; a folder with `<split>.<format>` of them, the splits being train, validation and test;
            a DataFrame, a `datasets.Dataset`, or {split: table}; or a list of texts. A single table is the
            split "test".
        text: the column of texts, or of prompts.
        text_b: the column of auxiliary texts, which are never masked or scored.
        label: the column of labels: names, or whole numbers from 0.
        evidence: the column of what decides each text: indices of words, spans of characters [(start, end)],
            or substrings; they become indices of words of `text.split()`.
        target: of prompts, the column of answers, of one or several tokens.
        contrast: of prompts, the column of the other answers: p(target) − p(contrast) is explained.
        labels: the names of the classes in their order; by default those that the data name, sorted.
        settings: of `tasks.load`; of one's own data `sizes`, {split: rows drawn}, and `seed`.

    Returns:
        A `Loaded`, with the columns text, text_b, label and evidence, or text, target and contrast.

    Raises:
        ValueError: a source or setting of the wrong kind, a column that is missing or occurs twice, texts,
            labels or answers that are missing or of the wrong type, labels that are not in `labels`, evidence
            that is not in its text, a split without rows, a file of another format.
        FileNotFoundError: no such file, or a folder without data.

    Example:
        >>> import pandas as pd
        >>> reviews = pd.DataFrame({"review": ["great film", "boring"], "stars": ["good", "bad"]})
        >>> data = load_data(reviews, text="review", label="stars")
        >>> data.task.labels, data.splits["test"][0]
        (('bad', 'good'), {'text': 'great film', 'text_b': '', 'label': 1})
    """
    named = {"text": text, "text_b": text_b, "label": label, "evidence": evidence, "target": target}
    named |= {"contrast": contrast}
    if isinstance(source, str) and source in TASKS:
        if needless := [k for k, v in {**named, "labels": labels}.items() if v not in (None, "text")]:
            raise ValueError(
                f"{needless[0]} is for data of your own, task {source!r} has its columns: leave it out, or "
                f"write ./{source} for a file or folder of this name"
            )
        return load(source, **settings)
    if other := set(settings) - {"sizes", "seed"}:
        raise ValueError(f"{sorted(other)[0]} is for a task by its name: own data take only sizes and seed")
    seed = settings.get("seed", 0)
    sizes = check_sizes(Task("own", ""), settings.get("sizes"), seed)
    task, frames, origin = read(source, labels, **named)
    if unknown := [split for split in sizes if split not in frames]:
        raise ValueError(f"sizes[{unknown[0]!r}]: {task.title} has only {', '.join(frames)}: leave it out")
    frames, _, origin = subsets(task, frames, sizes, seed, origin)
    return loaded(task, frames, {**origin, "task": task.name, "paper": None})
