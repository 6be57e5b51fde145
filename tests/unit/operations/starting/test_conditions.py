"""Conditions that forbid a run have names, can be accepted by name, and are checked by every worker."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.reading.topic_sample import TopicSample
from stream_anon.adapters.kafka.topics.requirements import TopicFinding, TopicSeverity
from stream_anon.conditions import Condition
from stream_anon.errors import Refused, SettingsError, TopicError
from stream_anon.judging.findings import Finding, Severity
from stream_anon.operations.starting import conditions
from stream_anon.operations.starting.conditions import (
    Deployment,
    Sampled,
    look_at_sample,
    raise_if_forbidden,
    weighed,
)
from stream_anon.service.wiring.clients import connection_of, topics_of
from stream_anon.settings.loading import parse_settings, settings_of_run
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import build_policy
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from tests.support.data import ROOT

RARE = Finding(Severity.FORBIDS, "attributes.note", "9.0% of its values are rare", Condition.RARE_VALUES)
FEW_REPLICAS = Finding(Severity.FORBIDS, "out", "has 1 replicas, 3 are needed", Condition.DURABILITY)
ABSENT = Finding(Severity.FORBIDS, "out", "does not exist", Condition.MISSING_TOPIC)
WARNING = Finding(Severity.WARNS, "window", "is small")


def _settings(*accepted: str, **sections: Any) -> Settings:
    kafka = {"bootstrap_servers": "127.0.0.1:9", "group": "g", "input": "people", "output": "out"}
    return parse_settings(
        {
            **sections,
            "kafka": {**kafka, "accept_risks": list(accepted)},
            "privacy": {"k": 3, "individual": "person"},
            "attributes": {
                "person": {"role": "identifier"},
                "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
            },
        }
    )


Start = Callable[..., Any]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    """Return a start of a worker on a deployment and a sample with these findings."""

    async def begin(
        *accepted: str,
        deployment: tuple[Finding, ...] = (),
        sample: tuple[Finding, ...] = (),
        before: str = "",
        **sections: Any,
    ) -> list[str]:
        settings, looked = _settings(*accepted, **sections), []
        policy = build_policy(settings, Path("policy.yaml"))

        async def look_at_deployment(*_: object) -> Deployment:
            looked.append("deployment")
            return Deployment((), deployment, ("people",))

        async def look_at_sample(*_: object) -> Sampled:
            looked.append("sample")
            return Sampled(None, sample)

        async def read(_: object) -> Any:
            if before == "unreadable":
                raise TopicError("out.certificates: may not be read by this user")
            values = [policy.digest.encode()] if before else []
            return SimpleNamespace(values=lambda: iter(values), is_whole=True)

        def certificate(_: object) -> Any:
            digest = policy.digest if before.startswith("same") else "sha256:of-another-policy"
            accepted = ["rare-values"] if before == "same-accepted" else []
            return SimpleNamespace(policy=digest, accepted=accepted, released=0 if before == "same-nothing" else 9)

        monkeypatch.setattr(conditions, "look_at_deployment", look_at_deployment)
        monkeypatch.setattr(conditions, "look_at_sample", look_at_sample)
        monkeypatch.setattr(conditions, "part_or_none", certificate)
        kafka = settings.kafka
        assert kafka is not None
        certificates: Any = SimpleNamespace(read=read)
        await raise_if_forbidden(connection_of(kafka), topics_of(kafka), kafka, policy, certificates)
        return looked

    return begin


async def test_a_worker_starts_where_nothing_forbids_it(start: Start) -> None:
    assert await start(deployment=(WARNING,), sample=(WARNING,)) == ["deployment", "sample"]


@pytest.mark.parametrize(
    ("deployment", "sample"), [((FEW_REPLICAS,), ()), ((), (RARE,)), ((FEW_REPLICAS,), (RARE,))]
)
async def test_a_worker_refuses_to_start_and_names_what_forbids_it(
    start: Start, deployment: tuple[Finding, ...], sample: tuple[Finding, ...]
) -> None:
    first = (*deployment, *sample)[0]
    with pytest.raises(Refused, match=f"--accept-risk {first.condition}") as caught:
        await start(deployment=deployment, sample=sample)
    assert f"{first.condition}: {first.place}: {first.text}" in str(caught.value)


async def test_an_accepted_condition_lets_a_worker_start_and_no_other_one(start: Start) -> None:
    await start("durability", "rare-values", deployment=(FEW_REPLICAS,), sample=(RARE,))
    with pytest.raises(Refused, match="durability"):
        await start("rare-values", deployment=(FEW_REPLICAS,), sample=(RARE,))


async def test_no_worker_starts_after_the_last_day_of_its_release_not_even_after_windows_were_judged(
    start: Start,
) -> None:
    over = {"valid_until": "2020-02-29"}
    for before in ("", "same"):
        with pytest.raises(Refused, match=r"release-expired: release\.valid_until: was 2020-02-29"):
            await start(before=before, release=over)
    assert await start("release-expired", release=over) == ["deployment", "sample"]
    assert await start(release={"valid_until": "2999-12-31", "review_by": "2020-02-29"}) == ["deployment", "sample"]


async def test_a_missing_topic_is_waited_for(start: Start) -> None:
    with pytest.raises(TopicError, match=r"^out: does not exist$"):
        await start(deployment=(ABSENT, FEW_REPLICAS))


@pytest.mark.parametrize(
    ("before", "accepted", "looks"),
    [
        ("same", (), False),
        ("same-accepted", ("rare-values",), False),
        ("same-accepted", (), True),
        ("same-nothing", (), True),
        ("other", (), True),
        ("unreadable", (), True),
    ],
)
async def test_a_sample_is_judged_unless_a_window_was_published_under_this_policy_and_no_further_risk(
    start: Start, before: str, accepted: tuple[str, ...], looks: bool
) -> None:
    expected = ["deployment", "sample"] if looks else ["deployment"]
    assert await start(*accepted, before=before) == expected


@pytest.mark.parametrize(
    ("values", "unreadable", "complete", "told"),
    [
        ([], 3, True, (Severity.FORBIDS, "none of its newest records can be read: their batches, 3 in all")),
        ([], 0, False, (Severity.FORBIDS, "none of its newest records could be read within 20 s")),
        ([], 0, True, (Severity.WARNS, "holds no records, so rejects")),
        ([b"{}"], 3, True, (Severity.WARNS, "batches among the newest records that nobody can read: 3")),
    ],
)
async def test_an_input_is_not_taken_for_empty_because_nobody_can_read_it(
    monkeypatch: pytest.MonkeyPatch,
    values: list[bytes],
    unreadable: int,
    complete: bool,
    told: tuple[Severity, str],
) -> None:
    records = Records.of([SimpleNamespace(offset=0, timestamp=5, value=each, headers=()) for each in values])
    settings = _settings()
    kafka, policy = settings.kafka, build_policy(settings, Path("policy.yaml"))
    assert kafka is not None

    async def newest_records(*_: object) -> list[TopicSample]:
        return [TopicSample({0: records}, frozenset(), complete, unreadable)]

    monkeypatch.setattr(conditions, "newest_records", newest_records)
    sampled = await look_at_sample(connection_of(kafka), ["people"], policy, kafka)
    severity, text = told
    (finding,) = [each for each in sampled.findings if each.text.startswith(text)]
    assert finding.severity is severity
    assert (finding.condition is Condition.INPUT_UNREADABLE) == (severity is Severity.FORBIDS)
    assert (sampled.study is None) == (severity is Severity.FORBIDS)


def test_findings_are_told_gravest_first_and_accepted_ones_as_such() -> None:
    told = weighed([WARNING, RARE, FEW_REPLICAS], {Condition.RARE_VALUES})
    assert [(each.severity, each.place) for each in told] == [
        (Severity.FORBIDS, "out"),
        (Severity.ACCEPTED, "attributes.note"),
        (Severity.WARNS, "window"),
    ]


def test_every_topic_finding_that_forbids_has_a_name() -> None:
    errors = [
        finding
        for finding in conditions._split([TopicFinding("out", TopicSeverity.ERROR, "x", Condition.DURABILITY)])[1]
        if finding.condition is None
    ]
    assert errors == []
    source = (ROOT / "stream_anon/adapters/kafka/topics/requirements.py").read_text()
    assert all("Condition." in call for call in re.findall(r"Finding\([^\n]*Severity\.ERROR[^\n]*", source))


def test_an_unknown_risk_cannot_be_accepted() -> None:
    with pytest.raises(SettingsError, match=r"kafka\.accept_risks"):
        _settings("mood")


def test_risks_of_the_command_line_stand_beside_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(
        "kafka: {bootstrap_servers: '127.0.0.1:9', group: g, input: a, output: b, accept_risks: [durability]}\n"
        "privacy: {k: 3, individual: p}\n"
        "attributes:\n  p: {role: identifier}\n  age: {role: quasi-identifier, numeric: {min: 0, max: 99}}\n"
    )
    kafka = settings_of_run(path, [Condition.RARE_VALUES]).kafka
    assert isinstance(kafka, KafkaSettings)
    assert kafka.accept_risks == ["durability", "rare-values"]


def test_the_operations_page_explains_every_condition() -> None:
    page = (ROOT / "docs/guides/operations.md").read_text()
    for condition in Condition:
        assert f"| `{condition}` | {condition.meaning} |" in page
