"""Odd configs: each is refused in one line that tells the value, what is allowed and the fix."""

import re

import grid
import pytest
import yaml
from execute import fits
from toy import ROOT

from faithlib import options

UNITS = {  # the smallest that each paper accepts
    "attributions": {"task": "sentiment", "model": "tiny-bert", "seed": 0},
    "ground_truth": {"task": "planted", "model": "bilstm", "seed": 0},
    "ground_truth_2": {"task": "planted", "model": "tiny-bert", "seed": 0},
    "fmm": {"task": "sentiment", "model": "tiny-bert", "seed": 0},
    "noiser": {"task": "world_facts", "model": "tiny-llama", "seed": 0},
    "recursive_roar": {"task": "sentiment", "model": "bilstm", "seed": 0},
    "saloss": {"task": "sentiment", "model": "tiny-bert", "seed": 0},
    "soft_metrics": {"task": "sentiment", "model": "tiny-bert", "seed": 0},
}
NAN, INF = float("nan"), float("inf")
FIX = re.compile(
    r"\b(use|give|name|write|remove|leave|check|change|choose|add|say|it takes|did you mean|pair it)\b"
)

ODD = [  # paper, what its unit says, what the line tells: the value, and what is allowed
    # names of registries
    ("soft_metrics", {"attributions": ["atention"]}, ["'atention' is unknown", "attention"]),
    ("soft_metrics", {"attributions": []}, ["attributions = []", "at least one"]),
    ("soft_metrics", {"attributions": "attention"}, ["'attention' has the wrong type"]),
    ("soft_metrics", {"attributions": ["random"]}, ["'random' is unknown"]),
    ("soft_metrics", {"attributions": ["lime", "lime"]}, ["['lime', 'lime']", "twice"]),
    ("soft_metrics", {"perturbations": ["bernouli"]}, ["'bernouli' is unknown", "bernoulli"]),
    ("soft_metrics", {"perturbations": []}, ["perturbations = []"]),
    ("soft_metrics", {"definitions": ["papers"]}, ["'papers' is unknown", "'paper', 'released'"]),
    ("soft_metrics", {"definitions": []}, ["definitions = []"]),
    ("fmm", {"measures": ["gradient_l3"]}, ["'gradient_l3' is unknown", "gradient_l"]),
    ("fmm", {"measures": []}, ["measures = []"]),
    ("fmm", {"strategies": ["half/bth"]}, ["'half/bth' is unknown", "half/both"]),
    ("fmm", {"strategies": []}, ["strategies = []"]),
    ("fmm", {"explained": ["all/masked"]}, ["'all/masked' is unknown", "half/both"]),
    ("recursive_roar", {"measures": ["random", "attention"]}, ["'random' is unknown"]),
    ("saloss", {"saliences": ["textrank", "tf-idf"]}, ["'tf-idf' is unknown", "tfidf"]),
    ("saloss", {"saliences": ["tfidf"]}, ["['tfidf']", "'textrank' is missing"]),
    ("saloss", {"saliences": []}, ["saliences = []"]),
    ("saloss", {"removal": "erase"}, ["'erase' is unknown", "'mask', 'pad', 'delete'"]),
    ("noiser", {"boundings": ["k_maks"]}, ["'k_maks' is unknown", "k_max"]),
    ("noiser", {"boundings": ["k_min"]}, ["['k_min']", "always there"]),
    ("noiser", {"attributions": ["lime"]}, ["['lime']", "'noiser' is missing"]),
    ("attributions", {"attributions": ["limes"]}, ["'limes' is unknown", "lime"]),
    # ratios, counts, steps
    ("soft_metrics", {"ratios": [20]}, ["ratios = 20", "(0, 1]"]),
    ("soft_metrics", {"ratios": [NAN]}, ["nan", "finite"]),
    ("soft_metrics", {"ratios": [INF]}, ["inf", "finite"]),
    ("soft_metrics", {"ratios": []}, ["ratios = []"]),
    ("soft_metrics", {"ratios": [0]}, ["ratios = 0", "(0, 1]"]),
    ("soft_metrics", {"ratios": [0.1, 0.1]}, ["[0.1, 0.1]", "twice"]),
    ("soft_metrics", {"curve_ratios": [-0.3]}, ["curve_ratios = -0.3"]),
    ("fmm", {"ratios": [0.2, 0.5]}, ["[0.2, 0.5]", "wrong type"]),
    ("fmm", {"ratios": [50, 20]}, ["[50, 20]", "must increase"]),
    ("fmm", {"ratios": [50, 120]}, ["120", "100 at most"]),
    ("fmm", {"ratios": []}, ["ratios = []"]),
    ("recursive_roar", {"ratios": []}, ["ratios = []", "counts"]),
    ("recursive_roar", {"ratios": [0, 50]}, ["ratios = 0", "from 1 on"]),
    ("recursive_roar", {"counts": [3, 1]}, ["[3, 1]", "must increase"]),
    ("recursive_roar", {"counts": [-1]}, ["counts = -1"]),
    ("recursive_roar", {"recursive": []}, ["recursive = []"]),
    ("recursive_roar", {"recursive": ["yes"]}, ["['yes']", "wrong type"]),
    ("saloss", {"fresh_ratios": [2]}, ["fresh_ratios = 2", "(0, 1]"]),
    ("saloss", {"dtype": "auto"}, ["'auto'", "float32"]),
    # draws and numbers of things
    ("soft_metrics", {"ig_steps": 2.5}, ["2.5", "wrong type"]),
    ("soft_metrics", {"epochs": True}, ["True", "wrong type"]),
    ("soft_metrics", {"epochs": None}, ["None", "wrong type"]),
    ("soft_metrics", {"train_size": 10**6}, ["1000000", "50000"]),
    ("recursive_roar", {"dtype": "float16"}, ["'float16' is not for bilstm"]),
    ("noiser", {"examples": 20_000}, ["20000", "12500"]),
    # rates and weights
    ("soft_metrics", {"learning_rate": NAN}, ["nan", "finite"]),
    ("soft_metrics", {"learning_rate": INF}, ["inf", "finite"]),
    ("soft_metrics", {"learning_rate": "1e-5"}, ["'1e-5'", "write 1.0e-5"]),
    ("saloss", {"weights": []}, ["weights = []"]),
    # devices and paths
    ("soft_metrics", {"device": "gpu"}, ["'gpu'", "'cuda'"]),
    ("soft_metrics", {"device": "cuda:x"}, ["'cuda:x'", "'cuda:1'"]),
    ("soft_metrics", {"data_dir": "/nope"}, ["'/nope'", "no such folder"]),
    ("soft_metrics", {"model_dir": "/nope"}, ["'/nope'", "no such folder"]),
    ("soft_metrics", {"results_dir": "/tmp/elsewhere"}, ["'/tmp/elsewhere'", "results/"]),
    ("soft_metrics", {"checkpoint_dir": "kept"}, ["unknown parameter 'checkpoint_dir'", "results_dir"]),
    ("soft_metrics", {"plugins": ["nope.py"]}, ["'nope.py'", "no file"]),
    ("soft_metrics", {"plugins": "nope.py"}, ["'nope.py'", "wrong type"]),
    ("recursive_roar", {"vectors": "nope.txt"}, ["'nope.txt'", "no such file"]),
    # task and paper, model and task
    ("soft_metrics", {"task": "knowns"}, ["'knowns' holds prompts", "classification"]),
    ("soft_metrics", {"task": "sstt"}, ["'sstt' is unknown", "sst"]),
    ("soft_metrics", {"task": ""}, ["task = ''", "unknown"]),
    ("soft_metrics", {"task": "nope/mine.csv"}, ["'nope/mine.csv'", "no such file"]),
    ("soft_metrics", {"task": "nope/reviews.csv"}, ["'nope/reviews.csv'", "no such file"]),
    ("noiser", {"task": "sst", "model": "gpt2"}, ["'sst' holds classification", "prompts"]),
    ("noiser", {"task": "knowns"}, ["tiny-llama", "world_facts"]),
    ("noiser", {"model": "gpt2"}, ["tiny-llama"]),
    ("noiser", {"task": "knowns", "model": "bilstm"}, ["'bilstm'", "classifier"]),
    ("noiser", {"task": "knowns", "model": "gpt2"}, ["judge = 'tiny-llama'", "judge: ''"]),
    ("noiser", {"judge": "bilstm"}, ["judge = 'bilstm'", "it is a classifier"]),
    ("noiser", {"judge": "api: "}, ["judge = 'api: '", "remove them"]),
    ("noiser", {"judge": "api:"}, ["judge = 'api:'", "write api:<name>"]),
    ("noiser", {"judge": "/nope"}, ["judge = '/nope'", "there is no such folder"]),
    ("noiser", {"task": "wikibio", "model": "gpt2", "judge": ""}, ["tokens = 0", "such as 10"]),
    ("soft_metrics", {"model": "tiny-llama"}, ["tiny-llama"]),
    ("soft_metrics", {"model": ""}, ["model"]),
    ("soft_metrics", {"model": "/nope/model"}, ["'/nope/model'", "no such folder"]),
    ("soft_metrics", {"model": "tiny-bert "}, ["'tiny-bert '", "blanks"]),
    ("soft_metrics", {"model": "../{x}"}, ["'../{x}'"]),
    ("recursive_roar", {"model": "tiny-bert", "vectors": "x.txt"}, ["vectors are for the model bilstm"]),
    ("fmm", {"task": "imdb", "measures": ["beam"]}, ["beam takes T² passes"]),
    # seeds, scale, unknown and other words
    ("soft_metrics", {"seed": -1}, ["-1", "minimum of 0"]),
    ("soft_metrics", {"seed": []}, ["[]"]),
    ("soft_metrics", {"seed": [0, 0]}, ["[0, 0]", "non-unique"]),
    ("soft_metrics", {"seed": 1.5}, ["1.5", "whole number"]),
    ("soft_metrics", {"seed": "zero"}, ["'zero'", "whole number"]),
    ("soft_metrics", {"scale": "small"}, ["'small'", "leave it out"]),
    ("soft_metrics", {"epoch": 5}, ["unknown parameter 'epoch'", "epochs"]),
    ("soft_metrics", {"long_texts": "cut"}, ["'cut' is unknown", "error, truncate"]),
    ("recursive_roar", {"dtype": "float8"}, ["'float8' is unknown", "float32"]),
]  # fmt: skip
GOOD = yaml.safe_dump(
    {"version": 2, "scale": "quick", "papers": {"fmm": {"units": [UNITS["fmm"]]}}}, sort_keys=False
)
TEXTS = [  # whole files
    ("", "must be a mapping"),
    ("- 1", "must be a mapping"),
    ("version: 2", "'scale' is missing"),
    (GOOD.replace("version: 2", "version: 2\nversion: 2"), "'version' is there twice"),
    (GOOD.replace("seed: 0", "seed: 0\n      seed: 1"), "'seed' is there twice"),
    (GOOD.replace("  fmm:", "  fmm: 1\n  fmm:"), "'fmm' is there twice"),
    (GOOD.replace("quick", "!!python/object:os.system {}"), "not valid YAML"),
    ("a: " + "[" * 3000, "not valid YAML"),
    (GOOD.replace("version: 2", "version: 3"), "version 3"),
    (GOOD.replace("- task", "\t- task"), "not valid YAML"),
    (GOOD.partition("    - ")[0] + "\n", "units = None must be a list"),
    (GOOD.replace("task: sentiment", "tusk: sentiment"), "'task' is missing"),
    (GOOD.replace("  fmm:", "  ffm:"), "paper 'ffm' is unknown"),
]


