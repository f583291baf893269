"""make verify: what is committed is what its records, their data and their code give, byte for byte."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import torch
import verify
from toy import ROOT, notebook

from faithlib import store, tasks
from replication import cards, papers, results
from replication.claims import CLAIMS

PLACES = 'scale = "quick"\nresults_dir = "results"\nfigures_dir = "figures"\n'
REPORT = """import matplotlib.pyplot as plt
from faithlib import report
from replication import results
report.use_style()
records, values = results.load(results_dir, scale, "toy")
table = values.groupby(["dataset", "model", "seed"]).value.mean().reset_index()
report.save_table(table, f"{results_dir}/{scale}/toy/tables/means")
report.save_table(table[["dataset"]], f"{results_dir}/{scale}/toy/claims")
figure, axes = plt.subplots()
axes.plot(table.value)
report.save_figure(figure, f"{figures_dir}/{scale}/toy/line")
"""
SIZES = {"train": 40, "validation": 20, "test": 20}
TABLE = Path("results/quick/toy/tables/means.csv")


def git(*arguments):
    who = ["-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A committed project of one paper, two units and their report."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faithlib/metrics").mkdir(parents=True)
    for name in ("__init__.py", "metrics/one.py", "metrics.py"):
        (tmp_path / "faithlib" / name).write_text(f"# {name}")
    (tmp_path / ".gitignore").write_text("*.log\n")
    notebook(tmp_path / "notebooks/toy/report.ipynb", PLACES, REPORT)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "code")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    sources = [
        (name, store.file_digest(tmp_path / "faithlib" / name))
        for name in ("__init__.py", "metrics/one.py", "metrics.py")
    ]
    shutil.rmtree(tmp_path / "faithlib")  # the report's kernel wants the real one
    verify.code_of.cache_clear()
    for seed in (0, 1):
        data = tasks.load("sentiment", seed=seed, sizes=SIZES)
        params = {"task": "sentiment", "model": "org/tiny", "seed": seed}
        params |= {f"{split}_size": size for split, size in SIZES.items()}
        folder, cpu = tmp_path / "results/quick/toy", torch.device("cpu")
        run = results.Run("toy", f"sentiment.tiny.s{seed}", "quick", params, folder, folder, cpu)
        monkeypatch.setattr(
            results,
            "code_provenance",
            lambda: {"git": commit, "dirty": False, "code": results.digest(sources)},
        )
        run.save([], pd.DataFrame({"value": [0.1, 0.25 + seed]}), provenance={"data": data.provenance})
    return tmp_path


def committed():
    git("add", "results", *(["figures"] if Path("figures").exists() else []))
    return verify.by_paper(verify.committed())


def test_records_that_no_table_has_yet_are_whole_or_not(project):
    waits = ("results/quick/toy", "its records, which no committed table has yet")
    assert verify.verify("quick", "toy", committed()) == ([], [waits])


def test_what_is_whole_passes_and_what_is_not_is_named(project):
    exec(PLACES + REPORT)  # as the report's notebook did when it was committed
    whole = committed()
    assert [len(part) for part in whole["quick", "toy"]] == [4, 3]
    TABLE.write_text(TABLE.read_text().replace("0.175", "0.176"))
    Path("figures/quick/toy/line.png").unlink()
    Path("figures/quick/toy/old.png").write_text("")
    whole["quick", "toy"][1].append(Path("figures/quick/toy/old.png"))
    wrong, unchecked = verify.verify("quick", "toy", whole)
    assert unchecked == [("notebooks/toy/report.ipynb", "it was saved without outputs")] and wrong == [
        "figures/quick/toy/line.png is committed and gone",
        "figures/quick/toy/old.png is not what the report makes now: it makes no such file",
        "results/quick/toy/tables/means.csv is not what its records give",
    ]


def test_without_results_there_is_nothing_to_verify(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(verify, "committed", list)
    with pytest.raises(SystemExit, match="there was nothing to verify"):
        verify.main([])


def changed(path, change):
    record = json.loads(path.read_text())
    change(record)
    if "sha256" in record:  # as one would who knows how
        record |= {
            "sha256": store.record_digest(record),
            "volatile_sha256": results.digest(record["volatile"]),
        }
    path.write_text(store.as_text(record))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r["provenance"].update(code="0" * 64), "the record says 000000000000"),
        (
            lambda r: r["provenance"]["data"]["sha256"].update(train="0" * 64),
            "train split of sentiment has hash",
        ),
        (lambda r: r["files"].update({"sentiment.tiny.s1.parquet": "0"}), "is not the one that record"),
        (lambda r: r["provenance"].pop("data"), "its provenance has no 'data'"),
    ],
)
def test_a_record_that_does_not_lead_back_is_named_and_nothing_is_drawn(project, change, message):
    changed(project / "results/quick/toy/sentiment.tiny.s1.json", change)
    wrong, unchecked = verify.verify("quick", "toy", committed())
    assert len(wrong) == 2 and message in wrong[0] and "is not drawn anew" in wrong[1] and not unchecked


def test_what_cannot_be_checked_is_said(project):
    path = project / "results/quick/toy/sentiment.tiny.s1.json"
    changed(path, lambda r: r["provenance"].update(git="f" * 40))
    changed(path, lambda r: r["provenance"]["data"].update(source="mirror"))
    wrong, unchecked = verify.check_record(path)
    assert not wrong and len(unchecked) == 2
    assert "no commit that git has" in unchecked[0][1] and "need data_dir=" in unchecked[1][1]
    changed(path, lambda r: r["provenance"].update(data={"source": "generated"}))
    wrong, unchecked = verify.check_record(path)
    assert not wrong and "which the unit generates itself" in unchecked[1][1]


def test_what_is_said_of_many_files_is_one_line():
    pairs = [(f"{name}.json", "its code" if name == "b" else "its data") for name in "abcd"]
    assert verify.summed_up(pairs) == ["a.json and 2 more: its data", "b.json: its code"]


@pytest.mark.parametrize(
    ("path", "check", "sums"),
    [
        ("notebooks/toy/published/table_1.csv", verify.transcribed, verify.SUMS),
        ("results/archive/toy/sst.tiny.s0.json", verify.archived, Path("results/archive.sha256")),
    ],
)
def test_a_published_table_and_an_archived_record_that_were_edited_are_named(project, path, check, sums):
    assert check() == []  # there are none
    Path(path).parent.mkdir(parents=True)
    Path(path).write_text("dataset,value\nsst,0.5\n")
    assert len(check()) == 1  # not listed
    sums.write_text(f"{store.file_digest(path)}  {path}\n")
    assert check() == []
    Path(path).write_text("dataset,value\nsst,0.6\n")
    (line,) = check()
    assert line.startswith(f"{path}: is not what {sums} lists")


def test_the_published_tables_are_those_that_were_checked(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert verify.transcribed() == []


def test_a_card_and_the_readme_say_what_the_claims_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("")
    assert verify.unwritten() == []  # nothing is written
    folder, card, readme = Path("results/small/fmm"), Path("notebooks/fmm/README.md"), Path("README.md")
    folder.mkdir(parents=True)
    card.parent.mkdir(parents=True)
    first = papers.card("fmm").headline[0]
    claim = dict.fromkeys(CLAIMS, "") | {"claim": first.claim, "headline": True, "verdict": "holds"}
    claim |= {"definition": "paper", "baseline": first.baseline, "looks": 1, "n_units": 3}
    claim |= {"value": 0.2, "ci_low": 0.1, "ci_high": 0.3, "published": 0.3, "published_cases": "cola"}
    claim |= {"borderline": False, **dict.fromkeys(cards.COUNTS, 0)}
    pd.DataFrame([claim]).to_csv(folder / "claims.csv", index=False)
    card.write_text(f"<!-- {cards.BLOCK} -->\n{cards.read_block(folder)}<!-- end -->\n")
    readme.write_text("<!-- verdicts: fmm -->🟩🔲🔲🔲🔲🔲🔲🔲<!-- end -->\n")
    assert verify.unwritten() == []
    for path in (card, readme):
        path.write_text(path.read_text().replace("🟩", "🟥"))
        (line,) = verify.unwritten()
        assert line.startswith(f"{path}: its verdicts are not those of claims.csv")
        path.write_text(path.read_text().replace("🟥", "🟩"))


def test_every_row_of_a_table_leads_to_a_record():
    records = [{"params": {"task": "sst", "model": "org/tiny", "seed": seed}} for seed in (0, 1)]
    table = pd.DataFrame(
        {"dataset": ["sst", "sst", "cb", "all"], "model": ["tiny", "org/tiny", "tiny", "tiny"], "value": 1}
    )
    assert verify.nowhere(table, records) == [("cb", "tiny")]
    assert verify.nowhere(table.assign(seed=[1, 2, 1, 1]), records) == [("cb", "tiny", 1), ("sst", "tiny", 2)]
    assert verify.nowhere(table[["dataset"]], records) == []


def test_what_was_saved_in_a_report_is_what_its_records_give(project):
    report = Path("notebooks/toy/report.ipynb")
    notebook(report, PLACES, REPORT, "print('mean', table.value.mean())\ntable")
    verify.execute.run(str(report), str(report), {})  # its outputs are saved
    drawn, whole = shutil.copy(report, "drawn.ipynb"), committed()
    ((scale, paper, result),) = verify.each(whole, "")  # by another process
    assert (scale, paper, result) == ("quick", "toy", ([], []))
    book = json.loads(report.read_text())
    book["cells"][-1]["outputs"][0]["text"] = "mean 0.5"
    report.write_text(json.dumps(book))
    wrong = ["notebooks/toy/report.ipynb: the saved output of code cell 3 is not what the records give"]
    assert verify.unlike(report, drawn, "quick", project) == (wrong, [])
    injected = {"source": 'scale = "small"', "outputs": [], "metadata": {"tags": ["injected-parameters"]}}
    book["cells"].insert(1, {**injected, "id": "injected", "cell_type": "code", "execution_count": 1})
    report.write_text(json.dumps(book))
    unchecked = [(report, "its saved outputs, which are of the small scale")]
    assert verify.unlike(report, drawn, "quick", project) == ([], unchecked)


def altered(text, random):
    """A text with one character changed to another."""
    place = random.randrange(len(text))
    other = random.choice([c for c in "0123456789abcxyz" if c != text[place]])
    return text[:place] + other + text[place + 1 :]


def strings(value):
    """(container, key) of every text in nested lists and dictionaries."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, str) and item:
            yield value, key
        elif isinstance(item, dict | list):
            yield from strings(item)


