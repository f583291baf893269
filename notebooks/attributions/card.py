"""A study of our own: do attributions find the evidence where it is known?"""

from replication.papers import Card

CARD = Card(
    name="attributions",
    title="Attributions against known evidence",
    citation="a study of faithlib; human rationales from DeYoung et al. (2020), ERASER, ACL",
    url="https://arxiv.org/abs/1911.03429",
    claims=("Each attribution ranks the words that decide a text above a random order.",),
    tables=("evidence",),
    choices={
        "agreement": ("auprc", "precision"),
        "texts": ("all", "correctly predicted"),
    },
)
