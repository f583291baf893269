"""What a language model that was asked for a word wrote: the answers in its reply."""

import json
import re

ANSWERS = 5  # at most
TAGS = r"(think|thinking|thought|reasoning)"
THOUGHTS = re.compile(rf"<{TAGS}>.*?(</\1>|$)", re.DOTALL | re.IGNORECASE)
THOUGHTS_END = re.compile(rf"^.*</{TAGS}>", re.DOTALL | re.IGNORECASE)  # of thoughts whose beginning is lost
OPENING = re.compile(r"^(sure|certainly|of course|okay|ok|great)( thing)?[!.]\s+", re.IGNORECASE)
WHAT = r"(guess(es)?|answers?|completions?|predictions?|words?|options?|candidates?)"
# Not one: a list that begins with two words, such as "words, word, guess: what".
INTRODUCTION = re.compile(rf"^(?!\w+, *\w+,)[^:\n]{{0,120}}\b{WHAT}\b[^:\n]{{0,80}}:[ \t]*", re.IGNORECASE)
SENTENCE = re.compile(
    r"^((based on|given|considering|from)\b[^:;\n]{0,120}?, )?(i (think|believe|guess)( that)? )?"
    rf"(it|(the|my)\b[^,;:\n]{{0,60}}?\b{WHAT}\b[^,;:\n]{{0,60}}?) "
    r"(is|would be|could be|might be|are)\b:?\s*|^it['’]s ",
    re.IGNORECASE,
)
PLACE = r"(first|second|third|fourth|fifth)"
LABEL = re.compile(rf"^[ \t]*(({PLACE} {WHAT}|{WHAT} #?\d):|[A-E][.)])[ \t]+", re.IGNORECASE | re.MULTILINE)
DASHED = re.compile(r"^[ \t]*(\d) [-–—][ \t]+", re.MULTILINE)  # a number before an answer
JSON = re.compile(r"(?:^|:)\s*([\[{].*[\]}])\s*$", re.DOTALL | re.MULTILINE)  # behind other words, too
NUMBER = r"(?:^|(?<=\s))\(?\d{1,2}[.):]\)?(?:\s+|(?=[^\W\d]))"
BULLET = re.compile(rf"^\s*(?:{NUMBER}|[-*•]\s+)")
REMARK = re.compile(r"\s+[-–—]\s.*|\s*\([^)]*\)\s*$")  # behind an answer
COMMA = r",(?!\d{3}\b)|[;，、；]|\s\|\s"
LAST = re.compile(r",[ \t]+(and|or) (?=\w[^,;\n]*$)", re.IGNORECASE | re.MULTILINE)  # answer of a line


def parse(text):
    """The answers in a reply, up to five.

    Thoughts in <think>, words of politeness, an introduction such as "My five guesses are:", numbers,
    bullets, labels such as "First guess:" and remarks behind an answer are left out. Answers stand in a JSON
    list or object, in numbered, bulleted or labelled lines, in one numbered line, or between commas,
    semicolons, bars and lines. A reply without separators is read both as one answer and as a list of words.

    Args:
        text: of the reply.

    Returns:
        [str], the most probable first; [] where there is none.

    Example:
        >>> parse("<think>France?</think>Sure! Here are my best guesses:\\n1. Paris\\n2. London (a city)")
        ['Paris', 'London']
    """
    text = THOUGHTS_END.sub("", THOUGHTS.sub("", text))
    text = re.sub(r"```\w*\n?|\*\*|`|</?answer>", "", text).strip()
    pieces = _json_items(text) or _pieces(text)
    answers = [REMARK.sub("", BULLET.sub("", piece)).strip(" \t\r\n\"'`*_.[],;") for piece in pieces]
    answers = [answer for answer in answers if re.search(r"\w|[^\s.]", answer)]
    if len(answers) == 1:
        answers += answers[0].split()[1:]
    return answers[:ANSWERS] or [text] * (len(text) == 1 and text != ".")  # a comma may follow a prompt


def _json_items(text):
    """The items of a JSON list in a text; of a JSON object those of its lists, or else its values."""
    part = JSON.search(text)
    try:
        found = json.loads(part[1]) if part else []
    except (ValueError, RecursionError):
        return []
    if isinstance(found, dict):
        found = sum((v for v in found.values() if isinstance(v, list)), []) or list(found.values())
    texts = ([v for v in x.values() if isinstance(v, str)] if isinstance(x, dict) else [x] for x in found)
    return [str(item) for items in texts for item in items[:1]]


def _pieces(text):
    """The parts of a text that hold an answer each, with bullets and remarks."""
    if len(LABEL.findall(text)) > 1:
        text = LABEL.sub("- ", text)
    if DASHED.findall(text)[:2] == ["1", "2"]:  # other numbers are answers with remarks
        text = DASHED.sub(r"\1. ", text)
    text = INTRODUCTION.sub("", OPENING.sub("", text)).lstrip()
    pieces = [line for line in text.splitlines() if BULLET.match(line)]
    if len(pieces) <= 1 and len(re.findall(NUMBER, text)) > 1:
        return re.split(NUMBER, text)
    if len(pieces) > 1:
        return pieces
    text = BULLET.sub("", pieces[0]) if pieces else SENTENCE.sub("", text)
    return re.split(COMMA if pieces else rf"{COMMA}|\n", LAST.sub(", ", text))
