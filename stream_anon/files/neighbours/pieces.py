"""Pieces of a table on the disk, in files that only this process writes and reads."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from stream_anon.formats.tables.new_files import private_file


class Pieces:
    """A file of pieces, each read again by its number.

    Parameters
    ----------
    path
        Of a file that does not exist. Only its owner may read it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: list[int] = []
        self._end = 0
        private_file(path).close()

    def __len__(self) -> int:
        return len(self._places)

    def write(self, piece: Any) -> None:
        """Add a piece; raises OSError on a full disk."""
        text = pickle.dumps(piece, protocol=pickle.HIGHEST_PROTOCOL)
        with self._path.open("ab") as file:
            file.write(text)
        self._places.append(self._end)
        self._end += len(text)

    def read(self, number: int) -> Any:
        """Return a piece."""
        with self._path.open("rb") as file:
            file.seek(self._places[number])
            return pickle.load(file)  # noqa: S301 - what this process wrote, where nobody else may write
