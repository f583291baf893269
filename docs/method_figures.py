"""The drawings of the methods, one a paper or study: python docs/method_figures.py

Writes figures/method/<paper>.svg, as the cards show them. Nothing in them is a result.
"""

from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "figures/method"
WIDTH = 700
INK, GREY, PALE = "#222222", "#777777", "#d9d9d9"
ORANGE, BLUE, GREEN = "#E68200", "#0072B2", "#009E73"
TOKEN = 24  # height
STYLE = "font-family='Helvetica, Arial, DejaVu Sans, sans-serif'"


def svg(height, title, *parts):
    """A picture with a white ground, so that it can be read on dark pages too."""
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' "
        f"viewBox='0 0 {WIDTH} {height}' role='img' {STYLE}>\n<title>{escape(title)}</title>\n"
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' "
        f"orient='auto-start-reverse'><path d='M0 0 L8 4 L0 8 z' fill='{INK}'/></marker></defs>\n"
        f"<rect width='{WIDTH}' height='{height}' fill='white'/>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def text(x, y, words, size=14, anchor="start", colour=INK, bold=False, after=""):
    """Words, and those `after` them, which are not bold and begin where these end in any font."""
    weight = " font-weight='bold'" if bold else ""
    behind = f"<tspan dx='7' font-size='13' font-weight='normal'>{escape(after)}</tspan>" if after else ""
    return (
        f"<text x='{x}' y='{y}' font-size='{size}' text-anchor='{anchor}' fill='{colour}'{weight}>"
        f"{escape(words)}{behind}</text>"
    )


def lines(x, y, *words, size=14, anchor="start", colour=INK):
    return "\n".join(text(x, y + i * (size + 5), line, size, anchor, colour) for i, line in enumerate(words))


def rect(x, y, w, h, fill="white", edge=INK, opacity=1.0, dashes=""):
    dashed = f" stroke-dasharray='{dashes}'" if dashes else ""
    return (
        f"<rect x='{x}' y='{y}' width='{w}' height='{h}' rx='3' fill='{fill}' fill-opacity='{opacity:.2f}' "
        f"stroke='{edge}'{dashed}/>"
    )


def box(x, y, w, h, *words, fill="#f3f3f3"):
    """A step of the method: a rectangle with centred words."""
    top = y + h / 2 + 5 - (len(words) - 1) * 9.5
    return rect(x, y, w, h, fill) + lines(x + w / 2, top, *words, anchor="middle")


def arrow(*points):
    path = " ".join(f"{x},{y}" for x, y in points)
    return f"<polyline points='{path}' fill='none' stroke='{INK}' stroke-width='1.4' marker-end='url(#tip)'/>"


