"""execute.py in a fork of one process that has imported everything: a notebook's start-up costs nothing then.

    python workflow/warm.py notebooks/soft_metrics/experiment.ipynb out.ipynb '{"seed": 1}'

The Snakefile starts that process for notebooks that run on this machine's processor. Papermill and its
kernel are forks of it, two for each notebook: nothing that one computes is seen by another. Without that
process, and once a source has changed since it started, this is execute.py itself.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import active_children, get_context
from pathlib import Path

import psutil

SOCKET = "FAITHLIB_WARM"  # environment variable: where the process listens
ENOUGH = 6  # notebooks: for fewer the start of one more process is not worth it
IMPORTED = (
    "execute", "papermill", "ipykernel.kernelapp", "matplotlib_inline.backend_inline", "seaborn", "datasets",
    "transformers.models.bert.modeling_bert", "transformers.models.llama.modeling_llama",
    "faithlib.metrics.masf", "faithlib.metrics.plausibility", "faithlib.metrics.recursion",
    "faithlib.metrics.soft_causal", "replication.multiverse", "faithlib.training.roar",
    "faithlib.training.salience", "faithlib.report.display", "faithlib.study",
)  # fmt: skip


def start(notebooks):
    """Start the process, which ends with this one, where there are enough notebooks to run.

    Returns what to add to the environment of commands, nothing where the process is of no use.
    """
    if notebooks < ENOUGH or not hasattr(socket, "send_fds") or not hasattr(os, "fork"):
        return {}
    path = os.path.join(tempfile.mkdtemp(), "socket")
    command = [sys.executable, __file__, "--serve", path]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    atexit.register(process.communicate)  # ends it, and waits: the seconds of its notebooks count as ours
    return {SOCKET: path}


def serve(path):
    """Fork for every request until the process at the other end of stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: notebooks take it themselves
    root, here = os.getcwd(), sys.path[0]
    sys.path.insert(0, root)
    made = sources()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)  # who asks now waits
        import_module("execute").give_caches_a_place()
        for name in IMPORTED:
            import_module(name)
        sys.path.remove(root)
        sys.path.remove(here)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            asking = listener.accept()[0]
            if sources() == made:
                fork(supervise, listener, asking)
            asking.close()
    for child in active_children():
        child.join()
    Path(path).unlink()
    Path(path).parent.rmdir()


def fork(work, *values, **settings):
    """A fork of this process that does work(*values, **settings)."""
    process = get_context("fork").Process(target=work, args=values, kwargs=settings)
    process.start()
    return process


def sources():
    """When a file of faithlib or of the workflow was changed last."""
    package, here = Path(find_spec("faithlib").origin).parent, Path(__file__).parent
    folders = package, here, here.parent / "replication", here.parent / "notebooks"
    return max(path.stat().st_mtime for folder in folders for path in folder.rglob("*.py"))


def supervise(listener, asking):
    """Fork a notebook's process and tell its id and how it ended; end it when nobody waits any more."""
    listener.close()
    _, descriptors, *_ = socket.recv_fds(asking, 1, 2)
    request = asking.makefile().readline()
    if not request.endswith("\n"):  # who asked has ended
        return
    notebook = fork(become, asking, descriptors, **json.loads(request))
    asking.sendall(f"{notebook.pid}\n".encode())
    while notebook.is_alive():
        if select.select([asking], [], [], 0.2)[0]:
            notebook.terminate()
            notebook.join()
    code = notebook.exitcode
    with suppress(OSError):
        asking.sendall(f"{code if code >= 0 else 128 - code}\n".encode())


def become(asking, descriptors, arguments, folder, environment):
    """Be execute.py, with a fork for each kernel."""
    asking.close()
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate([nowhere, *descriptors]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    import_module("execute").main(arguments, forked)


class Kernel(psutil.Process):
    """A fork that waits to become a notebook's kernel; what jupyter_client asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self):
        receiver, self.sender = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(self.sender)
            os.setsid()
            with os.fdopen(receiver) as pipe:
                text = pipe.read()
            if not text:
                os._exit(0)
            arguments, folder, environment = json.loads(text)
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            sys.argv = ["ipykernel_launcher", *arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
            import_module("ipykernel.kernelapp").launch_new_instance()
            os._exit(0)
        os.close(receiver)
        super().__init__(pid)

    def start(self, command, folder, environment):
        """Become the kernel of a command, `python -m ipykernel_launcher -f <file>`."""
        with os.fdopen(self.sender, "w") as pipe:
            json.dump([command[command.index("-f") :], folder, environment], pipe)

    def poll(self):
        try:
            return self.wait(0) or 0  # None: another part of this process has waited for it
        except psutil.TimeoutExpired:
            return None

    def send_signal(self, number):
        with suppress(psutil.NoSuchProcess):
            super().send_signal(number)


def forked():
    """A kernel manager (a class, as nbclient takes it) whose kernel is a fork of this process, made now.

    Now, because later papermill has threads.
    """
    from jupyter_client.manager import AsyncKernelManager

    kernel = Kernel()

    class Manager(AsyncKernelManager):
        async def _async_launch_kernel(self, kernel_cmd, **settings):
            folder = settings.get("cwd") or os.getcwd()
            kernel.start(kernel_cmd, folder, settings.get("env") or dict(os.environ))
            provisioner = self.provisioner
            provisioner.process, provisioner.pid, provisioner.pgid = kernel, kernel.pid, kernel.pid
            self._reconcile_connection_info(provisioner.connection_info)

    return Manager


def ask(path, arguments):
    """Exit status of execute.py in a fork of the process that listens at `path`; None if it makes none."""
    request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as process:
        try:
            process.connect(path)
            socket.send_fds(process, [b" "], [1, 2])
            process.sendall(json.dumps(request).encode() + b"\n")
            answers = process.makefile()
            pid = int(answers.readline())
        except (OSError, ValueError):  # it is not there, or closes without an answer
            return None
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the notebook gets it from the terminal, too
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        return int(answers.readline() or 1)


def main(arguments):
    path = os.environ.get(SOCKET)
    if path and os.environ.get("OMP_NUM_THREADS") == "1":  # what the process counts with
        if (status := ask(path, arguments)) is not None:
            sys.exit(status)
    import_module("execute").main(arguments)


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["--serve"] else main(sys.argv[1:])
