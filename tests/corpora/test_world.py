"""Generated facts for language models: what a prompt says, and that a tiny Llama learns to answer it."""

from itertools import pairwise

import numpy as np
import pytest
from sample.corpora import PROMPTS, SIZES, evidence_words

from faithlib import corpora, models, tasks
from faithlib.attributions import attribute
from faithlib.corpora import world
from faithlib.metrics.plausibility import part_shares, plausibility, words_of
from faithlib.training import fine_tuning as training

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


@pytest.mark.parametrize("name, train, epochs", [("world_facts", 2000, 3), ("world_biographies", 3000, 3)])
def test_most_prompts_are_answered(name, train, epochs):
    *_, performance = trained(name, train, epochs)
    assert performance["accuracy"] >= 0.9


def test_across_a_distractor_the_evidence_is_used():
    rows, llama, prompts, targets, performance = trained("world_agreement", 2000, 2)
    assert performance["accuracy"] >= 0.9
    rows, prompts, targets = rows[:TEXTS], prompts[:TEXTS], targets[:TEXTS]
    scores = attribute(llama, prompts, targets, ["leave_one_out", "noiser"], noise=3)
    table = plausibility(prompts, rows["evidence"], scores).query("metric == 'auprc'")
    table = table.groupby("attribution")[["value", "chance"]].mean()
    assert (table.value > table.chance + 0.3).all()
    parts = [{"distractor": words_of(*pair)} for pair in zip(rows["text"], rows["distractor"], strict=True)]
    shares = part_shares(prompts, parts, scores)
    table = shares.groupby("attribution")[["share", "chance"]].mean()
    assert (table.share < table.chance - 0.1).all()


def test_a_prompt_of_the_world_does_not_say_its_answers_fact():
    rows = corpora.make("world", 9, SIZES)["train"]
    assert {row["kind"] for row in rows} == {"1 before", "2 before"}
    for row in rows:
        asked, subject = evidence_words(row)
        assert f"{asked} of {subject} is" not in row["text"].removesuffix(f"the {asked} of {subject} is")
    assert len({tuple(evidence_words(row)) for row in rows}) == len(world.FACTS) == 70


def test_prompts_ask_for_every_fact():
    for name in PROMPTS[:2]:
        rows = corpora.make(name, 9, {"train": 2000})["train"]
        assert {row["kind"] for row in rows} == set(world.WORDINGS)
        assert {(row["kind"], row["subject"]): row["target"] for row in rows} == world.KNOWN
        assert len(world.KNOWN) == 80 and not any(row["target"] in row["text"].split() for row in rows)


def test_a_distractor_stands_between_the_evidence():
    named = 0
    for row in corpora.make("world_agreement", 12, SIZES)["train"]:
        words, aside = row["text"].split(), row["distractor"].split()
        start = words.index("(")
        assert words[start : start + len(aside)] == aside and aside[-1] == ")"
        first, last = row["evidence"]
        assert first < start and last >= start + len(aside) and words[first] == row["subject"]
        others = set(aside) & {*world.PEOPLE, *world.COUNTRIES}
        assert row["subject"] not in others and all(
            (other in world.PEOPLE) == (row["subject"] in world.PEOPLE) for other in others
        )
        named += len(others)
    assert 0.4 < named / SIZES["train"] < 0.6


def test_a_biography_is_continued_word_by_word_with_the_fact_it_left_out():
    rng = np.random.default_rng(0)
    for _ in range(30):
        first, *more = rows = world.Biographies.generate(rng)
        assert len(rows) == 10 and first["kind"] == "prompt"
        assert {row["kind"] for row in more} == {"continued"}
        for row, after in pairwise(rows):
            assert after["text"] == f"{row['text']} {row['target']}"
        assert first["text"].endswith(" .") and rows[-1]["target"] == "."
        (asked,) = [row for row in rows if row["evidence"]]
        answers = {r: world.FACTS[r, first["subject"]] for r in world.LIVES}
        stated = {r for r, answer in answers.items() if answer in first["text"].split()}
        assert len(stated) == 2 and [answers[r] for r in answers if r not in stated] == [asked["target"]]
