"""Execute one notebook with papermill, with papermill's silent mistakes turned into errors.

    python workflow/execute.py notebooks/soft_metrics/experiment.ipynb out.ipynb '{"seed": 1}'
    python workflow/execute.py notebooks/soft_metrics/experiment.ipynb out.ipynb params.json

Parameters are JSON, as text or as the name of a .json file, so that false stays false and 1e-5 a
number; of several, the later win. On failure the executed notebook is kept, traceback and all. A unit
whose record is there, of the same parameters, is computed again only with --again. Ctrl-C and SIGTERM
end the kernel too; what is finished is kept, and the same command goes on.
"""

import json
import logging
import os
import re
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # of the project
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # its packages, where only faithlib is installed

from replication.parameters import check, defaults  # noqa: E402 (the line above)

FOLDERS = ("data_dir", "model_dir")  # arguments that are paths
STOPS = ("SIGINT", "SIGTERM", "SIGHUP")  # SIGHUP: the terminal was closed
ATTEMPTS = 3  # for a kernel that dies or loses the race for its ports; a failing cell fails at once
EVERY = 60  # seconds between the lines of progress that a unit writes on the terminal
BAR = re.compile(r"[^\r\n]*\d/\d+ \w+ in \d+:\d\d[^\r\n]*")  # a line of faithlib.progress
ANSI = re.compile(r"\x1b\[[0-9;]*m")
# jsonschema, which papermill and the grid load, would check web addresses by it; no schema here has one, and
# it takes three seconds to load.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def at_root(arguments=()):
    """Go to the project's root, wherever the command was given; the arguments, with absolute folders then."""
    here = Path.cwd()
    os.chdir(ROOT)
    if here.resolve() == ROOT:
        return list(arguments)
    moved = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        moved.append(f"{name}={here / Path(value).expanduser()}" if name in FOLDERS and value else argument)
    return moved


def give_caches_a_place(root=ROOT):
    """Point programs that keep caches at home to the project, where nothing can be written at home.

    As in a container with an arbitrary user id. Where the project is read-only, it is a temporary folder.
    """
    home = Path(os.path.expanduser("~"))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    if _writable(cache) and _writable(home / ".cache"):
        return
    temporary = Path(tempfile.gettempdir(), f"faithlib-cache-{getattr(os, 'getuid', int)()}")
    choices = cache, root / ".snakemake/cache", temporary
    if (place := next((path for path in choices if _writable(path)), None)) is None:
        return  # each program tells what it needs
    if (filled := home / ".cache/huggingface").is_dir():  # read-only, as on a cluster's nodes
        os.environ.setdefault("HF_HOME", str(filled))
    os.environ["XDG_CACHE_HOME"] = str(place)
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        folder = place / variable.lower()
        folder.mkdir(exist_ok=True)
        os.environ.setdefault(variable, str(folder))


def _writable(folder):
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder.is_dir() and os.access(folder, os.W_OK)


class Log:
    """What a notebook prints, with the time, in a file beside it; its progress on the terminal as well."""

    def __init__(self, output):
        output.parent.mkdir(parents=True, exist_ok=True)
        self.file = output.with_suffix(".log").open("w", encoding="utf-8")
        self.name, self.next = output.stem, 0

    def write(self, text):
        for line in filter(str.strip, text.splitlines()):
            print(time.strftime("%Y-%m-%d %H:%M:%S"), line, file=self.file, flush=True)
            if BAR.search(line) and time.monotonic() >= self.next:
                print(f"{self.name}: {line.strip()}", flush=True)
                self.next = time.monotonic() + EVERY

    def flush(self):
        self.file.flush()


