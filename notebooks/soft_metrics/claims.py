"""The claims of Zhao & Aletras 2023: what each compares, a number a seed and text.

Claims are about metrics, so models and texts vary: the interval is crossed over seeds × texts, and with one
seed over the texts of that model. The number of a seed and text is a difference of preferences (Eq. 6),
averaged over attributions. Ties count one half; in the released definition, a win. An option that was
measured has its claims on the texts on which it was varied.
"""

import re
from functools import cache, partial

import numpy as np
import pandas as pd

from faithlib.scores import one_of
from faithlib.statistics import FEWEST_UNITS
from notebooks.soft_metrics.card import CARD
from notebooks.soft_metrics.tables import HARD, METRICS, PAPER, aopc, preferences, with_option
from replication import papers, results
from replication.claims import Claim, accepted, gates, linearised, long, multiverse_tables
from replication.tables import groups, metric_rows, select

BASELINES = ("normal", "matched")
CONTROL = "normal - matched"
SHARE = 16 / 18  # of the cases: 5 attributions and 4 data sets, for two metrics
TIES = {"half": "half", "strict": "strict", "at least": "at_least"}  # options and columns of `preferences`
OF_DEFINITION = {"paper": "half", "released": "at_least"}  # the main setting
ROUNDING = 1e-9  # of averages: closer ones are equal, and no win
SMALLEST = 0.05  # of 1 - S0, in the option that excludes texts whose prediction hardly needs the text
WITHOUT = {
    "without signed input × gradient": "deeplift",
    "without |input × gradient|": "input_x_gradient_abs",
}
METRIC = re.compile("(?:Soft-)?N[SC]")
LARGE, RIGHT = "1 - S0 of .05 and more", "correctly predicted"
UNIT = ["dataset", "model", "seed", "example"]
MAIN = CARD.main_setting()
COMPUTED = {  # choices about values that are there anyway, and their options
    "ties": (MAIN["ties"], *TIES),
    "baseline": BASELINES,
    "attributions": (MAIN["attributions"], *WITHOUT),
    "texts": (MAIN["texts"], LARGE, RIGHT),
}


