"""The answers in what language models write: shapes that replies have."""

from types import SimpleNamespace

import pytest

from notebooks.noiser.measure.replies import completion_values, parse, refuses

FIVE = ["paris", "london", "rome", "berlin", "madrid"]
LIST = "paris, london, rome, berlin, madrid"


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        # as asked
        (LIST, FIVE),
        ("France, Spain,Italy", ["France", "Spain", "Italy"]),
        ("1992", ["1992"]),
        ("$", ["$"]),
        (",", [","]),
        ('"', ['"']),
        ("1,000 ; 3.5", ["1,000", "3.5"]),
        ("Tokyo.", ["Tokyo"]),
        ("New York", ["New York", "York"]),
        ("one two three", ["one two three", "two", "three"]),
        ("a, b, c, d, e, f", ["a", "b", "c", "d", "e"]),
        # lists
        ("1. New York\n2. Los Angeles\n3) Rome.", ["New York", "Los Angeles", "Rome"]),
        ("1. paris 2. london 3. rome 4. berlin 5. madrid", FIVE),
        ("1) paris, 2) london, 3) rome, 4) berlin, 5) madrid", FIVE),
        ("1. paris, london, rome", ["paris", "london", "rome"]),
        ("- \"red\"\n* 'green'\n• **blue**", ["red", "green", "blue"]),
        ('["paris", "london", "rome", "berlin", "madrid"]', FIVE),
        ('```json\n["paris", "london"]\n```', ["paris", "london"]),
        ("**paris**, **london**, **rome**, **berlin**, **madrid**", FIVE),
        ('{"guesses": ["Paris","London"]}', ["Paris", "London"]),
        ('{\n  "thoughts": "It is a city, so",\n  "guesses": [\n    "Paris"\n  ]\n}', ["Paris"]),
        ('{"1": "Paris", "2": "London"}', ["Paris", "London"]),
        ('[{"word": "Paris", "p": 0.5}, {"p": 0.1, "word": "London"}]', ["Paris", "London"]),
        ('Here you go:\n```json\n["Paris", "London"]\n```', ["Paris", "London"]),
        ('Here is the JSON: ["Paris", "London"]', ["Paris", "London"]),
        ("1.Paris\n2.London", ["Paris", "London"]),
        ("_Paris_, _London_", ["Paris", "London"]),
        ("Paris，London、Rome；Berlin", ["Paris", "London", "Rome", "Berlin"]),
        ("<thought>a city</thought><answer>Paris, London</answer>", ["Paris", "London"]),
        ("Paris, London, and Rome", ["Paris", "London", "Rome"]),
        ("Paris, London, or Rome.", ["Paris", "London", "Rome"]),
        ("then, or, and", ["then", "or", "and"]),
        ("Paris | London | Rome", ["Paris", "London", "Rome"]),
        ("||", ["||"]),
        ("1 - Paris\n2 - London", ["Paris", "London"]),
        ("Here are my guesses:\n1 – Paris – a city\n2 – London", ["Paris", "London"]),
        ("12 - months\n24 - hours", ["12", "24"]),
        # words around the answers
        (f"Sure! Here are my 5 best guesses: {LIST}", FIVE),
        ("Sure! Here are my 5 best guesses:\n1. paris\n2. london\n3. rome\n4. berlin\n5. madrid", FIVE),
        (f"Based on the given words, my five best guesses are:\n\n{LIST}", FIVE),
        ("Here are the most likely words:\n\n- paris\n- london\n\nI hope this helps.", ["paris", "london"]),
        (f"{LIST}\n\nLet me know if you need more!", FIVE),
        ("Okay. paris, london", ["paris", "london"]),
        ("Best guesses: Tokyo; Kyoto; Osaka", ["Tokyo", "Kyoto", "Osaka"]),
        ("Probable Completion: basketball", ["basketball"]),
        ("The answer is basketball.", ["basketball"]),
        ("The most probable completion is **basketball**.", ["basketball"]),
        ('I believe the next word is "basketball".', ["basketball"]),
        ("I think it is basketball.", ["basketball"]),
        ("The answer could be one of: paris, london", ["paris", "london"]),
        ("Based on the words given, I think the next word is Paris.", ["Paris"]),
        ("Based on the words given (Rome, Italy), the answer is Paris.", ["Paris"]),
        ("First guess: Paris\nSecond guess: London", ["Paris", "London"]),
        ("A. Paris\nB) New York", ["Paris", "New York"]),
        ("A. Smith", ["A. Smith", "Smith"]),
        ("It's Paris.", ["Paris"]),
        ("its", ["its"]),
        ("Guess 1: Paris\nGuess 2: London", ["Paris", "London"]),
        ("**Guess #1:** Paris\n**Guess #2:** London", ["Paris", "London"]),
        ("My guess: Paris\nLondon\nRome", ["Paris", "London", "Rome"]),
        ("words, word, guess: what", ["words", "word", "guess: what"]),
        # remarks
        ("1. Paris - the capital of France\n2. London – of England", ["Paris", "London"]),
        ("Paris (France), London (England)", ["Paris", "London"]),
        # shapes that hid the first answer
        ("The next word would most likely be Paris.", ["Paris"]),
        ('The next word is likely "Paris".', ["Paris"]),
        ("The next word is probably Paris.", ["Paris"]),
        ("The word is most likely to be Paris.", ["Paris"]),
        ("It's probably Paris.", ["Paris"]),
        ("The answer is likely.", ["likely"]),
        ("I would guess Paris", ["Paris"]),
        ("Top 5: Paris, London", ["Paris", "London"]),
        ("Sure: Paris, London", ["Paris", "London"]),
        ("Absolutely! Paris, London", ["Paris", "London"]),
        ("Got it! Paris", ["Paris"]),
        ("Most likely: Paris", ["Paris"]),
        ("Output: Paris", ["Paris"]),
        ("Response: Paris", ["Paris"]),
        ("A: Paris", ["Paris"]),
        ("#1 Paris\n#2 London", ["Paris", "London"]),
        ("#1: Paris\n#2: London", ["Paris", "London"]),
        ("1 Paris\n2 London", ["Paris", "London"]),
        ("1 day\n2 days\n5 days", ["1 day", "2 days", "5 days"]),
        ("First: Paris\nSecond: London", ["Paris", "London"]),
        ("A: Paris\nB: London", ["Paris", "London"]),
        ("\\boxed{Paris}", ["Paris"]),
        ("The answer is $\\boxed{\\text{Paris}}$.", ["Paris"]),
        ("<final>Paris</final>", ["Paris"]),
        ("# Guesses\nParis, London", ["Paris", "London"]),
        ("## Guesses\n\nHere are my guesses:\n### 1. Paris\n### 2. London", ["Paris", "London"]),
        ('{"reasoning": "It is in France, so", "answer": "Paris"}', ["Paris"]),
        ('[{"why": "a city", "word": "Paris"}, {"why": "too", "word": "London"}]', ["Paris", "London"]),
        ('{"notes": ["a city"], "guesses": ["Paris", "London"]}', ["Paris", "London"]),
        ("| rank | word |\n|---|---|\n| 1 | Paris |\n| 2 | London |", ["Paris", "London"]),
        ("Here you go:\n\n| word | p |\n|:--|--:|\n| Paris | 0.9 |\n| London | 0.1 |", ["Paris", "London"]),
        ("1. Paris\n   - the capital\n2. London\n   - a city\n3. Rome", ["Paris", "London", "Rome"]),
        ("a b c d e f", ["a b c d e f"]),  # a sentence is no list of words
        # thoughts
        ("[THINK]It could be London.[/THINK]Paris", ["Paris"]),
        ("[THINK]It could be", []),
        ("It could be London.[/THINK]Paris", ["Paris"]),
        ("<think>LeBron James suggests the sport, so\nbasketball.</think>\n\nbasketball", ["basketball"]),
        ("<think>x</think>1. paris\n2. london\n\nThese are cities of Europe.", ["paris", "london"]),
        ("<think>The words LeBron James suggest", []),
        ("<think>hm</think>", []),
        (
            "<|channel|>analysis<|message|>London?<|end|><|start|>assistant<|channel|>final<|message|>Paris<|return|>",
            ["Paris"],
        ),
        ("analysisWe need London.assistantfinalParis, Lyon", ["Paris", "Lyon"]),
        ("<|channel|>analysis<|message|>We need London", []),
        ("thoughts without opening tag ...</think>\n\nRome", ["Rome"]),
        ("one thought</think> another</think>Rome <think>or not</think>", ["Rome"]),
        # nothing
        ("", []),
        (" \n, ...", []),
    ],
)
def test_answers_are_read(text, answers):
    assert parse(text) == answers


