"""warm: notebooks in forks of one process; none sees another, and all end as with execute.py."""

import os
import signal
import subprocess
import sys

import pytest
import toy
import warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks and sockets as Linux has them")
FEW = "import warm; warm.IMPORTED = ('execute', 'papermill', 'ipykernel.kernelapp'); warm.serve({!r})"
BOOK = """import os, pathlib, psutil, signal, faithlib
kernel = psutil.Process()
pathlib.Path("seen").write_text(f"{kernel.ppid()} {kernel.parent().ppid()} {kernel.pid}")
assert not hasattr(faithlib, "mark") and "MARK" not in os.environ
faithlib.mark = os.environ["MARK"] = "1"
if seed == 1:
    raise ValueError("a clear reason")
if seed == 2:
    signal.pause()"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warm")
    toy.workflow(folder)
    (folder / "faithlib").mkdir()
    (folder / "faithlib/__init__.py").touch()
    toy.notebook(folder / "book.ipynb", "seed = 0", BOOK)
    return folder


@pytest.fixture(autouse=True)
def nothing_is_seen(project):
    yield
    (project / "seen").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def server(project):
    path = project / "in" / "socket"
    path.parent.mkdir()
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, 'workflow'); {FEW.format(str(path))}"]
    process = subprocess.Popen(command, cwd=project, stdin=subprocess.PIPE)
    toy.wait_until(path.exists, process)
    yield process, path
    process.stdin.close()
    assert process.wait() == 0 and not path.parent.exists()


def start(project, path, seed=0):
    environment = os.environ | {"FAITHLIB_WARM": str(path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "workflow/warm.py", "book.ipynb", "out.ipynb", f'{{"seed": {seed}}}']
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=project, env=environment, stdout=pipe, stderr=pipe, text=True)


def seen(project):
    """Process ids of papermill, of what started it, and of the kernel."""
    return map(int, (project / "seen").read_text().split())


def test_notebooks_do_not_see_each_other_and_a_failing_cell_fails_the_command(project, server):
    for _ in range(2):
        client = start(project, server[1])
        out, err = client.communicate()
        assert client.returncode == 0, err
        assert out.startswith("out.ipynb: done in")
        papermill, starter, kernel = seen(project)
        assert len({papermill, starter, kernel, client.pid, server[0].pid}) == 5
        for pid in (papermill, kernel):
            toy.ended(pid)
    client = start(project, server[1], seed=1)
    _, err = client.communicate()
    assert client.returncode == 1 and "ValueError: a clear reason (see out.ipynb)" in err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_ends_its_notebook(project, server, how):
    client = start(project, server[1], seed=2)
    toy.wait_until(lambda: (project / "seen").exists() and (project / "seen").read_text(), client)
    client.send_signal(how)
    _, err = client.communicate()
    assert client.returncode == (128 + how if how == signal.SIGTERM else -how)
    papermill, _, kernel = seen(project)
    for pid in (papermill, kernel):
        toy.ended(pid)
    assert how == signal.SIGKILL or "out.ipynb: stopped by SIGTERM; what is finished is kept" in err


@pytest.mark.parametrize("why", ["changed", "absent"])
def test_without_forks_it_is_execute(project, server, why):
    path, source = server[1] if why == "changed" else project / "nowhere", project / "workflow/grid.py"
    before = source.stat().st_mtime_ns
    os.utime(source, ns=(before, 2**33 * 10**9 if why == "changed" else before))
    client = start(project, path)
    _, err = client.communicate()
    os.utime(source, ns=(before, before))
    assert client.returncode == 0, err
    papermill, *_ = seen(project)
    assert papermill == client.pid


def test_few_notebooks_start_no_process():
    assert warm.start(warm.ENOUGH - 1) == {}
