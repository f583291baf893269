"""Judges: a local model by hand, and an endpoint that speaks the protocol and misbehaves on request."""

import copy
import inspect
import json
import logging
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
from tokenizers import processors
from toy import ROOT
from wrong import refused

from notebooks.noiser.measure import judge as judges
from notebooks.noiser.measure.judge import EndpointJudge, Judge, JudgeError, LocalJudge
from notebooks.noiser.measure.unit import judge_options

SECRET = "sk-very-secret-4711"
QUESTION = ("Paris", "capital", "of")
WORDLESS = {"nothing": "", "rubbish": "\n ... \n", "thoughts": "<think>hm</think>", "unclosed": "<think>hm"}


class Endpoint(ThreadingHTTPServer):
    """Answers "reply" to every question; `script` holds what goes wrong first, a word a request.

    A dict in `script` holds what is other in an answer, or its "status" and "body".

    A request that is "held" gets its answer, an error, once the event `go` is set.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests, self.go, self.wants = [], [], threading.Event(), None
        self.reply, self.lock = "France, Spain, Italy, Peru, Chad", threading.Lock()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, self.headers["Authorization"], asked))
            what = self.server.script.pop(0) if self.server.script else "well"
        if what == "held":
            self.server.go.wait()
            what = "400"
        other, what = (what, "well") if isinstance(what, dict) else ({}, what)
        if "body" in other:
            return self.send(other.get("status", 200), json.dumps(other["body"]))
        if what == "well" and self.server.wants not in (None, *asked):
            what = "400"
        if what.isdigit():
            said = f"Use {self.server.wants}; the key is {SECRET}"
            error = {"message": said, "type": "error", "code": what}
            return self.send(int(what), json.dumps({"error": error}))
        body = {"malformed": '{"choices": [', "empty": '{"choices": []}', "html": "<html>"}.get(what)
        message = {"role": "assistant", "content": self.server.reply}
        if what == "refusal":
            message |= {"content": None, "refusal": "I would rather not."}
        if what in (wrong := {**WORDLESS, "cut": "France, Sp"}):
            message["content"] = wrong[what]
        message["content"] = other.get("content", message["content"])
        reason = other.get("finish_reason", "length" if what == "cut" else "stop")
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 30, "completion_tokens": 10, "total_tokens": 40}
        whole = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"]}
        whole |= {"choices": [choice], "usage": other.get("usage", usage)}
        self.send(200, body or json.dumps(whole), "text/html" if what == "html" else "application/json")

    def send(self, status, body, kind="application/json"):
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("retry-after-ms", "1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())
        except OSError:
            pass  # whom it kept waiting has gone

    def log_message(self, *arguments):
        pass


@pytest.fixture
def endpoint(monkeypatch):
    server = Endpoint()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(judges.KEY, SECRET)
    monkeypatch.setenv(judges.URL, f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setattr(judges, "PAUSE", 0.001)
    yield server
    server.go.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def make(tmp_path, endpoint):
    def made(**settings):
        return EndpointJudge("judge-1", tmp_path / "answers", **{"timeout": 30, "retries": 2, **settings})

    return made


# An endpoint --------------------------------------------------------------------------------------


def test_an_endpoint_is_asked_once(make, endpoint, tmp_path):
    judge = make()
    answers = judge([QUESTION, ("Rome",), QUESTION])
    assert answers == [["France", "Spain", "Italy", "Peru", "Chad"]] * 3
    assert len(endpoint.requests) == judge.asked == 2
    path, key, asked = next(r for r in endpoint.requests if "Paris" in r[2]["messages"][0]["content"])
    assert path == "/v1/chat/completions" and key == f"Bearer {SECRET}"
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("judge-1", 0, 200)
    assert '["Paris", "capital", "of"]' in asked["messages"][0]["content"]
    counted = {"questions": 3, "different": 2, "without_answer": 0, "refused": 0}
    assert judge.counts == counted | {"tokens_in": 60, "tokens_out": 20}
    again = make()
    assert again([QUESTION, ("Rome",)]) == answers[:2] and again([QUESTION]) == answers[:1]
    assert len(endpoint.requests) == 2 and again.asked == 0
    assert again.counts["tokens_in"] == 60  # of what was bought, whenever that was
    assert len(list((tmp_path / "answers").iterdir())) == 2


def test_a_rerun_needs_no_key(make, endpoint, monkeypatch):
    answers = make()([QUESTION])
    monkeypatch.delenv(judges.KEY)
    assert make()([QUESTION]) == answers
    refused("judge-1 needs a key: set OPENAI_API_KEY", make(), [QUESTION, ("new",)], error=JudgeError)


@pytest.mark.parametrize("wrong", ["429", "500", "503", "408", "malformed", "empty", "html", *WORDLESS])
def test_what_passes_is_tried_again(make, endpoint, wrong):
    endpoint.script = [wrong, wrong]
    assert make()([QUESTION])[0][0] == "France" and len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("429", "too many requests, or no credit is left"),
        ("500", r"fails \(500\): try again later"),
        ("malformed", "gave 3 answers that are empty or none of the protocol"),
        ("html", "none of the protocol"),
        *((wrong, "gave 3 answers that are empty .*: check .* the template") for wrong in WORDLESS),
        ("cut", "was cut at 200 tokens before its answer ended: raise tokens"),
        ("401", r"refuses the key \(401\): check OPENAI_API_KEY"),
        ("402", r"has no credit left for this key \(402\): add some"),
        ("408", r"fails \(408\): try again later"),
        ("409", r"fails \(409\): try again later"),
        ("413", r"finds the question too long \(413\): shorten the template"),
        ("404", "knows no such model or address"),
        ("400", r"refuses the request \(400, .*key is \*\*\*.*\): check model, template, tokens, tokens_n"),
    ],
)
def test_what_stays_wrong_is_one_line_without_the_key(make, endpoint, wrong, message, caplog, monkeypatch):
    monkeypatch.setenv(judges.URL, f"http://user:pass@127.0.0.1:{endpoint.server_port}/v1")
    endpoint.script = [wrong] * 9
    caplog.set_level(logging.DEBUG)
    with pytest.raises(JudgeError, match=message) as caught:
        make()([QUESTION])
    line = str(caught.value)
    assert "judge-1 at 127.0.0.1" in line and "\n" not in line
    error = caught.value
    assert error.__cause__ is None and (error.__suppress_context__ or error.__context__ is None)
    assert SECRET not in line + caplog.text and "user:pass" not in line
    passing = ("429", "500", "408", "409", "malformed", "html", *WORDLESS)
    assert len(endpoint.requests) == (3 if wrong in passing else 1)


def test_a_slow_endpoint_is_given_up(make, endpoint):
    endpoint.script = ["held"]
    with pytest.raises(JudgeError, match="did not answer within 0.2 s: raise timeout"):
        make(timeout=0.2, retries=0)([QUESTION])


def test_an_endpoint_that_is_not_there(make, monkeypatch):
    monkeypatch.setenv(judges.URL, "http://127.0.0.1:9/v1")
    refused("cannot be reached: check OPENAI_BASE_URL", make(retries=0), [QUESTION], error=JudgeError)


def test_answers_already_bought_are_kept(make, endpoint, monkeypatch):
    """The fourth answer is an error; a fifth question, if begun, ends after the others are cancelled."""

    class Pool(judges.ThreadPoolExecutor):
        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            endpoint.go.set()
            super().shutdown(wait=wait)

    monkeypatch.setattr(judges, "ThreadPoolExecutor", Pool)
    questions = [(str(i),) for i in range(6)]
    endpoint.script = ["well", "well", "well", "400", "held", "held"]
    judge = make(workers=1)
    with pytest.raises(JudgeError):
        judge(questions)
    assert len(endpoint.requests) <= 5  # those that had not begun are not asked
    endpoint.script, before = [], len(endpoint.requests)
    assert len(make()(questions)) == 6
    assert len(endpoint.requests) - before == 3


def test_refusals_are_counted_and_not_asked_again(make, endpoint):
    endpoint.script = ["refusal", "well"]
    judge = make(workers=1)
    assert judge([("a",), ("b",)]) == [[], ["France", "Spain", "Italy", "Peru", "Chad"]]
    again = make()
    again([("a",)])
    assert judge.counts["refused"] == again.counts["refused"] == 1
    assert judge.counts["without_answer"] == again.counts["without_answer"] == 1
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("wrong", WORDLESS)
def test_a_reply_without_a_word_is_never_stored(make, endpoint, tmp_path, wrong):
    endpoint.script = [wrong]
    with pytest.raises(JudgeError):
        make(retries=0)([QUESTION])
    assert not list((tmp_path / "answers").glob("*"))
    judge = make()
    assert judge([QUESTION])[0][0] == "France" and judge.counts["without_answer"] == 0


@pytest.mark.parametrize("reason", ["length", "LENGTH", "model_length", "max_tokens", "MAX_TOKENS"])
def test_an_answer_that_was_cut_is_never_stored_however_it_is_told(make, endpoint, tmp_path, reason):
    endpoint.script = [{"finish_reason": reason}]
    message = "was cut at 200 tokens before its answer ended: raise tokens"
    refused(message, make(), [QUESTION], error=JudgeError)
    assert not list((tmp_path / "answers").glob("*")) and len(endpoint.requests) == 1
    assert make()([QUESTION])[0][0] == "France"  # asked again
    (path,) = (tmp_path / "answers").iterdir()
    stored = json.loads(path.read_text())
    assert stored["finish_reason"] == "stop" and stored["address"].startswith("http://127.0.0.1:")


def test_an_answer_that_ended_early_is_asked_again_and_never_stored(make, endpoint, tmp_path):
    endpoint.script = [{"finish_reason": "error"}] * 3
    message = r"gave 3 answers that are errors or ended .* \(finish_reason error\)"
    refused(message, make(), [QUESTION], error=JudgeError)
    assert not list((tmp_path / "answers").glob("*")) and len(endpoint.requests) == 3
    endpoint.script = [{"finish_reason": "abort", "content": "Fr"}]
    assert make()([QUESTION])[0][0] == "France" and len(endpoint.requests) == 5


def test_an_error_with_status_200_is_quoted_without_the_key(make, endpoint):
    message = f"no\ncredit for {SECRET} " + "x" * 300
    endpoint.script = [{"body": {"error": {"message": message}}}] * 3
    with pytest.raises(JudgeError, match=r"\(no credit for \*\*\* x+\): check the address") as caught:
        make()([QUESTION])
    assert SECRET not in str(caught.value) and str(caught.value).count("x") < 200


def test_a_question_that_the_filter_refuses_is_counted_and_not_asked_again(make, endpoint):
    body = {"error": {"message": "The prompt was filtered", "code": "content_filter"}}
    endpoint.script = [{"status": 400, "body": body}]
    for judge in (make(), make()):
        assert judge([QUESTION]) == [[]] and len(endpoint.requests) == 1
        assert judge.counts["refused"] == judge.counts["without_answer"] == 1


def test_a_refusal_in_words_is_counted_and_not_asked_again(make, endpoint, tmp_path):
    endpoint.script = [{"content": "I'm sorry, but I can't help with that."}]
    for judge in (make(), make()):
        assert judge([QUESTION]) == [[]] and judge.counts["refused"] == 1
    (path,) = (tmp_path / "answers").iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"refused": False}))  # as stored once
    assert make()([QUESTION]) == [[]] and len(endpoint.requests) == 1
    assert judge.counts["refused"] == judge.counts["without_answer"] == 1


def test_half_an_emoji_is_stored_as_a_question_mark(make, endpoint, tmp_path):
    endpoint.script = [{"content": "Paris \ud83d, London"}]
    assert make()([QUESTION]) == [["Paris ?", "London"]]
    (path,) = (tmp_path / "answers").iterdir()
    assert json.loads(path.read_text(encoding="utf-8"))["text"] == "Paris ?, London"


def test_parts_of_an_answer_and_usage_as_text_are_read(make, endpoint):
    parts, usage = [{"type": "text", "text": "Paris"}], {"prompt_tokens": "30", "completion_tokens": "?"}
    endpoint.script = [{"content": parts, "usage": usage}]
    judge = make()
    assert judge([QUESTION]) == [["Paris"]]
    assert (judge.counts["tokens_in"], judge.counts["tokens_out"]) == (30, 0)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("localhost:39155/v1", "localhost:39155/v1"), ("127.0.0.1:39155", "127.0.0.1:39155"),
        ("http://localhost:port/v1", "http://localhost:port/v1"), ("http://[::1", "http://[::1"),
        ("http:///v1", "http:///v1"), ("http://a host/v1", "http://a host/v1"),
        ("http://host:99999/v1", "http://host:99999/v1"), ("ftp://user:pass@host", "ftp://***@host"),
        ("user:pass@host:8000", "***@host:8000"),
    ],
)  # fmt: skip
def test_what_is_no_address_is_told_when_the_judge_is_made(make, monkeypatch, url, address):
    monkeypatch.setenv(judges.URL, url)
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == f"OPENAI_BASE_URL={address!r} is no address: write http://host:port/v1"
    assert caught.value.__context__ is None


@pytest.mark.parametrize("url", ["", "https://host", "HTTP://host:8000/v1/", "http://[::1]:8000/v1"])
def test_addresses_are_allowed(make, monkeypatch, url):
    monkeypatch.setenv(judges.URL, url)
    assert make().cost([QUESTION])


@pytest.mark.parametrize("key", [" ", "sk-a b", "sk-abc\n", "\tsk-abc", "sk-käse", "sk-\x7f"])
def test_a_key_that_no_header_can_hold_is_refused_without_its_value(make, endpoint, monkeypatch, key):
    monkeypatch.setenv(judges.KEY, key)
    with pytest.raises(JudgeError) as caught:
        make()([QUESTION])
    message = "OPENAI_API_KEY holds blanks, line ends or letters beyond ASCII: set the key alone"
    assert str(caught.value) == message and not endpoint.requests


@pytest.mark.parametrize("name", ["", " ", None, 5])
def test_a_judge_has_a_name(tmp_path, name):
    refused(f"name={name!r} names no model: give its name at the endpoint", EndpointJudge, name, tmp_path)


def test_stored_answers_belong_to_address_model_and_parameters(make, endpoint, monkeypatch):
    first = make()
    first([QUESTION])
    endpoint.reply = "Peru"
    for settings in ({"tokens": 300}, {"temperature": 0.5}, {"temperature": None}, {"template": "{text}"}):
        assert make(**settings)([QUESTION]) == [["Peru"]]
    assert make()([QUESTION])[0][0] == "France"
    monkeypatch.setenv(judges.URL, f"http://localhost:{endpoint.server_port}/v1")
    assert make()([QUESTION]) == [["Peru"]]
    assert make().describe()["address"] == f"http://localhost:{endpoint.server_port}/v1"


def test_the_limit_of_tokens_has_the_name_that_the_endpoint_wants(make, endpoint):
    endpoint.wants = "max_completion_tokens"
    refused("Use max_completion_tokens.* check .*tokens_name", make(), [QUESTION], error=JudgeError)
    judge = make(tokens_name="max_completion_tokens", tokens=5000, temperature=None)
    assert judge([QUESTION])[0][0] == "France"
    asked = endpoint.requests[-1][2]
    assert asked["max_completion_tokens"] == 5000 and not {"max_tokens", "temperature"} & set(asked)


def test_no_more_questions_than_the_limit_are_asked(make, endpoint):
    judge = make(limit=3)
    judge([("a",), ("b",)])
    assert "limit 3, 2 asked" in judge.cost([("c",), ("d",)])
    with pytest.raises(JudgeError, match="is to be asked 2 questions after 2, and limit=3: raise limit"):
        judge([("c",), ("d",)])
    assert len(endpoint.requests) == 2 and judge([("a",), ("c",)])[1][0] == "France"
    judge.check_limit([("a",), ("c",)])  # known
    with pytest.raises(JudgeError, match="is to be asked 1 questions after 3, and limit=3"):
        judge.check_limit(iter([("a",), ("d",), ("d",)]))


def test_questions_are_paced(make, endpoint, monkeypatch):
    waits = []
    monkeypatch.setattr(judges, "time", SimpleNamespace(monotonic=lambda: 100.0, sleep=waits.append))
    make(per_minute=1200, workers=4)([(str(i),) for i in range(5)])
    assert sorted(waits) == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])  # on a clock that stands still


@pytest.mark.parametrize("wrong", [None, {"text": None}, {"tokens_in": "1"}, {"refused": "no"}])
def test_a_damaged_answer_is_told(make, endpoint, tmp_path, wrong):
    make()([QUESTION])
    (path,) = (tmp_path / "answers").iterdir()
    whole = path.read_text()
    path.write_text(whole[:20] if wrong is None else json.dumps(json.loads(whole) | wrong))
    refused(f"answer {path} is damaged: delete it", make(), [QUESTION], error=JudgeError)


def test_an_answer_at_temperature_0_is_paid_for_once_however_it_is_written(make, endpoint, tmp_path):
    for temperature in (0, 0.0):
        make(temperature=temperature)([QUESTION])
    assert len(list((tmp_path / "answers").iterdir())) == 1


def test_the_key_is_nowhere(make, endpoint, tmp_path, monkeypatch):
    monkeypatch.setenv(judges.URL, f"http://user:pass@127.0.0.1:{endpoint.server_port}/v1")
    judge = make()
    judge([QUESTION])
    kept = "".join(path.read_text() for path in (tmp_path / "answers").iterdir())
    for text in (kept, json.dumps(judge.describe()), repr(judge), repr(vars(judge)), judge.cost([("new",)])):
        assert SECRET not in text and "user:pass" not in text


def test_the_cost_is_known_beforehand(make, endpoint):
    judge = make(prices=(1.0, 2.0), tokens=100, template="x" * 27 + "{text}")
    cost = judge.cost([("abc",), ("abc",), ("def",)])
    line = "judge-1 at 127.0.0.1: at most 2 questions to ask, 0 known; about 20 tokens in, 200 out; $0.00"
    assert cost == line and not endpoint.requests
    judge([("abc",)])
    assert "at most 1 questions to ask, 1 known" in judge.cost([("abc",), ("def",)])
    judge([("def",)])
    assert judge.cost([("abc",), ("def",)]) == "" and "prices not given" in make().cost([QUESTION])


def test_a_client_that_is_not_installed(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    refused(r"needs the openai client, .* -e .\[judge\]", make(), [QUESTION])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(timeout=0), "timeout=0 must be above 0"),
        (dict(per_minute=0), "per_minute=0 must be above 0"),
        (dict(limit=-1), "limit=-1 must be at least 0"),
        (dict(temperature=-0.5), "temperature=-0.5 must be at least 0"),
        (dict(tokens_name="length"), "'length' is unknown: use 'max_tokens', 'max_completion_tokens'"),
        (dict(template=5), "template=5 shows no words"),
        (dict(tokens=2.5), "tokens=2.5 must be at least 1, a whole number"),
        (dict(workers=1.5), "workers=1.5 must be at least 1, a whole number"),
        (dict(workers="abc"), "workers='abc' must be above 0"),
        (dict(retries=None), "retries=None must be at least 0, a whole number"),
        (dict(limit="x"), "limit='x' must be at least 0, a whole number"),
        (dict(temperature="hot"), "temperature='hot' must be at least 0, and finite"),
        (dict(timeout=float("inf")), "timeout=inf must be above 0, and finite"),
        (dict(prices=1), r"prices=1 must be two, of input and output: give such as \(0.5, 1.5\)"),
        (dict(prices=(1, "x")), "prices='x' must be at least 0, and finite"),
    ],
)
def test_settings_are_checked(tmp_path, settings, message):
    for check in (judges.check_settings, lambda **settings: EndpointJudge("judge-1", tmp_path, **settings)):
        refused(message, check, **settings)


def settings_of(kind):
    """The settings of a judge that judge_settings may hold, and their defaults."""
    fixed = ("name", "folder", "model", "file")
    return {n: p.default for n, p in inspect.signature(kind).parameters.items() if n not in fixed}


def test_every_setting_is_checked_and_its_default_allowed():
    judges.check_settings(**settings_of(LocalJudge))
    judges.check_settings(**settings_of(EndpointJudge))
    judges.check_settings(per_minute=0.5, limit=0, prices=[0, 1.5], retries=0, template="{text}?")
    for name in {**settings_of(EndpointJudge), **settings_of(LocalJudge)}:
        refused(name, judges.check_settings, **{name: [object()]})


# A local model ------------------------------------------------------------------------------------


@pytest.fixture
def heard(monkeypatch):
    """A language model, and the texts that it is given to encode."""
    model, texts = tiny.causal(), []
    encode = model.encode
    monkeypatch.setattr(model, "encode", lambda batch: texts.extend(batch) or encode(batch))
    return model, texts


def test_a_local_model_gives_its_likeliest_continuations():
    model = tiny.causal("llama", seed=3)
    judge = LocalJudge(model, tokens=3)
    questions = [("the", "plot"), ("boring",), ("a", "long", "film"), ("the", "plot")]
    replies = judge(questions)
    assert judge.asked == 3 and judge.counts["questions"] == 4 and replies[0] == replies[3]
    for question, answers in zip(questions, replies, strict=True):
        (prompt,) = model.encode([" ".join(question)])
        first = np.argsort(-next_token(model, prompt.ids))[:5]
        assert len(answers) == 5
        for token, answer in zip(first, answers, strict=True):
            ids = [token]
            for _ in range(2):
                ids.append(next_token(model, np.append(prompt.ids, ids)).argmax())
            if model.tokenizer.eos_token_id in ids:
                ids = ids[: ids.index(model.tokenizer.eos_token_id)]
            assert answer == model.tokenizer.decode(ids, skip_special_tokens=True).strip()


def next_token(model, ids):
    import torch

    with torch.no_grad():
        return model.model(input_ids=torch.tensor(ids)[None]).logits[0, -1].numpy()


def test_an_interrupted_local_judge_asks_on_from_its_kept_answers(tmp_path, monkeypatch):
    model, file = tiny.causal("llama", seed=3), tmp_path / "kept" / "answers.json"
    questions = [("the", "plot"), ("boring",), ("a", "long", "film")]
    whole = LocalJudge(model, tokens=2)(questions)
    judge = LocalJudge(model, tokens=2, file=file)
    answers, calls = judge._answers, []

    def stopped(prompts):
        calls.append(prompts)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return answers(prompts)

    monkeypatch.setattr(judge, "_answers", stopped)
    with pytest.raises(KeyboardInterrupt):
        list(judge._ask([judge._prompt(q) for q in questions], at_once=2))
    again = LocalJudge(model, tokens=2, file=file)
    assert again(questions) == whole and again.asked == 1
    assert again.counts == {"questions": 3, "different": 3, "without_answer": 0}


@pytest.mark.parametrize("content", ['{"a": ["b"', "[1]", "", '{"a": 5}', '{"a": "b"}'])
def test_a_damaged_file_of_a_local_judge_is_told(tmp_path, content):
    (file := tmp_path / "judge.json").write_text(content)
    message = f"{file} is damaged: delete it, and tiny-llama is asked"
    refused(message, LocalJudge, tiny.causal(), file=file, error=JudgeError)


def test_a_local_judge_is_asked_as_the_template_has_it(heard):
    model, seen = heard
    LocalJudge(model, template="the film was {text} and {words}")([("great", "long")])
    assert seen == ['the film was great long and ["great", "long"]']


def test_an_instructed_model_is_asked_in_its_chat_template(heard, monkeypatch):
    model, seen = heard
    template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}[assistant]"
    tokenizer = copy.deepcopy(model.tokenizer)
    tokenizer.chat_template = template
    monkeypatch.setattr(model, "tokenizer", tokenizer)
    LocalJudge(model, "After {text}?")([("great", "long")])
    assert seen == ["[user] After great long? [assistant]"]  # the tokenizer adds the first token itself
    LocalJudge(model)([("great", "long")])
    assert seen[1:] == ["great long"]  # to be continued: no request


@pytest.mark.parametrize("adds", [True, False])
def test_a_request_begins_with_its_first_token_once(heard, monkeypatch, adds):
    """Whether the tokenizer adds it, as Llama's does, or only the chat template has it, as SmolLM2's."""
    model, seen = heard
    tokenizer = copy.deepcopy(model.tokenizer)
    tokenizer.chat_template = "{{ bos_token }}{{ messages[0].content }}"
    if not adds:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A")
    monkeypatch.setattr(model, "tokenizer", tokenizer)
    LocalJudge(model, "a {text}")([("great", "film")])
    assert model.tokens(model.encode(seen)[0]) == ["[CLS]", "a", "great", "film"]


def test_a_gold_answer_of_several_tokens_must_fit():
    judge = LocalJudge(tiny.causal(), tokens=2)
    judge.check(["great", "long film"])
    refused("the gold answer 'unlikely' has 3 tokens, .*: give tokens=3", judge.check, ["great", "unlikely"])


def test_a_question_too_long_for_the_judge():
    with pytest.raises(ValueError, match="a question and its answer have 65 tokens, tiny-llama takes 64"):
        LocalJudge(tiny.causal(), tokens=4)([("the",) * 61])


def test_a_judge_may_be_anything_that_answers():
    class Echo(Judge):
        def _ask(self, prompts):
            yield from ((prompt, prompt.split()) for prompt in prompts)

    judge = Echo("echo", "{text}")
    assert judge([("a", "b"), ("{words}",)]) == [["a", "b"], ["{words}"]] and judge.cost([("a",)]) == ""
    counted = {"questions": 2, "different": 2, "without_answer": 0}
    assert judge.describe() == {"judge": "echo", "template": "{text}"} | counted


# The page -----------------------------------------------------------------------------------------

PAGE = (ROOT / "docs/judge.md").read_text(encoding="utf-8")


def allowed(name):
    """The values of a setting, in the words of the page."""
    templates = ", ".join(f"`{n}`" for n in judges.TEMPLATES)
    special = {
        "template": f"text with `{{words}}` or `{{text}}`, or a name: {templates}",
        "tokens_name": "`max_tokens` or `max_completion_tokens`",
        "prices": "two numbers from 0",
        "temperature": "number from 0",
    }
    number = f"whole number from {judges.LEAST[name]}" if name in judges.LEAST else "number above 0"
    return special.get(name, number) + (", or `None`" if name in judges.OPTIONAL else "")


def test_the_page_has_every_setting_with_its_range_and_defaults():
    names = {template: name for name, template in judges.TEMPLATES.items()}
    endpoint, local = settings_of(EndpointJudge), settings_of(LocalJudge)
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \| .+ \|$", PAGE, re.MULTILINE)
    assert sorted(name for name, *_ in rows) == sorted({**endpoint, **local})
    for name, values, *defaults in rows:
        assert values == allowed(name)
        for default, of in zip(defaults, (endpoint, local), strict=True):
            assert default == (f"`{names.get(of[name], of[name])}`" if name in of else "–"), name


def test_the_pages_example_and_its_cost_line_fit(tmp_path, monkeypatch):
    monkeypatch.delenv(judges.URL, raising=False)
    (text,) = re.findall(r"^judge_settings = (\[.+\])$", PAGE, re.MULTILINE)
    options = judge_options(json.loads(text), "api:some-model")
    line = EndpointJudge("some-model", tmp_path, **options).cost([QUESTION])
    (printed,) = re.findall(r"^some-model at .+$", PAGE, re.MULTILINE)
    number = re.compile(r"\d[\d,.]*\d|\d")
    assert number.sub("0", printed) == number.sub("0", line)
    assert {judges.KEY, judges.URL} <= set(re.findall(r"export (\w+)", PAGE))
