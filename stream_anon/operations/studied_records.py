"""The records that a study looks at, of a file or of the input topics, and what was released of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stream_anon.audit.released_records import ReleasedRecordReader
from stream_anon.errors import InputError, SettingsError
from stream_anon.formats.tables.format_names import as_written, released_format
from stream_anon.measures.boxes import Boxes, boxes_of
from stream_anon.measures.leakage import Population
from stream_anon.microdata.attributes import PassThrough
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.coding import Passed
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.audit.released_files import released_records
from stream_anon.operations.released_windows import CertifiedWindows, ReleasedWindows
from stream_anon.operations.samples import SampleSource

MOST_STUDIED = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """What was released of a table.

    Parameters
    ----------
    labels
        int64[c, m], how many records of each box have each label; None where none was asked for.
    classes
        int64[n], the box of each record.
    passed
        The n values of each attribute that passes, by name.
    windows
        None where they are not known.
    people
        int64[c], how many people the records of each box are of at the least; None where that is not known.
    loss
        Global certainty penalty, as certificates state it, of suppressed records too; None without certificates.
    """

    source: str
    boxes: Boxes
    labels: NDArray[np.int64] | None = None
    classes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    passed: Mapping[str, Sequence[object]] = field(default_factory=dict)
    windows: ReleasedWindows | None = None
    people: NDArray[np.int64] | None = None
    loss: float | None = None

    @property
    def records(self) -> int:
        """Return how many records were released."""
        return int(self.boxes.records.sum())


@dataclass(frozen=True, slots=True, eq=False)
class OriginalTable:
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
    labels
        int64[n], the label of each row as a `LabelBook` numbers it; None where none was asked for.
    passed
        The n values of each attribute that passes, by name, as they are published.
    offsets
        int64[n], where each record stands in its source.
    values
        Of attributes that are published as families: the n values themselves, where they were read.
    """

    source: str
    policy: Policy
    population: Population
    rejected: int
    whole: bool
    labels: NDArray[np.int64] | None = None
    passed: Mapping[str, Sequence[object]] = field(default_factory=dict)
    offsets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    values: Mapping[str, Sequence[object]] = field(default_factory=dict)

    def suppressed_in(self, released: Released) -> int:
        """Return how many of the records a release leaves out.

        Raises
        ------
        InputError
            If not all records are here, or the release holds more of them.
        SettingsError
            If some of the released records may be nobody's.
        """
        if self.policy.counterfeits is not None:
            raise SettingsError(
                "privacy.counterfeits",
                "lets records be released that are nobody's, and nothing tells which: such a release cannot be "
                "compared with the records of people; its certificate counts them",
            )
        if not self.whole:
            raise InputError(f"{self.source}: holds more than {MOST_STUDIED:,} records, too many to compare")
        suppressed = self.population.rows - released.records
        if suppressed < 0:
            raise InputError(f"{released.source}: holds more records than {self.source}; it is not a release of it")
        return suppressed


