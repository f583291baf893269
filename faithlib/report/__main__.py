"""Every paper's verdicts at a scale, and where its tables and figures are."""

import argparse
import sys
import textwrap

import pandas as pd

from faithlib.results import SCALES, project_root

WIDTHS = {"claim": 47, "verdict": 13, "value": 7, "interval": 16, "published": 9}


def main(arguments=None):
    """Print the claims of all papers with results at a scale; ValueError for an unknown scale."""
    parser = argparse.ArgumentParser(prog="python -m faithlib.report", description=__doc__)
    parser.add_argument("scale", nargs="?", default="quick", help=", ".join(SCALES))
    parser.add_argument("--results-dir", default="results")
    parser.add_argument("--figures-dir", default="figures")
    given = parser.parse_args(arguments)
    if given.scale not in SCALES:
        raise ValueError(f"scale {given.scale!r} is unknown: use one of {', '.join(SCALES)}")
    folder = project_root() / given.results_dir / given.scale
    found = sorted(folder.glob("*/claims.csv"))
    if not found:
        raise FileNotFoundError(
            f"no results at scale {given.scale!r} in {given.results_dir}/"
            f"{given.scale}: run `make results SCALE={given.scale}` first"
        )
    for path in found:
        paper = path.parent.name
        print(f"\n{paper} ({given.scale} scale)\n")
        print(verdict_table(pd.read_csv(path)))
        print(
            f"\ntables:  {given.results_dir}/{given.scale}/{paper}/tables/"
            f"\nfigures: {given.figures_dir}/{given.scale}/{paper}/"
            f"\nclaims:  {given.results_dir}/{given.scale}/{paper}/claims.csv"
        )


def verdict_table(claims):
    """The claims as plain text, at most 100 columns wide, a heading per definition and baseline."""
    lines = []
    for (definition, baseline), part in claims.groupby(["definition", "baseline"], sort=False):
        lines += [
            "",
            f"definition: {definition}, random baseline: {baseline}",
            _line({name: name for name in WIDTHS}),
            "-" * 96,
        ]
        for row in part.itertuples():
            first, *rest = textwrap.wrap(row.claim, WIDTHS["claim"])
            paper = "" if pd.isna(row.published) else f"{row.published:.3f}"
            lines.append(
                _line(
                    {
                        "claim": first,
                        "verdict": row.verdict,
                        "value": f"{row.value:.3f}",
                        "interval": f"[{row.ci_low:.3f}, {row.ci_high:.3f}]",
                        "published": paper,
                    }
                )
            )
            lines += [f"  {line}" for line in rest]
    return "\n".join(lines[1:])


def _line(cells):
    return " ".join(f"{cells[name]:<{width}}" for name, width in WIDTHS.items()).rstrip()


if __name__ == "__main__":
    try:
        main()
    except (ValueError, FileNotFoundError) as error:
        sys.exit(str(error))
