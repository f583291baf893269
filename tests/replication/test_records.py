"""Records that cannot be overwritten, mixed or changed unnoticed: names, hashes, variants, reports."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from wrong import refused, tells

from faithlib import store
from replication import records, results

VALUES = pd.DataFrame(
    {"example": np.arange(3, dtype=np.int32), "value": np.array([0.5, np.nan, 1], np.float32)}
)
METRICS = [{"metric": "accuracy", "value": 0.75, "n": 4}]


@pytest.fixture
def params(tmp_path):
    places = {"scale": "quick", "device": "cpu", "results_dir": str(tmp_path / "results")}
    return {"task": "sst", "model": "org/tiny", "seed": 1, "variant": "", "epochs": 3} | places


def save(params, values=VALUES, **more):
    values = values.assign(value=values.value + np.float32(params["seed"] - 1))  # no two seeds are equal
    return results.start("paper", params).save(METRICS, values, **more)


def names(path):
    return sorted(p.name for p in path.parent.iterdir())


# Names ---------------------------------------------------------------------------------------------


def test_a_variant_is_a_unit_of_its_own(params):
    assert results.unit_name("sst", "org/tiny", 1) == "sst.tiny.s1"
    main, other = save(params), save(params | {"variant": "only-masking", "epochs": 5})
    endings = "json only-masking.json only-masking.parquet parquet"
    assert names(main) == [f"sst.tiny.s1.{end}" for end in endings.split()]
    assert json.loads(other.read_text())["params"]["variant"] == "only-masking"
    ((unit, params),) = records.expand(
        "quick", {"model": "org/tiny"}, {"task": "sst", "seed": 0, "variant": "36-outputs"}
    )
    assert unit == "sst.tiny.s0.36-outputs" and params["scale"] == "quick"


@pytest.mark.parametrize("variant", ["examples", "s0", "a_b", "a b", "a.b", "../x", "ü-x", "a-b\n", 3])
def test_a_variant_is_a_slug_that_no_table_is_called_by(params, variant):
    refused("is no slug: give letters, digits, - and _", results.unit_name, "sst", "tiny", 0, variant)
    assert results.unit_name("sst", "tiny", 0, "1500_texts") == "sst.tiny.s0.1500_texts"
    refused("table 'only-masking': give a name of letters", save, params, **{"only-masking": VALUES})


# What a record says of itself ----------------------------------------------------------------------


def test_a_record_notices_every_change(params):
    path = save(params)
    whole, record = path.read_text(), json.loads(path.read_text())
    assert record["format"] == 2 and record["sha256"] == store.record_digest(record)
    assert whole == store.as_text(record)
    for change in (
        lambda r: r["params"].update(epochs=4),
        lambda r: r["metrics"][0].update(value=0.76),
        lambda r: r["provenance"]["versions"].update(torch="1.0"),
        lambda r: r["volatile"].update(seconds=1e6),
        lambda r: r.update(design="nested"),
        lambda r: r.pop("sha256"),
        lambda r: r.update(more=1),
    ):
        changed = json.loads(whole)
        change(changed)
        path.write_text(json.dumps(changed))
        refused("was changed after it was written: delete", results.read_record, path)
    path.write_text(json.dumps(record | {"format": 3}))
    refused("is of format 3, and this faithlib reads 1 to 2", results.read_record, path)


def test_records_of_format_1_are_read_as_they_are(params):
    path = save(params)
    record = json.loads(path.read_text())
    for name in ("format", "design", "sha256", "volatile_sha256"):
        del record[name]
    del record["params"]["variant"]
    path.write_text(json.dumps(record))
    assert results.read_record(path) == record
    (read,), values = results.load(params["results_dir"], "quick", "paper")
    assert read == record and set(values.variant) == {""}
    assert results.design([record]) == "crossed"


def test_records_of_another_paper_or_unit_are_refused(params):
    path = save(params)
    record = json.loads(path.read_text()) | {"paper": "other"}
    said = {**record, "sha256": store.record_digest(record)}
    path.write_text(store.as_text(said))
    refused("is a record of other, ", results.load, params["results_dir"], "quick", "paper")


@pytest.mark.parametrize(
    ("data", "seed", "design"),
    [
        ({"source": "generated", "seed": 0}, 1, "crossed"),
        ({"source": "generated", "seed": 1}, 1, "nested"),
        ({"source": "mirror", "subset_seed": 2}, 2, "nested"),
        ({"source": "mirror", "subset_seed": 0}, 0, "crossed"),
        ({"source": "mirror"}, 1, "crossed"),
        ({}, 1, "crossed"),
    ],
)
def test_a_record_says_crossed_or_nested(params, data, seed, design):
    path = save(params | {"seed": seed}, provenance={"data": data})
    record = json.loads(path.read_text())
    assert record["design"] == design == results.design([record])
    del record["design"]
    assert results.design([record]) == design


def test_the_design_that_is_given_counts(params):
    first = results.read_record(save(params | {"seed": 0}, design="nested"))
    other = results.read_record(save(params))
    assert (first["design"], other["design"]) == ("nested", "crossed")
    assert results.design([first, other]) == "nested"  # seed 0 alone cannot tell
    refused("design='mixed' is unknown: use 'crossed', 'nested'", save, params, design="mixed")


# Nothing is overwritten ----------------------------------------------------------------------------


def test_a_run_of_other_parameters_is_refused_before_any_work(params, capsys):
    path = save(params)
    before = path.read_bytes()
    parts = ["sst.tiny.s1.json has other parameters (epochs=3, not 5)"]
    parts += ["variant='my-variant', or another results_dir"]
    tells(parts, results.start, "paper", params | {"epochs": 5})
    assert path.read_bytes() == before and not capsys.readouterr().out
    results.start("paper", params | {"workers": 4, "plugins": [], "results_dir": params["results_dir"]})


def test_a_run_of_the_same_parameters_keeps_a_record_that_says_the_same(params, capsys):
    path = save(params)
    before = {p: p.read_bytes() for p in path.parent.iterdir()}
    assert save(params) == path
    out = capsys.readouterr().out
    assert "is there, with these parameters" in out and "says the same: it stays as it is" in out
    assert {p: p.read_bytes() for p in path.parent.iterdir()} == before


def test_what_is_replaced_is_kept(params, capsys):
    path = save(params, examples=VALUES)
    save(params | {"variant": "other-texts"})
    save(params, VALUES[:2])
    assert "it is kept as sst.tiny.s1.json.replaced" in capsys.readouterr().out
    save(params, VALUES[:1])
    path.write_text("{")
    save(params)
    endings = "examples.parquet.replaced json json.damaged json.replaced json.replaced.2"
    endings += " other-texts.json other-texts.parquet"
    endings += " parquet parquet.damaged parquet.replaced parquet.replaced.2"
    assert names(path) == [f"sst.tiny.s1.{end}" for end in endings.split()]
    (first, _), _ = results.load(params["results_dir"], "quick", "paper", variants=None)
    assert first["unit"] == "sst.tiny.s1"


def test_what_tells_parameters_apart():
    assert results.differences({"a": 1}, {"a": 1, "variant": "", "plugins": []}) == []
    assert results.differences({"a": 1, "b": [1]}, {"a": 2}) == ["a=1, not 2", "b=[1], not unknown"]
    assert results.differences({}, {"epochs": 2}) == ["epochs=unknown, not 2"]
    assert results.differences({}, {"dtype": "bfloat16"}) == ["dtype=unknown, not 'bfloat16'"]
    assert results.differences({"workers": 1}, {"workers": 2}) == []
    assert results.differences({}, {"options": ""}) == []
    assert results.differences({}, {"definitions": ["paper"]}) == ["definitions=unknown, not ['paper']"]


# What a report reads -------------------------------------------------------------------------------

CONFIG = """
version: 2
scale: quick
papers:
  paper:
    defaults: {model: org/tiny, epochs: 3}
    units:
      - {task: sst, seed: [1, 2]}
      - {task: sst, seed: 3, variant: only-masking}