def run(notebook, output, parameters, kernels=None):
    """Check the parameters, then execute the notebook and save it, even where a cell fails.

    A notebook whose kernel dies starts again with half the token budget: what it had finished is kept.
    kernels() -> a kernel manager for one attempt; None for jupyter_client's.
    """
    check(notebook, parameters)
    import papermill  # takes a second, and the Snakefile only needs the checks
    from nbclient.exceptions import DeadKernelError
    from traitlets.config import Config
    from zmq import ZMQError

    config = Config()
    config.KernelManager.transport_encryption = "auto"  # ipykernel warns about plain TCP
    log = Log(Path(output))
    for attempt in range(1, ATTEMPTS + 1):
        manager = {"kernel_manager_class": kernels()} if kernels else {}
        try:
            return until_stopped(output, partial(
                papermill.execute_notebook, notebook, output, parameters, kernel_name="python3",
                progress_bar=False, config=config, stdout_file=log, stderr_file=log,
                extra_arguments=["--IPKernelApp.log_level=50"], **manager,
            ))  # fmt: skip
        except DeadKernelError:
            died = f"{notebook}: the kernel died, most often for lack of memory"
            log.write(died)
            if attempt == ATTEMPTS:
                raise SystemExit(f"{died}; see {output}") from None
            os.environ["FAITHLIB_HALVINGS"] = str(int(os.environ.get("FAITHLIB_HALVINGS", 0)) + 1)
            print(f"{died}; once more with half the token budget", file=sys.stderr, flush=True)
        except papermill.PapermillExecutionError as error:
            traceback = ANSI.sub("", "\n".join(error.traceback))
            log.write(traceback)
            if not says_it_all(error.ename, traceback):
                print(traceback, file=sys.stderr)
            raise SystemExit(f"{notebook}: {error.ename}: {error.evalue} (see {output})") from None
        except (RuntimeError, ZMQError):
            if attempt == ATTEMPTS:
                raise


def take_gpu(folder=".snakemake"):
    """Have one of the machine's GPUs alone, where the grid shares several among its units.

    Returns the open file whose lock holds it until this process ends, or None.
    """
    count = int(os.environ.get("FAITHLIB_GPUS", 1))
    if count == 1:
        return None
    import fcntl  # not on Windows

    names = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(count)))
    for name in cycle(names.split(",")[:count]):
        file = Path(folder, f"gpu-{name}.lock").open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            time.sleep(0.2)
            continue
        os.environ["CUDA_VISIBLE_DEVICES"] = name
        return file


def until_stopped(output, work):
    """work(), done by a thread, so that signals are not nbclient's, which leaves the kernel or its children.

    Raises SystemExit, with its line on stderr, after a signal of STOPS has ended all processes of ours.
    """
    received, job = [], Future()

    def target():
        try:
            job.set_result(work())
        except BaseException as error:
            job.set_exception(error)

    thread = threading.Thread(target=target, daemon=True)
    stops = [getattr(signal, name) for name in STOPS if hasattr(signal, name)]
    before = {number: signal.signal(number, lambda number, _: received.append(number)) for number in stops}
    try:
        thread.start()
        while thread.is_alive() and not received:
            thread.join(0.2)
        if received and thread.is_alive():
            logging.disable()  # nbclient's word on a kernel that died
            end_children()
            thread.join(10)  # it writes the notebook as far as it came
            name = signal.Signals(received[0]).name
            print(f"{output}: stopped by {name}; what is finished is kept, and the same command goes on",
                  file=sys.stderr, flush=True)  # fmt: skip
            raise SystemExit(128 + received[0])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return job.result()


def end_children(seconds=5):
    """End all processes that this one started, and theirs."""
    import psutil

    children = psutil.Process().children(recursive=True)
    for send in (psutil.Process.terminate, psutil.Process.kill):
        for child in children:
            with suppress(psutil.NoSuchProcess):
                send(child)
        _, children = psutil.wait_procs(children, timeout=seconds)


