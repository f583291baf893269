"""How many seeds a case has of those that were planned, where they ran, and how often it was looked at."""

from pathlib import Path

import pandas as pd

from faithlib.statistics.base import FEWEST_UNITS, LEVEL
from replication.papers import Card
from replication.records import VERDICT_SCALES, Case, grouped, in_config, project_root

SEEDS = ["dataset", "model", "variant", "seeds", "planned", "looks", "level", "device", "torch"]
FILE = "tables/seeds.csv"  # of results/<scale>/<paper>: what the last report was drawn from


def level(looks):
    """The level of an interval that is looked at several times (Bonferroni).

    >>> level(1), level(2)
    (0.95, 0.975)
    """
    return 1 - (1 - LEVEL) / looks


def table(records: list[dict], card: Card, scale: str, results_dir: Path | str = "results") -> pd.DataFrame:
    """The seeds of each case, and what a verdict on it may count with: a DataFrame with the columns SEEDS.

    seeds, planned: numbers of seeds with a record, and of those in the scale's config (0 without one). looks:
    number of times that a verdict on the case is drawn with another number of seeds, planned ones included.
    level: of each interval, 1 - .05 / looks. device, torch: where its units ran.

    Raises:
        ValueError: where there are verdicts, a case with units of two devices or two versions of torch, and
            one that had a verdict with fewer seeds, which the card does not say.
    """
    last = project_root() / results_dir / scale / card.name / FILE
    before = by_case(pd.read_csv(last, keep_default_na=False)) if last.is_file() else {}
    listed = planned(card.name, scale, results_dir)
    rows = []
    for case, places in grouped((record["params"], record["provenance"]) for record in records).items():
        name = " ".join(filter(None, case))
        declared = card.looks.get(scale, {}).get(name, ())
        computed = {(place["device"], place["versions"]["torch"]) for place in places}
        if scale in VERDICT_SCALES:
            _check(name, len(places), computed, declared, before[case].seeds if case in before else 0)
        device, torch = (", ".join(sorted(set(names))) for names in zip(*computed, strict=True))
        looks = max(1, len(declared))
        rows.append((*case[:3], len(places), len(listed.get(case, ())), looks, level(looks), device, torch))
    return pd.DataFrame(rows, columns=SEEDS)


def by_case(seeds):
    """{Case: its row} of a `table`."""
    return {Case(row.dataset, row.model, row.variant): row for row in seeds.itertuples()}


def _check(name, count, computed, declared, before):
    """Raise ValueError for a case that mixes places, and for a look that is not declared."""
    if len({(device, torch.partition("+")[0]) for device, torch in computed}) > 1:  # 2.13.0+cpu is 2.13.0
        places = "; ".join(f"{device}, torch {torch}" for device, torch in sorted(computed))
        fix = "compute those of one of them again, or give them a variant"
        raise ValueError(f"{name}: its seeds ran on different devices or versions of torch ({places}): {fix}")
    if before >= FEWEST_UNITS and before != count and before not in declared:
        fix = f"add {before} to `looks` in the card, which widens its intervals"
        raise ValueError(f"{name}: its last verdicts had {before} seeds, now there are {count}: {fix}")


def planned(paper, scale, results_dir="results"):
    """{Case: [unit]} of the scale's config; {} without one."""
    _, units = in_config(results_dir, scale, paper)
    return grouped((parameters, unit) for unit, parameters in units.items())