def claims(
    records: list[dict], values: pd.DataFrame, scale: str, seeds: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every claim with its verdict, and with the options of each choice that the paper leaves open.

    (a) soft more diagnostic than hard, on average and on every data set, (b) in 16 of 18 averages, taken as
    that share of those there are here, (c) NC above NS, (d) less spread over attributions for soft, (e) a
    smaller advantage of soft against the matched baseline, which is no claim of the paper.

    Returns:
        (claims, choices), as `replication.claims.multiverse_tables`. value: a difference of mean
        diagnosticities, a share of cases (b) or a difference of standard deviations (d), such that more
        supports the claim.
    """
    gate = gate_of(records)
    changes = values.groupby("option").metric.unique().map(set).to_dict()
    measured = cache(partial(preferred, values, aopc(values)))
    state = partial(statements, measured, changes, results.design(records), about(values), gate)
    return multiverse_tables(state, CARD, scale, gate, seeds)


def preferred(values, main, option=""):
    """`tables.preferences` by seed and text, in the main setting or with an option that was measured."""
    measured = with_option(values, main, option) if option else main
    table = preferences(measured, by=("model", "seed", "example"))
    table["dataset"] = [name.split(" (")[0] for name in table.dataset]  # `aopc` may add the model
    return table[table.metric.isin(METRICS)]


def gate_of(records: list[dict]) -> pd.DataFrame:
    """Which data sets take part, by macro-F1 on the test set (`replication.claims.gates`)."""
    return gates(select(metric_rows(records), split="test"), "macro_f1")


def about(values):
    """What the choice of texts needs: of each text and definition the smallest 1 - S0, and `correct`."""
    main = values[values.option == ""].groupby([*UNIT, "definition"], observed=True)
    return main[["denominator", "correct"]].min().reset_index()


def statements(measured, changes, design, about_texts, gate=None, **setting):
    """The claims of all definitions and baselines at one setting, [Claim]; None where no record has it.

    Args:
        measured: function of an option that gives `preferred`.
        changes: {option: the metrics that it changes}, of those measured; claims about others are left out.
        design: "crossed" or "nested".
        about_texts: from `about`.
        gate: from `gate_of`; only the share of cases, which is of all data sets at once, needs it.
        setting: options that depart from the main setting, by `CARD.choices`.
    """
    option, *more = [o for choice, o in setting.items() if choice not in COMPUTED] or [""]
    if option not in changes or more:  # measured one at a time
        return None
    kept, setting = measured(option), MAIN | setting
    for choice, options in COMPUTED.items():
        one_of(choice, setting[choice], options)
    kept = kept[kept.attribution != WITHOUT.get(setting["attributions"])]
    if setting["texts"] != MAIN["texts"]:
        large = about_texts.denominator >= SMALLEST
        wanted = about_texts[about_texts.correct if setting["texts"] == RIGHT else large]
        kept = kept.merge(wanted[[*UNIT, "definition"]])
    claims = []
    for definition, part in kept.groupby("definition", observed=True, sort=False):
        ties = TIES.get(setting["ties"], OF_DEFINITION[definition])
        by_baseline = dict(iter(part.groupby("baseline", observed=True)))
        cells = {name: _cells(by_baseline[name], ties) for name in BASELINES if name in by_baseline}
        for baseline, of_cells in cells.items():
            if baseline == "normal":
                of_cells = cells.get(setting["baseline"], of_cells)
            paper = published_cells() if baseline == "normal" else None
            more = {"definition": definition, "baseline": baseline}
            claims += [*_differences(of_cells, paper, design, more), *_share(of_cells, paper, gate, more)]
            claims += _spread(of_cells, paper, more)
        if len(cells) == len(BASELINES):
            more = {"definition": definition, "baseline": CONTROL}
            claims += _control(cells, design, more)
    named = {claim.key: set(METRIC.findall(claim.claim)) for claim in claims}  # the share names none: all
    return [c for c in claims if len(c.values) and (not named[c.key] or named[c.key] & changes[option])]


def published_cells():
    """Table 6 of the paper: {data set: DataFrame attributions × metrics}."""
    by_dataset = papers.published(PAPER, "table_6").groupby("dataset", sort=False)
    layout = {"index": "attribution", "columns": "metric", "values": "value"}
    return {dataset: part.pivot(**layout) for dataset, part in by_dataset}


def _cells(preferred, ties):
    """{(dataset, model): DataFrame (seed, example) × (metric, attribution)} without gaps."""
    by_case = {}
    for row, part in groups(preferred, ["dataset", "model"]):
        wide = part.pivot(index=["seed", "example"], columns=["metric", "attribution"], values=ties).dropna()
        by_case[row["dataset"], row["model"]] = wide
    return by_case


def _difference(wide, upper, lower):
    """One metric's preference less another's, averaged over attributions: by seed and text."""
    return wide[upper].mean(axis=1) - wide[lower].mean(axis=1)


def _theirs(cells, paper, statistic):
    """{data set: statistic of its published cells, of our attributions}; {} where nothing is published."""
    by_dataset = {}
    for (dataset, _), wide in cells.items():
        names = wide.columns.unique("attribution")
        if paper and dataset in paper and names.isin(paper[dataset].index).all():
            by_dataset[dataset] = float(statistic(paper[dataset].loc[names]))
    return by_dataset


def _differences(cells, paper, design, more):
    """Claims (a), on average and on every data set, and (c)."""
    pairs = [(soft, hard, both) for soft, hard in HARD.items() for both in ("on average", "everywhere")]
    pairs += [("NC", "NS", "on average"), ("Soft-NC", "Soft-NS", "on average")]
    for upper, lower, quantifier in pairs:
        of_both = {key: wide for key, wide in cells.items() if {upper, lower} <= set(wide.columns.unique(0))}
        gains = {key: _difference(wide, upper, lower) for key, wide in of_both.items()}
        printed = _theirs(of_both, paper, lambda of, u=upper, v=lower: (of[u] - of[v]).mean())
        words = "on every data set" if quantifier == "everywhere" else "on average"
        about = {"quantifier": quantifier, "published": printed, "limits": (-1, 1)}
        yield Claim(f"{upper} above {lower} {words}", long(gains), design, **about, **more)


def _share(cells, paper, gate, more):
    """Claim (b): the share of averages, over attributions and over data sets, in which soft is above hard.

    It is one number of all data sets that have the seeds for an interval, a value a seed that they share; a
    data set with fewer seeds is a case of its own. Texts of one model give no interval of such a count.
    """
    table = pd.DataFrame(list(cells), columns=["dataset", "model"])
    taking_part = set(accepted(table, gate).itertuples(index=False, name=None))
    of = {key: wide for key, wide in cells.items() if key in taking_part}
    of = {key: wide.groupby(level="seed").mean() for key, wide in (of or cells).items() if len(wide)}
    if not taking_part:  # of one that the gate refuses
        of = {key: mean for key, mean in of.items() if key[0] == next(iter(of))[0]}
    if not of:
        return
    enough = [key for key, mean in of.items() if len(mean) >= FEWEST_UNITS] or list(of)
    names = next(iter(of.values())).columns.unique("attribution")
    rows, published = [], {}
    for keys in (enough, *([key] for key in of if key not in enough)):
        datasets = list(dict.fromkeys(dataset for dataset, _ in keys))
        seeds = sorted(set.intersection(*(set(of[key].index) for key in keys)))
        rows += [
            {"dataset": ", ".join(datasets), "model": model, "seed": seed, "value": _won(cubes)}
            for model in dict.fromkeys(model for _, model in keys)
            for seed in seeds
            if (cubes := [of[key].loc[seed].unstack("metric") for key in keys if key[1] == model])
        ]
        if paper and all(d in paper and names.isin(paper[d].index).all() for d in datasets):
            published[", ".join(datasets)] = _won([paper[dataset].loc[names] for dataset in datasets])
    claim = "soft above hard in 16 of 18 averages (share of those that are here)"
    about = {"published": published, "limits": (0, 1)}
    yield Claim(claim, pd.DataFrame(rows), "seeds", ">=", SHARE, **about, **more)


def _won(cubes):
    """Share of averages, per attribution and per data set (a cube each), in which soft is above hard."""
    of_attributions = sum(cubes) / len(cubes)
    of_datasets = pd.DataFrame([cube.mean() for cube in cubes])
    leads = [m[soft] - m[hard] for soft, hard in HARD.items() for m in (of_attributions, of_datasets)]
    return float((pd.concat(leads) > ROUNDING).mean())


def _spread(cells, paper, more):
    """Claim (d): standard deviation over attributions of the hard metric's diagnosticity, less the soft's.

    With one seed the interval is over texts (`linearised`), else over seeds ("on this test set").
    """
    several = any(wide.index.unique("seed").size > 1 for wide in cells.values())
    for soft, hard in HARD.items():
        values = {}
        for key, wide in cells.items():
            pair, size = wide[[hard, soft]], wide[hard].shape[1]
            if size < 2 or pair.empty:
                continue
            statistic = partial(_spread_difference, size=size)
            if several:
                values[key] = pair.groupby(level="seed").mean().apply(statistic, axis=1, raw=True)
            else:
                gradient = partial(_spread_gradient, size=size)
                values[key] = pd.Series(linearised(pair, statistic, gradient), pair.index)
        printed = _theirs(cells, paper, lambda of, s=soft, h=hard: of[h].std(ddof=0) - of[s].std(ddof=0))
        claim, design = f"{soft} varies less over attributions than {hard}", "seeds" if several else "crossed"
        yield Claim(claim, long(values), design, published=printed, **more)


def _spread_difference(means, size):
    """Population sd of the first `size` means less that of the others."""
    return means[:size].std() - means[size:].std()


def _spread_gradient(means, size):
    """Of `_spread_difference`; 0 where a standard deviation is 0."""
    parts = []
    for sign, half in ((1, means[:size]), (-1, means[size:])):
        sd = half.std()
        parts.append(sign * (half - half.mean()) / (len(half) * sd) if sd > 0 else np.zeros_like(half))
    return np.concatenate(parts)


def _control(cells, design, more):
    """Claim (e): soft's advantage against the paper's baseline less that against the matched."""
    normal, matched = (cells[baseline] for baseline in BASELINES)
    for soft, hard in HARD.items():
        values = {
            key: (_difference(normal[key], soft, hard) - _difference(matched[key], soft, hard)).dropna()
            for key in normal
            if key in matched
        }
        claim = f"{soft} less above {hard} against matched baseline"
        yield Claim(claim, long(values), design, limits=(-2, 2), **more)
