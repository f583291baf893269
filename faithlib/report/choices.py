"""The figure of a paper's open choices: each claim's value with every option (choices.csv)."""

from faithlib.report.cards import labelled
from faithlib.report.figures import GREY, guide, include, name_rows, panels, place, points
from faithlib.report.style import role
from faithlib.statistics.multiverse import MAIN

CAPTION = (
    "**What the verdicts depend on.** A panel for each claim that has options: its value in the main setting "
    "(top row) and with one choice changed that the paper leaves open, with 95 % intervals; a mark without a "
    "bar has none. The dotted line is the claim's threshold: marks to the right of it support the claim. A "
    "claim of which whole intervals lie on both sides depends on a choice that the paper does not make."
)


def options_figure(choices, scale="", definition="paper", baseline=None):
    """The options of each claim: a panel a claim that has values for any, a row an option that concerns it.

    Args:
        choices: from `report.claims.multiverse_tables`.
        scale: "quick" is noted on the figure.
        definition, baseline: which rows; baseline None: the first that there is.

    Returns:
        matplotlib figure; None where no claim has options.
    """
    part = choices[choices.definition == definition]
    part = part[part.baseline == (part.baseline.iloc[0] if baseline is None and len(part) else baseline)]
    part = part.groupby("claim", sort=False).filter(
        lambda rows: rows[rows.choice != MAIN].value.notna().any()
    )
    if part.empty:
        return None
    part = part.assign(row=[_row(*key) for key in zip(part.choice, part.option, strict=True)])
    heights = 0.5 + 0.15 * part.groupby("claim", sort=False).size().to_numpy()
    drawn = panels(part, ["claim"], 1, heights, names=_title, left=2.2, sharex=False, sharey=False)
    looks = {True: role("proposed", "main setting"), False: role("usual", "one choice changed")}
    for axis, rows in drawn:
        names = list(rows.row)
        for main, look in looks.items():
            own = rows[((rows.choice == MAIN) == main) & rows.value.notna()]
            points(axis, own, "value", place(own.row, names), look, ("ci_low", "ci_high"), size=3.5)
        for name in rows[rows.value.isna()].row:
            corner = {"xycoords": axis.get_yaxis_transform(), "ha": "right", "va": "center"}
            axis.annotate("not tested", (0.99, names.index(name)), fontsize=6, color=GREY, **corner)
        guide(axis, rows.threshold.iloc[0])
        include(axis, rows.threshold.iloc[0], span=0.1)
        axis.locator_params(axis="x", nbins=5)
        name_rows(axis, names)
    drawn.name_axes(x="statistic of the claim →")
    return drawn.finish([look | {"linestyle": ""} for look in looks.values()], scale)


def _title(claim):
    """A claim, its case (behind the last colon) in words."""
    words, colon, case = claim.rpartition(": ")
    return f"{words}: {labelled(case)}" if colon else claim


def _row(choice, option):
    return "main setting" if choice == MAIN else f"{choice}: {option}"
