"""The BiLSTM: its equations by hand, its place in the contract, its words, vectors and weights."""

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from wrong import refused

from faithlib import attributions, models
from faithlib.engine import batching, forward
from faithlib.metrics import soft
from faithlib.models.bilstm import has_lstm
from faithlib.training import fine_tuning as training

SIZES = dict(width=7, hidden=5)
BOTH = pytest.mark.parametrize("paired", [False, True])


def load(paired=False, seed=0, **sizes):
    """A small BiLSTM whose weights are large enough for every token to show."""
    settings = dict(SIZES, paired=paired, **sizes)
    classifier = models.load("bilstm", tiny.LABELS, tiny.TEXTS + tiny.TEXTS_B, seed=seed, **settings)
    with torch.no_grad():
        for name, p in classifier.model.named_parameters():
            if "words" not in name:
                p.mul_(3)
    return classifier


def encoded(classifier):
    return classifier.encode(tiny.TEXTS, tiny.TEXTS_B if classifier.model.config.paired else None)


def by_hand(classifier, encoding):
    """Logits and α of one example: torch's own bidirectional LSTM, and Eq. 4 or 5 word by word."""
    weights = dict(classifier.model.named_parameters())
    classifier.model.zero_grad()

    def states(part, ids):
        lstm = torch.nn.LSTM(7, 5, bidirectional=True, batch_first=True)
        with torch.no_grad():
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                for ours, theirs in (("ahead", ""), ("back", "_reverse")):
                    getattr(lstm, f"{kind}_l0{theirs}").copy_(weights[f"encoder.{part}.{ours}.{kind}_l0"])
        h, (last, _) = lstm(weights["encoder.words.weight"][torch.tensor(ids)][None])
        return h[0], torch.cat([last[0, 0], last[1, 0]])  # (tokens, 10), (10,)

    def linear(name, x):
        bias = weights.get(f"{name}.bias")
        return weights[f"{name}.weight"] @ x + (0 if bias is None else bias)

    h, _ = states("text", encoding.ids[encoding.types == 0])
    with_b = classifier.model.config.paired
    if with_b:
        _, q = states("text_b", encoding.ids[encoding.types == 1])
    words = np.flatnonzero(encoding.maskable)
    keys = [linear("attention.text", h[i]) + (linear("attention.text_b", q) if with_b else 0) for i in words]
    alpha = torch.stack([linear("attention.v", key.tanh())[0] for key in keys]).exp()
    alpha = alpha / alpha.sum()
    c = sum(a * h[i] for a, i in zip(alpha, words, strict=True))
    if with_b:
        c = (linear("dense.text", c) + linear("dense.text_b", q)).tanh()
    everywhere = torch.zeros(len(encoding.ids))
    everywhere[torch.from_numpy(words)] = alpha
    return linear("classifier", c), everywhere


@BOTH
def test_logits_and_attention_are_those_of_the_equations(paired):
    classifier = load(paired)
    encodings = encoded(classifier)
    with torch.no_grad():
        logits, (layer,) = classifier.attentions(classifier.collate(encodings))
        plain = classifier.logits(classifier.collate(encodings))
    for i, encoding in enumerate(encodings):
        expected, alpha = by_hand(classifier, encoding)
        assert torch.allclose(logits[i], expected, atol=1e-5)
        assert torch.allclose(plain[i], expected, atol=1e-5)
        assert layer.shape[1] == 1 and (layer[i] == layer[i, :, :1]).all()
        assert torch.allclose(layer[i, 0, 0, : len(alpha)], alpha, atol=1e-6)
        assert (layer[i, 0, 0, len(alpha) :] == 0).all() and ((alpha > 0).numpy() == encoding.maskable).all()
    assert logits.std() > 0.1 and layer.max() > 0.3  # the texts do differ


@BOTH
def test_outputs_do_not_depend_on_batch_order_or_padding(paired):
    classifier = load(paired)
    encodings = encoded(classifier)
    together = tiny.logits(classifier, encodings)
    alone = torch.cat([tiny.logits(classifier, [e]) for e in encodings])
    reverse = tiny.logits(classifier, encodings[::-1]).flip(0)
    assert torch.allclose(together, alone, atol=1e-6) and torch.allclose(together, reverse, atol=1e-6)


