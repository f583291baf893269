"""Judges: language models that guess how a prompt continues from some of its words, local or paid.

`judge(questions)` returns up to five answers for each question, the most probable first; a question is a list
of words. Equal questions are asked once. A judge behind an endpoint writes each answer to disk when it
arrives, so that no answer is paid for twice after an error or in a rerun. It never stores an answer that is
empty, holds thoughts alone, ended early or was cut at its limit. A local judge cuts each answer at its limit.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from faithlib.progress import bar
from faithlib.scores import finite, one_of, whole
from faithlib.store import digest, write_atomically
from notebooks.noiser.measure.replies import (
    ANSWERS,
    CUT,
    REFUSED,
    STATUSES,
    completion_values,
    parse,
    refuses,
)

if TYPE_CHECKING:
    from faithlib.models.causal import CausalLM


TEMPLATES = {
    "guesses": "Some words were picked, in order, from a text that you cannot see: {words}\n"
    f"Which word comes right after that text? Give your {ANSWERS} best guesses, the best first, "
    "separated by commas, and nothing else.",
    # Ghasemi Madani et al. 2025, appendix E, and the last two lines of its release; one answer, for Table 3
    "paper": "# Task: Given a set of words extracted from a prompt for a completion task, return a single "
    "word as the most probable completion for the unseen prompt WITHOUT providing any explanation.\n"
    "Tokens: {words}\nProbable Completion: ",
}
WORDS_ALONE, PLACE = "{text}", r"\{(words|text)\}"  # a template, and the pattern of the words' place in one
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"  # environment variables of the endpoint's key and address
PAUSE = 0.5  # seconds before a retry after a malformed answer, doubled each time
LEAST = {"tokens": 1, "workers": 1, "retries": 0, "limit": 0}  # of settings that are whole numbers
ABOVE_ZERO, FROM_ZERO = ("timeout", "workers", "per_minute"), ("temperature", "prices")
OPTIONAL = ("per_minute", "prices", "temperature", "limit")  # settings that may be None


class JudgeError(RuntimeError):
    """A judge cannot answer; the message is one line, and earlier answers are kept."""


def check_settings(**settings):
    """Raise ValueError for a setting of a judge with a wrong value; needs no model and no key.

    Args:
        settings: arguments of `LocalJudge` or `EndpointJudge`, by name.

    Example:
        >>> check_settings(temperature=0.7, workers=1.5)
        Traceback (most recent call last):
            ...
        ValueError: workers=1.5 must be at least 1, a whole number
    """
    for name, value in settings.items():
        if value is None and name in OPTIONAL:
            continue
        if name == "template" and not (isinstance(value, str) and re.search(PLACE, value)):
            raise ValueError(f"template={value!r} shows no words: put {{words}} or {{text}} into it")
        if name == "prices" and not (isinstance(value, (list, tuple)) and len(value) == 2):
            raise ValueError(f"prices={value!r} must be two, of input and output: give such as (0.5, 1.5)")
        if name == "tokens_name":
            one_of(name, value, ("max_tokens", "max_completion_tokens"))
        if name in FROM_ZERO or name in ABOVE_ZERO:
            for number in value if name == "prices" else [value]:
                finite(name, number, 0, above=name in ABOVE_ZERO)
        if name in LEAST:
            whole(name, value, LEAST[name])


class Judge:
    """The base class of judges: a template, known answers, and counts.

    A subclass adds `_ask(prompts)`, which yields (prompt, answers).

    Args:
        name: of the model.
        template: the prompt, which contains {words} (the words as a JSON list) or {text} (joined by blanks).

    Attributes:
        counts: the numbers of "questions", of "different" ones and of those "without_answer".
        asked: how many questions the model was asked, without those answered before.

    Raises:
        ValueError: a template without {words} and {text}.
    """

    def __init__(self, name, template):
        check_settings(template=template)
        self.name, self.template = name, template
        self.replies, self.asked = {}, 0
        self.counts = {"questions": 0, "different": 0, "without_answer": 0}

    def __call__(self, questions):
        """Answers to questions, each a list of words: [[str, up to five]]; "" is an empty answer."""
        self.check_limit(questions := [*questions])
        prompts = [self._prompt(q) for q in questions]
        self.counts["questions"] += len(prompts)
        for prompt, answers in self._ask([p for p in dict.fromkeys(prompts) if p not in self.replies]):
            self.replies[prompt] = answers
            self.counts["different"] += 1
            self.counts["without_answer"] += not any(answers)
        return [self.replies[prompt] for prompt in prompts]

    def check(self, golds):
        """Raise ValueError for a gold answer that the judge cannot give."""

    def cost(self, questions):
        """The highest cost of asking these questions, in one line; "" if they cost nothing."""
        return ""

    def check_limit(self, questions):
        """Raise JudgeError where asking these questions is beyond the judge's limit."""

    def describe(self):
        """Name, question and counts, as plain values for the record."""
        return {"judge": self.name, "template": self.template, **self.counts}

    def _prompt(self, question):
        values = {"words": json.dumps(list(question), ensure_ascii=False), "text": " ".join(question)}
        return re.sub(PLACE, lambda match: values[match[1]], self.template)


