"""What a language model that was asked for a word wrote: the answers in its reply."""

import json
import re

ANSWERS = 5  # at most
THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|$)", re.DOTALL | re.IGNORECASE)
OPENING = re.compile(r"^(sure|certainly|of course|okay|ok|great)( thing)?[!.]\s+", re.IGNORECASE)
WHAT = r"(guess(es)?|answers?|completions?|predictions?|words?|options?|candidates?)"
INTRODUCTION = re.compile(rf"^[^:\n]{{0,120}}\b{WHAT}\b[^:\n]{{0,80}}:[ \t]*", re.IGNORECASE)
SENTENCE = re.compile(
    rf"^(i (think|believe|guess)( that)? )?(it|(the|my)\b[^,;:\n]{{0,60}}?\b{WHAT}\b[^,;:\n]{{0,60}}?) "
    r"(is|would be|could be|might be|are)\b:?\s*",
    re.IGNORECASE,
)
NUMBER = r"(?:^|(?<=\s))\(?\d{1,2}[.):]\)?\s+"
BULLET = re.compile(rf"^\s*(?:{NUMBER}|[-*•]\s+)")
REMARK = re.compile(r"\s+[-–—]\s.*|\s*\([^)]*\)\s*$")  # behind an answer


def parse(text):
    """The answers in a reply, up to five.

    Thoughts in <think>, words of politeness, an introduction such as "My five guesses are:", numbers, bullets
    and remarks behind an answer are left out. Answers stand in a JSON list, in numbered or bulleted lines, in
    one numbered line, or between commas, semicolons and lines. A reply without separators is read both as one
    answer and as a list of words.

    Args:
        text: of the reply.

    Returns:
        [str], the most probable first; [] where there is none.

    Example:
        >>> parse("<think>France?</think>Sure! Here are my best guesses:\\n1. Paris\\n2. London (a city)")
        ['Paris', 'London']
    """
    text = re.sub(r"```\w*\n?|\*\*|`", "", THOUGHTS.sub("", text)).strip()
    try:
        found = json.loads(text)
        pieces = [str(item) for item in found] if isinstance(found, list) else [text]
    except ValueError:
        pieces = [text]
    if pieces == [text]:
        text = INTRODUCTION.sub("", OPENING.sub("", text)).lstrip()
        pieces = [line for line in text.splitlines() if BULLET.match(line)]
        if len(pieces) <= 1 and len(re.findall(NUMBER, text)) > 1:
            pieces = re.split(NUMBER, text)
        elif not pieces:
            pieces = re.split(r",(?!\d{3}\b)|[;\n]", SENTENCE.sub("", text))
        elif len(pieces) == 1:
            pieces = re.split(r",(?!\d{3}\b)|;", BULLET.sub("", pieces[0]))
    answers = [REMARK.sub("", BULLET.sub("", piece)).strip(" \t\r\n\"'`*.[],;") for piece in pieces]
    answers = [answer for answer in answers if re.search(r"\w|[^\s.]", answer)]
    if len(answers) == 1:
        answers += answers[0].split()[1:]
    return answers[:ANSWERS]
