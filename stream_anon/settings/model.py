"""Settings: one YAML file, overridable by `STREAM_ANON__SECTION__KEY`. The only room that reads the environment.

Unknown keys are errors; a message names the key, what is allowed and the file.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from stream_anon.microdata.choices.engine_choice import MOST_ROUNDS
from stream_anon.microdata.choices.window_limits import MOST_RECORDS
from stream_anon.microdata.ids import EVERY_RECORD
from stream_anon.microdata.policy_checks import MOST_NULLS
from stream_anon.settings.attributes.attribute import AttributeSettings
from stream_anon.settings.certificates.signing import CertificateSettings
from stream_anon.settings.kafka import KafkaSettings
from stream_anon.settings.method import MethodSettings
from stream_anon.settings.privacy import PrivacySettings
from stream_anon.settings.section import SIZE_PATTERN, Duration, Section, size_of
from stream_anon.settings.statement.stated_release import ReleaseSettings
from stream_anon.windowing.bounds import LEAST_MEMORY

ENVIRONMENT_PREFIX = "STREAM_ANON__"


class WindowSettings(Section):
    """When a window closes."""

    explanation: ClassVar[
        str
    ] = """A window closes when it is full, or when its oldest record is as old as a limit that is drawn anew for
each window, between 0.9 and 1 times `max_delay`. A larger window loses less information and costs less per
record, so leave `max_records` out: then `max_delay` decides. With `auto` a window is full when what it holds
takes `max_memory`, or at 1,000,000 records (10,000 with `k-forest`). A service begins with 100,000 and doubles
that while full windows are published fast. If it finds one too large for `kafka.transaction_timeout`, or to be
closed and written within a quarter of `max_delay`, or memory short, it goes on with smaller ones, and says so.
`auto` promises only this, which certificates state: no window is made smaller than 10,000 records for lack of
time. A number must not be below `privacy.k`.

`stream-anon anonymize` and `anonymize_frame` take a file or a frame as one table: of this section, only
`max_records_per_individual` applies there, and it counts over the whole table. With `--by-arrival`
(`by_arrival=True`) a window closes whenever `max_records` have come, as in a stream. Engine `k-forest` has no
other windows.

`shortfall: hold` lets an overdue window wait for people: for `least_people`, or for as many as a class needs at
least, which is `k`, that of the largest shield, or `distinct_l`. This breaks the bound of `max_delay` on purpose.
It waits for nothing else: a window of enough people that misses a sensitive value is suppressed whole when it is
due, since the moment of publication would tell who brought that value. So with `privacy.sensitive` let it wait for
many times as many people as a class needs, or most windows of a quiet topic are suppressed.