@BOTH
def test_gradients_are_finite_differences(paired):
    classifier = load(paired)
    classifier.model.double()
    batch = classifier.collate(encoded(classifier))
    at = classifier.embed(batch.ids).detach()
    torch.autograd.gradcheck(
        lambda e: classifier.logits(batch, embeddings=e).sum(0), at.requires_grad_(), fast_mode=True
    )


@BOTH
def test_both_lstms_learn_and_padding_does_not(paired):
    classifier = load(paired)
    classifier.logits(classifier.collate(encoded(classifier))).square().sum().backward()
    grads = {name: p.grad for name, p in classifier.model.named_parameters()}
    assert all(g is not None and g.abs().sum() > 0 for g in grads.values())
    table = classifier.embedding_table
    assert (table[classifier.pad_id] == 0).all() and (table.grad[classifier.pad_id] == 0).all()
    assert any("text_b" in name for name in grads) == paired


def test_float32_is_float32_on_a_gpu_too(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    models.load("bilstm", ("no", "yes"), ["a film"])
    assert not torch.backends.cudnn.allow_tf32


def test_lstms_stay_in_the_mode_that_a_gpu_differentiates():
    classifier = load()
    classifier.model.eval()
    assert not classifier.model.training and not classifier.model.encoder.words.training
    assert classifier.model.encoder.text.ahead.training and classifier.model.encoder.text.back.training


@BOTH
def test_an_attention_weight_multiplies_before_normalising(paired):
    classifier = load(paired)
    batch = classifier.collate(encoded(classifier))
    weight = torch.where(batch.maskable, torch.rand(batch.ids.shape), 1)
    weight[0, 1:3] = 0  # two words of the first text closed
    weight[2, 1] = 0  # all words of the third
    with torch.no_grad():
        _, (layer,) = classifier.attentions(batch)
        output = classifier.model(**classifier._inputs(batch, weight=weight), output_attentions=True)
        logits = classifier.logits(batch, weight=weight)
        nothing = classifier.logits(batch, weight=torch.where(batch.maskable, 0.0, 1.0))
    expected = torch.where(batch.maskable, layer[:, 0, 0] * weight, 0)
    expected = expected / expected.sum(1, keepdim=True).clamp(min=1e-30)
    assert torch.allclose(output.attentions[0][:, 0, 0], expected, atol=1e-6)
    assert torch.equal(output.logits, logits) and (expected[2] == 0).all()
    assert torch.allclose(nothing[2], logits[2]) and not torch.allclose(nothing[0], logits[0])
    if not paired:  # nothing is attended to: what is left is the bias
        assert torch.allclose(nothing, classifier.model.classifier.bias.expand(len(nothing), -1))


@BOTH
def test_a_factor_multiplies_embeddings(paired):
    classifier = load(paired)
    batch = classifier.collate(encoded(classifier))
    factor = torch.rand(*batch.ids.shape, 1)
    with torch.no_grad():
        scaled = classifier.logits(batch, embeddings=classifier.embed(batch.ids) * factor)
        assert torch.equal(classifier.logits(batch, factor=factor), scaled)
        assert not torch.allclose(classifier.logits(batch), scaled)


def test_text_b_is_read_and_never_attended_to():
    classifier = load(paired=True)
    one, other = (
        classifier.collate(classifier.encode(tiny.TEXTS[:1] * 2, b))
        for b in (["was it good ?", "who ?"], ["who ?", "was it good ?"])
    )
    with torch.no_grad():
        logits, (layer,) = classifier.attentions(one)
        assert torch.allclose(classifier.logits(other), logits.flip(0), atol=1e-6)
    assert (logits[0] - logits[1]).abs().max() > 1e-3
    assert (layer[:, 0, 0][~one.maskable] == 0).all()
    assert (layer[0, 0, 0] - layer[1, 0, 0]).abs().max() > 1e-4  # but it bears on attention


def test_no_text_b_is_an_empty_one():
    classifier = load(paired=True)
    (without,) = classifier.encode(["the plot"])
    empty, _ = classifier.encode(["the plot", "boring"], ["", "who ?"])
    assert classifier.tokens(without) == ["[CLS]", "the", "plot", "[EOS]", "[CLS]", "[EOS]"]
    assert (without.ids == empty.ids).all() and (without.types == empty.types).all()
    attributions.check(["attention"], classifier)


def test_a_model_for_single_texts_refuses_a_text_b():
    classifier = load()
    batch = classifier.collate(classifier.encode(["boring"], ["who ?"]))
    refused("single texts: load it with paired=True", classifier.logits, batch)


@BOTH
def test_a_text_of_which_nothing_is_left_has_logits(paired):
    classifier = load(paired)
    encoding = encoded(classifier)[0]
    p = forward.probabilities(classifier, [forward.deleted(encoding, encoding.maskable)])
    assert np.isfinite(p).all()


@BOTH
def test_hidden_states_are_embeddings_and_states(paired):
    classifier = load(paired)
    batch = classifier.collate(encoded(classifier))
    embeddings, states = classifier.hidden_states(batch)
    assert torch.equal(embeddings, classifier.embed(batch.ids))
    assert states.shape == (*batch.ids.shape, 10)


# Through the rest of the library ------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("definition", ["paper", "released"])
def test_every_attribution_explains_it_whatever_the_batch(paired, definition):
    classifier = load(paired)
    encodings, targets = encoded(classifier), np.array([0, 1, 2, 0, 1])
    settings = dict(definition=definition, steps=5, samples=20)
    settings |= {"paper": "recursive_roar"} if definition == "released" else {}
    wanted = tiny.methods()
    together = attributions.attribute(classifier, encodings, targets, wanted, **settings)
    first = attributions.attribute(classifier, encodings[:1], targets[:1], wanted, **settings)
    for name, scores in together.items():
        assert np.allclose(scores[0], first[name][0], atol=1e-5), name
        for s, e in zip(scores, encodings, strict=True):
            assert np.isfinite(s).all() and (s[~e.maskable] == 0).all() and len(s) == len(e.ids)


def test_narrow_models_take_larger_batches(monkeypatch):
    rows = []
    for width, share in ((300, 4), (50, 7)):
        classifier = models.load("bilstm", tiny.LABELS, tiny.TEXTS, width=width, hidden=5)
        monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 20)
        logits = classifier.logits

        def counted(b, logits=logits, **more):
            rows.append(b.ids.numel())
            return logits(b, **more)

        monkeypatch.setattr(classifier, "logits", counted)
        attributions.attribute(classifier, encoded(classifier)[:1], [0], ["integrated_gradients"], steps=70)
        assert 15 * share <= max(rows) <= 20 * share  # 12 or 18 points of 6 tokens
        rows.clear()