def line(points, colour=INK, width=2, dashes=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f" stroke-dasharray='{dashes}'" if dashes else ""
    return f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='{width}'{dashed}/>"


def area(points, colour, opacity=0.3):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polygon points='{path}' fill='{colour}' fill-opacity='{opacity}'/>"


def places(x, words, gap=6):
    """(left, width) of each word of a row of tokens."""
    boxes = []
    for word in words:
        width = 9 * len(word) + 14
        boxes.append((x, width))
        x += width + gap
    return boxes


def tokens(x, y, words, scores=None, masked=()):
    """A text: coloured by scores of 0 to 1, or with some tokens masked."""
    parts = []
    for i, (left, width) in enumerate(places(x, words)):
        hidden = i in masked
        fill, strength = ("#666666", 1) if hidden else (ORANGE, scores[i] if scores else 0)
        parts.append(rect(left, y, width, TOKEN, fill, GREY, strength))
        if not hidden:
            parts.append(text(left + width / 2, y + 17, words[i], 14, "middle"))
    return "\n".join(parts)


def dots(x, y, words, kept):
    """The dimensions of each token's embedding, eight squares, filled where they are kept."""
    parts = []
    for (left, width), row in zip(places(x, words), kept, strict=True):
        start = left + width / 2 - 18
        for d in range(8):
            full = row >> (7 - d) & 1
            fill = BLUE if full else "white"
            parts.append(rect(round(start + 9 * (d % 4), 1), y + 9 * (d // 4), 8, 8, fill, GREY))
    return "\n".join(parts)


def axes(x, y, w, h, across, up):
    """The axes of a small plot whose lower left corner is (x, y)."""
    return "\n".join(
        [arrow((x, y), (x + w + 8, y)), arrow((x, y), (x, y - h - 8)),
        text(x + w / 2, y + 19, across, 13, "middle"),
         f"<g transform='rotate(-90 {x - 9} {y - h / 2})'>{text(x - 9, y - h / 2, up, 13, 'middle')}</g>"]
    )  # fmt: skip


def bars(x, y, values, colour, width=18, gap=8, height=40):
    """Bars that stand on the line y."""
    return "\n".join(
        rect(
            x + i * (width + gap),
            round(y - value * height, 1),
            width,
            round(value * height, 1),
            colour,
            colour,
        )
        for i, value in enumerate(values)
    )


def soft_metrics():
    words, scores = ["the", "film", "is", "great"], [0.05, 0.5, 0.1, 0.95]
    x = 190
    return svg(
        318,
        "Hard erasure keeps or removes whole tokens; soft erasure keeps each dimension with a probability",
        text(14, 37, "scores", bold=True),
        tokens(x, 20, words, scores),
        "\n".join(text(left + w / 2, 62, f"{s:.2f}", 13, "middle", GREY)
                  for (left, w), s in zip(places(x, words), scores, strict=True)),
        text(14, 95, "hard erasure", bold=True), text(14, 113, "keeps the top tokens", 13, colour=GREY),
        dots(x, 88, words, [0x00, 0xFF, 0x00, 0xFF]),
        text(14, 150, "soft erasure", bold=True), dots(x, 143, words, [0x00, 0b10110010, 0b00000100, 0xFF]),
        lines(14, 168, "keeps each dimension", "with probability = score", size=13, colour=GREY),
        arrow((412, 97), (452, 115)), arrow((412, 152), (452, 134)),
        box(455, 100, 80, 50, "model"), arrow((535, 125), (572, 125)),
        lines(578, 121, "how much of", "p(class) stays?", size=14),
        text(14, 222, "kept as drawn:", bold=True, after="sufficiency"),
        text(290, 222, "removed instead of kept:", bold=True, after="comprehensiveness"),
        rect(14, 240, 672, 62, "#f3f3f3", PALE),
        text(26, 264, "Diagnosticity:", bold=True, after="share of texts whose explanation a metric values"),
        text(26, 286, "above random scores. A metric that sees no difference is at ½.", 13),
    )  # fmt: skip


def recursive_roar():
    def at(share, value):
        return 440 + 220 * share, 230 - 170 * value

    steps = [i / 10 for i in range(11)]
    random = [at(s, 0.3 + 0.7 * (1 - s**2.2)) for s in steps]
    curve = [at(s, 0.3 + 0.7 * (1 - s) ** 3) for s in steps]
    words = ["great", "film", "I", "liked", "it"]
    return svg(
        290,
        "Train, rank the tokens, mask the next tenth, train again; the area between two curves is the result",
        box(20, 22, 150, 40, "train a model"), arrow((170, 42), (208, 42)),
        box(210, 22, 150, 40, "rank all tokens"), arrow((285, 62), (285, 104)),
        box(210, 106, 150, 48, "mask the next", "10 % everywhere"),
        arrow((210, 130), (95, 130), (95, 64)),
        lines(106, 90, "train again", "with masks", size=13, colour=GREY),
        text(20, 186, "ROAR", bold=True, after="ranks once: “liked” still tells the class"),
        tokens(20, 194, words, None, (0,)),
        text(20, 244, "Recursive ROAR", bold=True, after="ranks again before each step"),
        tokens(20, 252, words, None, (0, 3)),
        area([*curve, *reversed(random)], ORANGE),
        line(random, GREY, 2, "3 4"), line(curve, ORANGE, 2.5),
        line([at(0, 0.3), at(1, 0.3)], INK, 1, "6 4"),
        axes(440, 230, 220, 170, "share of tokens masked", "performance"),
        text(598, 80, "random", 13, colour=GREY), text(472, 196, "all masked", 13),
        text(545, 128, "ACU", 14, "middle", bold=True),
        text(690, 275, "RACU = ACU ÷ area from random to all masked", 13, "end"),
    )  # fmt: skip


def saloss():
    words = ["a", "moving", "and", "funny", "story"]
    spans = places(150, words)

    def over(y, values, colour):
        return "\n".join(
            rect(left + w / 2 - 12, round(y - 36 * v, 1), 24, round(36 * v, 1), colour, colour)
            for (left, w), v in zip(spans, values, strict=True)
        )

    return svg(
        330,
        "Attention is drawn to word salience in training; then tokens are removed until the prediction flips",
        text(14, 34, "1  Train", bold=True),
        text(14, 66, "attention α", 14, colour=BLUE), over(70, [0.7, 0.3, 0.6, 0.35, 0.25], BLUE),
        tokens(150, 78, words),
        text(14, 140, "salience σ", 14, colour=ORANGE), over(144, [0.65, 0.85, 0.85, 0.85, 0.65], ORANGE),
        line([(150, 144), (455, 144)], PALE, 1), line([(150, 70), (455, 70)], PALE, 1),
        arrow((490, 115), (490, 82)), text(500, 103, "pull α towards σ", 13),
        text(476, 52, "loss = L + λ · KL(α, σ)", 15),
        text(476, 140, "σ: TextRank, no labels", 13, colour=GREY),
        line([(14, 164), (686, 164)], PALE, 1),
        text(14, 192, "2  Decision flip: remove tokens, most important first", bold=True),
        tokens(14, 204, words, None, (1,)), arrow((325, 216), (352, 216)), text(360, 221, "positive"),
        tokens(14, 234, words, None, (1, 3)), arrow((325, 246), (352, 246)),
        text(360, 251, "negative", bold=True),
        text(440, 236, "2 of 5 tokens: 0.4 (lower is better)", 14),
        text(14, 290, "3  FRESH", bold=True),
        text(90, 290, "train a second classifier on the top tokens alone:"),
        tokens(452, 273, ["moving", "funny"]), arrow((590, 285), (616, 285)), text(622, 290, "F1"),
        text(14, 316, "KL: Kullback–Leibler divergence.  L: cross-entropy.", 12, colour=GREY),
    )  # fmt: skip


def noiser():
    words = ["mira", "lives", "in", "the", "city", "of"]
    spans, noise = places(170, words), [0.28, 0.62, 0.8, 0.95, 0.45, 0.7]
    falls = [0.95, 0.35, 0.12, 0.05, 0.6, 0.2]

    def column(values, y, colour):
        return "\n".join(
            rect(round(left + w / 2 - 9, 1), round(y - 50 * v, 1), 18, round(50 * v, 1), colour, colour)
            for (left, w), v in zip(spans, values, strict=True)
        )

    level = round(92 - 50 * 0.28, 1)
    return svg(
        338,
        "The most sensitive token sets the noise for all tokens; a judge answers from the important words",
        lines(14, 52, "k: the noise that", "a token can bear", "before the next", "word changes", size=14),
        column(noise, 92, BLUE), line([(165, level), (545, level)], ORANGE, 2, "5 4"),
        text(552, level + 5, "smallest: k_min", 14, colour=ORANGE),
        tokens(170, 98, words), arrow((552, 110), (582, 110)), text(588, 115, "“orvel”", bold=True),
        line([(14, 138), (686, 138)], PALE, 1),
        lines(14, 166, "score: how far", "p(“orvel”) falls", "with noise k_min", "at that token", size=14),
        column(falls, 206, ORANGE), tokens(170, 212, words, falls),
        line([(14, 254), (686, 254)], PALE, 1),
        text(14, 288, "answerability", bold=True),
        tokens(170, 272, ["mira", "lives", "city"], [0.95, 0.35, 0.6]), arrow((362, 284), (392, 284)),
        box(394, 264, 130, 40, "second model"), arrow((524, 284), (554, 284)),
        text(560, 289, "“orvel”?", bold=True),
        text(170, 325, "the more important half of the words, and nothing else", 13, colour=GREY),
    )  # fmt: skip


def fmm():
    words = ["a", "dull", "plot"]

    def at(share, value):
        return 500 + 160 * share, 270 - 90 * value

    steps = [i / 10 for i in range(11)]
    random = [at(s, 0.25 + 0.75 * (1 - s**2.2)) for s in steps]
    curve = [at(s, 0.25 + 0.75 * (1 - s) ** 3) for s in steps]
    return svg(
        318,
        "Masked fine-tuning, a test whether masked texts are in distribution, then the faithfulness curve",
        text(14, 30, "1  Masked fine-tuning", bold=True),
        text(14, 56, "half of a minibatch", 13, colour=GREY), tokens(14, 64, words),
        text(14, 112, "half with random masks", 13, colour=GREY), tokens(14, 120, words, None, (0, 2)),
        arrow((150, 78), (190, 96)), arrow((150, 132), (190, 110)), box(192, 82, 84, 42, "one model"),
        text(330, 30, "2  Is the masked text in distribution? (MaSF)", bold=True),
        tokens(330, 46, words, None, (1,)), arrow((468, 58), (494, 58)),
        box(496, 42, 190, 34, "max of each embedding"), arrow((590, 76), (590, 92)),
        box(496, 94, 190, 50, "compare with validation", "texts: p-value"),
        lines(330, 104, "no, if clearly more", "than 5 % of texts", "have p < .05", size=13, colour=GREY),
        line([(14, 164), (686, 164)], PALE, 1),
        text(14, 192, "3  Mask what is important, on the same model", bold=True),
        tokens(14, 206, words, [0.1, 0.95, 0.4]), tokens(14, 236, words, None, (1,)),
        tokens(14, 266, words, None, (1, 2)),
        arrow((150, 248), (206, 248)), box(208, 226, 130, 44, "performance", "on all texts"),
        arrow((338, 248), (458, 248)),
        lines(200, 292, "no retraining: the explained", "model is the tested model", size=13, colour=GREY),
        area([*curve, *reversed(random)], ORANGE), line(random, GREY, 2, "3 4"), line(curve, ORANGE, 2.5),
        axes(500, 270, 160, 90, "share masked", "performance"), text(606, 200, "random", 13, colour=GREY),
        text(572, 222, "ACU", 13, "middle", bold=True),
    )  # fmt: skip


def attributions():
    words = ["the", "soup", "was", "not", "good", "at", "all"]
    ranked = ["good", "not", "soup", "all", "was", "the", "at"]
    return svg(
        244,
        "The words that decide a generated text are known; an attribution should rank them first",
        text(14, 37, "generated text", bold=True), tokens(170, 20, words),
        rect(317, 14, 103, 36, "none", GREEN, 0, "5 3"),
        text(422, 66, "known evidence", 13, "end", GREEN),
        text(14, 107, "scores", bold=True), tokens(170, 90, words, [0.05, 0.45, 0.1, 0.7, 0.95, 0, 0.2]),
        arrow((300, 118), (300, 140)),
        text(14, 167, "ranking", bold=True), tokens(170, 150, ranked, [0.95, 0.7, 0.45, 0.2, 0.1, 0.05, 0]),
        rect(167, 144, 103, 36, "none", GREEN, 0, "5 3"),
        text(14, 214, "AUPRC", bold=True),
        lines(80, 214, "area under the precision-recall curve: 1 if the evidence comes first,",
              "chance if the order is random", size=14),
    )  # fmt: skip


def ground_truth_2():
    words = ["zork", "the", "blee", "film", "was", "long"]
    used = [places(264, words)[i] for i in (0, 2)]
    errors = [  # what went wrong, scores, is the value lower than the best one's
        ("best", [1, 0.2, 0.8, 0.3, 0.1, 0], ""),
        ("near: behind another word", [0.8, 0.2, 0.3, 1, 0.1, 0], "yes"),
        ("missed: one word has no score", [1, 0.2, 0, 0.3, 0.1, 0], "no"),
        ("false above: an unused word on top", [0.8, 0.2, 0.5, 0.3, 0.1, 1], "yes"),
        ("ones but one: one word is 0", [1, 1, 1, 1, 1, 0], "no"),
    ]
    parts = []
    for i, (name, scores, seen) in enumerate(errors):
        y = 78 + 34 * i
        parts += [text(14, y + 17, name, 13, colour=INK if i == 0 else GREY), tokens(264, y, words, scores)]
        parts.append(text(632, y + 17, seen, 14, "middle", GREEN if seen == "yes" else ORANGE, bold=True))
    return svg(
        298,
        "Explanations with one known error each; a metric is judged by the error that it sees least",
        text(14, 37, "text", bold=True), tokens(264, 20, words),
        *(rect(left - 4, 14, width + 8, 36, "none", GREEN, 0, "5 3") for left, width in used),
        text(264, 66, "the model uses these words", 13, colour=GREEN),
        lines(640, 33, "does the metric", "see the error?", size=13, anchor="middle"), *parts,
        rect(14, 252, 540, 34, "#f3f3f3", PALE),
        text(26, 274, "score of a metric = its accuracy in the worst kind of model and error", 14),
    )  # fmt: skip


FIGURES = (attributions, fmm, ground_truth_2, noiser, recursive_roar, saloss, soft_metrics)


def write(figures):
    """Write each of `figures`, functions that return a picture, as figures/method/<name>.svg."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        (FOLDER / f"{figure.__name__}.svg").write_text(figure(), encoding="utf-8")


if __name__ == "__main__":
    write(FIGURES)
