"""Pieces of a table on the disk, in a file that only this process writes and reads."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO


class Pieces:
    """A file of pieces, each read again by its number.

    The file has lost its name before anything is written. Nothing of it is left once it is closed or this process
    has ended, even if it was killed.
    """

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="stream-anon-"))  # for its owner only
        path = folder / "pieces"
        opened = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, stat.S_IRUSR | stat.S_IWUSR)
        self._file = os.fdopen(opened, "w+b")
        self._end = weakref.finalize(self, _remove, self._file, folder)
        with suppress(OSError):  # where open files cannot be removed, this one is when it is closed
            path.unlink()
            folder.rmdir()
        self._places: list[int] = []

    def __len__(self) -> int:
        return len(self._places)

    def write(self, piece: Any) -> None:
        """Add a piece; raises OSError on a full disk."""
        self._places.append(self._file.seek(0, os.SEEK_END))
        pickle.dump(piece, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        self._file.flush()

    def read(self, number: int) -> Any:
        """Return a piece."""
        self._file.seek(self._places[number])
        return pickle.load(self._file)  # noqa: S301 - what this process wrote, where nobody else may write

    def close(self) -> None:
        """Give the room on the disk back."""
        self._end()


def _remove(file: BinaryIO, folder: Path) -> None:
    with suppress(OSError):  # a full disk, to which the last piece cannot be written
        file.close()
    shutil.rmtree(folder, ignore_errors=True)
