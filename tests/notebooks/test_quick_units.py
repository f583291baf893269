"""The quick scale has one unit a paper; units of other data sets, models and seeds of its size run here."""

import execute
import pytest
import yaml
from sample.units import ROOT

from replication import records, results

OTHERS = """
soft_metrics:
  - {task: sentiment, model: tiny-bert, seed: 0}
  - {task: relation, model: tiny-bert, seed: 0}
attributions:
  - {task: sentiment, model: tiny-bert, seed: 0}
  - {task: relation, model: tiny-bert, seed: 0}
recursive_roar:
  - {task: sentiment, model: bilstm, seed: 1, counts: [1, 2, 3]}
  - {task: sentiment, model: tiny-bert, seed: 0, learning_rate: 2.0e-3, train_size: 1500, recursive: [true],
     measures: [gradient_l2, input_x_gradient_abs]}
saloss:
  - {task: sentiment, model: tiny-bert, seed: 1}
fmm:
  - {task: sentiment, model: tiny-bert, seed: 1}
noiser:
  - {task: world_agreement, model: tiny-llama, seed: 0, examples: 12, boundings: [k_max, none]}
  - {task: world_biographies, model: tiny-llama, seed: 0, examples: 6, tokens: 10, every: 5, epochs: 6,
     boundings: [k_max, none]}
  - {task: world_facts, model: tiny-llama, seed: 0, examples: 6, boundings: [], definitions: [paper],
     options: none}
"""
UNITS = [(paper, unit) for paper, units in yaml.safe_load(OTHERS).items() for unit in units]
QUICK = yaml.safe_load((ROOT / "config/quick.yaml").read_text(encoding="utf-8"))["papers"]


def test_each_paper_and_study_has_one_quick_unit():
    assert [len(list(records.expand("quick", {}, *entry["units"]))) for entry in QUICK.values()] == [1] * 7
    assert set(yaml.safe_load(OTHERS)) < set(QUICK)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "unit"), UNITS, ids=[f"{paper}-{unit['task']}-{unit['model']}" for paper, unit in UNITS]
)
def test_another_unit_of_its_size_has_a_record_and_a_report(folders, tmp_path, paper, unit):
    places = folders | {"figures_dir": str(tmp_path / "figures")}
    book = f"notebooks/{paper}/experiment.ipynb"
    execute.run(book, str(tmp_path / "unit.ipynb"), {**unit, **folders})
    (record,), values = results.load(folders["results_dir"], "quick", paper)
    assert record["params"]["task"] == unit["task"] and len(values)
    execute.run(
        f"notebooks/{paper}/report.ipynb", str(tmp_path / "report.ipynb"), {"scale": "quick", **places}
    )
    assert (tmp_path / f"results/quick/{paper}/claims.csv").is_file()
