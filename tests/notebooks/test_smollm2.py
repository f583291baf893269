"""A unit of 20 prompts with a real language model, SmolLM2-135M-Instruct: ten methods, metrics, judge.

It runs where `make fetch` has put the model: FAITHLIB_MODEL_DIR=<folder> python -m pytest -m slow <this file>
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample.smollm2 import FOLDER, SMOLLM2, needs_smollm2
from sample.units import ROOT, run_here

from faithlib import models
from faithlib.engine import forward
from notebooks.noiser.card import CARD
from replication import results

PROMPTS = [f"The capital of {country} is the city of" for country in (
    "France", "Italy", "Spain", "Japan", "Egypt", "Greece", "Austria", "Peru", "Cuba", "Norway",
)] + [f"People in {country} mostly speak the language called" for country in (
    "Brazil", "Germany", "Mexico", "China", "Russia", "Sweden", "Poland", "Turkey", "Iran", "Canada",
)]  # fmt: skip


@pytest.mark.slow
@needs_smollm2
def test_a_unit_of_twenty_prompts(folders, tmp_path):
    lm = models.load_causal(SMOLLM2, model_dir=FOLDER)
    p = forward.probabilities(lm, [forward.unchanged(e) for e in lm.encode(PROMPTS)])
    said = [lm.tokenizer.decode(row.argmax()).strip() for row in p]
    table = pd.DataFrame({"text": PROMPTS, "target": said})
    table.to_csv(tmp_path / "prompts.csv", index=False)
    parameters = dict(
        task=str(tmp_path / "prompts.csv"), model=SMOLLM2, judge=SMOLLM2, model_dir=FOLDER, examples=0,
        boundings=["k_max", "l2"], bounding_examples=2, noise=4, steps=4, samples=20, soft_draws=2,
        dtype="bfloat16", variant="20-prompts",
    )  # fmt: skip
    run_here({**folders, **parameters}, ROOT / "notebooks/noiser/experiment.ipynb")
    (record,), values = results.load(folders["results_dir"], "quick", "noiser", variants=None)

    assert record["provenance"]["model"]["quantisation"].startswith("4 bits")
    assert record["provenance"]["examples"]["n"] == values.example.nunique() == 20
    assert set(values[values.baseline == ""].attribution) == set(CARD.attributions)
    assert (
        values.soft_ns.between(0, 1).all()
        and np.isfinite(values.soft_nc).all()
        and (values.soft_nc >= 0).all()
    )
    metrics = pd.DataFrame(record["metrics"]).set_index(["metric", "setting"]).value
    assert metrics["flipped", "k_min"] == 1  # some word changes the answer to every prompt
    assert 0 < metrics["k", "k_min"] <= metrics["k", "k_max"] <= 1
    answers = pd.read_parquet(next(Path(folders["results_dir"]).rglob("*.answers.parquet")))
    assert set(answers.place) <= set(range(6)) and set(answers.example) == set(range(20))
    assert (answers[answers.baseline == ""].groupby("attribution").size() == 20).all()
