"""Compare the records of one window with its certificate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.digests.comparing import Recount, Uncompared, keys_of
from stream_anon.audit.digests.kept_lines import WindowLines
from stream_anon.audit.formats.contents import lines_of
from stream_anon.audit.formats.series import Series
from stream_anon.audit.population.published_presence import PresenceAudit
from stream_anon.audit.released_records import Decoded, ReleasedRecordReader, ValueBook
from stream_anon.audit.shields import ShieldAudit
from stream_anon.audit.spreads import NULL, Shown, disclosed, faults, is_true
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.certificate import AchievedSpread, Certificate, CertifiedClass


@dataclass(slots=True)
class _Group:
    """The records seen so far with one published tuple."""

    quasi: Sequence[Any]
    records: int = 0
    shown: list[Shown] = field(default_factory=list)  # values of each sensitive attribute, in policy order
    accused: bool = False  # whether one of the records is at fault by itself


class WindowRecords:
    """What was seen of one window's records: a counter for each published tuple.

    A record itself is held only until it is known under which policy it is to be read. `recount` says how what
    passes of each is compared with digests, if it is.
    """

    def __init__(self, timestamp: int | None = None) -> None:
        self.records = 0
        self.timestamp = timestamp
        self.recount: Recount | Uncompared = Uncompared.NO_DIGESTS
        self.groups: dict[bytes, _Group] = {}
        self.held: list[Decoded] = []


class WindowAudit:
    """Checks records one by one, and a window's counters against its certificate.

    Parameters
    ----------
    policy
        What may be published, and how.
    values
        Which values can be published; None where the policy's domains and passing fields are not known.
    findings
        Where violations are noted.
    keys
        Of the digests of contents, as far as they are at hand.
    presence
        Knows the population, where it is at hand.
    """

    def __init__(
        self,
        policy: Policy,
        values: ValueBook | None,
        findings: CollectedViolations,
        keys: Collection[DigestKey],
        presence: PresenceAudit,
    ) -> None:
        self._policy = policy
        self._presence = presence
        self._findings = findings
        self._keys = keys
        self._reader = ReleasedRecordReader(policy, typed=values is not None)
        self._attributes = policy.quasi_identifiers
        self._places = [place for place, own in enumerate(policy.passed) if isinstance(own, Sensitive)]
        sensitive = [own for own in policy.passed if isinstance(own, Sensitive)]
        self._sensitive = [own.name for own in sensitive]
        self._whole_families = [_kept_whole(own) for own in sensitive]
        self._null_is_value = [own.shown_as is ShownAs.VALUE for own in sensitive]
        self._values = values
        self._shields = ShieldAudit(policy, exact=values is not None)

    def add(self, window: WindowRecords, batch: str | None, record: Decoded) -> None:
        """Count a released record and note what is wrong with it alone; None for one that is no object."""
        window.records += 1
        if record is None:
            self._findings.add(Kind.MALFORMED_RECORD, batch)
            return
        fields, stated = self._reader.opened(record)
        read, problems = self._reader.read(fields)
        for kind, name in (*stated, *problems):
            if self._values is not None or kind is Kind.IDENTIFYING_FIELD:
                self._findings.add(kind, batch, attribute=name)
        group = self._group(window, batch, read.key, read.quasi)
        group.records += 1
        group.accused |= bool(problems or stated)
        for shown, place in zip(group.shown, self._places, strict=True):
            shown.add(read.passed[place])
        if isinstance(window.recount, Recount):
            lines = lines_of(self._policy.passed, [[value] for value in read.passed], 1)
            window.recount.lines.add([read.key], lines)

    def add_series(self, window: WindowRecords, batch: str | None, series: Series) -> None:
        """Count released records as `add` does, together where nothing is wrong with any of them."""
        read = self._reader.read_series(series)
        if read is None:
            for record in series:
                self.add(window, batch, record)
            return
        window.records += len(series)
        for key, quasi in read.tuples.items():
            self._group(window, batch, key, quasi)
        for key, count in Counter(read.keys).items():
            window.groups[key].records += count
        for number, place in enumerate(self._places):
            for key, value in zip(read.keys, read.passed[place], strict=True):
                window.groups[key].shown[number].add(value)
        if isinstance(window.recount, Recount):
            window.recount.lines.add(read.keys, lines_of(self._policy.passed, read.passed, len(series)))

    def _group(self, window: WindowRecords, batch: str | None, key: bytes, quasi: Sequence[Any]) -> _Group:
        """Return the records of a published tuple, whose values are looked at when the first one comes."""
        group = window.groups.get(key)
        if group is None:
            group = window.groups[key] = _Group(
                quasi, shown=[Shown(null_is_value=own) for own in self._null_is_value]
            )
            for place, value in enumerate(quasi):
                if self._values is not None and self._values.ncp(place, value) is None:
                    self._findings.add(Kind.ILLEGAL_VALUE, batch, attribute=self._attributes[place].name)
        return group

    def compare(self, window: WindowRecords, certificate: Certificate, *, removed: bool = False) -> None:
        """Note where the counted records differ from the certified classes.

        Parameters
        ----------
        removed
            Whether the start of the topic may have lost some of the records: then only what is there is judged.
        """
        batch = certificate.batch
        certified = {
            published_tuple(one, self._attributes): number for number, one in enumerate(certificate.classes)
        }
        whole = self._whole(window)
        for key, group in window.groups.items():
            number = certified.get(key)
            if number is None:
                self._findings.add(Kind.UNCERTIFIED_CLASS, batch, count=group.records)
            elif group.records > certificate.classes[number].records or (
                group.records < certificate.classes[number].records and not removed
            ):
                self._findings.add(Kind.WRONG_CLASS_SIZE, batch, number, count=group.records)
            if not removed:
                told = 0 if number is None else certificate.classes[number].individuals
                self._count(batch, number, group, whole, told)
                self._count_series(certificate, number, group)
        if removed:
            return
        self._count_shields(window, batch)
        self._disclose(window, whole)
        for key, number in certified.items():
            if key not in window.groups and certificate.classes[number].records:
                self._findings.add(Kind.WRONG_CLASS_SIZE, batch, number, count=0)
        self._compare_values(window, certificate)
        self._compare_contents(window, certificate, certified)
        if window.records < certificate.released:
            self._findings.add(Kind.NO_RECORDS, batch, count=certificate.released - window.records)
        if window.records > certificate.released:
            self._findings.add(Kind.EXTRA_RECORDS, batch, count=window.records - certificate.released)

    def recount_of(self, certificate: Certificate, lines: WindowLines) -> Recount | Uncompared:
        """Return how a window's contents are compared, by lines that are still to come, or why they are not.

        That nothing can be compared though there is a key is noted.
        """
        keys = keys_of(certificate, self._keys, on_trust=self._values is None)
        # A forger may take digests away, name a key that nobody has, or change what tells the policy, so that it is
        # not known what they are of.
        if self._keys and keys in (Uncompared.NO_DIGESTS, Uncompared.OTHER_KEY, Uncompared.ON_TRUST):
            self._findings.add(Kind.DIGESTS_WITHOUT_KEY, certificate.batch)
        return keys if isinstance(keys, Uncompared) else Recount(keys, lines)

    def _compare_contents(
        self, window: WindowRecords, certificate: Certificate, certified: Mapping[bytes, int]
    ) -> None:
        """Hash what passes of each class's records again, except where size or records are at fault already."""
        if not isinstance(window.recount, Recount):
            return
        right = {
            published: number
            for published, number in certified.items()
            if (group := window.groups.get(published)) is not None
            and not group.accused
            and group.records == certificate.classes[number].records
        }
        for number in window.recount.wrong(certificate, right):
            self._findings.add(Kind.WRONG_DIGEST, certificate.batch, number)

    def count_alone(self, window: WindowRecords, batch: str | None) -> None:
        """Note what is wrong with the classes of a window that has no certificate."""
        whole = self._whole(window)
        for group in window.groups.values():
            self._count(batch, None, group, whole)
        self._count_shields(window, batch)
        self._disclose(window, whole)

    def _count_shields(self, window: WindowRecords, batch: str | None) -> None:
        for names in self._shields.bare((key, group.records) for key, group in window.groups.items()):
            self._findings.add(Kind.TOO_FEW_SHIELDED, batch, attribute=names)

    def _whole(self, window: WindowRecords) -> list[Shown]:
        """Return what all records of a window show of each sensitive attribute."""
        groups = window.groups.values()
        return [Shown.together(group.shown[place] for group in groups) for place in range(len(self._sensitive))]

    def _disclose(self, window: WindowRecords, whole: Sequence[Shown]) -> None:
        """Note what the classes of a window give away."""
        for place, name in enumerate(self._sensitive):
            if window.groups:
                self._findings.disclose(
                    name, disclosed([group.shown[place] for group in window.groups.values()], whole[place])
                )

    def _count(
        self, batch: str | None, number: int | None, group: _Group, whole: Sequence[Shown], told: int = 0
    ) -> None:
        """Note what is wrong with a class; of so many individuals as its certificate has told that is noted."""
        if group.records < (self._policy.k or 1):
            self._findings.add(Kind.TOO_FEW_RECORDS, batch, number)
        # Elsewhere nothing but a certificate tells how many individuals these are.
        crowded = self._policy.individual == EVERY_RECORD and self._presence.crowded(group.quasi, group.records)
        if crowded and not self._presence.crowded(group.quasi, told):
            self._findings.add(Kind.TOO_MANY_PRESENT, batch, number)
        kept = self._whole_families
        for name, shown, base, families in zip(self._sensitive, group.shown, whole, kept, strict=True):
            if shown.breaks(families):
                self._findings.add(Kind.BROKEN_FAMILY, batch, number, name)
            asked = self._policy.diversity.get(name)
            for kind in () if asked is None else faults(shown, base, asked):
                self._findings.add(kind, batch, number, name)

    def _count_series(self, certificate: Certificate, number: int | None, group: _Group) -> None:
        """Note a class of a release of a series in which a value has more than one in m of the records."""
        if certificate.series is msgspec.UNSET:
            return
        for name, shown in zip(self._sensitive, group.shown, strict=True):
            if certificate.series.least * shown.most > shown.records:
                self._findings.add(Kind.UNEVEN_VALUES, certificate.batch, number, name)

    def _compare_values(self, window: WindowRecords, certificate: Certificate) -> None:
        """Compare what was achieved: it must lie between what is asked and what the records show."""
        whole = self._whole(window)
        for place, name in enumerate(self._sensitive if certificate.classes else ()):
            asked = self._policy.diversity.get(name)
            if asked is None:
                continue
            parts = [group.shown[place] for group in window.groups.values()]
            least = min((shown.distinct for shown in parts), default=0)
            if not asked.values <= certificate.achieved.distinct_l.get(name, 0) <= least:
                self._findings.add(Kind.WRONG_ACHIEVED_L, certificate.batch, attribute=name)
            achieved = certificate.achieved.sensitive.get(name, AchievedSpread())
            if not is_true(msgspec.to_builtins(achieved), parts, whole[place], asked):
                self._findings.add(Kind.WRONG_ACHIEVED_SPREAD, certificate.batch, attribute=name)


def published_tuple(one: CertifiedClass, attributes: tuple[QuasiIdentifier, ...]) -> bytes:
    """Return a certified class's published tuple as JSON."""
    return msgspec.json.encode([one.values.get(attribute.name) for attribute in attributes])


def _kept_whole(attribute: Sensitive) -> list[frozenset[str]]:
    """Return the values of each family of which a class shows all or none; none where families are published."""
    if attribute.shown_as is not ShownAs.VALUE:
        return []
    return [frozenset(NULL if value is None else value for value in family) for family in attribute.families]