def says_it_all(name, traceback):
    """Whether an error is one that faithlib raises itself to tell what to do: its line says it all."""
    *_, deepest = [""] + re.findall(r"^File (.+?):\d+", traceback, re.MULTILINE)  # may have blanks
    ours = re.search(r"(faithlib|replication|notebooks)[/\\](\w+[/\\])*\w+\.py", deepest)
    worded = "ValueError", "FileNotFoundError", "ConnectionError", "OSError", "JudgeError"
    return bool(ours) and name in worded


def progress(output):
    """How far the grid is that this unit belongs to, in words; "" outside one (see the Snakefile)."""
    grid = json.loads(os.environ.get("FAITHLIB_GRID") or '{"units": []}')
    units = [Path(unit) for unit in grid["units"]]
    done = sum(unit.is_file() and unit.stat().st_mtime >= grid["started"] for unit in units)
    if not done or Path(output).stem == "report":
        return ""
    spent = time.time() - grid["started"]
    left = spent / done * (len(units) - done)
    return f"; {done} of {len(units)} units in {spent / 60:.0f} min, about {left / 60:.0f} min left"


def parse(text):
    """A JSON object from a command line argument: the text itself, or the name of a .json file."""
    source = Path(text).read_text(encoding="utf-8") if text.endswith(".json") else text
    try:
        parameters = json.loads(source)
    except json.JSONDecodeError as error:
        raise ValueError(f"{text!r} is not JSON ({error}); write '{{\"seed\": 1}}'") from None
    if not isinstance(parameters, dict):
        raise ValueError(f"{text!r} is not a JSON object; write '{{\"seed\": 1}}'")
    return parameters


def finished(notebook, parameters):
    """The path of a unit's record that is there already, of these parameters and files; None without one.

    Raises ValueError where it has other parameters.
    """
    values = defaults(notebook) | parameters
    if not {"task", "model", "seed", "scale", "results_dir"} <= set(values):
        return None
    from replication import records, results

    unit = results.unit_name(values["task"], values["model"], values["seed"], values.get("variant", ""))
    folder = results.project_root() / values["results_dir"] / values["scale"] / Path(notebook).parent.name
    path = folder / f"{unit}.json"
    wanted = {name: value for name, value in values.items() if name not in records.PLACES}
    if (record := results.existing(path, wanted)) is None:
        return None
    then, now = record["provenance"].get("own", {}), results.own_files(wanted)
    if changed := [name for name in then | now if now.get(name) != then.get(name)]:
        print(f"{os.path.relpath(path)} is there, of another {' and '.join(changed)}: computed anew")
        return None
    return os.path.relpath(path)


def find(notebook, output, texts):
    """These paths as seen from the notebook's project, which becomes the working directory."""
    path = Path(notebook)
    if not path.is_file() and (ROOT / path).is_file():
        path = ROOT / path
    here = Path.cwd().resolve()
    home = next((p for p in path.resolve().parents if (p / "pyproject.toml").is_file()), here)
    if home != here:
        output = str(Path(output).absolute())
        texts = [str(Path(text).absolute()) if text.endswith(".json") else text for text in texts]
        path = path.resolve().relative_to(home)
        os.chdir(home)
    return str(path), output, texts


def main(arguments, kernels=None):
    again = "--again" in arguments
    arguments = [argument for argument in arguments if argument != "--again"]
    if len(arguments) < 2:
        raise SystemExit(__doc__)
    notebook, output, texts = find(*arguments[:2], arguments[2:])
    give_caches_a_place()
    try:
        parameters = {}
        for text in texts:
            parameters |= parse(text)
        check(notebook, parameters)
        if (there := finished(notebook, parameters)) and not again:
            print(f"{there} is there, with these parameters: nothing to do; --again computes it anew")
            return
        start, lock = time.monotonic(), take_gpu()  # noqa: F841 (it is held)
        run(notebook, output, parameters, kernels)
        print(f"{output}: done in {time.monotonic() - start:.0f} s{progress(output)}", flush=True)
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None


def command(main):
    """Run a script's main(arguments) at the project's root; what it refuses is one line on stderr."""
    try:
        main(at_root(sys.argv[1:]))
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
