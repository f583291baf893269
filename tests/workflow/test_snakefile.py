"""The Snakefile: what it would run, what waits for what, and that finished units stay finished."""

import json
import shutil
import subprocess

import grid
import pytest
import toy
from toy import GOOD, PARAMETERS, RECORD, ROOT, config, notebook, snakemake

INSTALL = ".venv/bin/python -m pip install -c constraints.txt -e"


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("pbs", "PROFILE=pbs: there is no such profile; use one of default slurm\n"),
        ("slurm", f"PROFILE=slurm needs Snakemake's plugin for it: {INSTALL} .[cluster]\n"),
    ],
)
def test_a_profile_that_is_not_there_or_has_no_plugin_is_one_line(tmp_path, profile, message):
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "workflow/profiles", tmp_path / "workflow/profiles")
    for name in (".venv/installed-batch", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    command = ["make", "--no-print-directory", "results", f"PROFILE={profile}", "-o", ".venv/installed-batch"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode
    assert done.stdout == message


@pytest.fixture
def unrun(tmp_path):
    """The project without any results."""
    for name in ("workflow", "config", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def test_of_the_projects_own_grid_only_what_can_run_starts(unrun, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(unrun / "home"))
    monkeypatch.chdir(unrun)
    with pytest.raises(FileNotFoundError, match="units cannot run here and are left out") as error:
        grid.read({"scale": "paper"})  # nothing of it is here
    assert "make fetch SCALE=paper DATA=<folder> (sst, ag_news" in str(error.value)
    units = sum(len(paper.units) for paper in grid.read({"scale": "small"})[1].values())
    status, text = snakemake(unrun, "-n", "--config", "scale=small")
    assert status == 0, text
    assert f"unit {units}" in " ".join(text.split())


def test_a_report_waits_for_all_records_that_it_shows(unrun, monkeypatch):
    monkeypatch.chdir(ROOT)
    papers = "fmm,recursive_roar"  # the first shows records of the second
    units = sum(len(p.units) for p in grid.read({"scale": "quick", "papers": papers})[1].values())
    config = ("--config", "scale=quick", f"papers={papers}")
    status, text = snakemake(unrun, "results/quick/fmm/claims.csv", "-n", *config)
    assert status == 0, text
    assert f"unit {units}" in " ".join(text.split())


def test_finished_units_stay_finished(tmp_path):
    config(tmp_path, GOOD.split("      - {task: topics")[0].replace("[0, 1]", "0"))
    toy.workflow(tmp_path)
    record = tmp_path / "results/quick/attributions/sentiment.name.s0.json"
    record.parent.mkdir(parents=True)
    for kind in ("json", "parquet"):  # as in a fresh clone: records, but no .snakemake folder
        record.with_suffix(f".{kind}").write_text('{"files": {}, "made": "committed"}')

    status, text = snakemake(tmp_path, "-n")
    assert status == 0, text
    jobs = " ".join(text.split())
    assert "report_attributions 1" in jobs and "unit 1" not in jobs

    record.unlink()
    status, text = snakemake(tmp_path, "--config", "data_dir=notebooks")
    assert status == 0, text
    assert json.loads(record.read_text())["made"] == "0 notebooks"
    assert (tmp_path / "results/quick/attributions/claims.csv").exists()

    experiment = tmp_path / "notebooks/attributions/experiment.ipynb"
    experiment.touch()  # saved again, and the data found elsewhere: the result is the same
    status, text = snakemake(tmp_path, "--config", "data_dir=config")
    assert status == 0 and "Nothing to be done" in text, text

    notebook(experiment, PARAMETERS, RECORD + "print(1)")
    assert "unit 1" in " ".join(snakemake(tmp_path, "-n")[1].split())
