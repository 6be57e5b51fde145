from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from stream_anon.adapters.tables.new_files import NewFile
from stream_anon.errors import InputError


def test_a_file_appears_under_its_name_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before")
    path.chmod(0o600)
    with NewFile(str(path)) as new:
        new.file.write(b"after")
        new.file.flush()
        assert path.read_text() == "before"
        new.publish()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"

    def interrupted() -> None:
        with NewFile(str(path)) as new:
            new.file.write(b"half")
            raise KeyboardInterrupt

    for before in ([], [path]):
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert list(tmp_path.iterdir()) == before
        path.write_text("before")
    assert path.read_text() == "before"


def test_a_link_goes_on_leading_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "out.csv"
    link.symlink_to(tmp_path / "real" / "file.csv")
    with NewFile(str(link)) as new:
        new.file.write(b"x")
        new.publish()
    assert link.is_symlink()
    assert (tmp_path / "real" / "file.csv").read_text() == "x"


def test_a_pipe_is_written_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with NewFile(str(pipe)) as new:
        new.file.write(b"x")
        new.publish()
    reader.join(10)
    assert read == ["x"]
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("name", ["", "gone/out.csv"])
def test_a_folder_that_cannot_be_written_to_is_an_input_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        NewFile(str(tmp_path / name))
