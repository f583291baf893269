"""A tiny Llama learns the generated prompts in seconds, and what it uses is the evidence."""

import numpy as np
import pytest

from faithlib import models, tasks, training
from faithlib.attributions import attribute
from faithlib.metrics.plausibility import part_shares, plausibility, words_of

TEXTS = 100


def trained(name, train, epochs):
    """The test split with a Llama trained on the spot: (rows, llama, prompts, targets, performance)."""
    data = tasks.load(name, sizes={"train": train, "validation": 100})
    words = [*data.splits["train"]["text"], *data.splits["train"]["target"]]
    llama = models.load_causal("tiny-llama", words)
    prompts = {
        split: (
            llama.encode(rows["text"]),
            np.array(llama.tokenizer.convert_tokens_to_ids(list(rows["target"]))),
        )
        for split, rows in data.splits.items()
    }
    training.fine_tune(llama, prompts, epochs=epochs, batch_size=32, learning_rate=3e-3)
    return data.splits["test"], llama, *prompts["test"], training.evaluate(llama, *prompts["test"])


@pytest.mark.parametrize(
    ("name", "train", "epochs"), [("world_facts", 2000, 3), ("world_biographies", 3000, 3)]
)
def test_most_prompts_are_answered(name, train, epochs):
    *_, performance = trained(name, train, epochs)
    assert performance["accuracy"] >= 0.9


def test_across_a_distractor_the_evidence_is_used():
    rows, llama, prompts, targets, performance = trained("world_agreement", 2000, 2)
    assert performance["accuracy"] >= 0.9
    rows, prompts, targets = rows[:TEXTS], prompts[:TEXTS], targets[:TEXTS]
    scores = attribute(llama, prompts, targets, ["leave_one_out", "noiser"], noise=3)
    found = plausibility(prompts, rows["evidence"], scores).query("metric == 'auprc'")
    found = found.groupby("attribution")[["value", "chance"]].mean()
    assert (found.value > found.chance + 0.3).all()
    parts = [{"distractor": words_of(*pair)} for pair in zip(rows["text"], rows["distractor"], strict=True)]
    shares = part_shares(prompts, parts, scores)
    found = shares.groupby("attribution")[["share", "chance"]].mean()
    assert (found.share < found.chance - 0.1).all()
