"""From records to tables, claims, verdicts and cards: what the notebooks of all papers share."""

from pathlib import Path

from faithlib.registry import read_rows

WORDING = dict(read_rows(Path(__file__).with_name("words.toml")))  # what pages say, by what it is of
