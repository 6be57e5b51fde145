"""One thing that may still happen to people when everything holds that is promised."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResidualRisk:
    """Something that may still happen to people.

    Parameters
    ----------
    name
        Of it, for programs.
    text
        What may happen.
    answer
        What lowers it, and what that costs or needs; empty where nothing in the settings does.
    """

    name: str
    text: str
    answer: str = ""
