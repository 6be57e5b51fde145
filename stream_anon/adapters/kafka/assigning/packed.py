"""Give all partitions to as few members as carry the load; the others stand by.

Windows of one worker that reads everything are larger than those of two that read half each, and larger windows
lose less information. So members keep what they have (the assignment is sticky), and what a member leaves behind
goes to one that stands by. Only load changes this: an overloaded member shares its partitions with others, and
members with little to do are joined up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum

from stream_anon.ports import Place

OVERLOADED = 0.6
"""Load above which a member shares its partitions; also what each of them should have at most."""
UNDERLOADED = 0.2
"""Load and busy share below which members are joined up."""
JOINED = 0.4
"""Load that members may have once they are joined up; well below `OVERLOADED`, or they would soon be parted."""
WORTH = 0.9
"""Share of its load that an overloaded member may keep: a change that helps less costs more than it brings."""

Assignment = dict[str, set[Place]]


@dataclass(frozen=True, slots=True)
class KnownMember:
    """What a member of the group tells the leader.

    Parameters
    ----------
    topics
        The topics that it reads.
    holds
        The partitions that it was given last.
    generation
        The group's generation in which it was given them.
    busy
        Share of the last minute in which it was busy, or took no records because windows waited; None if it has not
        had these partitions for so long.
    loads
        Busy share that each of its partitions needs so that what waits is read within five minutes; may exceed 1.
        Empty if not known.
    carriers
        How many members had partitions then, itself included.
    aside
        Whether others should have its partitions: it leaves them to workers of a newer policy, under which the
        output was published, or it cannot work.
    revision
        Of its policy; of several members that stand by, one of the newest policy is woken.
    """

    topics: frozenset[str]
    holds: frozenset[Place] = frozenset()
    generation: int = -1
    busy: float | None = None
    loads: Mapping[Place, float] = field(default_factory=dict)
    carriers: int = 0
    aside: bool = False
    revision: int = 0

    @property
    def load(self) -> float | None:
        """Return the busy share that its partitions need, if known."""
        known = self.holds <= self.loads.keys() and self.busy is not None
        return fsum(self.loads[place] for place in self.holds) if known else None


Members = Mapping[str, KnownMember]


@dataclass(frozen=True, slots=True)
class Packed:
    """Who reads what, and whether load has changed it."""

    given: Mapping[str, frozenset[Place]]
    changed: bool

    @property
    def carriers(self) -> int:
        """Return how many members have partitions."""
        return sum(map(bool, self.given.values()))


def packed(members: Members, places: Collection[Place], *, may_change: bool) -> Packed:
    """Assign each place to one member that reads its topic, to as few members as carry the load.

    The same arguments give the same result, whatever their order.

    Parameters
    ----------
    places
        The partitions of all topics that any member reads.
    may_change
        Whether load may change what members have. What nobody has is assigned in any case.
    """
    able = {name: member for name, member in members.items() if not member.aside} or members
    kept = {name: set[Place]() for name in members} | _kept(able, frozenset(places))
    _assign_rest(members, able, kept, places)
    given = {name: set(held) for name, held in kept.items()}
    if may_change and not _relieve(able, given):
        _join_up(able, given)
    return Packed({name: frozenset(held) for name, held in given.items()}, changed=given != kept)


def _kept(members: Members, places: frozenset[Place]) -> Assignment:
    """Return what each member keeps: of two that claim a place, it belongs to the one of the later generation."""
    owner: dict[Place, str] = {}
    for name in sorted(members, key=lambda name: (-members[name].generation, name)):
        for topic, number in members[name].holds & places:
            if topic in members[name].topics:
                owner.setdefault((topic, number), name)
    kept: Assignment = {name: set() for name in members}
    for place, name in owner.items():
        kept[name].add(place)
    return kept


def _assign_rest(
    members: Members,
    able: Members,
    given: Assignment,
    places: Collection[Place],
) -> None:
    """Assign what nobody has.

    As many members as have gone since the last assignment are replaced by some that stand by. Otherwise the places
    are new, and those who have the least to do take them.
    """
    rest = set(places).difference(*given.values())
    carriers = [name for name in sorted(able) if given[name]]
    free = _free(able, given)
    latest = max((member.generation for member in members.values()), default=-1)
    before = max((m.carriers for m in members.values() if m.generation == latest), default=0)
    takers = free[: max(before - len(carriers), 0 if carriers else 1)] or carriers
    # A place whose load nobody knows is taken for an average one.
    loads = {name: load for name in carriers if (load := members[name].load) is not None}
    held = sum(len(given[name]) for name in loads)
    average = max(fsum(loads.values()) / held if held else 0.0, 1e-6)
    estimated = {name: loads.get(name, average * len(given[name])) for name in given}
    for topic, number in sorted(rest):
        readers = [name for name in takers if topic in members[name].topics]
        readers = readers or [name for name in sorted(able) if topic in able[name].topics]
        readers = readers or [name for name in sorted(members) if topic in members[name].topics]
        if readers:
            name = min(readers, key=lambda name: (estimated[name], name))
            given[name].add((topic, number))
            estimated[name] += average


def _relieve(members: Members, given: Assignment) -> bool:
    """Let overloaded members share their partitions with others; return whether any could."""
    loads = _known_loads(members, given)
    overloaded = [name for name, load in loads.items() if load > OVERLOADED and len(given[name]) > 1]
    relieved = False
    for name in sorted(overloaded, key=lambda name: (-loads[name], name)):
        if given[name] != members[name].holds:
            continue  # it has helped another one
        room = [n for n in loads if n != name and given[n] and loads[n] < OVERLOADED]
        helpers = [*sorted(room, key=lambda n: (loads[n], n)), *_free(members, given)]
        shared = _shared(members, given, loads, name, helpers)
        if max(load for load, _ in shared.values()) >= WORTH * loads[name]:
            continue  # one partition is nearly all of it, or the others have enough to do
        relieved = True
        for helper, (load, held) in shared.items():
            given[helper], loads[helper] = held, load
    return relieved


def _shared(
    members: Members,
    given: Assignment,
    loads: Mapping[str, float],
    name: str,
    helpers: Iterable[str],
) -> dict[str, tuple[float, set[Place]]]:
    """Return the load and the partitions of a member and its helpers, no more of them than needed."""
    shared: dict[str, tuple[float, set[Place]]] = {name: (0.0, set())}
    total = loads[name]
    for helper in helpers:
        if not members[helper].topics.isdisjoint({topic for topic, _ in given[name]}):
            shared[helper] = loads.get(helper, 0.0), set(given[helper])
            total += loads.get(helper, 0.0)
        if len(shared) > 1 and total / len(shared) <= OVERLOADED:
            break
    for place in sorted(given[name], key=lambda place: (-members[name].loads[place], place)):
        readers = [n for n in shared if place[0] in members[n].topics]
        taker = min(readers, key=lambda n: (shared[n][0], n != name, n))
        load, held = shared[taker]
        shared[taker] = load + members[name].loads[place], held | {place}
    return shared


def _join_up(members: Members, given: Assignment) -> None:
    """Give what underloaded members have to as few of them as carry it together."""
    known = _known_loads(members, given)
    idle = [name for name in known if given[name] and (members[name].busy or 0.0) <= UNDERLOADED]
    loads = {name: known[name] for name in idle if known[name] < UNDERLOADED}
    joined: dict[str, float] = {}
    for name in sorted(loads, key=lambda name: (-loads[name], name)):
        topics = {topic for topic, _ in given[name]}
        fits = [n for n in joined if joined[n] + loads[name] <= JOINED and topics <= members[n].topics]
        if fits:
            joined[fits[0]] += loads[name]
            given[fits[0]] |= given[name]
            given[name] = set()
        else:
            joined[name] = loads[name]


def _free(members: Members, given: Assignment) -> list[str]:
    """Return those who stand by, in the order in which they are woken."""
    free = [name for name in members if not given[name]]
    return sorted(free, key=lambda name: (-members[name].revision, name))


def _known_loads(members: Members, given: Assignment) -> dict[str, float]:
    """Return the loads of members that keep just what they measured."""
    return {
        name: load
        for name in sorted(members)
        if given[name] == members[name].holds and (load := members[name].load) is not None
    }
