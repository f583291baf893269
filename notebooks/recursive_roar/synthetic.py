"""The synthetic problem of Madsen et al. 2022 (section 3.3, Figure 3): features in place of tokens.

Of 16 features the first 4 carry the label, each by itself enough, so the truth masks these four first. The
importance measure is the absolute weights of a linear model, and to mask a feature is to set it to 0. The
curves show why redundancy defeats ROAR, which ranks once, but not Recursive ROAR, which ranks at each step.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from faithlib.progress import bar

FEATURES, INFORMATIVE = 16, 4
CURVES = ("ROAR", "Recursive ROAR", "truth", "worst case")


def problem(seed=0, train=200_000, test=50_000):
    """Train and test split of Eq. 1: ((x, y), (x, y)), x (examples, 16) and y (examples,) bool.

    x = a·z/10 + d·η + ε/10 and y = [z > 0]. a and d are drawn once, and a is 0 but for its first 4 elements;
    z, η and ε are one standard normal number an example each. The paper leaves open whether features share ε;
    in the release they do, so x has rank 3, and any informative feature tells z exactly once others tell η
    and ε. Sizes, seed and the order of the draws are the release's too. Fewer than 100 examples are a
    ValueError.
    """
    for name, size in {"train": train, "test": test}.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 100:
            raise ValueError(f"{name}={size!r} must be a whole number of examples, at least 100")
    rng = np.random.default_rng(seed)
    a = np.append(rng.standard_normal(INFORMATIVE), np.zeros(FEATURES - INFORMATIVE))
    d = rng.standard_normal(FEATURES)

    def draw(n):
        z, eta, epsilon = (rng.standard_normal((n, 1)) for _ in range(3))
        return a * z / 10 + d * eta + epsilon / 10, z[:, 0] > 0

    return draw(train), draw(test)


def curves(seed: int = 0, train: int = 200_000, test: int = 50_000) -> pd.DataFrame:
    """The curves of Figure 3: a DataFrame with columns curve, removed, feature and accuracy.

    removed: how many features are masked, 0 to 16, in both splits; feature: the last one of them, from 0, and
    −1 for none; accuracy: on the test split, of a logistic regression without penalty that is fitted anew.
    "truth" masks the informative features first, "worst case" last, ROAR by the weights of the model that saw
    all features, Recursive ROAR by those of the model before.
    """
    splits, informative = problem(seed, train, test), np.arange(FEATURES) < INFORMATIVE
    rows = []
    with bar(1 + len(CURVES) * FEATURES, "masking features", "model") as progress:
        first = _fit(splits, np.ones(FEATURES))
        progress.update()
        rankings = dict(zip(CURVES, (first[0], None, informative, ~informative), strict=True))
        for name, ranking in rankings.items():
            for removed, (feature, accuracy) in enumerate(_remove(splits, first, ranking, progress)):
                rows.append((name, removed, feature, accuracy))
    return pd.DataFrame(rows, columns=["curve", "removed", "feature", "accuracy"])


def _remove(splits, first, ranking, progress):
    """One curve, (feature, accuracy) a step; without a ranking the model of the step before has its own."""
    kept, (weights, accuracy) = np.ones(FEATURES), first
    yield -1, accuracy
    for _ in range(FEATURES):
        importance = weights if ranking is None else ranking
        feature = int(np.argmax(np.where(kept, importance, -1)))  # of equal ones the first
        kept[feature] = 0
        weights, accuracy = _fit(splits, kept)
        progress.update()
        yield feature, accuracy


def _fit(splits, kept):
    """|weights| (features,) and test accuracy of a linear model that sees the features `kept` (1, else 0)."""
    (x, y), (x_test, y_test) = splits
    model = LogisticRegression(C=np.inf).fit(x * kept, y)
    return np.abs(model.coef_[0]), float(model.score(x_test * kept, y_test))
