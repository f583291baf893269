"""What Noiser's experiment notebook does besides its lesson: checks, prompts, tiny models, scores, judges.

torch is imported where a model runs, so that this module, like all of `replication.papers`, loads without it.
"""

from __future__ import annotations

import os
from ast import literal_eval
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication import papers
from replication.papers import ENDPOINT

if TYPE_CHECKING:
    from faithlib.metrics.soft_causal import Steps
    from faithlib.models.base import Encoding
    from faithlib.models.causal import CausalLM
    from faithlib.tasks.loading import Loaded
    from notebooks.noiser.measure.judge import Judge
    from replication.results import Run


TINY = "tiny-llama"  # a language model that learns the generated prompts
BATCH_SIZE, LEARNING_RATE = 32, 3e-3  # of the tiny models
CAPITALS = "capital-world"  # the kind of LongRA's prompts that Figure 2 is of
MAIN = {"noiser": "k_min", "integrated_gradients": "zero"}  # the paper's setting of what has several


def check_parameters(params: dict, answers: Path) -> None:
    """Refuse parameters of a unit that do not fit together, before any work: ValueError, with the fix.

    answers: the folder that keeps the answers of judges behind an endpoint.
    """
    from notebooks.noiser.measure.judge import KEY, EndpointJudge

    papers.card("noiser").check(params)
    check_endpoint(params, answers)
    judge = params["judge"]
    if judge.startswith(ENDPOINT) and not params["tokens"] and os.environ.get(KEY):
        options = judge_options(params["judge_settings"], judge)
        EndpointJudge(judge.removeprefix(ENDPOINT), answers, **options)  # a wrong address is told now


def check_endpoint(params, answers):
    """Refuse a judge behind an endpoint that has no key, client or kept answers; `given` as above."""
    from notebooks.noiser.measure.judge import KEY

    judge = params["judge"]
    if not judge.startswith(ENDPOINT) or params["tokens"] or any(answers.glob("*.json")):
        return
    if not os.environ.get(KEY):
        raise ValueError(
            f"judge={judge!r} is behind an endpoint: set {KEY} in the environment, or judge='' to leave "
            "answerability out"
        )
    if not find_spec("openai"):
        raise ValueError(
            f"judge={judge!r} needs the openai client, which is not installed: run python -m pip install "
            "-c constraints.txt -e .[judge], or judge='' to leave answerability out"
        )


def judge_options(settings, judge):
    """Keyword arguments of a judge from the parameter judge_settings, ["tokens=200", ...].

    Args:
        settings: ["<name>=<value>"]; names are arguments of `judge.EndpointJudge` or `judge.LocalJudge`;
            values are read as Python, else as text; template may be a name of `judge.TEMPLATES`.
        judge: the judge's name.

    Raises:
        ValueError: another form, an unknown name or template, a value out of range.

    Example:
        >>> judge_options(["tokens=8", "template=paper"], "my-lm")["tokens"]
        8
    """
    from notebooks.noiser.measure.judge import TEMPLATES, EndpointJudge, LocalJudge, check_settings

    kind = EndpointJudge if judge.startswith(ENDPOINT) else LocalJudge
    names = sorted(set(signature(kind).parameters) - {"name", "folder", "model", "file"})
    options = {}
    for item in settings:
        name, equal, value = str(item).partition("=")
        if not equal or name not in names:
            raise ValueError(
                f"judge_settings: {item!r}: write '<name>=<value>' with one of {', '.join(names)}"
            )
        if name in options:
            raise ValueError(f"judge_settings: {name!r} is given twice: give it once")
        try:
            options[name] = literal_eval(value)
        except (ValueError, SyntaxError, TypeError):
            options[name] = value
    if isinstance(template := options.get("template"), str):
        options["template"] = TEMPLATES.get(template, template)
    try:
        check_settings(**options)
    except ValueError as error:
        raise ValueError(f"judge_settings: {error}; change it or leave it out") from None
    return options


def select_prompts(data: Loaded, params: dict) -> tuple[pd.DataFrame, dict[str, int]]:
    """The prompts of a unit (columns text and target), and {stage of the selection: prompts}.

    ValueError for prompts without a gold word for which no tokens are generated, and for a model or judge
    that cannot know them.
    """
    rows, tokens = data.splits["test"].to_pandas(), params["tokens"]
    task, model, judge = params["task"], params["model"], params["judge"]
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
        if params["released_prompts"]:
            rows["text"] = rows.prompt_noiser
    if types := params["types"]:
        kinds = set(rows["type"]) if "type" in rows else set()
        if unknown := [name for name in types if name not in kinds]:
            raise ValueError(f"types={unknown[0]!r}: no prompt of {task!r} is of it; use {sorted(kinds)}")
        rows = rows[rows["type"].isin(types)].reset_index(drop=True)
        counts["of these types"] = len(rows)
    if tokens and "kind" in rows:  # a generated biography has rows that continue its prompt
        rows = rows[rows.kind == "prompt"].reset_index(drop=True)
        counts["all"] = len(rows)
    return rows, counts