`target_loss` closes windows as early as the loss allows: that of the records that are published, for suppressed
ones do not count here. A service learns from the windows that it has published how loss falls with their records,
and closes a window at the size that promises the target: no later than `max_records` and `max_delay`, at 10 times
`k` records or more, and not by its size while it has fewer people than a class or `least_people` needs. The first
windows, before anything is learned, close as if it were not given. Whatever is not a service, such as `anonymize
--by-arrival` and `Anonymizer`, does not learn, and ignores `target_loss`. It is not for `t_closeness`,
`delta_disclosure` and `beta_likeness`, which ask less of a smaller window. See
[operations.md](../guides/operations.md#windows-by-loss)."""

    max_records: Annotated[int, Field(ge=2, le=MOST_RECORDS)] | Literal["auto"] = "auto"
    """Records after which a window closes, 2 to 10,000,000; auto: as many as delay and memory allow."""
    max_memory: Annotated[str, Field(pattern=SIZE_PATTERN)] | Literal["auto"] = "auto"
    """Bytes, such as 256MiB or 1GB, that what a window of a service holds may take, 16MiB or more. The process
    takes up to eight times as much: a window is closed and written while the one before it is published. auto: an
    eighth of what the process may still use when it begins, 16MiB to 1GiB; no bound where max_records is a number.
    It closes no window of fewer records than twice the people that a class, or least_people, needs."""
    max_delay: Duration = Field(default=30.0, ge=0.05, le=86_400)
    """Age of its oldest record at which a window closes."""
    shortfall: Literal["suppress", "hold"] = "suppress"
    """What happens to a window that has too few people at its deadline: it is suppressed whole, or held."""
    max_records_per_individual: int = Field(default=100, ge=1, le=10_000_000)
    """Records of one individual beyond which further ones are suppressed."""
    least_people: int = Field(default=0, ge=0, le=MOST_RECORDS)
    """With `shortfall: hold`, for how many people an overdue window waits; 0: as many as a class needs at least."""
    target_loss: float | None = Field(default=None, gt=0, lt=1)
    """Information loss (mean NCP) of the records that are published at which a window closes before `max_delay`,
    such as 0.10; without it none does."""

    @property
    def memory(self) -> int | None:
        """Return the bytes of `max_memory`; None for auto."""
        return None if self.max_memory == "auto" else size_of(self.max_memory)

    @model_validator(mode="after")
    def _has_memory(self) -> WindowSettings:
        if self.memory is not None and self.memory < LEAST_MEMORY:
            raise ValueError(f"max_memory must be {LEAST_MEMORY >> 20}MiB or more")
        return self


class EngineSettings(Section):
    """Which partitioner forms the classes."""

    explanation: ClassVar[
        str
    ] = """`forest`, `k-forest` and `mondrian` choose levels class by class. `full-domain` publishes each
quasi-identifier on one level in all windows, so that readers get columns of one granularity, and suppresses the
groups of a window that do not meet the criteria. A level counts upwards from the value itself, 0, to the root, the
height of the hierarchy; a short branch of a tree stays at its leaf until its parent's level is reached. A missing
value is a leaf right under the root, a value outside the domain the root on every level. Numbers with `publish:
tight` and categories with `publish: values` are published as nodes then. `stream-anon negotiate` finds levels."""

    name: Literal["forest", "k-forest", "mondrian", "full-domain"] = "forest"
    """The partitioner."""
    levels: dict[str, Annotated[int, Field(ge=0)]] | None = None
    """Of full-domain: the level on which each quasi-identifier is published, by name; 0 where none is given.
    Groups that do not meet the criteria there are suppressed."""
    relaxed: bool = False
    """Of mondrian: equal values may lie on both sides of a cut."""
    least_loss: bool = False
    """Of mondrian: every cut is the one of least loss instead of a median."""
    seed: int | None = Field(default=None, ge=0, le=2**63 - 1)
    """Gives the same classes for the same windows, in tests and comparisons; without it an engine draws its
    costs from the system's entropy. Anybody who knows seed, policy and all other rows can replay a window."""
    draws_key_file: Annotated[str, Field(min_length=1)] | None = None
    """A file with a secret of 16 bytes or more, relative to this one. What is drawn follows from it and from a
    window's records, so that the same records give the same release; anybody who has it can replay a window.
    Without it `anonymize` makes a key beside this file, as `policy.yaml.draws-key`, and a service draws each window
    anew. All workers of a service need the same key. A forest then learns an order for each window, which takes
    more time than all else of its close, unless `order` names one."""
    order: Annotated[str, Field(min_length=1)] | None = None
    """Of forest: a file that `stream-anon learn` wrote, relative to this one; without it the order is learned
    from the first window."""
    rounds: int = Field(default=1, ge=1, le=MOST_ROUNDS)
    """Of forest: how often classes are taken apart and refined. 2 lose 2 to 3 % less than 1, at two fifths of the
    speed; 3 lose 3 to 4 % less, at a quarter of it."""
    loss: Literal["ncp", "prec", "discernibility", "classification"] = "ncp"
    """What the engine minimises; what is reported stays the unweighted NCP."""
    target: str | None = None
    """For classification: the sensitive or insensitive attribute that readers want to predict."""
    sample: str | None = None
    """For classification: a file of records like the input, CSV or JSON Lines, to learn from."""

    @model_validator(mode="after")
    def _has_what_it_learns_from(self) -> EngineSettings:
        learns = self.loss == "classification"
        if learns and not (self.target and self.sample):
            raise ValueError("loss: classification needs target and sample")
        if not learns and (self.target or self.sample):
            raise ValueError("target and sample are for loss: classification only")
        return self

    @model_validator(mode="after")
    def _has_levels(self) -> EngineSettings:
        if (self.levels is None) == (self.name == "full-domain"):
            raise ValueError("levels is for name: full-domain, which needs it")
        return self


class RecordSettings(Section):
    """How records are read, from topics and from files."""

    explanation: ClassVar[
        str
    ] = """In every declared field these texts are read as null: a quasi-identifier is missing, a field that
passes is published as null, a record without an id is rejected. An empty text is a text unless it is among them; an
empty cell of a CSV file is missing in any case. No category may be among them."""

    null_values: list[str] = Field(default=[], max_length=MOST_NULLS)
    """Texts that mean a missing value, in every declared field, such as NA or an empty text."""


class OutputSettings(Section):
    """How released records are written, to topics and to JSON Lines."""

    explanation: ClassVar[
        str
    ] = """The shape changes how values are written, not what they say: [output.md](output.md) has examples.
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

    explanation: ClassVar[str] = """Loopback by default. Port 0 is any free port."""

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

    explanation: ClassVar[str] = """Lines go to standard error."""

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
