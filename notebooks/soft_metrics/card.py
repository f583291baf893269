"""Soft metrics: what the paper is, and what it does with each data set."""

from faithlib.tasks.table import AG, AG_NOTE, OFFICIAL, Use
from replication.papers import Card

CARD = Card.read(
    __file__,
    tasks={
        "sst": Use(OFFICIAL, "macro_f1", (6920, 872, 1821)),
        "ag_news": Use(AG, "macro_f1", (102000, 18000, 7600), AG_NOTE),
        "evidence_inference": Use(OFFICIAL, "macro_f1", (5789, 684, 720)),
        "multirc": Use(OFFICIAL, "macro_f1", (24029, 3214, 4848)),
    },
)
