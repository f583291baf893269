"""SaLoss: what the paper is, what it does with each data set, and which of its open choices are varied."""

from faithlib.scores import RANDOM
from faithlib.tasks.table import AG, AG_NOTE, OFFICIAL, Use
from replication.papers import Card, published, refuse

COMPARED = published("saloss", "table_2").attribution.unique()
FLIPS = {  # what a record calls an option: the choice and the option in words, what `decision_flip` is given
    "mask": ("removal", "[MASK]", {"removal": "mask"}),
    "pad": ("removal", "id 0", {"removal": "pad"}),
    "one token": ("flip step", "one token", {"step": 1}),
    "absolute": ("scores", "absolute", {}),
}
PAPER_GRID = (1e-4, 1e-3, 1e-2)  # the weights λ that footnote 7 lists


def check(parameters):
    """What the notebook asks of its parameters together."""
    if "textrank" not in parameters["saliences"]:
        refuse("saliences", parameters["saliences"], "the paper's 'textrank' is missing", "add it")


def demand(units):
    """The part-of-speech taggers of units are installed."""
    from notebooks.saloss.measure import pos

    for tagger in sorted({params.get("tagger") for params in units} - {None, ""}):
        pos.version(tagger)


CARD = Card.read(
    __file__,
    attributions=(*(name for name in COMPARED if name != RANDOM), "random_normal"),
    check=check,
    demand=demand,
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
