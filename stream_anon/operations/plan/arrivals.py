"""The records of a sample with their times of arrival: at a steady rate, or by the broker's timestamps."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.operations.samples import RecordSample

_NOTHING = np.empty(0, np.int64)
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_BYTES = {"B": 1.0, "KB": 1e3, "MB": 1e6}


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """A sample.

    Parameters
    ----------
    policy
        Under which it was read: its sensitive columns are those of this policy's criteria.
    batch
        The records that fit, in order of arrival. Their offsets count all records.
    times
        float64, ascending seconds, of every record by its offset.
    rate
        Records a second.
    timed
        Whether the times are those of the broker.
    record_bytes
        Mean length of a record in the input; None if it is not known.
    """

    policy: Policy
    batch: CodedBatch
    times: NDArray[np.float64]
    rate: float
    timed: bool
    record_bytes: float | None = None

    @property
    def records(self) -> int:
        """Return the number of records, those that do not fit included."""
        return len(self.times)

    @property
    def rejected(self) -> int:
        """Return how many do not fit the policy."""
        return len(self.times) - len(self.batch)

    def judged_by(self, policy: Policy) -> CodedBatch:
        """Return the records that fit, with the sensitive columns of another policy: it has all of them."""
        places = {attribute.name: place for place, attribute in enumerate(self.policy.diverse)}
        chosen = np.array([places[attribute.name] for attribute in policy.diverse], np.intp)
        return replace(self.batch, sensitive=np.ascontiguousarray(self.batch.sensitive[chosen]))


def rate_of(text: str) -> float:
    """Return the records a second that `500/s`, `30/min`, `2000/h` or `500` stands for.

    Raises
    ------
    SettingsError
        For any other text.
    """
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(?:/ ?(s|min|h))?", text.strip())
    if found is None or not float(found[1]):
        raise SettingsError("--rate", "must be records by time, such as 500/s, 30/min or 2000/h")
    return float(found[1]) / _SECONDS[found[2] or "s"]


def bytes_of(text: str) -> float:
    """Return the bytes that `800`, `1KB`, `1.5 KB` or `2MB` stands for; a KB has 1,000.

    Raises
    ------
    SettingsError
        For any other text.
    """
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?(B|KB|MB)?", text.strip(), re.IGNORECASE)
    if found is None or not float(found[1]):
        raise SettingsError("--record-bytes", "must be a length such as 800, 1.5KB or 2MB")
    return float(found[1]) * _BYTES[(found[2] or "B").upper()]


@dataclass(frozen=True, slots=True)
class Load:
    """What comes.

    Parameters
    ----------
    rate
        Records a second; None for the times of the broker.
    record_bytes
        Mean length of a record in the input; None for that of the sample, if it is of a topic.
    """

    rate: float | None = None
    record_bytes: float | None = None


def arrivals_of(policy: Policy, sample: RecordSample, load: Load) -> Arrivals:
    """Return the records of a sample one after the other at a rate; without one as they came to the broker.

    Raises
    ------
    InputError
        If no record fits the policy, or there is no rate and the records have no times or one time only.
    """
    sample.require_records()
    batch, count, times = sample.batch, len(sample), sample.times
    rate, length = load.rate, load.record_bytes or sample.record_bytes
    if rate is not None:
        # Offsets of a file leave out blank lines, which are no records.
        places = np.sort(np.concatenate([batch.offsets, batch.rejects.offsets]))
        batch = replace(batch, offsets=np.searchsorted(places, batch.offsets))
        return Arrivals(policy, batch, np.arange(count) / rate, rate, timed=False, record_bytes=length)
    seconds = 0.0 if times is None else float(times[-1] - times[0])
    if times is None or not seconds:
        raise InputError(f"{sample.source}: no times of arrival, or one only: give --rate")
    return Arrivals(policy, batch, times - times[0], count / seconds, timed=True, record_bytes=length)
