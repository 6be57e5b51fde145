"""The section of the settings that names a classic method for files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from stream_anon.errors import SettingsError
from stream_anon.microdata.bounds import RecordBound
from stream_anon.microdata.choices.method_choice import NO_RECORD, MethodChoice
from stream_anon.settings.sections.privacy_settings import ShieldSettings
from stream_anon.settings.sections.section import Section

Name = Annotated[str, Field(min_length=1)]


def _bound(given: str | int) -> str | int:
    if RecordBound.parse(str(given)) is None:
        raise ValueError("must be a number of records, such as 40, or a share, such as 0.5%")
    return given


class ChoiceSettings(Section):
    """What the data's holder chooses: an attribute, and how far it is generalized."""

    attribute: Name
    """A quasi-identifier."""
    level: int = Field(ge=1)
    """Level of its hierarchy; one on which the attribute stands already changes nothing."""


class MethodSettings(Section):
    """A classic method that recodes a file as one table, in place of the engine. `run` refuses it."""

    explanation = """Of files only: `stream-anon anonymize` recodes the whole file as one table, and `engine` and
`window.max_records` are not used. `run` and `Anonymizer` refuse such a policy. Which method is for what, and what
it promises: [recoders.md](../explain/recoders.md). An option that is not the method's is an error."""

    name: Literal[
        "k-minimal",
        "mingen",
        "samarati",
        "incognito",
        "ola",
        "datafly",
        "mu-argus",
        "tds",
        "anatomy",
        "full-domain",
        "iab",
    ]
    """The method: docs/explain/recoders.md says which for what."""
    max_suppressed: Annotated[int | str, AfterValidator(_bound)] = 0
    """Of methods that search for levels: records that may be suppressed, such as 40 or 0.5%."""
    prefer: list[Name] = []
    """Of k-minimal and mingen: quasi-identifiers, from the one to keep finest."""
    loss: Literal["ncp", "prec", "discernibility", "entropy"] = "ncp"
    """Of ola: what the chosen levels minimise."""
    collapse_levels: bool = False
    """Of k-minimal, mingen, incognito, and ola with `loss: prec`: Prec counts levels that part the file's values
    alike as one, as `stream-anon utility --collapse-levels` does. Otherwise it counts each level of a hierarchy."""
    keep_suppressed: bool = False
    """Of datafly: publish suppressed records with every quasi-identifier as `*`."""
    identifying: list[Name] = []
    """Of mu-argus: identifying quasi-identifiers."""
    more: list[Name] = []
    """Of mu-argus: more identifying ones."""
    most: list[Name] = []
    """Of mu-argus: the most identifying ones."""
    outliers: float = Field(default=0.05, ge=0, le=1)
    """Of mu-argus: share of records with rare combinations up to which single values are blanked. It decides where
    neither `choices` nor a person at a terminal (`--choose`) does."""
    choices: list[ChoiceSettings] | None = None
    """Of mu-argus: what its step 4 leaves to the data's holder, in their order; `[]` generalizes nothing there."""
    complete: bool = False
    """Of mu-argus: suppress the groups that stay below k. Without it nothing is written where there are any."""
    target: Name | None = None
    """Of tds: the attribute whose values are told apart. Of anatomy: the sensitive attribute."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Of full-domain: the level of each quasi-identifier's hierarchy, 0 for one that is not named."""
    requirements: list[ShieldSettings] = []
    """Of iab: further sets of quasi-identifiers, each with a k of its own, as in privacy.shields."""
    most_expanded: int = Field(default=1_000, ge=1, le=1_000_000)
    """Of iab: tables that the search expands at the most."""

    @model_validator(mode="after")
    def _of_its_method(self) -> MethodSettings:
        try:
            self.choice()
        except SettingsError as error:
            raise ValueError(f"{error.key.removeprefix('method.')} {error.message}") from None
        return self

    def choice(self) -> MethodChoice:
        """Return the method with the options that were given."""
        given = self.model_dump(exclude_unset=True, exclude={"name", "max_suppressed"})
        return MethodChoice(self.name, given, RecordBound.parse(str(self.max_suppressed)) or NO_RECORD)