@BOTH
def test_scores_of_attention_and_gradients_by_hand(paired):
    classifier = load(paired)
    encodings, targets = encoded(classifier), np.array([0, 1, 2, 0, 1])
    notes = {}
    wanted = ["attention", "gradient_l2", "input_x_gradient", "integrated_gradients"]
    scores = attributions.attribute(classifier, encodings, targets, wanted, steps=200, notes=notes)
    table = classifier.embedding_table
    for i, encoding in enumerate(encodings):
        alpha = by_hand(classifier, encoding)[1].detach().numpy()
        assert np.allclose(scores["attention"][i], alpha, atol=1e-6)
        batch = classifier.collate([encoding])
        at = classifier.embed(batch.ids).detach().requires_grad_()
        classifier.logits(batch, embeddings=at)[0, targets[i]].backward()
        one_hot = (at.grad[0] @ table.T).norm(dim=1).detach().numpy() * encoding.maskable
        assert np.allclose(scores["gradient_l2"][i], one_hot, rtol=1e-4, atol=1e-6)
        product = (at * at.grad)[0].sum(-1).detach().numpy() * encoding.maskable
        assert np.allclose(scores["input_x_gradient"][i], product, atol=1e-6)
    assert (notes["completeness_gap"] < 2e-3).all()


@BOTH
def test_soft_metrics_measure_it(paired):
    classifier = load(paired)
    encodings, targets = encoded(classifier), np.array([0, 1, 2, 0, 1])
    scores = attributions.attribute(classifier, encodings, targets, ["attention"])
    plan = soft.Settings(perturbations=("bernoulli", "attention"), soft_draws=2, random_draws=1)
    values = soft.values(classifier, encodings, targets, scores, plan)
    assert isinstance(values, pd.DataFrame) and np.isfinite(values.raw).all()