class LocalJudge(Judge):
    """A causal language model as a judge: its five most probable next tokens, each continued greedily.

    The words alone are a text that the model continues. Any other template is a request: a model whose
    tokenizer has a chat template is asked it as by a user. A small model answers requests with a preamble,
    which names no word, and is better given the words alone.

    Args:
        model: a CausalLM.
        template: the prompt; by default the words alone.
        tokens: the length of an answer, at least that of the longest gold answer.
        file: where answers are kept as they come, so that an interrupted run asks on from there; it belongs
            to one model, one length of answers and one precision. None keeps them in memory alone.

    Raises:
        ValueError: a setting out of range.
        JudgeError: a damaged file.
    """

    def __init__(
        self, model: CausalLM, template: str = WORDS_ALONE, tokens: int = 4, file: Path | None = None
    ):
        if not hasattr(model, "prefix"):
            raise ValueError(f"judge of type {type(model).__name__}: give a causal language model")
        check_settings(tokens=tokens)
        super().__init__(model.name, template)
        self.model, self.tokens, self.file = model, tokens, file
        self.kept = self._kept_answers()  # of this and earlier runs

    def check(self, golds):
        lengths = [e.maskable.sum() for e in self.model.encode(list(golds))]
        if max(lengths, default=0) > self.tokens:
            gold = golds[int(np.argmax(lengths))]
            raise ValueError(
                f"the gold answer {gold!r} has {max(lengths)} tokens, {self.name} is asked for "
                f"{self.tokens}: give tokens={max(lengths)}"
            )

    def _kept_answers(self):
        """The answers in the file: {prompt: [str]}."""
        there = self.file is not None and self.file.is_file()
        try:
            kept = {**json.loads(self.file.read_text(encoding="utf-8"))} if there else {}
            if not all(isinstance(words, list) for words in kept.values()):
                raise TypeError
        except (ValueError, TypeError) as error:  # no JSON, or no object of lists
            raise JudgeError(f"{self.file} is damaged: delete it, and {self.name} is asked again") from error
        return kept

    def _ask(self, prompts, at_once=64):  # limits the memory of probabilities over the vocabulary
        yield from ((prompt, self.kept[prompt]) for prompt in prompts if prompt in self.kept)
        prompts = [prompt for prompt in prompts if prompt not in self.kept]
        with bar(len(prompts), f"asking {self.name}", "question") as progress:
            for start in range(0, len(prompts), at_once):
                chosen = prompts[start : start + at_once]
                self.kept |= (answers := dict(zip(chosen, self._answers(chosen), strict=True)))
                if self.file:
                    _write(self.kept, self.file)
                yield from answers.items()
                self.asked += len(chosen)
                progress.update(len(chosen))

    def _answers(self, prompts):
        """The ANSWERS most probable answers to each prompt: [[str]]."""
        from faithlib.engine import forward  # brings torch, which settings are checked without

        encodings = self.model.encode([self._as_chat(prompt) for prompt in prompts])
        if (longest := max(len(e.ids) for e in encodings) + self.tokens - 1) > self.model.max_length:
            raise ValueError(
                f"a question and its answer have {longest} tokens, {self.name} takes "
                f"{self.model.max_length}: choose another judge or a shorter template"
            )
        p = forward.probabilities(self.model, [forward.unchanged(e) for e in encodings])
        likeliest = np.argsort(-p, axis=1, kind="stable")[:, :ANSWERS]
        answers = likeliest.reshape(-1, 1)  # (prompts * ANSWERS, tokens so far)
        questions = [e for e in encodings for _ in range(ANSWERS)]  # whose answers share keys and values
        for _ in range(self.tokens - 1):
            pairs = zip(questions, answers, strict=True)
            variants = [forward.Variant(q.followed_by(a), base=q, start=len(q.ids)) for q, a in pairs]
            next_tokens = forward.probabilities(self.model, variants).argmax(1)
            answers = np.column_stack([answers, next_tokens])
        ended = np.cumsum(answers == self.model.tokenizer.eos_token_id, axis=1) > 0
        texts = [
            self.model.tokenizer.decode(answer[~over], skip_special_tokens=True).strip()
            for answer, over in zip(answers, ended, strict=True)
        ]
        return [texts[i : i + ANSWERS] for i in range(0, len(texts), ANSWERS)]

    def _as_chat(self, prompt):
        """A request in the tokenizer's chat template, without the first token if the tokenizer adds it."""
        tokenizer = self.model.tokenizer
        if self.template == WORDS_ALONE or not getattr(tokenizer, "chat_template", None):
            return prompt
        message = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        added = tokenizer.bos_token and tokenizer("").input_ids[:1] == [tokenizer.bos_token_id]
        return text.removeprefix(tokenizer.bos_token) if added else text