@pytest.mark.parametrize(
    "text",
    [
        "I cannot determine the next word without more context.",
        "I cannot determine the next word: there is no text.",
        "I'm sorry, but I can't help with that.",
        "I’m sorry.",
        "Sorry, I can’t.",
        "I do not have enough words. Could you provide\n1. the text\n2. more words",
        "I don't know.",
        "Unfortunately, I am unable to tell.",
        "As an AI language model, I have no access to the text.",
        "<think>Paris?</think>I can't say.",
        "None",
        "none.",
        "N/A",
        '{"answer": null}',
    ],
)
def test_refusals_in_words_are_no_answers(text):
    assert refuses(text) and parse(text) == []


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("none, nothing", ["none", "nothing"]),
        ("sorry, sad, i", ["sorry", "sad", "i"]),
        ("I, we, you", ["I", "we", "you"]),
        ("I can't, I won't", ["I can't", "I won't"]),
        ("I can't be certain, but my best guesses are: Paris, London", ["Paris", "London"]),
        ("As an AI I cannot see it.\n\nMy guesses:\n1. Paris\n2. London", ["Paris", "London"]),
    ],
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
    "given",
    [
        dict(reason="refusal"),
        dict(text=None, reason="content_filter"),
        dict(text=None, refusal="No."),
        dict(text="N/A"),
    ],
)
def test_a_refusal_is_one_however_it_is_told(given):
    assert completion_values(completion(**given))[0]["refused"] is True


def test_parts_of_a_text_are_joined_and_what_holds_no_answer_is_none():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Par"}, {"text": "is"}, 5]
    assert completion_values(completion(parts))[0]["text"] == "Paris"
    for wrong in (completion([]), completion(None), completion(5), SimpleNamespace(choices={}), "<html>"):
        assert completion_values(wrong) == (None, "")


@pytest.mark.parametrize("error", ["no credit", {"message": "no credit"}])
def test_an_error_in_place_of_a_completion_is_told(error):
    assert completion_values(SimpleNamespace(choices=None, error=error)) == (None, "no credit")
