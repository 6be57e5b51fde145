"""Settings: one YAML file, overridable by `STREAM_ANON__SECTION__KEY`. The only room that reads the environment.

Unknown keys are errors; a message names the key, what is allowed and the file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from stream_anon.microdata.policy import EVERY_RECORD
from stream_anon.microdata.policy_checks import MOST_NULLS
from stream_anon.settings.attributes.attribute import AttributeSettings
from stream_anon.settings.sections.certificate_settings import CertificateSettings
from stream_anon.settings.sections.engine_settings import EngineSettings
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from stream_anon.settings.sections.method_settings import MethodSettings
from stream_anon.settings.sections.privacy_settings import PrivacySettings
from stream_anon.settings.sections.release_settings import ReleaseSettings
from stream_anon.settings.sections.section import Section
from stream_anon.settings.sections.window_settings import WindowSettings

ENVIRONMENT_PREFIX = "STREAM_ANON__"


class RecordSettings(Section):
    """How records are read, from topics and from files."""

    explanation = """\
In every declared field these texts are read as null: a quasi-identifier is missing, a field that
passes is published as null, a record without an id is rejected. An empty text is a text unless it is among them; an
empty cell of a CSV file is missing in any case. No category may be among them."""

    null_values: list[str] = Field(default=[], max_length=MOST_NULLS)
    """Texts that mean a missing value, in every declared field, such as NA or an empty text."""


class OutputSettings(Section):
    """How released records are written, to topics and to JSON Lines."""

    explanation = """\
The shape changes how values are written, not what they say: [output.md](output.md) has examples.
Records of a CSV file are `natural` in any case. A change of it changes no promise."""

    shape: Literal["natural", "typed", "flat"] = "natural"
    """natural writes each value as short as it can be: a number, an interval or `"*"`. typed gives each attribute
    one type: numbers and dates are objects with `min` and `max`, other values texts, sets lists of texts. flat is
    typed without objects, for tables: `age_min` and `age_max`, and `patient_age` for the `age` of `patient`."""
    digest_key_file: Annotated[str, Field(min_length=1)] | None = None
    """A file with a secret of 16 bytes or more, relative to this one. The digests of classes in certificates are
    made by it, so that nobody else can make one. See [output.md](output.md#digests)."""


class HttpSettings(Section):
    """Where health, metrics and status are served; port 0 is any free port."""

    explanation = """Loopback by default. Port 0 is any free port."""

    host: str = "127.0.0.1"
    """Address for health and metrics."""
    port: int = Field(default=9464, ge=0, le=65535)
    """Port for health and metrics."""
    admin_host: str = "127.0.0.1"
    """Address for everything else."""
    admin_port: int = Field(default=9465, ge=0, le=65535)
    """Port for everything else."""


class LogSettings(Section):
    """How log lines look: for a terminal, for machines, or by what standard error is."""

    explanation = """Lines go to standard error."""

    format: Literal["auto", "console", "json"] = "auto"
    """For a terminal or for machines; auto looks."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level that is written."""
    core_dumps: bool = False
    """Whether a process of `run` that crashes may leave its memory in a file: ids, records and secrets."""


_SENT_AGAIN = {
    "debezium": "a row that is updated, read by another snapshot or sent again would count as further people. Name "
    "the column that tells people apart, or else the key of the row",
    "cloudevents": "an event that is sent again would count as a further person. Name the field that tells people "
    "apart",
}
"""By envelopes whose records come more than once: why each record cannot be a person."""


class Settings(BaseSettings):
    """All sections. `kafka` may be absent where files are anonymized."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    kafka: KafkaSettings | None = None
    """Topics and brokers; not needed to anonymize files."""
    privacy: PrivacySettings
    """What must hold of every published class."""
    window: WindowSettings = WindowSettings()
    """When a window closes."""
    engine: EngineSettings = EngineSettings()
    """Which partitioner forms the classes."""
    input: RecordSettings = RecordSettings()
    """How records are read, from topics and from files."""
    output: OutputSettings = OutputSettings()
    """How released records are written, to topics and to JSON Lines."""
    certificates: CertificateSettings = CertificateSettings()
    """What certificates get beside their content."""
    attributes: dict[str, AttributeSettings] = Field(min_length=1)
    """Every declared field by dotted name, in the order in which published ones are written."""
    release: ReleaseSettings = ReleaseSettings()
    """For whom and for what records are released, until when, and who answers for that."""
    method: MethodSettings | None = None
    """A classic method that recodes a file as one table, in place of the engine; `run` refuses it."""
    http: HttpSettings = HttpSettings()
    """Where health, metrics and status are served."""
    logs: LogSettings = LogSettings()
    """How log lines look."""

    @model_validator(mode="after")
    def _has_types_for_a_schema(self) -> Settings:
        paired = self.kafka is not None and self.kafka.output_envelope == "connect"
        if paired and self.output.shape == "natural":
            raise ValueError("kafka.output_envelope: connect needs output.shape: flat or typed")
        return self

    @model_validator(mode="after")
    def _keeps_count_of_returns(self) -> Settings:
        kafka = self.kafka
        if self.privacy.returning is None or kafka is None:
            return self
        if kafka.delivery != "exactly-once":
            raise ValueError("privacy.returning needs kafka.delivery: exactly-once: counts could be lost otherwise")
        if kafka.inputs.pattern is not None or len(kafka.inputs.names) > 1:
            raise ValueError("privacy.returning needs one topic as kafka.input: people are counted by partition")
        return self

    @model_validator(mode="after")
    def _counts_no_change_as_a_person(self) -> Settings:
        envelope = "none" if self.kafka is None else self.kafka.envelope
        if envelope in _SENT_AGAIN and self.privacy.individuals.field == EVERY_RECORD:
            raise ValueError(
                f"privacy.individual: {EVERY_RECORD} is not for kafka.envelope: {envelope}: {_SENT_AGAIN[envelope]}"
            )
        return self

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
        # A section's variable would replace those of its keys that come before it, and shells change the order.
        env_settings.env_vars = dict(sorted(env_settings.env_vars.items()))
        return env_settings, init_settings
