"""One model that reads half of a text: trained and certified, its texts, and explanations of them."""

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pandas as pd

from faithlib import models
from faithlib.engine import forward
from faithlib.engine.operators import OPERATORS
from faithlib.statistics import stream
from faithlib.store import digest
from notebooks.ground_truth_2.measure import read_pairs, read_training, read_truth, scoring
from notebooks.ground_truth_2.measure.certificate import certificate, operators_of
from notebooks.ground_truth_2.measure.natural_texts import long_enough, unigrams
from notebooks.ground_truth_2.measure.read_half import ReadHalf, half_read, read_tokens
from notebooks.ground_truth_2.measure.scoring import Prepared

UNIGRAM_TEXTS = 500  # training texts whose tokens "resample" draws from
CERTIFIED_TEXTS = 60  # texts that the certificate is about


@dataclass(frozen=True)
class ReadModel:
    """A trained model, its test texts with their bits, and what it was checked for.

    Attributes:
        model: a `read_half.ReadHalf`.
        encodings: [Encoding], test texts that are long enough.
        targets: (texts,) int, the predicted classes, which are explained.
        operators: {name: Operator}.
        accuracy: with half of the words read, in [0, 1].
        refused: why the model is not scored, "" if it is.
    """

    model: object
    seed: int
    encodings: list
    targets: np.ndarray
    operators: dict
    accuracy: float
    refused: str
    certificate: pd.DataFrame


def trained(splits, labels, kind, name, settings, model_dir="", device="cpu", run=None):
    """A model of one data set, trained, checked and certified; AssertionError where the certificate fails.

    Args:
        splits: from `natural_texts.texts`.
        labels: names of the classes.
        kind: of `read_half.KINDS`.
        name: of a masked language model.
        settings: `read_training.Settings`, whose seed is that of the unit.
        model_dir, device, run: as `planted_models.trained` takes them.
    """
    words, seed = splits["train"][0], settings.seed
    model = ReadHalf(models.load(name, labels, words, model_dir, seed, device), kind)
    encodings = model.encode(words)
    train = partial(read_training.train, model, encodings, splits["train"][1], settings)
    if run is None:
        train()
    else:
        run.keep_weights(model, train, [asdict(settings), kind, digest(words)])
    half, test_labels = half_read(model.encode(splits["test"][0]), seed), splits["test"][1]
    p = forward.probabilities(model, [forward.unchanged(e) for e in half])
    accuracy = float((p.argmax(1) == test_labels).mean())
    refused = read_training.refused(accuracy, test_labels)
    kept = [i for i, encoding in enumerate(half) if long_enough(encoding)]
    chosen, targets = [half[i] for i in kept], p[kept].argmax(1)
    operators = operators_of(model, unigrams(encodings[:UNIGRAM_TEXTS]), seed)
    first = slice(CERTIFIED_TEXTS)
    table = certificate(model, chosen[first], targets[first], operators)
    by_name = {operator.name: operator for operator in operators}
    return ReadModel(model, seed, chosen, targets, by_name, accuracy, refused, table)


def explained(reader, count):
    """The first `count` texts with enough positive words, at most: [(text, explanations, pairs)]."""
    texts = []
    for text, encoding in enumerate(reader.encodings):
        generator, target = stream("effects", reader.seed, text), int(reader.targets[text])
        effect = read_truth.effects(reader.model, encoding, target, generator)
        words = read_truth.positive(reader.model, encoding, target, effect, reader.operators)
        maskable, read = encoding.words[encoding.maskable], read_tokens(encoding)[encoding.maskable]
        tokens = [int(t) for word in words for t in np.flatnonzero(maskable == word)]
        top = read_pairs.top_of(tokens, int((~read).sum()), len(read))
        if len(words) < read_truth.POSITIVE or len(top) < 2:
            continue
        of_tokens = np.array([effect.get(int(word), 0.0) for word in maskable])
        generator = stream("explanations", reader.seed, text)
        texts.append((text, *read_pairs.explanations(top, read, of_tokens, generator)))
        if len(texts) == count:
            break
    return texts


def prepared(reader, count, operators=OPERATORS):
    """What a ReadModel is scored on: `count` texts with enough positive words; ValueError for none."""
    rows = explained(reader, count)
    if not rows:
        raise ValueError(
            f"none of {len(reader.encodings)} texts has {read_truth.POSITIVE} positive words: train longer"
        )
    texts, explanations, pairs = map(list, zip(*rows, strict=True))
    encodings, targets = [reader.encodings[i] for i in texts], reader.targets[texts]
    chosen = scoring.with_tokens([reader.operators[name] for name in operators])
    return Prepared(chosen, encodings, targets, explanations, pairs, reader.seed, texts[-1] + 1)
