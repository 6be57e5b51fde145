"""The engine as a library: add records or frames, iterate releases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from stream_anon.engine.keyed_draws import key_of
from stream_anon.extras import require
from stream_anon.files.anonymizing import Anonymization, CertifiedRelease
from stream_anon.files.frames import anonymize_frame
from stream_anon.files.incoming import Incoming, is_whole
from stream_anon.files.rejects import faults_of
from stream_anon.formats.codecs import codec_of
from stream_anon.judging.refusing import OF_CALL, conditions_of
from stream_anon.microdata import policy as _policy
from stream_anon.microdata.batch import CodedBatch
from stream_anon.ports import Codec
from stream_anon.privacy.signing.signature import with_signatures
from stream_anon.privacy.signing.signing_key import SigningKey
from stream_anon.settings.policy_file import load_policy

__all__ = ["Anonymizer", "AnonymousRelease", "Policy", "Reject", "anonymize_frame"]


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


class AnonymousRelease:
    """One window, k-anonymous.

    Attributes
    ----------
    records
        The released records in shuffled order, decoded when they are first asked for.
    rejected
        Records of the same stretch of input that did not fit the policy.
    certificate
        What the window promises, for `stream-anon audit`; not for readers of the records.
    proof
        The lines of a file that `stream-anon audit --certificates` reads: the certificate with its signatures, if
        there is a key. Those of a first release begin with the policy document.
    """

    def __init__(
        self, certified: CertifiedRelease, policy: _policy.Policy, codec: Codec, proof: list[bytes]
    ) -> None:
        self._release = certified.release
        self._policy = policy
        self._codec = codec
        names = [attribute.name for attribute in policy.attributes]
        rejects = certified.release.rejects
        faults = faults_of(rejects, names)
        self.rejected = [
            Reject(number, *fault) for number, fault in zip(rejects.offsets.tolist(), faults, strict=True)
        ]
        self.proof = proof
        self.certificate: list[dict[str, Any]] = [msgspec.json.decode(part) for part in certified.certificate]

    def __len__(self) -> int:
        """Return the number of released records."""
        return self._release.released

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """Return the released records, nested as the policy's paths say."""
        return [msgspec.json.decode(record) for record in self._codec.encode(self._release)]

    def to_arrow(self, *, flat: bool = False) -> Any:
        """Return the released records as a `pyarrow.Table`, with one type for each column.

        Parameters
        ----------
        flat
            See `anonymize_frame`.

        Raises
        ------
        SettingsError
            If pyarrow is not installed.
        """
        require("to_arrow", "pyarrow")
        from stream_anon.formats.tables.arrow.releases import ReleaseTables

        return ReleaseTables(self._policy, flat=flat).table(self._release)


class Anonymizer:
    """Anonymize a stream of records window by window.

    Windows close when `window.max_records` are in (`auto`: 1,000,000); `close` closes the last one. For
    windows that close by age run the service, or call `close` by your own clock: it may be called any number of
    times.

    Parameters
    ----------
    policy
        From `Policy.load`, or built from `stream_anon.microdata`.
    accept_risks
        Names of conditions that would forbid a release, such as `rare-values`; certificates name them.
    draws_key
        A secret of 16 bytes or more, to be kept; see `anonymize_frame`.
    signing_key
        A private key of Ed25519, PEM: certificates are signed by it. It needs the extra `sign`.

    Notes
    -----
    Before a release that holds records is handed out, all records that came so far are judged, by the conditions of
    `stream-anon check`. What `add` is given as a whole, such as a list or a frame, is judged as a whole.

    Examples
    --------
    >>> anonymizer = Anonymizer(Policy.load("policy.yaml"))  # doctest: +SKIP
    >>> for release in anonymizer.add(records):  # doctest: +SKIP
    ...     publish(release.records)
    """

    def __init__(
        self,
        policy: _policy.Policy,
        *,
        accept_risks: Collection[str] = (),
        draws_key: bytes | None = None,
        signing_key: bytes | None = None,
    ) -> None:
        _policy.require_policy(policy)
        self._policy = policy
        self._codec = codec_of(policy)
        self._incoming = Incoming(policy)
        self._anonymization = Anonymization(policy, accept_risks=conditions_of(accept_risks), key=key_of(draws_key))
        self._sign = None if signing_key is None else SigningKey(signing_key).sign
        self._document = self._anonymization.document.parts()  # until the first release brings it
        self._unfinished = False  # whether an iterator of `add` was given and not read to its end

    def add(self, records: Iterable[Mapping[str, Any] | bytes] | Any) -> Iterator[AnonymousRelease]:
        """Return an iterator that takes records and yields the windows they filled.

        What is given is looked at at once. Records are taken while the iterator is read, piece by piece: read it to
        its end before you call `add` or `close` again.

        Parameters
        ----------
        records
            Mappings, nested as the policy's paths say, or their JSON as bytes; or a frame, see `anonymize_frame`. A
            `pyarrow.RecordBatchReader` is read piece by piece. In mappings NaN, NaT and NA are missing too, and
            scalars of numpy and pandas, dates, `Decimal` and `UUID` are taken.

        Raises
        ------
        TypeError
            If it is neither, such as a single record.
        InputError
            If a frame has no column for a declared field.
        SettingsError
            For a frame, if pyarrow or narwhals is not installed.
        RuntimeError
            If what an earlier `add` returned was not read to its end.
        Refused
            While the iterator is read, if a condition forbids a release.
        """
        self._refuse_unfinished()
        batches = self._incoming.batches(records)
        self._unfinished = True
        return self._added(batches, is_whole(records))

    def _added(self, batches: Iterable[CodedBatch], whole: bool) -> Iterator[AnonymousRelease]:
        try:
            if whole:
                batches = list(batches)
                self._anonymization.look_ahead(batches)
            for batch in batches:
                yield from self._releases(self._anonymization.add(batch, counted=whole))
        except Exception:
            self._unfinished = False  # whoever iterates was told
            raise
        self._unfinished = False

    def close(self) -> Iterator[AnonymousRelease]:
        """Return an iterator that closes the open window and yields its release; nothing if it is empty.

        Raises
        ------
        RuntimeError
            If what an earlier `add` returned was not read to its end.
        Refused
            While the iterator is read, if a condition forbids the release.
        """
        self._refuse_unfinished()
        return self._releases(self._anonymization.close())

    def _releases(self, releases: Iterable[CertifiedRelease]) -> Iterator[AnonymousRelease]:
        for certified in releases:
            if certified.release.released:
                self._anonymization.raise_if_forbidden(OF_CALL)
            proof = with_signatures([*self._document, *certified.certificate], self._sign)
            self._document = []
            yield AnonymousRelease(certified, self._policy, self._codec, proof)

    def _refuse_unfinished(self) -> None:
        if self._unfinished:
            raise RuntimeError(
                "records of an earlier add are not taken yet: iterate what it returned to its end, as in "
                "`for release in anonymizer.add(records)`"
            )
