"""Does size matter? The headline claims with small models and with some of the papers' size, side by side."""

from pathlib import Path

import pandas as pd

from faithlib.report.figures import guide, name_rows, panels, points
from faithlib.report.markdown import table
from faithlib.report.style import labelled, role
from replication import papers
from replication.cards import NO_RECORD, finding, of_headline, read_claims

SCALES = {"small": "small models", "base": "models of the papers' size"}
NONE = "No unit of the scale *base* has been computed: there is nothing to compare yet."
FILE = Path("figures/base/sizes.png")  # from the project's root
ABOUT = (
    "The headline claims at the scale *small* and at the scale *base*, whose models are of the papers' size; "
    "data sets, texts and recipes are those of each scale's config, so a difference is not the model's alone."
)


def beside(root):
    """{paper: [(headline claim, {scale: its row of claims.csv, None without one})]}, where base has claims.

    root: of the project; a paper without headline claims takes no part.
    """
    found = {}
    for path in sorted((root / "results/base").glob("*/claims.csv")):
        headline, of_scales = papers.headline(path.parent.name), []
        for scale in SCALES:
            claims = root / "results" / scale / path.parent.name / path.name
            of_scales.append(of_headline(read_claims(claims), headline) if claims.is_file() else None)
        found[path.parent.name] = [
            (one, {s: of[i][1] if of else None for s, of in zip(SCALES, of_scales, strict=True)})
            for i, one in enumerate(headline)
        ]
    return {paper: rows for paper, rows in found.items() if rows}


def section(root):
    """What a page says: a sentence, the figure where it was drawn, a table a paper; NONE without a record."""
    if not (found := beside(root)):
        return NONE
    texts = [ABOUT]
    if (root / FILE).is_file():
        texts.append(f"![Ours with a 95 % interval, small models and larger ones](../../{FILE.as_posix()})")
    for paper, rows in found.items():
        cells = [
            [labelled(one.claim), *(finding(row) if row else NO_RECORD for row in of.values())]
            for one, of in rows
        ]
        texts.append(table([papers.card(paper).citation, *SCALES.values()], cells))
    return "\n\n".join(texts)


def draw(root):
    """The values of `beside` with their intervals, a panel a paper: a figure; None where there is nothing."""
    rows = [
        row | {"paper": papers.card(paper).citation, "row": labelled(one.claim), "scale": scale}
        for paper, claims in beside(root).items()
        for one, of in claims
        for scale, row in of.items()
        if row
    ]
    if not rows:
        return None
    found = pd.DataFrame(rows)
    heights = 0.4 + 0.3 * found.groupby("paper", sort=False).row.nunique().to_numpy()
    small = role("reference", SCALES["small"]) | {"marker": "o", "hollow": True}
    looks = {"small": small, "base": role("proposed", SCALES["base"]) | {"marker": "o"}}
    grid = panels(found, ["paper"], 1, heights, names=str, left=3.2, sharex=False, sharey=False)
    for axis, part in grid:
        names = list(dict.fromkeys(part.row))
        for shift, (scale, look) in zip((-0.15, 0.15), looks.items(), strict=True):
            own = part[part.scale == scale]
            places = [names.index(name) + shift for name in own.row]
            points(axis, own, "value", places, look, ("ci_low", "ci_high"))
        guide(axis, 0)
        name_rows(axis, names)
    grid.name_axes("ours, in the unit of the claim")
    return grid.finish(list(looks.values()))
