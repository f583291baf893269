"""What is kept on disk is whole or absent."""

import pathlib

from wrong import refused

from faithlib import store


def test_a_write_that_fails_leaves_nothing(tmp_path):
    path = tmp_path / "new" / "file.json"

    def broken(part):
        part.write_text("half")
        raise OSError("disk full")

    refused("disk full", store.write_atomically, path, broken, error=OSError)
    assert list(path.parent.iterdir()) == []
    path.write_text("old")
    refused("disk full", store.write_atomically, path, broken, error=OSError)
    assert [p.name for p in path.parent.iterdir()] == ["file.json"] and path.read_text() == "old"
    written = []

    def write(part):
        written.append(part.name)
        part.write_text("new")
        assert path.read_text() == "old"  # until the new one is whole

    store.write_atomically(path, write)
    assert [p.name for p in path.parent.iterdir()] == ["file.json"] and path.read_text() == "new"
    assert len(written) == 1 and written[0].endswith(".part")


def test_the_root_is_where_the_project_file_is(tmp_path, monkeypatch):
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")
    (tmp_path / "a/pyproject.toml").write_text("")
    assert store.project_root() == tmp_path / "a" == pathlib.Path.cwd().parent
