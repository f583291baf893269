"""What is explained: a class, the next token, an answer of several tokens, or a contrast of two."""

import re
from dataclasses import dataclass
from functools import partial
from numbers import Integral

import numpy as np

from faithlib import attributions
from faithlib.attributions import segments
from faithlib.engine import forward
from faithlib.metrics.inputs import followed
from faithlib.models.causal import CausalLM
from faithlib.study.classes import class_names, class_of
from faithlib.tasks.columns import is_blank

OPENING = "([{“‘«„‹¿¡$€£¥#"
CLOSING = re.compile(r"[.,;:!?)\]}%…”’»›]|('(s|t|re|ll|ve|d|m)|n't)\b")
UNPARTED = re.compile(  # Thai to Khmer, and Chinese and Japanese with their marks
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\uff00-\uffef]"
)


@dataclass
class Targets:
    """The targets of all texts.

    first: (texts,) int, the class, or the first token of the answer; answers: [(int, ...)] the tokens of each
    answer, None where each is one class or token; contrast: as answers, of what is subtracted, or None.
    """

    first: np.ndarray
    answers: list | None = None
    contrast: list | None = None

    def at(self, rows):
        """The targets of some texts."""
        answers, contrast = (of and [of[i] for i in rows] for of in (self.answers, self.contrast))
        return Targets(self.first[rows], answers, contrast)

    @property
    def listed(self):
        """The answers, also where each has one token."""
        return self.answers or [(int(t),) for t in self.first]


def resolve(model, texts, encodings, wanted=None, contrast=None, predicted=None, blank=True):
    """The `Targets` of a study.

    Args:
        texts: `data.Texts`; a language model takes its columns target and contrast.
        wanted: one a text: a class (number or name); for language models a token id, several, or a text,
            which follows the prompt. None for the column target, and where this is blank the prediction.
        contrast: as wanted, of what is subtracted: p(wanted) − p(contrast) is explained.
        predicted: (texts,) int, what the model predicts; None to check what is given only.
        blank: whether a blank parts an answer from its prompt where `parted` says so.

    Raises:
        ValueError: another number than of texts, a target that is blank or that the model does not have, an
            answer that leaves no room or has an unknown word, a contrast equal to the target.
    """
    causal = isinstance(model, CausalLM)
    columns = [name for name in ("target", "contrast") if not all(map(is_blank, texts.column(name) or ()))]
    if columns and not causal:
        raise ValueError(
            f"data has the column {columns[0]}, which answers a prompt, and {model.name} is a classifier: "
            "call it label, or drop it"
        )
    of_data = wanted is None
    if of_data and causal:
        wanted = texts.column("target")
    if contrast is None and causal:
        contrast = texts.column("contrast")
    filled = np.zeros(len(encodings), int) if predicted is None else predicted
    answers = _listed(model, texts, encodings, wanted, "targets", filled if of_data else None, blank)
    foils = contrast
    if contrast is not None:
        foils = _listed(model, texts, encodings, contrast, "contrast", None, blank)
    for i, (foil, value) in enumerate(zip(foils or (), answers if wanted is None else wanted, strict=False)):
        resolved = predicted is not None or wanted is not None and not is_blank(value)
        if resolved and foil == answers[i]:
            raise ValueError(f"contrast of text {i} is its target: give another")
    several = any(len(answer) > 1 for answer in answers) or foils is not None
    first = np.array([answer[0] for answer in answers])
    return Targets(first, answers if several else None, foils)


def check(targets, names):
    """Raise ValueError for attributions that have no meaning under a contrast: those without a sign."""
    if targets.contrast is None:
        return
    for name in names:
        entry = attributions.get(name)
        if not entry.signed and entry.family != "random baseline":
            raise ValueError(
                f"a contrast needs signed scores, and attribution {name!r} has none: leave one of them out"
            )


def attribute(model, encodings, targets, names, notes=None, **settings):
    """`attributions.attribute` of a class, a token, an answer or a contrast: {name: [(tokens,)]}.

    The scores of an answer are the sum of those of its tokens, each explained after those before it; those of
    a contrast are subtracted, but for random baselines. notes: filled where one class or token is explained.
    """
    if targets.answers is None:
        return attributions.attribute(model, encodings, targets.first, names, notes=notes, **settings)
    summed = _of_answers(model, encodings, targets.answers, names, settings)
    if targets.contrast is not None:
        other = _of_answers(model, encodings, targets.contrast, names, settings)
        for name in names:
            if attributions.get(name).family != "random baseline":
                summed[name] = [s - o for s, o in zip(summed[name], other[name], strict=True)]
    return summed


