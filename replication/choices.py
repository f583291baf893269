"""The figure of a paper's open choices: which verdict each claim has with every option (choices.csv)."""

import textwrap
from pathlib import Path

import pandas as pd

from faithlib.report.display import show_figure
from faithlib.report.figures import WIDTH, add_legend, heat, mark
from faithlib.report.style import labelled, note_scale
from replication import WORDING, papers
from replication.multiverse import CROSS, MAIN
from replication.verdicts import UNTESTED

NAME = "claims_by_choice"  # of the figure's file
MOST = 12  # claims; of more the headline claims are drawn
LINE = 52  # characters of a claim
COLOURS, CAPTION = WORDING["colours"], WORDING["captions"]["choices"]


def show_options(choices: pd.DataFrame, scale: str, folder: Path, baseline: str | None = None) -> None:
    """Show and save the `options_figure` of a paper, where claims have options.

    folder: where it is saved, figures/<scale>/<paper>.
    """
    headline = [one.claim for one in papers.headline(folder.name)]
    if (figure := options_figure(choices, scale, baseline, headline)) is not None:
        show_figure(figure, folder / NAME, {NAME: CAPTION})


def options_figure(choices, scale="", baseline=None, headline=()):
    """A heat strip: claims × options, coloured by verdict: a figure, None where no option has a verdict.

    choices: from `replication.options.multiverse_tables`; baseline: which rows, None: the first that there
    is; headline: of more than MOST claims, those that are drawn.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    words = verdicts(choices, baseline, headline)
    if words.empty:
        return None
    codes = words.map(list(COLOURS).index, na_action="ignore").astype(float)
    signs = words.map(lambda word: COLOURS[word][1], na_action="ignore").fillna("")
    claims = ["\n".join(textwrap.wrap(labelled(name), LINE)) for name in codes.index]
    lines = sum(name.count("\n") + 1 for name in claims)
    longest = max(map(len, codes.columns))
    figure, axis = plt.subplots(figsize=(WIDTH, 0.6 + 0.075 * longest + 0.13 * lines + 0.06 * len(claims)))
    palette = ListedColormap([colour for colour, _ in COLOURS.values()])
    heat(axis, codes.set_axis(claims), signs.set_axis(claims), (-0.5, len(COLOURS) - 0.5), palette)
    axis.set_facecolor("#BBBBBB")
    axis.tick_params(axis="x", rotation=90)
    axis.tick_params(labelsize=6)
    used = [word for word in COLOURS if (words == word).any(axis=None)]
    add_legend(figure, [mark(word, COLOURS[word][0], "s") for word in used])
    note_scale(figure, scale)
    return figure


def verdicts(choices, baseline=None, headline=()):
    """The verdict of each claim of the paper's definition with each option; arguments as of `options_figure`.

    Returns:
        DataFrame of words, a row a claim that has options and a column an option, the main setting first;
        NaN where an option does not concern a claim, or was not tested with it.
    """
    part = choices[(choices.definition == "paper") & ~choices.choice.str.contains(CROSS, regex=False)]
    part = part[part.baseline == (baseline or next(iter(part.baseline), ""))]
    part = part[~part.verdict.fillna("").isin(["", UNTESTED])]
    part = part[part.claim.isin(part.claim[part.choice != MAIN])]
    if part.claim.nunique() > MOST:
        part = part[part.claim.isin(headline)]
    names = (part.choice + ": " + part.option).where(part.choice != MAIN, "main setting")
    order = sorted(names.unique(), key=lambda name: name != "main setting")
    wide = part.assign(option=names).pivot(index="claim", columns="option", values="verdict")
    return wide.reindex(index=part.claim.unique(), columns=order)
