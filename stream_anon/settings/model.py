"""Settings: one YAML file, overridable by `STREAM_ANON__SECTION__KEY`. The only room that reads the environment.

Unknown keys are errors; a message names the key, what is allowed and the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from stream_anon.adapters.kafka.reading.input_topics import InputTopics
from stream_anon.conditions import Condition
from stream_anon.microdata.diversity import MOST_CLASS, MOST_DELTA
from stream_anon.microdata.policy import MOST_EXTRA_LEVELS, MOST_NULLS, MOST_REVISION, MOST_ROUNDS
from stream_anon.ports import MOST_RECORD_BYTES
from stream_anon.settings.domains import AttributeSettings
from stream_anon.settings.section import Section

ENVIRONMENT_PREFIX = "STREAM_ANON__"
FAULT_PATTERN = r"^$|^(closing|takeover)\.\d+:(kill|stop|fail)(@\d+)?$"
# A host name, an address in figures, or one of version 6, in brackets where a port follows.
_ADDRESS = r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(value: object) -> object:
    """Return a duration such as `30s`, `500ms` or `2m` in seconds; plain numbers are seconds."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)?\s*", value)
    if match is None:
        raise ValueError("must be a duration such as 500ms, 30s or 2m")
    return float(match[1]) * _UNITS[match[2] or "s"]


Duration = Annotated[float, BeforeValidator(_seconds)]
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

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = None
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    token_file: Path | None = None
    token_command: list[str] | None = Field(default=None, min_length=1)
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    key_password: SecretStr | None = None
    key_password_file: Path | None = None

    @model_validator(mode="after")
    def _complete(self) -> SecuritySettings:
        sasl, tokens = self.protocol.startswith("SASL"), self.sasl_mechanism == "OAUTHBEARER"
        if sasl and not self.sasl_mechanism:
            raise ValueError("a SASL protocol needs sasl_mechanism")
        if sasl and not tokens and not (self.username and (self.password or self.password_file)):
            raise ValueError("a SASL protocol needs sasl_mechanism, username and password or password_file")
        if self.password and self.password_file:
            raise ValueError("give password or password_file, not both")
        if sasl and tokens and (self.token_file is None) == (self.token_command is None):
            raise ValueError("sasl_mechanism OAUTHBEARER needs either token_file or token_command")
        if self.key_file and not self.certificate_file:
            raise ValueError("key_file is for a certificate_file")
        if self.key_password and self.key_password_file:
            raise ValueError("give key_password or key_password_file, not both")
        return self


class InputSettings(Section):
    """All topics whose names fit, those that appear later too."""

    pattern: str = Field(min_length=1)

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        return pattern