def refused(folder, options=None):
    """The one line with which a config is refused."""
    with pytest.raises((ValueError, OSError)) as error:
        grid.read(options or {}, folder)
    *screen, told = str(error.value).splitlines()
    assert screen in ([], ["1 of 1 units cannot run here and are left out. They wait for:"])
    assert len(told) < 1200, told
    return told


def write(folder, paper, unit):
    content = {"version": 2, "scale": "quick", "papers": {paper: {"units": [unit]}}}
    (folder / "quick.yaml").write_text(yaml.safe_dump(content, allow_unicode=True))


@pytest.fixture(autouse=True)
def project(monkeypatch):
    monkeypatch.chdir(ROOT)  # with its notebooks


def test_there_are_enough():
    assert len(ODD) + len(OUT_OF_RANGE) >= 90


OUT_OF_RANGE = [
    (paper, name, value)
    for paper, unit in UNITS.items()
    for name, default in grid.defaults(ROOT / f"notebooks/{paper}/experiment.ipynb").items()
    if name in options.PARAMETERS
    for value in options.PARAMETERS[name].wrong
    if fits(value, default)
]


@pytest.mark.parametrize(("paper", "name", "value"), OUT_OF_RANGE)
def test_a_value_out_of_range_is_refused_in_one_line(paper, name, value, tmp_path):
    write(tmp_path, paper, UNITS[paper] | {name: value})
    line = refused(tmp_path)
    assert name in line and paper in line and FIX.search(line), line


