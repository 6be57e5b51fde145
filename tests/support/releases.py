"""Releases and their certificates by hand: what an engine would give, computed plainly, class by class."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from stream_anon.microdata.attributes import (
    Attribute,
    Identifier,
    Insensitive,
    PublishedForm,
    ScalarType,
    Sensitive,
)
from stream_anon.microdata.batch import NO_ATTRIBUTE, Reason, Rejects
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import SUPPRESSED, Classes, InputRange, Release, Suppression
from stream_anon.privacy.certificate import Certificate, join_parts, read_part
from stream_anon.privacy.certifying import CertificateFrame

Record = Mapping[str, Any]

ILLNESSES = {"respiratory": ["flu", "cold"], "heart": ["infarct", "angina", "stroke"], "none": None}


def ward_policy(k: int | None = 3, **changes: Any) -> Policy:
    """Return a policy with an attribute of every kind."""
    attributes: tuple[Attribute, ...] = (
        Identifier("person"),
        QuasiIdentifier("patient.age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0)),
        QuasiIdentifier("patient.zip", PrefixDomain(5, "0123456789", 5)),
        QuasiIdentifier("illness", CategoricalDomain(Hierarchy.from_tree(ILLNESSES))),
        QuasiIdentifier("day", DateDomain("%Y-%m-%d", dt.date(2024, 1, 1), dt.date(2025, 12, 31))),
        QuasiIdentifier(
            "plan", CategoricalDomain(Hierarchy.flat(["a", "b", "c", "d"])), publication=PublishedForm.VALUES
        ),
        QuasiIdentifier("weight", NumericDomain(Decimal(30), Decimal(150), Decimal("0.5"), 1, tight=True)),
        Sensitive("result", ScalarType.STRING),
        Insensitive("visits", ScalarType.INTEGER),
    )
    given: dict[str, Any] = {
        "attributes": attributes,
        "k": k,
        "individual": "person",
        "diversity": {"result": Diversity(2)},
        "digest": "sha256:" + "0" * 64,
    }
    return Policy(**(given | changes))


def ward_people(count: int, *, first: int = 0, age: int = 20, illness: str = "flu") -> list[dict[str, Any]]:
    """Return records of `count` similar people."""
    return [
        {
            "person": f"p{first + i}",
            "patient.age": age + i % 5,
            "patient.zip": f"123{i % 7}0",
            "illness": illness,
            "day": f"2024-05-{1 + i % 9:02}",
            "plan": "ab"[i % 2],
            "weight": 70 + i % 3 / 2,
            "result": ("fine", "poor", "bad")[i % 3],
            "visits": i,
        }
        for i in range(count)
    ]


def release_of(
    policy: Policy,
    groups: Sequence[Sequence[Record]],
    *,
    unplaced: Sequence[Record] = (),
    over_limit: int = 0,
    rejected: Sequence[Reason] = (),
    ranges: Sequence[InputRange] | None = None,
    seed: int = 0,
    reached: Mapping[str, Mapping[str, float]] | None = None,
) -> Release:
    """Return the release in which every group is generalized on its own; groups published alike are one class."""
    merged: dict[str, tuple[list[_Published], list[Record]]] = {}
    for group in groups:
        published = [_publish(qi, [record.get(qi.name) for record in group]) for qi in policy.quasi_identifiers]
        merged.setdefault(repr([one[2] for one in published]), (published, []))[1].extend(group)
    names = [attribute.name for attribute in policy.passed]
    kept = [record for _, group in merged.values() for record in group]
    payload = [tuple(record.get(name) for name in names) for record in (*kept, *unplaced)]
    class_of_row = np.repeat(np.arange(len(merged)), [len(group) for _, group in merged.values()])
    class_of_row = np.concatenate([class_of_row, np.full(len(unplaced), SUPPRESSED)]).astype(np.int32)
    classes = _classes(policy, list(merged.values()))
    suppressed = {Suppression.UNPLACED: len(unplaced), Suppression.OVER_LIMIT: over_limit}
    lost = len(unplaced) + over_limit
    judged = len(kept) + lost
    total = float((classes.ncp.mean(axis=0) * classes.records).sum()) + lost if len(classes) else float(lost)
    rejects = Rejects.of([(int(reason), NO_ATTRIBUTE, 0, i) for i, reason in enumerate(rejected)])
    return Release(
        classes=classes,
        class_of_row=class_of_row,
        order=np.random.default_rng(seed).permutation(len(kept)),
        payload=payload,
        suppressed=suppressed,
        rejects=rejects,
        ranges=tuple(ranges or [InputRange(0, 0, judged + len(rejects))]),
        arrivals=(),
        opened_at=0.0,
        closed_at=1.0,
        achieved_k=int(classes.individuals.min()) if len(classes) else None,
        achieved_l={
            name: min(len({record[name] for record in group}) for _, group in merged.values())
            for name in policy.diversity
            if merged and policy.diversity[name].values
        },
        gcp=total / judged if judged else None,
        achieved_spread=reached or {},
    )


def released_records(release: Release, policy: Policy) -> list[dict[str, Any]]:
    """Return the released records in the order in which they are published, paths nested."""
    names = [qi.name for qi in policy.quasi_identifiers]
    passed = [attribute.name for attribute in policy.passed]
    records = []
    for row in release.order.tolist():
        number = int(release.class_of_row[row])
        source = dict(zip(passed, release.payload[row], strict=True))
        record: dict[str, Any] = {}
        for attribute in policy.published:
            inner = record
            for key in attribute.path[:-1]:
                inner = inner.setdefault(key, {})
            quasi = attribute.name in names
            inner[attribute.path[-1]] = (
                release.classes.values[names.index(attribute.name)][number] if quasi else source[attribute.name]
            )
        records.append(record)
    return records


def frame_of(
    release: Release,
    number: int = 1,
    previous: str | None = None,
    promises: str | None = None,
    topic_id: str | None = None,
    minutes: int = 0,
) -> CertificateFrame:
    """Return the frame of window `number`, some minutes after eight, with source s as partition s of one topic."""
    return CertificateFrame(
        batch=f"{number:032x}",
        opened=f"2024-05-13T08:{minutes:02}:00Z",
        closed=f"2024-05-13T08:{minutes:02}:30Z",
        inputs=tuple(("people", place.source, place.start, place.end) for place in release.ranges),
        delivery="exactly-once",
        software="stream-anon 0",
        previous=previous,
        promises=promises,
        topic_ids={} if topic_id is None else {"people": topic_id},
    )


_Published = tuple[int, int, Any, float]


def read_certificate(parts: Sequence[bytes]) -> Certificate:
    """Return the certificate that `certificate_parts` wrote; `CertificateError` if it could not have."""
    return join_parts([read_part(part) for part in parts])


def _publish(qi: QuasiIdentifier, values: Sequence[object]) -> _Published:
    codes = [qi.code(value) for value in values]
    low, high = min(codes), max(codes)
    if qi.publication is PublishedForm.VALUES:
        return low, high, qi.publish_set(codes), qi.ncp_set(codes)
    low, high = qi.node(low, high)
    return low, high, qi.publish(low, high), qi.ncp(low, high)


def _classes(policy: Policy, merged: Sequence[tuple[Sequence[_Published], Sequence[Record]]]) -> Classes:
    q = len(policy.quasi_identifiers)
    columns = [[published[i] for published, _ in merged] for i in range(q)]
    return Classes(
        low=np.array([[one[0] for one in column] for column in columns], np.int32),
        high=np.array([[one[1] for one in column] for column in columns], np.int32),
        values=[[one[2] for one in column] for column in columns],
        records=np.array([len(group) for _, group in merged], np.int64),
        individuals=np.array([len({record["person"] for record in group}) for _, group in merged], np.int64),
        ncp=np.array([[one[3] for one in column] for column in columns], np.float64).reshape(q, len(merged)),
    )
