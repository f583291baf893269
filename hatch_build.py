"""The page of the package on a registry: README, whose relative links lead nowhere there."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[[^]\[]*\]\((?!https?:)[^)\s]+\)\n\n.+\n\n")  # with the paragraph that explains it
RELATIVE = re.compile(r"(!?)\[([^]\[]*)\]\((?!https?:|#)([^)\s]+)\)")


def with_address(text, address):
    """Relative links and pictures as absolute ones; without an address words stay, and pictures go."""
    if not address:
        return RELATIVE.sub(r"\2", PICTURE.sub("", text))

    def absolute(link):
        picture, words, path = link.groups()
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/main/{path})"

    return RELATIVE.sub(absolute, text)


class Readme(MetadataHookInterface):
    """Called by hatchling for the metadata of both archives."""

    def update(self, metadata):
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        address = metadata.get("urls", {}).get("Repository", "").removesuffix(".git").rstrip("/")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_address(text, address)}
