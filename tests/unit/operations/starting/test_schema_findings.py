"""What `check` says of the output's schema: it asks the registry beforehand, and registers nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aiohttp import web

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.conditions import Condition
from stream_anon.formats.avro.encoding import AvroEncoder
from stream_anon.formats.codecs import RecordFormats
from stream_anon.judging.findings import Finding, Severity
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.schemas.avro import avro_schema
from stream_anon.operations.starting.schema_findings import output_findings
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy
from tests.support.registry.memory_registry import MemoryRegistry

SUBJECT = "out-value"
OTHER = '{"type": "string"}'
FORBIDDEN = [(Severity.FORBIDS, "kafka.registry", Condition.OUTPUT_SCHEMA)]
WARNED = [(Severity.WARNS, "kafka.registry", None)]


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return load_policy(write_policy(tmp_path, output={"shape": "flat"}))


async def findings(
    registry: MemoryRegistry, policy: Policy, form: str = "avro", *, register: bool = True
) -> list[Finding]:
    """Return the findings; whatever they are, nothing was registered."""
    before = {subject: [*numbers] for subject, numbers in registry.subjects.items()}
    access = RegistryAccess(registry.url, timeout=0.5)
    found = await output_findings(policy, RecordFormats("json", form, access, SUBJECT, register))
    assert registry.subjects == before
    assert f"POST /subjects/{SUBJECT}/versions" not in registry.asked
    return found


def told(found: list[Finding]) -> list[tuple[Severity, str, Condition | None]]:
    return [(each.severity, each.place, each.condition) for each in found]


@pytest.mark.parametrize("form", ["avro", "json-schema", "protobuf"])
@pytest.mark.parametrize("judges", [{"versions", "latest"}, {"latest"}])
async def test_a_schema_that_the_registry_would_refuse_forbids_a_run(
    policy: Policy, form: str, judges: set[str]
) -> None:
    if form == "protobuf":
        pytest.importorskip("grpc_tools", reason="needs the extra protobuf")
    async with MemoryRegistry() as registry:
        registry.judges = judges
        registry.add(OTHER, subject=SUBJECT)
        assert await findings(registry, policy, form) == []
        registry.refuses = True
        found = await findings(registry, policy, form)
        assert told(found) == FORBIDDEN
        assert f"the schemas of the subject {SUBJECT}. Change the subject's compatibility" in found[0].text


async def test_a_subject_that_has_the_schema_already_takes_it_though_a_newer_one_differs(policy: Policy) -> None:
    async with MemoryRegistry() as registry:
        registry.add(AvroEncoder(policy).schema, subject=SUBJECT)
        registry.add(OTHER, subject=SUBJECT)
        registry.refuses = True
        assert await findings(registry, policy) == []


async def test_a_subject_without_a_schema_and_a_registry_that_judges_nothing_are_no_finding(policy: Policy) -> None:
    async with MemoryRegistry() as registry:
        registry.refuses = True
        assert await findings(registry, policy) == []
        registry.add(OTHER, subject=SUBJECT)
        registry.judges = set()
        assert await findings(registry, policy) == []


@pytest.mark.parametrize("register", [True, False])
async def test_a_registry_that_is_away_is_warned_of(policy: Policy, register: bool) -> None:
    async with MemoryRegistry() as registry:
        registry.fault = web.Response(status=500)
        assert told(await findings(registry, policy, register=register)) == WARNED
        registry.fault = web.Response(status=401)
        assert told(await findings(registry, policy, register=register)) == WARNED
        registry.fault = None
        registry.speaking.clear()
        assert told(await findings(registry, policy, register=register)) == WARNED
        registry.speaking.set()
    assert told(await findings(registry, policy, register=register)) == WARNED


async def test_an_answer_that_is_no_verdict_is_warned_of_and_no_consent(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with MemoryRegistry() as registry:
        registry.add(OTHER, subject=SUBJECT)
        for status, body, expected in (
            (200, "{}", WARNED),
            (200, '{"is_compatible": "yes"}', WARNED),
            (403, '{"error_code": 403}', WARNED),
            (422, '{"error_code": 42201}', FORBIDDEN),
            (422, "<html>", WARNED),
        ):
            answer = web.Response(status=status, text=body)
            monkeypatch.setattr(registry, "verdict", answer)
            assert told(await findings(registry, policy)) == expected, (status, body)


async def test_where_nothing_may_be_registered_the_newest_schema_must_be_the_outputs(policy: Policy) -> None:
    async with MemoryRegistry() as registry:
        assert told(await findings(registry, policy, register=False)) == WARNED  # a worker waits for it
        registry.add(OTHER, subject=SUBJECT)
        assert told(await findings(registry, policy, register=False)) == FORBIDDEN
        registry.add(json.dumps(avro_schema(policy) | {"doc": "another"}), subject=SUBJECT)
        assert await findings(registry, policy, register=False) == []


async def test_of_json_no_registry_is_asked(policy: Policy) -> None:
    assert await output_findings(policy, RecordFormats()) == []
    async with MemoryRegistry() as registry:
        assert await findings(registry, policy, "json") == []
        assert registry.asked == []
