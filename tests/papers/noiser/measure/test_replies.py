"""The answers in what language models write: shapes that replies have."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from notebooks.noiser.measure.replies import completion_values, parse, refuses

REPLIES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "answers"),
    REPLIES["answers"],
)
def test_answers_are_read(text, answers):
    assert parse(text) == answers


@pytest.mark.parametrize(
    "text",
    REPLIES["refusals"],
)
def test_refusals_in_words_are_no_answers(text):
    assert refuses(text) and parse(text) == []


@pytest.mark.parametrize(
    ("text", "answers"),
    REPLIES["answers that begin like refusals"],
)
def test_answers_that_begin_like_refusals_are_answers(text, answers):
    assert not refuses(text) and parse(text) == answers


def completion(text="Paris", reason="stop", refusal=None, usage=None):
    """A completion as the openai client gives it."""
    message = SimpleNamespace(content=text, refusal=refusal)
    choice = SimpleNamespace(message=message, finish_reason=reason)
    return SimpleNamespace(choices=[choice], usage=usage)


@pytest.mark.parametrize("reason", ["stop", "STOP", "eos", "eos_token", None])
def test_a_completion_that_ended_well_is_kept(reason):
    usage = SimpleNamespace(prompt_tokens="30", completion_tokens="many")
    values, fault = completion_values(completion(reason=reason, usage=usage))
    assert (values["text"], values["refused"], fault) == ("Paris", False, "")
    assert (values["finish_reason"], values["tokens_in"], values["tokens_out"]) == (reason, 30, 0)


@pytest.mark.parametrize("reason", ["error", "tool_calls", "abort", ""])
def test_a_completion_that_ended_early_is_none(reason):
    assert completion_values(completion(reason=reason)) == (None, f"finish_reason {reason}")
    assert completion_values(completion("I cannot say.", reason)) == (None, f"finish_reason {reason}")


@pytest.mark.parametrize(
    "fields",
    [
        dict(reason="refusal"), dict(text=None, reason="content_filter"), dict(text=None, refusal="No."),
        dict(text="N/A"),
    ],
)  # fmt: skip
def test_a_refusal_is_one_however_it_is_told(fields):
    assert completion_values(completion(**fields))[0]["refused"] is True


def test_parts_of_a_text_are_joined_and_what_holds_no_answer_is_none():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Par"}, {"text": "is"}, 5]
    assert completion_values(completion(parts))[0]["text"] == "Paris"
    for wrong in (completion([]), completion(None), completion(5), SimpleNamespace(choices={}), "<html>"):
        assert completion_values(wrong) == (None, "")


@pytest.mark.parametrize("error", ["no credit", {"message": "no credit"}])
def test_an_error_in_place_of_a_completion_is_told(error):
    assert completion_values(SimpleNamespace(choices=None, error=error)) == (None, "no credit")
