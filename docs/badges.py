"""Badges that open notebooks in Binder and Colab: python docs/badges.py

They stand under the titles of README, cards and tutorials once pyproject.toml names the repository
([project.urls], Repository); without it there are none, and Colab is told to unzip what one uploads.
"""

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINDER = "[![Open in Binder](https://mybinder.org/badge_logo.svg)](https://mybinder.org/v2/gh/{name}/main?urlpath=lab/tree/{path})"
COLAB = (
    "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    "(https://colab.research.google.com/github/{name}/blob/main/{path})"
)

CLONE = "!git clone -q --depth 1 https://github.com/{name} faithlib"
MADE = "git archive -o faithlib.zip HEAD . ':!results'"
ZIP = f"!unzip -q faithlib.zip -d faithlib  # upload it; in a clone: {MADE}"


def repository():
    """owner/name of the repository, "" while pyproject.toml names none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    address = project.get("urls", {}).get("Repository", "")
    return address.partition("github.com/")[2].removesuffix(".git").strip("/")


def opened():
    """{page: the notebook that its badges open}, paths in the project."""
    cards = {p: p.with_name("experiment.ipynb") for p in ROOT.glob("notebooks/*/README.md")}
    lessons = {p: p for p in [ROOT / "notebooks/welcome.ipynb", *ROOT.glob("notebooks/tutorials/*.ipynb")]}
    return {ROOT / "README.md": ROOT / "notebooks/welcome.ipynb"} | cards | lessons


def with_badges(text, name, path):
    """A page's text with the badges under its title, in place of those that it has.

    >>> page = with_badges("# Title\\n\\nWords.\\n", "me/mine", "a.ipynb")
    >>> [line[:18] for line in page.splitlines()]
    ['# Title', '', '[![Open in Binder]', '', 'Words.']
    >>> with_badges(page, "", "a.ipynb")
    '# Title\\n\\nWords.\\n'
    """
    title, _, rest = text.partition("\n")
    body = [line for line in rest.lstrip("\n").split("\n\n") if not line.startswith("[![Open in Binder]")]
    line = [f"{BINDER} {COLAB}".format(name=name, path=path)] if name else []
    return "\n\n".join([title, *line, *body])


def with_address(text, name):
    """A page's text with the line that brings the project to Colab.

    >>> with_address("!unzip -q faithlib.zip -d faithlib  # upload it", "me/mine")
    '!git clone -q --depth 1 https://github.com/me/mine faithlib'
    """
    line = CLONE.format(name=name) if name else ZIP
    return re.sub(r'!(git clone|unzip) [^\n"\\]*faithlib[^\n"\\]*', lambda _: line, text)


def main():
    """Write the badges of all pages."""
    name = repository()
    for page in (ROOT / "notebooks/welcome.ipynb", ROOT / "docs/running.md"):
        page.write_text(with_address(page.read_text(encoding="utf-8"), name), encoding="utf-8")
    for page, notebook in opened().items():
        path, text = notebook.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8")
        if page.suffix == ".ipynb":
            content = json.loads(text)
            first = content["cells"][0]
            source = with_badges("".join(first["source"]), name, path)
            first["source"] = source.splitlines(keepends=True)
            new = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        else:
            new = with_badges(text, name, path)
        if new != text:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
