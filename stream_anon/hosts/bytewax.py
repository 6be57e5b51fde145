"""Releases of a Bytewax dataflow: windows of keyed records, each released once.

::

    keyed = op.map("keyed", messages, lambda message: (str(message.partition), message.value))
    releases = released_windows("anonymize", keyed, Policy.load("policy.yaml"), "/data/released")

Deprecated: Bytewax has had no release since November 2024, and has no package for Python 3.13 or later.

Needs the extra `bytewax`. docs/guides/integrations.md says what holds and what does not.
"""

from __future__ import annotations

import datetime as dt
import os
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any
from urllib.parse import quote

try:
    import bytewax.operators as op
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "bytewax":
        raise
    text = "stream_anon.hosts.bytewax needs bytewax: pip install '.[bytewax]' in a clone"
    raise ImportError(text) from None

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.entropy import fresh_draws
from stream_anon.engine.keyed_draws import key_of
from stream_anon.errors import Refused
from stream_anon.hosts.release_folder import ReleaseFolder, StoredRelease
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.policy import Policy
from stream_anon.settings.sections.certificate_settings import signing_key_in
from stream_anon.windowing.limits import WindowTimer

Record = Mapping[str, Any] | bytes

warnings.warn(
    "stream_anon.hosts.bytewax is deprecated, because Bytewax has had no release since November 2024; "
    "docs/guides/integrations.md says what to use instead",
    FutureWarning,
    stacklevel=2,
)


def released_windows(
    step: str,
    up: Any,
    policy: Policy,
    folder: str | os.PathLike[str],
    *,
    accept_risks: Collection[str] = (),
    draws_key: bytes | None = None,
    signing_key_file: str | os.PathLike[str] | None = None,
) -> Any:
    """Release the windows of each key as `FOLDER/key=KEY.window=NUMBER`, once; return them as a stream.

    A window closes when it holds `window.max_records`, when it has been open for 0.9 to 1 times `window.max_delay`
    (drawn for each window), or when the input ends. `auto` is 1,000,000 here: name a number that memory has room
    for in each key. When Bytewax resumes and gives records again, a window that was released ends where it ended
    the first time, and its release is returned and not made again.

    Parameters
    ----------
    step
        The id of the step in the dataflow.
    up
        A keyed stream of records, as `Anonymizer.add` takes them. After a failure the records of a key must come
        again in the same order: choose the partition of the input as the key. The key is published as it is,
        in the names of folders.
    folder
        Of this dataflow alone, on a file system that all its workers share; see `ReleaseFolder`.
    accept_risks
        Names of conditions that would forbid the first release; see `ReleaseFolder`.
    draws_key
        A secret of 16 bytes or more; see `Anonymizer`.
    signing_key_file
        A file with a private key of Ed25519, PEM, which signs the certificates; see `SigningSettings`. It is read
        by this call, in each process that runs the dataflow, and stands in no snapshot.

    Returns
    -------
    A keyed stream of `StoredRelease`. After a failure a release may come twice.

    Raises
    ------
    SettingsError
        If the file of the key holds none, or the extra `sign` is not installed.
    """
    origin, key, signing_key = f"Bytewax stream {up.stream_id}", key_of(draws_key), signing_key_in(signing_key_file)
    releases = ReleaseFolder(
        folder, policy, origin, accept_risks=accept_risks, draws_key=key, signing_key=signing_key
    )
    keyed = op.map(f"{step}_key", up, lambda pair: (pair[0], pair))
    return op.stateful_batch(step, keyed, lambda state: _KeyWindows(releases, policy.window, state))


@dataclass(frozen=True, slots=True)
class _State:
    """What a snapshot keeps of a key: how many windows it has closed, and the records of the open one."""

    key: str
    number: int
    records: tuple[Record, ...]


class _KeyWindows(op.StatefulBatchLogic[Any, StoredRelease, _State]):
    """The windows of one key, one after the other.

    A window that the folder has already is one that was released before the work was resumed. It takes as many
    records as the first time, is not closed before, and its records are dropped.
    """

    def __init__(self, releases: ReleaseFolder, limits: WindowLimits, state: _State | None) -> None:
        self._releases, self._limits, self._clock = releases, limits, SystemClock()
        self._draws = fresh_draws()
        self._key, self._number = ("", 0) if state is None else (state.key, state.number)
        self._records: list[Record] = [] if state is None else list(state.records)
        self._size, self._until = limits.max_records, inf
        if self._records:
            self._begin()

    @property
    def _name(self) -> str:
        return f"key={quote(self._key, safe='')}.window={self._number:08d}"

    def _begin(self) -> None:
        """Find out how many records the open window takes, and until when."""
        before = self._releases.stored(self._name)
        if before is None:
            timer = WindowTimer.draw(self._limits, self._draws)
            self._size, self._until = self._limits.max_records, timer.due_at(self._clock.monotonic())
        else:
            self._size, self._until = before.records_in, inf

    @property
    def _full(self) -> bool:
        return len(self._records) >= self._size

    def _close(self) -> StoredRelease:
        made = self._releases.release(self._name, self._records)
        if made.records_in != len(self._records):  # a worker that was taken for dead has been quicker
            raise Refused(
                f"{self._name}: was made of another number of records; resumed, the dataflow ends the window there"
            )
        self._number, self._records, self._until = self._number + 1, [], inf
        return made

    def on_batch(self, values: list[tuple[str, Record]]) -> tuple[list[StoredRelease], bool]:
        """Take records; release the windows that they fill."""
        made = []
        for self._key, record in values:
            self._records.append(record)
            if len(self._records) == 1:
                self._begin()
            if self._full:
                made.append(self._close())
        return made, self.RETAIN

    def on_notify(self) -> tuple[list[StoredRelease], bool]:
        """Release the open window, which is old enough, or complete since the work was resumed."""
        due = self._full or self._clock.monotonic() >= self._until
        return ([self._close()] if due else []), self.RETAIN

    def on_eof(self) -> tuple[list[StoredRelease], bool]:
        """Release the open window: nothing follows, unless it is resumed in the middle of what was released."""
        return ([self._close()] if self._until < inf else []), self.RETAIN

    def notify_at(self) -> dt.datetime | None:
        """Return when the open window is to be released; None where that depends on records only."""
        wait = 0.0 if self._full else self._until - self._clock.monotonic()
        return None if wait == inf else dt.datetime.fromtimestamp(self._clock.wall() + wait, dt.UTC)

    def snapshot(self) -> _State:
        """Return what resumes this key. It holds people's records as they came."""
        return _State(self._key, self._number, tuple(self._records))
