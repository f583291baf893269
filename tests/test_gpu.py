"""Everything once on a GPU, compared with the same on the CPU: run with -m gpu."""

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from scipy.stats import spearmanr

from faithlib import attributions, evaluate, models
from faithlib.attributions.releases import RELEASED
from faithlib.engine import batching, forward
from faithlib.metrics import masf
from faithlib.models import placement
from faithlib.training import fine_tuning as training

DEVICE = "cuda"
GPUS = torch.cuda.device_count()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not GPUS, reason="needs a CUDA device")]

KINDS = ("tiny-bert", "bilstm", "tiny-llama")
TEXTS = ["the plot was great and the cast was good", "a dull film", "the cast was dull and the plot was good"]
SETTINGS = dict(beam=2, steps=4, samples=20, noise=3, halvings=4, probes=2, rounds=2)
# Near a tie rounding decides: which token flips the prediction, or is masked first.
DECIDED = {"noiser", "beam"}
PAIRS = [(kind, dtype) for kind in KINDS for dtype in ("float32", "bfloat16", "float16")]
PAIRS.remove(("bilstm", "float16"))


@pytest.fixture(autouse=True)
def exact():
    """No TF32, whose products have ten bits."""
    backends = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [backend.allow_tf32 for backend in backends]
    for backend in backends:
        backend.allow_tf32 = False
    yield
    for backend, allowed in zip(backends, before, strict=True):
        backend.allow_tf32 = allowed


def loaded(kind, device, dtype="float32"):
    if kind == "tiny-llama":
        return models.load_causal(kind, TEXTS, device=device, dtype=dtype)
    return models.load(kind, ("no", "yes"), TEXTS, device=device, dtype=dtype)


def close(one, two, tolerance):
    """Whether scores [(tokens,)] agree to a share of their largest value."""
    one, two = np.concatenate(one), np.concatenate(two)
    return np.abs(one - two).max() <= tolerance * max(1, np.abs(one).max())


@pytest.mark.parametrize("kind, dtype", PAIRS)
def test_every_attribution(kind, dtype):
    cpu, gpu = loaded(kind, "cpu", dtype), loaded(kind, DEVICE, dtype)
    encodings, targets = cpu.encode(TEXTS), [1] * len(TEXTS)
    names = tiny.methods() if kind == "bilstm" else attributions.names()
    one, two = (attributions.attribute(m, encodings, targets, names, **SETTINGS) for m in (cpu, gpu))
    for name in names:
        assert all(np.isfinite(row).all() for row in two[name]), name
        if dtype == "float32" and name not in DECIDED:
            assert close(one[name], two[name], 1e-3), name
        elif name in ("gradient_l2", "attention", "input_x_gradient"):
            assert spearmanr(np.concatenate(one[name]), np.concatenate(two[name]))[0] > 0.8, name


@pytest.mark.parametrize("paper, kind", [("soft_metrics", "tiny-bert"), ("saloss", "tiny-bert"),
                                         ("fmm", "tiny-bert"), ("recursive_roar", "bilstm"),
                                         ("noiser", "tiny-llama")])  # fmt: skip
def test_every_released_attribution(paper, kind):
    names = [name for of, name in RELEASED if of == paper]
    arguments = [1] * len(TEXTS), names, "released", paper
    one, two = (
        attributions.attribute(model, model.encode(TEXTS), *arguments, **SETTINGS)
        for model in (loaded(kind, "cpu"), loaded(kind, DEVICE))
    )
    for name in set(names) - DECIDED:
        assert close(one[name], two[name], 1e-2), name  # divided by sums that may be small
    assert all(np.isfinite(row).all() for name in names for row in two[name])


@pytest.mark.parametrize("kind, dtype", PAIRS)
def test_every_metric(kind, dtype):
    data = pd.DataFrame({"text": TEXTS, "evidence": [[0]] * len(TEXTS)})
    scores = ["random_uniform"]  # the same on every device, so that only metrics differ
    one, two = (evaluate(loaded(kind, device, dtype), data, scores) for device in ("cpu", DEVICE))
    assert list(one.table.metric) == list(two.table.metric)
    if dtype == "float32":
        steps = two.values.metric == "decision_flip"  # a class near a tie
        values = [study.values.value[~steps].to_numpy() for study in (one, two)]
        assert np.allclose(*values, atol=1e-3, equal_nan=True)
    assert (two.table.n + two.table.void == len(TEXTS)).all()


@pytest.mark.parametrize("kind, dtype", PAIRS)
def test_probabilities(kind, dtype):
    cpu, gpu = loaded(kind, "cpu", dtype), loaded(kind, DEVICE, dtype)
    variants = [forward.unchanged(e) for e in cpu.encode(TEXTS)]
    one, two = (forward.probabilities(model, variants) for model in (cpu, gpu))
    assert two.dtype == np.float32
    assert np.abs(one - two).max() < {"float32": 1e-5, "bfloat16": 5e-2, "float16": 1e-2}[dtype]


def test_hidden_states():
    one, two = (masf.signals(m, m.encode(TEXTS)) for m in (loaded("tiny-bert", d) for d in ("cpu", DEVICE)))
    assert np.abs(one - two).max() < 1e-4


