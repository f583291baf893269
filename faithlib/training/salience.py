"""Word salience: the importance of tokens without a model, and the distance of attention from it.

σ is computed from token ids: those of the text alone (TextRank, uniform) or also those of the training split
(tf-idf, χ²). Chrysostomou & Aletras 2021, section 3 and appendices B and H.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import chi2

from faithlib.options import DEFINITIONS, SALIENCES
from faithlib.progress import bar
from faithlib.scores import one_of, whole

TINY = 1e-10  # in both logarithms, as released: a σ of 0 adds 23 nats instead of infinity


def fit(
    kind: str, encodings: Sequence, labels: Sequence[int] | None = None, definition: str = "paper"
) -> Callable[[Sequence], list[np.ndarray]]:
    """Fit one kind of word salience to a training split.

    A repeated token has the same score at each of its positions; a token that is not in the training split
    has tf-idf and χ² 0.

    Args:
        kind: "textrank", "tfidf", "chi2" or "uniform".
        encodings: the training examples; idf and χ² use them, textrank and uniform do not.
        labels: (examples,) int, used by χ² only.
        definition: "paper" divides the scores of the maskable tokens by their sum. "released" is the scale of
            the release, whose loss takes a softmax of it: TextRank as `released_textrank` computes it, not
            divided and over all tokens between the first and the last, text_b included; the other kinds are
            divided by the mean over maskable tokens, because the mean of TextRank is near 1.

    Returns:
        A function from encodings to [(tokens,) float64], 0 at tokens that are not scored. It raises
        ValueError for a text without maskable tokens and one whose scores are all 0.

    Raises:
        ValueError: an unknown kind or definition; a text without maskable tokens; for tf-idf and χ², no
            examples; for χ², another number of labels or a class without examples.
    """
    one_of("salience", kind, SALIENCES)
    one_of("definition", definition, DEFINITIONS)
    score = {"textrank": textrank, "uniform": np.ones_like}.get(kind)  # ids -> scores
    if score is None:
        if not encodings:
            raise ValueError(f"{kind} is fitted to training examples: give their encodings")
        texts = [_ids(e, i) for i, e in enumerate(encodings)]
        score = _tfidf(texts) if kind == "tfidf" else _chi2(texts, labels)

    def salience(encodings):
        of_texts = []
        with bar(len(encodings), f"{kind} salience", "text") as progress:
            for i, encoding in enumerate(encodings):
                sigma = np.zeros(len(encoding.ids))  # (tokens,)
                if (kind, definition) == ("textrank", "released"):
                    sigma[1:-1] = released_textrank(encoding.ids[1:-1])
                else:
                    scores = np.array(score(_ids(encoding, i)), float)  # (maskable tokens,)
                    if not scores.any():
                        raise ValueError(
                            f"{kind} of example {i} is 0 for every token: remove the text or "
                            "use another salience"
                        )
                    unit = scores.sum() if definition == "paper" else scores.mean()
                    sigma[encoding.maskable] = scores / unit
                of_texts.append(sigma)
                progress.update()
        return of_texts

    return salience


def textrank(ids, window=4, damping=0.85):
    """TextRank of each token, (tokens,) int -> (tokens,) float64 above 0, the fixed point of Eq. 1.

    σ_i = (1 − d) + d Σ_j σ_j / |Out(V_j)| over the neighbours j of i, which is n times the PageRank of a
    graph whose n nodes are the different ids; the mean over nodes is 1. Two different ids share one
    undirected edge if they occur less than `window` (at least 2) tokens apart anywhere in the text; an id is
    not its own neighbour. If the text has a single id, repeated or not, every score is 1. `damping` is d, in
    (0, 1); ValueError for another window or damping.

    >>> textrank([7, 3, 9, 4, 5], window=2).round(2).tolist()  # a path of five nodes
    [0.67, 1.23, 1.2, 1.23, 0.67]
    """
    if not 0 < damping < 1:
        raise ValueError(f"damping={damping!r} is outside (0, 1): give a number such as 0.85")
    edges, at = _edges(ids, window)
    edges = np.maximum(edges, edges.T)
    np.fill_diagonal(edges, 0)
    if len(edges) == 1:
        return np.ones(len(at))
    step = damping * edges / edges.sum(0)  # Eq. 1 is σ = (1 − d) + step @ σ
    return np.linalg.solve(np.eye(len(edges)) - step, np.full(len(edges), 1 - damping))[at]


def released_textrank(ids, window=8, damping=0.85):
    """TextRank as released: (tokens,) -> (tokens,), above 0.

    A pair of ids that occurs in both orders has weight 2, and an id near another occurrence of itself is its
    own neighbour. Eq. 1 is applied twice, starting from 1: the release stops when the sum of scores stops
    changing, and the sum is constant. For a text of one token, where the release reads uninitialised memory,
    the score is 1.
    """
    edges, at = _edges(ids, window)
    if len(ids) == 1:
        return np.ones(1)
    edges += edges.T - np.diag(edges.diagonal())
    scores = np.ones(len(edges))
    for _ in range(2):
        scores = (1 - damping) + damping * edges @ (scores / edges.sum(0))
    return scores[at]


def divergence(attention: Sequence[np.ndarray], salience: Sequence[np.ndarray]) -> np.ndarray:
    """KL(α, σ) of each example (Eq. 3), in nats: (examples,) float64, 0 where both are equal.

    Args:
        attention: [(tokens,)], 0 at tokens that are not maskable, as `attribute` returns it.
        salience: [(tokens,)], likewise, as `fit` returns it. Both are divided by their sums.

    Raises:
        ValueError: attention or salience of an example is 0 everywhere.
    """
    values = []
    for i, rows in enumerate(zip(attention, salience, strict=True)):
        for name, row in zip(("attention", "salience"), rows, strict=True):
            if not np.any(row):
                raise ValueError(f"{name} of example {i} is 0 for every token: there is nothing to compare")
        alpha, sigma = (torch.tensor(row / row.sum(), dtype=torch.float64) for row in rows)
        values.append(_kl(alpha, sigma).item())
    return np.array(values)


def salience_loss(attention, salience, positions, definition="paper"):
    """The salience loss L_sal (Eq. 3), a scalar ≥ 0, added to the training loss with the weight λ (Eq. 2).

    - "paper": the mean over examples of KL(α, σ) = Σ α (log α − log σ), in nats; 0 if attention equals
      salience. α is restricted to `positions` and divided by its sum.
    - "released": (Σ over tokens and examples of α (log α − log σ))², in squared nats, which grows with the
      square of the batch size. α and σ are softmaxes over `positions`, so that α is nearly uniform.

    Args:
        attention: α, the last layer's weights from [CLS], the mean over heads, (batch, tokens).
        salience: σ, as `fit` of the same definition returns it, (batch, tokens).
        positions: (batch, tokens) bool: the maskable tokens ("paper") or all present tokens ("released").
    """
    one_of("definition", definition, DEFINITIONS)
    if definition == "released":
        alpha, sigma = (x.masked_fill(~positions, -torch.inf).softmax(-1) for x in (attention, salience))
        return _kl(alpha, sigma).sum().square()
    alpha = attention * positions
    # Dropout may remove all attention of a short text.
    return _kl(alpha / alpha.sum(-1, keepdim=True).clamp(min=TINY), salience).mean()


def _kl(alpha, sigma):
    """KL(α, σ) in nats: (..., tokens) -> (...)."""
    return (alpha * ((alpha + TINY).log() - (sigma + TINY).log())).sum(-1)


class Guide:
    """The salience of a training split, padded once, and the salience loss of its batches.

    Args:
        salience: [(tokens,)] of each training example, as `fit` of the same definition returns it.
        weight: λ.

    Raises:
        ValueError: salience that does not fit the examples or the definition, or no attention weights.
    """

    def __init__(self, classifier, encodings, salience, weight, definition):
        if len(salience) != len(encodings):
            raise ValueError(f"salience has {len(salience)} rows for {len(encodings)} training examples")
        classifier.check_attention("train it without salience")
        self.classifier, self.weight, self.definition = classifier, weight, definition
        padded = np.zeros((len(encodings), max(len(e.ids) for e in encodings)), np.float32)
        for i, (encoding, row) in enumerate(zip(encodings, salience, strict=True)):
            _check_salience(i, encoding, np.asarray(row), definition)
            padded[i, : len(row)] = row
        self.salience = torch.from_numpy(padded).to(classifier.device)  # (examples, tokens)

    def logits_and_loss(self, batch, rows):
        """Logits (batch, classes) of the examples `rows`, and their salience loss, in one graph."""
        logits, layers = self.classifier.attentions(batch)
        index = torch.arange(len(logits), device=logits.device)
        last = layers[-1].to(logits.device)
        attention = last[index, :, self.classifier.reads(batch)].float().mean(1)  # (batch, tokens)
        salience = self.salience[torch.as_tensor(rows, device=logits.device), : attention.shape[1]]
        tokens = batch.maskable if self.definition == "paper" else batch.present
        return logits, salience_loss(attention, salience, tokens, self.definition)


def _ids(encoding, example):
    """The ids of the maskable tokens; raises ValueError if there are none."""
    ids = encoding.ids[encoding.maskable].tolist()
    if not ids:
        raise ValueError(f"example {example} has no maskable token: remove empty texts")
    return ids


def _edges(ids, window):
    """1 where an id is followed by another less than `window` tokens later, (ids, ids); each token's id."""
    whole("window", window, 2)  # or no token has a neighbour
    nodes, at = np.unique(ids, return_inverse=True)  # at: (tokens,) node of each token
    edges = np.zeros((len(nodes), len(nodes)))
    for step in range(1, window):
        edges[at[:-step], at[step:]] = 1
    return edges, at


