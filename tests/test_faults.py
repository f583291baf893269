"""Break a unit or a grid, look at what is left, go on: nothing finished is lost, and the end is the same."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from multiprocessing import forkserver
from types import SimpleNamespace

import breaking
import grid as project
import numpy as np
import pandas as pd
import pytest
import tiny
import torch
import toy
import yaml

from faithlib import store
from faithlib.engine.batching import halving, out_of_memory
from faithlib.training import fine_tuning as training
from replication import results
from replication.records import missing

linux = pytest.mark.skipif(sys.platform != "linux", reason="signals and limits as Linux has them")

# One unit ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def processes():
    """Processes that start with everything imported, from one that has trained nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["breaking"])
    with pytest.MonkeyPatch.context() as patch:  # the server knows no other path
        patch.setenv("PYTHONPATH", os.pathsep.join([str(toy.ROOT / "tests"), str(toy.ROOT)]))
        forkserver.ensure_running()
    return context


def finish(processes, folder, **options):
    process = processes.Process(target=breaking.unit, args=(folder,), kwargs=options)
    process.start()
    process.join()
    return process.exitcode


def outcome(folder):
    """{file: bytes} of the unit's folder, the record without what may differ."""
    files = {p.name: p.read_bytes() for p in sorted((folder / "results/quick/paper").iterdir())}
    record = json.loads(files["sst.tiny.s0.json"])
    for name in ("volatile", "volatile_sha256", "provenance", "sha256"):  # other code may have other hashes
        del record[name]
    return {**files, "sst.tiny.s0.json": record}


@pytest.fixture(scope="module")
def undisturbed(processes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert finish(processes, folder) == 0
    return outcome(folder)


KILLED = [
    (stop, how)
    for stop in ("training", "weights.", "values.", "s0.parquet", "s0.json")
    for how in (signal.SIGKILL, signal.SIGTERM)
]


@linux
@pytest.mark.parametrize(
    ("stop", "how"),
    [("training", signal.SIGKILL), *(pytest.param(*case, marks=pytest.mark.slow) for case in KILLED[1:])],
)
def test_a_unit_that_is_killed_ends_as_if_it_had_not_been(processes, undisturbed, tmp_path, stop, how):
    ready = processes.Event()
    process = processes.Process(target=breaking.unit, args=(tmp_path, stop, ready))
    process.start()
    while not ready.wait(1):
        assert process.is_alive()
    os.kill(process.pid, how)
    process.join()
    assert process.exitcode == -how
    folder = tmp_path / "results/quick/paper"
    assert not (folder / "sst.tiny.s0.json").exists()  # what says done
    kept = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".part"}
    assert finish(processes, tmp_path) == 0
    assert outcome(tmp_path) == undisturbed
    assert not list(tmp_path.rglob("*.part"))
    assert all(p.read_bytes() == content for p, content in kept.items())


@linux
@pytest.mark.slow
def test_a_full_disk_is_told_in_a_line_and_leaves_nothing_half(processes, undisturbed, tmp_path):
    receiver, sender = processes.Pipe()
    process = processes.Process(target=breaking.save_all, args=(sender, tmp_path), kwargs={"largest": 2000})
    process.start()
    sender.close()  # or a unit that dies would be waited for
    line = receiver.recv()
    process.join()
    assert "\n" not in line and "weights." in line and "cannot be written" in line and "make room" in line
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    assert finish(processes, tmp_path) == 0 and outcome(tmp_path) == undisturbed


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_told_in_a_line(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot be written.*correct the folder's rights"):
        store.write_atomically(tmp_path / "deep/file", lambda part: part.write_text("x"))


@linux
def test_parts_and_weights_that_are_damaged_are_made_again(processes, undisturbed, tmp_path):
    assert finish(processes, tmp_path) == 0
    for path in (tmp_path / "checkpoints").rglob("*.*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-50])  # as a disk may leave it; a write of ours does not
    (tmp_path / "results/quick/paper/sst.tiny.s0.json").unlink()
    assert finish(processes, tmp_path) == 0 and outcome(tmp_path) == undisturbed


def test_seconds_of_an_interrupted_unit_count(tmp_path, monkeypatch):
    params = {"task": "sst", "model": "m", "seed": 0, "scale": "quick", "device": "cpu"}
    params["results_dir"] = str(tmp_path / "r")
    now = [0.0]
    for clock in ("monotonic", "time"):
        monkeypatch.setattr(results.time, clock, lambda: now[0])

    def make(start, stop):
        now[0] += 100
        return pd.DataFrame({"x": range(start, stop)})

    results.start("paper", params).in_parts("values", 8, make, "key", 4)
    run = results.start("paper", params)
    run.started = now[0]
    frame = run.in_parts("values", 8, make, "key", 4)
    path = run.save([], frame)
    volatile = json.loads(path.read_text())["volatile"]
    assert volatile["seconds"] == 200 and volatile["peak_memory_mib"] > 50
    assert pd.read_parquet(path.with_suffix(".parquet")).attrs == {}


# Memory --------------------------------------------------------------------------------------------


def test_what_a_cpu_without_memory_says_is_understood():
    with pytest.raises((RuntimeError, MemoryError)) as error:
        torch.empty(2**50, dtype=torch.uint8)
    assert out_of_memory(error.value)
    with pytest.raises(MemoryError) as error:
        np.empty(2**60, np.uint8)
    assert out_of_memory(error.value)
    assert not out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))

    def compute(rows):
        if len(rows) > 2:
            torch.empty(2**50, dtype=torch.uint8)
        return sum(rows)

    model = SimpleNamespace()
    assert sum(halving(model, compute, list(range(10)), 1)) == 45
    assert model.tokens_that_fit == 2


