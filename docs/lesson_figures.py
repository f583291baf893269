"""The drawings that lessons begin with, where no paper's drawing does: python docs/lesson_figures.py

Writes figures/method/<name>.svg. Nothing in them is a result.
"""

from method_figures import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    arrow,
    axes,
    bars,
    box,
    line,
    lines,
    rect,
    svg,
    text,
    tokens,
    write,
)


def three_families():
    words = ["the", "film", "was", "not", "good"]
    rows = (
        ("attention", "which tokens get attention?", [0.2, 0.3, 0.1, 0.25, 0.9], "one pass"),
        ("gradient", "how does the output move?", [0.05, 0.35, 0.1, 0.55, 0.95], "forward, backward"),
        ("perturbation", "what is lost without the word?", [0, 0.1, 0.05, 0.95, 0.7], "one pass per word"),
    )
    parts = []
    for i, (name, question, scores, cost) in enumerate(rows):
        y = 24 + 56 * i
        parts += [text(14, y + 8, name, bold=True), text(14, y + 27, question, 13, colour=GREY)]
        parts += [tokens(246, y, words, scores), text(560, y + 17, cost, 14)]
    return svg(
        238,
        "Three families of methods score the words of one sentence, and disagree",
        *parts,
        rect(14, 190, 672, 34, "#f3f3f3", PALE),
        text(26, 212, "Three answers: is one of them wrong, or do they answer different questions?"),
    )


def plausible():
    words = ["copper", "a", "lovely", "film"]

    def row(y, who, scores, answer, note):
        return "\n".join(
            [
                text(14, y + 17, who, bold=True),
                tokens(170, y, words, scores),
                arrow((420, y + 12), (452, y + 12)),
                text(460, y + 17, answer, bold=True),
                text(550, y + 17, note, 13, colour=GREY),
            ]
        )

    return svg(
        216,
        "Two models answer by different words; the explanation that people expect is right for one of them",
        row(18, "honest model", [0, 0, 0.95, 0.1], "positive", "reads the opinion"),
        row(60, "shortcut model", [0.95, 0, 0, 0.1], "negative", "reads “copper”"),
        line([(14, 102), (686, 102)], PALE, 1),
        text(14, 133, "what people mark", bold=True),
        tokens(170, 116, words, [0, 0, 0.95, 0]),
        text(430, 133, "plausible for both models", 14),
        rect(14, 164, 672, 38, "#f3f3f3", PALE),
        text(26, 188, "Faithful is another question: does the model itself answer by these words?"),
    )


def erasure():
    words = ["the", "plot", "is", "not", "good"]
    rows = (
        ("the whole text", (), 0.92, INK),
        ("the rationale alone", (0, 1, 2), 0.85, GREEN),
        ("the rest alone", (3, 4), 0.35, ORANGE),
    )
    parts = []
    for i, (name, masked, p, colour) in enumerate(rows):
        y = 34 + 42 * i
        parts += [text(14, y + 17, name, bold=True), tokens(170, y, words, None, masked)]
        parts += [arrow((450, y + 12), (480, y + 12)), rect(486, y + 4, round(130 * p), 16, colour, colour)]
        parts.append(text(624, y + 17, f"{p:.2f}", 13))
    return svg(
        236,
        "A text, its most important words alone, and the rest alone, each with the model's probability",
        text(486, 22, "p(negative)", 14, bold=True),
        *parts,
        rect(14, 166, 672, 56, "#f3f3f3", PALE),
        text(26, 189, "Sufficiency:", bold=True, after="the rationale alone says the same: 0.92 to 0.85"),
        text(26, 211, "Comprehensiveness:", bold=True, after="the rest alone does not: 0.92 to 0.35"),
    )


def against_random():
    heights = [0.06, 0.2, 0.45, 0.8, 1, 0.9, 0.7, 0.5, 0.3, 0.16, 0.08]
    left, ground, wide = 60, 190, 32
    value = left + 7 * wide - 2
    return svg(
        236,
        "The value of an explanation among the values of random explanations of the same text",
        bars(left, ground, heights[:7], PALE, wide - 4, 4, 130),
        bars(left + 7 * wide, ground, heights[7:], GREY, wide - 4, 4, 130),
        axes(left - 6, ground, 11 * wide + 8, 140, "value of the metric", "random scores"),
        line([(value, ground), (value, 34)], ORANGE, 3),
        text(value + 8, 44, "the explanation: 0.6", 14, colour=ORANGE, bold=True),
        lines(value + 8, 84, "dark: random scores that", "do as well or better", size=13, colour=GREY),
        box(500, 100, 186, 92, "Is 0.6 good?", "Only if random scores", "rarely reach it."),
    )


def verdicts():
    zero = 330

    def interval(y, low, high, colour):
        middle = (low + high) / 2
        ends = [line([(x, y - 5), (x, y + 5)], colour) for x in (low, high)]
        return line([(low, y), (high, y)], colour) + "\n".join(ends) + rect(middle - 4, y - 4, 8, 8, colour)

    rows = (
        ("holds", [(zero + 30, zero + 110, BLUE)], "all of it is on the claim's side"),
        ("does not hold", [(zero - 110, zero - 30, BLUE)], "all of it is on the other side"),
        ("undecided", [(zero - 50, zero + 80, BLUE)], "it contains no effect"),
        (
            "depends on …",
            [(zero - 96, zero - 30, ORANGE), (zero + 30, zero + 96, BLUE)],
            "choices or data disagree",
        ),
    )
    parts = []
    for i, (word, intervals, why) in enumerate(rows):
        y = 34 + 38 * i
        parts.append(text(14, y + 5, word, bold=True))
        parts += [interval(y, *one) for one in intervals]
        parts.append(text(452, y + 5, why, 13, colour=GREY))
    return svg(
        206,
        "Four verdicts: where the 95 % interval of a claim lies, on which side of zero",
        line([(zero, 12), (zero, 172)], INK, 1, "4 3"),
        *parts,
        text(zero, 192, "no effect", 13, "middle"),
    )


FIGURES = (three_families, plausible, erasure, against_random, verdicts)

if __name__ == "__main__":
    write(FIGURES)
