"""The README's second example, run: its table and its picture, python docs/readme_example.py

The picture has the first test text that fits into one line. Each explanation's number is its decision flip.
"""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

from method_figures import GREY, ORANGE, TOKEN, WIDTH, places, rect, svg, text, tokens

README = Path(__file__).resolve().parent.parent / "README.md"
FIGURE = README.parent / "figures/method/one_review.svg"
BLOCKS = re.compile(r"```python\n([^`]*)```\n\n```text\n([^`]*)```")
LABELS = {"leave_one_out": "leave-one-out", "gradient_l2": "gradient", "random_uniform": "random scores"}
LEFT, STEP = 14, 66


def run():
    """(the study of the example, what it prints)."""
    printed, names = io.StringIO(), {}
    with redirect_stdout(printed):
        exec(BLOCKS.search(README.read_text(encoding="utf-8"))[1], names)
    return names["study"], printed.getvalue()[printed.getvalue().index(" attribution") - 1 :]


def drawn(study):
    """The picture of one text: a row for each explanation, with the number of words masked."""
    words = [
        [t for t, m in zip(ts, e.maskable, strict=True) if m]
        for ts, e in zip(study.tokens, study.encodings, strict=True)
    ]
    example = next(i for i, row in enumerate(words) if sum(places(LEFT, row)[-1]) < WIDTH)
    flips = study.values[(study.values.metric == "decision_flip") & (study.values.baseline == "")]
    removed = flips[flips.example == example].set_index("attribution").value * len(words[example])
    parts = []
    for row, (name, label) in enumerate(LABELS.items()):
        scores = study.scores[name][example][study.encodings[example].maskable].clip(0)
        y, count = 24 + STEP * row, round(removed[name])
        parts += [
            text(LEFT, y, label, bold=True),
            tokens(LEFT, y + 10, words[example], list(scores / scores.max())),
        ]
        parts.append(text(WIDTH - 330, y, f"{count} of {len(words[example])} words masked", 14))
        parts += [rect(WIDTH - 150, y - 11, 136, 12, "white", GREY)]
        parts.append(rect(WIDTH - 150, y - 11, round(136 * count / len(words[example]), 1), 12, ORANGE, GREY))
    return svg(
        24 + STEP * len(LABELS) - STEP + 10 + TOKEN + 14, "One review, explained in three ways", *parts
    )


def main():
    """Write the table into the README, and the picture."""
    study, table = run()
    page = README.read_text(encoding="utf-8")
    start, end = BLOCKS.search(page).span(2)
    README.write_text(page[:start] + table + page[end:], encoding="utf-8")
    FIGURE.write_text(drawn(study), encoding="utf-8")


if __name__ == "__main__":
    main()
