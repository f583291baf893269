"""The data sets of the five papers and the generated ones, one row each.

A row says where a data set comes from (a script-free repository on the hub, or what a local file must hold), which part
is masked and which is auxiliary, what the labels are called, and what each paper does with it: its split recipe, its
metric, and the sizes it prints. `faithlib.tasks.load` reads rows; nothing here touches data.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

PAPERS = ("soft_metrics", "recursive_roar", "saloss", "noiser", "fmm")
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Recipe:
    """How a paper makes train, validation and test from the splits a source has.

    `train`, `validation`, `test` name a source split, or a share of it by position, as in "train[:80%]"; "" = no such split.
    `holdout`: when the source has no validation split, this share of train is held out by scikit-learn's
    `train_test_split(test_size=holdout, random_state=random_state)`. `test_share`: only this share of test is kept,
    drawn the same way. `words`: (low, high), keep texts with low < number of words < high.
    """

    train: str = "train"
    validation: str = "validation"
    test: str = "test"
    holdout: float | None = None
    test_share: float | None = None
    random_state: int = 0
    words: tuple[int, int] | None = None

    @property
    def parts(self):
        """{split: (source split, start share, stop share)} in the order train, validation, test."""
        found = {}
        for split in SPLITS:
            match = re.fullmatch(r"(\w+)(?:\[(\d*)%?:(\d*)%?\])?", getattr(self, split))
            if match:
                source, start, stop = match.groups()
                found[split] = (source, int(start or 0) / 100, int(stop or 100) / 100)
        return found


@dataclass(frozen=True)
class Use:
    """What one paper does with a data set: split recipe, metric, printed sizes (train, validation, test)."""

    recipe: Recipe
    metric: str
    sizes: tuple[int | None, int | None, int | None] = (None, None, None)
    note: str = ""


@dataclass(frozen=True)
class Hub:
    """A script-free repository: `columns` {ours: theirs}, `splits` {ours: theirs} where the names differ."""

    id: str
    revision: str
    columns: dict
    config: str | None = None
    splits: dict = field(default_factory=dict)
    data_files: dict | None = None
    has_validation: bool = True  # else the recipe holds out a share of train
    first_sentences: int | None = None  # keep only this many sentences of the text


@dataclass(frozen=True)
class Task:
    """One data set. `masked` is the part that is explained and erased, `auxiliary` the part that never is."""

    name: str
    title: str
    papers: dict  # {paper: Use}; the first one is the default
    labels: tuple[str, ...] = ()
    masked: str = "text"
    auxiliary: str = ""
    hub: Hub | None = None
    where: str = ""  # where to get the rows when the hub has none
    kind: str = "classification"  # or "prompts"
    generated: bool = False
    credentialed: bool = False
    unlabelled: bool = False  # label -1 marks pairs without a gold label; they are left out
    columns: dict = field(
        default_factory=dict
    )  # mirror columns {ours: theirs} where the names differ
    files: dict = field(
        default_factory=dict
    )  # mirror files {split: path} that differ from <name>/<split>.parquet
    extras: tuple[str, ...] = ()  # further columns kept as they are
    evidence: str = ""  # "spans" or "sentences": how the mirror writes known evidence

    @property
    def metric(self):
        """The metric of the paper that comes first in the row (accuracy for the generated tasks)."""
        return next(iter(self.papers.values())).metric if self.papers else "accuracy"


GLUE = "nyu-mll/glue", "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"
SUPERGLUE = "aps/super_glue", "3de24cf8022e94f4ee4b9d55a6f539891524d646"
BABI_ANSWERS = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")

OFFICIAL = Recipe()
FMM = Recipe(
    train="train[:80%]", validation="train[80%:]", test="validation"
)  # hidden GLUE tests stay unused
FMM_OWN_TEST = Recipe(train="train[:80%]", validation="train[80%:]")
BABI_ROAR = Recipe(holdout=0.15, random_state=0)
AG = Recipe(holdout=0.15, random_state=16377)
PROMPTS = Recipe(train="", validation="")

ERASER_FILES = "ERASER (eraserbenchmark.com) has it as jsonl"
BABI_FILES = "the tasks_1-20_v1-2 archive, folder en-10k, has it as text; the hub has it only as a loading script"


def _columns(text, text_b=None, label="label"):
    pair = {"text_b": text_b} if text_b else {}
    return {"text": text, **pair, "label": label}


def _glue(
    name, title, labels, sizes, metric, text, text_b=None, validation=None, benchmark=GLUE, **more
):
    """A GLUE or SuperGLUE row: FMM cuts the training split 80/20 by position and tests on the validation split."""
    splits = {"validation": validation} if validation else {}
    hub = Hub(*benchmark, _columns(text, text_b), config=name, splits=splits)
    return Task(
        name, title, {"fmm": Use(FMM, metric, sizes)}, labels, text, text_b or "", hub, **more
    )


def _babi(number, facts):
    uses = {
        "recursive_roar": Use(BABI_ROAR, "accuracy", (8500, 1500, 1000)),
        "fmm": Use(FMM_OWN_TEST, "micro_f1", (8000, 2000, 1000)),
    }
    return Task(
        f"babi_{number}",
        f"bAbI-{number}, {facts} (en-10k)",
        uses,
        BABI_ANSWERS,
        "paragraph",
        "question",
        where=BABI_FILES,
        evidence="sentences",
    )


def _mimic(name, title, labels, roar, fmm):
    uses = {
        "recursive_roar": Use(OFFICIAL, "macro_f1", roar),
        "fmm": Use(OFFICIAL, "macro_f1", fmm),
    }
    return Task(
        name,
        title,
        uses,
        labels,
        credentialed=True,
        where="MIMIC-III v1.4 (physionet.org), discharge summaries split as in Jain and Wallace (2019)",
    )


ROWS = (
    Task(
        "sst",
        "Stanford Sentiment Treebank, binary sentences",
        {
            "soft_metrics": Use(OFFICIAL, "macro_f1", (6920, 872, 1821)),
            "saloss": Use(OFFICIAL, "macro_f1", (6920, 872, 1821)),
            "recursive_roar": Use(
                Recipe(words=(5, 10_000)),
                "macro_f1",
                (6579, 848, 1776),
                "texts of more than 5 tokens; the paper counts spaCy tokens without punctuation",
            ),
        },
        ("negative", "positive"),
        "sentence",
        hub=Hub("SetFit/sst2", "00ea8ccb7a54b4e3780a3e51aa3f80361ff849c0", _columns("text")),
    ),
    _glue(
        "sst2",
        "SST-2 of GLUE, phrases",
        ("negative", "positive"),
        (53879, 13470, 872),
        "accuracy",
        "sentence",
    ),
    Task(
        "ag_news",
        "AG News",
        {
            "soft_metrics": Use(
                AG,
                "macro_f1",
                (102000, 18000, 7600),
                "the release keeps the description, not the title",
            ),
            "saloss": Use(
                AG,
                "macro_f1",
                (102000, 18000, 7600),
                "the release keeps the description, not the title",
            ),
        },
        ("World", "Sports", "Business", "Sci/Tech"),
        hub=Hub(
            "fancyzhx/ag_news",
            "eb185aade064a813bc0b7f42de02595523103ca4",
            _columns("text"),
            has_validation=False,
        ),
    ),
    Task(
        "evidence_inference",
        "Evidence Inference, abstracts (ERASER)",
        {
            "soft_metrics": Use(OFFICIAL, "macro_f1", (5789, 684, 720)),
            "saloss": Use(OFFICIAL, "macro_f1", (5789, 684, 720)),
        },
        ("no significant difference", "significantly decreased", "significantly increased"),
        "abstract",
        "intervention || comparator || outcome",
        where=ERASER_FILES,
        evidence="spans",
    ),
    Task(
        "multirc",
        "MultiRC (ERASER)",
        {
            "soft_metrics": Use(OFFICIAL, "macro_f1", (24029, 3214, 4848)),
            "saloss": Use(OFFICIAL, "macro_f1", (24029, 3214, 4848)),
        },
        ("False", "True"),
        "passage",
        "question || answer",
        evidence="spans",
        hub=Hub(
            "CogComp/eraser_multi_rc",
            "3c7f05c802f56e99c1511fe1c6c22c07a44584af",  # branch refs/convert/parquet
            _columns("passage", "query_and_answer"),
            data_files={split: f"default/{split}/0000.parquet" for split in SPLITS},
        ),
    ),
    Task(
        "semeval",
        "SemEval-2017 task 4A, tweets",
        {
            "saloss": Use(
                OFFICIAL,
                "macro_f1",
                (6000, 2000, 20630),
                "the paper uses the 2016 files; the hub's set joins all years and has the 2017 test set",
            )
        },
        ("negative", "neutral", "positive"),
        "tweet",
        hub=Hub(
            "cardiffnlp/tweet_eval",
            "b3a375baf0f409c77e6bc7aa35102b7b3534f8be",
            _columns("text"),
            config="sentiment",
        ),
    ),
    Task(
        "imdb",
        "IMDB film reviews",
        {
            "fmm": Use(
                Recipe(holdout=0.2),
                "macro_f1",
                (20000, 5000, 25000),
                "the hub sorts the reviews by label, so the 80/20 cut is drawn, not taken by position",
            ),
            "recursive_roar": Use(
                Recipe(holdout=0.2, test_share=0.2, words=(6, 400)),
                "macro_f1",
                (17212, 4304, 4362),
                "the paper's 20 % of the test set is not published",
            ),
        },
        ("neg", "pos"),
        hub=Hub(
            "stanfordnlp/imdb",
            "e6281661ce1c48d982bc483cf8a173c1bbeb5d31",
            _columns("text"),
            has_validation=False,
        ),
    ),
    Task(
        "snli",
        "SNLI",
        {
            "recursive_roar": Use(OFFICIAL, "micro_f1", (549367, 9842, 9824)),
            "fmm": Use(OFFICIAL, "macro_f1", (549367, 9842, 9824)),
        },
        ("entailment", "neutral", "contradiction"),
        "premise",
        "hypothesis",
        unlabelled=True,
        hub=Hub(
            "stanfordnlp/snli",
            "cdb5c3d5eed6ead6e5a341c8e56e669bb666725b",
            _columns("premise", "hypothesis"),
        ),
    ),
    _babi(1, "one supporting fact"),
    _babi(2, "two supporting facts"),
    _babi(3, "three supporting facts"),
    _mimic(
        "mimic_anemia",
        "Anemia, acute or chronic (MIMIC-III)",
        ("acute", "chronic"),
        (4262, 729, 1242),
        (4262, 729, 1243),
    ),
    _mimic(
        "mimic_diabetes",
        "Diabetes (MIMIC-III)",
        ("no diabetes", "diabetes"),
        (8066, 1573, 1729),
        (8066, 1573, 1729),
    ),
    _glue(
        "rte",
        "RTE",
        ("entailment", "not_entailment"),
        (1992, 498, 277),
        "accuracy",
        "sentence1",
        "sentence2",
    ),
    _glue(
        "mnli",
        "MNLI, matched",
        ("entailment", "neutral", "contradiction"),
        (314162, 78540, 9815),
        "accuracy",
        "premise",
        "hypothesis",
        validation="validation_matched",
    ),
    _glue(
        "qnli",
        "QNLI",
        ("entailment", "not_entailment"),
        (83794, 20949, 5463),
        "accuracy",
        "sentence",
        "question",
    ),
    _glue(
        "cb",
        "CommitmentBank",
        ("entailment", "contradiction", "neutral"),
        (200, 50, 56),
        "macro_f1",
        "premise",
        "hypothesis",
        benchmark=SUPERGLUE,
    ),
    _glue(
        "mrpc",
        "MRPC",
        ("not_equivalent", "equivalent"),
        (2934, 734, 408),
        "macro_f1",
        "sentence1",
        "sentence2",
    ),
    _glue(
        "qqp",
        "Quora Question Pairs",
        ("not_duplicate", "duplicate"),
        (291077, 72769, 40430),
        "macro_f1",
        "question1",
        "question2",
    ),
    _glue("cola", "CoLA", ("unacceptable", "acceptable"), (6841, 1710, 1043), "mcc", "sentence"),
    _glue(
        "boolq",
        "BoolQ",
        ("no", "yes"),
        (7542, 1885, 3270),
        "accuracy",
        "passage",
        "question",
        benchmark=SUPERGLUE,
    ),
    Task(
        "knowns",
        "Knowns, facts with a one-word answer",
        {"noiser": Use(PROMPTS, "soft_ns_nc", (None, None, 1208))},
        masked="prompt",
        kind="prompts",
        columns={"text": "prompt", "target": "attribute"},
        extras=("subject", "relation_id"),
        where="rome.baulab.info/data/dsets/known_1000.json",
    ),
    Task(
        "longra",
        "LongRA, long-range agreement of word pairs",
        {
            "noiser": Use(
                PROMPTS,
                "soft_ns_nc",
                (None, None, 573),
                "186 of the released prompts already hold the answer; column noiser_prompt_ok marks the others",
            )
        },
        masked="prompt",
        kind="prompts",
        columns={"text": "prompt"},
        extras=(
            "type",
            "antecedent",
            "distractor",
            "prompt_no_distractor",
            "prompt_noiser",
            "noiser_prompt_ok",
        ),
        where="the templates of Vafa et al. (2021) filled with the Google analogy pairs",
    ),
    Task(
        "wikibio",
        "WikiBio, the first two sentences of a biography",
        {
            "noiser": Use(
                PROMPTS, "soft_ns_nc", note="the release uses 22 wikitext prompts under this name"
            )
        },
        masked="prompt",
        kind="prompts",
        hub=Hub(
            "potsawee/wiki_bio_gpt3_hallucination",
            "b3cfb73209a8c51582fa1d9b7fe7e45fec5529b2",
            {"text": "wiki_bio_text"},
            splits={"test": "evaluation"},
            first_sentences=2,
        ),
    ),
    Task(
        "wikitext_prompts",
        "the wikitext prompts of Noiser's release",
        {"noiser": Use(PROMPTS, "soft_ns_nc", (None, None, 22))},
        masked="prompt",
        kind="prompts",
        files={"test": "lm_prompts/noiser_wikitext.txt"},
        where="data/wikitext.txt of Noiser's release, one prompt a line",
    ),
    Task(
        "sentiment",
        "generated sentiment with negation",
        {},
        ("negative", "positive"),
        "text",
        generated=True,
    ),
    Task(
        "topics",
        "generated topics",
        {},
        ("World", "Sports", "Business", "Sci/Tech"),
        "text",
        generated=True,
    ),
    Task(
        "relation",
        "generated trial findings",
        {},
        ("no significant difference", "significantly decreased", "significantly increased"),
        "text",
        "intervention | comparator | outcome",
        generated=True,
    ),
)

TASKS = MappingProxyType({row.name: row for row in ROWS})
