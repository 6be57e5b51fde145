"""Settings of the topics, and of the connection to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from stream_anon.conditions import Condition
from stream_anon.formats.registered_formats import REGISTERED
from stream_anon.ports import MOST_RECORD_BYTES
from stream_anon.ports.input_topics import InputTopics
from stream_anon.settings.formats.registry import FormatName, FormatSettings, RegistrySettings
from stream_anon.settings.section import Duration, Section

FAULT_PATTERN = r"^$|^(closing|takeover)\.\d+:(kill|stop|fail)(@\d+)?$"
# A host name, an address in figures, or one of version 6, in brackets where a port follows.
_ADDRESS = r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*"
# Without encryption the client's secret would travel in the open, so only to this very machine.
_ENDPOINT = r"^(https://[^\s/@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?)(/\S*)?$"
_REGION = r"^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$"

TopicName = Annotated[str, Field(min_length=1)]


def _servers(value: str) -> str:
    """Return addresses of brokers if each is a host, maybe with a port."""
    for number, address in enumerate(value.split(","), 1):
        found = re.fullmatch(_ADDRESS, address.strip())
        if found is None or not 0 < int(found["port"] or 1) < 65_536:
            raise ValueError(f"must be HOST:PORT of some brokers, comma-separated; number {number} is not")
    return value


class SecuritySettings(Section):
    """How the connection to the broker is secured. A secret may stand in a file of its own instead: `*_file`."""

    explanation: ClassVar[
        str
    ] = """How to set it up and what a user must be allowed: [kafka.md](../guides/kafka.md). A SASL protocol needs
`sasl_mechanism` and, for PLAIN and SCRAM, `username` and either `password` or `password_file`; for OAUTHBEARER
one of `token_file`, `token_command` and `token_endpoint`, the last with `client_id` and `client_secret_file` or
`client_secret`; for AWS_MSK_IAM `aws_region`. Keep passwords out of the settings file: in a variable, or in a file
of their own."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """Encryption and login."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"] | None = None
    """How to log in, for SASL protocols."""
    username: str | None = None
    """Name to log in with."""
    password: SecretStr | None = None
    """Password to log in with."""
    password_file: Path | None = None
    """File that holds the password."""
    token_file: Path | None = None
    """For OAUTHBEARER: file that holds the token; read anew for each connection."""
    token_command: list[str] | None = Field(default=None, min_length=1)
    """For OAUTHBEARER: program and arguments; it prints a token. Run without a shell."""
    token_endpoint: str | None = Field(default=None, pattern=_ENDPOINT)
    """For OAUTHBEARER: https address that gives tokens to OpenID clients (client credentials)."""
    token_ca_file: Path | None = None
    """Certificates to trust at `token_endpoint`, PEM; by default those of the system."""
    client_id: str | None = Field(default=None, min_length=1)
    """Name of this client at `token_endpoint`."""
    client_secret: SecretStr | None = None
    """The client's secret."""
    client_secret_file: Path | None = None
    """File that holds the client's secret; read anew for each token."""
    scope: str | None = Field(default=None, min_length=1)
    """Scopes to ask for at `token_endpoint`, with blanks between."""
    aws_region: str | None = Field(default=None, pattern=_REGION)
    """For AWS_MSK_IAM: region of the cluster, such as eu-west-1. Needs the extra `msk`."""
    ca_file: Path | None = None
    """Certificates to trust, PEM."""
    certificate_file: Path | None = None
    """The client's certificate, PEM."""
    key_file: Path | None = None
    """The client's key, PEM."""
    key_password: SecretStr | None = None
    """Password of the client's key, where it has one."""
    key_password_file: Path | None = None
    """File that holds the key's password."""

    @model_validator(mode="after")
    def _complete(self) -> SecuritySettings:
        sasl, tokens = self.protocol.startswith("SASL"), self.sasl_mechanism == "OAUTHBEARER"
        if sasl and not self.sasl_mechanism:
            raise ValueError("a SASL protocol needs sasl_mechanism")
        iam = self.sasl_mechanism == "AWS_MSK_IAM"
        if sasl and not tokens and not iam and not (self.username and (self.password or self.password_file)):
            raise ValueError("a SASL protocol needs sasl_mechanism, username and password or password_file")
        if self.password and self.password_file:
            raise ValueError("give password or password_file, not both")
        ways = [way for way in (self.token_file, self.token_command, self.token_endpoint) if way is not None]
        if sasl and tokens and len(ways) != 1:
            raise ValueError("sasl_mechanism OAUTHBEARER needs one of token_file, token_command and token_endpoint")
        secret = (self.client_secret is None) != (self.client_secret_file is None)
        if self.token_endpoint and not (self.client_id and secret):
            raise ValueError("token_endpoint needs client_id and either client_secret or client_secret_file")
        stray = (self.token_ca_file, self.client_id, self.client_secret, self.client_secret_file, self.scope)
        if not self.token_endpoint and any(given is not None for given in stray):
            raise ValueError(
                "token_ca_file, client_id, client_secret, client_secret_file and scope are for token_endpoint"
            )
        if self.key_file and not self.certificate_file:
            raise ValueError("key_file is for a certificate_file")
        if self.key_password and self.key_password_file:
            raise ValueError("give key_password or key_password_file, not both")
        return self

    @model_validator(mode="after")
    def _signed(self) -> SecuritySettings:
        iam = self.sasl_mechanism == "AWS_MSK_IAM"
        if iam != (self.aws_region is not None):
            raise ValueError("sasl_mechanism AWS_MSK_IAM needs aws_region, which is for no other")
        if iam and self.protocol != "SASL_SSL":  # whoever reads a signed token may log in with it
            raise ValueError("sasl_mechanism AWS_MSK_IAM needs protocol SASL_SSL")
        if iam and (self.token_file or self.token_command or self.token_endpoint):
            raise ValueError("token_file, token_command and token_endpoint are for OAUTHBEARER")
        return self


