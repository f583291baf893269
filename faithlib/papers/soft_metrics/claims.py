"""The claims of Zhao & Aletras 2023, each a statistic with an interval and a verdict.

Every statistic is a function of the *cube* of diagnosticities: data set × baseline × attribution ×
metric, strict ties (Eq. 6 as written). The cube is resampled as a whole, examples within each data
set, so that what two cells share by looking at the same examples is kept.
"""

import numpy as np
import pandas as pd

from faithlib import papers
from faithlib.papers.soft_metrics.tables import HARD, METRICS, PAPER
from faithlib.report.claims import CLAIMS, contributions, estimate, pivot_groups, resampled, row
from faithlib.statistics import RESAMPLES

BASELINES = ("normal", "matched")
SHARE = 16 / 18  # of the cases: 5 attributions and 4 data sets, for two metrics
M = {metric: i for i, metric in enumerate(METRICS)}  # the cube's last axis


def claims(preferred, n_resamples=RESAMPLES, seed=0):
    """All claims on all definitions and baselines: (a) to (d) of the paper, (e) a control of it.

    (a) soft more diagnostic than hard on average, (b) in 16 of 18 cases, taken as that share of the cases
    there are here, (c) NC above NS, (d) less spread over attributions for soft, (e) a smaller advantage of
    soft against the matched baseline.

    Args:
        preferred: from `preferences(aopc(values))`.
        n_resamples, seed: of the 95 % percentile intervals over examples.

    Returns:
        A row a claim, definition and baseline; value: a difference of mean diagnosticities, a share of cases
        (b) or the difference of two sds (d), such that more supports the claim.
    """
    rows = []
    for definition, part in preferred.groupby("definition", observed=True, sort=False):
        cube, names = _cube(part, n_resamples, seed)
        for i, baseline in enumerate(BASELINES):
            if not np.isnan(cube[0, :, i]).all():
                found = _paper_claims(cube[:, :, i], names)
                unknown = {} if baseline == "normal" else {"published": np.nan}
                rows += [r | {"definition": definition, "baseline": baseline} | unknown for r in found]
        if not np.isnan(cube[0]).all(axis=(0, 2, 3)).any():
            control = {"definition": definition, "baseline": "normal - matched"}
            rows += [r | control for r in _control_claims(cube, names[0])]
    return pd.DataFrame(rows, columns=CLAIMS)


def _cube(preferred, n_resamples, seed):
    """(1 + resamples, data sets, baselines, attributions, metrics); row 0 is the estimate."""
    kept = preferred[preferred.metric.isin(METRICS)]
    attributions = kept.attribution.unique().tolist()
    axes = (BASELINES, attributions, METRICS)
    cells = pivot_groups(kept, "dataset", ["baseline", "attribution", "metric"], "strict")
    drawn = resampled(cells, n_resamples, seed)
    order = pd.MultiIndex.from_product(axes)
    cube = [means.reindex(columns=order).to_numpy().reshape(-1, *map(len, axes)) for means in drawn.values()]
    return np.stack(cube, axis=1), (list(drawn), attributions)


def _paper_claims(cube, names):
    """Claims (a) to (d) on a cube (1 + resamples, data sets, attributions, metrics)."""
    datasets, attributions = names
    text = papers.published(PAPER, "text").set_index("name").value
    sd = papers.published(PAPER, "table_2").dropna(subset="sd").set_index("metric").sd
    average = {metric: text[f"average_{metric.lower().replace('-', '_')}"] for metric in METRICS}
    for soft, hard in HARD.items():
        known = average[soft] - average[hard]
        yield _difference(f"{soft} above {hard} on average", cube, soft, hard, datasets, known)
    won, cases = _cases(cube, names)
    lost = [f"{soft} ({', '.join(names)})" for soft, names in _lost(won[0], cases).items()]
    yield row(
        "soft above hard in 16 of 18 cases (share)",
        estimate(won.mean(axis=-1)),
        f"{won[0].sum():.0f} of {len(cases)} cases; lost: {', '.join(lost) or 'none'}",
        ">=",
        SHARE - 1e-9,
        published=text.cases_won / text.cases,
    )
    for upper, lower in (("NC", "NS"), ("Soft-NC", "Soft-NS")):
        known = average[upper] - average[lower]
        yield _difference(f"{upper} above {lower} on average", cube, upper, lower, datasets, known)
    if len(attributions) > 1:  # one attribution has no spread to speak of
        spread = np.nanmean(cube, axis=1).std(axis=1)  # (1 + resamples, metrics), population sd
        for soft, hard in HARD.items():
            yield row(
                f"{soft} varies less over attributions than {hard}",
                estimate(spread[:, M[hard]] - spread[:, M[soft]]),
                f"sd {spread[0, M[soft]]:.3f} against {spread[0, M[hard]]:.3f}",
                published=sd[hard] - sd[soft],
            )


def _control_claims(cube, datasets):
    """Claim (e): soft's advantage against the paper's baseline less that against the matched."""
    shift = cube[:, :, 0] - cube[:, :, 1]  # (1 + resamples, data sets, attributions, metrics)
    for soft, hard in HARD.items():
        yield _difference(f"{soft} less above {hard} against matched baseline", shift, soft, hard, datasets)


def _difference(claim, cube, upper, lower, datasets, published=np.nan):
    """The row of a claim that one metric is above another, averaged over data sets and attributions."""
    above = cube[..., M[upper]] - cube[..., M[lower]]  # (1 + resamples, data sets, attributions)
    each = dict(zip(datasets, np.nanmean(above[0], axis=-1), strict=True))
    found = estimate(np.nanmean(above, axis=(1, 2)))
    return row(claim, found, contributions(each), published=published)


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