@BOTH
def test_it_learns_what_the_text_says(paired):
    """Single: which of three words occurs. Paired: where the one asked for is."""
    generator, places, people = np.random.default_rng(0), ["attic", "cellar", "barn"], ["ann", "bob"]
    texts, texts_b, labels = [], [], []
    for _ in range(700):
        rooms, asked = generator.integers(3, size=2), int(generator.integers(2)) if paired else 0
        facts = zip(people[: 1 + paired], rooms, strict=False)
        texts.append(" . ".join(f"{who} is in the {places[w]}" for who, w in facts))
        texts_b.append(f"where is {people[asked]} ?" if paired else "")
        labels.append(rooms[asked])
    classifier = models.load("bilstm", places, texts + texts_b, paired=paired, width=16, hidden=16)
    encodings, labels = classifier.encode(texts, texts_b), np.array(labels)
    splits = {"train": (encodings[:500], labels[:500]), "validation": (encodings[500:600], labels[500:600])}
    settings = training.recipe(classifier.model, 30) | {"learning_rate": 1e-2}
    history = training.fine_tune(classifier, splits, **settings, batch_size=25, best="accuracy")
    assert training.evaluate(classifier, encodings[600:], labels[600:])["accuracy"] > 0.95
    assert history[-1]["validation_accuracy"] == 1 and len(history) < 30  # nothing is left to gain


# Words, vectors, weights --------------------------------------------------------------------------


def test_words_and_signs_are_tokens():
    text = "She did n't like the re-imagined plot, it's ...bad \"film\" isn't 'good' 's (yes)."
    classifier = models.load("bilstm", tiny.LABELS, [text], **SIZES)
    (encoding,) = classifier.encode([text])
    tokens = "she did n't like the re-imagined plot , it's ... bad \" film \" isn't ' good ' 's ( yes ) ."
    assert classifier.tokens(encoding) == ["[CLS]", *tokens.split(), "[EOS]"]
    words = [0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 8, 9, 9, 9, 10, 11, 11, 11, 12, 13, 13, 13, 13]
    assert encoding.words.tolist() == [-1, *words, -1]
    assert (encoding.maskable == (encoding.words >= 0)).all()


def test_rare_words_are_unknown():
    texts = ["the plot the film", "the plot"]
    classifier = models.load("bilstm", tiny.LABELS, texts, min_count=2, **SIZES)
    words = classifier.tokenizer.get_vocab()
    assert sorted(words, key=words.get) == ["[PAD]", "[UNK]", "[CLS]", "[EOS]", "[MASK]", "the", "plot"]
    assert classifier.tokens(classifier.encode(["The FILM"])[0]) == ["[CLS]", "the", "[UNK]", "[EOS]"]
    assert (classifier.pad_id, classifier.mask_id) == (0, 4)
    assert classifier.model.config.vocab_size == 7


def test_a_seed_is_a_model_and_nothing_else_is_touched():
    torch.manual_seed(123)
    before = torch.get_rng_state()
    one, same, other = (load(seed=s).model.state_dict() for s in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[k], same[k]) for k in one)
    assert not any(torch.equal(one[k], other[k]) for k in one)


def test_embeddings_start_normal_and_the_rest_as_torch_has_it():
    words = " ".join(f"w{i}" for i in range(2000))
    classifier = models.load("bilstm", tiny.LABELS, [words], width=20, hidden=25)
    table = classifier.embedding_table
    assert (table[0] == 0).all() and table[1:].mean().abs() < 0.02 and (table[1:].std() - 1).abs() < 0.02
    ahead = classifier.model.encoder.text.ahead.weight_hh_l0
    assert ahead.abs().max() <= 0.2 and ahead.std().item() == pytest.approx(0.2 / 3**0.5, rel=0.05)