def facts(rows: pd.DataFrame, tokens: int = 0) -> np.ndarray:
    """Which prompts ask for the same fact, and so are one observation: (prompts,) int.

    Prompts of one subject and relation, of one pair of words or on one person are a fact; where the data do
    not tell, each prompt is its own. tokens: above 0, what is explained is a continuation and not the target.
    """
    by = [c for c in ("antecedent", "subject", "relation_id", "kind") if c in rows]
    if not {"antecedent", "subject"} & set(by):
        return np.arange(len(rows))
    return rows.groupby([*by, *([] if tokens else ["target"])], sort=False, dropna=False).ngroup().to_numpy()


def train_tiny(
    run: Run, data: Loaded, name: str, epochs: int, seed: int, gaps: int | None = None, model_dir: str = ""
) -> tuple[CausalLM, list[dict]]:
    """A tiny language model trained on the generated prompts, and its training history.

    gaps: None, or the seed of the words that are left out of the prompts, for a judge.
    """
    from faithlib import models, training
    from faithlib.corpora.grammar import with_gaps

    splits = {split: data.splits[split] for split in ("train", "validation")}
    words = [f"{row['text']} {row['target']}" for row in splits["train"]]
    lm = models.load_causal(name, words, model_dir, seed, run.device)
    change = str if gaps is None else partial(with_gaps, seed=gaps)
    encoded = {
        split: (
            lm.encode([change(text) for text in rows["text"]]),
            np.array(lm.tokenizer.convert_tokens_to_ids(list(rows["target"]))),
        )
        for split, rows in splits.items()
    }
    settings = dict(epochs=epochs, learning_rate=LEARNING_RATE, batch_size=BATCH_SIZE, seed=seed)
    key = [settings, data.provenance, gaps]
    return lm, run.keep_weights(lm, lambda: training.fine_tune(lm, encoded, **settings), key)


def fitting(
    lm: CausalLM, rows: pd.DataFrame, long_texts: str
) -> tuple[pd.DataFrame, list[Encoding], list[dict]]:
    """(prompts, encodings, rows for `excluded`), those that are too long refused or left out ("truncate")."""
    from faithlib.models import check_examples  # which loads torch

    encodings, excluded = lm.encode(list(rows.text)), []
    if long_texts == "truncate":
        fits = np.array([len(e.ids) <= lm.max_length for e in encodings])
        if not fits.any():
            raise ValueError(
                f"all prompts have more tokens than max_length={lm.max_length}: give a larger one"
            )
        why = f"it has more than {lm.max_length} tokens, and its end decides what follows"
        excluded = [{"what": "prompt left out", "why": why, "n": int((~fits).sum())}] * bool((~fits).any())
        rows, encodings = (
            rows[fits].reset_index(drop=True),
            [e for e, fit in zip(encodings, fits, strict=True) if fit],
        )
    return rows, check_examples(lm, encodings)[0], excluded


def several_tokens(lm: CausalLM, rows: pd.DataFrame, encodings: list[Encoding]) -> int:
    """How many prompts have a gold word of more than one token."""
    complete = lm.encode([f"{text} {gold}" for text, gold in zip(rows.text, rows.target, strict=True)])
    return sum(len(after.ids) > len(e.ids) + 1 for e, after in zip(encodings, complete, strict=True))


def sample(kept: np.ndarray, examples: int, params: dict) -> np.ndarray:
    """At most `examples` of the prompts kept (0: all), in order, the same for every seed."""
    if not len(kept):
        raise ValueError(
            f"{params['model']} predicts the gold word of no prompt of {params['task']}: there is nothing to "
            "explain; give another model, or tokens above 0"
        )
    return kept[np.sort(np.random.default_rng(0).permutation(len(kept))[: examples or None])]


def explained_steps(
    lm: CausalLM, encodings: list[Encoding], predicted: np.ndarray, tokens: int, every: int
) -> Steps:
    """The predictions explained: the `predicted` next tokens, or each `every`-th of `tokens` generated."""
    from faithlib.metrics import soft_causal

    if not tokens:
        return soft_causal.Steps(
            encodings, predicted, np.arange(len(encodings)), np.zeros(len(encodings), int)
        )
    steps = soft_causal.continuations(lm, encodings, tokens)
    taken = np.flatnonzero(steps.steps % every == 0)
    return soft_causal.Steps([steps.encodings[i] for i in taken], *(column[taken] for column in steps[1:]))


