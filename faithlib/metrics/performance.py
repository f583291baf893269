"""How well classes are predicted: of the labels and predictions alone, without a model."""

import numpy as np


def performance(predicted: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy, balanced accuracy, micro and macro F1, and Matthews' correlation; higher is better.

    predicted, labels: (examples,) int. Returns {"accuracy", "balanced_accuracy" (mean recall of the classes
    among the labels), "micro_f1" and "macro_f1" in [0, 1], "mcc" in [−1, 1], 0 if one class is predicted}.

    Example:
        >>> performance(np.array([0, 1, 1, 1]), np.array([0, 1, 0, 1]))["accuracy"]
        0.75
    """
    from sklearn.metrics import f1_score, matthews_corrcoef, recall_score

    predicted, labels = np.ravel(predicted), np.ravel(labels)
    accuracy = float((predicted == labels).mean())
    recall = recall_score(labels, predicted, labels=np.unique(labels), average="macro")
    return {
        "accuracy": accuracy,
        "balanced_accuracy": float(recall),
        "micro_f1": accuracy,  # equal, because each example has one label
        "macro_f1": float(f1_score(labels, predicted, average="macro")),
        "mcc": float(matthews_corrcoef(labels, predicted)),
    }
