"""Published files of data sets, made into the files that the project reads: steps of `sources.yaml`."""

import ast
import json
import re
from pathlib import Path

import pandas as pd

from faithlib.store import write_parquet
from faithlib.tasks import TASKS

SPLITS = {"train": "train", "validation": "dev", "test": "test"}  # of files of abstracts
ABSTRACTS = {"document": "text", "query": "text_b", "rationale": "rationale_spans"}


def babi(parts, made, file):
    """Write a bAbI text file as a table: of each question the story so far and the supporting sentences."""
    source = next(parts.glob(f"*/qa*_{Path(file).stem}.txt"))
    answers, rows, story, numbers = TASKS["babi_1"].labels, [], [], []
    for line in source.read_text(encoding="utf-8").splitlines():
        number, _, rest = line.partition(" ")
        if number == "1":
            story, numbers = [], []
        question, *answer = rest.split("\t")
        if answer:
            support = [numbers.index(int(fact)) for fact in answer[1].split()]
            row = {"text": " ".join(story), "text_b": question.strip(), "label": answers.index(answer[0])}
            rows.append(row | {"supporting_sentences": str(support)})
        else:
            story.append(rest.strip())
            numbers.append(int(number))
    write_parquet(made / file, pd.DataFrame(rows))


def abstracts(parts, made, file):
    """Write one split of Evidence Inference, abstracts alone, as a table with our columns."""
    source = next(parts.glob(f"*/{SPLITS[Path(file).stem]}.csv"))
    frame = pd.read_csv(source, dtype={"doc_id": str}, keep_default_na=False).rename(columns=ABSTRACTS)
    columns = ["text", "text_b", "label", "doc_id", "annotation_id", "rationale_spans"]
    write_parquet(made / file, frame[columns])


def facts(parts, made, file):
    """Write the facts of Knowns as a table."""
    rows = json.loads(next(parts.glob("*/*.json")).read_text(encoding="utf-8"))
    write_parquet(made / file, pd.DataFrame(rows))


def analogies(parts, made, file):
    """Write LongRA: Google's word pairs in the templates of Vafa et al. (2021), one prompt a pair."""
    templates = read_templates(next(parts.glob("*/*.py")).read_text(encoding="utf-8"))
    pairs = {}  # {(kind, A, B): None}, each pair once, in the order of the file
    for line in next(parts.glob("*/*.txt")).read_text(encoding="utf-8").splitlines():
        if line.startswith(":"):
            kind = line.split()[1]
        else:
            a, b, c, d = line.split()
            pairs |= {(kind, a, b): None, (kind, c, d): None}
    write_parquet(made / file, pd.DataFrame([prompt(kind, templates[kind], a, b) for kind, a, b in pairs]))


def read_templates(source):
    """{kind of analogy: template}, from the assignments of a Python source, which is not run."""
    templates = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            keys = [part.value for part in ast.walk(node.targets[0]) if isinstance(part, ast.Constant)]
            if "template" in keys:
                templates[next(key for key in keys if key != "template")] = node.value.value
    return templates


def prompt(kind, template, a, b):
    """One row of LongRA; `prompt_noiser` is the released prompt, from which " [A]" is always cut."""
    text, last = template[:-4], template[-3:]  # a blank and the word that is asked for
    target, antecedent = (a, b) if last == "[A]" else (b, a)
    filled = text.replace("[A]", a).replace("[B]", b)
    distractor = re.search(r"\(.*\)\.", filled)[0]
    return {
        "type": kind,
        "prompt": filled,
        "target": target,
        "antecedent": antecedent,
        "distractor": distractor,
        "prompt_no_distractor": filled.replace(f"{distractor} ", ""),
        "prompt_noiser": template.replace(" [A]", "").replace("[B]", b),
        "noiser_prompt_ok": last == "[A]",
    }


def stories(parts, made, file):
    """Write TinyStories, whose paragraphs two line ends divide and whose stories one, a story a row."""
    text = next(parts.glob("*/*.txt")).read_text(encoding="utf-8")
    rows = [story.strip() for story in re.split(r"(?<!\n)\n(?!\n)", text)]
    write_parquet(made / file, pd.DataFrame({"text": [story for story in rows if story]}))


def vectors(parts, made, file):
    """Take a text of word vectors as it is, if it has the words that its header counts, and whole lines."""
    path, count, last = next(parts.glob("*/*")), 0, ""
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = next(lines).split()
        for count, last in enumerate(lines, 1):  # noqa: B007 (what is left of the last)
            pass
    header = len(first) == 2 and all(field.isdecimal() for field in first)
    words, width = map(int, first) if header else (count, len(first) - 1)
    numbers = [float(number) for number in last.split()[-width:]]
    if (count, len(numbers)) != (words, width):
        raise ValueError(f"{count} vectors, the last of {len(numbers)} numbers, not {words} of {width}")
    path.rename(made / file)


STEPS = (babi, abstracts, facts, analogies, stories, vectors)
