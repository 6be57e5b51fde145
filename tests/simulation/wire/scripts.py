"""Conversations that the model and Apache Kafka must have alike.

A line is one request and what is answered. Producers have names: `init` and `end` of version 5 give one, and a line
may speak as an older or a newer epoch of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

from tests.simulation.wire.conversation import Conversation, Identity

_ANY = (0, 1, 2)
Who = tuple[str, int]


@dataclass(frozen=True)
class Init:
    """InitProducerId: a producer of this name begins."""

    name: str
    code: int = 0
    epoch: int = -1
    settles: bool = False
    timeout_ms: int = 30_000


@dataclass(frozen=True)
class Add:
    """AddPartitionsToTxn."""

    who: Who
    partition: int = 0
    code: int = 0
    settles: bool = False


@dataclass(frozen=True)
class AddOffsets:
    """AddOffsetsToTxn."""

    who: Who
    code: int = 0
    settles: bool = False


@dataclass(frozen=True)
class Produce:
    """Produce of one batch."""

    who: Who
    sequence: int
    values: tuple[bytes, ...]
    code: int = 0
    partition: int = 0


@dataclass(frozen=True)
class Offsets:
    """TxnOffsetCommit; generation and member are those of the group, or others."""

    who: Who
    offset: int
    code: int = 0
    older: int = 0
    member: str | None = None


@dataclass(frozen=True)
class End:
    """EndTxn. With version 5 the answer gives `name` an epoch; `epoch` is that one."""

    who: Who
    commits: bool = True
    version: int = 0
    code: int = 0
    name: str = ""
    epoch: int = -1


@dataclass(frozen=True)
class Stable:
    """OffsetFetch of stable offsets."""

    offset: int
    code: int = 0


@dataclass(frozen=True)
class Seen:
    """What a reader of committed records sees."""

    values: tuple[bytes, ...]
    partition: int = 0


@dataclass(frozen=True)
class Until:
    """Where the transactional id stands in the end, and with which epoch."""

    state: str
    epoch: int


Line = Init | Add | AddOffsets | Produce | Offsets | End | Stable | Seen | Until


@dataclass(frozen=True)
class Script:
    """One conversation, on a transactional id and a topic of its own, at some levels of transaction.version."""

    name: str
    lines: Sequence[Line]
    levels: tuple[int, ...] = _ANY


async def play(script: Script, talk: Conversation) -> None:
    """Say each line, and compare the answers."""
    cast: dict[str, Identity] = {"nobody": (1 << 40, 0)}
    await talk.begin()
    for number, line in enumerate(script.lines, 1):
        found, wanted = await _say(line, talk, cast)
        assert found == wanted, f"{script.name}, line {number} {line}: {found} instead of {wanted}"


async def _say(line: Line, talk: Conversation, cast: dict[str, Identity]) -> tuple[object, object]:
    def actor(who: Who) -> Identity:
        producer, epoch = cast[who[0]]
        return producer, epoch + who[1]

    match line:
        case Init():
            ask = partial(talk.init, line.timeout_ms)
            code, identity = await talk.settled(ask, itemgetter(0)) if line.settles else await ask()
            cast[line.name] = identity
            return (code, identity[1]), (line.code, line.epoch)
        case Add():
            add = partial(talk.add, actor(line.who), line.partition)
            return (await talk.settled(add, int) if line.settles else await add()), line.code
        case AddOffsets():
            add = partial(talk.add_offsets, actor(line.who))
            return (await talk.settled(add, int) if line.settles else await add()), line.code
        case Produce():
            return await talk.produce(actor(line.who), line.partition, line.sequence, *line.values), line.code
        case Offsets():
            member = talk.member.member if line.member is None else line.member
            generation = talk.member.generation - line.older
            return await talk.offsets(actor(line.who), line.offset, generation, member), line.code
        case End():
            code, identity = await talk.end(actor(line.who), commits=line.commits, version=line.version)
            if line.name:
                cast[line.name] = identity
            return (code, identity[1]), (line.code, line.epoch)
        case Stable():
            return await talk.stable_offset(), (line.code, line.offset)
        case Seen():
            return tuple(await talk.seen(line.partition)), line.values
        case Until():
            return (await talk.until(line.state))[1], line.epoch


A, B = ("a", 0), ("b", 0)
_AFTER = ("a", 1)
_OPEN = (Init("a", epoch=0), Add(A), Produce(A, 0, (b"1", b"2")))


SCRIPTS = (
    Script(
        "a transaction from its begin to its end",
        [
            *_OPEN,
            Seen(()),
            Until("Ongoing", 0),
            End(A),
            Until("CompleteCommit", 0),
            Seen((b"1", b"2")),
            Add(A),
            Produce(A, 2, (b"3",)),
            End(A, commits=False),
            Until("CompleteAbort", 0),
            Seen((b"1", b"2")),
        ],
    ),
    Script(
        "a late commit of the old kind commits half of the next transaction",
        [
            *_OPEN,
            End(A),
            Add(A, settles=True),
            Produce(A, 2, (b"3",)),
            End(A),  # the late one
            Until("CompleteCommit", 0),
            Seen((b"1", b"2", b"3")),
            Produce(A, 3, (b"4",), code=48),
        ],
    ),
    Script(
        "a late commit of the new kind is fenced",
        [
            *_OPEN,
            End(A, version=5, name="b", epoch=1),
            Add(B, settles=True),
            Produce(B, 0, (b"3",)),
            End(A, version=5, code=90),
            End(A, code=47),
            Until("Ongoing", 1),
            Seen((b"1", b"2")),
            End(B, version=5, name="c", epoch=2),
            Until("CompleteCommit", 2),
            Seen((b"1", b"2", b"3")),
        ],
        levels=(1, 2),
    ),
    Script(
        "what comes late of an older epoch is fenced",
        [
            *_OPEN,
            AddOffsets(A),
            Offsets(A, 2),
            End(A, version=5, name="b", epoch=1),
            Until("CompleteCommit", 1),
            Produce(A, 2, (b"3",), code=47),
            Add(A, code=47),
            AddOffsets(A, code=47),
            Offsets(A, 1, code=47),
            Produce(B, 0, (b"4",), code=48),
            Add(B),
            AddOffsets(B),
            Produce(A, 2, (b"3",), code=47),
            Offsets(A, 1, code=47),
            Produce(B, 0, (b"4",)),
            Offsets(B, 3),
            End(B, version=5, name="c", epoch=2),
            Until("CompleteCommit", 2),
            Stable(3),
            Seen((b"1", b"2", b"4")),
        ],
        levels=(1, 2),
    ),
    Script(
        "a new producer ends what the one before left open",
        [
            *_OPEN,
            Init("b", code=51),
            Init("b", epoch=2, settles=True),
            Until("Empty", 2),
            Seen(()),
            Produce(A, 2, (b"3",), code=47),
            Add(A, code=47),
            AddOffsets(A, code=47),
            Offsets(A, 1, code=47),
            End(A, code=47),
            Add(B),
            Produce(B, 0, (b"4",)),
            End(B),
            Until("CompleteCommit", 2),
            Seen((b"4",)),
        ],
    ),
    Script(
        "a new producer fences one that has nothing open",
        [
            *_OPEN,
            End(A),
            Init("b", epoch=1, settles=True),
            End(A, code=47),
            Add(A, code=47),
            Produce(A, 2, (b"3",), code=47),
            Add(B),
            Produce(A, 2, (b"3",), code=47),
            Produce(B, 0, (b"4",)),
            Produce(A, 2, (b"3",), code=47),
            End(B),
            Until("CompleteCommit", 1),
        ],
    ),
    Script(
        "an end of the old kind may be repeated, with the same outcome",
        [
            Init("a", epoch=0),
            End(A, code=48),
            End(A, commits=False, code=48),
            Add(A),
            Produce(A, 0, (b"1",)),
            End(A),
            Until("CompleteCommit", 0),
            End(A),
            End(A, commits=False, code=48),
            Add(A),
            End(A, commits=False),
            Until("CompleteAbort", 0),
            End(A, commits=False),
            End(A, code=48),
        ],
    ),
    Script(
        "an end of the new kind may be repeated, with the same outcome",
        [
            Init("a", epoch=0),
            End(A, version=5, code=48),
            Add(A),
            Produce(A, 0, (b"1",)),
            End(A, version=5, name="b", epoch=1),
            Until("CompleteCommit", 1),
            End(A, version=5, epoch=1),
            End(A, version=5, commits=False, code=48),
            End(B, version=5, code=48),
            Add(B),
            End(B, version=5, commits=False, name="c", epoch=2),
            Until("CompleteAbort", 2),
            End(B, version=5, commits=False, epoch=2),
            End(B, version=5, code=48),
            End(("c", 0), version=5, commits=False, name="d", epoch=3),
            Until("CompleteAbort", 3),
        ],
        levels=(1, 2),
    ),
    Script(
        "the new kind of end wedges a transactional id where its level is not agreed on",
        [
            *_OPEN,
            End(A, version=5, code=35),
            End(A, code=51),
            End(A, version=5, code=51),
            Add(A, partition=1, code=51),
            Init("b", code=51),
            Seen(()),
        ],
        levels=(0,),
    ),
    Script(
        "a batch is refused where its partition is not in the transaction",
        [
            Init("a", epoch=0),
            Produce(A, 0, (b"1",), code=48),
            Add(A, partition=1),
            Produce(A, 0, (b"1",), code=48),
            Produce(A, 0, (b"2",), partition=1),
            End(A),
            Until("CompleteCommit", 0),
            Produce(A, 1, (b"3",), partition=1, code=48),
            Seen(()),
            Seen((b"2",), partition=1),
        ],
    ),
    Script(
        "a partition that is added late begins a transaction",
        [
            *_OPEN,
            End(A),
            Until("CompleteCommit", 0),
            Add(A),  # the late one
            Until("Ongoing", 0),
            Produce(A, 0, (b"1", b"2")),  # known: it is not written again
            Seen((b"1", b"2")),
            End(A, commits=False),
            Until("CompleteAbort", 0),
            Seen((b"1", b"2")),
        ],
    ),
    Script(
        "a batch is taken once",
        [
            *_OPEN,
            Produce(A, 0, (b"1", b"2")),
            Produce(A, 5, (b"6",), code=45),
            Produce(A, 2, (b"3",)),
            Produce(A, 0, (b"1", b"2")),
            End(A),
            Until("CompleteCommit", 0),
            Seen((b"1", b"2", b"3")),
        ],
    ),
    Script(
        "offsets belong to the transaction, and the group's fence guards them",
        [
            *_OPEN,
            Offsets(A, 1, code=48),
            AddOffsets(A),
            Stable(-1),
            Offsets(A, 1, older=1, code=22),
            Offsets(A, 1, member="nobody", code=25),
            Stable(-1),
            Offsets(A, 1),
            Stable(-1, code=88),
            Offsets(A, 2),
            End(A),
            Until("CompleteCommit", 0),
            Stable(2),
            Offsets(A, 3, code=48),
            AddOffsets(A),
            Offsets(A, 3),
            Stable(-1, code=88),
            End(A, commits=False),
            Until("CompleteAbort", 0),
            Stable(2),
        ],
    ),
    Script(
        "late offsets of the old kind of transaction become part of the next one",
        [
            *_OPEN,
            AddOffsets(A),
            Offsets(A, 2),
            End(A),
            Add(A, settles=True),
            AddOffsets(A),
            Offsets(A, 3),
            Offsets(A, 2),  # the late one
            End(A),
            Until("CompleteCommit", 0),
            Stable(2),
        ],
    ),
    Script(
        "a transaction that takes too long is aborted, and its producer is fenced",
        [
            Init("a", epoch=0, timeout_ms=1500),
            Add(A),
            Produce(A, 0, (b"1",)),
            Until("CompleteAbort", 1),
            Produce(A, 1, (b"2",), code=47),
            Add(A, code=47),
            End(A, code=47),
            Init("b", epoch=2),
            Add(B),
            Produce(B, 0, (b"3",)),
            End(B),
            Until("CompleteCommit", 2),
            Seen((b"3",)),
        ],
    ),
    Script(
        "nobody ends or adds to a transaction of another producer id",
        [
            *_OPEN,
            End(("nobody", 0), code=49),
            Add(("nobody", 0), code=49),
            AddOffsets(("nobody", 0), code=49),
            End(_AFTER, code=47),
            Add(_AFTER, code=47),
            End(_AFTER, version=5, code=90),
            End(A),
            Until("CompleteCommit", 0),
        ],
    ),
)