@pytest.mark.parametrize(
    "said",
    [
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "merge_sort: failed on 2nd step: cudaErrorMemoryAllocation: out of memory",
    ],
)
def test_what_a_full_gpu_says_is_understood(said):
    assert out_of_memory(RuntimeError(said))


@pytest.mark.parametrize("largest", [1, 3])
def test_training_and_evaluation_go_on_with_pieces_of_a_batch(monkeypatch, largest):
    def trained(largest):
        classifier = tiny.without_dropout(tiny.classifier())
        classifier.model.config.hidden_dropout_prob = 0.0
        logits, sizes = classifier.logits, []

        def limited(batch, **options):
            sizes.append(len(batch.ids))
            if len(batch.ids) > largest:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return logits(batch, **options)

        monkeypatch.setattr(classifier, "logits", limited)
        data = classifier.encode(breaking.TEXTS), [0, 1] * 8
        splits = {"train": data, "validation": data}
        history = training.fine_tune(classifier, splits, epochs=1, batch_size=8, learning_rate=1e-3)
        return history[0], sizes

    whole, _ = trained(99)
    pieces, sizes = trained(largest)
    assert max(sizes) > largest
    assert pieces["train_loss"] == pytest.approx(whole["train_loss"], rel=1e-5)
    assert pieces["validation_loss"] == pytest.approx(whole["validation_loss"], rel=1e-4)  # after two steps
    with pytest.raises(torch.OutOfMemoryError):
        trained(0)


@linux
@pytest.mark.slow
@pytest.mark.parametrize(
    "paper", sorted(yaml.safe_load((toy.ROOT / "config/quick.yaml").read_text())["papers"])
)
def test_units_of_the_quick_scale_need_two_gib_at_most(paper, tmp_path, monkeypatch):
    monkeypatch.chdir(toy.ROOT)
    _, papers, _ = project.read({"scale": "quick", "papers": paper})
    for unit, parameters in papers[paper].units.items():
        places = {"results_dir": str(tmp_path / "results")}
        arguments = papers[paper].experiment, tmp_path / "out.ipynb", json.dumps(parameters | places)
        subprocess.run([sys.executable, "workflow/execute.py", *arguments], check=True)
        record = json.loads((tmp_path / "results/quick" / paper / f"{unit}.json").read_text())
        assert record["volatile"]["peak_memory_mib"] <= 2048


# A grid --------------------------------------------------------------------------------------------

RECORD = """import hashlib, json, os, pathlib, signal
stem = pathlib.Path("results", scale, "attributions", f"{task}.{model.split('/')[-1]}.s{seed}")
if pathlib.Path("hold").exists() and seed == 1:
    pathlib.Path("held").write_text(f"{os.getpid()} {os.getppid()}")
    signal.pause()
if pathlib.Path("fail").exists() and seed == 1:
    raise RuntimeError(f"unit {seed} is told to fail")
values = f"{seed} {rate}"
files = {f"{stem.name}.parquet": hashlib.sha256(values.encode()).hexdigest()}
for kind, text in {"parquet": values, "json": json.dumps({"files": files})}.items():
    part = stem.with_suffix(f"{stem.suffix}.{kind}.part")
    part.write_text(text)
    part.rename(f"{stem}.{kind}")
"""


@pytest.fixture
def grid(tmp_path):
    """A project of three units of a second each."""
    toy.config(tmp_path, toy.GOOD.split("      - {task: topics")[0].replace("[0, 1]", "[0, 1, 2]"))
    toy.notebook(tmp_path / "notebooks/attributions/experiment.ipynb", toy.PARAMETERS, RECORD)
    toy.workflow(tmp_path)
    return tmp_path


def records(folder):
    return {
        p.name: (p.stat().st_mtime_ns, p.read_bytes())
        for p in (folder / "results/quick/attributions").glob("*.*")
        if p.suffix in (".json", ".parquet")
    }


WHOLE = "sentiment.name.s0\nsentiment.name.s1\nsentiment.name.s2"


def complete(folder, before):
    """Run the grid again: all there, nothing that was finished made again, no leftovers."""
    status, text = toy.snakemake(folder)
    assert status == 0, text
    after = records(folder)
    assert len(after) == 6 and before.items() <= after.items()
    assert (folder / "results/quick/attributions/claims.csv").read_text() == WHOLE
    assert "Nothing to be done" in toy.snakemake(folder)[1]
    return text