def _tfidf(texts):
    """The function ids -> tf · idf, idf = 1 + log((1 + texts) / (1 + texts that have the id))."""
    vectorizer = TfidfVectorizer(analyzer=list).fit(texts)
    column = vectorizer.vocabulary_

    def score(ids):
        row = vectorizer.transform([ids]).toarray()[0]  # (vocabulary,)
        return [row[column[i]] if i in column else 0 for i in ids]

    return score


def _chi2(texts, labels):
    """The function ids -> χ² of the counts of each id by class."""
    if labels is None:
        raise ValueError("chi2 needs labels: give those of the encodings")
    if len(labels) != len(texts):
        raise ValueError(f"chi2 has {len(labels)} labels for {len(texts)} examples: give one each")
    examples = np.bincount(labels, minlength=2)
    if not examples.all():
        raise ValueError(
            f"chi2 compares classes, and no example has label {examples.argmin()}: add examples "
            "of that class or use another salience"
        )
    vectorizer = CountVectorizer(analyzer=list)
    values, _ = chi2(vectorizer.fit_transform(texts), labels)
    table = dict(zip(vectorizer.get_feature_names_out().tolist(), values, strict=True))
    return lambda ids: [table.get(i, 0) for i in ids]


def _check_salience(i, encoding, row, definition):
    """Raise ValueError for a row of salience that `fit` of this definition would not return."""
    subject = f"salience of example {i}"
    if row.shape != encoding.ids.shape:
        raise ValueError(f"{subject} has the shape {row.shape} for {len(encoding.ids)} tokens")
    if not np.isfinite(row).all() or (row < 0).any():
        raise ValueError(f"{subject} has values below 0 or not finite: scores must be 0 or above")
    if not row.any():
        raise ValueError(f"{subject} is 0 for every token: remove the text or use another salience")
    total, inside = row.sum(), row[encoding.maskable].sum()
    distribution = abs(total - 1) < 1e-4 and np.isclose(inside, total)
    if definition == "paper" and not distribution:
        raise ValueError(
            f"{subject} is not a distribution over its maskable tokens (sum {total:.3g}, "
            f"{inside:.3g} of it on them): use salience.fit"
        )
    if definition == "released" and distribution and encoding.maskable.sum() > 1:
        raise ValueError(
            f"{subject} was divided by its sum, which the release does not do: use salience.fit "
            "with definition='released'"
        )
