"""The page "Gallery": each figure of figures/small with its caption."""

from pathlib import Path

from faithlib.report.display import beginning
from replication import bridge, papers
from replication.choices import CAPTION

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "figures/small"
CHOICES = {"claims_by_choice": CAPTION}
CHOICES["bridge"] = f"**From our number to the published one.** {bridge.CAPTION}"
PAGE = """# Gallery

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
        heading = f"({anchor(paper, path.stem)})=\n### {title(path.stem)}"
        parts.append(f"{heading}\n\n![{words}](../../{place})\n\n{caption}\n")
    return "\n".join(parts)


def caption_of(stem, captions):
    """The caption of the longest name that a figure's begins with.

    >>> caption_of("curves_by_count", {"curves": "a", "curves_by": "b"})
    'b'
    """
    known = [name for name in captions if stem.startswith(name)]
    if not known:
        raise ValueError(f"figure {stem!r} has no caption: add one to CAPTIONS of its paper")
    return captions[max(known, key=len)]


def title(stem):
    """A figure's heading: the name of its file in words."""
    return stem.replace("_", " ").capitalize().replace("Racu", "RACU").replace(" f1", " F1")


def anchor(paper, stem):
    """The target of a figure on the page, such as "figure-fmm-racu-by-dataset"."""
    return f"figure-{paper}-{stem}".replace("_", "-")
