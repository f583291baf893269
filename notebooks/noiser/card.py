"""Noiser: what the paper is, and what it does with each set of prompts."""

from pathlib import Path

from faithlib.tasks.table import PROMPTS, TASKS, Use
from replication.papers import ENDPOINT, Card, published, refuse


def check(parameters):
    """What the notebook asks of its parameters together."""
    from notebooks.noiser.measure.unit import TINY, judge_options

    if "noiser" not in (parameters["attributions"] or ["noiser"]):  # [] stands for the paper's own
        refuse("attributions", parameters["attributions"], "'noiser' is missing", "add it")
    if "paper" not in parameters["definitions"]:
        refuse("definitions", parameters["definitions"], "'paper' is missing", "add it")
    if "k_min" in parameters["boundings"]:
        refuse("boundings", parameters["boundings"], "'k_min' is always there", "leave it out")
    judge, task = parameters["judge"], TASKS.get(parameters["task"])
    if judge.startswith(ENDPOINT) and not judge.removeprefix(ENDPOINT).strip():
        refuse("judge", judge, "the model behind the endpoint has no name", f"write {ENDPOINT}<name>")
    if judge == TINY and not (task and task.generated) and not parameters["tokens"]:
        refuse("judge", judge, "it knows the generated prompts alone", "write judge: '', or name a model")
    judge_options(parameters["judge_settings"], judge)


def demand(units):
    """The key and client of judges behind an endpoint, unless their answers are kept."""
    from notebooks.noiser.measure.unit import check_endpoint

    for params in units:
        check_endpoint({"judge": "", "tokens": 0} | params, Path("checkpoints/judges"))


CARD = Card.read(
    __file__,
    check=check,
    demand=demand,
    attributions=tuple(published("noiser", "table_1").attribution.unique()),
    tasks={
        "knowns": Use(PROMPTS, "soft_ns_nc", (None, None, 1208)),
        "longra": Use(PROMPTS, "soft_ns_nc", (None, None, 573)),
        "wikibio": Use(PROMPTS, "soft_ns_nc"),  # the release runs wikitext_prompts instead
        "wikitext_prompts": Use(PROMPTS, "soft_ns_nc", (None, None, 22)),
    },
)
