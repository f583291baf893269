"""The README's second example, run: its table and its picture, python docs/readme_example.py

The picture shows the first test text that fits into one line and that `shows_something`.
"""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

from method_figures import GREY, ORANGE, WIDTH, line, rect, svg, text

from faithlib.engine import forward
from faithlib.engine.operators import Operator
from faithlib.metrics.flip import decision_flip

README = Path(__file__).resolve().parent.parent / "README.md"
FIGURE = README.parent / "figures/method/one_text.svg"
BLOCKS = re.compile(r"```python\n([^`]*)```\n\n```text\n([^`]*)```")
LABELS = {"leave_one_out": "leave-one-out", "gradient_l2": "gradient", "random_uniform": "random scores"}
LEFT, TOP, STEP, TOKEN = 14, 48, 74, 24
BAR, BAR_LEFT = 170, 150  # of full length, and where it begins


def run():
    """(the names that the example makes, what it prints)."""
    printed, names = io.StringIO(), {}
    with redirect_stdout(printed):
        exec(BLOCKS.search(README.read_text(encoding="utf-8"))[1], names)
    table = re.search(r"^ +attribution .*", printed.getvalue(), re.MULTILINE | re.DOTALL)[0]
    return names, table


def words(study, example):
    """The words of a text that explanations score."""
    pairs = zip(study.tokens[example], study.encodings[example].maskable, strict=True)
    return [token for token, maskable in pairs if maskable]


def predictions(model, encoding):
    """(class of a text, class of the text with all its words masked), by the model itself."""
    masked = Operator(model, "mask").variants(encoding, encoding.maskable)
    return forward.probabilities(model, [forward.unchanged(encoding), *masked]).argmax(1)


def shows_something(model, study, example):
    """Whether erasing can test an explanation of a text: the prediction is lost when all words are masked."""
    whole, nothing = predictions(model, study.encodings[example])
    return whole != nothing and places(words(study, example))[-1][1] < WIDTH - LEFT


def chosen(model, study):
    """The first text of the study that the picture can show."""
    return next(i for i in range(len(study.encodings)) if shows_something(model, study, i))


def places(names):
    """(left, right) of each word of a line."""
    spans, x = [], LEFT
    for name in names:
        spans.append((x, x + 7 * len(name) + 10))
        x = spans[-1][1] + 4
    return spans


def drawn(news, model, study):
    """The picture: for each explanation the words by their scores, and a bar up to the first change."""
    example = chosen(model, study)
    encoding, names = study.encodings[example], words(study, example)
    scores = {name: [study.scores[name][example]] for name in LABELS}
    flips = decision_flip(model, [encoding], scores).set_index("attribution")
    parts = [text(LEFT, 20, f"Why “{news.task.labels[predictions(model, encoding)[0]]}”?", 15, bold=True)]
    for row, (name, label) in enumerate(LABELS.items()):
        y, of = TOP + STEP * row, len(names)
        count = int(flips.removed[name])
        ending = f"prediction changes after {count} of {of} words"
        if not flips.flipped[name]:
            ending = f"never changes, with {of} of {of} words masked"
        parts.append(text(LEFT, y, label, 14, bold=True))
        parts.append(rect(BAR_LEFT, y - 11, BAR, 12, "white", GREY))
        parts.append(rect(BAR_LEFT, y - 11, round(BAR * count / of, 1), 12, ORANGE, GREY))
        parts.append(text(BAR_LEFT + BAR + 10, y, ending, 13))
        strengths = scores[name][0][encoding.maskable].clip(0)
        for word, (left, right), strength in zip(names, places(names), strengths, strict=True):
            shade = strength / strengths.max()
            parts.append(rect(left, y + 10, right - left, TOKEN, ORANGE, GREY, shade))
            parts.append(text((left + right) / 2, y + 26, word, 12, "middle"))
    parts.append(line([(LEFT, 30), (WIDTH - LEFT, 30)], GREY, 1))
    height = TOP + STEP * len(LABELS) - STEP + TOKEN + 24
    return svg(height, "One text, explained in three ways", *parts)


def main():
    """Write the table into the README, and the picture."""
    names, table = run()
    page = README.read_text(encoding="utf-8")
    start, end = BLOCKS.search(page).span(2)
    README.write_text(page[:start] + table + page[end:], encoding="utf-8")
    FIGURE.write_text(drawn(names["news"], names["model"], names["study"]), encoding="utf-8")


if __name__ == "__main__":
    main()
