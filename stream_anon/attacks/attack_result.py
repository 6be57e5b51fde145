"""What an attack found."""

from __future__ import annotations

from dataclasses import dataclass

from stream_anon.attacks.success import Share, risk_beyond, success


@dataclass(frozen=True, slots=True)
class AttackResult:
    """How often one attack succeeds.

    Parameters
    ----------
    attack
        Its name.
    attempts, successes
        On people who are in the release.
    secret
        The attribute that is guessed, or the weighed ones that somebody is found by; empty where there is none.
    chance
        The share of successes of somebody who has not seen the release; None where that is not defined.
    control
        Attempts and successes on people who are not in it; None where there are none by definition.
    surest
        The highest chance that one attempt had; None where an attempt is right or wrong.
    """

    attack: str
    attempts: int
    successes: float
    secret: str = ""
    chance: float | None = None
    control: tuple[int, float] | None = None
    surest: float | None = None

    @property
    def success(self) -> Share:
        """Return the share of successes."""
        return success(self.successes, self.attempts)

    @property
    def controlled(self) -> Share | None:
        """Return the same of people who are not in the release."""
        return None if self.control is None else success(self.control[1], self.control[0])

    @property
    def risk(self) -> Share:
        """Return what of it is due to the release."""
        control = self.controlled
        return self.success if control is None else risk_beyond(self.success, control)
