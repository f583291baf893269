"""The benchmark runs on tiny models and writes what the README shows; nothing here depends on time."""

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
SMALL = {"quick": True, "train": 40, "epochs": 1, "seed": 0, "texts": 1, "data_dir": None, "model_dir": ""}


@pytest.fixture(scope="module")
def benchmarks():
    """The modules; what importing them sets for their process is undone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(name, "1")
        threads = torch.get_num_threads()
        names = "attributions bounds masf memory noiser precision study study_captum tables workloads"
        yield {name: import_module(f"benchmarks.{name}") for name in names.split()}
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def run(benchmarks, tmp_path_factory):
    """A run on tiny models: the folder it wrote to."""
    folder = tmp_path_factory.mktemp("benchmarks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        benchmarks["attributions"].main(["--quick", "--repeats", "1", "--folder", str(folder)])
    return folder


def test_columns(run):
    speed = pd.read_csv(run / "attributions.csv")
    assert (
        list(speed)[:7]
        == ("task model method implementation sequences_per_cpu_second ratio_to_bound ratio_to_ours").split()
    )
    assert list(speed)[7:12] == "sequences spread fraction_of_peak largest_difference correlation".split()
    record = json.loads((run / "attributions.json").read_text())
    assert set("host device threads repeats token_budget peak_gflop_per_second git versions".split()) <= set(
        record
    )
    assert "captum" in record["peers"] and record["threads"] == 1


def test_every_method_has_a_bound_and_a_row_of_ours(run):
    speed = pd.read_csv(run / "attributions.csv")
    assert speed.model.nunique() == 4
    speed = speed[speed.sequences.notna()]  # the others have a note
    for _, part in speed.groupby(["model", "method"]):
        ratios = part.set_index("implementation")
        assert ratios.ratio_to_bound["bound"] == 1 and ratios.ratio_to_ours["faithlib"] == 1
        assert ratios.ratio_to_ours["bound"] == pytest.approx(1 / ratios.ratio_to_bound["faithlib"], rel=1e-2)
    assert (speed.sequences_per_cpu_second > 0).all() and speed.fraction_of_peak.between(0, 2).all()


def test_half_precision_beside_float32(run):
    speed = pd.read_csv(run / "attributions.csv").set_index("implementation")
    ours = speed.loc["faithlib, bfloat16"]
    assert set(ours.method) == {"x⊙grad", "IG 20 ±", "leave-one-out ±", "LIME 100"}
    assert (ours[ours.method != "LIME 100"].correlation > 0.9).all()
    assert (ours[ours.method != "LIME 100"].largest_difference > 0).any()
    compiled = speed.loc[["faithlib, compiled"]]
    assert compiled.method.tolist() == ["leave-one-out ±"] and (compiled.largest_difference < 1e-4).all()
    notes = speed.note.dropna().astype(str)
    assert notes.index.str.startswith("inseq").all() and notes.str.contains("Error").all()
    if find_spec("captum"):
        captum = speed.loc[["captum, 32 at a time, bfloat16", "captum, 32 at a time, autocast"]]
        assert (captum[captum.method == "leave-one-out ±"].correlation > 0.9).all()


def test_peers_give_our_scores(run):
    speed = pd.read_csv(run / "attributions.csv")
    speed = speed[~speed.implementation.str.contains("bfloat16|autocast")]
    captum = speed[speed.implementation.str.startswith("captum") & speed.largest_difference.notna()]
    captum = captum[~captum.implementation.str.contains("norms over the width")]
    assert (len(captum) > 0) == (find_spec("captum") is not None)
    assert (captum.largest_difference < 1e-4).all()
    inseq = speed[speed.implementation.str.startswith("inseq") & speed.largest_difference.notna()]
    assert (len(inseq) > 0) == (find_spec("inseq") is not None)
    assert (inseq.largest_difference < 1e-3).all()


@pytest.mark.parametrize("kind", ["encoder", "Llama", "GPT-2"])
def test_the_bound_makes_the_passes_it_is_asked_for(benchmarks, kind, monkeypatch):
    make, bounds = benchmarks["workloads"], benchmarks["bounds"]
    work = make.encoder(quick=True) if kind == "encoder" else make.causal(kind, quick=True)
    model, logits = bounds._model(work.model), []
    batch = work.model.collate(work.encodings)
    torch.testing.assert_close(model(batch.present.long(), input_ids=batch.ids), work.model.logits(batch))

    def counted(present, **inputs):
        logits.append(model(present, **inputs))
        return logits[-1]

    monkeypatch.setattr(bounds, "_model", lambda model: counted)
    for bound in (bounds.forward, bounds.backward):
        logits.clear()
        bound(work, [2, 0, 5])()
        assert sum(len(part) for part in logits) == 7
        assert all(part.shape[1] == work.model.outputs for part in logits)


def test_workloads_are_of_the_size_they_claim(benchmarks):
    work = benchmarks["workloads"].causal("Llama", quick=True)
    assert [len(e.ids) for e in work.encodings] == [6, 6, 6]
    assert (work.targets >= benchmarks["workloads"].SPECIAL).all()
    again = benchmarks["workloads"].causal("Llama", quick=True)
    assert again.texts == work.texts and (again.targets == work.targets).all()


def test_flop_are_counted(benchmarks):
    a, b = torch.rand(3, 5), torch.rand(5, 7)
    with benchmarks["attributions"].Flops() as counter:
        with torch.inference_mode():
            torch.nn.functional.linear(a, b.T)
        assert counter.total == 2 * 3 * 5 * 7
        a @ b
    assert counter.total == 2 * 2 * 3 * 5 * 7


def speed_of(**ours):
    rows = [
        ("all-MiniLM-L6-v2", "x⊙grad", name, 100 * value, value, difference)
        for name, (value, difference) in ours.items()
    ]
    return pd.DataFrame(
        rows,
        columns=(
            "model method implementation sequences_per_cpu_second ratio_to_ours largest_difference"
        ).split(),
    ).assign(ratio_to_bound=0.5)


def test_targets_say_yes_and_no(benchmarks):
    tables = benchmarks["tables"]
    for bound, met in ((1.1, "yes"), (1.2, "**no**")):  # 1/1.1 = 0.909, 1/1.2 = 0.833
        table = tables.targets({"attributions": speed_of(bound=(bound, None), faithlib=(1, None))})
        row = table[table.what == "all-MiniLM-L6-v2, x⊙grad, × bound"].iloc[0]
        assert row.met == met and row.measured == f"{1 / bound:.4g}"
        assert (table.met == "not measured").sum() == len(table) - 1
    rows = [
        ("m", "Grad L2", "faithlib", 10, 1000, 8),
        ("m", "Grad L2", "one-hot input", 101, 1000, 8),
        ("m", "Grad L2", "gradient times embedding table", 99, 1000, 8),
        ("m", "leave-one-out ±", "faithlib", 1, 2049, 8),
        ("a Llama of 1B", "leave-one-out ±", "faithlib", 5000, 9000, 1),
        ("a Llama of 1B", "leave-one-out ±", "faithlib, budget=1024", 1024, 9000, 1),
    ]
    names = ["model", "method", "implementation", "mib_above_loaded", "mib_total", "examples"]
    held = pd.DataFrame(rows, columns=names).assign(ratio_to_ours=[1, 10.1, 9.9, 1, 1, 0.2])
    table = tables.targets({"memory": held})
    measured = table[table.met != "not measured"]
    assert measured.met.tolist() == ["yes", "**no**", "**no**", "yes"]
    assert measured.measured.tolist() == ["10.1", "9.9", "2,049", "1,024"]


def test_in_bfloat16_the_fastest_peer_is_one_in_bfloat16(benchmarks):
    rows = {
        "bound": (1, None), "faithlib": (1, None), "faithlib, bfloat16": (2.5, 0.1),
        "captum, b": (0.9, 1e-6), "captum, b, bfloat16": (2, 0.1), "captum, b, autocast": (1.5, 0.1),
    }  # fmt: skip
    speed = speed_of(**rows).assign(method="leave-one-out ±")
    table = benchmarks["tables"].targets({"attributions": speed}).set_index("what")
    name = "all-MiniLM-L6-v2, leave-one-out ±, bfloat16, × the fastest peer"
    assert table.measured[name] == "2.778" and table.measured[f"{name} in bfloat16"] == "1.25"
    assert len(benchmarks["tables"].halves(speed)) == 3


def test_a_gpus_share_of_its_bound_and_what_is_not_measured_without_one(tmp_path, monkeypatch, capsys):
    from benchmarks import gpu

    gpu.main(["--quick", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "gpu.csv").set_index("what")
    assert list(table.index[1:]) == ["encoder", "language model", "MiniLM, training", "BiLSTM, training"]
    assert (table["a second"][1:] > 0).all() and (table.share[1:] > 0).all()
    assert table["rows a call"].host == 200  # all in one pass
    assert "encoder: share" in capsys.readouterr().out
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(gpu, "host", lambda count: {"what": "host", "µs a sequence": 1.0})
    gpu.main(["--device", "cuda", "--folder", str(tmp_path / "none")])
    assert "No GPU: passes, training and their bound are not measured" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_the_page_shows_the_committed_results(benchmarks):
    tables = benchmarks["tables"]
    text = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
    assert tables.page(text, tables.read(ROOT / "results/benchmarks")) == text


def test_the_fastest_peer_computes_the_same(benchmarks):
    peers = {
        "captum, defaults": (0.5, 1e-6),
        "captum, batched": (0.8, 1e-6),
        "captum, other scores": (0.9, 0.7),
    }
    speed = speed_of(bound=(1.1, None), faithlib=(1, None), **peers)
    (row,) = benchmarks["tables"].compact(speed).to_dict("records")
    assert row["which"] == "captum, batched" and row["× fastest peer"] == pytest.approx(1.25)
    assert row["× peer at its defaults"] == 2
    text = benchmarks["tables"].as_markdown(benchmarks["tables"].compact(speed))
    assert text.splitlines()[2] == "| all-MiniLM-L6-v2 | x⊙grad | 100 | 0.5 | 2 | 1.25 | captum, batched |"


@pytest.mark.slow  # test_masf.py compares with all pairs
def test_masf_is_timed_beside_all_pairs(benchmarks, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    benchmarks["masf"].main(["--quick", "--repeats", "1", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "masf.csv")
    assert table.reference.tolist() == 3 * [10] + 3 * [40] and (table.times_as_fast[::3] == 1).all()
    assert json.loads((tmp_path / "masf.json").read_text())["threads"] == 1


def test_memory_is_of_every_measure(benchmarks, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    memory = benchmarks["memory"]
    memory.main(["--quick", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "memory.csv")
    assert list(table)[-3:] == ["mib_above_loaded", "mib_total", "ratio_to_ours"]
    assert len(table) == len(memory.MEASURES)
    assert table.tokens[table.implementation.str.contains("budget")].tolist() == [100]


def test_a_study_beside_its_distinct_passes(benchmarks):
    work, study = benchmarks["workloads"].encoder(quick=True), benchmarks["study"]
    encodings = [*work.encodings, work.encodings[0]]
    with study.counted(work.model) as seen:
        for e in encodings:
            work.model.logits(work.model.collate([e]))
        batch = work.model.collate(encodings[:2])
        embeddings = work.model.embed(batch.ids).requires_grad_()
        work.model.logits(batch, embeddings=embeddings)
    lengths = [len(e.ids) for e in work.encodings]
    assert sum(seen.values()) == 6 and len(seen) == 5
    expected = [(n, False) for n in lengths] + [(n, True) for n in lengths[:2]]
    assert sorted(key[:2] for key in seen) == sorted(expected)
    passes, logits = [], work.model.model.forward

    def counted(*args, **inputs):
        passes.append(inputs["attention_mask"])
        return logits(*args, **inputs)

    work.model.model.forward = counted
    study.replay(work.model, seen)()
    assert sum(len(present) for present in passes) == 5
    assert sum(int(present.sum()) for present in passes) == sum(lengths) + sum(lengths[:2])


@pytest.mark.slow
def test_a_first_study_beside_captum_and_a_loop(benchmarks, tmp_path):
    benchmarks["study_captum"].main(["--quick", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "study_captum.csv")
    assert len(table) == 4 and (table.largest_difference < 1e-4).all()


@pytest.mark.slow
def test_the_line_before_a_study_beside_its_seconds(benchmarks, tmp_path):
    from benchmarks import estimate

    estimate.main(["--quick", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "estimate.csv")
    assert len(table) == len(estimate.SET_UPS) and (table.times_off >= 1).all()


@pytest.mark.slow
def test_precision_of_every_kind_of_model(benchmarks, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    precision = benchmarks["precision"]
    precision.main(["--quick", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "precision.csv")
    assert table.model.nunique() == 3 and set(table.dtype) == {"float32", "bfloat16"}
    for model, part in table.groupby("model"):
        assert set(precision.METHODS) <= set(part.method)
        assert ("causal_soft_nc" in set(part.method)) == ("Llama" in model or "llama" in model)
    whole = table[table.dtype == "float32"]
    assert (whole.spearman_min == 1).all() and (whole.change_in_se == 0).all()


def test_which_models_keep_the_rule_of_half_precision(benchmarks):
    half = [
        ["a", "fine_tuning", np.nan, -0.9, 3], ["a", "lime", 0.98, 0.2, 400],
        ["a", "nc", np.nan, np.nan, 400], ["b", "fine_tuning", np.nan, 1.1, 3],
        ["b", "lime", 0.97, 0.0, 24], ["b", "nc", np.nan, -0.3, 24],
    ]  # fmt: skip
    table = pd.DataFrame(half, columns=["model", "method", "spearman_mean", "change_in_se", "n"])
    rows = benchmarks["tables"].rule(table.assign(dtype="bfloat16")).values.tolist()
    assert rows == [["a", 3, "", 400], ["b", 0, "fine_tuning, lime, nc", 24]]


def test_seconds_are_replaced_and_comparisons_kept(benchmarks):
    precision = benchmarks["precision"]
    whole = ["m", "lime", "float32", 9.0, 1.0, 1.0, 1.0, 0.0, 400]
    half = ["m", "lime", "bfloat16", 8.0, 1.1, 0.99, 0.9, 0.1, 400]
    old = pd.DataFrame([whole, half], columns=precision.COLUMNS)
    new = old.assign(seconds=[2, 1], ratio=[1, 2], spearman_mean=0.5, n=40)
    mixed = precision.merged(old, new, seconds_only=True)
    assert mixed.seconds.tolist() == [2, 1] and mixed.ratio.tolist() == [1, 2]
    assert mixed.spearman_mean.tolist() == [1, 0.99] and mixed.n.tolist() == [400, 400]
    again = precision.merged(old, new[new.dtype == "bfloat16"], seconds_only=False)
    assert again.n.tolist() == [400, 40] and again.dtype.tolist() == ["float32", "bfloat16"]


@pytest.mark.slow  # attributions/test_noiser.py compares with loops
def test_noiser_gives_what_the_loop_gives(benchmarks, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    benchmarks["noiser"].main(["--quick", "--repeats", "1", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "noiser.csv")
    assert table.implementation.tolist() == ["loop", "faithlib"] * 2 and (table.prompts_per_minute > 0).all()
    assert (table.largest_difference_k < 1e-3).all() and (table.largest_difference_scores < 1e-4).all()
    assert table.k_min_median.between(0, 1).all() and (table.ratio_to_loop[::2] == 1).all()
    record = json.loads((tmp_path / "noiser.json").read_text())
    assert (record["threads"], record["noise"], record["halvings"]) == (1, 10, 10)


def test_the_soft_metrics_release_step_by_step(benchmarks, tmp_path):
    from benchmarks import released_soft_metrics as steps

    steps.main(["--quick", "--texts", "4", "--train", "40", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "soft_metrics_as_released.csv")
    assert table.step.unique().tolist() == list(steps.STEPS) and len(table) == 4 * 5 * 4
    assert (table.strict <= table.half).all() and (table.half <= table.at_least).all()
    classifier, (encoding, *_), *_ = steps.fine_tuned(SimpleNamespace(**SMALL))
    scored = steps.with_separator(encoding)
    plan, scores = steps.soft.Settings(definition="released"), np.arange(len(scored.ids), dtype=float)
    rows = steps.kept_separator(classifier, scored, scores, plan, ("a", "", 0, "released", "hard"))
    sufficient, comprehensive = (variant.encoding.ids for _, (variant,) in [*rows][:2])  # of 1 % of tokens
    assert comprehensive.tolist() == encoding.ids.tolist()  # the separator ranks first, and nothing is erased
    assert sufficient[-1] == encoding.ids[-1] and (sufficient[1:-1] == 0).all()
