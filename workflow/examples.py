"""Execute each paper's experiment on a few texts of its own data set: notebooks/<paper>/example.ipynb.

    python workflow/examples.py data_dir=<folder> model_dir=<folder> papers=fmm

The units are those of config/example.yaml. Words are shown as their positions, as the data sets may not be
copied; paths of this machine and bars of progress are left out.
"""

import os
import re
import tempfile
from pathlib import Path

import grid
from execute import BAR, command, give_caches_a_place, run
from pages import head

from faithlib.report.display import HIDE_WORDS
from replication.records import Case

CELL = re.compile(r"^\S*ipykernel_\d+\S*: ")  # where a warning comes from


def cleaned(output):
    """An output without lines of progress and the kernel's temporary path; None if nothing is left."""
    if output.output_type != "stream":
        return output
    lines = [line for line in output.text.splitlines() if line.strip() and not BAR.search(line)]
    output.text = "".join(f"{CELL.sub('', line)}\n" for line in lines)
    return output if lines else None


def tidy(notebook, parameters):
    """The notebook as it is committed: a note on top, no path of this machine, no bar, no time."""
    import nbformat

    case = Case.of(parameters)
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        if "injected-parameters" in cell.metadata.get("tags", []):
            places = tuple(f"{name} = " for name in (*grid.PATHS, "results_dir"))
            cell.source = "\n".join(line for line in cell.source.splitlines() if not line.startswith(places))
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(cleaned, cell.outputs) if output]
    note = head("example").strip().format(task=case.dataset, model=case.model)
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(note, id="example"))
    return nbformat.validator.normalize(notebook)[1]


def main(arguments):
    import nbformat

    _, entries, paths = grid.read_all({"scale": "example", **grid.of_arguments(arguments)})
    give_caches_a_place()
    os.environ[HIDE_WORDS] = "1"
    for name, entry in entries.items():
        for unit, parameters in entry.units.items():
            with tempfile.TemporaryDirectory() as folder:
                output = f"{folder}/{unit}.ipynb"
                run(entry.experiment, output, parameters | paths | {"results_dir": f"{folder}/results"})
                notebook = tidy(nbformat.read(output, 4), parameters)
            text = nbformat.writes(notebook, indent=1).rstrip() + "\n"
            path = Path(f"notebooks/{name}/example.ipynb")
            path.write_text(text, encoding="utf-8")
            print(f"{path.as_posix()}: {len(text) / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    command(main)