def left_out(model, encodings, targets, parts, removal="mask", cache=None):
    """`segments.leave_one_out` of a class, a token, an answer or a contrast: [{segment: score}]."""

    def of(answers):
        places, inputs, tokens = _steps(encodings, answers)
        longer = [np.append(parts[i], np.full(step, -1)) for i, step in places]
        of_steps = segments.leave_one_out(model, inputs, tokens, longer, removal, cache)
        sums = [{} for _ in encodings]
        for (i, _), scores in zip(places, of_steps, strict=True):
            sums[i] = {n: sums[i].get(n, 0.0) + score for n, score in scores.items()}
        return sums

    if targets.contrast is None:
        return of(targets.listed)
    both = zip(of(targets.listed), of(targets.contrast), strict=True)
    return [{n: score - other[n] for n, score in scores.items()} for scores, other in both]


def _steps(encodings, answers):
    """Each token of each answer: (places [(text, step)], what stands before it [Encoding], [token])."""
    places = [(i, step) for i, answer in enumerate(answers) for step in range(len(answer))]
    inputs = [followed(encodings[i], answers[i][:step]) if step else encodings[i] for i, step in places]
    return places, inputs, [answers[i][step] for i, step in places]


def _of_answers(model, encodings, answers, names, settings):
    places, inputs, tokens = _steps(encodings, answers)
    steps = attributions.attribute(model, inputs, tokens, names, **settings)
    summed = {name: [np.zeros(len(e.ids)) for e in encodings] for name in names}
    for name in names:
        for (i, _), s in zip(places, steps[name], strict=True):
            summed[name][i] += s[: len(encodings[i].ids)]
    return summed


def _listed(model, texts, encodings, values, what, predicted, blank):
    """The tokens of each text's target: [(int, ...)]; `predicted` fills what is None or blank, if given."""
    if values is None:
        return [(int(p),) for p in predicted]
    if isinstance(values, str | dict | set) or not np.iterable(values):
        raise ValueError(f"{what}={values!r}: give a list, one for each text")
    values = list(values)
    if len(values) != len(encodings):
        raise ValueError(f"{what}: {len(values)} for {len(encodings)} texts: give a list, one for each text")
    read = partial(_tokens, blank=blank) if isinstance(model, CausalLM) else _class
    tokens = []
    for i, value in enumerate(values):
        value = value.tolist() if hasattr(value, "tolist") else value  # of NumPy or torch
        if predicted is not None and is_blank(value):
            tokens.append((int(predicted[i]),))  # prompts without a known next word
        else:
            tokens.append(read(model, texts.frame.text[i], encodings[i], value, f"{what} of text {i}"))
    return tokens


def _class(model, text, encoding, value, what):
    names = class_names(model) or [str(i) for i in range(model.outputs)]
    return (class_of(value, names, what),)


def _tokens(model, text, encoding, value, what, blank=True):
    """The token ids of a next token or an answer."""
    if isinstance(value, str):
        tokens = _continuation(model, text, encoding, value, blank)
        _check_known(model, value, tokens, what)
    else:
        tokens = (value,) if isinstance(value, Integral) else value
    listed = hasattr(tokens, "__len__") and len(tokens) > 0
    if not listed or not all(isinstance(t, Integral) and not isinstance(t, bool) for t in tokens):
        raise ValueError(f"{what} is {value!r}: give a token id, a list of them, or a text that is not blank")
    if wrong := [int(t) for t in tokens if not 0 <= t < model.outputs]:
        raise ValueError(f"{what} is {wrong[0]}: {model.name} has the tokens 0 to {model.outputs - 1}")
    if len(encoding.ids) + len(tokens) - 1 > model.max_length:
        raise ValueError(
            f"{what} has {len(tokens)} tokens after a prompt of {len(encoding.ids)}, {model.name} takes "
            f"{model.max_length}: give a shorter one"
        )
    return tuple(int(t) for t in tokens)