@pytest.mark.parametrize("kind", ["tiny-bert", "bilstm"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("settings", [{}, {"accumulate": 2}, {"checkpointing": True}, {"masking": "half"}])
def test_training(kind, dtype, settings):
    if kind == "bilstm" and "checkpointing" in settings:
        pytest.skip("a BiLSTM has no layers to compute again")
    histories = []
    for device in ("cpu", DEVICE):
        model = loaded(kind, device, dtype)
        split = model.encode(TEXTS * 4), np.array([1, 0, 1] * 4)
        data = {"train": split, "validation": split}
        recipe = {"epochs": 6, "batch_size": 4, "learning_rate": 2e-3} | settings
        histories.append(training.fine_tune(model, data, **recipe))
        assert model.device.type == torch.device(device).type
    one, two = (np.array([row["train_loss"] for row in history]) for history in histories)
    assert two[-1] < two[0]
    assert np.abs(one - two).max() < (1e-2 if dtype == "float32" else 0.2)


def test_training_with_salience():
    losses = []
    for device in ("cpu", DEVICE):
        model = loaded("tiny-bert", device)
        encodings = model.encode(TEXTS)
        salience = [e.maskable / e.maskable.sum() for e in encodings]
        split = encodings, np.array([1, 0, 1])
        history = training.fine_tune(model, {"train": split, "validation": split}, epochs=2, batch_size=3,
                                     learning_rate=1e-3, salience=salience, salience_weight=1.0)  # fmt: skip
        losses.append([row["salience_loss"] for row in history])
    assert np.abs(np.subtract(*losses)).max() < 1e-3


def test_the_budget_is_that_of_the_free_memory():
    model = loaded("tiny-bert", DEVICE)
    tokens, free = batching.limits(model)
    assert 1 <= tokens <= batching.TOKEN_BUDGET[DEVICE] * model.model.lightness and free > 0


# Large models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bert", "llama"])
@pytest.mark.parametrize("place", ["auto", "cpu", "disk"])
def test_a_device_map(kind, place, tmp_path):
    """Weights on the GPU; or the last layer and the head in memory or on disk, loaded when they run."""
    pytest.importorskip("accelerate")
    built = tiny.causal("llama") if kind == "llama" else tiny.classifier("bert")
    built.model.save_pretrained(tmp_path)
    built.tokenizer.save_pretrained(tmp_path)
    last = {
        "bert": ["bert.encoder.layer.1", "bert.pooler", "classifier"],
        "llama": ["model.layers.1", "model.norm", "lm_head"],
    }[kind]
    first = {
        "bert": ["bert.embeddings", "bert.encoder.layer.0"],
        "llama": ["model.embed_tokens", "model.layers.0", "model.rotary_emb"],
    }[kind]
    layers = "auto" if place == "auto" else {**dict.fromkeys(first, 0), **dict.fromkeys(last, place)}
    if kind == "llama":
        spread = models.load_causal(str(tmp_path), device_map=layers)
    else:
        spread = models.load(str(tmp_path), tiny.LABELS, device_map=layers)
    assert spread.device.type == DEVICE and placement.offloaded(spread.model) == (place != "auto")
    same_scores(built, spread)


@pytest.mark.skipif(GPUS < 2, reason="needs two CUDA devices")
@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_two_gpus(kind, tmp_path):
    pytest.importorskip("accelerate")
    built = tiny.causal("llama") if kind == "llama" else tiny.classifier("bert")
    built.model.save_pretrained(tmp_path)
    built.tokenizer.save_pretrained(tmp_path)
    if kind == "llama":
        names = ["model.embed_tokens", "model.layers.0", "model.rotary_emb"]
        layers = {**dict.fromkeys(names, 0), **dict.fromkeys(["model.layers.1", "model.norm", "lm_head"], 1)}
        spread = models.load_causal(str(tmp_path), device_map=layers)
        whole = models.load_causal(str(tmp_path), device="cuda:1")
    else:
        names = ["bert.encoder.layer.1", "bert.pooler", "classifier"]
        layers = {"bert.embeddings": 0, "bert.encoder.layer.0": 0, **dict.fromkeys(names, 1)}
        spread = models.load(str(tmp_path), tiny.LABELS, device_map=layers)
        whole = models.load(str(tmp_path), tiny.LABELS, device="cuda:1")
    assert whole.device == torch.device("cuda", 1) and len(placement.devices(spread.model)) == 2
    same_scores(built, whole)
    same_scores(built, spread)


def same_scores(cpu, other):
    """Every attribution, and every metric of a study, of two places of one model."""
    encodings, targets, names = cpu.encode(tiny.TEXTS), [1] * len(tiny.TEXTS), attributions.names()
    one, two = (attributions.attribute(m, encodings, targets, names, **SETTINGS) for m in (cpu, other))
    for name in set(names) - DECIDED:
        assert close(one[name], two[name], 1e-3), name
    studies = [evaluate(model, tiny.TEXTS, ["random_uniform"]) for model in (cpu, other)]
    values = [s.values.value[s.values.metric != "decision_flip"].to_numpy() for s in studies]
    assert np.allclose(*values, atol=1e-3, equal_nan=True)
