"""What a scale's reports made and where it is, with the committed verdicts in one screen."""

import argparse
import sys
import textwrap

from replication.cards import counts, read_claims, write_cards
from replication.multiverse import summary
from replication.records import VERDICT_SCALES, check_scale, scales
from replication.results import project_root
from replication.verdicts import sentence

WIDTHS = {"claim": 42, "value": 7, "interval": 17, "published": 9}
WIDTH = 100
COMMITTED = "small"  # the scale whose verdicts are committed


def main(arguments=None):
    """Print the claims of all papers with results at a scale, and the folders of tables and figures.

    Raises:
        ValueError: an unknown scale.
        FileNotFoundError: no results at this scale.
    """
    parser = argparse.ArgumentParser(prog="python -m replication", description=__doc__)
    parser.add_argument("scale", nargs="?", default="quick", help=", ".join(scales()))
    parser.add_argument("--results-dir", default="results")
    parser.add_argument("--figures-dir", default="figures")
    parser.add_argument(
        "--cards",
        action="store_true",
        help="write the verdicts of the scale into notebooks/<paper>/README.md",
    )
    given = parser.parse_args(arguments)
    check_scale(given.scale)
    if given.cards and given.scale not in VERDICT_SCALES:
        raise ValueError(f"scale {given.scale!r} has no verdicts: use one of {', '.join(VERDICT_SCALES)}")
    found = claims_of(given.results_dir, given.scale)
    if not found and given.scale not in scales():
        raise ValueError(f"scale {given.scale!r} is unknown: use one of {', '.join(scales())}")
    if not found:
        raise FileNotFoundError(
            f"no results at scale {given.scale!r} in {given.results_dir}/"
            f"{given.scale}: run `make results SCALE={given.scale}` first"
        )
    for paper, claims in found.items():
        print(f"\n{paper} ({given.scale} scale)\n")
        print(verdict_table(claims))
    if given.scale not in VERDICT_SCALES:
        print(f"\nThe {given.scale} scale decides no claim: verdicts exist at {', '.join(VERDICT_SCALES)}.")
        committed = claims_of("results", COMMITTED)
        if committed:
            print(f"Verdicts of the committed {COMMITTED} scale, not of this run:\n")
            print("\n".join(f"  {paper:<15} {counts(claims)}" for paper, claims in committed.items()))
            print(f"  All of them: python -m replication {COMMITTED}")
    print("\nWhere to look:")
    for paper in found:
        print(
            f"  {paper}"
            f"\n    claims:  {given.results_dir}/{given.scale}/{paper}/claims.csv and choices.csv"
            f"\n    tables:  {given.results_dir}/{given.scale}/{paper}/tables/"
            f"\n    figures: {given.figures_dir}/{given.scale}/{paper}/"
        )
    if given.cards:
        print(f"\nCards written: {', '.join(write_cards(given.results_dir, given.scale)) or 'none'}")


def claims_of(results_dir, scale):
    """{paper: claims} of every paper with claims at a scale."""
    paths = sorted((project_root() / results_dir / scale).glob("*/claims.csv"))
    return {path.parent.name: read_claims(path) for path in paths}


def verdict_table(claims):
    """The claims as plain text, at most 100 columns wide, a heading per definition and baseline.

    Args:
        claims: from `cards.read_claims`, or `replication.claims.table`.

    Returns:
        Text: two lines a claim and more where they are long; the second has verdict and options.
    """
    lines = []
    for (definition, baseline), part in claims.groupby(["definition", "baseline"], sort=False):
        about = f"definition: {definition}" + f", random baseline: {baseline}" * (baseline != "none")
        lines += ["", about, _line({name: name for name in WIDTHS}), "-" * WIDTH]
        for row in part.itertuples():
            first, *rest = textwrap.wrap(row.claim, WIDTHS["claim"])
            known = row.published == row.published
            cells = {
                "claim": first,
                "value": f"{row.value:.3f}",
                "interval": f"[{row.ci_low:.3f}, {row.ci_high:.3f}]" if row.ci_low == row.ci_low else "",
                "published": f"{row.published:.3f}" if known else "",
            }
            lines += [_line(cells), *(f"  {line}" for line in rest)]
            told = "; ".join(filter(None, [sentence(row._asdict()), summary(row._asdict())]))
            lines += textwrap.wrap(told, WIDTH - 4, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines[1:])


def _line(cells):
    return " ".join(f"{cells[name]:<{width}}" for name, width in WIDTHS.items()).rstrip()


if __name__ == "__main__":
    try:
        main()
    except (ValueError, FileNotFoundError) as error:
        sys.exit(str(error))