class InputSettings(Section):
    """All topics whose names fit, those that appear later too."""

    explanation: ClassVar[
        str
    ] = """Instead of one topic or a list of topics. The pattern must not fit a topic of the service's
own: where `people.anonymous` lies beside `people.north`, write `people\\.(?!anonymous).*`. A topic that appears
later is noticed within 10 s and read from `kafka.start` on."""

    pattern: str = Field(min_length=1)
    """Regular expression that fits whole names of topics."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        return pattern


class KafkaSettings(Section):
    """The topics between which a service works, and the topics beside them."""

    explanation: ClassVar[
        str
    ] = """Needed by `run`, `check`, `topics`, `forget`, `realign`, and by `audit` without files; files need no
such section. `input`, `output`, `certificates`, `dead_letters`, `ledger` and `returns` must be different topics.
[exactly-once.md](../explain/exactly-once.md) says what the protocol does with these settings, and
[change-events.md](../guides/change-events.md) explains envelopes. `fault` is allowed with `development: true`
only."""

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(min_length=1)
    """Host and port of some brokers, comma-separated."""
    group: str = Field(min_length=1)
    """Consumer group of all workers, and the beginning of their transactional ids."""
    input: TopicName | Annotated[list[TopicName], Field(min_length=1)] | InputSettings
    """Topic of the events, a list of topics, or a pattern."""
    output: str = Field(min_length=1)
    """Topic of the released records."""
    certificates: str = ""
    """Topic of the certificates; OUTPUT.certificates if empty."""
    dead_letters: str = ""
    """Topic of the dead letters; OUTPUT.dead-letters if empty."""
    ledger: str = ""
    """Compacted topic of released offsets; OUTPUT.ledger if empty."""
    returns: str = ""
    """Topic that counts how often people were released, for privacy.returning; OUTPUT.returns if empty."""
    start: Literal["earliest", "latest"] = "earliest"
    """Where to begin on a partition without an offset and without an entry in the ledger."""
    envelope: Literal["none", "debezium", "cloudevents", "connect"] = "none"
    """The envelope of the input's records: a change event of Debezium, a CloudEvent, or Kafka Connect's pair of
    schema and payload. Files have no envelope."""
    updates: Literal["release", "skip"] = "release"
    """For envelope: debezium: whether the row after an update is a record like that of an insert, or is ignored."""
    output_envelope: Literal["none", "connect"] = "none"
    """The envelope of the output's records: Kafka Connect's pair of schema and payload, for sinks such as
    JDBC's. It needs output.shape: flat or typed."""
    lost_input: Literal["stop", "skip"] = "stop"
    """What to do if records were deleted before they were read, or are damaged."""
    delivery: Literal["exactly-once", "at-least-once"] = "exactly-once"
    """at-least-once is for brokers without transactions and may publish a record twice."""
    development: bool = False
    """Allow topics with fewer than 3 replicas."""
    max_record_bytes: int = Field(default=MOST_RECORD_BYTES, ge=64, le=104_857_600)
    """Larger records are rejected unread. What is released is bounded by the output's max.message.bytes."""
    assignment: Literal["packed", "spread"] = "packed"
    """packed: as few workers as carry the load read all partitions, in larger windows that lose less information,
    and the others stand by. spread: all workers read equally many; one worker with `spread` is enough for
    that."""
    session_timeout: Duration = Field(default=10.0, ge=1, le=300)
    """After how long a silent worker's partitions go to others."""
    transaction_timeout: Duration = Field(default=10.0, ge=1, le=300)
    """After how long the broker aborts a transaction."""
    format: FormatName | FormatSettings = "json"
    """Format of the records, of input and output or of each for itself."""
    registry: RegistrySettings | None = None
    """The schema registry, for formats that need one."""
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "lz4"
    """Compression of the records that are written; the brokers may change it by a topic's own compression.type."""
    accept_risks: list[Condition] = []
    """Conditions that forbid a run and that the operator accepts; certificates name them."""
    paused: bool = False
    """Start paused: read nothing until `stream-anon resume`. Unlike an order to pause, this outlives restarts."""
    fault: str = Field(default="", pattern=FAULT_PATTERN)
    """For tests: where to break on purpose."""
    security: SecuritySettings = SecuritySettings()
    """How the connection is secured."""

    @model_validator(mode="before")
    @classmethod
    def _name_side_topics(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and values.get("output"):
            values = dict(values)
            for key, suffix in (("certificates", "certificates"), ("dead_letters", "dead-letters")):
                values[key] = values.get(key) or f"{values['output']}.{suffix}"
            for key in ("ledger", "returns"):
                values[key] = values.get(key) or f"{values['output']}.{key}"
        return values

    @model_validator(mode="after")
    def _consistent(self) -> KafkaSettings:
        inputs = self.inputs
        own = (self.output, self.certificates, self.dead_letters, self.ledger, self.returns)
        if self.updates == "skip" and self.envelope != "debezium":
            raise ValueError("updates is for envelope: debezium only")
        if self.registry is None and {self.formats.input, self.formats.output} & REGISTERED.keys():
            raise ValueError("a format other than json needs kafka.registry")
        if self.formats.input != "json" and self.envelope not in ("none", "debezium"):
            raise ValueError(f"envelope: {self.envelope} is for records of format json")
        if self.formats.output != "json" and self.output_envelope != "none":
            raise ValueError("output_envelope is for output of format json")
        if self.fault and not self.development:
            raise ValueError("fault is for development: true only")
        if len({*inputs.names, *own}) < len(inputs.names) + len(own):
            raise ValueError(
                "input, output, certificates, dead_letters, ledger and returns must be different topics"
            )
        taken = [topic for topic in own if inputs.holds(topic)]
        if taken:
            raise ValueError(
                f"the pattern of input also fits {', '.join(taken)}: what is released would be read again"
            )
        return self

    @property
    def formats(self) -> FormatSettings:
        """Return the formats of input and output."""
        if isinstance(self.format, FormatSettings):
            return self.format
        return FormatSettings(input=self.format, output=self.format)

    @property
    def inputs(self) -> InputTopics:
        """Return which topics are read."""
        if isinstance(self.input, InputSettings):
            return InputTopics(pattern=self.input.pattern)
        return InputTopics((self.input,) if isinstance(self.input, str) else tuple(self.input))
