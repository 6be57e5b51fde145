"""Judges: each window is judged under the policy that it was released under."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import msgspec

from stream_anon.audit.certificates import CertificateAudit, Counted
from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.population.published_presence import PresenceAudit
from stream_anon.audit.released_records import ValueBook
from stream_anon.audit.verdict import Kind
from stream_anon.audit.window_comparison import WindowAudit
from stream_anon.errors import CertificateError, SettingsError
from stream_anon.microdata.attributes import Identifier, PublishedForm, ScalarType, Sensitive
from stream_anon.microdata.bounds import RecordBound, Shield
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.diversity import MOST_CLASS, Disclosure, Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.output.digest_key import DigestKey
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.population.presence_bound import PopulationCounts, PresenceBound
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.certificate import Asked, Certificate
from stream_anon.privacy.policy_document import DocumentPart, PolicyDocument, join_document

_MOST_DOCUMENTS = 1_000
_MOST_STAND_INS = 1_000
_ANYTHING = CategoricalDomain(Hierarchy.flat(["a", "b"]))  # of a stand-in: its values are not judged


class Judge:
    """Judges the certificates and the records of one policy.

    Parameters
    ----------
    promises
        Hash of the policy's document.
    on_trust
        Whether the policy is a stand-in, of which no more is known than a certificate says: whether values can be
        published, and whether fields may pass, is not judged.
    declared
        Of a stand-in: the names that may be repeated. Others stand in a certificate only, and may be anything.
    keys
        Of the digests of contents, as far as they are at hand.
    population
        That of the policy that the audit was given. It serves all policies that name its hash.
    """

    def __init__(
        self,
        policy: Policy,
        promises: str,
        findings: CollectedViolations,
        *,
        on_trust: bool = False,
        declared: frozenset[str] = frozenset(),
        keys: Collection[DigestKey] = (),
        population: PopulationCounts | None = None,
    ) -> None:
        values = None if on_trust else ValueBook(policy)
        if on_trust:
            findings = _Discreet(findings, declared)
        self.policy = policy
        self.promises = promises
        self.on_trust = on_trust
        # What stands for a policy on trust has other domains than the population.
        presence = PresenceAudit(policy, None if on_trust else population)
        self.records = WindowAudit(policy, values, findings, keys, presence)
        self.certificates = CertificateAudit(policy, values, findings, presence)


@dataclass(frozen=True, slots=True)
class JudgedCertificate:
    """A certificate as an audit reads it, whatever it found wrong with it; the records may still be to come."""

    certificate: Certificate
    judge: Judge
    counted: Counted


class _Discreet(CollectedViolations):
    """Notes violations without the names that the policy does not declare."""

    def __init__(self, findings: CollectedViolations, declared: frozenset[str]) -> None:
        super().__init__()
        self._findings = findings
        self._declared = declared

    def add(
        self,
        kind: Kind,
        batch: str | None = None,
        number: int | None = None,
        attribute: str | None = None,
        count: int = 1,
    ) -> None:
        """Note a violation where the audit collects them."""
        self._findings.add(kind, batch, number, attribute if attribute in self._declared else None, count)

    def disclose(self, attribute: str, found: Disclosure) -> None:
        """Note what classes give away of an attribute that the policy declares."""
        if attribute in self._declared:
            self._findings.disclose(attribute, found)


class Judges:
    """Holds the policy documents, and chooses the judge of each window.

    Parameters
    ----------
    policy
        The policy that the audit was given. It judges the windows that name its document, those of certificates
        without a document that name its digest, and records that belong to no window.
    promises
        Hash of its document, where it is known already.
    keys
        Former keys of digests. They and that of the policy serve for all windows.
    """

    def __init__(
        self,
        policy: Policy,
        findings: CollectedViolations,
        promises: str | None = None,
        keys: Collection[DigestKey] = (),
    ) -> None:
        self._findings = findings
        self._keys = (*(() if policy.digest_key is None else (policy.digest_key,)), *keys)
        self.given = Judge(policy, promises or PolicyDocument.of(policy).promises, findings, keys=self._keys)
        self._declared = frozenset(attribute.name for attribute in policy.attributes)
        # For records whose policy is not known: it looks for identifying fields only.
        self.suspicious = Judge(policy, self.given.promises, findings, on_trust=True, declared=self._declared)
        self._parts: dict[str, dict[int, DocumentPart]] = {}
        self._documents: dict[str, PolicyDocument | None] = {}  # None for one that cannot be read
        self._judges: dict[str, Judge] = {self.given.promises: self.given}
        self._stand_ins: dict[tuple[str, bytes, tuple[str, ...]], Judge] = {}

    def add_part(self, part: DocumentPart) -> bool:
        """Take one part of a policy document; return whether it made a document complete."""
        name = part.promises
        if name in self._judges or name in self._documents:
            return False
        if name not in self._parts and len(self._parts) + len(self._documents) >= _MOST_DOCUMENTS:
            self._findings.add(Kind.WRONG_DOCUMENT)
            return False
        held = self._parts.setdefault(name, {})
        held[part.part] = part
        if len(held) < part.parts:
            return False
        del self._parts[name]
        try:
            self._documents[name] = join_document(list(held.values()))
        except CertificateError:
            self._findings.add(Kind.WRONG_DOCUMENT)
            self._documents[name] = None
        return True

    def of(self, certificate: Certificate) -> Judge | None:
        """Return the judge of a window, or None if its document has not been read yet."""
        name = certificate.promises
        if name is None:
            return self.given if certificate.policy == self.given.policy.digest else self.stand_in(certificate)
        if name not in self._judges:
            if name not in self._documents:
                return None
            document = self._documents[name]
            if document is None:
                return self.stand_in(certificate)
            try:
                self._judges[name] = Judge(
                    document.policy(),
                    name,
                    self._findings,
                    keys=self._keys,
                    population=self._population_for(document),
                )
            except CertificateError:
                self._findings.add(Kind.WRONG_DOCUMENT, certificate.batch)
                self._documents[name] = None
                return self.stand_in(certificate)
        return self._judges[name]

    def _population_for(self, document: PolicyDocument) -> PopulationCounts | None:
        """Return the population that was given if it is coded as the document's quasi-identifiers are."""
        if self.given.policy.population is None:
            return None
        own, other = (_codings(one) for one in (PolicyDocument.of(self.given.policy), document))
        return self.given.policy.population if own == other else None

    def stand_in(self, certificate: Certificate) -> Judge:
        """Return a judge that knows only what the window's certificate says about its policy."""
        names = tuple(certificate.classes[0].values) if certificate.classes else ()
        promises = certificate.promises or certificate.policy
        key = (promises, repr(certificate.asked).encode(), names)
        if key not in self._stand_ins:
            if len(self._stand_ins) >= _MOST_STAND_INS:
                self._stand_ins.clear()
            try:
                policy = _stand_in(self.given.policy, certificate.asked, names)
            except SettingsError:  # what it asks is no policy's
                self._findings.add(Kind.WRONG_CRITERIA, certificate.batch)
                policy = self.given.policy
            self._stand_ins[key] = Judge(
                policy, promises, self._findings, on_trust=True, declared=self._declared, keys=self._keys
            )
        return self._stand_ins[key]


