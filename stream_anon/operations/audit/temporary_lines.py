"""A temporary file for what the audit keeps of windows that are not complete."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from stream_anon.errors import InputError


class TemporaryLines:
    """Keeps lines in a nameless file that only this process can open, and that ends with it.

    SQLite makes the file when there is much to put in it, in the folder that `SQLITE_TMPDIR` or `TMPDIR` names.
    """

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.execute("PRAGMA journal_mode = OFF")  # what is lost with the process is not missed
        self._base.execute("CREATE TABLE lines (window INTEGER, published BLOB, text BLOB)")
        self._base.execute("CREATE INDEX windows ON lines (window)")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()

    def put(self, window: int, lines: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep lines of a window. Raise InputError if the disk is full."""
        try:
            self._base.execute("BEGIN")
            self._base.executemany("INSERT INTO lines VALUES (?, ?, ?)", ((window, *line) for line in lines))
            self._base.execute("COMMIT")
        except sqlite3.Error as error:
            raise _broken(error) from None

    def taken(self, window: int) -> Sequence[tuple[bytes, bytes]]:
        """Return what was put of a window, and keep it no longer. Raise InputError if the disk is full."""
        try:
            found = self._base.execute("SELECT published, text FROM lines WHERE window = ?", (window,)).fetchall()
            self._base.execute("DELETE FROM lines WHERE window = ?", (window,))
        except sqlite3.Error as error:
            raise _broken(error) from None
        return found


def _broken(error: sqlite3.Error) -> InputError:
    # The message of SQLite says what is wrong with the file, and holds nothing of the lines.
    return InputError(f"a temporary file for windows that are not complete: {error}")
