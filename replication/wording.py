"""What pages and figures say of verdicts and published numbers: `words.toml`, by what it is of."""

from pathlib import Path

from faithlib.registry import read_rows

WORDING = dict(read_rows(Path(__file__).with_name("words.toml")))
