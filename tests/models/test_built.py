"""Models with fresh weights: the vocabulary is that of the texts, weights follow torch's generator."""

import pytest
import tiny
import torch
from wrong import refused, tells

from faithlib.models import built


def test_a_bilstm_knows_the_words_that_occur_often_enough():
    model, tokenizer = built.bilstm(["good film", "good plot"], 3, width=4, hidden=2, min_count=2)
    assert sorted(tokenizer.get_vocab()) == ["[CLS]", "[EOS]", "[MASK]", "[PAD]", "[UNK]", "good"]
    assert model.config.vocab_size == 6 and model.config.num_labels == 3


def test_a_vocabulary_has_no_end():
    words = [f"word{i}" for i in range(31_000)]
    _, tokenizer = built.bilstm([" ".join(words)], 2, width=1, hidden=1)
    assert len(tokenizer) == 31_005


@pytest.mark.parametrize(
    "make", [lambda: built.tiny_bert(tiny.TEXTS, 2), lambda: built.tiny_llama(tiny.TEXTS)]
)
def test_tiny_models_know_every_word_and_follow_the_seed(make):
    weights = []
    for seed in (0, 0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model, tokenizer = make()
        weights.append(model.get_input_embeddings().weight)
    assert set(" ".join(tiny.TEXTS).split()) < set(tokenizer.get_vocab())
    assert len(tokenizer) == model.config.vocab_size
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


# Word vectors -------------------------------------------------------------------------------------


def bilstm(vectors, width=3, **more):
    return built.bilstm(["the plot"], 2, width=width, hidden=2, vectors=str(vectors), **more)


def embedded(made, word):
    model, tokenizer = made
    return model.get_input_embeddings().weight[tokenizer.convert_tokens_to_ids(word)].tolist()


def test_vectors_are_looked_for_in_model_dir_first(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "w.txt").write_text("the 1 2 3\n")
    assert embedded(bilstm("w.txt", model_dir=str(folder)), "the") == [1, 2, 3]
    (tmp_path / "w.txt").write_text("the 4 5 6\n")
    (tmp_path / "other.txt").write_text("the 7 8 9\n")
    monkeypatch.chdir(tmp_path)
    assert embedded(bilstm("w.txt", model_dir="models"), "the") == [1, 2, 3]
    assert embedded(bilstm("w.txt"), "the") == [4, 5, 6]
    assert embedded(bilstm("other.txt", model_dir="models"), "the") == [7, 8, 9]
    assert embedded(bilstm(tmp_path / "other.txt", model_dir="models"), "the") == [7, 8, 9]
    line = "vectors='none.txt' is no file, here or in model_dir='models': correct the path, or leave it empty"
    refused(f"^{line}$", bilstm, "none.txt", model_dir="models", error=FileNotFoundError)


FIRST = "give a file whose lines are a word and its 3 numbers, below a line of two whole numbers"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"line 1 is '': {FIRST}"),
        ("\nthe 1 2 3\n", f"line 1 is '': {FIRST}"),
        ("a b\nthe 1 2 3\n", f"line 1 is 'a b': {FIRST}"),
        ("2 3.5\nthe 1 2 3\n", f"line 1 is '2 3.5': {FIRST}"),
        ("the\n", f"line 1 is 'the': {FIRST}"),
        ("the 1 x 3\n", "line 1: 'x' in the vector of 'the' is no finite number: correct this line"),
        ("1 3\nthe 1 2 nan\n", "line 2: 'nan' in the vector of 'the' is no finite number"),
        ("a 1 2 3\nplot 1e99 2 3\n", "line 2: '1e99' in the vector of 'plot' is no finite number"),
        ("a 1 2 3\nplot 1  3\n", "line 2: '' in the vector of 'plot' is no finite number"),
    ],
)
def test_a_damaged_file_of_vectors_is_one_line(tmp_path, text, message):
    (tmp_path / "w.txt").write_text(text)
    tells([f"w.txt', {message}"], bilstm, tmp_path / "w.txt")


def test_vectors_of_one_dimension_have_a_first_line_too(tmp_path):
    for text in ("the 0.5\nplot 2\n", "2 1\nthe 0.5\nplot 2\n"):
        (tmp_path / "w.txt").write_text(text)
        made = bilstm(tmp_path / "w.txt", width=1)
        assert embedded(made, "the") == [0.5] and embedded(made, "plot") == [2]