def _check_known(model, answer, tokens, what):
    """Raise ValueError for an answer with a word that the tokenizer reads as its unknown token."""
    unknown = getattr(model.tokenizer, "unk_token_id", None)
    if unknown is None or unknown not in tokens or model.tokenizer.unk_token in answer:
        return
    read = {word: model.tokenizer(word, add_special_tokens=False)["input_ids"] for word in answer.split()}
    word = next((word for word, ids in read.items() if unknown in ids), answer)
    raise ValueError(f"{what}: {model.name} has no token for {word!r}: give another word")


def _continuation(model, text, encoding, answer, blank=True):
    """The tokens that follow the prompt where it is read together with its answer."""
    if not (answer := answer.rstrip()):
        return ()
    if (whole := _together(model, text, encoding, answer, blank)) is not None:
        return tuple(int(t) for t in whole[len(encoding.ids) :])
    try:  # the last token of the prompt and the first of the answer are one
        (alone,) = model.encode([answer])
    except ValueError:  # it has no tokens
        return ()
    return tuple(int(t) for t in alone.ids[alone.maskable])


def _together(model, text, encoding, answer, blank):
    """The ids of a prompt and its answer read together; None where they do not begin with the prompt's."""
    apart = " " if blank and _parted(model, text, answer) else ""
    (whole,) = model.encode([text + apart + answer])
    n = len(encoding.ids)
    return whole.ids if len(whole.ids) > n and (whole.ids[:n] == encoding.ids).all() else None


def _parted(model, text, answer):
    return answer.strip() not in model.tokenizer.all_special_tokens and parted(text, answer)


def parted(text, answer):
    """Whether a blank stands between a prompt and its answer, as it is usually written.

    None stands behind an opening bracket or quote, a sign of money or the like, a hyphen, slash or = that has
    none before it, and in writing without blanks; none before closing marks.

    Example:
        >>> [parted(text, "I") for text in ("she said", 'she said, "', "(", "x =", "x=", "他说：")]
        [True, False, False, True, False, False]
        >>> [parted("the end", answer) for answer in (".", "n't", "of")]
        [False, False, True]
    """
    if text[-1:].isspace() or answer[:1].isspace() or UNPARTED.search(text[-1:]):
        return False
    if CLOSING.match(answer) or UNPARTED.search(answer[:1]) and not text[-1:].isalnum():
        return False
    before = text[-2:-1]
    alone = not before or before.isspace() or before in OPENING
    if text[-1:] in "\"'`*_":  # it opens where nothing stands before it
        return not (alone or before in "=-/")
    if text[-1:] in "=-/–—+~^|<>\\&@":
        return alone and bool(before)
    return text[-1:] not in OPENING


def seams(model, texts, encodings, replies, blank=True):
    """How answers follow their prompts, where it is not as they are written: [sentence]."""
    replies = texts.column("target") if replies is None else list(replies)
    if not isinstance(model, CausalLM) or not replies:
        return []
    rows = zip(texts.frame.text, encodings, replies, strict=True)
    rows = [(text, e, answer) for text, e, answer in rows if isinstance(answer, str) and answer.strip()]
    sentences = []
    apart = [answer.strip() for text, _, answer in rows if blank and _parted(model, text, answer)]
    if apart:
        sentences.append(
            f"{len(apart)} of {len(rows)} answers follow their prompt after a blank, as ␣{apart[0]}."
        )
    cut = [text for text, e, answer in rows if _together(model, text, e, answer.rstrip(), blank) is None]
    if cut:
        sentences.append(
            f"{len(cut)} of {len(rows)} prompts end inside of a token, as {cut[0][-12:]!r}: what follows "
            "is then improbable. End prompts with a whole word and no blank."
        )
    return sentences


def written(model, answer):
    """An answer's tokens in words, behind "␣" where they begin with a blank."""
    first = str(model.tokenizer.convert_ids_to_tokens([int(answer[0])])[0])
    return "␣" * first.startswith((" ", "▁", "Ġ")) + model.tokenizer.decode(list(answer)).strip()


def predictions(model, encodings, cache):
    """What the model predicts: (texts,) int, a class or the next token."""
    return forward.probabilities(model, [forward.unchanged(e) for e in encodings], cache).argmax(1)
