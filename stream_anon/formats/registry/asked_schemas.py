"""Learn the schemas that records name: each is asked for once, and what reads it is remembered."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from stream_anon.formats.registry.asking import RegistrySession, SchemaRegistry, may_be_told
from stream_anon.formats.registry.budget import QuestionBudget
from stream_anon.formats.registry.framing import Framing, SchemaKey
from stream_anon.formats.registry.memory import SchemaMemory
from stream_anon.formats.registry.registered import RegisteredSchema
from stream_anon.formats.registry.schema_fields import FieldTypes
from stream_anon.formats.registry.schema_learning import BodyFormat, LearnedMessage, LearnedSchema, learn
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas

_AT_ONCE = 8  # questions
_MOST_DOUBTED = 100
"""Unknown ids of a poll that are asked for twice; of more, those that fewer records name count as made up."""
HELD = 5.0
"""Seconds for which records wait until their ids can be asked for."""
_HOLDS, _HOLDS_WITHIN = 6, 600.0
"""How often within so many seconds records wait for an answer: who makes ids up must not hold others up."""
_MOST_CHANGES = 10_000  # that are remembered as told
_UNKNOWN_EVERY, _MOST_TOLD = 10.0, 8  # seconds between two tellings of unknown schemas, and ids that each names
_MOST_UNKNOWN = 10_000  # ids that are counted between two tellings


class Schemas:
    """Knows the schemas of a registry that records have named.

    Parameters
    ----------
    attributes
        Names of the declared attributes, by the paths of their fields.
    noticed
        Hears of each schema that tells something about declared fields.
    unheard
        Hears of schemas that the registry does not know.

    Raises
    ------
    SettingsError
        If a schema's file cannot be read.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        form: BodyFormat,
        attributes: Mapping[tuple[str, ...], str],
        noticed: Callable[[SchemaChange], None] = lambda _: None,
        unheard: Callable[[UnknownSchemas], None] = lambda _: None,
    ) -> None:
        self._registry, self._framing, self._form = registry, registry.framing, form
        self._given = {key: registry.schema(key) for key in registry.schemas}  # nobody is asked for these
        self._attributes = attributes
        self._noticed, self._unheard = noticed, unheard
        self._memory, self._budget = SchemaMemory(), QuestionBudget()
        self._parsing = asyncio.Lock()  # several at once could take more memory than a pod has
        self._fields: FieldTypes | None = None  # of the schema that was learned last
        self._told: set[SchemaChange] = set()
        self._holds: deque[float] = deque(maxlen=_HOLDS)  # when records began to wait for a second answer
        self._unasked: Collection[int | str] = ()  # ids that the last records name
        self._unknown: dict[int | str, None] = {}  # ids that are to be told
        self._untold = 0  # ids that were not asked for
        self._unknown_told = -math.inf

    def reader(self, key: SchemaKey) -> LearnedMessage | None:
        """Return what reads a message; None if it was not learned."""
        return self._memory.reader(key)

    def is_unasked(self, key: SchemaKey) -> bool:
        """Return whether nobody was asked for a schema that records of the last call of `learn` name."""
        return key.id in self._unasked

    async def learn(self, records: Mapping[SchemaKey, int]) -> None:
        """Ask for the schemas that nobody has asked for; each once, whatever it is named by.

        Of a schema that is known, places without a message cost nothing: nothing is asked, and nothing remembered.
        An id that the registry does not know is asked for again after some seconds, before it counts as unknown.
        Ids that `QuestionBudget` has no question for have another chance then.

        Raises RegistryError at the first question that fails; what was learned before stays.

        Parameters
        ----------
        records
            How many records name each schema.
        """
        now = asyncio.get_running_loop().time
        named, counts = dict[int | str, list[SchemaKey]](), Counter[int | str]()
        for key in sorted(records, key=lambda key: (str(key.id).zfill(20), str(key.message))):
            if self._is_nobodys(key.id):
                self._note_unknown(key.id)
                continue
            named.setdefault(key.id, []).append(key)
            counts[key.id] += records[key]
        self._memory.use(named)
        unasked = await self._ask_for_due(named, counts)
        until = self._held_until(counts, unasked, now())
        if until is not None:
            await asyncio.sleep(until - now() + 0.001)  # a timer may be early by the clock's resolution
            unasked = await self._ask_for_due(named, counts)
            for number in self._memory.doubted(named):
                self._note_absent(number, certain=True)
        self._budget.settle(named.keys() - unasked.keys(), unasked)
        self._unasked = unasked
        self._untold += len(unasked)
        self._tell_unknown(now())

    async def _ask_for_due(
        self, named: Mapping[int | str, Sequence[SchemaKey]], counts: Mapping[int | str, int]
    ) -> Mapping[int | str, int]:
        """Ask for what is due; return the ids that were not asked for, and how many records name each."""
        now = asyncio.get_running_loop().time
        due = dict[int | str, list[SchemaKey]]()
        for number, keys in named.items():
            if some := [key for key in keys if self._memory.is_due(key, now())]:
                due[number] = some
        unasked = {number: counts[number] for number in due if not self._is_free(number)}
        turn = {*(due.keys() - unasked.keys()), *self._budget.chosen(unasked, now())}
        if not turn:
            return unasked
        async with self._registry.session() as session:
            while turn:
                for number in turn:
                    unasked.pop(number, None)
                found = await self._ask_all(session, {number: due[number] for number in due if number in turn})
                # What was found cost nothing. Where nothing was, a slow registry would earn questions for ever.
                turn = set(self._budget.chosen(unasked, now())) if found else set()
        return unasked

    async def _ask_all(self, session: RegistrySession, wanted: Mapping[int | str, Sequence[SchemaKey]]) -> int:
        """Ask for schemas, some at a time; return how many there are."""
        answers = dict[int | str, tuple[LearnedSchema, int] | None]()
        turns, untaken, found = iter(wanted.values()), deque(wanted), 0

        async def ask() -> None:
            for keys in turns:
                answers[keys[0].id] = await self._ask(session, keys)
                while untaken and untaken[0] in answers:  # in order: changes are told from one schema to the next
                    take(untaken.popleft())

        def take(number: int | str) -> None:
            nonlocal found
            answer = answers.pop(number)
            if answer is None:
                self._note_absent(number)
            else:
                self._take(wanted[number], *answer)
                found += 1

        asking = [asyncio.create_task(ask()) for _ in range(min(_AT_ONCE, len(wanted)))]
        try:
            await asyncio.gather(*asking)
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
            for number in [each for each in wanted if each in answers]:
                take(number)
        return found

    async def _ask(self, session: RegistrySession, keys: Sequence[SchemaKey]) -> tuple[LearnedSchema, int] | None:
        """Return what is known of a schema, and its size; None if there is none."""
        number = keys[0].id
        if (given := self._given.get(str(number))) is not None:
            found: RegisteredSchema | None = RegisteredSchema(given, self._form.kind)
        else:
            begun = asyncio.get_running_loop().time()
            found = await session.schema(number, alone=not self._form.references)
            self._budget.note_answer((asyncio.get_running_loop().time() - begun) / _AT_ONCE)
        if found is None:
            return None
        async with self._parsing:
            return await asyncio.to_thread(learn, self._form, keys, found), found.size

    def _is_nobodys(self, number: int | str) -> bool:
        """Return whether nobody is asked for an id: AWS Glue is not spoken to, and no id is negative."""
        foreign = self._framing is Framing.GLUE or (isinstance(number, int) and number < 0)
        return foreign and str(number) not in self._given

    def _is_free(self, number: int | str) -> bool:
        """Return whether an id is asked for in any case: it was there once, or waits for its second answer."""
        given, doubted = str(number) in self._given, bool(self._memory.doubted([number]))
        return given or doubted or self._memory.has_had(number)

    def _note_absent(self, number: int | str, *, certain: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        if not self._is_free(number):
            self._budget.spend(now)
        if self._memory.note_absent(number, now, certain=certain):
            self._note_unknown(number)

    def _note_unknown(self, number: int | str) -> None:
        if len(self._unknown) < _MOST_UNKNOWN:
            self._unknown[number] = None

    def _held_until(
        self, counts: Mapping[int | str, int], unasked: Collection[int | str], now: float
    ) -> float | None:
        """Return until when to wait for second answers, and for more questions; None if nothing is waited for.

        A registry's follower may be seconds behind. But ids can also be made up, so records wait for few of them,
        and not often. The other ids that the registry does not know count as unknown.
        """
        often = len(self._holds) == _HOLDS and now - self._holds[0] < _HOLDS_WITHIN
        doubted = self._memory.doubted(sorted(counts, key=counts.__getitem__, reverse=True))
        for number in list(doubted)[0 if often else _MOST_DOUBTED :]:
            self._note_absent(number, certain=True)
            del doubted[number]
        if often or not (doubted or unasked):
            return None
        self._holds.append(now)
        return max([*doubted.values(), *([now + HELD] if unasked else [])])

    def _tell_unknown(self, now: float) -> None:
        """Tell of ids that count as unknown now, those of some seconds at once."""
        if (self._unknown or self._untold) and now - self._unknown_told >= _UNKNOWN_EVERY:
            some = tuple(map(str, itertools.islice(filter(may_be_told, self._unknown), _MOST_TOLD)))
            self._unheard(UnknownSchemas(some, len(self._unknown) - len(some), self._untold))
            self._unknown_told, self._untold = now, 0
            self._unknown.clear()

    def _take(self, keys: Sequence[SchemaKey], answer: LearnedSchema, size: int) -> None:
        answer = self._memory.take(keys, answer, size, asyncio.get_running_loop().time())
        for key, learned in answer.learned.items():
            if learned.fields is None:
                continue
            change = _change(str(key.id), self._fields, learned, self._attributes)
            if learned.reader is not None:
                self._fields = learned.fields
            if change.tells and change not in self._told:
                if len(self._told) >= _MOST_CHANGES:
                    self._told.clear()
                self._told.add(change)
                self._noticed(change)


def _change(
    schema: str, before: FieldTypes | None, learned: LearnedMessage, attributes: Mapping[tuple[str, ...], str]
) -> SchemaChange:
    """Return what a schema says about declared fields, beside the one that was learned before it."""
    if learned.reader is None:
        return SchemaChange(schema, readable=False)
    now = learned.fields or {}
    then = now if before is None else before

    def names(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(sorted(attributes[path] for path in paths))

    return SchemaChange(
        schema,
        lacking=names(path for path in attributes if path not in now),
        vanished=names(path for path in attributes if path in then and path not in now),
        appeared=names(path for path in attributes if path in now and path not in then),
        retyped=names(path for path in attributes if path in now and path in then and now[path] != then[path]),
    )
