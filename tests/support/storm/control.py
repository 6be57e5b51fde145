"""Zombies alone, with and without a fence: a storm that overlooked a missing fence would prove nothing."""

from __future__ import annotations

import asyncio

import numpy as np

from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.service import Stage, make_records, produce
from tests.support.storm.team import SESSION, Team
from tests.support.storm.verdict import judge, read_topics

FENCED, UNFENCED = "stream_anon.cli.main", "tests.support.storm.unfenced"
MOST_ZOMBIES = 6
_STOPS_WITHIN = 120.0


async def wake_zombies(stage: Stage, module: str, most: int) -> tuple[int, int]:
    """Stop workers that hold a window until another one has published it, and wake them.

    Returns how many it took until records were published twice, `most` if they never were, and how many those are.
    """
    team = Team(stage, [], np.random.default_rng(0), module)
    config = stage.config()
    policy = build_policy(load_settings(config), config)
    sent = zombies = duplicated = 0
    try:
        team.join()
        while zombies < most and not duplicated:
            zombie = team.join(fault="closing.4:stop@1")
            async with asyncio.timeout(_STOPS_WITHIN):
                while not zombie.stopped:
                    assert zombie.alive, "the worker ended before it could be stopped"
                    await produce(stage, make_records(200, sent, first=sent), seed=sent)
                    sent += 200
            await asyncio.sleep(SESSION + 4)  # the other one takes over
            team.wake(zombie)
            zombies += 1
            await asyncio.sleep(3)
            await team.end(zombie)
            duplicated = judge(await read_topics(stage), [0] * sent, set(), policy).duplicated
    finally:
        team.kill_all()
    return zombies, duplicated