class LabelBook:
    """Numbers the labels of one attribute, alike for all files. A missing label is one too.

    Parameters
    ----------
    name
        The attribute. It must be published as it is.

    Raises
    ------
    SettingsError
        If the policy publishes no such attribute unchanged.
    """

    def __init__(self, policy: Policy, name: str) -> None:
        if name not in policy.index or not isinstance(policy.attribute(name), PassThrough):
            raise SettingsError("--label", "must be an attribute with role: sensitive or insensitive")
        self._attribute = policy.attribute(name)
        self._column = policy.passed.index(cast("PassThrough", self._attribute))
        self._numbers: dict[object, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def name(self) -> str:
        """Return the attribute's name."""
        return self._attribute.name

    def of_batch(self, batch: CodedBatch) -> list[int]:
        """Return the number of each record's label."""
        values = (passed[self._column] for passed in cast("list[Passed]", batch.payload))
        return [self._numbers.setdefault(value, len(self._numbers)) for value in values]

    def of_record(self, record: Mapping[str, Any]) -> int | None:
        """Return the number of a released record's label; None if no original record has it."""
        value: Any = record
        for key in self._attribute.path:
            value = value.get(key) if isinstance(value, dict) else None
        return self._numbers.get(value) if isinstance(value, Hashable) else None


def read_table(policy: Policy, source: SampleSource, book: LabelBook | None = None) -> OriginalTable:
    """Return the records of a source, about `MOST_STUDIED` of a file at the most.

    Parameters
    ----------
    book
        What numbers the labels, if these are read too.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the input cannot be read.
    InputError
        If it cannot be read or holds no record that fits the policy.
    """
    sample = source.read(policy, MOST_STUDIED)
    sample.require_records()
    return table_of(policy, sample.batch, sample.source, book, whole=sample.whole)


def table_of(
    policy: Policy, batch: CodedBatch, source: str, book: LabelBook | None = None, *, whole: bool = True
) -> OriginalTable:
    """Return records that were read; see `read_table`."""
    people = Population(batch.codes, None if policy.individual == EVERY_RECORD else batch.individuals)
    labels = None if book is None else np.array(book.of_batch(batch), np.int64)
    rows = cast("Sequence[Passed]", batch.payload)
    passed = {own.name: [row[place] for row in rows] for place, own in enumerate(policy.passed)}
    return OriginalTable(source, policy, people, len(batch.rejects), whole, labels, passed, batch.offsets)


def read_released(
    policy: Policy, path: Path, book: LabelBook | None = None, windows: CertifiedWindows | None = None
) -> Released:
    """Return what the records of a released file publish.

    Parameters
    ----------
    book
        What has numbered the labels of the original records, if labels are read too.
    windows
        Of the records, if known: then classes of two windows stay apart that publish the same.

    Raises
    ------
    InputError
        If it cannot be read, or holds what the policy cannot publish; the message names the line or the attribute.
    """
    reader = ReleasedRecordReader(as_written(policy, released_format(path)))
    window_of = repeat(0) if windows is None else windows.of_records()
    with released_records(path, policy) as records:
        placed = zip(records, window_of, strict=False)
        released, windows_of_boxes = released_of(policy, str(path), placed, reader, book)
    if windows is None:
        return released
    placed_windows = windows.of_boxes(windows_of_boxes, len(released.classes))
    return replace(
        released, windows=placed_windows, people=windows.people[placed_windows.of_box], loss=windows.loss
    )


def released_of(
    policy: Policy,
    source: str,
    records: Iterable[tuple[Mapping[str, Any] | None, int]],
    reader: ReleasedRecordReader,
    book: LabelBook | None = None,
) -> tuple[Released, list[int]]:
    """Return what released records publish, and the window of each box.

    Parameters
    ----------
    records
        Each with the number of its window; None for what is no record.
    reader
        Reads them.
    book
        See `read_released`, which raises the same errors.
    """
    counts: Counter[tuple[int, bytes]] = Counter()
    labelled: Counter[tuple[tuple[int, bytes], int]] = Counter()
    tuples: dict[tuple[int, bytes], tuple[Any, ...]] = {}
    places: dict[tuple[int, bytes], int] = {}
    classes: list[int] = []
    passed: dict[str, list[object]] = {own.name: [] for own in policy.passed}
    for number, (record, window) in enumerate(records, start=1):
        if record is None:
            raise InputError(f"{source}: record {number} is not a record that a release can hold")
        read, _ = reader.read(record)
        key = window, read.key
        counts[key] += 1
        tuples.setdefault(key, read.quasi)
        classes.append(places.setdefault(key, len(places)))
        for column, value in zip(passed.values(), read.passed, strict=True):
            column.append(value)
        if book is not None:
            label = book.of_record(record)
            if label is None:
                raise InputError(f"{source}: record {number} has a {book.name} that no original record has")
            labelled[key, label] += 1
    try:
        boxes = boxes_of(policy.quasi_identifiers, list(tuples.values()), [counts[key] for key in tuples])
    except ValueError as error:
        raise InputError(f"{source}: {error}") from None
    labels = None
    if book is not None:
        labels = np.zeros((len(boxes), len(book)), np.int64)
        for (key, label), count in labelled.items():
            labels[places[key], label] = count
    return Released(source, boxes, labels, np.array(classes, np.int64), passed), [window for window, _ in places]