"""


@pytest.fixture
def project(tmp_path, params):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/quick.yaml").write_text(CONFIG)
    save(params)
    save(params | {"seed": 5})
    save(params | {"seed": 3, "variant": "only-masking"})
    return tmp_path


def units(project, **options):
    records, values = results.load(str(project / "results"), "quick", "paper", **options)
    return [(r["unit"], len(values[values.seed == r["params"]["seed"]])) for r in records]


def test_a_report_reads_what_its_config_lists_and_names_the_rest(project, capsys):
    capsys.readouterr()
    assert units(project) == [("sst.tiny.s1", 3)]
    out = capsys.readouterr().out
    assert "quick.yaml does not list them: sst.tiny.s5." in out
    assert "quick.yaml without a record: sst.tiny.s2." in out
    assert "Variants, which are not in these tables: sst.tiny.s3.only-masking." in out
    assert units(project, variants=("only-masking",)) == [("sst.tiny.s3.only-masking", 3)]
    assert [unit for unit, _ in units(project, variants=None)] == ["sst.tiny.s1", "sst.tiny.s3.only-masking"]


def test_a_record_that_is_not_what_the_config_asks_for_is_named(project, capsys):
    path = project / "config/quick.yaml"
    path.write_text(CONFIG.replace("epochs: 3", "epochs: 4"))
    assert units(project) == [("sst.tiny.s1", 3)]
    assert "Unit sst.tiny.s1 is not what" in (out := capsys.readouterr().out) and "epochs=3, not 4" in out
    path.write_text("papers: [")
    refused("quick.yaml cannot be read .* it says which units paper has", units, project)
    path.write_text(CONFIG.replace("  paper:", "  other:"))
    assert [unit for unit, _ in units(project)] == ["sst.tiny.s1", "sst.tiny.s5"]


def test_seeds_of_other_settings_are_no_sample(project, params, capsys):
    save(params | {"seed": 2, "epochs": 9})
    capsys.readouterr()
    assert units(project) == [("sst.tiny.s1", 3)]  # the config asks for 3 epochs
    line = "Left out, as not all seeds have the same settings (epochs=9, not 3): sst.tiny.s2."
    assert line in capsys.readouterr().out
    (project / "results").rename(project / "mine")  # where no config decides
    refused("no records in", results.load, str(project / "mine"), "quick", "paper", error=FileNotFoundError)
    out = capsys.readouterr().out
    assert "Left out" in out and "sst.tiny.s1, sst.tiny.s2, sst.tiny.s5" in out


def test_a_copy_of_a_seed_under_another_name_is_refused(project, params):
    save(params | {"seed": 2}, VALUES.assign(value=VALUES.value - 1))
    refused("units sst.tiny.s1 and sst.tiny.s2 have the same values", units, project)
    path = project / "results/quick/paper/sst.tiny.s2.json"
    for seed in (1, 2):
        run = results.start("paper", params | {"seed": seed})
        run.weights["weights.ab.safetensors"] = "ab" * 32
        path.with_name(f"sst.tiny.s{seed}.json").unlink()
        run.save(METRICS, VALUES.assign(value=VALUES.value * seed))
    refused("have the same weights .abab.* one is a copy of the other", units, project)


def test_seeds_may_have_other_attributions(project, params):
    save(params | {"seed": 2, "attributions": ["lime"], "plugins": []})
    assert [unit for unit, _ in units(project)] == ["sst.tiny.s1", "sst.tiny.s2"]


def test_a_parameter_that_earlier_records_lack_separates_no_seeds(project, params, capsys):
    save(params | {"seed": 2, "options": "", "plugins": []})
    capsys.readouterr()
    assert [unit for unit, _ in units(project)] == ["sst.tiny.s1", "sst.tiny.s2"]
    assert "Left out" not in capsys.readouterr().out


def test_a_folder_of_ones_own_is_read_whole(project, capsys):
    (project / "results").rename(project / "mine")
    capsys.readouterr()
    loaded, _ = results.load(str(project / "mine"), "quick", "paper")
    assert [r["unit"] for r in loaded] == ["sst.tiny.s1", "sst.tiny.s5"]
    assert "does not list" not in capsys.readouterr().out


def test_tables_beside_the_records_tell_variants_apart(params):
    save(params, parts=VALUES)
    save(params | {"variant": "only-masking"}, parts=VALUES)
    records, values = results.load(params["results_dir"], "quick", "paper", variants=None)
    parts = results.load_tables(params["results_dir"], "quick", "paper", records, "parts")
    assert set(values.variant) == set(parts.variant) == {"", "only-masking"} and len(parts) == 6


def test_reading_records_needs_no_torch(project):
    code = (
        "import sys; from replication import results; "
        f"results.load({str(project / 'results')!r}, 'quick', 'paper'); "
        "sys.exit(bool({'torch', 'transformers', 'datasets'} & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[1]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
