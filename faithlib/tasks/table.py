"""The data sets, one row each; `register_task` adds a row.

A row says where a data set comes from (a script-free repository on the hub, or what a local file must hold),
which part is masked and which is auxiliary, what the labels are called, how it is split and scored where
nobody says otherwise. What a paper does differently stands in its card. Nothing here touches data.
"""

import re
from dataclasses import dataclass, field

from faithlib.corpora import planted, world
from faithlib.registry import Registry

SPLITS = ("train", "validation", "test")
SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl")  # of files of one's own
KINDS = ("classification", "prompts")


@dataclass(frozen=True)
class Recipe:
    """How a paper makes train, validation and test from the splits of a source.

    `train`, `validation`, `test` name a source split, or a share of it by position ("train[:80%]");
    "" = no such split. `holdout`: share of train held out when the source has no validation split,
    by scikit-learn's `train_test_split(test_size=holdout, random_state=random_state)`.
    `test_share`: share of test that is kept, drawn the same way. `words` = (low, high): only texts
    with low < number of words < high are kept.
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
        """{split: (source split, start share, stop share)}, without the splits that are "" ."""
        found = {}
        for split in SPLITS:
            match = re.fullmatch(r"(\w+)(?:\[(\d*)%?:(\d*)%?\])?", getattr(self, split))
            if match:
                source, start, stop = match.groups()
                found[split] = (source, int(start or 0) / 100, int(stop or 100) / 100)
        return found


@dataclass(frozen=True)
class Use:
    """What a paper does with a data set; `sizes` = the printed (train, validation, test)."""

    recipe: Recipe = Recipe()
    metric: str = "accuracy"
    sizes: tuple[int | None, int | None, int | None] = (None, None, None)
    note: str = ""


@dataclass(frozen=True)
class Hub:
    """A script-free repository; `columns` and `splits` map our names to theirs."""

    id: str
    revision: str
    columns: dict
    config: str | None = None
    splits: dict = field(default_factory=dict)  # only those with another name
    data_files: dict | None = None
    has_validation: bool = True


@dataclass(frozen=True)
class Task:
    """One data set. `masked` is the part that is explained and erased, `auxiliary` is never."""

    name: str
    title: str
    labels: tuple[str, ...] = ()
    masked: str = "text"
    auxiliary: str = ""
    hub: Hub | None = None
    where: str = ""  # where the rows come from when the hub has none
    kind: str = "classification"  # one of KINDS
    generated: bool = False
    imitates: str = ""  # the data set whose kind of problem a generated one has
    credentialed: bool = False
    unlabelled: bool = False  # label -1 marks pairs without a gold label; they are left out
    columns: dict = field(default_factory=dict)  # mirror columns {ours: theirs} if named otherwise
    files: dict = field(default_factory=dict)  # mirror files that are not <name>/<split>.parquet
    extras: tuple[str, ...] = ()  # further mirror columns, kept as they are
    evidence: str = ""  # "spans" or "sentences": how the mirror writes known evidence
    first_sentences: int | None = None  # keep only this many sentences of the text
    recipe: Recipe = Recipe()  # where no paper's card says otherwise
    metric: str = "accuracy"

    @property
    def place(self):
        """What tells it from another task of its name."""
        return repr(self.title)


# Recipes ------------------------------------------------------------------------------------------

OFFICIAL = Recipe()
AG_NOTE = "the release keeps the description and drops the title"
AG = Recipe(holdout=0.15, random_state=16377)
HIDDEN_TEST = Recipe(train="train[:80%]", validation="train[80%:]", test="validation")  # GLUE, SuperGLUE
BABI = Recipe(holdout=0.15, random_state=0)
IMDB_SHORT = Recipe(holdout=0.2, test_share=0.2, words=(6, 400))
PROMPTS = Recipe(train="", validation="")

# Repositories and sources -------------------------------------------------------------------------

GLUE = "nyu-mll/glue", "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"
SUPERGLUE = "aps/super_glue", "3de24cf8022e94f4ee4b9d55a6f539891524d646"
SST = "SetFit/sst2", "00ea8ccb7a54b4e3780a3e51aa3f80361ff849c0"
AG_NEWS = "fancyzhx/ag_news", "eb185aade064a813bc0b7f42de02595523103ca4"
# The commit is one of the branch refs/convert/parquet; main holds a loading script.
MULTIRC = "CogComp/eraser_multi_rc", "3c7f05c802f56e99c1511fe1c6c22c07a44584af"
TWEETS = "cardiffnlp/tweet_eval", "b3a375baf0f409c77e6bc7aa35102b7b3534f8be"
IMDB = "stanfordnlp/imdb", "e6281661ce1c48d982bc483cf8a173c1bbeb5d31"
SNLI = "stanfordnlp/snli", "cdb5c3d5eed6ead6e5a341c8e56e669bb666725b"
WIKIBIO = "potsawee/wiki_bio_gpt3_hallucination", "b3cfb73209a8c51582fa1d9b7fe7e45fec5529b2"

BABI_ANSWERS = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
SUPPORT = ("one supporting fact", "two supporting facts", "three supporting facts")
RELATIONS = ("no significant difference", "significantly decreased", "significantly increased")
TOPICS = ("World", "Sports", "Business", "Sci/Tech")


def _columns(text, text_b=None):
    return {"text": text, **({"text_b": text_b} if text_b else {}), "label": "label"}


def _glue(name, title, labels, metric, text, text_b="", benchmark=GLUE, splits=None):
    """A GLUE or SuperGLUE row, whose test labels are hidden."""
    hub = Hub(*benchmark, _columns(text, text_b), config=name, splits=splits or {})
    return Task(name, title, labels, text, text_b, hub, recipe=HIDDEN_TEST, metric=metric)


def _babi(number):
    where = "the bAbI archive tasks_1-20_v1-2, folder en-10k (text files)"
    title = f"bAbI-{number}, {SUPPORT[number - 1]} (en-10k)"
    return Task(f"babi_{number}", title, BABI_ANSWERS, masked="paragraph", auxiliary="question", where=where,
                evidence="sentences", recipe=BABI)  # fmt: skip


def _mimic(name, title, labels):
    where = "MIMIC-III (physionet.org), discharge summaries split as by Jain and Wallace (2019)"
    return Task(name, title, labels, credentialed=True, where=where, metric="macro_f1")


# The table ----------------------------------------------------------------------------------------

ROWS = (
    Task("sst", "Stanford Sentiment Treebank, binary sentences", ("negative", "positive"), masked="sentence",
         hub=Hub(*SST, _columns("text")), metric="macro_f1"),
    Task("ag_news", "AG News", TOPICS, hub=Hub(*AG_NEWS, _columns("text"), has_validation=False), recipe=AG,
         metric="macro_f1"),
    Task("evidence_inference", "Evidence Inference, abstracts (ERASER)", RELATIONS, masked="abstract",
         auxiliary="intervention || comparator || outcome",
         where="abstracts, as SaLoss's authors publish them", evidence="spans", metric="macro_f1"),
    Task("multirc", "MultiRC (ERASER)", ("False", "True"), masked="passage", auxiliary="question || answer",
         hub=Hub(*MULTIRC, _columns("passage", "query_and_answer"),
                 data_files={split: f"default/{split}/0000.parquet" for split in SPLITS}),
         evidence="spans", metric="macro_f1"),
    Task("semeval", "SemEval-2017 task 4A, tweets", ("negative", "neutral", "positive"), masked="tweet",
         hub=Hub(*TWEETS, _columns("text"), config="sentiment"), metric="macro_f1"),
    Task("imdb", "IMDB film reviews", ("neg", "pos"), hub=Hub(*IMDB, _columns("text"), has_validation=False),
         recipe=IMDB_SHORT, metric="macro_f1"),
    Task("snli", "SNLI", ("entailment", "neutral", "contradiction"), masked="premise", auxiliary="hypothesis",
         hub=Hub(*SNLI, _columns("premise", "hypothesis")), unlabelled=True, metric="micro_f1"),
    *map(_babi, (1, 2, 3)),
    _mimic("mimic_anemia", "Anemia, acute or chronic (MIMIC-III)", ("acute", "chronic")),
    _mimic("mimic_diabetes", "Diabetes (MIMIC-III)", ("no diabetes", "diabetes")),
    _glue("sst2", "SST-2, phrases (GLUE)", ("negative", "positive"), "accuracy", "sentence"),
    _glue("rte", "RTE (GLUE)", ("entailment", "not_entailment"), "accuracy", "sentence1", "sentence2"),
    _glue("mnli", "MNLI, matched (GLUE)", ("entailment", "neutral", "contradiction"), "accuracy", "premise",
          "hypothesis", splits={"validation": "validation_matched"}),
    _glue("qnli", "QNLI (GLUE)", ("entailment", "not_entailment"), "accuracy", "sentence", "question"),
    _glue("cb", "CommitmentBank (SuperGLUE)", ("entailment", "contradiction", "neutral"), "macro_f1",
          "premise", "hypothesis", SUPERGLUE),
    _glue("mrpc", "MRPC (GLUE)", ("not_equivalent", "equivalent"), "macro_f1", "sentence1", "sentence2"),
    _glue("qqp", "Quora Question Pairs (GLUE)", ("not_duplicate", "duplicate"), "macro_f1", "question1",
          "question2"),
    _glue("cola", "CoLA (GLUE)", ("unacceptable", "acceptable"), "mcc", "sentence"),
    _glue("boolq", "BoolQ (SuperGLUE)", ("no", "yes"), "accuracy", "passage", "question", SUPERGLUE),
    Task("knowns", "Knowns, facts with a one-word answer", masked="prompt",
         where="rome.baulab.info/data/dsets/known_1000.json", kind="prompts",
         columns={"text": "prompt", "target": "attribute"}, extras=("subject", "relation_id"), recipe=PROMPTS,
         metric="soft_ns_nc"),
    # prompt_noiser is the released prompt; where noiser_prompt_ok is False it holds the answer.
    Task("longra", "LongRA, long-range agreement of word pairs", masked="prompt",
         where="the templates of Vafa et al. (2021), filled with the Google analogy pairs", kind="prompts",
         columns={"text": "prompt", "target": "target"},
         extras=("type", "antecedent", "distractor", "prompt_no_distractor", "prompt_noiser",
                 "noiser_prompt_ok"),
         recipe=PROMPTS, metric="soft_ns_nc"),
    Task("wikibio", "WikiBio, the first two sentences of a biography", masked="prompt", kind="prompts",
         hub=Hub(*WIKIBIO, {"text": "wiki_bio_text"}, splits={"test": "evaluation"}), first_sentences=2,
         recipe=PROMPTS, metric="soft_ns_nc"),
    Task("tinystories", "TinyStories, the first two sentences of a story", masked="prompt",
         where="stories of TinyStories (Eldan and Li, 2023), one a row", kind="prompts",
         files={"test": "tinystories_sample/sample.parquet"}, first_sentences=2, recipe=PROMPTS,
         metric="soft_ns_nc"),
    Task("wikitext_prompts", "the wikitext prompts of Noiser's release, there called WikiBio",
         masked="prompt", where="data/wikitext.txt of Noiser's release, one prompt a line", kind="prompts",
         files={"test": "lm_prompts/noiser_wikitext.txt"}, recipe=PROMPTS, metric="soft_ns_nc"),
    Task("sentiment", "generated reviews with negation", ("negative", "positive"), generated=True,
         imitates="sst"),
    Task("topics", "generated news of four topics", TOPICS, generated=True, imitates="ag_news"),
    Task("relation", "generated findings of trials", RELATIONS,
         auxiliary="intervention | comparator | outcome", generated=True, imitates="evidence_inference"),
    Task("world", "generated facts, for language models", world.LABELS, generated=True, imitates="knowns"),
    Task("world_facts", "generated facts in several wordings", masked="prompt", kind="prompts",
         generated=True, imitates="knowns"),
    Task("world_agreement", "generated questions across a distractor", masked="prompt", kind="prompts",
         generated=True, imitates="longra"),
    Task("world_biographies", "generated biographies and their continuations", masked="prompt",
         kind="prompts", generated=True, imitates="wikibio"),
    *(Task(f"whereabouts_{number}", f"generated stories, {facts}", BABI_ANSWERS, masked="story",
           auxiliary="question", generated=True, imitates=f"babi_{number}")
      for number, facts in enumerate(SUPPORT, 1)),
    Task("planted", "generated texts with planted words", planted.LABELS, generated=True,
         imitates="sst"),
)  # fmt: skip

TASKS = Registry("task")  # {name: Task}
unregister_task = TASKS.remove


def generated(names):
    """Which of some data sets this project generates; data of your own are not among them.

    Args:
        names: Series or Index of names.

    Returns:
        (names,) bool.

    Example:
        >>> import pandas as pd
        >>> generated(pd.Index(["topics", "ag_news", "mine.csv"])).tolist()
        [True, False, False]
    """
    return names.isin([name for name, task in TASKS.items() if task.generated])


def register_task(task):
    """Add a row to `TASKS`, so that a data set of your own is known by name everywhere.

    Args:
        task: a `Task`. Without a `hub` its rows are read from `<data_dir>/<name>/<split>.parquet` with the
            columns text and label (and text_b if `auxiliary` is named), or text alone for prompts.

    Returns:
        The task.

    Raises:
        ValueError: a name that is taken, a classification without labels, an unknown kind, a hub whose
            columns do not include those that the kind needs.

    Example:
        >>> _ = register_task(Task("reviews", "our shop's reviews", ("bad", "good")))
        >>> TASKS["reviews"].labels
        ('bad', 'good')
        >>> unregister_task("reviews")
    """
    if not isinstance(task, Task):
        raise ValueError(f"{task!r} is no task: give a faithlib.tasks.Task")
    if not isinstance(task.name, str) or not re.fullmatch(r"[a-z]\w*", task.name):
        raise ValueError(f"task {task.name!r}: give a name of small letters, digits and _")
    listed = isinstance(task.labels, (tuple, list)) and len(set(task.labels)) == len(task.labels)
    if task.kind == "classification" and not (listed and len(task.labels) > 1):
        raise ValueError(f"task {task.name!r} has labels {task.labels!r}: name two or more that differ")
    wanted = ("text", "label") if task.kind == "classification" else ("text",)
    missing = [name for name in wanted if task.hub and name not in task.hub.columns]
    if missing:
        raise ValueError(
            f"task {task.name!r}: its hub columns lack {missing[0]!r}: say what it is called there"
        )
    TASKS.add(task, kind=KINDS)
    return task


for _row in ROWS:
    register_task(_row)
