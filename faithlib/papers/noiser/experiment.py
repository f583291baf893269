"""What Noiser's experiment notebook does besides its lesson: checks, prompts, tiny models, scores, judges.

torch is imported where a model runs, so that this module, like all of `faithlib.papers`, loads without it.
"""

import os
from functools import partial

import numpy as np
import pandas as pd

API = "api:"  # what the name of a judge behind an endpoint begins with
BATCH_SIZE = 32  # of the tiny models


def check_parameters(given, answers):
    """Refuse parameters that do not fit together, before any work.

    Args:
        given: {name: value}, the parameters of the unit.
        answers: the folder (a Path) that keeps the answers of judges behind an endpoint.

    Raises:
        ValueError: naming the parameters and the fix.
    """
    from faithlib.judge import KEY

    attributions, definitions, boundings = (
        given[name] for name in ("attributions", "definitions", "boundings")
    )
    tokens, every, judge, share = (given[name] for name in ("tokens", "every", "judge", "judge_share"))
    missing = "noiser" not in attributions or "paper" not in definitions
    if missing or "k_min" in boundings or tokens < 0 or every < 1:
        raise ValueError(
            f"attributions={attributions}, definitions={definitions}, boundings={boundings}, "
            f"tokens={tokens}, every={every}: give 'noiser' and 'paper', no 'k_min' again, "
            "tokens of at least 0 and every of at least 1"
        )
    if not 0 < share <= 1:
        raise ValueError(
            f"judge_share={share} is outside (0, 1]: give the share of words to show, such as 0.5"
        )
    if judge == API:
        raise ValueError(f"judge={judge!r} names no model: write '{API}<name>', or '' for no judge")
    if judge.startswith(API) and not tokens and not (os.environ.get(KEY) or any(answers.glob("*.json"))):
        raise ValueError(
            f"judge={judge!r} is behind an endpoint: set {KEY} in the environment, or judge='' to leave "
            "answerability out"
        )


def select_prompts(data, given):
    """The prompts of a unit, and how many there are.

    Args:
        data: as `tasks.load` gives it.
        given: {name: value}, the parameters of the unit.

    Returns:
        (a DataFrame with the columns text and target, {stage of the selection: prompts}).

    Raises:
        ValueError: prompts without a gold word for which no tokens are generated, or a model or judge that
            cannot know them.
    """
    rows, tokens = data.splits["test"].to_pandas(), given["tokens"]
    task, model, judge = given["task"], given["model"], given["judge"]
    if not tokens and (rows.target == "").all():
        raise ValueError(
            f"tokens=0, but the prompts of {task!r} have no gold word: say how many tokens, such as 10"
        )
    generated = data.task.generated
    if (model == "tiny-llama") != generated or (judge == "tiny-llama" and not generated and not tokens):
        raise ValueError(
            f"task={task!r}, model={model!r}, judge={judge!r}: 'tiny-llama' is trained on generated prompts, "
            "and only on them; give a pretrained model for other prompts"
        )
    counts = {"all": len(rows)}
    if "noiser_prompt_ok" in rows:
        counts["malformed as released"] = int((~rows.noiser_prompt_ok).sum())
        if given["released_prompts"]:
            rows["text"] = rows.prompt_noiser
    if tokens and "kind" in rows:  # a generated biography has rows that continue its prompt
        rows = rows[rows.kind == "prompt"].reset_index(drop=True)
        counts["all"] = len(rows)
    return rows, counts


def train_tiny(run, data, name, settings, seed, gaps=None, model_dir=""):
    """A tiny language model trained on the generated prompts.

    Args:
        run: the `results.Run`, which keeps the weights.
        data: as `tasks.load` gives it.
        name: of the model, such as "tiny-llama".
        settings: epochs and learning_rate.
        seed: of the weights and the batches.
        gaps: None, or the seed of the words that are left out of the prompts, for a judge.
        model_dir: a folder of models.

    Returns:
        (the `CausalLM`, its training history).
    """
    from faithlib import models, training

    splits = {split: data.splits[split] for split in ("train", "validation")}
    words = [f"{row['text']} {row['target']}" for row in splits["train"]]
    lm = models.load_causal(name, words, model_dir, seed, run.device, dtype=run.dtype)
    change = str if gaps is None else partial(_with_gaps, seed=gaps)
    encoded = {
        split: (
            lm.encode([change(text) for text in rows["text"]]),
            np.array(lm.tokenizer.convert_tokens_to_ids(list(rows["target"]))),
        )
        for split, rows in splits.items()
    }
    settings = {**settings, "batch_size": BATCH_SIZE, "seed": seed}
    key = [settings, data.provenance, gaps]
    return lm, run.keep_weights(lm, lambda: training.fine_tune(lm, encoded, **settings), key)


def _with_gaps(text, seed):
    """A text with words left out at random, from none to four fifths of them."""
    words, draw = np.array(text.split()), np.random.default_rng([seed, *text.encode()])
    left = draw.random(len(words)) < draw.uniform(0.2, 1)
    return " ".join(words[left] if left.any() else words[-1:])


def several_tokens(lm, rows, encodings):
    """How many prompts have a gold word of more than one token."""
    complete = lm.encode([f"{text} {gold}" for text, gold in zip(rows.text, rows.target, strict=True)])
    return sum(len(after.ids) > len(e.ids) + 1 for e, after in zip(encodings, complete, strict=True))