def test_defaults_are_the_papers_sizes():
    config = models.load("bilstm", tiny.LABELS, tiny.TEXTS).model.config
    assert (config.width, config.hidden, config.paired) == (300, 128, False)
    assert config.hidden_size == 300  # what the engine takes for the width of the embedding layer


@BOTH
def test_saved_and_loaded_it_is_the_same(tmp_path, paired):
    classifier = load(paired)
    tiny.save(classifier, tmp_path)
    assert {"model.safetensors", "config.json"} <= {p.name for p in tmp_path.iterdir()}
    assert not list(tmp_path.glob("*.bin"))
    again = models.load(str(tmp_path), tiny.LABELS)
    one, other = (c.collate(encoded(c)) for c in (classifier, again))
    assert torch.equal(one.ids, other.ids) and torch.equal(one.types, other.types)
    with torch.no_grad():
        assert torch.equal(classifier.logits(one), again.logits(other))
    fewer = models.load(str(tmp_path), tiny.LABELS[:2])
    assert fewer.outputs == 2 and torch.equal(fewer.embedding_table, classifier.embedding_table)


VECTORS = {"the": [1, 2, 3], "plot": [0.5, -1e-3, 0], "unheard-of": [9, 9, 9], "[MASK]": [7, 7, 7]}


def written(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("style", ["glove", "word2vec", "fasttext"])
def test_embeddings_start_from_vectors(tmp_path, style):
    lines = [" ".join(map(str, (word, *vector))) for word, vector in VECTORS.items()]
    lines.append("plot of 1 2 3")  # an entry with a blank in it, as GloVe has some
    if style != "glove":
        lines.insert(0, "5 3")
    if style == "fasttext":
        lines[1:] = [line + " " for line in lines[1:]]
    vectors = written(tmp_path / "v.txt", lines)
    texts = ["the plot was great 5"]
    classifier = models.load("bilstm", tiny.LABELS, texts, width=3, hidden=5, vectors=vectors)
    table = {w: classifier.embedding_table[i].tolist() for w, i in classifier.tokenizer.get_vocab().items()}
    assert table.pop("the") == [1, 2, 3] and table.pop("plot") == pytest.approx([0.5, -1e-3, 0])
    assert set(table) == {"[PAD]", "[UNK]", "[CLS]", "[EOS]", "[MASK]", "was", "great", "5"}
    assert all(vector == [0, 0, 0] for vector in table.values())
    assert classifier.embedding_table.requires_grad


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["the 1 2"], "v.txt' has 2 dimensions and the model width=3: set width=2"),
        (["9 300", "the 1 2 3"], "v.txt' has 300 dimensions and the model width=3: set width=300"),
        (["unheard-of 1 2 3"], "none of the 2 words of the texts"),
        (["a 1 2 3", "the 1 2"], "damaged: line 2 has 2 numbers and not 3"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(tmp_path, lines, message):
    vectors = written(tmp_path / "v.txt", lines)
    refused(message, models.load, "bilstm", tiny.LABELS, ["the plot"], width=3, vectors=vectors)


def test_what_cannot_be_built_is_refused():
    message = "hidden: only 'bilstm' is built to measure, 'tiny-bert' is"
    refused(message, models.load, "tiny-bert", tiny.LABELS, tiny.TEXTS, hidden=5)
    message = "precision='half' is unknown: use 'float32', 'bfloat16'"
    refused(message, models.load, "bilstm", tiny.LABELS, tiny.TEXTS, precision="half")


@BOTH
@pytest.mark.skipif(not has_lstm(torch.bfloat16), reason="torch has no such LSTM for this processor")
def test_lstms_in_bfloat16_change_the_logits_by_their_rounding_alone(paired):
    exact, rounded = load(paired), load(paired, precision="bfloat16")
    batch = exact.collate(encoded(exact))
    with torch.no_grad():
        apart = (exact.logits(batch) - rounded.logits(batch)).abs().max()
    assert 0 < apart < 0.05
    assert all(p.dtype == torch.float32 for p in rounded.model.parameters())
    assert rounded.model.config.precision == "bfloat16"
