"""The committed results: whole, complete, and what the tables were made from."""

import io

import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest

from faithlib.metrics.plausibility import BETTER
from notebooks.soft_metrics import tables
from notebooks.soft_metrics.claims import claims
from replication import results
from replication.claims import CLAIMS

FOLDER = results.project_root() / "results" / "small" / "soft_metrics"
FULL_GRID = True  # as in what is committed
DATASETS = {"ag_news", "evidence_inference", "multirc", "sst"}


@pytest.fixture(scope="module")
def records():
    return [results.read_record(path) for path in sorted(FOLDER.glob("*.json"))]  # compares all hashes


def of(records, task):
    return [record for record in records if record["params"]["task"] == task]


def test_records_are_of_the_papers_data_sets_and_of_clean_commits(records):
    assert {"sst"} <= {record["params"]["task"] for record in records} <= DATASETS
    assert not any(record["provenance"]["dirty"] for record in records)


def test_all_of_sst_is_explained_by_three_models_that_work(records):
    assert {record["params"]["seed"] for record in of(records, "sst")} >= {0, 1, 2}
    for sst in of(records, "sst"):
        accuracy = next(m for m in sst["metrics"] if m["metric"] == "accuracy")
        assert accuracy["n"] == 1821 and accuracy["value"] >= 0.86
        assert sst["provenance"]["examples"] == {"of": 1821, "n": 1821, "varied": 400}


def test_no_text_of_a_real_data_set_is_committed(records):
    files = [name for record in records for name in record["files"]]
    assert len(files) == len(records)  # the values only, no file of examples
    for name in files:
        assert "text" not in pd.read_parquet(FOLDER / name).columns


def test_strategies_that_are_compared_as_pairs_ran_on_one_device():
    table = pd.read_csv(FOLDER.parent / "fmm/tables/seeds.csv")  # some of them in a variant of their own
    places = table.groupby(["dataset", "model"])[["device", "torch"]].nunique()
    assert (places == 1).all(axis=None) and table.variant.notna().any()


def is_text(kind):
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


FORMS = {  # of columns whose texts are long
    "job": r"^(unmasked|all-masked|[a-z0-9_]{1,40}\.(ratio|count)\d+(-\d+)*)$",  # a model of ROAR
    "corpus": r"^[0-9a-f]{64}$",  # the SHA-256 of planted texts
}
SMALL = sorted((results.project_root() / "results/small").glob("*/*.json"))


@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.name}: {path.stem}")
def test_every_record_is_whole_and_of_a_clean_commit_and_holds_no_text_of_others(path):
    record = results.read_record(path)
    assert not record["provenance"]["dirty"]
    if record["provenance"]["data"]["source"] != "generated":
        for name in record["files"]:
            table = pq.read_table(path.with_name(name))
            assert not {"text", "text_b", "prompt"} & set(table.column_names), name
            for kind, column in zip(table.column_names, table.columns, strict=True):
                assert not (pa.types.is_list(column.type) and is_text(column.type.value_type)), name
                if not is_text(column.type):
                    continue
                if kind in FORMS:
                    assert pa.compute.all(pa.compute.match_substring_regex(column, FORMS[kind])).as_py(), name
                else:  # the name of an attribution and the like, and no token list
                    assert pa.compute.max(pa.compute.utf8_length(column)).as_py() <= 40, name


def test_tables_have_the_columns_that_readers_rely_on(records):
    diagnosticity = pd.read_csv(FOLDER / "tables" / "diagnosticity.csv")
    assert set(
        "dataset attribution metric definition baseline value ci_low ci_high n published".split()
    ) <= set(diagnosticity)
    assert set(diagnosticity.dataset) == {record["params"]["task"] for record in records}
    rows = diagnosticity[diagnosticity.ci_low.notna()]
    assert len(rows) and rows.value.between(rows.ci_low - 1e-9, rows.ci_high + 1e-9).all()
    assert set(CLAIMS) <= set(pd.read_csv(FOLDER / "claims.csv"))


@pytest.mark.slow
def test_tables_and_claims_are_what_the_records_give(records):
    _, values = results.load("results", "small", "soft_metrics")
    preferred = tables.preferences(tables.aopc(values))
    made = {"claims": claims(records, values, "small")[0]}
    made["tables/diagnosticity"] = tables.diagnosticity(preferred)
    for name, frame in made.items():
        frame = pd.read_csv(io.StringIO(frame.to_csv(index=False)))  # a table keeps six digits
        committed = pd.read_csv(FOLDER / f"{name}.csv")
        pd.testing.assert_frame_equal(frame, committed, check_dtype=False, rtol=1e-5, atol=1e-6)


def test_the_table_of_evidence_holds_every_method_on_every_generated_corpus():
    table = pd.read_csv(results.project_root() / "results/small/attributions/tables/evidence.csv")
    assert set(table.dataset) >= {"relation", "sentiment", "topics"}
    generated = table.model == "tiny-bert"
    for _, part in table[generated].groupby("dataset"):
        assert set(part.attribution) >= set(
            (
                "attention attention_rollout gradient_l1 gradient_l2 input_x_gradient_abs "
                "deeplift integrated_gradients sequential_integrated_gradients gradient_shap lime "
                "leave_one_out leave_one_out_abs beam random_uniform random_normal"
            ).split()
        )
    for metric in BETTER:
        assert table[metric].between(table[f"{metric}_ci_low"], table[f"{metric}_ci_high"]).all()
    # Where the model is right and the evidence known, methods are above chance, and noise is not.
    above = (table.auprc_ci_low > table.auprc_chance).set_axis(table.attribution)
    gain = above[generated.to_numpy()]
    assert gain[["integrated_gradients_abs", "leave_one_out_abs", "lime", "beam"]].all()
    assert not above[["random_uniform", "random_normal"]].any()


def test_the_card_of_attributions_says_what_is_not_told_from_a_random_order():
    folder = results.project_root() / "results/small/attributions"
    table, verdicts = pd.read_csv(folder / "tables/evidence.csv"), pd.read_csv(folder / "claims.csv")
    marked = verdicts[verdicts.claim.str.endswith(" above a random order, by marked rationales")]
    unclear = {claim.split()[0] for claim in marked.claim[~marked.verdict.str.startswith("holds")]}
    assert unclear == {"attention", "scaled_attention", "lime", "random_uniform", "random_normal"}
    (texts,) = {(row.n, row.no_value) for row in table[table.model != "tiny-bert"].itertuples()}
    card = (results.project_root() / "notebooks/attributions/README.md").read_text(encoding="utf-8")
    assert "attention, scaled attention and LIME are not distinguished from a random order" in card
    assert texts == (37, 3) and "3 of the 40 abstracts have no marked word left" in card
