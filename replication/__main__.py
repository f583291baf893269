"""What a scale's reports made, where it is, and the line that opens it; of the papers named, every claim."""

import argparse
import os
import sys
import textwrap
from pathlib import Path

import pandas as pd

from faithlib.report.io import save_figure
from faithlib.scores import one_of
from replication import WORDING
from replication.cards import HEADERS, SIZES_FILE, claim_rows, counts, draw_sizes, read_claims, write_cards
from replication.records import VERDICT_SCALES, check_scale, project_root, scales

WIDTH = 100
COMMITTED = "small"  # the scale whose verdicts are committed


def main(arguments=None):
    """Print one screen on all papers with results at a scale, or every claim of the papers named."""
    parser = argparse.ArgumentParser(prog="python -m replication", description=__doc__)
    parser.add_argument("scale", nargs="?", default="quick", help=", ".join(scales()))
    parser.add_argument("papers", nargs="*", help="print every claim of these, or of 'all'")
    written = "write the verdicts of the scale into notebooks/<paper>/README.md"
    parser.add_argument("--cards", action="store_true", help=written)
    options = parser.parse_args(arguments)
    check_scale(options.scale)
    if options.cards and options.scale not in VERDICT_SCALES:
        raise ValueError(f"scale {options.scale!r} has no verdicts: use one of {', '.join(VERDICT_SCALES)}")
    claims = claims_of(options.scale)
    if not claims:
        one_of("scale", options.scale, scales())
        fix = f"run `make results SCALE={options.scale}` first"
        raise FileNotFoundError(f"results/{options.scale} has no results: {fix}")
    papers = list(claims) if options.papers == ["all"] else options.papers
    for paper in papers:
        one_of(f"paper with claims at scale {options.scale}", paper, claims)
        print(f"\n{paper} ({options.scale} scale)\n\n{verdict_table(claims[paper])}")
    if not papers:
        print(screen(options.scale, claims))
    if options.cards:
        if (figure := draw_sizes(project_root())) is not None:
            save_figure(figure, (project_root() / SIZES_FILE).with_suffix(""))
        print(f"\nCards written: {', '.join(write_cards(options.scale)) or 'none'}")


def claims_of(scale):
    """{paper: claims} of every paper with claims at a scale."""
    paths = sorted((project_root() / "results" / scale).glob("*/claims.csv"))
    return {path.parent.name: read_claims(path) for path in paths}


def screen(scale, claims):
    """What was made, where it is, and the line that opens it: a text of one screen."""
    root, judged = project_root(), scale in VERDICT_SCALES
    rows = []
    for paper, table in claims.items():
        records, figures = (root / place / scale / paper for place in ("results", "figures"))
        row = {"paper": paper, "units": len(list(records.glob("*.json")))}
        row |= {"tables": len([*records.glob("tables/*.csv")]), "figures": len([*figures.glob("*.png")])}
        rows.append(row | {"claims": counts(table) if judged else f"{table.value.notna().sum()} numbers"})
    lines = [pd.DataFrame(rows).to_string(index=False), ""]
    if not judged:
        lines.append(f"The {scale} scale decides no claim: verdicts exist at {', '.join(VERDICT_SCALES)}.")
        if committed := claims_of(COMMITTED):
            lines.append(f"Verdicts of the committed {COMMITTED} scale, not of this run:")
            lines += [f"  {paper:<15} {counts(table)}" for paper, table in committed.items()]
            lines.append(f"  Each of them: python -m replication {COMMITTED} all")
        lines.append("")
    paper = next(iter(claims))
    report = Path("runs", scale, paper, "report.ipynb")  # as the workflow executed it
    if not (root / report).is_file():
        report = Path("notebooks", paper, "report.ipynb")
    jupyter = os.path.relpath(Path(sys.executable).with_name("jupyter"))
    places = {"scale": scale, "paper": paper, "jupyter": jupyter, "report": report.as_posix()}
    return "\n".join([*lines, WORDING["screen"]["end"].format(**places)])


def verdict_table(claims):
    """The claims, from `cards.read_claims`, as text of at most 100 columns: what a card's table says."""
    lines = []
    for claim, *cells in claim_rows(claims):
        said = [f"{head}: {cell}" for head, cell in zip(HEADERS["claims"][1:], cells, strict=True) if cell]
        lines += textwrap.wrap(claim, WIDTH)
        lines += textwrap.wrap("; ".join(said), WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, FileNotFoundError) as error:
        sys.exit(str(error))
