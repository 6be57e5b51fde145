"""A policy that is weakened under running certificates: everybody becomes several people, and k is met."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release
from stream_anon.operations.starting.rollout import before_of, refuse_weaker
from stream_anon.privacy.certifying import CertificateFrame, certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.attacks.conftest import Measured
from tests.attacks.town import Person, Service, classes_of, share, town_policy, townspeople

K = 10
COMES = 12  # how often everybody comes to a window


def _policy(individual: str, read_from: str, digest: str, revision: int) -> Policy:
    plain = town_policy(K, max_records=2000)
    who = Identifier(individual, keys=(read_from,) if read_from != individual else ())
    named = {"individual": individual, "digest": f"sha256:{digest * 64}", "revision": revision}
    return replace(plain, attributes=(who, *plain.attributes[1:]), **named)


def _published(policy: Policy, release: Release) -> list[bytes]:
    """Return what the topic of certificates holds after a window: the policy document and the certificate."""
    document = PolicyDocument.of(policy)
    times = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z")
    frame = CertificateFrame("ab", *times, (), "exactly-once", "stream-anon", promises=document.promises)
    return [*document.parts(), *certificate_parts(release, policy, frame)]


def _events(count: int, seed: int) -> list[Person]:
    people = [person for person in townspeople(count, seed) for _ in range(COMES)]
    return [{**person, "event": f"{seed}-{number}"} for number, person in enumerate(people)]


@pytest.mark.parametrize("individual", ["person", "event"])
def test_ids_that_are_read_from_the_event_do_not_follow_ids_of_people_unseen(
    individual: str, measured: Measured
) -> None:
    """Promised: who counts as an individual does not change unless the holder of the data accepts it.

    The service has published under `individual: person`. Then the same setting is read from the event's own id,
    which every record has anew (or the setting names that id, which is seen from the name alone).

    Measured: how many of the classes under the second policy are of one person, while their certificate says 10.
    """
    people = _policy("person", "person", "1", revision=1)
    events = _policy(individual, "event", "2", revision=2)
    before = before_of(_published(people, Service(people).release(_events(100, seed=1))))
    window = _events(100, seed=2)
    release = Service(events).release(window)
    certificate: dict[str, Any] = msgspec.json.decode(_published(events, release)[-1])
    owners = [len({window[row]["person"] for row in rows}) for rows in classes_of(release)]
    assert certificate["achieved"]["k"] >= K
    assert min(owners) == 1
    if individual == "person":
        alone = share(sum(one == 1 for one in owners), len(owners))
        measured(
            f"k = {K}, everybody comes {COMES} times, ids read from the event: {alone} of the classes are of one "
            f"person alone, and the certificate says {certificate['achieved']['k']} individuals or more of each"
        )
    with pytest.raises(SettingsError, match=r"privacy\.individual was person and would be"):
        refuse_weaker(events, "", before, ledger=True)
    assert certificate["individual"] == {"field": individual, "path": ["event"]}
