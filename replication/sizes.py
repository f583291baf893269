"""Does size matter? The headline claims with small models and with some of the papers' size, side by side."""

from pathlib import Path

import pandas as pd

from faithlib.report.figures import guide, name_rows, panels, place, points
from faithlib.report.markdown import table
from faithlib.report.style import labelled, role, use_style
from replication import WORDING, papers
from replication.cards import NO_RECORD, finding, of_headline, read_claims

SCALES = {"small": "small models", "base": "models of the papers' size"}
NONE = "No unit of the scale *base* has been computed: there is nothing to compare yet."
FILE = Path("figures/base/sizes.png")  # from the project's root


def beside(root):
    """{(citation, headline claim): {scale: its row of claims.csv, None without one}}, where base has claims.

    root: of the project; a paper without headline claims takes no part.
    """
    rows = {}
    for path in sorted((root / "results/base").glob("*/claims.csv")):
        paper = path.parent.name
        for scale in SCALES:
            claims = read_claims(root / "results" / scale / paper / "claims.csv")
            for one, row in of_headline(claims, papers.headline(paper)):
                rows.setdefault((papers.card(paper).citation, one), {})[scale] = row
    return rows


def section(root):
    """What a page says: a sentence, the figure where it was drawn, a table a paper; NONE without a record."""
    if not (found := beside(root)):
        return NONE
    texts, tables = [WORDING["captions"]["sizes"]], {}
    if (root / FILE).is_file():
        texts.append(f"![Ours with a 95 % interval, small models and larger ones](../../{FILE.as_posix()})")
    for (paper, one), of in found.items():
        said = [finding(row) if row else NO_RECORD for row in of.values()]
        tables.setdefault(paper, []).append([labelled(one.claim), *said])
    texts += [table([paper, *SCALES.values()], cells) for paper, cells in tables.items()]
    return "\n\n".join(texts)


def draw(root):
    """The values of `beside` with their intervals, a panel a paper: a figure; None where there is nothing."""
    rows = []
    for (paper, one), of in beside(root).items():
        about = {"paper": paper, "row": labelled(one.claim)}
        rows += [row | about | {"scale": scale} for scale, row in of.items() if row]
    if not rows:
        return None
    found = pd.DataFrame(rows)
    use_style()
    heights = 0.4 + 0.3 * found.groupby("paper", sort=False).row.nunique().to_numpy()
    small = role("reference", SCALES["small"]) | {"marker": "o", "hollow": True}
    looks = {"small": small, "base": role("proposed", SCALES["base"]) | {"marker": "o"}}
    grid = panels(found, ["paper"], 1, heights, names=str, left=3.2, sharex=False, sharey=False)
    for axis, part in grid:
        names = list(dict.fromkeys(part.row))
        for shift, (scale, look) in zip((-0.15, 0.15), looks.items(), strict=True):
            own = part[part.scale == scale]
            points(axis, own, "value", place(own.row, names, shift), look, ("ci_low", "ci_high"))
        guide(axis, 0)
        name_rows(axis, names)
    grid.name_axes("ours, in the unit of the claim")
    return grid.finish(list(looks.values()))