def behind_context(
    lm: CausalLM, prompts: list[str], golds: list[str], target: int, attributions: list[str], settings: dict
) -> tuple[list[str], dict, dict]:
    """The first prompt behind another one with its answer, a distractor: what each method says of it.

    The context is the first prompt with another answer. Without one, or where both do not fit into the model,
    the prompt stands alone. target: the next token of the first prompt.

    Returns:
        (tokens, {attribution: scores (tokens,)}, {attribution: "<share> on the context, <n> passes"}): the
        share of its absolute scores, and how many texts the model reads for them.
    """
    from faithlib.attributions import attribute

    said = [f"{prompt} {gold}".strip() for prompt, gold in zip(prompts, golds, strict=True)]
    others = [i for i, text in enumerate(said) if text != said[0]]
    others = sorted(others, key=lambda i: golds[i] == golds[0])  # another answer first
    context = said[others[0]] if others else ""
    for stop in (".", " .", ""):  # as the model's vocabulary has it
        (encoding,) = lm.encode([f"{context}{stop} {prompts[0]}" if context else prompts[0]])
        if lm.tokenizer.unk_token_id not in encoding.ids:
            break
    if len(encoding.ids) > lm.max_length:
        context, (encoding,) = "", lm.encode([prompts[0]])
    before = len(f"{context}{stop}".split()) if context else 0
    on_context = encoding.maskable & (encoding.words < before)
    read = []

    def count(_, arguments, named):
        first = named.get("inputs_embeds")
        read.append(len(named["input_ids"] if first is None else first))

    hook = lm.model.base_model.register_forward_pre_hook(count, with_kwargs=True)
    by_name, notes = {}, {}
    for name in attributions:
        read.clear()
        by_name[name] = attribute(lm, [encoding], np.array([target]), [name], **settings)[name][0]
        size = np.abs(by_name[name])
        share, n = size[on_context].sum() / max(size.sum(), 1e-12), sum(read)
        notes[name] = f"{share:.0%} on the context, {n:,} pass{'es' * (n != 1)}"
    hook.remove()
    return lm.tokens(encoding), by_name, notes


def scores(
    lm: CausalLM,
    encodings: list[Encoding],
    targets: np.ndarray,
    attributions: list[str],
    boundings: list[str],
    samples: int,
    settings: dict,
    definitions: Sequence[str],
    paths: Sequence[str],
) -> dict[str, list]:
    """Scores of all methods in all settings, by each definition: {column: values}, a row for each prompt.

    LIME's line is fitted to `samples` texts, by the release to its own 50. GradientSHAP has the 20 random
    points of its default, the release 5.

    Columns: <definition>.<attribution>.<setting>, where the setting is a bounding of Noiser, the baseline of
    integrated gradients (of `paths`: "zero", as the paper has it, and "token", the model's own), or "".
    Boundings other than k_min are not in the release: "released" are those of all tokens, divided by their
    signed sum. Beside them k.<bounding> and flipped.<bounding>, what the search for the noise's scale has
    found; completeness_gap.<baseline>; tied. All of them share the passes of the model.
    """
    from faithlib.attributions import attribute
    from faithlib.engine import forward
    from faithlib.metrics.soft_causal import NORMALISATIONS, everywhere

    columns, cache, whole = {}, forward.Cache(), everywhere(encodings)  # the release scores all tokens
    by_sum = NORMALISATIONS["sum 1, signed"]
    for bounding in sorted(boundings, reverse=True, key=lambda name: name.startswith("k_max")):
        how: dict = dict(bounding=bounding, cache=cache, **settings)
        notes: dict = {}
        by_tokens = bounding.startswith("k_")  # the scale depends on which tokens are maskable
        if "released" in definitions or not by_tokens:
            released = attribute(lm, whole, targets, ["noiser"], notes=notes, **how)["noiser"]
            columns[f"released.noiser.{bounding}"] = [by_sum(s) for s in released]
            of_noiser = [np.where(e.maskable, s, 0) for e, s in zip(encodings, released, strict=True)]
        if by_tokens:
            of_noiser = attribute(lm, encodings, targets, ["noiser"], notes=notes, **how)["noiser"]
        columns[f"paper.noiser.{bounding}"] = of_noiser
        columns |= {f"{note}.{bounding}": notes[note] for note in ("k", "flipped") if note in notes}
    integral = "integrated_gradients"
    groups: list[tuple] = [  # of attributions with settings of their own, and what tells them apart
        *(({integral}, {"baseline": path}, path) for path in paths),
        ({"lime"}, {"samples": samples}, ""),
        ({*attributions} - {integral, "lime"}, {}, ""),
    ]
    for names, options, setting in groups:
        wanted = [a for a in attributions if a in names]
        if not wanted:
            continue
        notes = {}
        computed = attribute(lm, encodings, targets, wanted, notes=notes, cache=cache, **options, **settings)
        columns |= {f"paper.{a}.{setting or MAIN.get(a, '')}": computed[a] for a in wanted}
        columns |= {f"{note}.k_min": notes[note] for note in ("k", "flipped") if note in notes}
        columns |= {"tied": notes["tied"]} if "tied" in notes else {}
        if setting:
            columns[f"completeness_gap.{setting}"] = notes["completeness_gap"]
    if "released" not in definitions:
        return columns
    how = dict(definition="released", paper="noiser", cache=cache, **settings)
    computed = attribute(lm, whole, targets, attributions, **how)
    return columns | {f"released.{a}.{'k_min' if a == 'noiser' else ''}": computed[a] for a in attributions}


