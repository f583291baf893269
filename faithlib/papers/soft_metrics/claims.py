"""The claims of Zhao & Aletras 2023, each a statistic with an interval and a verdict.

Every statistic is a function of the *cube* of diagnosticities: data set × baseline × attribution ×
metric, strict ties (Eq. 6 as written). The cube is resampled as a whole, examples within each data
set, so that what two cells share by looking at the same examples is kept.
"""

import numpy as np
import pandas as pd

from faithlib import papers
from faithlib.papers.soft_metrics.tables import HARD, METRICS, PAPER
from faithlib.report.claims import CLAIMS
from faithlib.statistics import RESAMPLES, percentile_interval, resample_means, verdict

BASELINES = ("normal", "matched")
SHARE = 16 / 18  # of the cases: 5 attributions and 4 data sets, for two metrics
M = {metric: i for i, metric in enumerate(METRICS)}  # the cube's last axis


def claims(preferred, n_resamples=RESAMPLES, seed=0):
    """All claims on all definitions and baselines: one row each, with verdict and interval.

    preferred: from `preferences(aopc(values))`. (a) soft more diagnostic than hard on average,
    (b) in 16 of 18 cases, taken as that share of the cases there are here, (c) NC above NS,
    (d) less spread over attributions for soft, (e) a smaller advantage of soft against the matched
    baseline, which is no claim of the paper but a control of it. 95 % percentile intervals over
    examples. value: a difference of mean diagnosticities, a share of cases (b) or the difference of
    two sds (d), always such that more supports the claim; `where` tells what makes it up.
    """
    rows = []
    for definition, part in preferred.groupby("definition", observed=True, sort=False):
        cube, names = _cube(part, n_resamples, seed)
        for i, baseline in enumerate(BASELINES):
            if not np.isnan(cube[0, :, i]).all():
                for claim in _paper_claims(cube[:, :, i], names):
                    rows.append({"definition": definition, "baseline": baseline, **claim})
        if not np.isnan(cube[0]).all(axis=(0, 2, 3)).any():
            for claim in _control_claims(cube, names):
                rows.append({"definition": definition, "baseline": "normal - matched", **claim})
    table = pd.DataFrame(rows, columns=CLAIMS)
    table.loc[table.baseline != "normal", "published"] = np.nan
    return table


def _cube(preferred, n_resamples, seed):
    """(1 + resamples, data sets, baselines, attributions, metrics); row 0 is the estimate."""
    kept = preferred[preferred.metric.isin(METRICS)]
    datasets, attributions = kept.dataset.unique().tolist(), kept.attribution.unique().tolist()
    cells = pd.MultiIndex.from_product([BASELINES, attributions, METRICS])
    cube = []
    for i, dataset in enumerate(datasets):
        part = kept[kept.dataset == dataset]
        wide = part.pivot(
            index="example", columns=["baseline", "attribution", "metric"], values="strict"
        ).dropna()
        means = np.vstack([wide.mean(), resample_means(wide, n_resamples, [seed, i])])
        frame = pd.DataFrame(means, columns=wide.columns).reindex(columns=cells)
        cube.append(frame.to_numpy().reshape(-1, len(BASELINES), len(attributions), len(METRICS)))
    return np.stack(cube, axis=1), (datasets, attributions)


def _paper_claims(cube, names):
    """Claims (a) to (d) on a cube (1 + resamples, data sets, attributions, metrics)."""
    datasets, attributions = names
    text = papers.published(PAPER, "text").set_index("name").value
    sd = papers.published(PAPER, "table_2").dropna(subset="sd").set_index("metric").sd
    for soft, hard in HARD.items():
        yield _row(
            f"{soft} above {hard} on average",
            _difference(cube, soft, hard),
            ">",
            0,
            _by_dataset(cube, soft, hard, datasets),
            text[_key(soft)] - text[_key(hard)],
        )
    won, cases = _cases(cube, names)
    lost = [f"{soft} ({', '.join(names)})" for soft, names in _lost(won[0], cases).items()]
    yield _row(
        "soft above hard in 16 of 18 cases (share)",
        won.mean(axis=-1),
        ">=",
        SHARE - 1e-9,
        f"{won[0].sum():.0f} of {len(cases)} cases; lost: {', '.join(lost) or 'none'}",
        text.cases_won / text.cases,
    )
    for upper, lower in (("NC", "NS"), ("Soft-NC", "Soft-NS")):
        yield _row(
            f"{upper} above {lower} on average",
            _difference(cube, upper, lower),
            ">",
            0,
            _by_dataset(cube, upper, lower, datasets),
            text[_key(upper)] - text[_key(lower)],
        )
    if len(attributions) > 1:  # one attribution has no spread to speak of
        spread = np.nanmean(cube, axis=1).std(axis=1)  # (1 + resamples, metrics), population sd
        for soft, hard in HARD.items():
            yield _row(
                f"{soft} varies less over attributions than {hard}",
                spread[:, M[hard]] - spread[:, M[soft]],
                ">",
                0,
                f"sd {spread[0, M[soft]]:.3f} against {spread[0, M[hard]]:.3f}",
                sd[hard] - sd[soft],
            )


def _control_claims(cube, names):
    """Claim (e): soft's advantage against the paper's baseline less that against the matched."""
    shift = cube[:, :, 0] - cube[:, :, 1]  # (1 + resamples, data sets, attributions, metrics)
    for soft, hard in HARD.items():
        yield _row(
            f"{soft} less above {hard} against matched baseline",
            _difference(shift, soft, hard),
            ">",
            0,
            _by_dataset(shift, soft, hard, names[0]),
            np.nan,
        )


def _row(claim, statistic, relation, bound, where, paper):
    low, high = percentile_interval(statistic[1:])
    return {
        "claim": claim,
        "verdict": verdict(low, high, relation, bound),
        "value": statistic[0],
        "ci_low": low,
        "ci_high": high,
        "where": where,
        "published": paper,
    }


def _difference(cube, first, second):
    return np.nanmean(cube[..., M[first]] - cube[..., M[second]], axis=(1, 2))


def _by_dataset(cube, first, second, datasets):
    each = np.nanmean(cube[0, ..., M[first]] - cube[0, ..., M[second]], axis=-1)
    return ", ".join(f"{dataset} {x:+.3f}" for dataset, x in zip(datasets, each, strict=True))


def _cases(cube, names):
    """Wins of soft over hard, (1 + resamples, cases): averages per attribution and per data set."""
    datasets, attributions = names
    won, cases = [], []
    for axis, labels in ((1, attributions), (2, datasets)):  # averaged over the other one
        mean = np.nanmean(cube, axis=axis)  # (1 + resamples, labels, metrics)
        for soft, hard in HARD.items():
            won.append(mean[..., M[soft]] > mean[..., M[hard]])
            cases += [(soft, name) for name in labels]
    return np.concatenate(won, axis=1), cases


def _lost(won, cases):
    lost = {}
    for (soft, name), win in zip(cases, won, strict=True):
        if not win:
            lost.setdefault(soft, []).append(name)
    return lost


def _key(metric):
    return f"average_{metric.lower().replace('-', '_')}"
