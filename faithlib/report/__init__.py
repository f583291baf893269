"""What every paper's report shares: tables and figures on disk, one look for each attribution."""

import zlib
from pathlib import Path

import matplotlib.pyplot as plt

STYLE = Path(__file__).parent.parent / "faithlib.mplstyle"
ARROWS = {"higher": ("↑", r"$\uparrow$"), "lower": ("↓", r"$\downarrow$")}  # html, LaTeX
CLAIMS = ["claim", "baseline", "verdict", "value", "ci_low", "ci_high", "where", "published",
          "definition"]  # the columns of every claims.csv
VERDICT_COLOURS = {"holds": "#009E73", "does not hold": "#D55E00", "inconclusive": "#777777"}

OKABE_ITO = {
    "black": "#000000", "orange": "#E69F00", "sky": "#56B4E9", "green": "#009E73",
    "yellow": "#F0E442", "blue": "#0072B2", "vermillion": "#D55E00", "purple": "#CC79A7",
}
# name -> label, colour, marker, line style: the same in all five papers, and told apart in grey
ATTRIBUTIONS = {
    "attention": ("attention α", OKABE_ITO["blue"], "o", "-"),
    "scaled_attention": ("scaled attention α∇α", OKABE_ITO["sky"], "s", "--"),
    "input_x_gradient_abs": ("|x∇x|", OKABE_ITO["vermillion"], "^", "-."),
    "gradient_l2": ("gradient L2", OKABE_ITO["orange"], "P", (0, (4, 1))),
    "integrated_gradients": ("integrated gradients", OKABE_ITO["green"], "D", (0, (5, 1, 1, 1))),
    "integrated_gradients_abs": ("|integrated gradients|", OKABE_ITO["green"], "D", (0, (5, 1, 1, 1))),
    "deeplift": ("DeepLift", OKABE_ITO["purple"], "v", (0, (3, 1, 1, 1, 1, 1))),
    "gradient_l1": ("gradient L1", OKABE_ITO["sky"], "p", (0, (2, 1))),
    "input_x_gradient": ("x∇x", OKABE_ITO["vermillion"], "^", "-."),
    "leave_one_out": ("leave-one-out", "#994F00", ">", "--"),
    "leave_one_out_abs": ("|leave-one-out|", "#994F00", ">", "--"),
    "beam": ("Beam", OKABE_ITO["blue"], "h", "-"),
    "random": ("random", OKABE_ITO["black"], "x", ":"),
}
LABELS = {
    "gradient_shap": "GradientSHAP", "lime": "LIME",
}


def label(attribution):
    """An attribution's name as a figure or a table prints it."""
    if attribution in ATTRIBUTIONS:
        return ATTRIBUTIONS[attribution][0]
    if attribution.endswith("_abs"):
        return f"|{label(attribution.removesuffix('_abs'))}|"
    return LABELS.get(attribution, attribution.replace("_", " "))


def line(attribution):
    """Keywords for `Axes.plot`: label, colour, marker and line style of an attribution.

    A name that ATTRIBUTIONS does not list gets a look of its own from its letters, the same in
    every figure.
    """
    if attribution in ATTRIBUTIONS:
        _, colour, marker, style = ATTRIBUTIONS[attribution]
    else:
        code = zlib.crc32(attribution.encode())
        colour = [OKABE_ITO["orange"], OKABE_ITO["yellow"], "#999999"][code % 3]
        marker = "PX*phd<>"[code // 3 % 8]
        style = ("-", "--", "-.", ":")[code // 24 % 4]
    return {"label": label(attribution), "color": colour, "marker": marker, "linestyle": style}


def use_style():
    """Make matplotlib draw in the style of the house (`faithlib.mplstyle`)."""
    plt.style.use(STYLE)


def styled(frame, better=None, precision=3):
    """The frame as a pandas Styler for a notebook: arrows in the headers, verdicts coloured.

    better: {column: "higher" or "lower"}, which direction of a column is better.
    Raises ValueError for a column that the frame lacks and for another direction.
    """
    _check_better(frame, better or {})
    arrows = {column: f"{column} {ARROWS[way][0]}" for column, way in (better or {}).items()}
    style = _coloured(frame.rename(columns=arrows))
    return style.format(precision=precision, na_rep="", escape="html")


def bracketed(frame, precision=3):
    """The frame with intervals behind their values: `x`, `x_low`, `x_high` as one text, "0.61 [0.56, 0.69]".

    `x_ci_low` and `x_ci_high` likewise. A value without an interval stands alone; a missing one is "".
    """
    frame = frame.copy()
    for low in [c for c in frame if c.endswith("_low")]:
        high, value = f"{low.removesuffix('_low')}_high", low.removesuffix("_low").removesuffix("_ci")
        rows = [["" if x != x else f"{x:.{precision}f}" for x in row]
                for row in frame[[value, low, high]].to_numpy()]
        frame[value] = [f"{v} [{of}, {to}]" if of else v for v, of, to in rows]
        frame = frame.drop(columns=[low, high])
    return frame


def save_table(frame, stem, better=None, shown=None, precision=3):
    """Write <stem>.csv (6 digits, plain headers), <stem>.tex and <stem>.html.

    shown: the frame that LaTeX and HTML print, if not the CSV's: a wide layout, say.
    """
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(f"{stem}.csv", index=False, float_format="%.6g", lineterminator="\n")
    shown = frame if shown is None else shown
    better = {c: way for c, way in (better or {}).items() if c in shown}
    html = styled(shown, better, precision).to_html(table_uuid=stem.name)
    Path(f"{stem}.html").write_text(html, encoding="utf-8")
    Path(f"{stem}.tex").write_text(_latex(shown, better, precision), encoding="utf-8")


def save_figure(figure, stem):
    """Write <stem>.pdf, <stem>.png and <stem>.svg, byte-identical for the same figure in `use_style`."""
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(f"{stem}.pdf", metadata={"CreationDate": None})
    figure.savefig(f"{stem}.png", metadata={"Software": None})
    figure.savefig(f"{stem}.svg", metadata={"Date": None})


def note_scale(figure, scale):
    """Say on the picture itself that it is a quick one: generated corpora and a tiny model."""
    if scale == "quick":
        figure.suptitle("quick scale: generated corpora, tiny model", fontsize=7, color="#777777",
                        style="italic", x=0.995, ha="right")


def _latex(frame, better, precision):
    headers = {c: str(c).replace("_", r"\_").replace("%", r"\%") for c in frame}
    for column, way in better.items():
        headers[column] += f" {ARROWS[way][1]}"
    style = _coloured(frame.rename(columns=headers))
    style = style.format(precision=precision, na_rep="", escape="latex")
    return style.to_latex(hrules=True, convert_css=True)


def _coloured(frame):
    # Tables of one page need names of their own, or one table's colours reach into the other.
    name = zlib.crc32(frame.to_csv().encode())
    style = frame.style.hide(axis="index").set_uuid(f"{name:x}")
    style.cell_ids = False  # or every cell of a saved notebook carries an id
    if "verdict" in frame:
        css = {verdict: f"color: {colour}" for verdict, colour in VERDICT_COLOURS.items()}
        style = style.map(lambda verdict: css.get(verdict, ""), subset=["verdict"])
    return style


def _check_better(frame, better):
    for column, way in better.items():
        if column not in frame:
            raise ValueError(f"no column {column!r}: the table has {', '.join(map(str, frame))}")
        if way not in ARROWS:
            raise ValueError(f"{way!r} is no direction of {column}: use one of {', '.join(ARROWS)}")
