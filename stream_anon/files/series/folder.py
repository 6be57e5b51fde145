"""The folder of a series: its key, its state, and a lock, so that releases follow each other one by one.

The state that a release leads to is written beside the old one before the release gets its name, and takes the old
one's place after it. Where a run is killed between the two, nobody knows whether the release stands. The next run
then takes the new state: people keep the values that they may have been published among.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from stream_anon.errors import InputError, Refused
from stream_anon.files.key_files import make_key
from stream_anon.files.series.state import SeriesKey, SeriesState, SeriesTerms
from stream_anon.formats.tables.new_files import private_file
from stream_anon.secret_files import read_key

KEY, STATE, PENDING, LOCK = "key", "state.json", "state.next.json", "lock"


class SeriesFolder:
    """An open folder of a series; nobody else opens it until it is closed.

    Parameters
    ----------
    folder
        Made if it is not there.

    Raises
    ------
    Refused
        If another run has it open, or if its key is gone.
    InputError
        If it cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise InputError(f"{folder}: cannot keep a series ({error.strerror})") from None
        try:
            self.key = self._begun()
        except BlockingIOError:
            self.close()
            raise Refused(f"{folder}: another run makes a release of this series: wait for its end") from None
        except OSError as error:
            self.close()
            raise InputError(f"{folder}: cannot keep a series ({error.strerror})") from None
        except BaseException:
            self.close()
            raise

    def _begun(self) -> SeriesKey:
        """Lock the folder, end what a killed run has left, and return the key."""
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        key, pending = self._folder / KEY, self._folder / PENDING
        if not key.exists() and (pending.exists() or (self._folder / STATE).exists()):
            raise Refused(f"{self._folder}: the key of the series is gone: nobody in it can be told any more")
        make_key(key)
        if pending.exists():
            self.commit()
        return read_key(SeriesKey, key)

    def state(self, terms: SeriesTerms) -> SeriesState:
        """Return the state before the next release; that of a new series if there was none.

        Raises
        ------
        Refused
            If the series was begun on other terms.
        """
        file = self._folder / STATE
        if not file.exists():
            return SeriesState.first(terms)
        try:
            found = SeriesState.read(file.read_bytes())
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from None
        found.refuse_others(terms)
        return found

    def prepare(self, state: SeriesState) -> None:
        """Write the state that a release leads to, before the release gets its name."""
        part = self._folder / f".{PENDING}.{secrets.token_hex(4)}.part"
        try:
            with private_file(part) as opened:
                opened.write(msgspec.json.encode(state))
                opened.flush()
                os.fsync(opened.fileno())
            part.replace(self._folder / PENDING)
        finally:
            part.unlink(missing_ok=True)

    def commit(self) -> None:
        """Put the prepared state in the place of the old one, once the release stands."""
        (self._folder / PENDING).replace(self._folder / STATE)

    def close(self) -> None:
        """Let others open the folder."""
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