@pytest.mark.parametrize("paper", UNITS)
def test_the_units_that_are_made_odd_are_good(paper, tmp_path):
    write(tmp_path, paper, UNITS[paper])
    assert len(grid.read({}, tmp_path)[1][paper].units) == 1


@pytest.mark.parametrize(("paper", "odd", "told"), ODD, ids=[f"{p}-{o}" for p, o, _ in ODD])
def test_an_odd_unit_is_refused_in_one_line(paper, odd, told, tmp_path):
    write(tmp_path, paper, UNITS[paper] | odd)
    line = refused(tmp_path)
    assert all(part in line for part in told), line
    assert paper in line and FIX.search(line), line


@pytest.mark.parametrize(("text", "told"), TEXTS)
def test_an_odd_file_is_refused_in_one_line(text, told, tmp_path):
    (tmp_path / "quick.yaml").write_text(text)
    line = refused(tmp_path)
    assert told in line and "quick.yaml" in line


def test_a_file_that_is_not_utf8_is_refused_in_one_line(tmp_path):
    (tmp_path / "quick.yaml").write_bytes(GOOD.encode() + b"# \xfc\n")
    assert "is not UTF-8" in refused(tmp_path)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"device": "gpu"}, "'gpu' is unknown"),
        ({"device": "cuda:"}, "'cuda:' is unknown"),
        ({"data_dir": "/nope"}, "data_dir=/nope: there is no such folder"),
        ({"papers": "fmm,nope"}, "papers=nope: unknown paper"),
        ({"scale": "smal"}, "scale=smal: unknown scale"),
        ({"scael": "small"}, "unknown key 'scael'"),
    ],
)
def test_odd_options_are_refused_in_one_line(options, told, tmp_path):
    (tmp_path / "quick.yaml").write_text(GOOD)
    assert told in refused(tmp_path, options)


