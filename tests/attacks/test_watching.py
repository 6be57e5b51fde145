"""Planted tuples, watched through status and metrics: does a page show whether others share the tuple?"""

from __future__ import annotations

import json
from typing import Any

from tests.attacks.conftest import Measured
from tests.attacks.outside import Watcher
from tests.attacks.town import Person, Service, share, town_policy, townspeople
from tests.support.driver import Driver


def _record(person: int | str, age: int, city: str, **more: Any) -> bytes:
    return json.dumps({"person": person, "age": age, "city": city, "serial": 0, **more}).encode()


PLANTED = [_record(f"planted {i}", 30, "Calw") for i in range(2)]
COMPANY = [_record("victim", 30, "Calw")]
NO_COMPANY = [_record("victim", 99, "Aachen")]
OTHERS = [_record(i, 60 + i, "Bonn") for i in range(6)]
LONG = [_record("victim", 99, "Aachen", note="a long story", name="Maximiliana von und zu Hohenstein")]


PLAIN = _record("victim", 30, "Calw")
# The victim's record, as it may come.
TELLING = {
    "a number that is a text": _record("victim", "30", "Calw"),  # type: ignore[arg-type]
    "a name twice, which only the slow reader reads": PLAIN.replace(b'"age": 30', b'"age": 30, "age": 30'),
    "an age out of range": _record("victim", 300, "Calw"),
    "no JSON": PLAIN[:-1],
}


async def _pages(records: list[bytes], **sections: Any) -> list[tuple[str, str]]:
    """Return what is seen after each arrival while the window is open: status and metrics."""
    async with Driver(**sections) as driver:
        watcher = Watcher(driver)
        pages = [watcher.look()]
        for record in records:
            driver.send([record])
            await driver.advance(0.5)
            pages.append(watcher.look())
        assert not driver.broker.records, "the window is still open"
        return pages


async def test_an_open_window_does_not_tell_whether_a_planted_record_found_company() -> None:
    """Promised: an open window shows its count and its age, nothing else.

    So whatever a victim's record looks like, status and metrics are the same to the byte until the window closes:
    its loss, its classes, but also the length of its JSON would tell the planter something.
    """
    seen = [await _pages([*PLANTED, *OTHERS, *victim]) for victim in (COMPANY, NO_COMPANY, LONG)]
    assert seen[0] == seen[1], "found company or not"
    assert seen[1] == seen[2], "short or long"


async def test_an_open_window_does_not_tell_how_a_waiting_record_was_read(measured: Measured) -> None:
    """Promised: whether a record was coerced, read slowly or rejected shows when its window is published."""
    coercing = {
        "attributes": {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}, "coerce": True}}
    }
    expected = await _pages([PLAIN], **coercing)
    told = [name for name, record in TELLING.items() if await _pages([record], **coercing) != expected]
    measured(
        f"one record waits: of {len(TELLING)} ways in which it may differ, status and metrics tell {len(told)}"
    )
    assert not told


async def test_a_flood_under_the_victims_id_does_not_tell_live_whether_the_victim_came() -> None:
    """Promised: an open window counts what it read, records over an individual's limit too.

    Who may write to the input under the victim's id up to the limit sees the window grow whoever comes next.
    """
    limit = {"max_records_per_individual": 3}
    flood = [_record("victim", 30, "Calw")] * 3
    seen = [await _pages([*flood, _record(who, 50, "Bonn")], window=limit) for who in ("victim", "somebody else")]
    assert seen[0] == seen[1]


async def test_who_fills_all_but_the_last_place_of_a_window_sees_whether_the_next_record_takes_it(
    measured: Measured,
) -> None:
    """Not promised: a window is published when it is full, and a rejected record takes no room in it."""
    published = []
    for record in (PLAIN, TELLING["an age out of range"]):
        async with Driver() as driver:
            driver.send([_record(i, 30, "Calw") for i in range(19)])
            await driver.advance(0.5)
            driver.send([record])
            await driver.advance(0.5)
            published.append(bool(driver.broker.records))
    assert published == [True, False]
    measured("all but one place of a window planted: it is published when a record comes that fits the policy")


def _loss(records: list[Person], k: int) -> float:
    """Return the information loss as the status page rounds it."""
    release = Service(town_policy(k)).release(records)
    return round(float(release.gcp or 0.0), 4)


def test_a_closed_window_tells_whether_planted_records_found_the_victim(measured: Measured) -> None:
    """Not promised: k-anonymity hides which record is somebody's, not whether somebody was there.

    The attacker plants k - 1 records with the victim's quasi-identifiers, knows everybody else's, computes the loss
    with the victim and with one more stranger instead, and reads the true one on the status page.
    """
    k, trials, right = 5, 60, 0
    for seed in range(trials):
        people = townspeople(52, seed)
        victim, stranger, others = people[0], people[1], people[2:]
        planted = [{**victim, "person": f"planted {i}"} for i in range(k - 1)]
        right += _loss([*planted, *others, victim], k) != _loss([*planted, *others, stranger], k)
    measured(
        f"k = {k}, windows of 55, {k - 1} planted records: the loss on the status page tells in "
        f"{share(right, trials)} of the windows whether the victim was in it"
    )
