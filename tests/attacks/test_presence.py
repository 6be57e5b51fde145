"""Presence: somebody knows a whole population and wants to know who of it is in the data at all."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from tests.attacks.conftest import Measured
from tests.attacks.town import ENGINES, Person, Service, share, town_policy, townspeople
from tests.support.populations import bounded, fits, population

MOST = 0.3
TOWN, WINDOW = 5_000, 1_000


def _codes(policy: Policy, people: Sequence[Person]) -> list[tuple[int, ...]]:
    return [tuple(a.code(person[a.name]) for a in policy.quasi_identifiers) for person in people]


def _guesses(policy: Policy, release: Release, codes: Sequence[Sequence[int]]) -> list[tuple[float, list[int]]]:
    """Return for each published class which people of the town fit it, and how sure a guess of one in it is."""
    known: dict[str, set[int]] = {}
    found = []
    tuples = zip(*release.classes.values, strict=True)
    for size, values in zip(release.classes.individuals.tolist(), tuples, strict=True):
        fitting = set(range(len(codes)))
        for place, (attribute, value) in enumerate(zip(policy.quasi_identifiers, values, strict=True)):
            key = f"{place} {value}"
            if key not in known:
                inside = {code for code in {own[place] for own in codes} if fits(attribute, value, code)}
                known[key] = {who for who, own in enumerate(codes) if own[place] in inside}
            fitting &= known[key]
        found.append((size / len(fitting), sorted(fitting)))
    return found


def test_who_knows_the_town_is_sure_of_nobodys_presence_in_a_class_beyond_the_bound(measured: Measured) -> None:
    """Promised: of those who fit a class at most the share `most` is in it. The attacker names all who fit."""
    town = townspeople(TOWN)
    for engine in ENGINES:
        bare = town_policy(engine=engine)
        codes = _codes(bare, town)
        policy = town_policy(engine=engine, **bounded(MOST, population(codes)))
        lines = []
        for own in (bare, policy):
            release = Service(own).release(town[:WINDOW])
            assert release.released
            guesses = _guesses(own, release, codes)
            surest = max(guess for guess, _ in guesses)
            # What is not promised: who fits a class may be in another one whose tuple overlaps it.
            released = set(release.order.tolist())
            inside = [sum(who in released for who in fitting) / len(fitting) for _, fitting in guesses]
            lines.append(f"{surest:.2f} of those who fit a class were in it, {max(inside):.2f} in any class")
            lines[-1] += f" (GCP {release.gcp:.2f}, {share(release.released, WINDOW)} released)"
            if own is policy:
                sizes = release.classes.individuals.tolist()
                assert all(
                    Fraction(size, len(fitting)) <= Fraction(str(MOST))
                    for size, (_, fitting) in zip(sizes, guesses, strict=True)
                )
        measured(f"{engine}, without: at most {lines[0]}; with {MOST:g}: {lines[1]}")


def test_a_file_that_lacks_half_of_the_town_lets_no_more_be_published() -> None:
    """Whoever is missing in it does not count: it errs on the safe side."""
    town = townspeople(TOWN)
    bare = town_policy()
    half = town_policy(**bounded(MOST, population(_codes(bare, town[: TOWN // 2]))))
    release = Service(half).release(town[:WINDOW])
    assert release.released
    assert all(guess <= MOST for guess, _ in _guesses(half, release, _codes(bare, town)))
