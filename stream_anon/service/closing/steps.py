"""Close a window: ten numbered steps, and what happens where they break.

::

    1 partition  2 gate  3 encode │ 4 begin  5 send  6 settle  7 add offsets  8 fence  9 commit │ 10 forget
    ───── no one has seen it ─────┤ ─────────────── a transaction that may break ───────────────┤ ── done ──

A break between 4 and 9 leaves the outcome unknown. The producer is thrown away, and a new one with the same
transactional id settles what was open. Then the ledger and the stable offsets decide: with an entry of this window,
it had been committed; with offsets at its start, the same bytes go out again; anything else, takeover. Bytes that
the output has refused twice are not sent again: a takeover asks what the topics take and reads their records again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from stream_anon.errors import BatchRefused, BrokerError, Overtaken, OwnershipLost, Recreated, TopicError
from stream_anon.ports import Clock, Membership, Place, ReleaseLedger, Sink
from stream_anon.service.closing.publication import Publication, Writer
from stream_anon.service.closing.values import TOO_LARGE, ClosedWindow, Closing, Ending, Prepared, WindowCloser
from stream_anon.service.events import Away, Durations, Listener, Outcome, TransactionBroken, TransactionEnded
from stream_anon.service.fault_points import At
from stream_anon.service.retrying import Pauses, Reachability, describe
from stream_anon.service.starting.first_window import FirstWindow
from stream_anon.service.takeover.ledger_keeping import LedgerKeeper


@dataclass(frozen=True, kw_only=True)
class ClosingSteps:
    """Closes windows, one at a time.

    Parameters
    ----------
    current
        Returns the group's present membership: a window of an older one need not be sent again.
    keeper
        Opens the ledger, and makes it anew where it was deleted.
    first_window
        Withholds a window where a declared field has not come yet.
    """

    closer: WindowCloser
    writer: Writer
    sink: Sink
    ledger: ReleaseLedger
    clock: Clock
    tell: Listener
    at: At
    reachability: Reachability
    current: Callable[[], Membership | None]
    keeper: LedgerKeeper
    first_window: FirstWindow

    async def prepare(
        self, closing: Closing, before: asyncio.Task[Prepared] | None, previous: Callable[[], str | None]
    ) -> Prepared:
        """Do steps 1 to 3 of a window, perhaps while the one before is in its transaction.

        Parameters
        ----------
        before
            These steps of the window before: the closer takes one window at a time.
        previous
            Returns the digest of the certificate before.

        Raises
        ------
        Refused
            If a declared field has come in no record yet: the worker ends, and nothing is published.
        """
        if before is not None:
            await asyncio.wait([before])
        shuffle = np.random.default_rng(secrets.randbits(256))
        # 1. Partition, in a thread without the interpreter's lock, while the next window fills.
        # 2. The gate recounts every class; what fails is suppressed. A record that the output would not take is a
        #    dead letter, and the gate recounts the rest of its class.
        await self.at("closing.1")
        begun = self.clock.monotonic()
        too_large = partial(self.writer.too_large, targets=closing.targets)
        release = await asyncio.to_thread(self.closer.release, closing.window, shuffle, too_large)
        released = self.clock.monotonic()
        self.first_window.judge(release)
        # 3. Encode, once: every attempt sends these bytes.
        await self.at("closing.3")
        times = self._wall_of(release.opened_at), self.clock.wall()
        publication = await asyncio.to_thread(
            self.writer.write, release, closing.targets, closing.places, times, previous(), closing.topic_ids
        )
        return Prepared(release, publication, released - begun, self.clock.monotonic() - released)

    async def close(  # noqa: PLR0915 - the steps stand in one function
        self, closing: Closing, preparing: asyncio.Task[Prepared], stop: asyncio.Event
    ) -> ClosedWindow:
        """Publish a window exactly once, or not at all.

        Parameters
        ----------
        preparing
            Steps 1 to 3: `prepare`.
        stop
            Ends pauses early; whoever sets it cancels this where it takes too long.
        """
        pauses, broken, refused, commit = Pauses(stop), False, 0, 0.0
        # 1. Partition, 2. gate and 3. encode: they may have begun before this window's turn. Whoever cancels this
        #    leaves them.
        prepared = await asyncio.shield(preparing)
        release, publication = prepared.release, prepared.publication
        begun = self.clock.monotonic()
        while True:
            step = 4
            try:
                # 4. Begin, if the input topics are still those that were taken over: in a topic that was created
                #    anew, the offsets that were read mean other records.
                await self.at("closing.4")
                await self._refuse_recreated(closing.topic_ids, publication)
                await self.sink.begin()
                # 5. Send released records, certificate, dead letters and ledger entries.
                step = 5
                await self.at("closing.5")
                await self.sink.send(publication.parcels)
                # 6. Await every batch: a commit succeeds though a batch was refused.
                step = 6
                await self.at("closing.6")
                sent = await self.sink.settle()
                # 7. Add the group's offsets to the transaction.
                step = 7
                await self.at("closing.7")
                commit = self.clock.monotonic()
                await self.sink.add_offsets()
                # 8. Commit them as the member that took the records: the fence within the group. The ledger is that
                #    between groups: of two windows over the same records, the one whose entries come first wins.
                step = 8
                await self.at("closing.8")
                await self.sink.commit_offsets(publication.ends, closing.membership)
                await self.ledger.uncontested(publication.starts, sent)
                # 9. Commit.
                step = 9
                await self.at("closing.9")
                await self.sink.commit()
                outcome = Outcome.REPEATED if broken else Outcome.COMMITTED
            except OwnershipLost:
                # Nothing is visible; a new producer aborts what was sent, or it would hold up readers.
                await self._renew()
                outcome = Outcome.FENCED
            except (Overtaken, Recreated) as error:
                self.tell(TransactionBroken(f"closing.{step}", describe(error)))
                await self._renew()
                outcome = Outcome.LOST
            except Exception as error:  # noqa: BLE001 - whatever broke: the outcome is unknown
                slow = step == 6 and not isinstance(error, TopicError)  # which says itself what is to be done
                refused += slow
                text = describe(error) + (TOO_LARGE if slow and refused > 1 else "")
                self.tell(TransactionBroken(f"closing.{step}", text))
                ending = await self._ending(publication, pauses)
                unsent = ending is Ending.AT_START and closing.membership == self.current()
                never = broken and isinstance(error, BatchRefused) and error.never_fits(closing.targets.output)
                if unsent and not never:
                    if broken:
                        self.reachability.away(Away.PUBLISHING, text)
                    broken = True
                    await pauses.pause()
                    continue
                outcome = Outcome.REFUSED if unsent else _OUTCOMES[ending]
            self.reachability.back(Away.PUBLISHING)
            break
        # 10. Forget the window: who asked for it lets go of it.
        await self.at("closing.10")
        self.tell(TransactionEnded(outcome))
        now = self.clock.monotonic()
        last = max(now - commit, 0.0)
        durations = Durations(prepared.released, prepared.encoded, now - begun, last, release.gate_seconds)
        return ClosedWindow(outcome, release, publication, durations)

    def _wall_of(self, monotonic: float) -> float:
        return self.clock.wall() - (self.clock.monotonic() - monotonic)

    async def _refuse_recreated(self, known: Mapping[str, str], publication: Publication) -> None:
        wanted = {topic: known[topic] for topic, _ in publication.starts if topic in known}
        now = await self.sink.topic_ids(wanted.keys())
        for topic in sorted(now.differ_from(wanted)):
            raise Recreated(f"{topic} was deleted and created anew: what was read of it is not published")

    async def _renew(self) -> None:
        await self.sink.discard()
        try:
            await self.sink.open()
        except BrokerError as error:  # the takeover that follows tries again
            self.reachability.away(Away.PUBLISHING, describe(error))

    async def _ending(self, publication: Publication, pauses: Pauses) -> Ending:
        """Throw the producer away and ask how its transaction ended, until there is an answer."""
        while True:
            await self.sink.discard()
            try:
                await self.sink.open()
                stable = await self.sink.stable_offsets(publication.ends.keys())
                await self.keeper.open(Away.PUBLISHING)
                entries = await self.ledger.caught_up()
                # None: somebody deleted them, or there were none before.
                known = {**self.ledger.remembered(), **entries}
                stable = {p: known[p].next if o is None and p in known else o for p, o in stable.items()}
                held = self.ledger.holds(publication.batch)
                return how_it_ended(publication.starts, publication.ends, stable, held)
            except BrokerError as error:
                self.reachability.away(Away.PUBLISHING, describe(error))
            await pauses.pause()


_OUTCOMES = {
    Ending.AT_START: Outcome.FENCED,  # and the group has moved on: it is not sent again
    Ending.AT_END: Outcome.FOUND_COMMITTED,
    Ending.ELSEWHERE: Outcome.LOST,
}


def how_it_ended(
    starts: Mapping[Place, int], ends: Mapping[Place, int], stable: Mapping[Place, int | None], held: bool | None
) -> Ending:
    """Return how a transaction ended whose window covers `starts` to `ends`.

    Parameters
    ----------
    stable
        No offset at all means that nothing was ever committed: the start.
    held
        Whether the ledger holds an entry of this very window: offsets at its end may be a successor's, whose window
        ended there too. None where there is no ledger: then the offsets are all there is.
    """
    if held:
        return Ending.AT_END
    if all(stable[place] in (None, start) for place, start in starts.items()):
        return Ending.AT_START
    if held is None and all(stable[place] == end for place, end in ends.items()):
        return Ending.AT_END
    return Ending.ELSEWHERE
