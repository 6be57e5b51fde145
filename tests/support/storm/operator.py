"""What an operator does to a service, by mistake or on purpose, and what the runbooks say to do about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiokafka.client import AIOKafkaClient

from stream_anon.adapters.kafka.protocol.topic_ids import topic_ids
from stream_anon.errors import BrokerError, Refused
from stream_anon.operations.ledger.forgetting import forget_shown, look
from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.plain_kafka import delete_topic
from tests.support.service import PARTITIONS, K, Stage
from tests.support.storm.crowd import Crowd
from tests.support.storm.input import read_input
from tests.support.storm.offsets import delete_offsets, ledger_of, set_offsets
from tests.support.storm.team import Team
from tests.support.storm.verdict import Life

STRONGER = 8
_STOPS_WITHIN = 60.0
_FORGETS_WITHIN = 60.0
_WHOLE_WITHIN = 90.0


@dataclass
class Operator:
    """Somebody with all rights over the topics and the group.

    Parameters
    ----------
    workers
        How many are started after all were stopped.
    heal
        Waits until nothing is broken any more.
    """

    stage: Stage
    team: Team
    crowd: Crowd
    draws: np.random.Generator
    workers: int
    heal: Callable[[], Awaitable[None]]
    lives: list[Life] = field(default_factory=list)
    asked: dict[int, int] = field(default_factory=lambda: {0: K})

    def faults(self) -> Mapping[str, Callable[[], Awaitable[bool]]]:
        """Return what may happen, by name; each returns whether it did."""
        return {
            "offsets-deleted": self._delete_offsets,
            "offsets-rewound": self._rewind_offsets,
            "two-groups": self._let_two_groups_work,
            "ledger-deleted": self._delete_ledger,
            "input-recreated": self._recreate_input,
            "policy-changed": self._change_policy,
        }

    @property
    def _other(self) -> str:
        return f"{self.stage.name}.other"

    async def until_the_ledger_is_whole(self) -> None:
        """Wait until nothing is broken and the ledger names a released record of every partition.

        A ledger that was deleted, and one of a topic that began anew, learns them with the next windows. Till then
        offsets are all there is: who takes these or the topic as well has taken what is needed to go on.
        """
        await self.heal()
        deadline = time.monotonic() + _WHOLE_WITHIN
        while sum(offset > 0 for offset in (await ledger_of(self.stage)).values()) < PARTITIONS:
            if time.monotonic() > deadline:
                self.team.failures.append(f"a ledger without windows of all partitions after {_WHOLE_WITHIN:g} s")
                break
            while len(self.team.present()) < 2:
                self.team.join()
            await asyncio.sleep(1)

    async def bring_to_rest(self) -> None:
        """Wait until nothing is broken, and end all workers."""
        await self.heal()
        await self.team.rest()

    async def put_right(self) -> None:
        """Set the group's offsets to the ledger's entries."""
        entries = await ledger_of(self.stage)
        if entries:
            await set_offsets(self.stage, entries)

    def _start_anew(self) -> None:
        for _ in range(self.workers):
            self.team.join()

    def _some(self, low: float, high: float) -> float:
        return float(self.draws.uniform(low, high))

    # -- offsets -------------------------------------------------------------------------------------------------

    async def _rest_with_ledger(self) -> None:
        await self.until_the_ledger_is_whole()
        await self.bring_to_rest()

    async def _delete_offsets(self) -> bool:
        await self._rest_with_ledger()
        await delete_offsets(self.stage)
        self._start_anew()
        return True

    async def _rewind_offsets(self) -> bool:
        """Set one partition back: it must not be read until it is put right."""
        await self._rest_with_ledger()
        entries = {partition: offset for partition, offset in (await ledger_of(self.stage)).items() if offset}
        if not entries:
            self._start_anew()
            return False
        partition = int(self.draws.choice(sorted(entries)))
        entries[partition] -= int(self.draws.integers(1, min(entries[partition], 400) + 1))
        await set_offsets(self.stage, entries)
        member = self.team.join()
        try:
            line = await member.process.wait_for("partition-stopped", within=_STOPS_WITHIN)
            if (line["partition"], line["reason"]) != (partition, "rewound"):
                self.team.failures.append("another partition than the one that was set back has stopped")
        except AssertionError:
            self.team.failures.append("a partition that was set back did not stop")
        await asyncio.sleep(self._some(0.5, 2))
        await self.team.rest()
        await self.put_right()
        self._start_anew()
        return True

    async def _let_two_groups_work(self) -> bool:
        """Let a second group write to the same output for a while, then leave it to the first."""
        await self.until_the_ledger_is_whole()
        others = [self.team.join(group=self._other) for _ in range(2)]
        for member in others:
            member.busy = True
        await asyncio.sleep(self._some(8, 14))
        for member in others:
            member.busy = False
        await self._rest_with_ledger()
        await self.put_right()
        # The second group's offsets are behind now: its next turn finds its partitions stopped or overtaken.
        self._start_anew()
        return True

    # -- topics --------------------------------------------------------------------------------------------------

    async def _delete_ledger(self) -> bool:
        """Delete the ledger while workers run: they create it again."""
        await self.until_the_ledger_is_whole()
        await self.team.have_joined()
        await delete_topic(self.stage.kafka.address, f"{self.stage.output}.ledger")
        return True

    async def _recreate_input(self) -> bool:
        """Delete the input while workers run, create it again, and let its partitions begin again by command."""
        await self.until_the_ledger_is_whole()
        await self.team.have_joined()
        await self.crowd.hold()
        try:
            given = await read_input(self.stage.kafka.address, self.stage.name)
            life = Life(await self._id_of(self.stage.name), given.records)
            await delete_topic(self.stage.kafka.address, self.stage.name)
            await self.stage.kafka.create_topic(self.stage.name, PARTITIONS)
            self.lives.append(life)
        finally:
            self.crowd.go_on()
        await self._until_one_stops("recreated")
        await self.bring_to_rest()
        await delete_offsets(self.stage, self._other)  # they count records of the old topic
        await self._forget_recreated()
        life.ended = time.time()
        self._start_anew()
        return True

    async def _until_one_stops(self, reason: str) -> None:
        """Wait until a worker, no matter which, stops a partition for a reason."""
        deadline = time.monotonic() + _STOPS_WITHIN
        while time.monotonic() < deadline:
            if not self.team.present():
                self.team.join()
            lines = [line for member in self.team.members for line in member.process.lines]
            if any((line.get("event"), line.get("reason")) == ("partition-stopped", reason) for line in lines):
                return
            await asyncio.sleep(0.2)
        self.team.failures.append(f"no partition stopped as {reason}")

    async def _forget_recreated(self) -> None:
        """Do as the runbook says, as soon as the group's last member is gone."""
        config, deadline = self.team.config(), time.monotonic() + _FORGETS_WITHIN
        while True:
            try:
                shown = await asyncio.to_thread(look, config, [], recreated=True)
                await asyncio.to_thread(forget_shown, config, [], shown)
            except (Refused, BrokerError) as error:
                if time.monotonic() > deadline:
                    self.team.failures.append(f"forget --recreated: {error}")
                    return
                await asyncio.sleep(0.5)
            else:
                return

    async def _id_of(self, topic: str) -> str:
        client = AIOKafkaClient(bootstrap_servers=self.stage.kafka.address)
        try:
            await client.bootstrap()
            return (await topic_ids(client, [topic])).ids[topic]
        finally:
            await client.close()

    # -- the policy ----------------------------------------------------------------------------------------------

    async def _change_policy(self) -> bool:
        """Give new workers a stronger policy, or an accepted weaker one, under a higher revision."""
        revision = self.team.revision + 1
        k = STRONGER if self.asked[self.team.revision] == K else K
        privacy: dict[str, Any] = {"k": k, "revision": revision}
        config = self.stage.config(privacy=privacy)
        digest = build_policy(load_settings(config), config).digest
        self.team.privacy = privacy | {"accept_weaker": digest}
        self.asked[revision] = k
        return True
