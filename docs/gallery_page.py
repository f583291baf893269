"""The page "Gallery": each figure of figures/small with its caption."""

import re
from html import escape
from pathlib import Path

import pandas as pd

from faithlib.report.display import beginning
from faithlib.report.style import labelled
from replication import bridge, multiverse, papers

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "figures/small"
CHOICES = {multiverse.NAME: multiverse.CAPTION}
CHOICES["bridge"] = f"**From our number to the published one.** {bridge.CAPTION}"
PAGE = """(gallery)=
# Gallery

All figures of the committed scale, `small`, as the reports draw them, with their captions. A colour and a
marker mean the same attribution everywhere. `make figures` draws them anew, as PDF and SVG too. This page is
generated.

"""


def page():
    """The page as Markdown: a section for each paper that has figures."""
    return PAGE + "\n".join(section(paper) for paper in papers.names() if (FIGURES / paper).is_dir())


def section(paper):
    """The figures of one paper or study.

    Raises:
        ValueError: a figure that has no caption.
    """
    card, captions = papers.card(paper), CHOICES | papers.captions(paper)
    parts = [f"## {card.title}\n\n[{card.citation}](../../notebooks/{paper}/README.md)\n\n"]
    for path in sorted((FIGURES / paper).glob("*.png")):
        caption = caption_of(path.stem, captions)
        words = beginning(caption)
        place = path.relative_to(ROOT).as_posix()
        target, picture = f"({anchor(paper, path.stem)})=", f"![{words}](../../{place})"
        if re.search(r"_\d+$", path.stem):  # a further page of the figure before it
            parts.append(f"{target}\n{picture}\n")
            continue
        values = strip(paper) if path.stem == multiverse.NAME else ""
        parts.append(f"{target}\n### {title(path.stem)}\n\n{picture}\n\n{caption}\n{values}")
    return "\n".join(parts)


def strip(paper):
    """A paper's claims × options once more, as an HTML table with values on hover."""
    table = pd.read_csv(ROOT / f"results/small/{paper}/choices.csv", keep_default_na=False, dtype=str)
    baseline = "random" if "random" in set(table.baseline) else None
    headline = [one.claim for one in papers.headline(paper)]
    words = multiverse.verdicts(table, baseline, headline)
    texts = table.verdict + ": " + table.value + " [" + table.ci_low + ", " + table.ci_high + "]"
    tested = table.verdict.isin(multiverse.COLOURS)
    values = multiverse.verdicts(table.assign(verdict=table.verdict.mask(tested, texts)), baseline, headline)
    lines = ["<th></th>" + "".join(f"<th><span>{escape(name)}</span></th>" for name in words)]
    for claim in words.index:
        cells = zip(words.loc[claim], values.loc[claim], strict=True)
        lines.append(f"<th>{escape(labelled(claim))}</th>" + "".join(_cell(*cell) for cell in cells))
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"\nThe same with values: hover over a cell.\n\n<table class='strip'>{rows}</table>\n"


def _cell(verdict, text):
    """A cell of `strip`; one without a verdict is grey."""
    if pd.isna(verdict):
        return "<td title='no verdict with this option'></td>"
    colour, sign = multiverse.COLOURS[verdict]
    return f"<td style='background:{colour}' title='{escape(text)}'>{sign}</td>"


def caption_of(stem, captions):
    """The caption of the longest name that a figure's begins with.

    >>> caption_of("curves_by_count", {"curves": "a", "curves_by": "b"})
    'b'
    """
    stems = [name for name in captions if stem.startswith(name)]
    if not stems:
        raise ValueError(f"figure {stem!r} has no caption: add one to CAPTIONS of its paper")
    return captions[max(stems, key=len)]


def title(stem):
    """A figure's heading: the name of its file in words."""
    return stem.replace("_", " ").capitalize().replace("Racu", "RACU").replace(" f1", " F1")


def anchor(paper, stem):
    """The target of a figure on the page, such as "figure-fmm-racu-by-dataset"."""
    return f"figure-{paper}-{stem}".replace("_", "-")