def searched(notes: pd.DataFrame) -> list[dict]:
    """What the searches for k and the integrals found, of the columns of `scores`: rows for the record."""
    rows = []
    for column in notes:
        note, _, setting = column.partition(".")
        if note in ("k", "flipped", "completeness_gap", "tied"):
            values = notes[column].dropna().astype(float)
            row = {"metric": note, "setting": setting, "value": float(values.mean()), "n": len(values)}
            rows.append(row | ({"median": float(values.median()), "largest": float(values.max())}
                               if note == "completeness_gap" else {}))  # fmt: skip
    return rows


def in_dtype(lm: CausalLM, dtype: str) -> CausalLM:
    """The model with weights and products in a dtype; itself where that is float32."""
    import torch

    from faithlib.models import CausalLM

    if dtype == "float32":
        return lm
    return CausalLM(deepcopy(lm.model).to(getattr(torch, dtype)), lm.tokenizer, lm.name, lm.max_length)


def prompt_parts(rows: pd.DataFrame) -> list[dict] | None:
    """The words of each prompt's subject, relation and distractor: [{part: [index of a word]}], or None.

    Prompts that ask for a country's capital have the part "country and capital" as well.
    """
    from faithlib.metrics.plausibility import words_of

    subjects = rows.get("subject", rows.get("antecedent"))
    if subjects is None:
        return None
    parts = [{"subject": words_of(text, subject)} for text, subject in zip(rows.text, subjects, strict=True)]
    for i, distractor in enumerate(rows.get("distractor", [])):
        if distractor and distractor in rows.text[i]:
            parts[i]["distractor"] = words_of(rows.text[i], distractor)
    for i in np.flatnonzero(rows["type"] == CAPITALS) if "type" in rows else ():
        parts[i]["country and capital"] = parts[i]["subject"] + words_of(rows.text[i], "capital")
    if "evidence" in rows:
        for part, evidence in zip(parts, rows.evidence, strict=True):
            part["relation"] = [int(word) for word in evidence if word not in part["subject"]]
    return parts


def summarise_parts(tables: dict[str, pd.DataFrame], attributions: list[str]) -> pd.DataFrame:
    """Mean share of each part and mean AUPRC, a row for each attribution and one for random scores.

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


def make_judge(name: str, run: Run, data: Loaded, params: dict, answers: Path, model_dir: str = "") -> Judge:
    """The judge of a name: behind an endpoint ("api:<model>"), a tiny model trained now, or pretrained."""
    from faithlib import models
    from notebooks.noiser.measure.judge import EndpointJudge, LocalJudge
    from replication.results import digest, weights_digest

    options, seed = judge_options(params["judge_settings"], name), params["seed"]
    if name.startswith(ENDPOINT):
        return EndpointJudge(name.removeprefix(ENDPOINT), answers, **options)
    if data.task.generated:
        lm, _ = train_tiny(run, data, name, params["epochs"], seed + 1000, seed, model_dir)
        return LocalJudge(lm, **{"tokens": 1, **options})
    lm = models.load_causal(name, [], model_dir, seed, run.device, dtype=run.dtype)
    key = [options, run.dtype, weights_digest(lm.model)]
    file = run.kept / f"judge.{digest(key)[:12]}.json"
    return LocalJudge(lm, **{"file": file, **options})


def summarise_answers(answers: pd.DataFrame, minimum: pd.DataFrame, attributions: list[str]) -> pd.DataFrame:
    """Rate and score of the judge and the words it needs, a row for each attribution and one for random."""
    answers = answers.assign(right=answers.place == 1)
    plain, matched = (answers[answers.baseline == baseline] for baseline in ("", "matched"))
    columns = {
        "rate": plain.groupby("attribution").right.mean(),
        "rate, order at random": matched.groupby("attribution").right.mean(),
        "score": plain[plain.right].groupby("attribution").mass.mean(),
        "words needed": minimum[minimum.baseline == ""].groupby("attribution").share.mean(),
    }
    return pd.DataFrame(columns).reindex([*attributions, "random"]).round(2)