def _codings(document: PolicyDocument) -> list[tuple[str, object]]:
    """Return names and domains of the quasi-identifiers, which decide how a population is coded."""
    attributes = json.loads(document.text)["attributes"]
    return [(one["name"], one["domain"]) for one in attributes if one["role"] == QuasiIdentifier.role]


def _stand_in(given: Policy, asked: Asked, names: Sequence[str]) -> Policy:
    """Return a policy that asks what a certificate says, of quasi-identifiers of any values."""
    diversity = {name: _diversity(asked, name) for name in {**asked.distinct_l, **asked.sensitive}}
    quasi: list[QuasiIdentifier] = [QuasiIdentifier(name, _ANYTHING) for name in names]
    if given.shape is not Shape.NATURAL:
        # Values in one type can be read by what is known of them alone: as far as it goes, by the given policy.
        known = {attribute.name: attribute for attribute in given.quasi_identifiers}
        quasi = [known.get(attribute.name, attribute) for attribute in quasi]
    if not quasi:  # a window without a class
        quasi = [each for each in given.quasi_identifiers if each.name not in diversity]
    taken = {attribute.name for attribute in quasi} | diversity.keys()
    if asked.presence is not msgspec.UNSET:  # such a policy publishes nodes
        quasi = [replace(one, domain=one.domain.by_nodes(), publication=PublishedForm.NODES) for one in quasi]
    identifiers = [a for a in given.attributes if isinstance(a, Identifier) and a.name not in taken]
    families = {} if asked.families is msgspec.UNSET else asked.families
    # By what is shown a missing value is one, or none.
    shown = {name: ShownAs(own.publish) for name, own in families.items()}
    sensitive = [
        Sensitive(
            name, ScalarType.NUMBER if each.ordered else ScalarType.STRING, shown_as=shown.get(name, ShownAs.FAMILY)
        )
        for name, each in diversity.items()
    ]
    asks = [] if asked.shields is msgspec.UNSET else asked.shields
    shields = tuple(Shield(tuple(shield.attributes), shield.k) for shield in asks)
    if not names:  # without a class it is not known which quasi-identifiers there are, and nothing to be judged
        some = [(one.name,) for one in quasi[:1]]
        shields = tuple(Shield(names, shields[0].k) for names in some if shields) if asked.k is None else ()
    widest = max((asked.k or 0, *(shield.k for shield in shields)))
    return Policy(
        attributes=(*identifiers, *quasi, *sensitive),
        k=asked.k,
        individual=EVERY_RECORD,
        max_share=asked.max_share,
        diversity=diversity,
        window=WindowLimits(max_records=max(WindowLimits.max_records, min(widest, MOST_CLASS))),
        shields=shields,
        shape=given.shape,
        presence=_presence(asked),
        counterfeits=None if asked.counterfeits is msgspec.UNSET else RecordBound(asked.counterfeits),
    )


def _presence(asked: Asked) -> PresenceBound | None:
    told = asked.presence
    return None if told is msgspec.UNSET else PresenceBound(told.most, told.digest, told.people)


def _diversity(asked: Asked, name: str) -> Diversity:
    spread, values = asked.sensitive.get(name), asked.distinct_l.get(name)
    if spread is None:
        return Diversity(values)
    return msgspec.convert(msgspec.to_builtins(spread) | {"distinct_l": values}, Diversity)