def test_fifty_changed_characters_are_noticed(project, monkeypatch, tmp_path_factory):
    report, generator = Path("notebooks/toy/report.ipynb"), random.Random(0)
    notebook(report, PLACES, REPORT, "print('mean', table.value.mean())\ntable")
    verify.execute.run(str(report), str(report), {})
    old = Path("results/quick/toy/sentiment.tiny.s0.json")  # one of format 1
    record = json.loads(old.read_text())
    old.write_text(store.as_text({k: v for k, v in record.items() if "sha256" not in k and k != "format"}))
    whole = committed()
    drawn = tmp_path_factory.mktemp("drawn")
    verify.redraw("quick", "toy", whole["quick", "toy"][0], drawn)

    def copy(scale, paper, files, folder):  # the records are whole where this is called, so it is the same
        shutil.copytree(drawn, folder, dirs_exist_ok=True)
        return folder / f"{paper}.ipynb"

    monkeypatch.setattr(verify, "redraw", copy)
    verify.edited.cache_clear()
    assert verify.verify("quick", "toy", whole) == ([], [])
    records, outputs = whole["quick", "toy"]
    assert {path.suffix for path in outputs} == {".csv", ".png"} and len(records) == 4
    paths = [*records, *outputs, report]
    for number in range(50):
        path = paths[number % len(paths)]
        before = path.read_bytes()
        if path == report:
            book = json.loads(before)
            container, key = generator.choice(list(strings([cell["outputs"] for cell in book["cells"]])))
            container[key] = altered(container[key], generator)
            path.write_text(json.dumps(book))
        elif path.suffix == ".json":
            path.write_text(altered(before.decode(), generator))
        else:
            place = generator.randrange(len(before))
            path.write_bytes(
                before[:place] + bytes([before[place] ^ 1 << generator.randrange(8)]) + before[place + 1 :]
            )
        verify.edited.cache_clear()
        assert verify.verify("quick", "toy", whole)[0], f"change {number} in {path} was not noticed"
        path.write_bytes(before)


