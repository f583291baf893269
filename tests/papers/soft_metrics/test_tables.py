"""The report on values whose every comparison is decided in advance."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from faithlib import papers, report, results, statistics
from faithlib.papers.soft_metrics import figures, tables
from faithlib.papers.soft_metrics.claims import claims
from faithlib.report import __main__ as command
from faithlib.report.tables import excluded

N = 20
RATIOS = (0.01, 0.05, 0.1, 0.2, 0.5)
# wins and ties out of N against the normal baseline; against the matched one, wins are fewer
WINS = {
    "NS": {"attention": (6, 2), "deeplift": (8, 0)},
    "NC": {"attention": (8, 0), "deeplift": (12, 4)},
    "Soft-NS": {"attention": (14, 0), "deeplift": (14, 0)},
    "Soft-NC": {"attention": (18, 0), "deeplift": (18, 0)},
}
MATCHED = {"NS": 0, "NC": 0, "Soft-NS": 6, "Soft-NC": 8}  # wins lost against the matched baseline


def rows(metric, attribution, baseline, draw, values, definition="paper"):
    """Values of one metric as a record holds them; hard ones at 5 ratios that average to them."""
    soft = metric.startswith("Soft")
    spread = {np.nan: 0.0} if soft else dict(zip(RATIOS, (-0.2, -0.1, 0, 0.1, 0.2), strict=True))
    if not soft and definition == "paper":
        spread[0.3] = 50.0  # a ratio of Figures 2 and 3 that is no part of the AOPC
    return [
        pd.DataFrame(
            {
                "example": np.arange(len(values), dtype=np.int32),
                "attribution": attribution,
                "baseline": baseline,
                "draw": np.int16(draw),
                "definition": definition,
                "perturbation": "bernoulli" if soft else "hard",
                "metric": metric,
                "ratio": np.float32(ratio),
                "value": np.float32(values + shift),
            }
        )
        for ratio, shift in spread.items()
    ]


def unit(dataset="sst", seed=0, definition="paper", model="org/tiny"):
    parts = []
    for metric, by_attribution in WINS.items():
        for draw in (0, 1):  # two draws of the random attribution, alike
            parts += rows(metric, "random", "normal", draw, np.full(N, 0.5), definition)
        for attribution, (wins, ties) in by_attribution.items():
            values = np.full(N, 0.4)
            values[:wins] = 0.6
            values[wins : wins + ties] = 0.5 + 4e-7  # ties up to 1e-6
            parts += rows(metric, attribution, "", 0, values, definition)
            against = np.where(np.arange(N) < wins - MATCHED[metric], 0.3, 0.7)
            parts += rows(metric, attribution, "matched", 0, against, definition)
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(raw=frame.value, dataset=dataset, seed=seed, model=model)


@pytest.fixture(scope="module")
def values():
    datasets = [unit(d, definition=k) for d in ("sst", "topics") for k in ("paper", "released")]
    return pd.concat(datasets, ignore_index=True)


@pytest.fixture(scope="module")
def preferred(values):
    return tables.preferences(tables.aopc(values))


@pytest.fixture(scope="module")
def diagnostic(preferred):
    return tables.diagnosticity(preferred)


def cell(table, **where):
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1, where
    return table.iloc[0]


def test_aopc_averages_its_own_ratios_only(values):
    measured = tables.aopc(values)
    row = cell(
        measured,
        dataset="sst",
        definition="paper",
        metric="NS",
        attribution="deeplift",
        baseline="",
        example=0,
    )
    assert row.value == pytest.approx(0.6)


def test_diagnosticity_is_the_share_of_wins(diagnostic):
    assert list(diagnostic.columns) == [
        "dataset",
        "attribution",
        "metric",
        "definition",
        "baseline",
        "ties",
        "value",
        "ci_low",
        "ci_high",
        "n",
        "published",
    ]
    for metric, by_attribution in WINS.items():
        for attribution, (wins, ties) in by_attribution.items():
            for rule, worth in (("strict", 0), ("half", 0.5), ("at_least", 1)):
                row = cell(
                    diagnostic,
                    dataset="sst",
                    metric=metric,
                    attribution=attribution,
                    definition="paper",
                    baseline="normal",
                    ties=rule,
                )
                assert row.value == pytest.approx((wins + worth * ties) / N)
                assert row.ci_low < row.value < row.ci_high and row.n == N
            row = cell(
                diagnostic,
                dataset="sst",
                metric=metric,
                attribution=attribution,
                definition="paper",
                baseline="matched",
                ties="strict",
            )
            assert row.value == pytest.approx((wins - MATCHED[metric]) / N)


def test_published_values_stand_where_the_paper_has_them(diagnostic):
    where = dict(metric="Soft-NC", attribution="deeplift", definition="paper", ties="strict")
    assert cell(diagnostic, dataset="sst", baseline="normal", **where).published == 0.562
    assert np.isnan(cell(diagnostic, dataset="sst", baseline="matched", **where).published)
    # a generated corpus has the number of the data set it imitates, another data set has none
    assert cell(diagnostic, dataset="topics", baseline="normal", **where).published == 0.648
    other = tables.diagnosticity(tables.preferences(tables.aopc(unit("imdb"))))
    assert np.isnan(cell(other, dataset="imdb", baseline="normal", **where).published)


def test_seeds_are_averaged_per_example():
    better = unit(seed=1)
    better["raw"] += np.where(better.baseline == "", 10, 0)  # wins every comparison
    both = pd.concat([unit(), better], ignore_index=True)
    table = tables.diagnosticity(tables.preferences(tables.aopc(both)))
    row = cell(table, metric="NS", attribution="deeplift", baseline="normal", ties="strict")
    assert row.value == pytest.approx((8 / N + 1) / 2) and row.n == N


def test_preferences_are_there_where_normalisation_is_not():
    frame = unit()
    frame.loc[frame.example == 0, "value"] = np.nan  # S0 = 1: NS and NC are undefined, S and C not
    table = tables.diagnosticity(tables.preferences(tables.aopc(frame)))
    row = cell(table, metric="NS", attribution="deeplift", baseline="normal", ties="strict")
    assert row.n == N and row.value == pytest.approx(8 / N)
    assert set(tables.faithfulness_by_ratio(frame).n) == {N - 1}


def test_examples_without_a_value_are_left_out_of_n():
    frame = unit()
    frame.loc[frame.example == 0, "raw"] = np.nan
    table = tables.diagnosticity(tables.preferences(tables.aopc(frame)))
    row = cell(table, metric="NS", attribution="deeplift", baseline="normal", ties="strict")
    assert row.n == N - 1 and row.value == pytest.approx(7 / (N - 1))


def test_a_baseline_that_misses_examples_is_told():
    frame = unit()
    frame = frame[~((frame.baseline == "matched") & (frame.example == 3))]
    with pytest.raises(ValueError, match="have no 'matched' baseline"):
        tables.preferences(tables.aopc(frame))


def test_two_models_are_two_data_sets_with_one_published_value():
    both = pd.concat([unit(), unit(model="org/large")], ignore_index=True)
    table = tables.diagnosticity(tables.preferences(tables.aopc(both)))
    assert set(table.dataset) == {"sst (org/tiny)", "sst (org/large)"}
    row = cell(
        table,
        dataset="sst (org/large)",
        metric="NS",
        attribution="attention",
        baseline="normal",
        ties="strict",
    )
    assert row.published == 0.406


def test_other_perturbations_are_metrics_of_their_own():
    frame = unit()
    other = frame[frame.metric == "Soft-NS"].assign(perturbation="gaussian_scores")
    both = pd.concat([frame, other], ignore_index=True)
    preferred = tables.preferences(tables.aopc(both))
    table = tables.diagnosticity(preferred)
    assert "Soft-NS (gaussian_scores)" in set(table.metric)
    assert np.isnan(table[table.metric == "Soft-NS (gaussian_scores)"].published).all()
    by_perturbation = tables.alternatives(table).set_index("metric")
    assert set(by_perturbation.index) == {"Soft-NS", "Soft-NC", "Soft-NS (gaussian_scores)"}
    assert by_perturbation.normal["Soft-NS (gaussian_scores)"] == pytest.approx(14 / N)
    assert len(claims(preferred)) == len(claims(tables.preferences(tables.aopc(frame))))


def test_averages_are_tables_2_and_3(diagnostic, preferred):
    by_attribution = tables.averages(diagnostic, preferred, "attribution")
    where = dict(definition="paper", baseline="normal", metric="NC")
    assert cell(by_attribution, attribution="deeplift", **where).value == pytest.approx(0.6)
    average = cell(by_attribution, attribution="average", **where)
    assert (average.value, average.sd) == pytest.approx((0.5, 0.1))  # of 0.4 and 0.6
    assert np.isnan(average.published)  # other data sets and attributions than the paper's
    soft = cell(by_attribution, attribution="average", **{**where, "metric": "Soft-NC"})
    assert soft.p_examples < 0.01
    assert soft.star == ""  # 4 cells against 4 cannot reach p < .01
    by_dataset = tables.averages(diagnostic, preferred, "dataset")
    assert cell(by_dataset, dataset="topics", **where).value == pytest.approx(0.5)
    shown = tables.averages_as_printed(by_dataset, "dataset").set_index("metric")
    assert list(shown.index) == ["NC", "Soft-NC", "NS", "Soft-NS"]
    assert shown.loc["NC", "sst"] == "0.500"
    assert shown.loc["NC", "average"] == "0.500 ± 0.000"


@pytest.mark.parametrize(("by", "table"), [("attribution", "table_2"), ("dataset", "table_3")])
def test_averages_of_the_published_cells_are_the_published_averages(by, table):
    cells = papers.published("soft_metrics", "table_6").assign(
        definition="paper", baseline="normal", ties="strict", example=0
    )
    averaged = tables.averages(cells, cells.assign(strict=cells.value), by)
    assert len(averaged) == len(papers.published("soft_metrics", table))
    assert np.allclose(averaged.value, averaged.published, atol=0.00101)
    assert (averaged.star == averaged.published_star).all()
    shown = tables.averages_as_printed(averaged, by).set_index("metric")
    assert shown.loc["Soft-NC", "average"] == "0.529* ± " + (
        "0.017 (0.529*)" if by == "attribution" else "0.111 (0.529*)"
    )
    fewer = cells[cells[by] != cells[by].iloc[0]]
    averaged = tables.averages(fewer, fewer.assign(strict=fewer.value), by)
    assert averaged[averaged[by] == "average"].published.isna().all()
    assert averaged[averaged[by] != "average"].published.notna().all()


def test_a_star_needs_five_cells_against_five():
    parts = [unit(f"task{i}") for i in range(5)]
    preferred = tables.preferences(tables.aopc(pd.concat(parts, ignore_index=True)))
    table = tables.averages(tables.diagnosticity(preferred), preferred, "attribution")
    where = dict(definition="paper", baseline="normal", metric="Soft-NC")
    row = cell(table, attribution="deeplift", **where)
    assert row.star == "*"


def test_claims_and_their_verdicts(preferred):
    table = claims(preferred)
    assert list(table.columns)[:7] == ["claim", "baseline", "verdict", "value", "ci_low", "ci_high", "where"]
    paper = table[table.definition == "paper"]
    normal = paper[paper.baseline == "normal"].set_index("claim")
    expected = {  # value by hand from WINS
        "Soft-NS above NS on average": (14 - 7) / N,
        "Soft-NC above NC on average": (18 - 10) / N,
        "soft above hard in 16 of 18 cases (share)": 1.0,
        "NC above NS on average": (10 - 7) / N,
        "Soft-NC above Soft-NS on average": (18 - 14) / N,
        "Soft-NS varies less over attributions than NS": 1 / N,  # sd of 6 and 8 is 1
        "Soft-NC varies less over attributions than NC": 2 / N,
    }
    assert normal.value.to_dict() == pytest.approx(expected)
    assert (normal.verdict[:3] == "holds").all()
    assert normal.published["Soft-NS above NS on average"] == pytest.approx(0.113)
    assert normal["where"]["soft above hard in 16 of 18 cases (share)"] == ("8 of 8 cases; lost: none")
    matched = paper[paper.baseline == "matched"].set_index("claim")
    assert matched.value["Soft-NS above NS on average"] == pytest.approx((8 - 7) / N)
    assert matched.value["soft above hard in 16 of 18 cases (share)"] == 0.5
    assert matched.verdict["soft above hard in 16 of 18 cases (share)"] == "does not hold"
    assert "Soft-NC (deeplift, sst, topics)" in matched["where"]["soft above hard in 16 of 18 cases (share)"]
    assert matched.published.isna().all()
    shift = paper[paper.baseline == "normal - matched"].set_index("claim").value
    assert shift["Soft-NS less above NS against matched baseline"] == pytest.approx(6 / N)
    assert shift["Soft-NC less above NC against matched baseline"] == pytest.approx(8 / N)
    assert set(table.definition) == {"paper", "released"}


def test_claims_do_not_depend_on_chance_and_do_without_a_matched_baseline(preferred):
    pd.testing.assert_frame_equal(claims(preferred), claims(preferred))
    table = claims(preferred[preferred.baseline == "normal"])
    assert set(table.baseline) == {"normal"} and table.value.notna().all()


def test_tables_by_ratio(values):
    faith = tables.faithfulness_by_ratio(values)
    assert set(faith.attribution) == {"attention", "deeplift", "random"}
    where = dict(dataset="sst", definition="paper", metric="NS", attribution="random")
    row = cell(faith, ratio=0.05, **where)
    assert (row.value, row.ci_low, row.ci_high) == pytest.approx((0.4, 0.4, 0.4))
    assert cell(faith, ratio=0.3, **where).value == 1  # of 50.5, clipped
    by_ratio = tables.diagnosticity_by_ratio(tables.preferences(tables.at_ratios(values)))
    where = dict(dataset="sst", definition="paper", baseline="normal")
    assert cell(by_ratio, metric="NC", ratio=0.2, **where).value == pytest.approx(10 / N)
    soft = by_ratio[(by_ratio.metric == "Soft-NC") & (by_ratio.baseline == "normal")]
    assert soft.ratio.isna().all() and soft.value.tolist() == pytest.approx([18 / N] * 4)


def test_side_tables(values, diagnostic):
    ties = tables.tie_rules(diagnostic)
    row = cell(ties, dataset="sst", metric="NC", definition="paper", baseline="normal")
    assert row.tied == pytest.approx(2 / N)
    both = cell(tables.definitions(diagnostic), dataset="sst", metric="NC", baseline="normal")
    assert both["released - paper"] == 0 and both.published == pytest.approx((0.349 + 0.413) / 2)
    draws = tables.random_draws(tables.aopc(values))
    row = cell(draws, dataset="sst", metric="NC", definition="paper", baseline="normal")
    assert (row.draws, row.value, row.error) == pytest.approx((2, 10 / N, 0))
    single = cell(draws, dataset="sst", metric="NC", definition="paper", baseline="matched")
    assert single.draws == 1 and np.isnan(single.error)


def record(task, model, seed, accuracy):
    metrics = [
        {"metric": name, "split": "test", "value": accuracy, "n": 1821}
        for name in ("accuracy", "macro_f1", "loss")
    ]
    return {
        "unit": f"{task}.{model}.s{seed}",
        "metrics": metrics,
        "params": {"task": task, "model": model, "seed": seed},
        "provenance": {"data": {"rows": {"train": 6920, "validation": 872, "test": 1821}}},
        "excluded": [{"split": "test", "what": "text cut", "why": "too long", "n": 3 * seed}],
    }


def test_overview_tells_what_was_measured(values):
    row = cell(tables.overview(values), dataset="sst")
    assert (row.examples, row.seeds, row.attributions) == (N, 1, 2)
    assert (row["normal draws"], row["matched draws"]) == (2, 1)
    assert row["ratios (%)"] == "1, 5, 10, 20, 30, 50" and row.definitions == "paper, released"


def test_table_6_as_printed(diagnostic):
    wide = tables.diagnosticity_as_printed(diagnostic).set_index(["dataset", "attribution"])
    assert list(wide.columns) == ["NS", "Soft-NS", "NC", "Soft-NC"]
    text = wide.loc[("sst", "attention"), "NS"]
    assert text.startswith("0.300 [") and text.endswith("] (0.406)")
    assert wide.loc[("topics", "attention"), "NS"].endswith("] (0.465)")


def test_performance_and_excluded():
    records = [
        record("sst", "org/tiny", 0, 0.88),
        record("sst", "org/tiny", 1, 0.90),
        record("topics", "tiny", 0, 1.0),
    ]
    table = tables.performance(records)
    sst, topics = table.iloc[0], table.iloc[1]
    assert (sst.dataset, sst.model, sst.seeds, sst.test) == ("sst", "tiny", 2, 1821)
    assert (sst.accuracy, sst.macro_f1_sd) == pytest.approx((89, np.sqrt(2)))
    assert (sst.train_published, sst.f1_published, sst.f1_sd_published) == (6920, 90.4, 0.5)
    assert pd.isna(topics.test_published) and np.isnan(topics.macro_f1_sd)
    left_out = excluded(records)
    assert left_out.to_dict("records") == [
        {"unit": "sst.org/tiny.s1", "split": "test", "what": "text cut", "why": "too long", "n": 3}
    ]


def test_worked_examples_name_the_rationale_in_the_order_of_the_text():
    examples = pd.DataFrame(
        {
            "example": [0],
            "tokens": [["[CLS]", "a", "truly", "bad", "film", "."]],
            "scores_attention": [[0, 0.1, 0.2, 0.9, 0.3, 0.1]],
            "scores_deeplift": [[0, -1.0, 2.0, -3.0, 0.5, 1.0]],
        }
    )
    values = unit().assign(denominator=lambda v: np.where(v.example == 0, 0.9, 0.1))
    record = {"params": {"task": "sst", "model": "org/tiny", "seed": 0}}
    both = pd.concat([values, unit("topics"), unit(seed=1)], ignore_index=True)
    assert len(tables.unit_values(both, record)) == len(values)
    table = tables.worked_examples(examples, tables.unit_values(both, record), ratio=0.4)
    table = table.set_index("attribution")
    assert table.rationale.to_dict() == {"attention": "bad film", "deeplift": "truly .", "random": ""}
    assert table.loc["attention", "Soft-NC"] == pytest.approx(0.6)
    assert table.loc["random", "NC"] == pytest.approx(0.5)


def test_saved_tables(tmp_path):
    frame = pd.DataFrame({"claim": ["a_b & c < d"], "verdict": ["holds"], "ci_low": [0.123456789]})
    for _ in range(2):  # the second time over the first
        report.save_table(frame, tmp_path / "tables" / "claims", better={"ci_low": "higher"})
    assert (tmp_path / "tables/claims.csv").read_text() == (
        "claim,verdict,ci_low\na_b & c < d,holds,0.123457\n"
    )
    latex = (tmp_path / "tables/claims.tex").read_text()
    assert r"ci\_low $\uparrow$" in latex and r"a\_b \& c" in latex and "0.123" in latex
    html = (tmp_path / "tables/claims.html").read_text()
    assert "ci_low ↑" in html and "c &lt; d" in html and report.VERDICT_COLOURS["holds"] in html
    with pytest.raises(ValueError, match="no column 'value'"):
        report.styled(frame, {"value": "higher"})
    with pytest.raises(ValueError, match="'up' is no direction"):
        report.styled(frame, {"ci_low": "up"})


def draw(name, values, diagnostic, scale="quick"):
    if name == "faithfulness_by_ratio":
        return figures.faithfulness_by_ratio(tables.faithfulness_by_ratio(values), scale)
    if name == "diagnosticity_by_ratio":
        by_ratio = tables.diagnosticity_by_ratio(tables.preferences(tables.at_ratios(values)))
        return figures.diagnosticity_by_ratio(by_ratio, scale)
    return figures.hard_and_soft(diagnostic, scale)


@pytest.mark.parametrize("name", ["faithfulness_by_ratio", "diagnosticity_by_ratio", "hard_and_soft"])
def test_figures_are_the_same_bytes_every_time(name, values, diagnostic, tmp_path):
    report.use_style()
    saved = []
    for i in (0, 1):
        figure = draw(name, values, diagnostic)
        assert figure.get_figwidth() == 6.8 and "quick scale" in figure.get_suptitle()
        report.save_figure(figure, tmp_path / str(i) / name)
        files = [tmp_path / str(i) / f"{name}{kind}" for kind in (".pdf", ".svg", ".png")]
        saved.append([path.read_bytes() for path in files])
        report.plt.close(figure)
    assert saved[0] == saved[1]


def test_only_quick_figures_carry_the_note(values, diagnostic):
    figure = draw("hard_and_soft", values, diagnostic, scale="small")
    assert figure.get_suptitle() == ""
    report.plt.close(figure)


def test_each_attribution_has_one_look():
    looks = {name: tuple(map(str, report.line(name).values())) for name in report.ATTRIBUTIONS}
    assert len(set(looks.values())) == len(looks)
    new = report.line("my_method")
    assert new == report.line("my_method") and new["label"] == "my method"


def test_the_notebook_makes_its_tables_and_figures(values, tmp_path):
    folder = tmp_path / "results" / "quick" / "soft_metrics"
    folder.mkdir(parents=True)
    for dataset, part in values.groupby("dataset"):
        done = record(dataset, "org/tiny", 0, 0.9)
        part = part.assign(denominator=0.5).drop(columns=["dataset", "model", "seed"])
        path = folder / f"{done['unit'].replace('/', '-')}.parquet"
        part.to_parquet(path)
        done |= {"unit": path.stem, "files": {path.name: results.file_digest(path)}}
        done["provenance"] |= {
            "git": None,
            "dirty": False,
            "device": "cpu",
            "versions": {"torch": "2", "transformers": "5"},
        }
        path.with_suffix(".json").write_text(json.dumps(done))
    book = Path(__file__).parent.parent / "notebooks" / "reports" / "soft_metrics.ipynb"
    names = {"display": lambda shown: None}
    for code in (c for c in json.loads(book.read_text())["cells"] if c["cell_type"] == "code"):
        exec("".join(code["source"]), names)
        if "parameters" in code["metadata"].get("tags", []):
            names |= {
                "scale": "quick",
                "results_dir": str(tmp_path / "results"),
                "figures_dir": str(tmp_path / "figures"),
            }
    report.plt.close("all")
    written = {p.name for p in (folder / "tables").iterdir()}
    for table in ("performance", "diagnosticity", "faithfulness_by_ratio", "table_2", "table_3"):
        assert {f"{table}.csv", f"{table}.tex", f"{table}.html"} <= written
    table = pd.read_csv(folder / "tables" / "diagnosticity.csv")
    assert list(table.columns) == tables.TABLE_6 and len(table) == 192
    assert set(pd.read_csv(folder / "claims.csv").verdict) <= set(statistics.VERDICTS)
    assert len(list((tmp_path / "figures" / "quick" / "soft_metrics").glob("*.p*"))) == 6


def test_the_command_prints_verdicts_and_folders(preferred, tmp_path, capsys):
    folder = tmp_path / "quick" / "soft_metrics"
    folder.mkdir(parents=True)
    claims(preferred).to_csv(folder / "claims.csv", index=False)
    command.main(["quick", "--results-dir", str(tmp_path)])
    out = capsys.readouterr().out
    assert "Soft-NC above NC on average" in out and "does not hold" in out
    assert "figures/quick/soft_metrics/" in out
    assert max(map(len, out.splitlines()[:60])) <= 100
    with pytest.raises(FileNotFoundError, match="make results SCALE=small"):
        command.main(["small", "--results-dir", str(tmp_path)])
    with pytest.raises(ValueError, match="'tiny' is unknown: use one of quick, small, paper"):
        command.main(["tiny"])


def test_tables_of_one_page_do_not_share_css():
    first = report.styled(pd.DataFrame({"verdict": ["holds"]})).to_html()
    second = report.styled(pd.DataFrame({"verdict": ["inconclusive"]})).to_html()
    names = [re.search(r'id="(T_\w+)"', html).group(1) for html in (first, second)]
    assert names[0] != names[1]
    assert names[0] in report.styled(pd.DataFrame({"verdict": ["holds"]})).to_html()  # and stay the same


def test_performance_as_printed():
    table = tables.performance([record("sst", "tiny", 0, 0.9), record("imdb", "tiny", 0, 1.0)])
    shown = tables.performance_as_printed(table).set_index("dataset")
    assert shown.loc["sst", "test"].endswith(" (1821)") and "(" not in shown.loc["imdb", "test"]
    assert shown.loc["sst", "F1"].endswith(" (90.4 ± 0.5)") and "(" not in shown.loc["imdb", "F1"]


def test_intervals_stand_behind_their_values():
    nan = float("nan")
    table = pd.DataFrame(
        {
            "task": ["a", "b", "c"],
            "f1": [0.5, 0.25, nan],
            "f1_low": [0.4, nan, nan],
            "f1_high": [0.625, nan, nan],
            "auc": [1.0, 0.0, -1.0],
            "n": [3, 4, 5],
            "auc_ci_low": [0.9, -0.1, -1.0],
            "auc_ci_high": [1.0, 0.1, -0.5],
        }
    )
    shown = report.bracketed(table, precision=2)
    assert list(shown) == ["task", "f1", "auc", "n"] and shown.n.tolist() == [3, 4, 5]
    assert shown.f1.tolist() == ["0.50 [0.40, 0.62]", "0.25", ""]
    assert shown.auc.tolist() == ["1.00 [0.90, 1.00]", "0.00 [-0.10, 0.10]", "-1.00 [-1.00, -0.50]"]
    assert len(table.columns) == 8 and report.bracketed(shown).equals(shown)
