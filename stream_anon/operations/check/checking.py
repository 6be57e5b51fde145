"""Look before a run: settings, policy, broker, topics, permissions, and a sample of the input; or a file.

Nothing is written, no group is joined, nothing is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.conditions import Condition
from stream_anon.errors import RegistryError, TopicError
from stream_anon.formats.codecs import check_formats, codec_of
from stream_anon.formats.tables.format_names import STANDARD, Format
from stream_anon.formats.tables.record_files import open_reader
from stream_anon.formats.tables.undeclared_samples import first_texts
from stream_anon.judging.findings import Finding, Severity
from stream_anon.judging.refusing import weighed
from stream_anon.judging.sample_findings import sample_findings
from stream_anon.judging.sample_study import Study, sampled_by, study_table
from stream_anon.judging.validity import standing_findings
from stream_anon.microdata.policy import Policy
from stream_anon.operations.starting.attribute_facts import AttributeFacts, attribute_facts
from stream_anon.operations.starting.conditions import Sampled, look_at_deployment, look_at_sample
from stream_anon.operations.starting.ledger_findings import ledger_findings
from stream_anon.operations.starting.rollout import NewestCertificates, published_before, rollout_findings
from stream_anon.operations.starting.schema_findings import output_findings
from stream_anon.service.wiring.clients import connection_of, formats_of, topics_of
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.policy_file import build_policy, load_policy
from stream_anon.settings.sections.certificate_settings import signing_key_of
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from stream_anon.settings.service_keys import draws_key_of, returns_key_of


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `check` found.

    Parameters
    ----------
    source
        Whose records were looked at: topics or a file.
    seen
        What is as it must be.
    findings
        What forbids a run, what was accepted, and what the operator should know.
    study
        None where the input could not be read.
    complete
        Whether the sample was read as far as was asked for in the time it may take.
    """

    policy: Policy
    source: str
    attributes: tuple[AttributeFacts, ...]
    seen: tuple[str, ...]
    findings: tuple[Finding, ...]
    study: Study | None
    complete: bool

    @property
    def forbids(self) -> bool:
        """Return whether a run must not start."""
        return any(finding.severity is Severity.FORBIDS for finding in self.findings)

    def document(self) -> dict[str, Any]:
        """Return the report as an object that JSON can hold; it names declared attributes and no value."""
        return {
            "forbids": self.forbids,
            "policy": self.policy.digest,
            "release": self.policy.release.told,
            "findings": [asdict(finding) for finding in self.findings],
            "seen": list(self.seen),
            "attributes": [asdict(facts) for facts in self.attributes],
            "sample": None if self.study is None else {"complete": self.complete, **asdict(self.study)},
        }


async def examine_deployment(config: Path, accepted: tuple[Condition, ...] = ()) -> CheckReport:
    """Return what speaks for and against a run with these settings.

    It takes at most two minutes, and one more where a slow registry is asked for schemas.

    Parameters
    ----------
    accepted
        Conditions that are accepted beside those of the settings.

    Raises
    ------
    SettingsError
        If the settings or the policy are wrong.
    BrokerError
        If no broker answers.
    """
    settings = load_settings(config)
    kafka = kafka_of(settings)
    policy = build_policy(settings, config)
    policy.check_streamed()
    check_formats(policy, formats_of(kafka))
    draws_key_of(settings)
    signing_key_of(settings.certificates)
    if settings.privacy.returning is not None and settings.privacy.returning.key_file is not None:
        returns_key_of(settings)
    connection, topics = connection_of(kafka), topics_of(kafka, settings.privacy.returning)
    deployment = await look_at_deployment(connection, topics, kafka, policy)
    try:
        sampled = await look_at_sample(connection, deployment.inputs, policy, kafka)
    except RegistryError as error:  # all else can be told without it
        sampled = Sampled(None, (Finding(Severity.WARNS, "kafka.registry", f"no record was sampled: {error}"),))
    standing = standing_findings(policy, SystemClock().wall())
    findings = [*deployment.findings, *standing, *sampled.findings]
    findings += await output_findings(policy, formats_of(kafka))
    absent = {each.place for each in deployment.findings if each.condition is Condition.MISSING_TOPIC}
    if kafka.certificates not in absent:
        findings += await _rollout(connection, kafka, policy, settings.privacy.accept_weaker)
    if kafka.delivery == "exactly-once":
        # A worker meets the same in its takeover: it goes on from such offsets, and says so.
        findings += await ledger_findings(connection, topics, deployment.inputs)
    return CheckReport(
        policy,
        str(kafka.inputs),
        attribute_facts(policy),
        deployment.seen,
        weighed(findings, {*kafka.accept_risks, *accepted}),
        sampled.study,
        sampled.complete,
    )


def examine_file(
    config: Path, name: str, accepted: Sequence[Condition] = (), standard: Format = Format.JSONL
) -> CheckReport:
    """Return what speaks for and against a release of a file; no broker is asked.

    All records of the file are counted, by the conditions that forbid `stream-anon anonymize`.

    Parameters
    ----------
    name
        A file in a format of `anonymize`; `-` for standard input, which holds `standard`.

    Raises
    ------
    SettingsError
        If the policy is wrong.
    InputError
        If the file cannot be read, or lacks a column that the policy declares.
    """
    policy = load_policy(config)
    texts = first_texts(name, sampled_by(policy))
    with closing(open_reader(name, policy, codec_of(policy).decode, standard)) as reader:
        found = study_table(policy, reader, texts)
    standing = standing_findings(policy, SystemClock().wall())
    findings = weighed([*standing, *sample_findings(policy, found)], accepted)
    source = "standard input" if name == STANDARD else name
    return CheckReport(policy, source, attribute_facts(policy), (), findings, found, complete=True)


async def _rollout(connection: Connection, kafka: KafkaSettings, policy: Policy, accepted: str) -> list[Finding]:
    """Compare with the policy under which the output was published last."""
    try:
        before = await published_before(NewestCertificates(connection, kafka.certificates), policy.digest)
    except TopicError as error:
        return [Finding(Severity.FORBIDS, kafka.certificates, str(error), Condition.PERMISSIONS)]
    return rollout_findings(policy, before, accepted, ledger=kafka.delivery == "exactly-once")
