"""Judges: language models that name a completion from some of a prompt's words, one of them for money.

`judge(questions)` gives for each question, the words shown, up to five answers, the likeliest first. Equal
questions are asked once, and `counts` tells how many were. A judge behind an endpoint keeps every answer on
disk the moment it has it, so that neither an error nor a rerun buys one twice.
"""

import json
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from faithlib import forward
from faithlib.progress import bar
from faithlib.results import digest, write_atomically

ANSWERS = 5
TEMPLATE = (
    "Some words were picked, in order, from a text that you cannot see: {words}\n"
    f"Which word comes right after that text? Give your {ANSWERS} best guesses, the best first, "
    "separated by commas, and nothing else."
)
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"  # where the endpoint's key and address are read from
PAUSE = 0.5  # seconds before a malformed answer is asked for again, doubled each time


class JudgeError(RuntimeError):
    """A judge that cannot answer, in one line; what it has answered before is kept."""


class Judge:
    """What judges share: a template, answers known from before, and counts.

    template: the question, with {words} (the words as a JSON list) or {text} (joined by blanks) in it. A kind
    adds `_ask(prompts)`, which yields (prompt, answers). counts: questions put, different ones, and those
    without an answer; asked: how many of them this object had to ask for.
    """

    def __init__(self, name, template):
        if not re.search(r"\{(words|text)\}", template):
            raise ValueError(f"template={template!r} shows no words: put {{words}} or {{text}} into it")
        self.name, self.template = name, template
        self.known, self.asked = {}, 0
        self.counts = {"questions": 0, "different": 0, "without_answer": 0}

    def __call__(self, questions):
        """Answers to questions, each some words: [[str, up to five]], "" where the judge says nothing."""
        prompts = [self._prompt(q) for q in questions]
        self.counts["questions"] += len(prompts)
        for prompt, answers in self._ask(self._missing(prompts)):
            self.known[prompt] = answers
            self.counts["different"] += 1
            self.counts["without_answer"] += not any(answers)
        return [self.known[prompt] for prompt in prompts]

    def check(self, golds):
        """Raise ValueError for a gold answer that the judge could never name."""

    def cost(self, questions):
        """What asking would cost at most, in one line; "" where it costs nothing."""
        return ""

    def describe(self):
        """Name, question and counts, as plain values for the record."""
        return {"judge": self.name, "template": self.template, **self.counts}

    def _missing(self, prompts):
        return [prompt for prompt in dict.fromkeys(prompts) if prompt not in self.known]

    def _prompt(self, question):
        shown = {"words": json.dumps(list(question), ensure_ascii=False), "text": " ".join(question)}
        return re.sub(r"\{(words|text)\}", lambda found: shown[found[1]], self.template)