@linux
@pytest.mark.slow
def test_a_unit_that_always_fails_is_a_hole_with_a_name(grid):
    (grid / "fail").touch()
    status, text = toy.snakemake(grid)
    assert status != 0
    assert "unit 1 is told to fail" in text and "Traceback" in text  # of the cell, in the terminal
    log = "runs/quick/attributions/sentiment.name.s1.log"
    assert f"attributions: a hole, sentiment.name.s1 has no record; see {log}" in text
    assert "2 of 3 units in" in text and "min left" in text
    folder = grid / "results/quick/attributions"
    assert (folder / "claims.csv").read_text() == "sentiment.name.s0\nsentiment.name.s2"
    assert missing(folder) == ["sentiment.name.s1"]
    assert "told to fail" in (grid / "runs/quick/attributions/sentiment.name.s1.log").read_text()
    before = records(grid)
    assert len(before) == 4
    (grid / "fail").unlink()
    complete(grid, before)
    assert missing(folder) == [] and not (folder / "missing.csv").exists()


@linux
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_damaged_record_is_set_aside_and_its_unit_runs_again(grid, kind):
    assert toy.snakemake(grid)[0] == 0
    before, path = records(grid), grid / f"results/quick/attributions/sentiment.name.s1.{kind}"
    broken = path.read_bytes()[:-3]
    path.write_bytes(broken)
    assert "set aside" not in toy.snakemake(grid, "-n")[1] and path.read_bytes() == broken
    text = complete(grid, {n: b for n, b in before.items() if ".s1." not in n})
    assert "sentiment.name.s1.json.damaged, and its unit runs again" in text
    assert path.with_name(f"{path.name}.damaged").read_bytes() == broken
    assert {n: b[1] for n, b in records(grid).items()} == {n: b[1] for n, b in before.items()}


def started(grid):
    """A driver whose unit 1 hangs, all others done: its process, the pids of kernel and papermill."""
    (grid / "hold").touch()
    line, environment = toy.command()
    with (grid / "driver.log").open("w") as log:
        streams = {"stdout": log, "stderr": log}
        driver = subprocess.Popen(line, cwd=grid, env=environment, start_new_session=True, **streams)
    held, log = grid / "held", grid / "driver.log"
    toy.wait_until(lambda: held.exists() and held.read_text() and "2 of 5 steps" in log.read_text(), driver)
    kernel, papermill = map(int, (grid / "held").read_text().split())
    (grid / "hold").unlink()
    return driver, kernel, papermill


@linux
@pytest.mark.slow
def test_two_drivers_and_a_driver_that_is_killed(grid):
    driver, kernel, papermill = started(grid)
    before = records(grid)
    status, text = toy.snakemake(grid)  # a second one
    assert status != 0 and "lock" in text and records(grid) == before
    driver.kill()
    driver.wait()
    os.kill(papermill, signal.SIGKILL)
    toy.ended(kernel)  # a kernel ends with its papermill
    status, text = toy.snakemake(grid, "--unlock")
    assert status == 0, text
    complete(grid, before)


@linux
@pytest.mark.slow
@pytest.mark.parametrize("which", ["driver", "papermill", "kernel"])
def test_what_is_told_to_end_ends_and_goes_on(grid, which):
    driver, kernel, papermill = started(grid)
    before = records(grid)
    os.kill({"driver": driver.pid, "papermill": papermill, "kernel": kernel}[which], signal.SIGTERM)
    if which == "driver":  # waits for what runs
        toy.wait_until(lambda: "Will exit after finishing" in (grid / "driver.log").read_text(), driver)
        assert driver.poll() is None
        os.kill(kernel, signal.SIGKILL)  # starts again, and is held no more
    assert driver.wait() == (1 if which in ("driver", "papermill") else 0)
    for pid in (kernel, papermill):
        toy.ended(pid)
    complete(grid, before)


@linux
@pytest.mark.slow
def test_ctrl_c_leaves_a_line_for_the_unit_that_runs(grid):
    driver, kernel, papermill = started(grid)
    before, log = records(grid), grid / "driver.log"
    said = log.read_text()
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal sends it
    assert driver.wait() != 0
    for pid in (kernel, papermill):
        toy.ended(pid)
    (line,) = filter(None, log.read_text().removeprefix(said).splitlines())
    assert line.endswith("stopped by SIGINT; what is finished is kept, and the same command goes on")
    complete(grid, before)


@pytest.mark.slow
def test_a_clock_that_runs_backwards_makes_nothing_again(grid):
    complete(grid, {})
    for path in grid.rglob("results/**/*.*"):
        os.utime(path, (time.time() + 86400, time.time() + 86400))
    before = records(grid)
    complete(grid, before)
    assert records(grid) == before


@linux
@pytest.mark.slow
def test_twenty_units_at_once(grid):
    path = grid / "config/quick.yaml"
    path.write_text(path.read_text().replace("[0, 1, 2]", str(list(range(20)))))
    status, text = toy.snakemake(grid, "--cores", "20")
    assert status == 0, text
    assert len(records(grid)) == 40
    assert len((grid / "results/quick/attributions/claims.csv").read_text().split()) == 20
