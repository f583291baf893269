"""What to know before the table of a study is read, in sentences, and its targets in words."""

from functools import partial

import numpy as np

from faithlib.metrics.plausibility import evidence_tokens, without_evidence
from faithlib.study import targets as explained
from faithlib.study.classes import class_names, taken_as

GAP = 0.1  # of what the target changes by: a larger gap of integrated gradients is noted


def repeated(part, rows=None):
    """Texts that are equal to an earlier one of `rows`, with their targets and evidence: {number}."""
    seen, later = set(), set()
    for i in range(len(part.encodings)) if rows is None else rows:
        e, answer = part.encodings[i], part.targets.listed[i]
        foil = part.targets.contrast and part.targets.contrast[i]
        evidence = str(part.inputs.evidence and (part.inputs.evidence[i], e.words.tolist()))
        key = e.ids.tobytes(), e.types.tobytes(), answer, foil, evidence
        if key in seen:
            later.add(i)
        seen.add(key)
    return later


def in_words(part):
    """(names of the classes, what is explained of each text in words or None, what is predicted)."""
    model, targets = part.model, part.targets
    if hasattr(model, "prefix"):
        predicted = [model.tokenizer.decode([token]) for token in part.predicted]
        label_names, words = (), partial(explained.written, model)
    else:
        label_names, predicted = tuple(class_names(model) or part.texts.label_names), part.predicted
        classes = label_names or [str(i) for i in range(model.outputs)]
        if targets.contrast is None:
            return label_names, None, predicted

        def words(answer):
            return classes[answer[0]]

    names = [words(answer) for answer in targets.listed]
    if targets.contrast is not None:
        foils = [words(foil) for foil in targets.contrast]
        names = [f"{name} − {foil}" for name, foil in zip(names, foils, strict=True)]
    return label_names, names, predicted


def notes(parts, at_chance):
    """What to know before the table is read, in sentences; printed but for where weights are from."""
    names, data = ", ".join(part.name for part in parts), parts[0].texts.name or "these texts"
    void = "No value is given: what explains such predictions says nothing."
    notes = [f"{names} on {data}: {at_chance}. {void}"] if at_chance else []
    notes += dict.fromkeys(remark for part in parts for remark in _remarks(part, at_chance) if remark)
    for note in notes:
        print(note, flush=True)
    for part in parts:
        config = getattr(getattr(part.model, "model", None), "config", None)
        if origin := getattr(config, "origin", None):
            notes.append(f"Weights of {part.name}: {', '.join(origin.values())}.")
    return notes


def _remarks(part, at_chance):
    """What to know about the texts of one model, in sentences, "" for nothing."""
    n, name, of_texts = len(part.encodings), part.model.name, part.labels
    yield part.cut
    yield part.left_out
    yield taken_as(part.texts, part.model)
    if hasattr(part.model, "prefix") and "label" in part.texts.frame:
        yield f"Labels are left out: {name} is a language model (prompts have answers, in the column target)."
    if of_texts is not None and len(set(of_texts.tolist())) == 1:
        yield f"All {n} labels are one class: whether {name} is at chance cannot be told."
    if of_texts is not None and not at_chance and (of_texts != part.predicted).all():
        yield f"{name} is wrong on all {n} texts: are the labels those of its classes?"
    if again := repeated(part):
        yield f"{len(again)} of {n} texts are equal to others: they count once."
    if part.inputs.evidence is not None:
        marked = zip(map(evidence_tokens, part.encodings, part.inputs.evidence), part.encodings, strict=True)
        if whole := sum(e.maskable.any() and (tokens == e.maskable).all() for tokens, e in marked):
            yield f"Evidence is every token of {whole} of {n} texts: all attributions are alike there."
        for row in without_evidence(part.encodings, part.inputs.evidence) if part.cut else ():
            yield f"Texts with {row['what']} ({row['why']}): {row['n']} of {n}."
    if part.masked and (part.asked.targets is not None or part.asked.contrast is not None):
        yield "RACU and MaSF explain the labels of the texts, as in their papers, and not the targets."
    yield from explained.seams(part.model, part.texts, part.encodings, part.asked.targets, part.asked.blank)


def gap(notes):
    """A sentence, printed too, where integrated gradients miss their sum in some texts: [str]."""
    gaps = notes.get("completeness_gap", ())
    if not len(gaps) or not (large := gaps > GAP * np.abs(notes["completeness_change"])).any():
        return []
    note = (
        f"Integrated gradients: in {large.sum()} of {len(gaps)} texts the scores miss their sum by "
        f"more than a tenth (median completeness gap {np.median(gaps):.2g}): give more steps."
    )
    print(note, flush=True)
    return [note]
