"""Make clients from the section on Kafka: the connection, the topics, and how records stand in them."""

from __future__ import annotations

from dataclasses import replace

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.client.security import Security
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.formats.codecs import RecordFormats
from stream_anon.formats.envelopes.wrapping import EnvelopeKind, Updates, Wrapping
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from stream_anon.settings.sections.privacy_settings import ReturningSettings


def connection_of(kafka: KafkaSettings) -> Connection:
    """Return where the brokers are and how to reach them."""
    given = kafka.security
    security = Security(
        protocol=given.protocol,
        mechanism=given.sasl_mechanism,
        username=given.username,
        password=given.password.get_secret_value() if given.password else None,
        password_file=given.password_file,
        token_file=given.token_file,
        token_command=tuple(given.token_command or ()),
        token_endpoint=given.token_endpoint,
        token_ca_file=given.token_ca_file,
        client_id=given.client_id or "",
        client_secret=given.client_secret.get_secret_value() if given.client_secret else None,
        client_secret_file=given.client_secret_file,
        scope=given.scope or "",
        aws_region=given.aws_region or "",
        ca_file=given.ca_file,
        certificate_file=given.certificate_file,
        key_file=given.key_file,
        key_password=given.key_password.get_secret_value() if given.key_password else None,
        key_password_file=given.key_password_file,
    )
    return Connection(
        kafka.bootstrap_servers,
        kafka.group,
        security,
        kafka.session_timeout,
        kafka.transaction_timeout,
        kafka.compression,
    )


def topics_of(kafka: KafkaSettings, returning: ReturningSettings | None = None) -> Topics:
    """Return the topics of a service; with `returning` the one that counts releases is among them."""
    topics = Topics(kafka.inputs, kafka.output, kafka.certificates, kafka.dead_letters, kafka.ledger)
    return topics if returning is None else replace(topics, returns=kafka.returns, period=returning.period)


def outputs_of(kafka: KafkaSettings) -> tuple[str, str, str]:
    """Return the topics for records, certificates and dead letters."""
    return kafka.output, kafka.certificates, kafka.dead_letters


def formats_of(kafka: KafkaSettings) -> RecordFormats:
    """Return how records stand in the topics: their formats and envelopes, and where their schemas are."""
    given = kafka.registry
    wrapping = Wrapping(EnvelopeKind(kafka.envelope), Updates(kafka.updates), kafka.output_envelope == "connect")
    if given is None:
        return RecordFormats(wrapping=wrapping)
    access = RegistryAccess(
        given.url,
        given.framing,
        given.schemas,
        username=given.username,
        password=given.password.get_secret_value() if given.password else None,
        password_file=given.password_file,
        token=given.token.get_secret_value() if given.token else None,
        token_file=given.token_file,
        ca_file=given.ca_file,
        certificate_file=given.certificate_file,
        key_file=given.key_file,
        timeout=given.timeout,
    )
    subject = given.subject or f"{kafka.output}-value"
    formats = kafka.formats
    return RecordFormats(formats.input, formats.output, access, subject, given.register_schema, wrapping)
