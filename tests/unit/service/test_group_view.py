"""What a worker tells of its group: how many partitions the input has, and that somebody else is a member."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stream_anon.service.events import GroupPacked, GroupSeen, WindowProgress
from tests.support.driver import Driver
from tests.support.memory import INPUT


async def test_what_was_seen_of_the_group_is_told_once_until_it_changes() -> None:
    async with Driver() as driver:
        await driver.advance(5)
        assert driver.told(GroupSeen) == [GroupSeen({INPUT: 2}, shared=False)]
        driver.broker.shared = True
        await driver.advance(5)
        driver.broker.input.append([])  # a partition is added
        await driver.advance(5)
        driver.broker.shared = False
        await driver.advance(5)
        assert driver.told(GroupSeen)[1:] == [
            GroupSeen({INPUT: 2}, shared=True),
            GroupSeen({INPUT: 3}, shared=True),
            GroupSeen({INPUT: 3}, shared=False),
        ]


async def test_who_has_partitions_is_told_once_until_it_changes_and_the_busy_share_with_all_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Driver() as driver:
        seen = replace(driver.source.view(), members=3, carriers=1, busy=0.25)
        monkeypatch.setattr(driver.source, "view", lambda: seen)
        await driver.advance(5)
        seen = replace(seen, carriers=2, busy=0.5)
        await driver.advance(5)
        assert driver.told(GroupPacked) == [GroupPacked(3, 1), GroupPacked(3, 2)]
        assert driver.told(WindowProgress)[-1].busy == 0.5
