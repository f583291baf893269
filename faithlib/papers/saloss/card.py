"""SaLoss: what the paper is, and what it does with each data set."""

from faithlib.papers import Card, published
from faithlib.scores import RANDOM
from faithlib.tasks.table import AG, AG_NOTE, OFFICIAL, Use

COMPARED = published("saloss", "table_2").attribution.unique()

CARD = Card(
    name="saloss",
    title="Enjoy the Salience: Towards Better Transformer-based Faithful Explanations with Word Salience",
    citation="Chrysostomou and Aletras (2021), EMNLP",
    url="https://arxiv.org/abs/2108.13759",
    claims=(
        "A model trained with the salience loss predicts as well as without it.",
        "Fewer tokens have to go until its prediction flips, and its rationales train better classifiers.",
    ),
    attributions=(*(name for name in COMPARED if name != RANDOM), "random_normal"),
    tables=("performance", "decision_flip", "lambdas", "fresh"),
    choices={
        "texts": ("all", "those that flip"),
        "over texts": ("mean", "median"),
        "attributions": ("all", "attention alone"),
        "weights": ("0.01, 0.1, 1", "0.0001, 0.001, 0.01"),
        "weight chosen by": ("fewest tokens to a flip", "lowest loss"),
        "removal": ("[MASK]", "deleted", "id 0"),
        "flip step": ("5 %", "one token"),
    },
    tasks={
        "sst": Use(OFFICIAL, "macro_f1", (6920, 872, 1821)),
        "ag_news": Use(AG, "macro_f1", (102000, 18000, 7600), AG_NOTE),
        "evidence_inference": Use(OFFICIAL, "macro_f1", (5789, 684, 720)),
        "multirc": Use(OFFICIAL, "macro_f1", (24029, 3214, 4848)),
        "semeval": Use(
            OFFICIAL,
            "macro_f1",
            (6000, 2000, 20630),
            "the paper uses the 2016 files; the hub joins all years and tests on 2017",
        ),
    },
)
