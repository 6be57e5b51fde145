"""Negotiate a policy's levels over a sample: read it, build the lattice, ask, and say how long the answer took.

The sample is a file, or the newest records of the input topic, as `check` reads them: nothing is written, no group
is joined. What leaves here are counts, and names that the policy declares.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from stream_anon.adapters.codecs import codec_of
from stream_anon.adapters.tables.format_names import Format
from stream_anon.adapters.tables.formats import open_reader
from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Clock
from stream_anon.recoding.lattice.lattice import Lattice
from stream_anon.recoding.lattice.levels import AttributeLevels, by_name, levels_of
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.lattice.subset import chosen_levels
from stream_anon.recoding.negotiation import Answer, Request, Scheme, negotiate
from stream_anon.service.starting.conditions import look_at_deployment, newest_records, sample_of
from stream_anon.settings.kafka_section import connection_of, kafka_of, topics_of
from stream_anon.settings.loading import load_settings

_TIMED = 5  # answers, of which the median time is told


def parse_bound(text: str) -> RecordBound:
    """Return the bound that `40` or `0.5%` stands for; SettingsError for any other text."""
    bound = RecordBound.parse(text)
    if bound is None:
        raise SettingsError("--max-suppressed", "must be a number of records, such as 40, or a share, such as 0.5%")
    return bound


@dataclass(frozen=True, slots=True)
class NegotiationRequest:
    """What the options of the command ask for.

    Parameters
    ----------
    k, l
        None: what the policy asks for.
    limits
        Highest level of the hierarchy by attribute; none for an attribute that may go up to its root.
    """

    k: int | None
    l: int | None  # noqa: E741 - the letter of the paper
    limits: Mapping[str, int]
    most_suppressed: RecordBound


@dataclass(frozen=True, slots=True)
class FittingSample:
    """The sample: its rows that fit the policy, and how many did not."""

    rows: Rows
    rejected: int


@dataclass(frozen=True, slots=True)
class Negotiation:
    """An answer with what it is about.

    Parameters
    ----------
    lattice
        That was asked.
    nodes, nodes_in_all
        Its nodes; and those of the lattice of all levels, of which it may be a chosen subset.
    sensitive
        The attributes whose values l counts.
    milliseconds
        Median time of the answer.
    """

    request: Request
    lattice: Lattice
    answer: Answer
    records: int
    individuals: int
    rejected: int
    nodes: int
    nodes_in_all: int
    sensitive: tuple[str, ...]
    milliseconds: float

    @property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Return the lattice's levels, by attribute."""
        return self.lattice.levels

    @property
    def subset(self) -> bool:
        """Return whether the answer is the best of a chosen subset of levels only."""
        return self.nodes < self.nodes_in_all

    def named(self, levels: Sequence[int]) -> dict[str, int]:
        """Return levels of the lattice as levels of the hierarchies."""
        return dict(by_name(self.levels, levels))

    def document(self) -> dict[str, Any]:
        """Return the answer as an object that JSON can hold."""
        exact, relaxations = self.answer.exact, self.answer.relaxations
        document: dict[str, Any] = {"exact": self._scheme(exact), "relaxations": None}
        if relaxations is not None:
            weaker = relaxations.privacy
            privacy = weaker and {
                "k": weaker.k,
                **({"l": weaker.l} if self.request.l > 1 else {}),
                "suppressed": weaker.suppressed,
            }
            document["relaxations"] = {
                "suppression": self._scheme(relaxations.suppression),
                "height": self._scheme(relaxations.height),
                "privacy": privacy,
            }
        document |= {"visited": self.answer.visited, "milliseconds": round(self.milliseconds, 3)}
        if self.subset:
            document["subset"] = {"nodes": self.nodes, "of": self.nodes_in_all}
        return document

    def _scheme(self, scheme: Scheme | None) -> dict[str, Any] | None:
        if scheme is None:
            return None
        return {"levels": self.named(scheme.levels), "suppressed": scheme.suppressed}


