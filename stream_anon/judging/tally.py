"""Count in records, batch by batch, what decides whether they may be published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from typing import cast
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import missing_by_name
from stream_anon.engine.sealed_window import missing_counts
from stream_anon.formats.tables.passed_columns import PassedColumns
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.judging.disguises.resembling import MOST_LOOKED_AT, Disguise, looks_like
from stream_anon.judging.missing_values import MissingValues, missing_of
from stream_anon.microdata.attributes import Passing, PassThrough
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.payload import Payload
from stream_anon.microdata.policy import Policy

MOST_LINKABLE = 0.05  # a field may pass if at most this share of its values is rare
MOST_FOLLOWED = 100_000  # values of a field; 40 MB

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class RareValues:
    """How much of a field that passes is held by fewer than k individuals.

    Parameters
    ----------
    records
        Records whose value is rare.
    share
        Of all records that fit the policy; it decides.
    share_in_windows
        Of the records that the forecast's windows publish, the share whose value is rare within its window; None if
        they publish nothing, or without a forecast. It matters since every record names its window, and k holds in
        each.
    values, rare
        Distinct values, and how many of them are rare.
    accepted
        Whether the policy says that somebody has weighed it.
    """

    attribute: str
    records: int
    share: float
    share_in_windows: float | None
    values: int
    rare: int
    accepted: bool

    @property
    def too_many(self) -> bool:
        """Return whether the field may not pass as it is."""
        return self.share > MOST_LINKABLE and not self.accepted

    @property
    def too_many_in_windows(self) -> bool:
        """Return whether somebody should weigh what the field reveals within a window."""
        return (self.share_in_windows or 0.0) > MOST_LINKABLE and not self.accepted


class Rarity:
    """Counts the records whose value of a field is held by fewer than k individuals.

    Memory is bounded: of a field with more than `MOST_FOLLOWED` values a part is followed, which a hash of the
    value chooses, and the figures are estimated from these. For the values that are followed all records are
    counted, so that no value looks rarer than it is.

    Parameters
    ----------
    most
        Values that are followed.
    """

    def __init__(self, k: int, most: int = MOST_FOLLOWED) -> None:
        self._k, self._most = k, most
        self._common: set[Passing] = set()
        self._holders: dict[Passing, set[int]] = {}
        self._records: dict[Passing, int] = {}
        self._one_of = 1  # a power of two: one of so many values is followed

    def undecided(self, values: Sequence[Passing]) -> NDArray[np.bool_]:
        """Return which values may still turn out rare, so that their records must be counted; bool[n]."""
        return np.fromiter((value not in self._common for value in values), np.bool_, len(values))

    def add(self, values: Iterable[Passing], people: Iterable[int]) -> None:
        """Count records: the value of each, and whose it is."""
        common, holders, records, k = self._common, self._holders, self._records, self._k
        for value, person in zip(values, people, strict=True):
            if value in common:
                continue
            held = holders.get(value)
            if held is None:
                if self._one_of > 1 and not self._is_followed(value):
                    continue
                held = holders[value] = set()
                records[value] = 0
                if len(holders) + len(common) > self._most:
                    self._follow_fewer()
                    if value not in holders:
                        continue
            held.add(person)
            records[value] += 1
            if len(held) >= k:
                del holders[value], records[value]
                common.add(value)

    @property
    def records(self) -> int:
        """Return how many records have a rare value."""
        return sum(self._records.values()) * self._one_of

    @property
    def values(self) -> int:
        """Return how many values there are."""
        return (len(self._holders) + len(self._common)) * self._one_of

    @property
    def rare(self) -> int:
        """Return how many values are rare."""
        return len(self._holders) * self._one_of

    def some(self, most: int) -> list[Passing]:
        """Return up to `most` different values, which a hash chooses, whatever came first."""
        values = [*self._common, *self._holders]
        return values if len(values) <= most else nsmallest(most, values, key=_hash)

    def _is_followed(self, value: Passing) -> bool:
        return not _hash(value) & (self._one_of - 1)

    def _follow_fewer(self) -> None:
        self._one_of *= 2
        self._common -= {value for value in self._common if not self._is_followed(value)}
        for value in [value for value in self._holders if not self._is_followed(value)]:
            del self._holders[value], self._records[value]


def _hash(value: Passing) -> int:
    # Equal numbers have one hash, whatever their types; that of a text differs from process to process.
    text = str(hash(value)) if isinstance(value, int | float) else repr(value)
    return crc32(text.encode("utf-8", "surrogatepass"))


class _Known(dict[bytes, Passing]):
    """What JSON texts stand for; those that came are remembered, up to a number."""

    def __missing__(self, text: bytes) -> Passing:
        if len(self) >= MOST_FOLLOWED:
            self.clear()
        value = _decode(text)
        self[text] = value = tuple(value) if isinstance(value, list) else value
        return cast("Passing", value)


class _Look:
    """Looks at the values of a field that passes, and again only when there are more: they come and do not go."""

    def __init__(self, attribute: PassThrough) -> None:
        self._attribute, self._values = attribute, 0
        self._found: Disguise | None = None

    def at(self, rarity: Rarity) -> Disguise | None:
        """Return the identifier that the values look like, if they do."""
        if rarity.values != self._values:
            self._values = rarity.values
            found = looks_like(self._attribute, rarity.some(MOST_LOOKED_AT))
            accepted = self._attribute.accept_linkable
            self._found = None if found is None else Disguise(self._attribute.name, found, accepted)
        return self._found


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """What decides whether records may be published; see `Study` for the names.

    Parameters
    ----------
    individuals
        Counted up to k.
    """

    records: int
    fit: int
    individuals: int
    missing: tuple[MissingValues, ...]
    rare: tuple[RareValues, ...]
    disguises: tuple[Disguise, ...] = ()
    whole: bool = True


class Tally:
    """Counts batches of one input, as long as it takes; about 0.2 us for each value that passes.

    Attributes
    ----------
    records, fit
        Records without the ignored ones, and those of them that fit the policy.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._people: set[int] = set()
        self._missing = np.zeros(len(policy.quasi_identifiers) + len(policy.passed), np.int64)
        self._known = _Known()
        self._rarities = [Rarity(policy.crowd) for _ in policy.passed]
        self._looks = [_Look(attribute) for attribute in policy.passed]
        self.records = self.fit = 0

    def add(self, batch: CodedBatch) -> None:
        """Count a batch."""
        self.records += len(batch) + len(batch.rejects.dead)
        if not len(batch):
            return
        self.fit += len(batch)
        self._missing += missing_counts(self._policy, batch.codes, batch.payload, slice(0, len(batch)))
        if len(self._people) < self._policy.crowd:
            self._people.update(batch.individuals.tolist())
        if isinstance(batch.payload, PassedColumns):
            self._add_columns(batch.payload, batch.individuals)
            return
        people = batch.individuals.tolist()
        for rarity, column in zip(self._rarities, self._columns(batch.payload), strict=True):
            rarity.add(column, people)

    def _add_columns(self, payload: PassedColumns, individuals: NDArray[np.int64]) -> None:
        """Count rows whose values are kept apart: nothing is done for a row of a value that is common already."""
        for rarity, values, places in zip(self._rarities, payload.values, payload.places, strict=True):
            rows = np.flatnonzero(rarity.undecided(values.tolist())[places])
            rarity.add(values[places[rows]].tolist(), individuals[rows].tolist())

    def _columns(self, payload: Payload) -> Iterable[Iterable[Passing]]:
        """Return the values of each field that passes. Of JSON each text is read once: most come again."""
        if not isinstance(payload, PassedTexts):
            return zip(*payload, strict=True) if self._rarities else ()
        text, ends = payload.text.tobytes(), payload.ends.ravel().tolist()
        texts = [text[start:end] for start, end in pairwise([0, *ends])]
        fields = len(self._rarities)
        return [map(self._known.__getitem__, texts[field::fields]) for field in range(fields)]

    def rare(self, shares_in_windows: Iterable[float | None]) -> tuple[RareValues, ...]:
        """Return how much of each field that passes is rare; what its windows say comes from elsewhere."""
        pairs = zip(self._policy.passed, self._rarities, shares_in_windows, strict=True)
        return tuple(
            RareValues(
                attribute.name,
                rarity.records,
                rarity.records / self.fit if self.fit else 0.0,
                within,
                rarity.values,
                rarity.rare,
                attribute.accept_linkable,
            )
            for attribute, rarity, within in pairs
        )

    def disguises(self) -> tuple[Disguise, ...]:
        """Return the fields that pass and whose values look like identifiers; 10 ms for one with new values."""
        looks = zip(self._looks, self._rarities, strict=True)
        return tuple(disguise for look, rarity in looks if (disguise := look.at(rarity)) is not None)

    def missing(self, texts: Iterable[bytes | None] = ()) -> tuple[MissingValues, ...]:
        """Return what is missing in the records that fit; `texts` are JSON records, or some of them."""
        return missing_of(self._policy, missing_by_name(self._policy, self._missing), self.fit, texts)

    def counts(self) -> RecordCounts:
        """Return what decides."""
        unknown = [None] * len(self._rarities)
        people, rare = len(self._people), self.rare(unknown)
        return RecordCounts(self.records, self.fit, people, self.missing(), rare, self.disguises())
