"""Noiser's report on records made by hand: tables, claims and figures."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from faithlib import results
from faithlib.metrics.plausibility import chance
from faithlib.papers.noiser import claims, figures, tables
from faithlib.report.claims import CLAIMS

N = 40
# means of Soft-NS and Soft-NC, and of the same scores in random order
SOFT = {
    ("attention", ""): (0.2, 0.2, 0.2, 0.2),
    ("leave_one_out", ""): (0.4, 0.3, 0.3, 0.2),
    ("noiser", "l2"): (0.3, 0.6, 0.3, 0.5),
    ("noiser", "k_min"): (0.4, 0.8, 0.2, 0.4),
}
RANDOM = (0.2, 0.1)
# share of prompts answered with the first answer, and mass of the words shown
JUDGED = {"leave_one_out": (0.8, 0.6), "noiser": (0.7, 0.95), "attention": (0.3, 0.5), "random": (0.25, 0.6)}


def soft(dataset="world_facts", model="folder/tiny", seed=0, definition="paper"):
    """Values of two draws of each baseline that vary evenly around the means."""
    spread, rows = np.linspace(-0.1, 0.1, N), []

    def add(attribution, bounding, baseline, draw, ns, nc):
        rows.append(
            pd.DataFrame(
                {
                    "example": np.arange(N),
                    "step": 0,
                    "attribution": attribution,
                    "bounding": bounding,
                    "baseline": baseline,
                    "draw": draw,
                    "definition": definition,
                    "soft_ns": ns + spread,
                    "soft_nc": nc + spread[::-1],
                    "denominator": 0.5,
                }
            )
        )

    for (attribution, bounding), (ns, nc, own_ns, own_nc) in SOFT.items():
        add(attribution, bounding, "", 0, ns, nc)
        for draw in (0, 1):
            add(attribution, bounding, "matched", draw, own_ns + 0.02 * (draw - 0.5), own_nc)
    for draw in (0, 1):
        add("random", "", "random", draw, RANDOM[0], RANDOM[1] + 0.02 * (draw - 0.5))
    return pd.concat(rows, ignore_index=True).assign(dataset=dataset, model=model, seed=seed)


def judged(dataset="world_facts", seed=0):
    """Right first answers for the first prompts of each attribution, right fifth ones for 10 % more."""
    rows = []
    for name, (rate, mass) in JUDGED.items():
        for baseline, less in (("", 0), ("matched", 0.2)):
            right = np.arange(N) < (rate - less) * N
            later = np.arange(N) < (rate - less + 0.1) * N
            rows.append(
                pd.DataFrame(
                    {
                        "judge": "other",
                        "baseline": baseline,
                        "example": np.arange(N),
                        "shown": 3,
                        "attribution": name,
                        "place": np.select([right, later], [1, 5], 0),
                        "mass": mass,
                    }
                )
            )
    return pd.concat(rows, ignore_index=True).assign(dataset=dataset, model="folder/tiny", seed=seed)


def needed(dataset="world_facts", seed=0):
    frame = judged(dataset, seed).drop(columns=["shown", "place", "mass"])
    share = frame.attribution.map({"leave_one_out": 0.2, "noiser": 0.3}).fillna(0.6)
    return frame.assign(share=np.where(frame.example < N - 4, share, np.nan), words=6, calls=4)


def found(dataset="world_agreement", seed=0):
    rows = [
        (i, name, part, share, level)
        for i in range(N)
        for name, of in (("noiser", (0.4, 0.1)), ("leave_one_out", (0.3, 0.3)))
        for part, share, level in zip(("subject", "distractor"), of, (0.1, 0.35), strict=True)
    ]
    return pd.DataFrame(rows, columns=["example", "attribution", "part", "share", "chance"]).assign(
        dataset=dataset, model="folder/tiny", seed=seed
    )


def agreement(dataset="world_facts", seed=0):
    level = chance(8, 2)
    rows = [
        (i, name, metric, value, level[metric])
        for i in range(N)
        for name, shift in (("noiser", 0.3), ("attention", 0.0))
        for metric, value in (
            ("auprc", level["auprc"] + shift + 0.001 * i),
            ("precision", 0.5),
            ("first_hit", 1.5),
        )
    ]
    return pd.DataFrame(rows, columns=["example", "attribution", "metric", "value", "chance"]).assign(
        dataset=dataset, model="folder/tiny", seed=seed
    )


def record(dataset="world_facts", model="folder/tiny", seed=0):
    rows = [
        {"metric": "prompts", "stage": "all", "value": 100},
        {"metric": "prompts", "stage": "kept", "value": 90},
        {"metric": "k", "bounding": "k_min", "value": 0.2, "n": N},
        {"metric": "flipped", "bounding": "k_min", "value": 0.95, "n": N},
    ]
    return {
        "unit": f"{dataset}.tiny.s{seed}",
        "metrics": rows,
        "files": {},
        "params": {"task": dataset, "model": model, "seed": seed},
    }


def cell(table, **where):
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


@pytest.fixture
def values():
    return pd.concat(
        [soft("world_facts"), soft("world_agreement"), soft(definition="released")], ignore_index=True
    )


def test_faithfulness_by_hand(values):
    table = tables.faithfulness(values)
    assert list(table)[:13] == [
        "task",
        "model",
        "method",
        "bounding",
        "definition",
        "baseline",
        "soft_ns",
        "soft_nc",
        "log_ratio",
        "ci_low",
        "ci_high",
        "n",
        "published",
    ]
    here = {"task": "world_facts", "definition": "paper"}
    row = cell(table, **here, method="noiser", bounding="k_min", baseline="random")
    assert row.log_ratio == pytest.approx(np.log(2) + np.log(8)) and row.ci_low < row.log_ratio < row.ci_high
    assert (row.log_ns, row.log_nc) == pytest.approx((np.log(2), np.log(8)))
    assert (row.model, row.n, row.undefined) == ("tiny", N, 0) and row.published == 1.8103
    row = cell(table, **here, method="noiser", bounding="k_min", baseline="matched")
    assert row.log_ratio == pytest.approx(2 * np.log(2)) and np.isnan(row.published)
    assert cell(table, **here, method="leave_one_out", baseline="random").published == 0.4645
    first = table[(table.task == "world_facts") & (table.definition == "paper")]
    assert first.method.drop_duplicates().tolist() == ["attention", "leave_one_out", "noiser"]
    assert cell(table, task="world_agreement", method="attention", baseline="random").published == 0.4715


def test_boundings_stand_beside_table_2(values):
    table = tables.boundings(tables.faithfulness(values), [record()])
    row = cell(table, task="world_facts", definition="paper", baseline="random", bounding="l2")
    assert row.published == 1.7185 and np.isnan(row.k)
    assert np.isnan(cell(table, task="world_agreement", baseline="random", bounding="l2").published)
    row = cell(table, task="world_facts", definition="paper", baseline="random", bounding="k_min")
    assert (row.k, row.flipped, row.published) == (0.2, 0.95, 1.8103)


def test_published_numbers_of_a_models_own():
    frame = pd.concat([soft("longra", f"google/{model}") for model in ("gemma-2-2b", "gemma-2-9b")])
    table = tables.faithfulness(pd.concat([frame, soft("longra", "Qwen/Qwen2-0.5B")]))
    table = table[(table.baseline == "random") & (table.bounding != "l2")].pivot(
        index="method", columns="model", values="published"
    )
    assert table["Qwen2-0.5B"].tolist() == [1.9148, 3.9424, 6.8055]
    assert table.loc["noiser"].tolist() == [6.8055, 4.2727, 6.1681]
    copied = table.loc[["attention", "leave_one_out"], ["gemma-2-2b", "gemma-2-9b"]]
    assert copied.isna().all(axis=None)


def test_answerability_by_hand():
    table = tables.answerability(judged(), needed())
    row = cell(table, method="noiser", baseline="", top=1)
    assert (row.rate, row.score, row.score_all) == pytest.approx((0.7, 0.95, 0.665)) and row.n == N
    assert row.rate_ci_low < 0.7 < row.rate_ci_high and row.min_top_k == pytest.approx(0.3)
    assert (row.published_rate, row.published_score) == (0.45, 0.4381)
    row = cell(table, method="leave_one_out", baseline="", top=5)
    assert (row.rate, row.published_rate) == (pytest.approx(0.9), 0.63) and np.isnan(row.min_top_k)
    row = cell(table, method="noiser", baseline="matched", top=1)
    assert (row.rate, row.score) == pytest.approx((0.5, 0.95)) and np.isnan(row.published_rate)
    assert table.method.drop_duplicates().tolist() == ["attention", "leave_one_out", "noiser", "random"]
    assert tables.answerability(judged()).min_top_k.isna().all()


def test_evidence_parts_and_prompts():
    row = cell(tables.evidence(agreement()), method="noiser")
    assert row.auprc == pytest.approx(chance(8, 2)["auprc"] + 0.3195) and row.n == N
    row = cell(tables.parts(found()), method="noiser", part="distractor")
    assert (row.share, row.chance, row.n, row.unscored) == (pytest.approx(0.1), pytest.approx(0.35), N, 0)
    row = cell(tables.prompts([record(), record(model="Qwen/Qwen2-0.5B", dataset="knowns")]), task="knowns")
    assert (row["all"], row.kept, row.share) == (100, 90, 0.9) and row.published == pytest.approx(661 / 1208)


def test_parts_are_read_where_there_are_any(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "quick" / "noiser"
    results.write_parquet(folder / "world_facts.tiny.s0.answers.parquet", judged()[["judge", "mass"]])
    with_part = record() | {"files": {"world_facts.tiny.s0.answers.parquet": "digest"}}
    frame = results.load_tables("results", "quick", "noiser", [with_part, record(seed=1)], "answers")
    assert set(frame.seed) == {0} and set(frame.dataset) == {"world_facts"} and len(frame) == len(judged())
    assert results.load_tables("results", "quick", "noiser", [with_part], "parts").empty


def test_shown_has_the_published_in_brackets(values):
    table = tables.faithfulness(values)
    wide = tables.shown(
        table[(table.baseline == "random") & (table.definition == "paper") & (table.bounding != "l2")],
        "log_ratio",
    ).set_index("method")
    assert wide.columns.tolist() == ["world_facts, tiny", "world_agreement, tiny"]
    assert wide.loc["Noiser", "world_facts, tiny"].startswith("2.77 [") and "(1.81)" in wide.iloc[2, 0]
    assert wide.index.tolist() == ["last attention", "occlusion", "Noiser"]
    answers = tables.answerability(judged())
    answers = answers[(answers.top == 1) & (answers.baseline == "")]
    wide = tables.shown(answers, "rate", known="published_rate").set_index("method")
    assert wide.loc["occlusion"].tolist() == ["0.80 (0.51)"] and wide.loc["random"].tolist() == ["0.25"]


def test_claims_say_what_the_values_were_made_to_say(values):
    table = claims.claims(values, judged(), found(), agreement(), n_resamples=200)
    assert list(table) == CLAIMS and not table[["claim", "baseline", "definition"]].duplicated().any()
    own = table[table.definition == "paper"].set_index(["claim", "baseline"])
    lead = own.loc["Noiser is the most faithful (lead over the best other, log ratio)"]
    assert lead.value["random"] == pytest.approx(np.log(8 / 3)) and lead.verdict["random"] == "holds"
    assert lead.value["matched"] == pytest.approx(2 * np.log(2) - np.log(2))
    assert lead.published["random"] == pytest.approx(1.6168, abs=1e-4)
    assert np.isnan(lead.published["matched"])
    share = own.loc["Noiser is the most faithful everywhere (share of cases)", "random"]
    assert (share.value, share.verdict, share["where"]) == (1, "holds", "2 of 2 cases; lost: none")
    bounding = own.loc["k_min is the best bounding (lead over the best other, log ratio)", "random"]
    assert bounding.value == pytest.approx(np.log(16 / 9))
    assert bounding.published == pytest.approx(0.0918, abs=1e-4)
    score = own.loc["Noiser has the highest answerability score (top 1, lead over the next)", "none"]
    assert score.value == pytest.approx(0.665 - 0.48) and score.verdict == "holds" and score.published > 0
    rate = own.loc["occlusion has the highest answerability rate (top 1, lead over the next)", "none"]
    assert rate.value == pytest.approx(0.1) and rate.verdict == "holds"
    ranking = own.loc["Noiser: answerability score above its scores in random order (top 1)", "matched"]
    assert ranking.value == pytest.approx(0.2 * 0.95)
    claim = "Noiser ignores the distractor (its share of tokens less its share of scores)"
    ignored = own.loc[claim, "matched"]
    assert ignored.value == pytest.approx(0.25) and ignored.verdict == "holds"
    less = own.loc["Noiser gives the distractor less than the best other does", "none"]
    assert less.value == pytest.approx(0.2)
    known = own.loc["Noiser finds the known evidence (AUPRC above a random order)", "matched"]
    assert known.verdict == "holds"
    assert set(table.definition) == {"paper", "released"}
    json.dumps(table.to_dict("records"))


def test_a_lost_case_is_named(values):
    worse = (values.dataset == "world_facts") & (values.attribution == "noiser") & (values.baseline == "")
    values.loc[worse, "soft_nc"] = 0
    table = claims.claims(values, n_resamples=100).set_index(["claim", "baseline"])
    row = table.loc["Noiser is the most faithful everywhere (share of cases)", "random"].iloc[0]
    assert row.verdict == "does not hold" and row["where"] == "1 of 2 cases; lost: world_facts, tiny"


def test_without_noiser_there_is_no_claim(values):
    others = values[values.attribution != "noiser"]
    assert claims.claims(others, n_resamples=50).empty


def test_figures_have_a_panel_for_everything(values):
    figure = figures.parts(tables.parts(found()), scale="quick")
    assert [axis.get_title() for axis in figure.axes] == ["world_agreement"] * 2
    shares = tables.parts(found())
    without = shares[shares.part != "distractor"].assign(task="world_facts")
    figure = figures.parts(pd.concat([shares, without]))
    assert [axis.get_visible() for axis in figure.axes] == [True, True, True, False]
    answers = tables.answerability(judged(), needed())
    (axis,) = figures.minimum(answers).axes
    assert axis.get_title() == "world_facts: judge other"
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [
        "last attention",
        "occlusion",
        "Noiser",
        "random",
    ]
    figure = figures.agreement(tables.faithfulness(values), answers)
    assert [len(axis.lines) for axis in figure.axes] == [4, 4]  # three methods, and the line at 0
    plt.close("all")
