"""Close a window and publish it: ten numbered steps, and what happens where they break.

::

    1 partition  2 gate  3 encode │ 4 begin  5 send  6 settle  7 add offsets  8 fence  9 commit │ 10 forget
    ─────────── close ────────────┤ ─────── publish: a transaction that may break ──────────────┤ ── done ──

Steps 4 to 9 are the sink's: `adapters/kafka/writing/kafka_sink.py`.

If a step from 4 to 9 breaks, the outcome is unknown. The producer is thrown away, and a new one with the same
transactional id settles what was open. Then the ledger and the stable offsets decide. If the ledger holds an entry
of this window, the window was committed. If the offsets stand at its start, the same bytes go out again. Anything
else leads to a takeover. Bytes that the output has refused twice are not sent again: a takeover asks how much the
topics take, and reads the records again. So does one after a window that was twice too large for its time, if the
next ones may be smaller and nothing of it is visible: at least once, it is tried again as it is. Where the broker
refuses the times of records, the window is written anew with other ones, in the same classes and under the same
batch id; so is the next one, whose certificate names this one's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np

from stream_anon.engine.closing import Closer, TooLarge
from stream_anon.engine.keyed_draws import DrawnWindow
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.errors import (
    BatchRefused,
    BrokerError,
    OutcomeUnknown,
    Overtaken,
    OwnershipLost,
    Recreated,
    TimeRefused,
)
from stream_anon.microdata.release import Release
from stream_anon.ports import At, Clock, Membership, Publication, ReleaseLedger, Sink, Steps
from stream_anon.ports.publication import bundled
from stream_anon.service.busy_time import BusyTime
from stream_anon.service.closing.agreed_time import AgreedTime
from stream_anon.service.closing.ending import Ending, how_it_ended
from stream_anon.service.closing.first_window import FirstWindow
from stream_anon.service.closing.outgoing import (
    TOO_LARGE,
    ClosedWindow,
    OutgoingWindow,
    PublicationResult,
    QueuedWindow,
    SentWindow,
)
from stream_anon.service.closing.writer import Writer
from stream_anon.service.events import Away, Durations, Listener, Outcome, TransactionBroken, TransactionEnded
from stream_anon.service.retrying import Pauses, Reachability, cause_of, describe
from stream_anon.service.takeover.ledger_keeping import LedgerKeeper

SETTLING = 6  # where a window that is too large for its time shows
COMMITTING = 7  # from this step on, a window is only waited for


@dataclass(frozen=True, kw_only=True)
class ClosingSteps:
    """Closes sealed windows one at a time, and publishes them, several small ones in one transaction.

    Parameters
    ----------
    drawn
        Returns a window in the order in which it is closed, with its draws.
    current
        Returns the group's membership; a window of an older one is not sent again.
    keeper
        Opens the ledger, and creates it again if it was deleted.
    first_window
        Withholds a window if a declared field has not come yet.
    agreed_time
        Withholds each window once the policy's release has expired.
    settle_within
        Seconds that the broker is given in step 6. If that breaks before, it was not for want of time.
    too_slow
        Is told of a window that was twice too large for its time; returns whether smaller ones would come next.
    settled
        Is told of each window that is out, with its rows in the order of its release.
    """

    drawn: Callable[[SealedWindow], DrawnWindow]
    closer: Closer
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
    agreed_time: AgreedTime
    busy: BusyTime
    settle_within: float
    too_slow: Callable[[SealedWindow], bool] = lambda _: False
    settled: Callable[[SealedWindow, Release], None] = lambda *_: None

    async def close(
        self,
        outgoing: OutgoingWindow,
        before: asyncio.Task[ClosedWindow] | None,
        previous: Callable[[], str | None],
    ) -> ClosedWindow:
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
            If no record has held a declared field yet. The worker ends, and nothing is published.
        """
        if before is not None:
            await asyncio.wait([before])
        steps = Steps("closing", self.at)
        # Step 1 runs in a thread without the interpreter's lock, while the next window fills. Step 2 is in the same
        # call: the gate recounts every class, and again without records that the output would not take.
        async with steps.step(1, "partition, and 2, gate"):
            begun = self.clock.monotonic()
            too_large = partial(self.writer.too_large, targets=outgoing.targets)
            with self.busy.working():
                window, release, draws = await asyncio.to_thread(self._released, outgoing.window, too_large)
            released = self.clock.monotonic()
            self.first_window.judge(release)
        # A window is encoded once: every attempt sends these bytes, unless a broker refuses their times.
        async with steps.step(3, "encode"):
            named = previous()
            publication = await self._written(outgoing, release, named, draws)
        size = sum(parcel.size for parcel in publication.parcels)
        encoded = self.clock.monotonic() - released
        return ClosedWindow(window, release, publication, named, draws, released - begun, encoded, size)

    async def _written(
        self,
        outgoing: OutgoingWindow,
        release: Release,
        previous: str | None,
        draws: np.random.Generator,
        batch: str | None = None,
    ) -> Publication:
        """Return the bytes of a window, dated by the clock as it is now."""
        wall = self.clock.wall()
        times = wall - (self.clock.monotonic() - release.opened_at), wall
        with self.busy.working():
            return await asyncio.to_thread(
                self.writer.write, outgoing, release, times, previous, deepcopy(draws), batch
            )

    def _released(
        self, sealed: SealedWindow, too_large: TooLarge
    ) -> tuple[SealedWindow, Release, np.random.Generator]:
        """Return a window as it is closed, what becomes of it, and draws for where its records go."""
        window, draws, places = self.drawn(sealed)
        return window, self.closer.release(window, draws, too_large), places

    async def publish(  # noqa: PLR0915 - one attempt after the other, and each way in which it may end
        self,
        bundle: Sequence[QueuedWindow],
        stop: asyncio.Event,
        previous: str | None = None,
        rewritten: Callable[[str, str], None] = lambda *_: None,
    ) -> PublicationResult:
        """Do steps 4 to 10: publish windows in one transaction exactly once, or not at all.

        If a transaction of several windows broke and left nothing visible, they are not sent together again: what
        is returned is how the first one of them ended.

        Parameters
        ----------
        bundle
            Windows of one membership, in the order of sealing. Their steps 1 to 3 may have begun before it was
            their turn, and go on if this is cancelled.
        stop
            Ends pauses early. The caller who sets it cancels this if it takes too long.
        previous
            Digest of the certificate before, as it was published in the end.
        rewritten
            Called with the digests of a window's certificate before and after it was written anew.
        """
        pauses, broken, refused = Pauses(stop), False, 0
        outgoing = bundle[0].outgoing
        closed = [await asyncio.shield(queued.closing) for queued in bundle]
        publications = [it.publication for it in closed]

        async def rewrite(number: int, named: str | None) -> None:
            old, its = publications[number], closed[number]
            anew = await self._written(bundle[number].outgoing, its.release, named, its.draws, old.batch)
            rewritten(old.digest, anew.digest)
            publications[number] = anew

        named = previous
        for number, its in enumerate(closed):
            if its.previous != named:
                await rewrite(number, named)
            named = publications[number].digest
        begun = self.clock.monotonic()
        while True:
            self.agreed_time.judge()  # at each attempt: the broker may have been away for days
            steps = Steps("closing", self.at, self.clock.monotonic)
            publication = bundled(publications)
            try:
                await self.sink.publish(publication, outgoing.membership, steps)  # 4 to 9
                outcome = Outcome.REPEATED if broken else Outcome.COMMITTED
            except OwnershipLost:
                # Nothing is visible. A new producer aborts the transaction, which would hold up readers otherwise.
                await self._renew()
                outcome = Outcome.FENCED
            except (Overtaken, Recreated) as error:
                self.tell(TransactionBroken(steps.reached, describe(error), len(publications)))
                await self._renew()
                outcome = Outcome.LOST
            except Exception as error:  # noqa: BLE001 - after any other error the outcome is unknown
                # The message of a TopicError says what to do.
                alone = len(publications) == 1
                late = steps.reached == f"closing.{SETTLING}" and steps.since(SETTLING) >= self.settle_within
                slow = late and isinstance(error, OutcomeUnknown)
                refused += slow and alone
                text = describe(error) + (TOO_LARGE if slow and refused > 1 else "")
                self.tell(TransactionBroken(steps.reached, text, len(publications)))
                ending = await self._ending(publication, pauses)
                unsent = ending is Ending.AT_START and outgoing.membership == self.current()
                never = broken and isinstance(error, BatchRefused) and error.never_fits(outgoing.targets.output)
                if unsent and slow and refused > 1 and self.too_slow(outgoing.window):
                    # At least once, attempts are visible: none may put the same people into other classes.
                    never = self.sink.delivery == "exactly-once"
                dated = isinstance(error, TimeRefused)
                if unsent and not never:
                    if broken or dated:
                        self.reachability.away(Away.DATING if dated else Away.PUBLISHING, text, cause_of(error))
                    broken = True
                    del publications[1:]  # what is too large, or refused, may be so because of the others
                    await pauses.pause(error if dated else None)
                    if dated:
                        # The same release with other times: were its records read again, the same people would be
                        # put into other classes at each attempt.
                        await rewrite(0, previous)
                    continue
                outcome = Outcome.REFUSED if unsent else ending.outcome
            self.reachability.back(Away.DATING)
            break
        self.reachability.back(Away.PUBLISHING)
        async with steps.step(10, "forget the window"):  # the caller lets go of it
            self.tell(TransactionEnded(outcome))
        seconds, commit = self.clock.monotonic() - begun, steps.since(COMMITTING)
        share = 1 / len(publications)
        return PublicationResult(
            outcome,
            tuple(
                SentWindow(
                    its.window,
                    its.release,
                    sent,
                    Durations(its.released, its.encoded, seconds * share, commit * share, its.release.gate_seconds),
                )
                for its, sent in zip(closed, publications, strict=False)  # a bundle may have been divided
            ),
        )

    async def _renew(self) -> None:
        await self.sink.discard()
        try:
            await self.sink.open()
        except BrokerError as error:  # the takeover that follows tries again
            self.reachability.failed(Away.PUBLISHING, error)

    async def _ending(self, publication: Publication, pauses: Pauses) -> Ending:
        """Throw the producer away, and ask how its transaction ended until there is an answer."""
        while True:
            await self.sink.discard()
            try:
                await self.sink.open()
                stable = await self.sink.stable_offsets(publication.ends.keys())
                await self.keeper.open(Away.PUBLISHING)
                entries = await self.ledger.caught_up()
                # An offset is None if somebody deleted it, or if none was ever committed.
                known = {**self.ledger.remembered(), **entries}
                stable = {p: known[p].next if o is None and p in known else o for p, o in stable.items()}
                held = self.ledger.holds(publication.batch)
                return how_it_ended(publication.starts, publication.ends, stable, held)
            except BrokerError as error:
                self.reachability.failed(Away.PUBLISHING, error)
            await pauses.pause()
