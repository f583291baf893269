"""Models of planted texts: trained on the spot, and refused where they did not learn their mechanism."""

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from faithlib import models, training
from faithlib.corpora import planted
from faithlib.engine import forward
from notebooks.ground_truth_2.card import LANGUAGE_MODEL
from notebooks.ground_truth_2.measure import language
from notebooks.ground_truth_2.measure.planted_texts import texts
from notebooks.noiser.measure.judge import LocalJudge

MODELS = ("tiny-bert", "bilstm", LANGUAGE_MODEL)
SIZE = {"bilstm": {"width": 64, "hidden": 64}}
SETTINGS = {"batch_size": 32, "learning_rate": 2e-3}
ACCURACY = 0.95  # the least, of a mechanism whose words decide the class
FROM_BAYES = 0.03  # the most by which accuracy is below that of Bayes' rule, where labels are drawn


@dataclass(frozen=True)
class PlantedModel:
    """A trained model and its texts.

    Attributes:
        mechanism: a `planted_texts.Planted`.
        seed: of texts and weights.
        splits: {split: [example]}.
        accuracy: on the test texts, in [0, 1].
        least: the accuracy that the model needs to be scored.
        length: of its long texts, of `planted_texts.LENGTHS`.
        judge: of a language model, one that learnt the same classes from texts with gaps; else None.
    """

    mechanism: object
    seed: int
    classifier: object
    splits: dict
    accuracy: float
    least: float
    length: int = 12
    judge: object = None

    @property
    def refused(self):
        """Why the model is not scored, "" if it is."""
        if self.accuracy >= self.least:
            return ""
        return f"accuracy {self.accuracy:.3f} on test texts is below {self.least:.3f}"


def trained(mechanism, seed, model="tiny-bert", model_dir="", device="cpu", length=12, run=None):
    """A model of a mechanism, trained on its texts.

    Args:
        mechanism: a `planted_texts.Planted`.
        seed: of texts, weights and training.
        model: of MODELS.
        model_dir: a folder of models to look in first (the BiLSTM's word vectors); "" for none.
        device: where the model is put.
        length: of `planted_texts.LENGTHS`: half of the texts have this length.
        run: a `results.Run` that keeps the weights, or None.
    """
    splits, judge = texts(mechanism, seed, length), None
    fit = partial(fitted, mechanism, model=model, model_dir=model_dir, device=device, length=length, run=run)
    classifier = fit(splits, seed)
    if model == LANGUAGE_MODEL:
        judge = LocalJudge(fit(language.gapped(splits, seed), seed + language.JUDGE), tokens=1)
    accuracy = training.evaluate(classifier, *encoded(classifier, splits["test"]))["accuracy"]
    asked = least(mechanism, splits["test"])
    return PlantedModel(mechanism, seed, classifier, splits, accuracy, asked, length, judge)


def fitted(mechanism, splits, seed, model, model_dir, device, length, run):
    """A model that learnt these texts; arguments as of `trained`."""
    words = [row["text"] for row in splits["train"]]
    if model == LANGUAGE_MODEL:
        classifier = models.load_causal(model, [*words, " ".join(planted.LABELS)], model_dir, seed, device)
    else:
        sizes = SIZE.get(model, {})
        classifier = models.load(model, mechanism.labels, words, model_dir, seed, device, **sizes)
    data = {split: encoded(classifier, splits[split]) for split in ("train", "validation")}
    train = partial(training.fine_tune, classifier, data, epochs=mechanism.epochs, seed=seed, **SETTINGS)
    if run is None:
        train()
    else:
        run.keep_weights(classifier, train, [asdict(mechanism), seed, length, SETTINGS])
    return classifier


def encoded(classifier, rows):
    """(encodings, what is to be predicted (examples,) int) of examples."""
    return classifier.encode([row["text"] for row in rows]), language.targets(classifier, rows)


def least(mechanism, rows):
    """The least accuracy of a model that is scored: ACCURACY; for drawn labels that of Bayes less FROM_BAYES.

    rows: [example], graded ones with `p`, the chance of their first class.

    >>> from notebooks.ground_truth_2.measure.planted_texts import PLANTED
    >>> rows = [{"p": 0.9, "label": 0}, {"p": 0.8, "label": 1}]
    >>> least(PLANTED["xor"], rows), least(PLANTED["graded"], rows)
    (0.95, 0.47)
    """
    if mechanism.needs != "sum":
        return ACCURACY
    right = [(row["p"] < 0.5) == row["label"] for row in rows]
    return float(np.mean(right)) - FROM_BAYES


def explained(model, rows):
    """The class that is explained of each text: the label; of drawn labels the prediction."""
    encodings, labels = encoded(model.classifier, rows)
    if model.mechanism.needs != "sum":
        return labels
    return forward.probabilities(model.classifier, [forward.unchanged(e) for e in encodings]).argmax(1)