def sample(kept, examples, given):
    """At most `examples` of the prompts kept (0: all), in order, the same ones for every seed.

    Raises:
        ValueError: no prompt is kept.
    """
    if not len(kept):
        raise ValueError(
            f"{given['model']} predicts the gold word of no prompt of {given['task']}: there is nothing to "
            "explain; give another model, or tokens above 0"
        )
    return kept[np.sort(np.random.default_rng(0).permutation(len(kept))[: examples or None])]


def explained_steps(lm, encodings, predicted, tokens, every):
    """The predictions that are explained, as `soft_causal.Steps`.

    Args:
        predicted: (prompts,) the next token of each prompt, explained where tokens is 0.
        tokens: how many tokens are generated after each prompt; every `every`-th is explained.
    """
    from faithlib.metrics import soft_causal

    if not tokens:
        return soft_causal.Steps(
            encodings, predicted, np.arange(len(encodings)), np.zeros(len(encodings), int)
        )
    steps = soft_causal.continuations(lm, encodings, tokens)
    taken = np.flatnonzero(steps.steps % every == 0)
    return soft_causal.Steps([steps.encodings[i] for i in taken], *(column[taken] for column in steps[1:]))


def scores(lm, encodings, targets, attributions, boundings, settings):
    """Scores of all methods and of Noiser under each bound: {column: values}, with a row for each prompt.

    Columns: a method's name; noiser.<bounding>; k.<bounding> and flipped.<bounding>, what the search for the
    noise's scale has found; tied. All of them share the passes of the model.
    """
    from faithlib import forward
    from faithlib.attributions import attribute

    columns, cache = {}, forward.Cache()
    for bounding in sorted(boundings, reverse=True, key=lambda name: name.startswith("k_max")):
        notes = {}
        how = dict(bounding=bounding, notes=notes, cache=cache, **settings)
        columns[f"noiser.{bounding}"] = attribute(lm, encodings, targets, ["noiser"], **how)["noiser"]
        columns |= {f"{note}.{bounding}": notes[note] for note in ("k", "flipped") if note in notes}
    notes = {}
    columns |= attribute(lm, encodings, targets, attributions, notes=notes, cache=cache, **settings)
    return columns | {f"{note}.k_min": notes[note] for note in ("k", "flipped")} | {"tied": notes["tied"]}


def prompt_parts(rows):
    """The words of each prompt that belong to its subject, its relation and its distractor.

    Returns:
        [{part: [index of a word]}], or None where the data do not say what the subject is.
    """
    from faithlib.metrics.plausibility import words_of

    subjects = rows.get("subject", rows.get("antecedent"))
    if subjects is None:
        return None
    parts = [{"subject": words_of(text, subject)} for text, subject in zip(rows.text, subjects, strict=True)]
    for i, distractor in enumerate(rows.get("distractor", [])):
        if distractor and distractor in rows.text[i]:
            parts[i]["distractor"] = words_of(rows.text[i], distractor)
    if "evidence" in rows:
        for part, evidence in zip(parts, rows.evidence, strict=True):
            part["relation"] = [int(word) for word in evidence if word not in part["subject"]]
    return parts


def summarise_parts(tables, attributions):
    """Mean share of each part and mean AUPRC, with a row for each attribution and one for random scores.

    Args:
        tables: {"parts": of `plausibility.part_shares`, "evidence": of `plausibility.plausibility`}, or less.
    """
    columns = {}
    if "parts" in tables:
        for part, rows in tables["parts"].groupby("part", sort=False):
            columns[f"share of the {part}"] = rows.groupby("attribution").share.mean()
    if "evidence" in tables:
        evidence = tables["evidence"]
        auprc = evidence[evidence.metric == "auprc"].groupby("attribution")
        columns |= {"AUPRC": auprc.value.mean(), "AUPRC of a random order": auprc.chance.mean()}
    return pd.DataFrame(columns).reindex([*attributions, "random"] if columns else []).round(2)


def make_judge(name, run, data, settings, seed, answers, model_dir=""):
    """The judge of a name: "api:<model>" behind an endpoint, a tiny model trained now, or a pretrained one.

    Args:
        settings: of `train_tiny`, for prompts of a generated world.
        answers: the folder that keeps the answers of an endpoint.
    """
    from faithlib import models
    from faithlib.judge import TEMPLATE, EndpointJudge, LocalJudge

    if name.startswith(API):
        return EndpointJudge(name.removeprefix(API), answers)
    if data.task.generated:
        lm, _ = train_tiny(run, data, name, settings, seed + 1000, gaps=seed, model_dir=model_dir)
        return LocalJudge(lm, tokens=1)
    return LocalJudge(models.load_causal(name, [], model_dir, seed, run.device, dtype=run.dtype), TEMPLATE)


def summarise_answers(answers, minimum, attributions):
    """Rate and score of the judge and the words it needs, with a row for each attribution and one for random.

    Args:
        answers, minimum: of `metrics.answerability`, with a column baseline ("" or "matched").
    """
    answers = answers.assign(right=answers.place == 1)
    own, matched = (answers[answers.baseline == baseline] for baseline in ("", "matched"))
    columns = {
        "rate": own.groupby("attribution").right.mean(),
        "rate, order at random": matched.groupby("attribution").right.mean(),
        "score": own[own.right].groupby("attribution").mass.mean(),
        "words needed": minimum[minimum.baseline == ""].groupby("attribution").share.mean(),
    }
    return pd.DataFrame(columns).reindex([*attributions, "random"]).round(2)
