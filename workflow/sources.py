"""The table of sources, `sources.yaml`: models, vectors and data sets that the hub lacks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml


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
    steps: Sequence[Step]  # what is done with the files, in this order
    megabytes: int  # of disk while it is fetched
    licence: str
    terms: str  # a link to the licence's text
    wheels: dict[str, str] = field(default_factory=dict)  # {"package==version": SHA-256}, in the parts' order
    links: dict[str, str] = field(default_factory=dict)  # {address: SHA-256 of its file, "" if not known}
    members: Sequence[str] = ()  # patterns of the files taken out of each archive; () for plain files
    rows: dict[str, Sequence] = field(default_factory=dict)  # {split: (how many, their digest or "")}
    consent: str = ""  # the word by which a user agrees to the terms, where that is needed
    hub: bool = True  # whether the hub is asked first
    quantisation: str = ""  # of weights, as a record says it
    training: str = ""
    place: str = ""  # of what is made in its folder, where it is not the name

    @property
    def parts(self):
        """{package or address: SHA-256}."""
        return self.wheels | self.links


def read(path):
    """{name: Source} of a YAML file."""
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    for row in rows.values():
        row["steps"] = [Step(**step) for step in row["steps"]]
    return {name: Source(name=name, **row) for name, row in rows.items()}


SOURCES = read(Path(__file__).with_suffix(".yaml"))
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
