"""Open the course in JupyterLab: python start.py

In kernels that are started this way an error in a lesson's own cell is answered with a hint from the first
cell on, also after a restart in the middle. (Otherwise this begins with the import of the checks.)
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def prepare(folder):
    """Put the settings of the kernels into a folder, and return the environment to start them with."""
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    code = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport checks\ndel sys, checks\n"
    (startup / "00-hints.py").write_text(code, encoding="utf-8")
    return os.environ | {"IPYTHONDIR": str(folder)}


if __name__ == "__main__":
    first = sys.argv[1:] or ["00_a_wrong_explanation.ipynb"]
    command = [sys.executable, "-m", "jupyter", "lab", *first]
    sys.exit(subprocess.run(command, cwd=HERE, env=prepare(HERE / ".ipython")).returncode)
