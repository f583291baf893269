"""stale: the records that other code than this made are listed, and why."""

import json
import subprocess

import stale
from toy import notebook

from replication import results


def test_results_of_edited_code_are_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ("faithlib/report", "faithlib/training", "notebooks/fmm/measure"):
        (tmp_path / folder).mkdir(parents=True)
    module, shows = tmp_path / "faithlib/training/roar.py", tmp_path / "faithlib/report/fmm.py"
    module.write_text("x = 1")
    shows.write_text("x = 1")
    areas = tmp_path / "notebooks/fmm/measure/areas.py"
    draws = tmp_path / "notebooks/fmm/tables.py"
    areas.write_text("x = 1")
    draws.write_text("x = 1")
    book = notebook(tmp_path / "notebooks/fmm/experiment.ipynb", "x = 1")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "code"]):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *command], check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    now = results.code_provenance() | {"git": commit, "dirty": False}
    record = tmp_path / "results/small/fmm/sst.name.s0.json"
    record.parent.mkdir(parents=True)

    def listed(params=(), **changed):
        stale.git.cache_clear(), stale.hash_then.cache_clear()
        record.write_text(json.dumps({"paper": "fmm", "params": params, "provenance": now | changed}))
        stale.main()
        return capsys.readouterr().out

    stale.main()
    assert capsys.readouterr().out.startswith("0 of 0 records")
    assert listed() == "0 of 1 records are of other code than this\n"
    shows.write_text("x = 2")  # draws, and computes nothing
    draws.write_text("x = 2")
    assert listed().startswith("0 of 1")
    areas.write_text("x = 2")
    assert f"faithlib's notebooks/fmm/measure/areas.py since {commit[:12]}\n" in listed()
    areas.write_text("x = 1")
    module.write_text("x = 2")
    assert f"faithlib's training since {commit[:12]}\n" in listed()
    module.write_text("x = 1")
    notebook(book, "x = 1", "print(x)")
    assert "sst.name.s0.json: the notebook's code\n" in listed()
    notebook(book, "x = 1")
    assert "faithlib 0.0.9, now " in listed(versions=now["versions"] | {"faithlib": "0.0.9"})
    mine = tmp_path / "mine.csv"
    mine.write_text("text,label")
    params = {"task": str(mine), "model": "name"}
    read = {"own": results.own_files(params)}
    assert listed(params, **read).startswith("0 of 1")
    mine.write_text("text,label,text_b")
    assert f"sst.name.s0.json: {mine} was edited, or is gone\n" in listed(params, **read)
    assert "is no commit here, and not by this" in listed(dirty=True, code="0" * 64)
    assert listed(dirty=True).startswith("0 of 1")
    assert listed(git="f" * 40, code="0" * 64).startswith("results/small/fmm/sst.name.s0.json: made by code")
