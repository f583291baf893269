"""Noiser: what the paper is, and what it does with each set of prompts."""

from pathlib import Path

from faithlib.tasks.table import PROMPTS, TASKS, Use
from replication.papers import ENDPOINT, LOG_RATIO, SHARE, Card, Headline, published, refuse


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

    for given in units:
        check_endpoint({"judge": "", "tokens": 0} | given, Path("checkpoints/judges"))


CARD = Card(
    name="noiser",
    title="Noiser: Bounded Input Perturbations for Attributing Large Language Models",
    citation="Ghasemi Madani, Gema, Sarti, Zhao, Minervini and Passerini (2025), COLM",
    url="https://arxiv.org/abs/2504.02911",
    claims=(
        "Noiser's scores are more faithful than those of nine other methods, on all models and data sets.",
        "k_min is the best of seven ways to bound the noise.",
        "The words that Noiser holds important let a second model name the completion.",
    ),
    kind="prompts",
    beside={"judge": "prompts"},
    check=check,
    demand=demand,
    attributions=tuple(published("noiser", "table_1").attribution.unique()),
    # Frozen on 2026-11-28. The margins were set after the first data of the small scale were seen; new data
    # sets, models and scales are tested with them unchanged.
    headline=(
        Headline("Noiser is the most faithful (lead over the best other, log ratio)", LOG_RATIO, "random"),
        Headline("Noiser is the most faithful everywhere", LOG_RATIO, "random"),
        Headline("k_min is the best bounding (lead over the best other, log ratio)", LOG_RATIO, "random"),
        Headline("Noiser has the highest answerability score (top 1, lead over the next)", SHARE),
        Headline("Noiser has the highest answerability score (top 5, lead over the next)", SHARE),
        Headline("occlusion has the highest answerability rate (top 1, lead over the next)", SHARE),
        Headline("occlusion has the highest answerability rate (top 5, lead over the next)", SHARE),
        Headline(
            "Noiser ignores the distractor (its share of tokens less its share of scores)", SHARE, "matched"
        ),
    ),
    looks={
        "small": {
            ("world_agreement", "tiny-llama", ""): (3, 5),
            ("world_biographies", "tiny-llama", ""): (3, 5),
            ("world_facts", "tiny-llama", ""): (3, 5),
        }
    },
    figure="lead_by_normalisation",
    tables=("prompts", "faithfulness", "boundings", "normalisations", "draws"),
    # Main setting first. It is what the paper prints, where it prints anything: scores as they are
    # (section 3), integrated gradients from all zero embeddings (section 4.2).
    choices={
        "scores": ("as printed", "as released"),
        "random baseline": ("uniform", "matched"),
        "prompts of a fact": ("averaged", "independent"),
        "normalisation": ("none", "sum 1, signed", "|s| / sum", "min-max"),
        "baseline of integrated gradients": ("zero", "token"),
        "clip": ("each draw", "the mean"),
    },
    tasks={
        "knowns": Use(PROMPTS, "soft_ns_nc", (None, None, 1208)),
        "longra": Use(PROMPTS, "soft_ns_nc", (None, None, 573)),
        "wikibio": Use(PROMPTS, "soft_ns_nc"),  # the release runs wikitext_prompts instead
        "wikitext_prompts": Use(PROMPTS, "soft_ns_nc", (None, None, 22)),
    },
)
