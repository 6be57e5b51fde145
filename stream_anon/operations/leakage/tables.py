"""The records whose leakage is looked at: of a file, of the input topics, and what was released of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_anon.adapters.tables.format_names import as_written, released_format
from stream_anon.audit.records import ReleasedRecordReader
from stream_anon.errors import InputError
from stream_anon.measures.boxes import Boxes, boxes_of
from stream_anon.measures.leakage import Population
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.audit.auditing import released_records
from stream_anon.operations.samples import SampleSource

MOST_RECORDS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class LeakageTable:
    """The records that are looked at.

    Parameters
    ----------
    source
        A file or topics.
    policy
        Its quasi-identifiers are what the rows of the population's codes hold.
    rejected
        Records that do not fit the policy: they are left out.
    whole
        Whether these are all records of the source.
    """

    source: str
    policy: Policy
    population: Population
    rejected: int
    whole: bool


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """What was released of a table."""

    source: str
    boxes: Boxes

    @property
    def records(self) -> int:
        """Return how many records were released."""
        return int(self.boxes.records.sum())


def read_table(policy: Policy, source: SampleSource) -> LeakageTable:
    """Return the records of a source, about `MOST_RECORDS` of a file at the most.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the input cannot be read.
    InputError
        If it cannot be read or holds no record that fits the policy.
    """
    sample = source.read(policy, MOST_RECORDS)
    sample.require_records()
    batch = sample.batch
    people = Population(batch.codes, None if policy.individual == EVERY_RECORD else batch.individuals)
    return LeakageTable(sample.source, policy, people, len(batch.rejects), sample.whole)


def read_released(policy: Policy, path: Path) -> Released:
    """Return what the records of a released file publish.

    Raises
    ------
    InputError
        If it cannot be read, or holds what the policy cannot publish; the message names the line or the attribute.
    """
    reader = ReleasedRecordReader(as_written(policy, released_format(path)))
    counts: Counter[bytes] = Counter()
    tuples: dict[bytes, tuple[Any, ...]] = {}
    with released_records(path, policy) as records:
        for number, record in enumerate(records, start=1):
            if record is None:
                raise InputError(f"{path}: record {number} is not a record that a release can hold")
            read, _ = reader.read(record)
            counts[read.key] += 1
            tuples.setdefault(read.key, read.quasi)
    try:
        boxes = boxes_of(policy.quasi_identifiers, list(tuples.values()), [counts[key] for key in tuples])
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    return Released(str(path), boxes)
