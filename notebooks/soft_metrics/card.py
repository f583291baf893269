"""Soft metrics: what the paper is, and what it does with each data set."""

from faithlib.tasks.table import AG, AG_NOTE, OFFICIAL, Use
from replication.papers import Card

CARD = Card(
    name="soft_metrics",
    title="Incorporating Attribution Importance for Improving Faithfulness Metrics",
    citation="Zhao and Aletras (2023), ACL",
    url="https://arxiv.org/abs/2305.10496",
    claims=(
        "Soft sufficiency and comprehensiveness prefer a real attribution to a random one more often than "
        "the hard metrics do.",
    ),
    tables=("performance", "diagnosticity", "faithfulness_by_ratio"),
    choices={  # the main setting first: 16 soft draws, one random draw, all measured texts
        "ties": ("half, released as at least", "half", "strict", "at least"),
        "baseline": ("normal", "matched"),
        "attributions": ("all", "without signed input × gradient", "without |input × gradient|"),
        "attribution code": ("of the definition", "ours", "released"),
        "sign": ("signed", "absolute"),
        "texts": ("all", "1 - S0 of .05 and more", "correctly predicted"),
        "label": ("predicted", "gold"),
        "probability": ("min-max", "rank", "equal mean retention"),
        "special tokens": ("left", "perturbed too"),
        "removal": ("zero", "[MASK]", "delete"),
    },
    tasks={
        "sst": Use(OFFICIAL, "macro_f1", (6920, 872, 1821)),
        "ag_news": Use(AG, "macro_f1", (102000, 18000, 7600), AG_NOTE),
        "evidence_inference": Use(OFFICIAL, "macro_f1", (5789, 684, 720)),
        "multirc": Use(OFFICIAL, "macro_f1", (24029, 3214, 4848)),
    },
)
