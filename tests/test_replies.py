"""The answers in what language models write: shapes that replies have."""

import pytest

from faithlib.replies import parse

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
        # thoughts
        (
            "<think>The words LeBron James suggest the sport, so\nbasketball.</think>\n\nbasketball",
            ["basketball"],
        ),
        ("<think>x</think>1. paris\n2. london\n\nThese are cities of Europe.", ["paris", "london"]),
        ("<think>The words LeBron James suggest", []),
        ("<think>hm</think>", []),
        ("thoughts without opening tag ...</think>\n\nRome", ["Rome"]),
        ("one thought</think> another</think>Rome <think>or not</think>", ["Rome"]),
        # nothing
        ("", []),
        (" \n, ...", []),
    ],
)
def test_answers_are_read(text, answers):
    assert parse(text) == answers
