"""Data sets of addresses: tiny archives of the published form become the rows that papers read."""

import io
import json
import shutil
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import fetch
import packages
import pandas as pd
import pytest
from sources import SOURCES, Source, Step
from toy import ROOT
from wrong import refusal, refused

from faithlib import tasks
from faithlib.store import file_digest
from faithlib.tasks.loading import hash_rows
from replication import papers

REAL = ROOT.parent / "shared" / "data"
STORY = """1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Mary went back to the office.
5 Where is Mary? \toffice\t4
1 Sandra journeyed to the garden.
2 Where is Sandra? \tgarden\t1
"""
CSV = """annotation_id,doc_id,document,label_id,query,rationale,label,exp_split
7_0,7,"TITLE : A , ""b"" ABSTRACT : no change",no significant difference,I || C || O,"[(2, 5)]",0,dev
7_1,7,"TITLE : A ABSTRACT : more",significantly increased,I || NA || P,"[(3, 5)]",2,dev
"""
FACTS = [{"known_id": 0, "subject": "Vinson", "prompt": "Vinson is in", "attribute": "Antarctica"}]
FACTS[0]["relation_id"] = "P30"
PAIRS = """: family
boy girl brother sister
boy girl king queen
: gram7-past-tense
dancing danced flying flew
"""
TEMPLATES = """import nothing_of_this
def fill(all_analogies):
  all_analogies['family']['template'] = (
    "I saw my [A]. (A song "
    "came on). I saw my [B]")
  all_analogies['gram7-past-tense']['template'] = "I [B]. (I sat). No more [A]"
  all_analogies['currency']['b'][6] = 'Won'
"""
TALES = "One day.\n\nShe ran.\nOnce upon\n\na time.\n"
FILES = {  # of each row of the table: what its addresses answer, {file: text}
    "babi_1": {"tasks/en-10k/qa1_a_train.txt": STORY, "tasks/en-10k/qa1_a_test.txt": STORY,
               "tasks/en/qa1_a_test.txt": "1 other\n"},
    "evidence_inference": {"train.csv": CSV, "dev.csv": CSV, "test.csv": CSV},
    "knowns": {"known_1000.json": json.dumps(FACTS)},
    "longra": {"questions-words.txt": PAIRS, "data_utils.py": TEMPLATES},
    "wikitext_prompts": {"wikitext.txt": "Super Mario Land is\nThe island\n"},
    "tinystories": {"tiny_stories.txt": TALES},
    "wiki.simple.vec": {"wiki.simple.vec": "2 3\nthe 1 2 3 \na 0.5 -1 0 \n"},
    "glove.840B.300d.txt": {"glove.840B.300d.txt": "the 1 2\n. . . 3 4\n"},
}  # fmt: skip


@pytest.fixture
def row(tmp_path, monkeypatch):
    """row(name): a row of the table whose addresses are tiny files of the same form in a folder."""

    def make(name):
        source, files = SOURCES[name], FILES[name]
        if source.kind == "vectors" and source.members:
            paths = [tmp_path / "v.zip"]
            with zipfile.ZipFile(paths[0], "w") as target:
                for path, text in files.items():
                    target.writestr(path, text)
        elif source.members:
            archive = tmp_path / f"{name}.tar.gz"
            with tarfile.open(archive, "w:gz") as target:
                for path, text in files.items():
                    member = tarfile.TarInfo(path)
                    member.size = len(text.encode())
                    target.addfile(member, io.BytesIO(text.encode()))
            paths = [archive]
        else:
            paths = [tmp_path / file for file in files]
            for path, text in zip(paths, files.values(), strict=True):
                path.write_text(text)
        links = {path.as_uri(): file_digest(path) for path in paths}
        steps = tuple(step._replace(sha256="") for step in source.steps)
        tiny = replace(source, links=links, steps=steps, megabytes=1, rows={})
        monkeypatch.setitem(SOURCES, name, tiny)
        (tmp_path / "data").mkdir(exist_ok=True)
        return tiny, paths[0], tmp_path / "data"

    return make


CASES = [  # data set, a paper that reads it, split, rows that it holds
    ("babi_1", "fmm", "train", [
        {"text": "Mary moved to the bathroom. John went to the hallway.", "label": 0,
         "evidence": [0, 1, 2, 3, 4]},
        {"text": "Mary moved to the bathroom. John went to the hallway. Mary went back to the office.",
         "text_b": "Where is Mary?", "label": 5, "evidence": [10, 11, 12, 13, 14, 15]},
        {"text": "Sandra journeyed to the garden.", "text_b": "Where is Sandra?", "label": 2}]),
    ("evidence_inference", "saloss", "validation", [
        {"text": 'TITLE : A , "b" ABSTRACT : no change', "text_b": "I || C || O", "label": 0,
         "evidence": [2, 3, 4]},
        {"text_b": "I || NA || P", "label": 2}]),
    ("knowns", "noiser", "test", [{"text": "Vinson is in", "target": "Antarctica", "subject": "Vinson"}]),
    ("longra", "noiser", "test", [
        {"text": "I saw my boy. (A song came on). I saw my", "target": "girl", "antecedent": "boy",
         "distractor": "(A song came on).", "prompt_no_distractor": "I saw my boy. I saw my",
         "prompt_noiser": "I saw my. (A song came on). I saw my girl", "noiser_prompt_ok": False},
        {"target": "sister"}, {"target": "queen"},
        {"text": "I danced. (I sat). No more", "target": "dancing", "antecedent": "danced",
         "type": "gram7-past-tense", "prompt_noiser": "I danced. (I sat). No more", "noiser_prompt_ok": True},
        {"target": "flying"}]),
    ("wikitext_prompts", "noiser", "test", [{"text": "Super Mario Land is"}, {"text": "The island"}]),
    ("tinystories", "noiser", "test", [{"text": "One day. She ran."}, {"text": "Once upon\n\na time."}]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "paper", "split", "expected"), CASES)
