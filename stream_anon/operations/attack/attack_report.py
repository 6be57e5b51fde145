"""What attacks found, in rows and as a document. Nothing of it names a person or a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.rounding import in_percent

SCHEMA = 1
ANSWERS = {
    "found-again": "a field that is published unchanged tells people apart: make it a quasi-identifier, or leave "
    "it out; if people have several records, set privacy.individual. Whatever is then generalized loses "
    "information.",
    "singling-out": "leave out fields that are published unchanged and have rare values, or give them a hierarchy; "
    "or raise privacy.k, at which all quasi-identifiers lose information.",
    "linkability": "raise privacy.k, or publish a field coarser (levels, extra_levels). Both lose information.",
    "inference": "privacy.sensitive.{secret}: families, or t_closeness. This loses information, because it hides "
    "exactly what depends on the quasi-identifiers.",
    "skewness": "privacy.sensitive.{secret}: t_closeness, beta_likeness or alpha. The more {secret} depends on the "
    "quasi-identifiers, the more information is lost.",
    "homogeneity": "privacy.sensitive.{secret}: distinct_l, alpha or families. This loses little if there are many "
    "values.",
    "intersection": "privacy.sensitive.{secret}: families, which hold over any number of windows; or "
    "privacy.returning, which bounds how often somebody is released. A family says less than its values do.",
    "refinement": "publish {secret} as nodes, not as tight ranges, ranges of an order or sets of values; if it is "
    "published as nodes already, fix its level or use privacy.extra_levels. {secret} then loses information.",
    "replay": "leave engine.seed out, and let an engine that draws form the classes (forest, k-forest). Or raise "
    "privacy.k: larger classes leave more values of {secret}, which loses information.",
    "planted": "no setting of a policy helps: k counts people by their ids, and whoever may write to the input can "
    "make ids up. Let the brokers' ACLs say who may, and check ids beforehand.",
    "membership": "release a sample, raise privacy.k, or set a bound by privacy.presence. Each loses information.",
}
"""What lowers the risk of each attack, and what that costs."""
HEADINGS = ("attack", "success", "chance", "control", "risk", "95 %", "surest", "seconds")


@dataclass(frozen=True, slots=True)
class TimedFinding:
    """What an attack found, and how many seconds it took."""

    found: AttackResult
    seconds: float

    @property
    def name(self) -> str:
        """Return the attack, and what it guesses."""
        between = "by" if self.found.attack == "found-again" else "of"
        return self.found.attack + (f" {between} {self.found.secret}" if self.found.secret else "")

    @property
    def accepted(self) -> bool:
        """Return whether somebody is found by values of which the policy says that nobody knows them."""
        return self.found.attack == "found-again" and bool(self.found.secret)

    @property
    def answer(self) -> str:
        """Return what lowers its risk."""
        return ANSWERS[self.found.attack].format(secret=self.found.secret)

    def document(self) -> dict[str, Any]:
        """Return it as an object that JSON can hold."""
        found, control = self.found, self.found.controlled
        return {
            "attack": found.attack,
            "secret": found.secret or None,
            "attempts": found.attempts,
            "success": asdict(found.success),
            "chance": found.chance,
            "control": None if control is None else asdict(control),
            "risk": asdict(found.risk),
            "surest": found.surest,
            "seconds": self.seconds,
            "answer": self.answer,
        }

    def cells(self) -> list[str]:
        """Return a row of a table, without the name."""
        found, control = self.found, self.found.controlled
        return [
            _percent(found.success.value),
            _percent(found.chance),
            _percent(None if control is None else control.value),
            _percent(found.risk.value),
            f"{_percent(found.risk.low)} to {_percent(found.risk.high)}",
            _percent(found.surest),
            f"{self.seconds:.1f}",
        ]


@dataclass(frozen=True, slots=True)
class AttackReport:
    """What all attacks found.

    Parameters
    ----------
    source
        The release.
    released
        Its records.
    people, controls
        Of those in the release, and of those who are not.
    loss
        What the release loses, from 0 to 1; see `Released`.
    """

    source: str
    released: int
    people: int
    controls: int
    loss: float | None
    seed: int
    fail_above: float | None
    findings: tuple[TimedFinding, ...]

    @property
    def too_high(self) -> tuple[TimedFinding, ...]:
        """Return the attacks whose risk is above what is asked; none where nothing is asked."""
        bound = self.fail_above
        return () if bound is None else tuple(one for one in self.findings if one.found.risk.value > bound)

    @property
    def proven(self) -> tuple[TimedFinding, ...]:
        """Return the attacks whose risk is above 0 beyond chance."""
        return tuple(one for one in self.findings if one.found.risk.low > 0)

    def document(self) -> dict[str, Any]:
        """Return the report as an object that JSON can hold; schemas/attack.schema.json describes it."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "released": self.released,
            "people": self.people,
            "controls": self.controls,
            "loss": self.loss,
            "seed": self.seed,
            "fail_above": self.fail_above,
            "attacks": [one.document() for one in self.findings],
        }

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each attack, and its cells."""
        for one in self.findings:
            yield one.name, one.cells()

    def remarks(self) -> Iterator[str]:
        """Yield what lowers each risk that is above 0 beyond chance, and which are above the bound."""
        for one in self.proven:
            yield f"{one.name}: {one.answer}"
        for one in self.too_high:
            yield f"{one.name}: its risk is above {_percent(self.fail_above)}"


def _percent(share: float | None) -> str:
    return "-" if share is None else in_percent(share)
