"""What a language model that was asked for a word wrote: the answers in its reply, or that it refuses."""

import json
import re

ANSWERS = 5  # at most
FINISHED = ("stop", "eos", "eos_token", "none")  # reasons for which a completion ends, in lower case
CUT, REFUSED = ("length", "model_length", "max_tokens"), ("refusal", "content_filter")
STATUSES = {  # of an endpoint: what happened and what to do
    401: "refuses the key (401): check OPENAI_API_KEY",
    402: "has no credit left for this key (402): add some",
    403: "refuses the key (403): check OPENAI_API_KEY",
    404: "knows no such model or address (404): check the name and OPENAI_BASE_URL",
    413: "finds the question too long (413): shorten the template",
    429: "has had too many requests, or no credit is left (429): lower per_minute or workers",
}
KEYS = ("answer", "answers", "guess", "guesses", "word", "words", "completion")  # of a JSON object's answers
TAGS = r"(think|thinking|thought|reasoning)"
THOUGHTS = re.compile(rf"<{TAGS}>.*?(</\1>|$)|\[think\].*?(\[/think\]|$)", re.DOTALL | re.IGNORECASE)
THOUGHTS_END = re.compile(rf"^.*(</{TAGS}>|\[/think\])", re.DOTALL | re.IGNORECASE)  # their beginning is lost
FINAL = re.compile(r"^.*(<\|channel\|>\s*final\b[^<]*<\|message\|>|assistantfinal)", re.DOTALL)  # harmony
ENDED, MARKER = re.compile(r"(\s*<\|(return|end)\|>)+\s*$"), re.compile(r"<\|[^|<>\n]*\|>")
MARKS = re.compile(r"```\w*\n?|\*\*|`|</?(answer|final|final_answer|output|response)>", re.IGNORECASE)
BOXED = re.compile(r"\$*\\boxed\{(?:\\text\{)?([^{}]*)\}+\$*")
OPENING = re.compile(r"(?i)^(sure( thing)?|certainly|of course|okay|ok|great|absolutely|got it)[!.:]\s+")
REFUSAL = (  # in any case
    r"(unfortunately, )?(i['’]m|i am) (very |so )?sorry\b|sorry[,.!]? (but|i|i['’]m|we) \w|as an ai\b|"
    r"(unfortunately, )?i (cannot|can['’]?t|can not|do not|don['’]t|am unable|am not able)( \w|\W*$)|"
    r"(n/a|none)[.!]*$"
)
# Also one, where guesses come all the same: "I cannot be certain, but my best guesses are: ..."
HEDGE = re.compile(rf"(?is)^({REFUSAL}).*?\b(guess(es)?|answers|predictions)\b[^:\n]{{0,80}}:\s*")
WHAT = r"(guess(es)?|answers?|completions?|predictions?|words?|options?|candidates?|outputs?|responses?)"
HEADING = re.compile(rf"^#+[ \t]+([^:\n]*\b{WHAT}\b[^:\n]*:?\n\s*)?", re.IGNORECASE | re.MULTILINE)
# Not one: a list that begins with two words, such as "words, word, guess: what".
INTRODUCTION = re.compile(
    rf"(?i)^((?!\w+, *\w+,)[^:\n]{{0,120}}\b{WHAT}\b[^:\n]{{0,80}}|top( \w+)?|"
    r"(the )?most (likely|probable)|a):[ \t]*"
)
LIKELY = r"(most |very )?(likely|probably|possibly|perhaps)"
SENTENCE = re.compile(
    r"^((based on|given|considering|from)\b[^:;\n]{0,120}?, )?(i (think|believe|guess)( that)? )?"
    rf"(it|(the|my)\b[^,;:\n]{{0,60}}?\b{WHAT}\b[^,;:\n]{{0,60}}?) "
    rf"(is|are|(would|could|might|may|will|should)( {LIKELY})? be)\b( {LIKELY}( to be)?(?= \W*\w))?:?\s*|"
    rf"^it['’]s ({LIKELY} (?=\W*\w))?|^i(['’]d| would) (guess|say|predict)( that)?( it is| it['’]s)?:? ",
    re.IGNORECASE,
)
PLACE = r"(first|second|third|fourth|fifth)"
LABEL = re.compile(rf"(?im)^[ \t]*(({PLACE}( {WHAT})?|{WHAT} #?\d):|[A-E][.):])[ \t]+")
COUNTED = re.compile(r"^[ \t]*#?(\d)(?: [-–—]|[.:)])?[ \t]+", re.MULTILINE)  # a number before an answer
TABLE = re.compile(r"^[ \t]*\|.*\n[ \t]*\|[ \t:|-]+(\n|$)", re.MULTILINE)  # its head
ROW = re.compile(r"^[ \t]*\|(?:[ \t]*#?\d[ \t]*\|)?[ \t]*([^|\n]+?)[ \t]*\|.*$", re.MULTILINE)
JSON = re.compile(r"(?:^|:)\s*([\[{].*[\]}])\s*$", re.DOTALL | re.MULTILINE)  # behind other words, too
NUMBER = r"(?:^|(?<=\s))\(?\d{1,2}[.):]\)?(?:\s+|(?=[^\W\d]))"
BULLET = re.compile(rf"^\s*(?:{NUMBER}|[-*•]\s+)")
REMARK = re.compile(r"\s+[-–—]\s.*|\s*\([^)]*\)\s*$")  # behind an answer
COMMA = r",(?!\d{3}\b)|[;，、；]|\s\|\s"
LAST = re.compile(r",[ \t]+(and|or) (?=\w[^,;\n]*$)", re.IGNORECASE | re.MULTILINE)  # answer of a line


