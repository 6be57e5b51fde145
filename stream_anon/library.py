"""The engine as a library: add records, iterate releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from stream_anon.adapters.codecs import codec_of
from stream_anon.files.anonymizing import SOURCE, Anonymization, CertifiedRelease
from stream_anon.microdata import policy as _policy
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason
from stream_anon.microdata.coding import BatchBuilder, RecordCoder
from stream_anon.settings.policy_file import load_policy

_CHUNK = 1000


class Policy(_policy.Policy):
    """What records look like and what must hold of what is published."""

    @classmethod
    def load(cls, path: str | Path, **overrides: Mapping[str, Any]) -> Policy:
        """Return the policy of a settings file, of which only its privacy side is needed.

        Parameters
        ----------
        path
            YAML; hierarchy files are relative to its folder.
        overrides
            Values by section that win over the file: `Policy.load(path, privacy={"k": 5})`.

        Raises
        ------
        SettingsError
            Names the first wrong key, what is allowed, and the file.
        """
        loaded = load_policy(Path(path), {section: dict(values) for section, values in overrides.items()})
        fields = loaded.__dataclass_fields__
        return cls(**{name: getattr(loaded, name) for name in fields})


@dataclass(frozen=True)
class Reject:
    """A record that did not fit: its number in the order of `add`, why, and the attribute at fault."""

    number: int
    reason: str
    attribute: str | None


@dataclass(frozen=True)
class AnonymousRelease:
    """One window, k-anonymous.

    Parameters
    ----------
    records
        The released records in shuffled order.
    rejected
        Records of the same stretch of input that did not fit the policy.
    certificate
        What the window promises, for `stream-anon audit`; not for readers of the records.
    """

    records: list[dict[str, Any]]
    rejected: list[Reject]
    certificate: list[dict[str, Any]]


class Anonymizer:
    """Anonymize a stream of records window by window.

    Windows close when `window.max_records` are in; `close` closes the last one. For windows that close by age
    run the service, or call `close` by your own clock: it may be called any number of times.

    Parameters
    ----------
    policy
        From `Policy.load`, or built from `stream_anon.microdata`.

    Examples
    --------
    >>> anonymizer = Anonymizer(Policy.load("policy.yaml"))  # doctest: +SKIP
    >>> for release in anonymizer.add(records):  # doctest: +SKIP
    ...     publish(release.records)
    """

    def __init__(self, policy: _policy.Policy) -> None:
        self._policy = policy
        self._coder = RecordCoder(policy)
        self._codec = codec_of(policy)
        self._anonymization = Anonymization(policy)
        self._count = 0
        self._every_record = policy.individual == _policy.EVERY_RECORD

    def add(self, records: Iterable[Mapping[str, Any] | bytes]) -> Iterator[AnonymousRelease]:
        """Take records, nested as the policy's paths say, or their JSON as bytes; yield the windows they filled.

        It is a generator: nothing is taken before it is iterated.
        """
        source = iter(records)
        while chunk := list(islice(source, _CHUNK)):
            for as_bytes, run in groupby(chunk, key=lambda record: isinstance(record, bytes)):
                stretch = list(run)
                batch = self._decoded(stretch) if as_bytes else self._coded(stretch)
                self._count += len(stretch)
                yield from map(self._opened, self._anonymization.add(batch))

    def _decoded(self, records: Sequence[Any]) -> CodedBatch:
        batch = self._codec.decode(records, SOURCE, np.arange(self._count, self._count + len(records)))
        if self._every_record:
            batch.individuals[:] = batch.offsets
        return batch

    def _coded(self, records: Sequence[Any]) -> CodedBatch:
        builder = BatchBuilder(self._policy, SOURCE)
        for offset, record in enumerate(records, start=self._count):
            builder.add(self._coder.code_object(record), offset)
        return builder.build(self._count if self._every_record else None)

    def close(self) -> Iterator[AnonymousRelease]:
        """Close the open window; yield nothing if it is empty."""
        yield from map(self._opened, self._anonymization.close())

    def _opened(self, certified: CertifiedRelease) -> AnonymousRelease:
        release = certified.release
        names = [attribute.name for attribute in self._policy.attributes]
        columns = (release.rejects.offsets, release.rejects.reasons, release.rejects.attributes)
        return AnonymousRelease(
            [msgspec.json.decode(record) for record in self._codec.encode(release)],
            [
                Reject(number, Reason(reason).label, None if place == NO_ATTRIBUTE else names[place])
                for number, reason, place in zip(*(column.tolist() for column in columns), strict=True)
            ],
            [msgspec.json.decode(part) for part in certified.certificate],
        )