class EndpointJudge(Judge):
    """A model behind an endpoint with OpenAI's protocol, used through the openai client (the extra `judge`).

    The key is read from OPENAI_API_KEY when the first question is asked, and not needed if all answers are in
    `folder`; the address from OPENAI_BASE_URL. The key is not stored, and no message, record or file contains
    it. Stored answers belong to the address, the model, the question and its parameters.

    Args:
        name: of the model at the endpoint.
        folder: where answers are stored, one file each.
        template: the prompt; see `Judge`.
        timeout: seconds to wait for an answer.
        retries: after status 408, 409, 429 or 5xx, a timeout, a lost connection, a malformed answer or one
            that ended early or has only thoughts, with increasing pauses or those that the endpoint asks for.
        per_minute: the largest number of questions a minute; None for no limit.
        workers: the largest number of questions at a time.
        prices: dollars for a million input and output tokens, for `cost`; or None.
        tokens: the largest length of an answer; a model that thinks before it answers needs thousands.
        tokens_name: what the endpoint calls it, "max_tokens" or "max_completion_tokens".
        temperature: of the answers; None sends none.
        limit: the largest number of questions that this judge asks; None for no limit.

    Raises:
        ValueError: a setting out of range, an OPENAI_BASE_URL that is no address, or no name.
    """

    def __init__(
        self,
        name,
        folder,
        template=TEMPLATES["guesses"],
        timeout=60.0,
        retries=5,
        per_minute=None,
        workers=4,
        prices=None,
        tokens=200,
        tokens_name="max_tokens",
        temperature=0.0,
        limit=None,
    ):
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"name={name!r} names no model: give its name at the endpoint")
        super().__init__(name, template)
        check_settings(timeout=timeout, retries=retries, per_minute=per_minute, workers=workers, limit=limit)
        _address()  # refuses what is none
        check_settings(prices=prices, tokens=tokens, tokens_name=tokens_name, temperature=temperature)
        self.folder, self.timeout, self.retries, self.workers = Path(folder), timeout, retries, workers
        self.prices, self.tokens, self.limit = prices, tokens, limit
        self.parameters = {tokens_name: tokens}  # of every request
        if temperature is not None:
            self.parameters["temperature"] = float(temperature)
        self.interval = 60 / per_minute if per_minute else 0.0  # seconds from one question to the next
        self.next_start, self.lock = 0.0, threading.Lock()
        self.counts |= {"refused": 0, "tokens_in": 0, "tokens_out": 0}

    def describe(self):
        return super().describe() | {"address": _address(), **self.parameters}

    def cost(self, questions):
        """The largest number of questions, tokens and dollars, in one line; "" if all answers are stored."""
        every = dict.fromkeys(self._prompt(q) for q in questions)
        kept = len(every) - len(new := self._new(every))
        if not new:
            return ""
        tokens_in, tokens_out = sum(map(len, new)) // 3, self.tokens * len(new)  # 3 to 4 letters a token
        price = "prices not given"
        if self.prices:
            price = f"${(tokens_in * self.prices[0] + tokens_out * self.prices[1]) / 1e6:,.2f}"
        return (
            f"{self.name} at {self._host()}: at most {len(new):,} questions to ask, {kept:,} known; "
            f"about {tokens_in:,} tokens in, {tokens_out:,} out; {price}"
            + ("" if self.limit is None else f"; limit {self.limit:,}, {self.asked:,} asked")
        )

    def check_limit(self, questions):
        new = self._new(map(self._prompt, questions))
        if self.limit is not None and self.asked + len(new) > self.limit:
            raise JudgeError(
                f"{self.name} is to be asked {len(new):,} questions after {self.asked:,}, and limit="
                f"{self.limit:,}: raise limit; answers so far are kept"
            )

    def _new(self, prompts):
        """The different ones of prompts that were not answered here before."""
        return [p for p in dict.fromkeys(prompts) if p not in self.replies and not self._path(p).is_file()]

    def _ask(self, prompts):
        new = dict.fromkeys(self._new(prompts))
        yield from ((prompt, self._stored_answers(prompt)) for prompt in prompts if prompt not in new)
        if not new:
            return
        client, pool = self._client(), ThreadPoolExecutor(self.workers)
        try:
            futures = {pool.submit(self._ask_and_store, client, prompt): prompt for prompt in new}
            with bar(len(new), f"asking {self.name}", "question") as progress:
                for future in as_completed(futures):
                    future.result()
                    self.asked += 1
                    yield futures[future], self._stored_answers(futures[future])
                    progress.update()
        finally:  # requests under way are finished and stored, the others are cancelled
            pool.shutdown(cancel_futures=True)

    def _ask_and_store(self, client, prompt):
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(min(PAUSE * 2**attempt, 8))
            self._sleep_until_my_turn()
            answer, fault = self._answer(client, prompt)
            if answer:
                asked = {"model": self.name, "address": _address(), "prompt": prompt, **self.parameters}
                _write(asked | answer, self._path(prompt))
                return
        fault = f"errors or ended early ({_quoted(fault)})" if fault else "empty or none of the protocol"
        raise JudgeError(
            f"{self.name} at {self._host()} gave {self.retries + 1} answers that are {fault}: check the "
            "address, the model's name and the template; answers so far are kept"
        )

    def _answer(self, client, prompt):
        """One answer, as `replies.completion_values` has it."""
        import openai

        request = {"model": self.name, "messages": [{"role": "user", "content": prompt}], **self.parameters}
        try:
            completion = client.chat.completions.create(**request)
        except (openai.APIResponseValidationError, ValueError):  # the body is not JSON
            return None, ""
        except openai.OpenAIError as error:
            if getattr(error, "status_code", None) == 400 and error.code in REFUSED:
                return dict(text="", finish_reason=error.code, refused=True, tokens_in=0, tokens_out=0), ""
            raise JudgeError(self._error_message(error)) from None  # its own text can contain the key
        answer, fault = completion_values(completion)
        if answer and str(answer["finish_reason"]).lower() in CUT:
            raise JudgeError(
                f"{self.name} at {self._host()} was cut at {self.tokens} tokens before its answer ended: "
                "raise tokens, to thousands for a model that thinks first; answers so far are kept"
            )
        return answer, fault

    def _stored_answers(self, prompt):
        """The answers to a prompt that are on disk, which are counted."""
        path = self._path(prompt)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            stored["refused"] |= refuses(stored["text"])
            answers = [] if stored["refused"] else parse(stored["text"])
            for name in ("refused", "tokens_in", "tokens_out"):
                self.counts[name] += stored[name]
        except (ValueError, KeyError, TypeError) as error:
            raise JudgeError(f"answer {path} is damaged: delete it, and it is asked again") from error
        return answers

    def _path(self, prompt):
        return self.folder / f"{digest([_address(), self.name, prompt, self.parameters])[:32]}.json"

    def _client(self):
        try:
            import openai  # optional
        except ImportError as error:
            raise ValueError(
                f"judge {self.name} needs the openai client, which is not installed: run "
                "python -m pip install -c constraints.txt -e .[judge]"
            ) from error
        if not os.environ.get(KEY):
            raise JudgeError(
                f"judge {self.name} needs a key: set {KEY} in the environment (any word for a "
                f"server that wants none) and {URL} for another address than {self._host()}"
            )
        if not re.fullmatch(r"[!-~]+", os.environ[KEY]):
            raise JudgeError(f"{KEY} holds blanks, line ends or letters beyond ASCII: set the key alone")
        return openai.OpenAI(timeout=self.timeout, max_retries=self.retries)

    def _host(self):
        """The host of the address, without other parts such as a password."""
        return urlsplit(_address()).hostname

    def _sleep_until_my_turn(self):
        with self.lock:
            start = max(time.monotonic(), self.next_start)
            self.next_start = start + self.interval
        time.sleep(max(0, start - time.monotonic()))

    def _error_message(self, error):
        """One line on an error of the endpoint: what happened and what to do."""
        import openai

        status = getattr(error, "status_code", None)
        if isinstance(error, openai.APITimeoutError):
            what = f"did not answer within {self.timeout:g} s: raise timeout"
        elif isinstance(error, openai.APIConnectionError):
            what = f"cannot be reached: check {URL} and the network"
        elif status in STATUSES:
            what = STATUSES[status]
        elif status and (status in (408, 409) or status >= 500):
            what = f"fails ({status}): try again later"
        else:
            reason = _quoted(getattr(error, "message", "")) if status == 400 else ""
            what = f"refuses the request ({status or type(error).__name__}{reason and ', '}{reason}): check "
            what += "model, template, tokens, tokens_name and temperature"
        return f"{self.name} at {self._host()} {what}; answers so far are kept"


def _quoted(text):
    """What an endpoint says: up to 200 characters without the key."""
    return " ".join(str(text).replace(os.environ[KEY], "***").split())[:200]


def _address():
    """The address of the endpoint, without a password; ValueError for what is no address."""
    url, host = os.environ.get(URL) or "https://api.openai.com/v1", None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, f":{parts.port}" if parts.port else ""
    except ValueError:  # an open bracket, a port that is no number
        pass
    if not host or not re.fullmatch(r"https?://\S+", url, re.IGNORECASE):
        masked = re.sub(r"(?s)^(\w+://)?.*@", r"\1***@", url)
        raise ValueError(f"{URL}={masked!r} is no address: write http://host:port/v1")
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def _write(values, file):
    text = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace").decode()  # half an emoji: ?
    write_atomically(file, lambda path: path.write_text(text, encoding="utf-8"))
