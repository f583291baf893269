"""Build the site into build/site, anew each time: python docs/make_site.py

Warnings are errors. Nothing is executed, and nothing is fetched.
"""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("sphinx", "myst_nb", "sphinx_book_theme", "sphinx_copybutton")
INSTALL = "python -m pip install -c constraints.txt -e .[docs]"


def build(folder):
    """Build all pages of the project into a folder, which is emptied first.

    Returns:
        Sphinx's exit status: 0, or 1 if there was a warning.

    Raises:
        ModuleNotFoundError: packages of the extra `docs` are missing.
    """
    if missing := [name for name in NEEDED if not find_spec(name)]:
        raise ModuleNotFoundError(f"the site needs {', '.join(missing)}: {INSTALL}")
    from PIL import Image
    from sphinx.cmd.build import main

    for old in (folder, ROOT / "docs/generated"):
        shutil.rmtree(old, ignore_errors=True)
    flags = ["-q", "-W", "--keep-going", "-E", "-b", "html", "-c", str(ROOT / "docs")]
    status = main([*flags, "-d", str(folder.with_name("doctrees")), str(ROOT), str(folder)])
    for path in folder.rglob("*.map"):  # of minified code, for a browser's debugger
        path.unlink()
    for path in (*folder.glob("_images/*.png"), *folder.glob("_downloads/*/*.png")):
        Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)  # a third of the size
    return status


if __name__ == "__main__":
    try:
        status = build(ROOT / "build/site")
    except ModuleNotFoundError as error:
        sys.exit(str(error))
    print("build/site/index.html" if status == 0 else "the site has the warnings above: mend them")
    sys.exit(status)
