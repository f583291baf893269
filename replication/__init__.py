"""From records to tables, claims, verdicts and cards: what the notebooks of all papers share.

WORDING is what pages and figures say of verdicts and published numbers: `words.toml`, by what it is of.
"""

import tomllib
from pathlib import Path

WORDING = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
