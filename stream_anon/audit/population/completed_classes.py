"""Count the counterfeits of certificates again: of policies by which they complete classes of too few people."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from msgspec import UNSET

from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.privacy.certificate import Certificate, CertifiedClass

_ROUNDING = Fraction(1, 10**6)  # of a record: a share such as 0.7 % is no exact float


class CompletionAudit:
    """Checks what certificates of one policy say of counterfeits.

    Parameters
    ----------
    policy
        What was asked.
    """

    def __init__(self, policy: Policy) -> None:
        self._allowed = policy.counterfeits
        self._k = policy.k or 1

    @property
    def allowed(self) -> bool:
        """Return whether the policy allows counterfeits."""
        return self._allowed is not None

    def falls_short(self, one: CertifiedClass) -> bool:
        """Return whether a class has fewer than k people, and is not completed as it may be.

        With counterfeits it has k records, and half of them or more are people.
        """
        if one.individuals >= self._k:
            return False
        return not self.allowed or one.records != self._k or one.records > 2 * one.individuals

    def counterfeits(self, certificate: Certificate) -> int:
        """Return how many counterfeits a certificate says complete its classes."""
        return 0 if certificate.completed is UNSET else certificate.completed.counterfeits

    def untrue(self, certificate: Certificate) -> bool:
        """Return whether that is not what the classes show, or more than may be.

        Everybody has one record: what a class has beyond its people are counterfeits. A class of k people has none.
        """
        told = certificate.completed
        if self._allowed is None or told is UNSET:
            return (told is not UNSET) or self.allowed
        classes = certificate.classes
        made = sum(one.records - one.individuals for one in classes)
        people = min((one.individuals for one in classes), default=None)
        records = min((one.records for one in classes), default=None)
        most = floor(Fraction(str(self._allowed.share)) * certificate.released + _ROUNDING)
        wrong = (told.counterfeits, told.people, told.records) != (made, people, records) or made > most
        wrong |= any(one.records > one.individuals >= self._k for one in classes)
        several = certificate.terms.max_records_per_individual != 1
        return wrong or (several and certificate.individual.field != EVERY_RECORD)
