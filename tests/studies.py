"""A study made by hand: two attributions, two metrics, three texts; nothing is computed by a model."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

NASTY = '</script><script>alert("x")</script>'
TOKENS = [
    ["[CLS]", "un", "##like", "##ly", "<b>", "[SEP]"],
    ["[CLS]", NASTY, "&amp;", "[SEP]"],
    ["[CLS]", "boring", "[SEP]"],
]
WORDS = [[-1, 0, 0, 0, 1, -1], [-1, 0, 1, -1], [-1, 0, -1]]
TEXTS = ["unlikely <b>", f"{NASTY} &amp;", "boring"]
SCORES = {
    "leave_one_out": [[0, 0.1, -0.4, 0.2, 0, 0], [9, 2, 1, 9], [0, 0, 0]],
    "lime": [[0, 4, 3, 2, 1, 0], [0, -1, 0, 0], [0, 0.5, 0]],
}
NS = {"leave_one_out": [0.5, 0.1, np.nan], "lime": [0.7, 0.4, 0.2]}
FLIP = {"leave_one_out": [0.2, 0.4, 0.6], "lime": [0.1, 0.3, 1.0]}


def study(**more):
    """The study; `more` replaces or adds attributes."""
    rows = [
        ("tiny-bert", i, name, metric, baseline, 0, value + (1 if baseline else 0))
        for metric, by_name in (("ns", NS), ("decision_flip", FLIP))
        for baseline in ("", "matched")
        for name, of_texts in by_name.items()
        for i, value in enumerate(of_texts)
    ]
    columns = ["model", "example", "attribution", "metric", "baseline", "draw", "value"]
    unit = "texts, for this model"
    table = [
        ("leave_one_out", "ns", 0.3, 0.1, 0.5, 2, 1, 0.5, unit, ""),
        ("leave_one_out", "decision_flip", 0.4, 0.2, 0.6, 3, 0, 1.0, unit, ""),
        ("lime", "ns", 0.4333, np.nan, np.nan, 3, 0, 0.5, unit, "too few texts"),
        ("lime", "decision_flip", np.nan, np.nan, np.nan, 0, 3, np.nan, unit, "no text has a value"),
    ]
    names = "attribution metric value ci_low ci_high n void diagnosticity unit flag".split()
    words = [np.array(row) for row in WORDS]
    parts = dict(
        table=pd.DataFrame(table, columns=names),
        values=pd.DataFrame(rows, columns=columns),
        scores={name: [np.array(s, float) for s in of_texts] for name, of_texts in SCORES.items()},
        encodings=[
            SimpleNamespace(ids=np.arange(len(w)), words=w, maskable=w >= 0, auxiliary=w > 9) for w in words
        ],
        targets=np.array([1, 0, 1]),
        texts=TEXTS,
        tokens=TOKENS,
        model_name="tiny-bert",
        notes=["A note & a <tag>."],
        labels=np.array([1, 1, 1]),
        predicted=np.array([1, 0, 1]),
        label_names=("bad", "good"),
    )
    return SimpleNamespace(**(parts | more))
