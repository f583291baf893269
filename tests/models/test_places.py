"""Where a model is found by name, without torch."""

import importlib.util
import json
import subprocess
import sys

import pytest
from toy import ROOT

from faithlib.models import places
from faithlib.models.places import PACKAGED

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def test_what_units_lack_is_found_without_torch():
    code = "import missing, sys; sys.exit(bool({'torch', 'transformers', 'datasets'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT / "workflow", check=True)


def test_a_models_folder_comes_first_then_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = json.dumps({"model_type": "bert"})

    def make(name):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(config)
        return folder

    (tmp_path / "shelf/org/encoder").mkdir(parents=True)  # no config.json: not a model
    assert places.locate("org/encoder", "shelf") == "org/encoder"  # nothing: the hub may have it
    make("org/encoder")
    assert places.locate("org/encoder", "shelf") == "org/encoder"
    short = make("shelf/encoder")
    assert places.locate("org/encoder", str(tmp_path / "shelf")) == str(short)
    (tmp_path / "shelf/org/encoder/config.json").write_text(config)
    assert places.locate("org/encoder", str(tmp_path / "shelf")) == str(tmp_path / "shelf/org/encoder")
    assert places.locate("org/encoder") == "org/encoder"
    assert places.locate(str(short)) == str(short)


@pytest.mark.skipif(not importlib.util.find_spec(PACKAGED[MINILM][0]), reason="needs the test extra")
def test_an_installed_package_serves_minilm_where_no_folder_does(tmp_path):
    folder = places.locate(MINILM, str(tmp_path))
    assert json.loads((tmp_path / folder / "config.json").read_text())["num_hidden_layers"] == 6
    mine = tmp_path / "all-MiniLM-L6-v2"
    mine.mkdir()
    (mine / "config.json").write_text("{}")
    assert places.locate(MINILM, str(tmp_path)) == str(mine)
