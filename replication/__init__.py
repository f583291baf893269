"""From records to tables, claims, verdicts and cards: what the notebooks of all papers share.

WORDING is what pages and figures say of verdicts and published numbers: `words.toml`, by what it is of.
"""

from pathlib import Path

from faithlib.registry import read_rows

WORDING = dict(read_rows(Path(__file__).with_name("words.toml")))
