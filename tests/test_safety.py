"""What must not happen: a secret on disk, a data folder that reaches elsewhere, a test on the network."""

import socket

import execute
import pandas as pd
import pytest
import toy
from wrong import tells

from faithlib import tasks

SECRET = "sk-never-to-be-seen-1234"


@pytest.fixture
def mirror(tmp_path):
    folder = tmp_path / "data/sst"
    folder.mkdir(parents=True)
    frame = pd.DataFrame({"text": ["good film", "bad film"], "label": [1, 0]})
    for split in ("train", "validation", "test"):
        frame.to_parquet(folder / f"{split}.parquet")
    return folder


def refused(folder, message, name="sst"):
    tells([message], tasks.load, name, data_dir=folder, error=(ValueError, FileNotFoundError))


def test_a_link_out_of_the_data_folder_is_refused(mirror, tmp_path):
    (mirror / "test.parquet").rename(tmp_path / "secret.parquet")
    (mirror / "test.parquet").symlink_to(tmp_path / "secret.parquet")
    refused(mirror.parent, "'sst/test.parquet' is a link to a file outside data_dir")
    tasks.load("sst", data_dir=_linked(mirror.parent, tmp_path))  # the folder itself may be one


def _linked(folder, tmp_path):
    (folder / "sst/test.parquet").unlink()
    (tmp_path / "secret.parquet").rename(folder / "sst/test.parquet")
    (tmp_path / "link").symlink_to(folder)
    return tmp_path / "link"


def test_a_huge_row_is_refused(mirror):
    frame = pd.DataFrame({"text": ["good film", "bad " * 300_000], "label": [1, 0]})
    frame.to_parquet(mirror / "train.parquet")
    refused(
        mirror.parent,
        "split 'train' of task 'sst': column 'text' has more than 1,000,000 characters in row 1",
    )


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"text": [1, 2], "label": [1, 0]}, "column 'text' of 'sst/test.parquet' has type int64"),
        ({"text": ["a", "b"], "label": ["x", "y"]}, "column 'label' of 'sst/test.parquet' has type"),
        ({"txt": ["a", "b"], "label": [1, 0]}, "'sst/test.parquet' has no column 'text'"),
    ],
)
def test_another_schema_is_refused(mirror, frame, message):
    pd.DataFrame(frame).to_parquet(mirror / "test.parquet")
    refused(mirror.parent, message)


OUTSIDE = {  # {name: what is told}
    "../sst": "there is no such file or folder", "sst/../../x": "there is no such file or folder",
    "/etc": "folder '/etc' has no data", "..": "'..' is unknown", "sst\x00": r"task 'sst\x00' is unknown",
}  # fmt: skip


@pytest.mark.parametrize(("name", "message"), OUTSIDE.items())
def test_a_path_out_of_the_mirror_is_no_task_of_it(mirror, name, message):
    refused(mirror.parent, message, name)


def test_a_judges_key_is_in_no_file_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    code = (
        "from notebooks.noiser.measure import judge\n"
        "from replication import results\n"
        f"run = results.start('paper', dict(globals(), results_dir={str(tmp_path / 'results')!r},\n"
        "                    device='cpu'))\n"
        "import pandas as pd\n"
        "run.save([], pd.DataFrame({'x': [1]}))\n"
        "print(globals().keys())\n"
        f"asked = judge.EndpointJudge('a-model', {str(tmp_path / 'answers')!r}, timeout=60.0, retries=0)\n"
        "list(asked._ask(['a question']))"
    )  # nothing listens there
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    book = toy.notebook(tmp_path / "book.ipynb", toy.PARAMETERS, code)
    monkeypatch.chdir(toy.ROOT)
    with pytest.raises(SystemExit) as error:
        execute.run(book, tmp_path / "runs/out.ipynb", {})
    assert "cannot be reached" in str(error.value)
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert {"sst.tiny-bert.s0.json", "out.ipynb", "out.log"} <= {p.name for p in files}
    assert not [p for p in files if SECRET.encode() in p.read_bytes()]


def test_tests_have_no_network():
    with socket.socket() as tried, pytest.raises(OSError, match="mark it `network`"):
        tried.connect(("192.0.2.1", 80))