def test_a_file_of_ones_own_is_a_task(tmp_path):
    (tmp_path / "my reviews.csv").write_text("text,label\n")
    unit = UNITS["fmm"] | {"task": str(tmp_path / "my reviews.csv")}
    write(tmp_path, "fmm", unit)
    assert list(grid.read({}, tmp_path)[1]["fmm"].units) == ["my-reviews.tiny-bert.s0"]


def test_variants_are_units_of_their_own(tmp_path):
    unit = UNITS["fmm"]
    write(tmp_path, "fmm", unit)
    text = yaml.safe_load((tmp_path / "quick.yaml").read_text())
    text["papers"]["fmm"]["units"].append(unit | {"epochs": 2})
    (tmp_path / "quick.yaml").write_text(yaml.safe_dump(text))
    assert "sentiment.tiny-bert.s0 is there twice" in refused(tmp_path)
    text["papers"]["fmm"]["units"][1]["variant"] = "two_epochs"
    (tmp_path / "quick.yaml").write_text(yaml.safe_dump(text))
    assert "'two_epochs' is no slug" in refused(tmp_path)


def test_a_device_of_several_is_allowed(tmp_path):
    (tmp_path / "quick.yaml").write_text(GOOD)
    for device in ("cpu", "mps", "auto", "cuda", "cuda:1"):
        assert grid.read_all({"device": device}, tmp_path)[2] == {"device": device}
