"""The benchmark runs on tiny models and writes what the README shows; nothing here depends on time."""

import json
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def benchmarks():
    """The modules; what importing them sets for their process is undone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(name, "1")
        threads = torch.get_num_threads()
        from benchmarks import attributions, bounds, masf, memory, tables, workloads

        yield {m.__name__.split(".")[1]: m for m in (attributions, bounds, masf, memory, tables, workloads)}
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def run(benchmarks, tmp_path_factory):
    """A run on tiny models: the folder it wrote to."""
    folder = tmp_path_factory.mktemp("benchmarks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        benchmarks["attributions"].main(["--quick", "--repeats", "1", "--folder", str(folder)])
    return folder


def test_columns(run, benchmarks):
    speed = pd.read_csv(run / "attributions.csv")
    assert list(speed)[:7] == [
        "task",
        "model",
        "method",
        "implementation",
        "sequences_per_cpu_second",
        "ratio_to_bound",
        "ratio_to_ours",
    ]
    assert list(speed)[7:] == ["sequences", "spread", "fraction_of_peak", "largest_difference", "correlation"]
    assert list(pd.read_csv(run / "memory.csv")) == benchmarks["memory"].COLUMNS
    where = json.loads((run / "attributions.json").read_text())
    assert {
        "host",
        "device",
        "threads",
        "repeats",
        "token_budget",
        "peak_gflop_per_second",
        "git",
        "versions",
    } <= set(where)
    assert "captum" in where["versions"] and where["threads"] == 1


def test_every_method_has_a_bound_and_a_row_of_ours(run):
    speed = pd.read_csv(run / "attributions.csv")
    assert speed.model.nunique() == 3
    for _, part in speed.groupby(["model", "method"]):
        ratios = part.set_index("implementation")
        assert ratios.ratio_to_bound["bound"] == 1 and ratios.ratio_to_ours["faithlib"] == 1
        assert ratios.ratio_to_ours["bound"] == pytest.approx(1 / ratios.ratio_to_bound["faithlib"], rel=1e-2)
    assert (speed.sequences_per_cpu_second > 0).all() and speed.fraction_of_peak.between(0, 2).all()


def test_peers_give_our_scores(run):
    speed = pd.read_csv(run / "attributions.csv")
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
        columns=[
            "model",
            "method",
            "implementation",
            "sequences_per_cpu_second",
            "ratio_to_ours",
            "largest_difference",
        ],
    ).assign(ratio_to_bound=0.5)


def test_targets_say_yes_and_no(benchmarks):
    held = pd.DataFrame(columns=benchmarks["memory"].COLUMNS)
    for bound, met in ((1.1, "yes"), (1.2, "**no**")):  # 1/1.1 = 0.909, 1/1.2 = 0.833
        table = benchmarks["tables"].targets(speed_of(bound=(bound, None), faithlib=(1, None)), held)
        row = table[table.what == "all-MiniLM-L6-v2, x⊙grad"].iloc[0]
        assert row.met == met and row.measured == pytest.approx(1 / bound)
        assert (table.met == "not measured").sum() == len(table) - 1
    rows = [
        ("Grad L2", "faithlib", 10, 1000),
        ("Grad L2", "one-hot input", 101, 1000),
        ("Grad L2", "gradient times embedding table", 99, 1000),
        ("leave-one-out ±", "faithlib", 1, 2049),
    ]
    held = pd.DataFrame(rows, columns=["method", "implementation", "mib_above_loaded", "mib_total"])
    held = held.assign(model="m", ratio_to_ours=held.mib_above_loaded / [10, 10, 10, 1])
    table = benchmarks["tables"].targets(speed_of(faithlib=(1, None)), held)
    assert table.met.tolist()[-3:] == ["yes", "**no**", "**no**"]


def test_the_fastest_peer_computes_the_same(benchmarks):
    speed = speed_of(
        bound=(1.1, None),
        faithlib=(1, None),
        **{
            "captum, defaults": (0.5, 1e-6),
            "captum, batched": (0.8, 1e-6),
            "captum, other scores": (0.9, 0.7),
        },
    )
    (row,) = benchmarks["tables"].compact(speed).to_dict("records")
    assert row["which"] == "captum, batched" and row["× fastest peer"] == pytest.approx(1.25)
    assert row["× peer at its defaults"] == 2
    text = benchmarks["tables"].markdown(benchmarks["tables"].compact(speed))
    assert text.splitlines()[2] == "| all-MiniLM-L6-v2 | x⊙grad | 100 | 0.5 | 2 | 1.25 | captum, batched |"


def test_masf_is_timed_beside_all_pairs(benchmarks, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    masf = benchmarks["masf"]
    masf.main(["--quick", "--repeats", "1", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "masf.csv")
    assert table.reference.tolist() == 3 * [10] + 3 * [40] and (table.times_as_fast[::3] == 1).all()
    assert json.loads((tmp_path / "masf.json").read_text())["threads"] == 1
    assert masf.verdict(table.assign(times_as_fast=[1, 2, 3, 1, 49, 50])).endswith("missed, met")


def test_noiser_gives_what_the_loop_gives(benchmarks, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.syspath_prepend(str(ROOT))
        from benchmarks import noiser

        noiser.main(["--quick", "--repeats", "1", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "noiser.csv")
    assert table.implementation.tolist() == ["loop", "faithlib"] * 2 and (table.prompts_per_minute > 0).all()
    assert (table.largest_difference_k < 1e-3).all() and (table.largest_difference_scores < 1e-4).all()
    assert table.k_min_median.between(0, 1).all() and (table.ratio_to_loop[::2] == 1).all()
    where = json.loads((tmp_path / "noiser.json").read_text())
    assert (where["threads"], where["noise"], where["halvings"]) == (1, 10, 10)
    assert noiser.verdict(table.assign(ratio_to_loop=4.5)).endswith("≥ 4: met")
    assert noiser.verdict(table.assign(ratio_to_loop=[1, 4.5, 1, 3.9])).startswith("at least 3.9 times")