class KafkaSettings(Section):
    """The topics between which a service works, and what stands beside them."""

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(min_length=1)
    group: str = Field(min_length=1)
    input: TopicName | Annotated[list[TopicName], Field(min_length=1)] | InputSettings
    output: str = Field(min_length=1)
    certificates: str = ""
    dead_letters: str = ""
    ledger: str = ""
    start: Literal["earliest", "latest"] = "earliest"
    lost_input: Literal["stop", "skip"] = "stop"
    delivery: Literal["exactly-once", "at-least-once"] = "exactly-once"
    development: bool = False
    max_record_bytes: int = Field(default=MOST_RECORD_BYTES, ge=64, le=104_857_600)
    session_timeout: Duration = Field(default=10.0, ge=1, le=300)
    transaction_timeout: Duration = Field(default=10.0, ge=1, le=300)
    accept_risks: list[Condition] = []
    fault: str = Field(default="", pattern=FAULT_PATTERN, description="For tests: where to break on purpose.")
    security: SecuritySettings = SecuritySettings()

    @model_validator(mode="before")
    @classmethod
    def _name_side_topics(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and values.get("output"):
            values = dict(values)
            for key, suffix in (("certificates", "certificates"), ("dead_letters", "dead-letters")):
                values[key] = values.get(key) or f"{values['output']}.{suffix}"
            values["ledger"] = values.get("ledger") or f"{values['output']}.ledger"
        return values

    @model_validator(mode="after")
    def _consistent(self) -> KafkaSettings:
        inputs, own = self.inputs, (self.output, self.certificates, self.dead_letters, self.ledger)
        if self.fault and not self.development:
            raise ValueError("fault is for development: true only")
        if len({*inputs.names, *own}) < len(inputs.names) + len(own):
            raise ValueError(
                "input, output, certificates, dead_letters and ledger must be five different topics, or more"
            )
        taken = [topic for topic in own if inputs.holds(topic)]
        if taken:
            raise ValueError(
                f"the pattern of input also fits {', '.join(taken)}: what is released would be read again"
            )
        return self

    @property
    def inputs(self) -> InputTopics:
        """Return which topics are read."""
        if isinstance(self.input, InputSettings):
            return InputTopics(pattern=self.input.pattern)
        return InputTopics((self.input,) if isinstance(self.input, str) else tuple(self.input))


class RecursionSettings(Section):
    """Recursive (c, l)-diversity."""

    c: float = Field(gt=0, le=MOST_CLASS)
    l: int = Field(ge=2, le=MOST_CLASS)  # noqa: E741 - the letter of the paper


class ClosenessSettings(Section):
    """t-closeness."""

    t: float = Field(gt=0, lt=1)
    distance: Literal["equal", "ordered"] = "equal"


class DiversitySettings(Section):
    """What a sensitive attribute must show in every class; all criteria that are given hold together."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    distinct_l: int | None = Field(default=None, ge=2, le=MOST_CLASS)
    entropy_l: float | None = Field(default=None, gt=1, le=MOST_CLASS)
    recursive_cl: RecursionSettings | None = None
    t_closeness: ClosenessSettings | None = None
    p_sensitive: int | None = Field(default=None, ge=2, le=MOST_CLASS)
    alpha: float | None = Field(default=None, gt=0, lt=1)
    delta_disclosure: float | None = Field(default=None, gt=0, le=MOST_DELTA)
    beta_likeness: float | None = Field(default=None, gt=0, le=MOST_CLASS)

    @model_validator(mode="after")
    def _any(self) -> DiversitySettings:
        if all(getattr(self, key) is None for key in type(self).model_fields):
            raise ValueError(f"needs at least one of {', '.join(type(self).model_fields)}")
        return self


class IndividualSettings(Section):
    """The attribute that tells individuals apart, and which spellings of an id are one individual's."""

    field: str = Field(min_length=1)
    normalize: list[Literal["nfkc", "casefold", "strip", "uuid", "digits"]] = []


class PrivacySettings(Section):
    """What must hold of every published class."""

    k: int = Field(ge=2, le=MOST_CLASS)
    individual: Annotated[str, Field(min_length=1)] | IndividualSettings
    max_share: float = Field(default=0.5, gt=0, le=1)
    sensitive: dict[str, DiversitySettings] = {}
    extra_levels: int = Field(default=0, ge=0, le=MOST_EXTRA_LEVELS)
    revision: int = Field(default=0, ge=0, le=MOST_REVISION)
    accept_weaker: str = Field(default="", pattern=r"^(sha256:[0-9a-f]{64})?$")

    @property
    def individuals(self) -> IndividualSettings:
        """Return what tells individuals apart, written out."""
        given = self.individual
        return given if isinstance(given, IndividualSettings) else IndividualSettings(field=given)


class WindowSettings(Section):
    """When a window closes."""

    max_records: int = Field(default=10_000, ge=2, le=10_000_000)
    max_delay: Duration = Field(default=30.0, ge=0.05, le=86_400)
    shortfall: Literal["suppress", "hold"] = "suppress"
    max_records_per_individual: int = Field(default=100, ge=1, le=10_000_000)


class EngineSettings(Section):
    """Which partitioner forms the classes."""

    name: Literal["forest", "k-forest", "mondrian"] = "forest"
    relaxed: bool = False
    least_loss: bool = False
    seed: int | None = Field(default=None, ge=0, le=2**63 - 1)
    order: Annotated[str, Field(min_length=1)] | None = None
    rounds: int = Field(default=1, ge=1, le=MOST_ROUNDS)
    loss: Literal["ncp", "prec", "discernibility", "classification"] = "ncp"
    target: str | None = None
    sample: str | None = None

    @model_validator(mode="after")
    def _has_what_it_learns_from(self) -> EngineSettings:
        learns = self.loss == "classification"
        if learns and not (self.target and self.sample):
            raise ValueError("loss: classification needs target and sample")
        if not learns and (self.target or self.sample):
            raise ValueError("target and sample are for loss: classification only")
        return self


class RecordSettings(Section):
    """How records are read, from topics and from files."""

    null_values: list[str] = Field(default=[], max_length=MOST_NULLS)


class HttpSettings(Section):
    """Where health, metrics and status are served; port 0 is any free port."""

    host: str = "127.0.0.1"
    port: int = Field(default=9464, ge=0, le=65535)
    admin_host: str = "127.0.0.1"
    admin_port: int = Field(default=9465, ge=0, le=65535)


class LogSettings(Section):
    """How log lines look: for a terminal, for machines, or by what standard error is."""

    format: Literal["auto", "console", "json"] = "auto"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(BaseSettings):
    """All sections. `kafka` may be absent where files are anonymized."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
    )

    kafka: KafkaSettings | None = None
    privacy: PrivacySettings
    window: WindowSettings = WindowSettings()
    engine: EngineSettings = EngineSettings()
    input: RecordSettings = RecordSettings()
    attributes: dict[str, AttributeSettings] = Field(min_length=1)
    http: HttpSettings = HttpSettings()
    logs: LogSettings = LogSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is the library's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is the library's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment override the file."""
        assert isinstance(env_settings, EnvSettingsSource)  # noqa: S101
        assert isinstance(init_settings, InitSettingsSource)  # noqa: S101
        return env_settings, init_settings