def parse(text):
    """The answers in a reply, up to five.

    Thoughts in <think> and before the final channel of a "harmony" reply, words of politeness, an
    introduction such as "My five guesses are:", numbers, bullets, labels such as "First guess:" and remarks
    behind an answer are left out. Answers stand in a JSON list or object, in numbered, bulleted or labelled
    lines, in one numbered line, between commas, semicolons, bars and lines, or in the rows of a table. A
    reply of up to five words without separators is read both as one answer and as a list of words.

    Args:
        text: of the reply.

    Returns:
        [str], the most probable first; [] where there is none, or the reply is a refusal.

    Example:
        >>> parse("<think>France?</think>Sure! Here are my best guesses:\\n1. Paris\\n2. London (a city)")
        ['Paris', 'London']
    """
    if refuses(text):
        return []
    text = _unwrapped(text)
    if MARKER.search(text):  # a reply that ended in another channel
        return []
    pieces = _json_items(text) or _pieces(text)
    answers = [REMARK.sub("", BULLET.sub("", piece)).strip(" \t\r\n\"'`*_.[],;") for piece in pieces]
    answers = [answer for answer in answers if re.search(r"\w|[^\s.]", answer)]
    if len(answers) == 1 and len(answers[0].split()) <= ANSWERS:
        answers += answers[0].split()[1:]
    return answers[:ANSWERS] or [text] * (len(text) == 1 and text != ".")  # a comma may follow a prompt


def refuses(text):
    """Whether a reply is a refusal in words, such as "I'm sorry, but I can't help with that." or "None"."""
    text = _unwrapped(text)
    return bool(re.match(REFUSAL, ", ".join(_json_items(text)) or text, re.IGNORECASE))


def completion_values(completion):
    """The values of a completion that are stored: (dict, "").

    They are None for a completion that is malformed, ended early or holds no answer; then the text is what
    the endpoint says about it, or "". A completion that was cut is not None, and its text counts for nothing.
    """
    try:
        choice, usage = completion.choices[0], completion.usage
        text, reason = choice.message.content, choice.finish_reason
    except (AttributeError, IndexError, KeyError, TypeError):
        error = getattr(completion, "error", None)
        return None, str(error.get("message") if isinstance(error, dict) else error or "")
    if isinstance(text, list):  # of parts
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    text, end = text if isinstance(text, str) else "", str(reason).lower()
    refused = end in REFUSED or bool(getattr(choice.message, "refusal", None))
    refused = refused or end in FINISHED and refuses(text)
    if not refused and end not in (*FINISHED, *CUT):
        return None, f"finish_reason {reason}"
    if not (refused or end in CUT or parse(text)):
        return None, ""
    values = {"text": text, "finish_reason": reason, "refused": refused}
    for name, part in (("tokens_in", "prompt"), ("tokens_out", "completion")):
        count = str(getattr(usage, f"{part}_tokens", 0)).partition(".")[0]  # some give text
        values[name] = int(count) if count.isdecimal() else 0
    return values, ""


def _unwrapped(text):
    """A reply without thoughts, marks, headings and words of politeness."""
    text = ENDED.sub("", FINAL.sub("", text))
    text = BOXED.sub(r"\1", MARKS.sub("", THOUGHTS_END.sub("", THOUGHTS.sub("", text)))).strip()
    return HEDGE.sub("", OPENING.sub("", HEADING.sub("", text)))


def _json_items(text):
    """The items of a JSON list in a text; of an object those of its answers, its lists or its values."""
    part = JSON.search(text)
    try:
        parsed = json.loads(part[1]) if part else []
    except (ValueError, RecursionError):
        return []
    if isinstance(parsed, dict):
        lists = sum((v for v in parsed.values() if isinstance(v, list)), [])
        parsed = _named(parsed) or lists or parsed.values()
    objects = (x if isinstance(x, dict) else {"word": x} for x in parsed)
    texts = (_named(x) or [v for v in x.values() if isinstance(v, str)] for x in objects)
    return [str(item) for items in texts for item in items[:1]]


def _named(reply):
    """What a JSON object holds under the first of KEYS that it has, as a list; [] if it has none."""
    values = [reply[key] for key in KEYS if key in reply]
    return values[0] if values and isinstance(values[0], list) else values[:1]


def _pieces(text):
    """The parts of a text that hold an answer each, with bullets and remarks."""
    if len(LABEL.findall(text)) > 1:
        text = LABEL.sub("- ", text)
    numbers = COUNTED.findall(text)
    if len(numbers) > 1 and "123456789".startswith("".join(numbers)):  # others are answers with remarks
        text = COUNTED.sub(r"\1. ", text)
    if TABLE.search(text):
        text = ROW.sub(r"- \1", TABLE.sub("", text))
    text = INTRODUCTION.sub("", text).lstrip()
    pieces = [line for line in text.splitlines() if BULLET.match(line)]
    if any(re.match(NUMBER, line.lstrip()) for line in pieces):  # indented bullets are remarks
        pieces = [line for line in pieces if not re.match(r"\s+[-*•]", line)]
    if len(pieces) <= 1 and len(re.findall(NUMBER, text)) > 1:
        return re.split(NUMBER, text)
    if len(pieces) > 1:
        return pieces
    text = BULLET.sub("", pieces[0]) if pieces else SENTENCE.sub("", text)
    return re.split(COMMA if pieces else rf"{COMMA}|\n", LAST.sub(", ", text))