@pytest.mark.slow
def test_a_changed_record_changes_only_the_rows_that_lead_to_it(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    files = verify.by_paper(verify.committed())["small", "soft_metrics"][0]
    verify.redraw("small", "soft_metrics", files, tmp_path / "as_is")
    for path in files:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / path)
    stem = tmp_path / "results/small/soft_metrics/multirc.all-MiniLM-L6-v2.s0"
    values = pd.read_parquet(f"{stem}.parquet")
    values.assign(value=values.value * 0.9).to_parquet(f"{stem}.parquet", index=False)
    changed(
        Path(f"{stem}.json"),
        lambda r: r["files"].update({f"{stem.name}.parquet": store.file_digest(f"{stem}.parquet")}),
    )
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    monkeypatch.chdir(tmp_path)
    verify.redraw("small", "soft_metrics", files, tmp_path / "changed")
    seen = 0
    for path in sorted((tmp_path / "as_is/results/small/soft_metrics/tables").glob("*.csv")):
        place = path.relative_to(tmp_path / "as_is")
        old, new = (pd.read_csv(tmp_path / state / place, dtype=str) for state in ("as_is", "changed"))
        if "dataset" in old:
            moved = old.dataset[(old.fillna("") != new.fillna("")).any(axis=1)]
            assert set(moved) <= {"multirc"}, path.name
            seen += len(moved)
    assert seen


def test_a_bar_of_progress_makes_no_difference():
    table = {"output_type": "display_data", "data": {"text/plain": "a table"}, "metadata": {}}
    bar = "\rmasking features: 50/65 models in 00:15, 00:04 left,  3.29model/s \n"
    stream = {"output_type": "stream", "name": "stdout", "text": [bar]}
    assert verify.plain([stream, table]) == verify.plain([table])
    assert verify.plain([stream | {"text": [bar, "a line\n"]}]) != verify.plain([table])
    line = {"output_type": "stream", "name": "stdout", "text": "a line\n"}
    assert verify.plain([stream | {"text": [bar, "a line\n"]}]) == verify.plain([line])
    first, second = ([table | {"data": {"text/html": f"#T_{name} td"}}] for name in ("557293f0", "aafb87dd"))
    assert verify.plain(first) == verify.plain(second)  # a hash of digits that another processor rounds
