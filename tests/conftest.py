"""Every test runs offline and on one thread: set before torch and transformers are imported."""

import io
import os
import socket
import sys
from pathlib import Path
from weakref import WeakKeyDictionary

for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest  # noqa: E402

LOOPBACK = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True)
def no_network(request, monkeypatch):
    """A connection to anything but this machine fails, unless the test is marked `network`."""
    if request.node.get_closest_marker("network"):
        return
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family != getattr(socket, "AF_UNIX", None) and not address[0].startswith(LOOPBACK):
            raise OSError(f"a test tried to reach {address[0]}; mark it `network` if it must")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """A notebook leaves its figures and its style to the reader; the next test is to find neither."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
        sys.modules["matplotlib"].rcdefaults()


@pytest.fixture
def coarse_figures(monkeypatch):
    """A figure is drawn once, of few dots, for all its files: tests of them are in report/test_io.py."""
    from matplotlib.figure import Figure

    pictures, drawn = WeakKeyDictionary(), Figure.savefig

    def savefig(figure, target, **settings):
        if figure not in pictures:
            drawn(figure, picture := io.BytesIO(), format="png", dpi=30)
            pictures[figure] = picture.getvalue()
        if isinstance(target, io.BytesIO):
            target.write(pictures[figure])
        elif isinstance(target, str):
            Path(target).write_bytes(pictures[figure])

    monkeypatch.setattr(Figure, "savefig", savefig)
