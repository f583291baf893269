"""Word salience: what tokens are worth before a model sees them, and how far attention is from it.

Salience σ is computed on token ids, of the text alone (TextRank, uniform) or also of the training split
(tf-idf, χ²). Chrysostomou & Aletras 2021, section 3 and appendices B and H.
"""

import networkx
import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import chi2

from faithlib.progress import bar
from faithlib.scores import DEFINITIONS

SALIENCES = ("textrank", "tfidf", "chi2", "uniform")
CLOSE = 1e-7  # the change of all scores in the last update; what is still to come is at most 6 times that
TINY = 1e-10  # in both logarithms, as released: a σ of 0 costs 23 nats and not infinitely many


def fit(kind, encodings, labels=None, definition="paper"):
    """Salience by one of `SALIENCES`: a function of encodings that returns [(tokens,)], float64.

    encodings, labels: of the training split; idf comes from the encodings, χ² from both, textrank and uniform
    need neither. The scores of maskable tokens, divided by their sum; 0 elsewhere. A repeated token has one
    score, at each of its places; a token that is not in the training split has tf-idf and χ² 0.
    definition="released": on the scale of the release, whose loss takes another softmax of it: TextRank as
    `released_textrank` computes it, undivided and over all between the first and the last token, text_b
    too; of the other kinds the scores of maskable tokens are divided by their mean, as TextRank's is near 1.
    Raises ValueError for an unknown kind or definition, texts without maskable tokens, for χ² missing labels
    or a class without examples, and where all scores of a text are 0.
    """
    for what, value, known in ("salience", kind, SALIENCES), ("definition", definition, DEFINITIONS):
        if value not in known:
            raise ValueError(f"{what}={value!r} is unknown: use {', '.join(map(repr, known))}")
    score = {"textrank": textrank, "uniform": np.ones_like}.get(kind)  # ids -> scores
    if score is None:
        texts = [_ids(e, i) for i, e in enumerate(encodings)]
        score = _tfidf(texts) if kind == "tfidf" else _chi2(texts, labels)

    def salience(encodings):
        found = []
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
                found.append(sigma)
                progress.update()
        return found

    return salience


def textrank(ids, window=4, damping=0.85):
    """TextRank of each token (Eq. 1), at its fixed point to 1e-6: (tokens,) -> (tokens,), above 0.

    σ_i = (1 − d) + d Σ_j σ_j / |Out(V_j)| over the neighbours j of i: n times the PageRank of a graph whose n
    nodes are the different ids, so the mean over nodes is 1. One undirected edge joins two different ids that
    are somewhere less than `window` tokens apart, however often; an id is no neighbour of itself. A text of
    one id, repeated or not, has 1 everywhere.
    """
    nodes, at = np.unique(ids, return_inverse=True)  # at: (tokens,) node of each token
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(nodes)))
    graph.add_edges_from((i, j) for i, j in _pairs(at, window) if i != j)
    # networkx stops where the change, summed over nodes, is below n · tol, of scores whose sum is 1
    rank = networkx.pagerank(graph, alpha=damping, tol=CLOSE / len(nodes) ** 2, max_iter=1000)
    return len(nodes) * np.array([rank[i] for i in range(len(nodes))])[at]


def released_textrank(ids, window=8, damping=0.85):
    """TextRank as released: (tokens,) -> (tokens,), above 0.

    A pair of ids that occurs in both orders weighs 2, and an id near itself is its own neighbour. There are
    two updates of Eq. 1, from 1 everywhere: the release stops where the sum of scores no longer changes,
    which it never does. A text of one token, where the release reads memory it has not set, has 1.
    """
    nodes, at = np.unique(ids, return_inverse=True)
    if len(ids) == 1:
        return np.ones(1)
    edges = np.zeros((len(nodes), len(nodes)))
    edges[tuple(np.array(_pairs(at, window)).T)] = 1
    edges += edges.T - np.diag(edges.diagonal())
    scores = np.ones(len(nodes))
    for _ in range(2):
        scores = (1 - damping) + damping * edges @ (scores / edges.sum(0))
    return scores[at]


def divergence(attention, salience):
    """KL(α, σ) of each example, Eq. 3, in nats: (examples,), 0 where both are equal.

    attention, salience: [(tokens,)], both 0 where a token is not maskable, as `attribute` gives attention and
    `fit` salience; each is divided by its sum. Raises ValueError where one of them is 0 everywhere.
    """
    values = []
    for i, rows in enumerate(zip(attention, salience, strict=True)):
        for name, row in zip(("attention", "salience"), rows, strict=True):
            if not np.any(row):
                raise ValueError(f"{name} of example {i} is 0 for every token: there is nothing to compare")
        alpha, sigma = (torch.tensor(row / row.sum(), dtype=torch.float64) for row in rows)
        values.append(_kl(alpha, sigma).item())
    return np.array(values)


def salience_loss(attention, salience, where, definition="paper"):
    """L_sal (Eq. 3), to be added to the loss with a weight λ (Eq. 2): a scalar.

    attention: α, what CLS pays in the last layer, mean over heads, (batch, tokens). salience: σ, as `fit`
    of the same definition gives it, (batch, tokens). where: (batch, tokens) bool.
    "paper": the mean over examples of KL(α, σ) = Σ α (log α − log σ), in nats; 0 where attention equals
    salience. α is restricted to `where`, the maskable tokens, and divided by its sum.
    "released": (Σ over tokens and examples of α (log α − log σ))², in squared nats, which grows with the
    square of the batch; of both sides a softmax over `where`, all tokens that are present, was taken, so
    that α is nearly uniform.
    """
    if definition == "released":
        alpha, sigma = (x.masked_fill(~where, -torch.inf).softmax(-1) for x in (attention, salience))
        return _kl(alpha, sigma).sum().square()
    alpha = attention * where
    alpha = alpha / alpha.sum(-1, keepdim=True).clamp(min=TINY)  # dropout may leave nothing of a short text
    return _kl(alpha, salience).mean()


def _kl(alpha, sigma):
    """(..., tokens) -> (...)."""
    return (alpha * ((alpha + TINY).log() - (sigma + TINY).log())).sum(-1)


def _ids(encoding, example):
    ids = encoding.ids[encoding.maskable].tolist()
    if not ids:
        raise ValueError(f"example {example} has no maskable token: remove empty texts")
    return ids


def _pairs(at, window):
    """The different pairs (node, later node) less than `window` tokens apart."""
    return sorted(
        {
            pair
            for step in range(1, window)
            for pair in zip(at[:-step].tolist(), at[step:].tolist(), strict=True)
        }
    )


def _tfidf(texts):
    """The function ids -> tf · idf, idf = 1 + log((1 + texts) / (1 + texts that have the id))."""
    vectorizer = TfidfVectorizer(analyzer=list).fit(texts)
    column = vectorizer.vocabulary_

    def score(ids):
        row = vectorizer.transform([ids]).toarray()[0]  # (vocabulary,)
        return [row[column[i]] if i in column else 0 for i in ids]

    return score


def _chi2(texts, labels):
    """The function ids -> χ² of an id's counts by class."""
    if labels is None:
        raise ValueError("chi2 needs labels: give those of the encodings")
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