class LocalJudge(Judge):
    """A causal language model as a judge: its five likeliest next tokens, each continued greedily.

    By default it reads the words alone, as a model that was only pretrained must; for one that follows
    instructions give a template. tokens: of an answer, so that a completion of several can be named.
    """

    def __init__(self, model, template="{text}", tokens=4):
        super().__init__(model.name, template)
        self.model, self.tokens = model, tokens

    def check(self, golds):
        lengths = [e.maskable.sum() for e in self.model.encode(list(golds))]
        if max(lengths, default=0) > self.tokens:
            gold = golds[int(np.argmax(lengths))]
            raise ValueError(
                f"the gold answer {gold!r} has {max(lengths)} tokens, {self.name} is asked for "
                f"{self.tokens}: give tokens={max(lengths)}"
            )

    def _ask(self, prompts, at_once=64):  # so that a vocabulary of probabilities stays small
        with bar(len(prompts), f"asking {self.name}", "question") as progress:
            for start in range(0, len(prompts), at_once):
                part = prompts[start : start + at_once]
                yield from zip(part, self._answers(part), strict=True)
                self.asked += len(part)
                progress.update(len(part))

    def _answers(self, prompts):
        encodings = self.model.encode(prompts)
        if (longest := max(len(e.ids) for e in encodings) + self.tokens - 1) > self.model.max_length:
            raise ValueError(
                f"a question and its answer have {longest} tokens, {self.name} takes "
                f"{self.model.max_length}: choose another judge or a shorter template"
            )
        p = forward.probabilities(self.model, [forward.unchanged(e) for e in encodings])
        likeliest = np.argsort(-p, axis=1, kind="stable")[:, :ANSWERS]
        answers = likeliest.reshape(-1, 1)  # (prompts * ANSWERS, tokens so far)
        for _ in range(self.tokens - 1):
            variants = [_answered(encodings[i // ANSWERS], answer) for i, answer in enumerate(answers)]
            found = forward.probabilities(self.model, variants).argmax(1)
            answers = np.column_stack([answers, found])
        ended = np.cumsum(answers == self.model.tokenizer.eos_token_id, axis=1) > 0
        texts = [
            self.model.tokenizer.decode(answer[~over], skip_special_tokens=True).strip()
            for answer, over in zip(answers, ended, strict=True)
        ]
        return [texts[i : i + ANSWERS] for i in range(0, len(texts), ANSWERS)]


class EndpointJudge(Judge):
    """A model behind any endpoint that speaks OpenAI's protocol, through its client (the extra `judge`).

    The key is read from OPENAI_API_KEY and the address from OPENAI_BASE_URL, when the first question is put
    and not before: where all answers are in `folder`, neither is needed. The key is not kept here, and no
    message, record or file has it.
    name: the model's, as the endpoint calls it. folder: where answers are kept, a file each. timeout: seconds
    for one. retries: after 408, 409, 429, 5xx, a timeout, a lost connection or a malformed answer, waiting
    longer each time or as long as the endpoint asks for. per_minute: at most so many questions, workers: so
    many at a time. prices: dollars for a million tokens in and out, for `cost`. tokens: of an answer at most.
    """

    def __init__(
        self,
        name,
        folder,
        template=TEMPLATE,
        timeout=60.0,
        retries=5,
        per_minute=None,
        workers=4,
        prices=None,
        tokens=200,
    ):
        super().__init__(name, template)
        for setting, value in (
            ("timeout", timeout),
            ("workers", workers),
            ("tokens", tokens),
            ("per_minute", 1 if per_minute is None else per_minute),
        ):
            if value <= 0:
                raise ValueError(f"{setting}={value} must be above 0")
        if retries < 0:
            raise ValueError(f"retries={retries} must be at least 0")
        self.folder, self.timeout, self.retries, self.workers = Path(folder), timeout, retries, workers
        self.prices, self.tokens = prices, tokens
        self.interval = 60 / per_minute if per_minute else 0.0  # seconds between the starts of questions
        self.next_start, self.lock = 0.0, threading.Lock()
        self.counts |= {"refused": 0, "tokens_in": 0, "tokens_out": 0}

    def cost(self, questions):
        """Questions, tokens and dollars at most, in one line; "" where all answers are known."""
        every = dict.fromkeys(self._prompt(q) for q in questions)
        new = [prompt for prompt in self._missing(every) if not self._path(prompt).is_file()]
        known = len(every) - len(new)
        if not new:
            return ""
        tokens_in = sum(map(len, new)) // 3  # a token has three to four letters
        tokens_out = self.tokens * len(new)
        price = "prices not given"
        if self.prices:
            price = f"${(tokens_in * self.prices[0] + tokens_out * self.prices[1]) / 1e6:,.2f}"
        return (
            f"{self.name} at {self._host()}: at most {len(new):,} questions to ask, {known:,} known; "
            f"about {tokens_in:,} tokens in, {tokens_out:,} out; {price}"
        )

    def _ask(self, prompts):
        new = []
        for prompt in prompts:
            if self._path(prompt).is_file():
                yield prompt, self._kept(prompt)
            else:
                new.append(prompt)
        if not new:
            return
        client, pool = self._client(), ThreadPoolExecutor(self.workers)
        try:
            futures = {pool.submit(self._buy, client, prompt): prompt for prompt in new}
            with bar(len(new), f"asking {self.name}", "question") as progress:
                for future in as_completed(futures):
                    future.result()
                    self.asked += 1
                    yield futures[future], self._kept(futures[future])
                    progress.update()
        finally:  # those under way end and are kept, the others are not begun
            pool.shutdown(cancel_futures=True)

    def _buy(self, client, prompt):
        """Ask the endpoint, and keep what it says."""
        import openai

        asked = dict(
            model=self.name,
            messages=[{"role": "user", "content": prompt}],
            temperature=0,
            max_tokens=self.tokens,
        )
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(min(PAUSE * 2**attempt, 8))
            self._wait()
            try:
                completion = client.chat.completions.create(**asked)
            except openai.APIResponseValidationError:
                continue
            except openai.OpenAIError as error:
                raise JudgeError(self._told(error)) from None  # its own text can hold the key
            except ValueError:  # the body is no JSON
                continue
            if answer := _read(completion):
                kept = json.dumps({"model": self.name, "prompt": prompt, **answer}, ensure_ascii=False)
                write_atomically(self._path(prompt), partial(_write, kept))
                return
        raise JudgeError(
            f"{self.name} at {self._host()} gave {self.retries + 1} answers that are none of "
            "the protocol: check the address and the model's name; answers so far are kept"
        )

    def _kept(self, prompt):
        """The answers on disk."""
        path = self._path(prompt)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            text, refused, tokens = kept["text"], kept["refused"], (kept["tokens_in"], kept["tokens_out"])
        except (ValueError, KeyError, TypeError) as error:
            raise JudgeError(
                f"answer {path.name} in {path.parent.name} is damaged: delete it, and it is asked again"
            ) from error
        for name, value in zip(("refused", "tokens_in", "tokens_out"), (refused, *tokens), strict=True):
            self.counts[name] += value
        return [] if refused else parse(text)

    def _path(self, prompt):
        return self.folder / f"{digest([self.name, prompt, self.tokens])[:32]}.json"

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
        return openai.OpenAI(timeout=self.timeout, max_retries=self.retries)

    def _host(self):
        """The address without what else it can hold, such as a password."""
        return urlsplit(os.environ.get(URL) or "https://api.openai.com").hostname

    def _wait(self):
        """Until the next question may be put."""
        with self.lock:
            start = max(time.monotonic(), self.next_start)
            self.next_start = start + self.interval
        time.sleep(max(0, start - time.monotonic()))

    def _told(self, error):
        import openai

        status = getattr(error, "status_code", None)
        if isinstance(error, openai.APITimeoutError):
            what = f"did not answer within {self.timeout:g} s: raise timeout"
        elif isinstance(error, openai.APIConnectionError):
            what = f"cannot be reached: check {URL} and the network"
        elif status in (401, 403):
            what = f"refuses the key ({status}): check {KEY}"
        elif status == 404:
            what = f"knows no such model or address (404): check the name and {URL}"
        elif status == 429:
            what = "has had too many requests, or no credit is left (429): lower per_minute or workers"
        elif status and status >= 500:
            what = f"fails ({status}): try again later"
        else:
            what = f"refuses the request ({status or type(error).__name__}): check model, template and tokens"
        return f"{self.name} at {self._host()} {what}; answers so far are kept"


def parse(text):
    """The answers in what a model wrote, up to five: parts between commas or lines, without numbering.

    A single part that has several words may be one answer or a list without commas: it is read as both.
    """
    parts = [re.sub(r"^\s*(\d+[.):]\s|[-*•]\s)?", "", part) for part in re.split(r",(?!\d{3}\b)|[;\n]", text)]
    parts = [part.strip(" \t\r\"'`*.") for part in parts]
    parts = [part for part in parts if re.search(r"\S", part)]
    if len(parts) == 1:
        parts += parts[0].split()[1:]
    return parts[:ANSWERS]


def _write(text, path):
    path.write_text(text, encoding="utf-8")


def _read(completion):
    """What is kept of a completion, None for one that is malformed."""
    try:
        message, usage = completion.choices[0].message, completion.usage
        text, refusal = message.content, getattr(message, "refusal", None)
        filtered = completion.choices[0].finish_reason == "content_filter"
    except (AttributeError, IndexError, TypeError):
        return None
    refused = bool(refusal) or filtered
    if not isinstance(text, str) and not refused:
        return None
    return {
        "text": text or "",
        "refused": refused,
        "tokens_in": getattr(usage, "prompt_tokens", 0) or 0,
        "tokens_out": getattr(usage, "completion_tokens", 0) or 0,
    }


def _answered(question, answer):
    """A question and the first tokens of its answer; the question's keys and values serve all answers."""
    return forward.Variant(question.followed_by(answer), base=question, start=len(question.ids))
