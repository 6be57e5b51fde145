"""What a series remembers: for each person, under a pseudonym, the values that they were published among."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.returning import ReturnsKey
from stream_anon.errors import InputError, Refused
from stream_anon.microdata.domains.domain import Scalar
from stream_anon.microdata.policy import Policy
from stream_anon.recoding.invariance.buckets import Signature

Index = Annotated[int, msgspec.Meta(ge=0)]
Pseudonym = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


class SeriesKey(ReturnsKey):
    """A secret that people's pseudonyms in a series follow from."""

    __slots__ = ()
    use, setting, person = "a series", "--series", b"series"


def pseudonyms(key: SeriesKey, people: NDArray[np.int64]) -> list[str]:
    """Return the pseudonym of each person, given by keys int64[n] under `key.of_ids`: 16 hexadecimal digits."""
    return [f"{number:016x}" for number in key.pseudonyms(people).view(np.uint64).tolist()]


class SeriesTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be the same in all releases of a series.

    `key` is the name of the key, from which it does not follow. Fields stand by the keys from a record's top.
    """

    attribute: str
    path: list[str]
    type: str
    individual: list[str]
    normalize: list[str]
    least: int
    key: str

    @classmethod
    def of(cls, policy: Policy, least: int, key: SeriesKey) -> SeriesTerms:
        """Return the terms of a policy that suits a series."""
        target = policy.passed[0]
        individual = policy.attribute(policy.individual)
        steps = [str(step) for step in policy.normalize]
        return cls(
            target.name,
            list(target.path),
            target.declared_type,
            list(individual.path),
            steps,
            least,
            key.name.hex(),
        )


class SeriesState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of a series.

    Parameters
    ----------
    schema
        The version of this format.
    releases
        How many there were.
    terms
        See `SeriesTerms`.
    values
        The sensitive values that signatures are made of.
    signatures
        Places of values, ascending, each signature once.
    people
        By pseudonym the place of a signature; nobody is ever taken out.
    """

    schema: Literal[1]
    releases: Index
    terms: SeriesTerms
    values: list[Scalar]
    signatures: list[list[Index]]
    people: dict[Pseudonym, Index]

    @classmethod
    def first(cls, terms: SeriesTerms) -> SeriesState:
        """Return the state before the first release."""
        return cls(1, 0, terms, [], [], {})

    @classmethod
    def read(cls, content: bytes) -> SeriesState:
        """Return the state that a file holds; InputError, which holds nothing of it, if it holds none."""
        try:
            state = msgspec.json.decode(content, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise InputError("the state of the series is damaged, or of another version") from None
        values, signatures = len(state.values), len(state.signatures)
        sound = len(set(state.values)) == values and len(set(map(tuple, state.signatures))) == signatures
        for own in state.signatures:
            ascending = own == sorted(set(own)) and own[-1:] < [values]
            sound &= ascending and len(own) >= state.terms.least
        if not sound or any(place >= signatures for place in state.people.values()):
            raise InputError("the state of the series is damaged: its parts do not fit together")
        return state

    def refuse_others(self, terms: SeriesTerms) -> None:
        """Raise Refused if a release has other terms than the series began with."""
        for name in SeriesTerms.__struct_fields__:
            if getattr(self.terms, name) != getattr(terms, name):
                what = {"least": "distinct_l", "key": "its key file"}.get(name, name)
                raise Refused(
                    f"the series was begun with another {what}: set it back, or begin a series in another folder"
                )

    def signatures_of(self, people: Sequence[str]) -> list[Signature | None]:
        """Return the signature of each pseudonym; None for who was never published."""
        known = [tuple(own) for own in self.signatures]
        places = map(self.people.get, people)
        return [None if place is None else known[place] for place in places]

    def after(
        self, values: Sequence[Scalar], released: Sequence[str], signatures: Sequence[Signature]
    ) -> SeriesState:
        """Return the state after a release.

        Parameters
        ----------
        values
            By their numbers: those of before, then new ones. Those of no signature are not remembered.
        released, signatures
            Who was published, and among which values.
        """
        places = {tuple(own): place for place, own in enumerate(self.signatures)}
        people = dict(self.people)
        for pseudonym, signature in zip(released, signatures, strict=True):
            people.setdefault(pseudonym, places.setdefault(signature, len(places)))
        used = sorted({number for signature in places for number in signature})
        renumbered = {number: place for place, number in enumerate(used)}
        every = [[renumbered[number] for number in signature] for signature in places]
        return SeriesState(1, self.releases + 1, self.terms, [values[number] for number in used], every, people)
