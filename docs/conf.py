"""The site, `make site`: the project's own files, where they stand; nothing is executed or fetched."""

import re
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS)]

import coverage_page  # noqa: E402
import gallery_page  # noqa: E402
import registry_pages  # noqa: E402

from replication import cards  # noqa: E402

GENERATED = {
    "metrics": registry_pages.metrics_page,
    "methods": registry_pages.methods_page,
    "coverage": coverage_page.page,
    "gallery": gallery_page.page,
}

_project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
project, author, release = _project["name"], _project["authors"][0]["name"], _project["version"]
repository = _project.get("urls", {}).get("Repository", "")  # set it there: links and launch buttons follow

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "notebooks/**", "benchmarks/*.md"]
exclude_patterns = [".*", "build", "docs/_*", "notebooks/*/published", "**/.ipynb_checkpoints"]
templates_path = [str(DOCS / "_templates")]  # autosummary looks beside the pages, not beside this file

nb_execution_mode = "off"
nb_render_markdown_format = "myst"  # the default knows no tables
nb_ipywidgets_js = {}  # they would be fetched
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4
autosummary_generate = True
autodoc_typehints = "none"
suppress_warnings = ["ref.python"]  # words of `Args` and `Returns` that several classes have as a name
default_role = "code"  # docstrings have `names` in single backquotes
mathjax_path = "mathjax/tex-mml-chtml.js"
copybutton_prompt_text = ">>> "

html_theme, html_title = "sphinx_book_theme", project
html_static_path, html_css_files = ["_static"], ["site.css"]
html_additional_pages = {"index": "front.html"}
html_copy_source = html_show_sourcelink = False
html_theme_options = {
    "use_download_button": False,
    "show_toc_level": 2,
    "collapse_navbar": True,  # else the whole tree stands on each of two hundred pages
}
if repository:
    html_theme_options |= {
        "repository_url": repository,
        "repository_branch": "main",
        "use_repository_button": True,
        "launch_buttons": {
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
            "notebook_interface": "jupyterlab",
        },
    }

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")

# In a notebook: the output of a cell that is nothing but the name of a unit or of its record.
BARE = re.compile(
    r"""\[\s*\{\s*"data": \{\s*"text/plain": \[\s*"'[\w.-]+'"\s*\]\s*\},\s*"""
    r""""execution_count": \w+,\s*"metadata": \{\},\s*"output_type": "execute_result"\s*\}\s*\]"""
)
CARD = re.compile(r"notebooks/\w+/README")
UNDER_A_CARD = ("experiment", "example", "report")  # notebooks, where they are there
SQUARE = "<span class='square {0}' role='img' aria-label='{1}' title='{1}'></span>"  # no font has to have it
SQUARES = {sign: SQUARE.format(word.replace(" ", "-"), word) for word, sign in cards.SQUARES.items()}
SQUARES[cards.NO_RECORD] = SQUARE.format("no-record", "no record yet")


def linked(app, docname, source):
    """Links to what is no page, bare outputs, the notebooks of a card, squares that are verdicts."""
    source[0] = LINK.sub(lambda match: _link(app, (ROOT / docname).parent, match), source[0])
    source[0] = BARE.sub("[]", source[0])
    if CARD.fullmatch(docname):
        folder = (ROOT / docname).parent
        pages = [name for name in UNDER_A_CARD if (folder / f"{name}.ipynb").is_file()]
        entries = "\n".join(f"{name.capitalize()} <{name}>" for name in pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n{entries}\n```\n"
    if docname.endswith("README"):
        for sign, square in SQUARES.items():
            source[0] = source[0].replace(sign, square)


def _link(app, folder, match):
    """Python files go to their reference, others to a target of the site, or to the repository, if any."""
    words, target, anchor = match.groups()
    path = (folder / target).resolve()
    if not path.is_relative_to(ROOT) or not path.exists():
        return match[0]  # Sphinx names it if it is wrong
    place = path.relative_to(ROOT)
    is_page = place.with_suffix("").as_posix() in app.env.found_docs
    if path.is_file() and (is_page or path.suffix in (".png", ".csv")):  # a download
        return match[0]
    if anchor:  # of a file whose words a page of the site has, such as metrics.toml#metric-ns
        return f"[{words}]({anchor})"
    module = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
    page = f"docs/generated/{module}"
    if page in app.env.found_docs:
        return f"[{words}](/{page}.rst)"
    return f"[{words}]({repository}/blob/main/{place.as_posix()})" if repository else words


CODE = re.compile(r"(?<![:`\\])`([^`\n]+)`(?!`)(\w?)")


def restructured(app, what, name, thing, options, lines):
    """Docstrings are plain text: `names` and indented examples as in Markdown, |x| for absolute values."""
    verbatim = None  # the indentation of a literal block's first line, "doctest", or None for prose
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith(">>> "):
            verbatim = "doctest"
        elif (verbatim == "doctest" and not line.strip()) or (
            isinstance(verbatim, int) and line.strip() and indent < verbatim
        ):
            verbatim = None
        if verbatim is not None:
            continue
        lines[i] = "``".join(
            _prose(part, odd % 2) for odd, part in enumerate(CODE.sub(_code, line).split("``"))
        )
        after = lines[i + 1 : i + 3]
        inside = len(after) == 2 and not after[0] and len(after[1]) - len(after[1].lstrip()) > indent
        if line.strip() and inside and not line.lstrip().startswith(("- ", "..")):
            lines[i] += ":" if line.endswith(":") else " ::"
            verbatim = len(after[1]) - len(after[1].lstrip())


def _code(match):
    words, letter = match.groups()
    return f"``{words}``" + (f"\\ {letter}" if letter else "")


def _prose(part, code):
    """What is no code, with signs escaped that would be markup: | and _ behind a word, * but in *word*."""
    if code:
        return part
    part = re.sub(r"\||(?<=\w)_(?!\w)", lambda match: f"\\{match[0]}", part)
    return re.sub(r"(\*[\w-]+\*)|\*", lambda match: match[1] or "\\*", part)


def described(render):
    """A notebook's picture with the alternative text that its output has, which myst-nb leaves out."""

    def image(renderer, data):
        nodes = render(renderer, data)
        if alt := data.output_metadata.get(data.mime_type, {}).get("alt"):
            nodes[0]["alt"] = alt
        return nodes

    return image


def generate(app):
    """Write the pages that registries and results give."""
    folder = DOCS / "generated"
    folder.mkdir(exist_ok=True)
    for name, page in GENERATED.items():
        text, path = page(), folder / f"{name}.md"
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")


def whole(docstring):
    """All of a section `Returns` as its text: napoleon takes what stands before a colon for a type."""
    lines = docstring._dedent(docstring._consume_to_next_section())
    return [("", "", lines)]


def setup(app):
    """What Sphinx calls: the generated pages come before it looks for pages."""
    app.connect("builder-inited", generate, priority=100)
    from myst_nb.core.render import NbElementRenderer
    from sphinx.ext.napoleon import GoogleDocstring

    GoogleDocstring._consume_returns_section = lambda self, preprocess_types=False: whole(self)

    app.connect("source-read", linked)
    NbElementRenderer.render_image = described(NbElementRenderer.render_image)
    app.connect("autodoc-process-docstring", restructured, priority=100)  # before napoleon
