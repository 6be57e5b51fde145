"""What a series remembers: for each person, under a pseudonym, the values that they were published among."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec.structs import replace
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

    `key` is the name of the key, from which it does not follow. `individual` and `path`, the sensitive attribute's,
    are keys from a record's top; the first series did not note `path`.
    """

    attribute: str
    type: str
    individual: list[str]
    normalize: list[str]
    least: int
    key: str
    path: list[str] = []

    @classmethod
    def of(cls, policy: Policy, least: int, key: SeriesKey) -> SeriesTerms:
        """Return the terms of a policy that suits a series."""
        target = policy.passed[0]
        individual = policy.attribute(policy.individual)
        steps = [str(step) for step in policy.normalize]
        keys = list(individual.path), list(target.path)
        return cls(target.name, target.declared_type, keys[0], steps, least, key.name.hex(), keys[1])


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
    waiting
        Pseudonyms of people who came, but were not published yet. All of them get one signature, that of the first
        new people who are.
    """

    schema: Literal[1]
    releases: Index
    terms: SeriesTerms
    values: list[Scalar]
    signatures: list[list[Index]]
    people: dict[Pseudonym, Index]
    waiting: list[Pseudonym] = []

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

    def going_on(self, terms: SeriesTerms) -> SeriesState:
        """Return the state for a release; Refused if that has other terms than the series began with."""
        before = self.terms if self.terms.path else replace(self.terms, path=terms.path)
        for name in SeriesTerms.__struct_fields__:
            if getattr(before, name) != getattr(terms, name):
                named = {"least": "distinct_l", "key": "key file", "path": f"path of {terms.attribute}"}
                what = named.get(name, name)
                raise Refused(f"the series was begun with another {what}: set it back")
        return replace(self, terms=terms)

    def signatures_of(self, people: Sequence[str]) -> list[Signature | None]:
        """Return the signature of each pseudonym; None for who was never published."""
        known = [tuple(own) for own in self.signatures]
        places = map(self.people.get, people)
        return [None if place is None else known[place] for place in places]

    def after(
        self,
        values: Sequence[Scalar],
        released: Sequence[str],
        signatures: Sequence[Signature],
        left_out: Sequence[str] = (),
    ) -> SeriesState:
        """Return the state after a release.

        Parameters
        ----------
        values
            By their numbers: those of before, then new ones. Those of no signature are not remembered.
        released, signatures
            Who was published, and among which values.
        left_out
            Who is new and was not.
        """
        places = {tuple(own): place for place, own in enumerate(self.signatures)}
        people, waiting = dict(self.people), [*self.waiting, *left_out]
        fresh = [own for pseudonym, own in zip(released, signatures, strict=True) if pseudonym not in people]
        if self.waiting and fresh:
            released, signatures = [*released, *waiting], [*signatures, *[fresh[0]] * len(waiting)]
        for pseudonym, signature in zip(released, signatures, strict=True):
            people.setdefault(pseudonym, places.setdefault(signature, len(places)))
        used = sorted({number for signature in places for number in signature})
        renumbered = {number: place for place, number in enumerate(used)}
        every = [[renumbered[number] for number in signature] for signature in places]
        waiting = sorted(set(waiting).difference(people))
        shown = [values[number] for number in used]
        return SeriesState(1, self.releases + 1, self.terms, shown, every, people, waiting)