def test_what_authors_publish_becomes_the_rows_that_a_paper_reads(row, name, paper, split, expected):
    source, _, folder = row(name)
    assert fetch.data_set(name, paper, str(folder)).startswith("made from file://")
    recipe = replace(papers.card(paper).use(name).recipe, train=split, holdout=None)
    task, frames = tasks.TASKS[name], tasks.sources.read_mirror(tasks.TASKS[name], recipe, folder)[0]
    rows = tasks.sources.tidy(task, split, frames[split]).to_dict("records")
    assert len(rows) == len(expected)
    for made, wanted in zip(rows, expected, strict=True):
        assert {key: made[key] for key in wanted} == wanted
    assert fetch.data_set(name, paper, str(folder)) == "is there"
    assert json.loads(packages.origin_file(source, folder).read_text())["from"] == "addresses"


@pytest.mark.parametrize("name", ["glove.840B.300d.txt", "wiki.simple.vec"])
def test_vectors_are_kept_as_they_are(row, name):
    source, _, folder = row(name)
    assert packages.get(source, folder).startswith("made from")
    assert (folder / name).read_text() == FILES[name][name]


@pytest.mark.skipif(not REAL.is_dir(), reason="the data sets are not at hand")
@pytest.mark.parametrize("name", [name for name, row in SOURCES.items() if row.rows])
def test_the_digests_of_the_table_are_those_of_the_real_rows(name):
    source = SOURCES[name]
    splits = {split: of for split, of in source.rows.items() if of[1]}
    assert splits
    packages.check_rows(replace(source, rows=splits), packages.home(source, REAL))


def shorten(path):
    """Cut a file after 60 bytes."""
    path.write_bytes(path.read_bytes()[:60])


def no_digest(row, path):
    """A cut archive of an address whose digest nobody knows."""
    shorten(path)
    return replace(row, links={path.as_uri(): ""})


def other_rows(row, path):
    """As many rows, but not those whose digest the table has."""
    frame = pd.DataFrame({"text": ["x"] * 3, "text_b": "y", "label": 0})
    return replace(row, rows={"train": (3, hash_rows(frame))})


BAD = [  # what becomes of a row and its file, what is told
    (lambda row, path: path.write_bytes(b"page"), "file://.* has the SHA-256"),
    (lambda row, path: shorten(path), "has the SHA-256 .*, not .*: fetch again, and if it stays so put"),
    (no_digest, "is no whole archive .*; fetch again"),
    (lambda row, path: path.unlink(), "cannot be fetched .*: check the network; fetch again"),
    (lambda row, path: replace(row, rows={"train": (9, "")}), "before: train has 3 rows, not 9; fetch again"),
    (other_rows, "the 3 rows of train are others; fetch again"),
    (lambda row, path: replace(row, members=("*/qa2_*",)), "has no .*qa2_.*: correct workflow/sources.yaml"),
    (lambda row, path: replace(row, steps=(Step("facts", "test.parquet"),)), "it cannot be read"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD)
def test_a_source_that_answers_otherwise_is_one_line_and_leaves_nothing(row, spoil, message):
    source, path, folder = row("babi_1")
    spoiled = spoil(source, path)
    row = spoiled if isinstance(spoiled, Source) else source
    line = refused(message, packages.get, row, folder, error=(ValueError, OSError))
    assert "'babi_1'" in line and not any(folder.iterdir())


ANSWERS = {  # another answer than the whole file, as bytes of the whole one
    "cut": lambda whole: whole[: len(whole) * 2 // 3],
    "page": lambda whole: b"<!DOCTYPE html>\n<html><body>\nNot here any more.\n</body></html>\n",
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(("name", "number"), [(n, i) for n in FILES for i in range(len(SOURCES[n].links))])
def test_each_address_may_be_cut_or_answer_with_another_file(row, name, number, answer):
    """With the digests that the table has: of the addresses that have none, the form of the file must do."""
    tiny, _, folder = row(name)
    packages.get(tiny, folder)
    made = packages.home(tiny, folder)
    rows = {}
    for split, (_, digest) in SOURCES[name].rows.items():
        names = {theirs: ours for ours, theirs in tasks.TASKS[name].columns.items()}
        frame = pd.read_parquet(made / f"{split}.parquet").rename(columns=names)
        rows[split] = (len(frame), digest and hash_rows(frame))
    digests = zip(tiny.links.items(), SOURCES[name].links.values(), strict=True)
    source = replace(tiny, rows=rows, links={link: fixed and sha for (link, sha), fixed in digests})
    shutil.rmtree(folder)
    folder.mkdir()
    path = Path(unquote(urlsplit(list(source.links)[number]).path))
    path.write_bytes(ANSWERS[answer](path.read_bytes()))
    line = refusal(packages.get, source, folder, error=(ValueError, OSError))
    assert repr(name) in line and not any(folder.iterdir())
