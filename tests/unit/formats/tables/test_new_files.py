from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stream_anon.errors import InputError
from stream_anon.formats.tables.new_files import NewFile


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


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o002])
@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_a_file_is_private_until_it_is_whole_and_then_as_any_new_file(tmp_path: Path, mask: int, name: str) -> None:
    before = os.umask(mask)
    try:
        with NewFile(str(tmp_path / name)) as new:
            new.file.write(b"half")
            (part,) = tmp_path.iterdir()
            assert part.stat().st_mode & 0o777 == 0o600
            new.publish()
    finally:
        os.umask(before)
    (whole,) = tmp_path.iterdir()
    assert whole.name == name
    assert whole.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_file_that_others_may_read_is_replaced_by_one_that_is_private_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("before")
    path.chmod(0o644)
    with NewFile(str(path)) as new:
        new.file.write(b"half")
        (part,) = set(tmp_path.iterdir()) - {path}
        assert part.stat().st_mode & 0o777 == 0o600
        new.publish()
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_killed_process_leaves_nothing_that_others_may_read(tmp_path: Path) -> None:
    program = """
import sys, time
from stream_anon.formats.tables.new_files import NewFile
with NewFile(sys.argv[1]) as new:
    new.file.write(b"half")
    new.file.flush()
    print("written", flush=True)
    time.sleep(60)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "out.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, umask=0o022) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.kill()
    (left,) = tmp_path.iterdir()
    assert left.read_bytes() == b"half"
    assert left.stat().st_mode & 0o077 == 0


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