def negotiate_over(policy: Policy, table: FittingSample, asked: NegotiationRequest, clock: Clock) -> Negotiation:
    """Build the lattice over a sample and answer.

    Raises
    ------
    SettingsError
        If the policy has no such attribute or level, or nothing can answer: see `negotiate`.
    InputError
        If no record fits the policy.
    """
    rows = table.rows
    if not len(rows):
        raise InputError(f"no record of the sample fits the policy; {table.rejected:,} do not")
    every = [levels_of(a, codes) for a, codes in zip(policy.quasi_identifiers, rows.codes, strict=True)]
    wanted = _limits(policy, every, asked.limits)
    levels = chosen_levels(every, rows, wanted)
    lattice = Lattice(levels, rows)
    limits = tuple(own.at_most(all_.numbers[top]) for own, all_, top in zip(levels, every, wanted, strict=True))
    k, l = asked.k or policy.k, wanted_l(policy, asked.l)  # noqa: E741
    request = Request(k, limits, asked.most_suppressed.of(len(rows)), l)
    times = []
    for _ in range(_TIMED):
        begun = clock.monotonic()
        answer = negotiate(lattice, request)
        times.append(1000 * (clock.monotonic() - begun))
    return Negotiation(
        request,
        lattice,
        answer,
        len(rows),
        lattice.individuals,
        table.rejected,
        lattice.shape.nodes,
        prod(each.height + 1 for each in every),
        tuple(attribute.name for attribute in counted_policy(policy, l).diverse),
        median(times),
    )


def wanted_l(policy: Policy, asked: int | None) -> int:
    """Return the distinct values that each group must hold: those asked for, else the most that the policy asks."""
    if asked is None:
        return max((each.values for each in policy.diversity.values()), default=0) or 1
    if asked > 1 and not any(isinstance(attribute, Sensitive) for attribute in policy.attributes):
        raise SettingsError("--l", "needs an attribute with role: sensitive")
    return asked


def counted_policy(policy: Policy, l: int) -> Policy:  # noqa: E741
    """Return the policy under which the sensitive values are read that l counts.

    These are the attributes for which the policy has a criterion; where it has none, all sensitive ones.
    """
    names = [a.name for a in policy.attributes if isinstance(a, Sensitive)]
    names = [name for name in names if name in policy.diversity] or names
    diversity = {name: Diversity(distinct_l=l) for name in names} if l > 1 else {}
    return replace(policy, diversity=diversity)


def _limits(policy: Policy, levels: Sequence[AttributeLevels], asked: Mapping[str, int]) -> list[int]:
    heights = {attribute.name: attribute.domain.height for attribute in policy.quasi_identifiers}
    for name, number in asked.items():
        if name not in heights:
            raise SettingsError("--max-level", f"{name} is no quasi-identifier of the policy")
        if not 0 <= number <= heights[name]:
            raise SettingsError("--max-level", f"{name} has levels 0 to {heights[name]}")
    return [own.at_most(asked.get(own.name, heights[own.name])) for own in levels]


def table_of_file(policy: Policy, name: str, standard: Format = Format.JSONL) -> FittingSample:
    """Return all records of a CSV or JSON Lines file, `-` for standard input; InputError if it cannot be read."""
    with closing(open_reader(name, policy, codec_of(policy).decode, standard)) as reader:
        return _table(policy, list(reader))


def table_of_topic(policy: Policy, config: Path) -> FittingSample:
    """Return the newest records of a deployment's input, as many as `check` judges.

    Raises
    ------
    InputError
        If no input topic is there.
    BrokerError
        If no broker answers, or the input cannot be read.
    """
    settings = load_settings(config)
    kafka = kafka_of(settings)

    async def read() -> CodedBatch:
        connection = connection_of(kafka)
        deployment = await look_at_deployment(connection, topics_of(kafka), kafka, policy)
        if not deployment.inputs:
            raise InputError(f"{kafka.inputs}: there is no such topic to take a sample from")
        sample = sample_of(*await newest_records(connection, deployment.inputs, policy))
        codec = codec_of(policy, kafka.max_record_bytes)
        return await asyncio.to_thread(codec.decode, sample.values, 0, np.arange(len(sample), dtype=np.int64))

    return _table(policy, [asyncio.run(read())])


def _table(policy: Policy, batches: list[CodedBatch]) -> FittingSample:
    empty = np.empty((len(policy.quasi_identifiers), 0), np.int32)
    none = Rows(empty, np.empty(0, np.int64), np.empty((len(policy.diverse), 0), np.int64))
    rejected = sum(len(batch.rejects) for batch in batches)
    return FittingSample(Rows.of(batches) if batches else none, rejected)
