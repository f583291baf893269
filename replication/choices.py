"""The figures of a paper's open choices: each claim's value with every option (choices.csv)."""

import re

from faithlib.report.display import show_figure
from faithlib.report.figures import GREY, guide, include, name_rows, panels, place, points
from faithlib.report.io import CSV_FLOAT, save_figure
from faithlib.report.style import labelled, role
from replication.multiverse import CROSS, MAIN
from replication.records import VERDICT_SCALES

GRID = "several choices changed"  # the row of the full grid
NAME = "claims_by_choice"  # of the figures' files

CAPTION = (
    "**What the verdicts depend on.** A panel for each claim of a definition and baseline that has options: "
    "its value in the main setting (top row) and with one choice changed that the paper leaves open, with "
    "95 % intervals; a mark without a bar has none, and an empty row is a choice that does not concern the "
    "claim. The last row has a mark for "
    "each combination of options, where there are few enough to look at all. The dotted line is the "
    "claim's threshold: marks to the right of it support the claim. A claim of which whole intervals lie "
    "on both sides depends on a choice that the paper does not make."
)


def show_options(choices, scale, folder, baseline=None):
    """Show the figure of the paper's definition; save it, and those of the other definitions and baselines.

    At scale quick, which has no verdicts, there is the first figure alone.

    Args:
        choices: from `replication.options.multiverse_tables`.
        scale: of the records.
        folder: where they are saved, as claims_by_choice and claims_by_choice_<definition>_<baseline>.
        baseline: which one is shown; None: the first that there is.
    """
    import matplotlib.pyplot as plt
    from IPython.display import Markdown, display

    keys = list(choices[["definition", "baseline"]].drop_duplicates().itertuples(index=False, name=None))
    main = [key for key in keys if key[0] == "paper" and baseline in (None, key[1])][:1]
    for definition, of in main:
        figure = options_figure(choices, scale, definition, of)
        if figure is not None:
            show_figure(figure, folder / NAME, {NAME: CAPTION})
    others = []
    for definition, of in [key for key in keys if key not in main and scale in VERDICT_SCALES]:
        figure = options_figure(choices, scale, definition, of)
        if figure is not None:
            others.append("_".join([NAME, definition, *re.findall(r"\w+", of)]))
            save_figure(figure, folder / others[-1])
            plt.close(figure)
    if others:
        names = ", ".join(f"`{name}`" for name in others)
        display(Markdown(f"Other definitions and baselines, in the same folder of figures: {names}."))


def options_figure(choices, scale="", definition="paper", baseline=None):
    """The options of each claim, two claims side by side, a row an option that concerns one of them.

    A claim has a panel if one of its options has a value.

    Args:
        choices: from `replication.options.multiverse_tables`.
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
    numbers = ["value", "ci_low", "ci_high"]  # as in choices.csv: further digits may differ between runs
    part = part.assign(**part[numbers].astype(float).map(lambda x: float(CSV_FLOAT % x)))
    part = part.assign(row=[_row(*key) for key in zip(part.choice, part.option, strict=True)])
    line = {claim: i // 2 for i, claim in enumerate(part.claim.unique())}  # of two panels
    named = [sorted(group.row.unique(), key=GRID.__eq__) for _, group in part.groupby(part.claim.map(line))]
    heights = [0.5 + 0.15 * len(names) for names in named]
    drawn = panels(part, ["claim"], 2, heights, names=labelled, left=2.2, sharex=False, sharey="row")
    looks = {
        "main setting": role("proposed", "main setting"),
        "one choice changed": role("usual", "one choice changed"),
        GRID: role("usual", GRID) | {"hollow": True},
    }
    for axis, rows in drawn:
        names = named[line[rows.claim.iloc[0]]]
        kinds = rows.row.where(rows.row.isin(["main setting", GRID]), "one choice changed")
        for kind, look in looks.items():
            group, bounds = rows[(kinds == kind) & rows.value.notna()], ("ci_low", "ci_high")
            points(
                axis,
                group,
                "value",
                place(group.row, names),
                look,
                None if kind == GRID else bounds,
                size=3.5,
            )
        for name in rows[rows.value.isna() & (kinds != GRID)].row:
            corner = {"xycoords": axis.get_yaxis_transform(), "ha": "right", "va": "center"}
            axis.annotate("not tested", (0.99, names.index(name)), fontsize=6, color=GREY, **corner)
        guide(axis, rows.threshold.iloc[0])
        include(axis, rows.threshold.iloc[0], span=0.1)
        axis.locator_params(axis="x", nbins=5)
        name_rows(axis, names)
    drawn.name_axes(x="statistic of the claim →")
    kept = [look for kind, look in looks.items() if kind != GRID or GRID in set(part.row)]
    return drawn.finish([look | {"linestyle": ""} for look in kept], scale)


def _row(choice, option):
    if CROSS in choice:
        return GRID
    return "main setting" if choice == MAIN else f"{choice}: {option}"
