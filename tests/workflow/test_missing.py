"""What units lack: data, models, terms, keys and programs, on one screen, with the line that gets each."""

import json
from pathlib import Path
from types import SimpleNamespace

import datasets
import grid
import missing
import pytest
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

from replication import papers

FETCH = "make fetch SCALE=mine"
HUB = "google-bert/bert-base-uncased"
GATED = "meta-llama/Llama-3.2-1B"
FACTS = {"task": "world_facts", "judge": ""}


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    """A machine without network, cache, data, models or keys; `monkeypatch` may give it some."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(missing, "hub_answers", lambda: False)
    monkeypatch.setattr(missing, "get_token", lambda: None)
    monkeypatch.setattr(missing, "try_to_load_from_cache", lambda *_: None)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def lacks(paper, **parameters):
    return missing.lacks(papers.card(paper), parameters, FETCH)


CASES = [  # paper, a unit's parameters, what it lacks and how to get it
    ("fmm", {"task": "sentiment", "model": "tiny-bert"}, []),
    ("ground_truth_2", {"task": "planted", "model": "tiny-bert"}, []),
    ("fmm", {"task": "sst2", "model": "tiny-bert"}, [("sst2", f"{FETCH} DATA=<folder>")]),
    ("fmm", {"task": "babi_1", "model": "tiny-bert"}, [("babi_1", f"{FETCH} DATA=<folder>")]),
    ("fmm", {"task": "mimic_anemia", "model": "bilstm"}, [("mimic_anemia", "DATA=<folder> with MIMIC-III")]),
    ("fmm", {"task": "sentiment", "model": HUB}, [(HUB, f"{FETCH} MODELS=<folder>")]),
    ("fmm", {"task": "sentiment", "model": "mine"}, [("mine", "MODELS=<folder> with its folder, as sa")]),
    ("noiser", FACTS | {"model": GATED}, [(GATED, "agree to its terms at https://huggingface.co/<name>")]),
    ("noiser", FACTS | {"model": "google/gemma-3-270m"},
     [("google/gemma-3-270m", f"{FETCH} MODELS=<folder> CONSENT=gemma")]),
    ("noiser", FACTS | {"model": "tiny-llama", "judge": "api:judge"}, [("", "judge='api:judge' is ")]),
    ("saloss", {"task": "sentiment", "model": "tiny-bert", "tagger": "no_such"}, [("", "tagger='no_such'")]),
]  # fmt: skip


@pytest.mark.parametrize(("paper", "parameters", "expected"), CASES)
def test_what_a_unit_lacks_has_the_line_that_gets_it(paper, parameters, expected):
    gaps = lacks(paper, **parameters)
    assert [lack.what for lack in gaps] == [what for what, _ in expected]
    assert all(lack.fix.startswith(fix) for lack, (_, fix) in zip(gaps, expected, strict=True))


def test_what_is_at_hand_is_not_asked_for(tmp_path, monkeypatch):
    for file in ("models/bert-base-uncased/config.json", "models/bert-base-uncased/model.safetensors",
                 "cache/nyu-mll___glue/x", "checkpoints/judges/kept.json"):  # fmt: skip
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text("{}")
    fmm = papers.card("fmm")
    assert not missing.lacks(fmm, {"task": "sst2", "model": HUB}, FETCH, model_dir="models")
    assert not lacks("noiser", **FACTS | {"model": "tiny-llama", "judge": "api:judge"})
    gaps = missing.lacks(fmm, {"task": "sst2", "model": "tiny-bert"}, FETCH, data_dir="models")
    assert gaps == [("sst2", f"{FETCH} DATA=models")]  # a folder is asked alone, not the cache
    config = str(tmp_path / "models/bert-base-uncased/config.json")
    monkeypatch.setattr(missing, "try_to_load_from_cache", lambda *_: config)
    assert not lacks("fmm", task="sentiment", model=HUB)


@pytest.mark.parametrize(
    ("error", "tips"),
    [
        (None, []),
        (GatedRepoError, ["agree to its terms"]),
        (RepositoryNotFoundError, ["a name that the hub has"]),
    ],
)
def test_a_hub_that_answers_is_asked_for_access(monkeypatch, error, tips):
    def auth_check(name):
        if error:
            raise error("no", response=SimpleNamespace(headers={}, request=None))

    monkeypatch.setattr(missing, "hub_answers", lambda: True)
    monkeypatch.setattr(missing, "get_token", lambda: "key")
    monkeypatch.setattr(missing, "auth_check", auth_check)
    missing.lacks_access.cache_clear()
    gaps = lacks("noiser", task="wikibio", tokens=10, model=GATED, judge="")
    assert [lack.fix.startswith(start) for lack, start in zip(gaps, tips, strict=True)] == [True] * len(tips)
    missing.lacks_access.cache_clear()


def test_the_screen_counts_units_by_what_they_wait_for_and_leaves_out_what_is_done():
    units = {f"sst2.{name}.s{seed}": {"task": "sst2", "model": model, "seed": seed, "scale": "mine",
                                      "options": ""}  # which records from before that parameter lack
             for name, model in (("tiny-bert", "tiny-bert"), ("bert", HUB)) for seed in (0, 1)}  # fmt: skip
    record = Path("results/mine/fmm/sst2.bert.s1.json")
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"params": {"task": "sst2", "model": HUB, "seed": 1}}))
    entries = {"fmm": grid.Paper(papers.card("fmm"), "", "", units)}
    waiting = missing.find(entries, "mine", {})
    assert list(waiting["fmm"]) == ["sst2.tiny-bert.s0", "sst2.tiny-bert.s1", "sst2.bert.s0"]
    assert missing.screen(waiting, 4).splitlines() == [
        "3 of 4 units cannot run here and are left out. They wait for:",
        "   3 units: make fetch SCALE=mine DATA=<folder> (sst2)",
        f"   1 units: make fetch SCALE=mine MODELS=<folder> ({HUB})",
        "make fetch needs a network; where a node has none, run it elsewhere (docs/running.md).",
    ]
    assert missing.screen({}, 4) == ""
    record.write_text(json.dumps({"params": {"task": "sst2", "model": HUB, "seed": 9}}))
    assert len(missing.find(entries, "mine", {})["fmm"]) == 4
