"""The folder of a series: its key, its state, and a lock, so that releases follow each other one by one.

The state that a release leads to is written beside the old one before the release gets its name, and takes the old
one's place after it. Where a run is killed between the two, or the power fails, nobody knows whether the release
stands. The next run then takes the new state: people keep the values that they may have been published among.

A state is written before the key is, and before any release. So a key alone, or a state of releases alone, says
that the other one is lost, and nothing new is begun on it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from os.path import lexists
from pathlib import Path
from typing import Self

import msgspec

from stream_anon.errors import InputError, Refused
from stream_anon.files.key_files import make_key, new_secret
from stream_anon.files.series.state import SeriesKey, SeriesState, SeriesTerms
from stream_anon.formats.tables.new_files import keep, private_file
from stream_anon.secret_files import read_key

_RESTORE = "bring back its last version"
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
        If another run has it open, or if its key or its state is gone.
    InputError
        If it cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._secret = new_secret()  # of a series that begins now
        try:
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
                keep(folder.resolve().parent)
            self._lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise InputError(f"{folder}: cannot keep a series ({error.strerror})") from None
        try:
            self.key, self._found = self._begun()
        except BlockingIOError:
            self.close()
            raise Refused(f"{folder}: another run makes a release of this series: wait for its end") from None
        except OSError as error:
            self.close()
            raise InputError(f"{folder}: cannot keep a series ({error.strerror})") from None
        except BaseException:
            self.close()
            raise

    def _begun(self) -> tuple[SeriesKey, SeriesState | None]:
        """Lock the folder, end what a killed run has left, and return the key, and the state unless it has none."""
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        key = self._folder / KEY
        if lexists(self._folder / PENDING):
            self.commit()
        state = self._folder / STATE
        found = SeriesState.read(state.read_bytes()) if lexists(state) else None
        if lexists(key):
            if found is None:
                raise Refused(f"{self._folder}: the state of the series is gone: {_RESTORE}")
            return read_key(SeriesKey, key), found if found.releases else None
        if found is not None and found.releases:
            raise Refused(f"{self._folder}: the key of the series is gone: nobody in it can be told: {_RESTORE}")
        return SeriesKey(self._secret.encode()), None

    def state(self, terms: SeriesTerms) -> SeriesState:
        """Return the state before the next release; that of a new series if there was none.

        Raises
        ------
        Refused
            If the series was begun on other terms.
        """
        if self._found is None:
            self._found = SeriesState.first(terms)
            self.prepare(self._found)
            self.commit()
            make_key(self._folder / KEY, self._secret)
        return self._found.going_on(terms)

    def prepare(self, state: SeriesState) -> None:
        """Write the state that a release leads to, before the release gets its name."""
        part = self._folder / f".{PENDING}.{secrets.token_hex(4)}.part"
        try:
            with private_file(part) as opened:
                opened.write(msgspec.json.encode(state))
            keep(part)
            part.replace(self._folder / PENDING)
            keep(self._folder)
        finally:
            part.unlink(missing_ok=True)

    def commit(self) -> None:
        """Put the prepared state in the place of the old one, once the release stands."""
        (self._folder / PENDING).replace(self._folder / STATE)
        keep(self._folder)

    def close(self) -> None:
        """Let others open the folder."""
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
