"""Settings of what a sensitive attribute must show in every class."""

from __future__ import annotations

from typing import Literal

import msgspec
from pydantic import ConfigDict, Field, model_validator

from stream_anon.microdata.diversity import MOST_CLASS, MOST_DELTA, Diversity
from stream_anon.microdata.domains.families import MOST_VALUES
from stream_anon.settings.sections.section import Section


class RecursionSettings(Section):
    """Recursive (c, l)-diversity."""

    explanation = """The most frequent value occurs fewer than `c` times as often as all values from the `l`-th most
frequent on together."""

    c: float = Field(gt=0, le=MOST_CLASS)
    """What the most frequent value's count must stay below, times that of the rest."""
    l: int = Field(ge=2, le=MOST_CLASS)  # noqa: E741 - the letter of the paper
    """Rank of the value with which the rest begins."""


class ClosenessSettings(Section):
    """t-closeness."""

    explanation = """The earth mover's distance from the values of the window's released records is at most `t`.
`ordered` needs `type: integer` or `type: number`."""

    t: float = Field(gt=0, lt=1)
    """Largest distance."""
    distance: Literal["equal", "ordered"] = "equal"
    """Any two values are equally far apart, or numbers as far as they stand apart in their order."""


class DiversitySettings(Section):
    """What a sensitive attribute must show in every class; all criteria that are given hold together."""

    explanation = """\
For an attribute of `role: sensitive`. One without an entry is published without a criterion; one
with an entry has at least one, and all that are given hold together, in every class.
[privacy.md](../explain/privacy.md) says what each promises.

`families` are sets of values: a person who comes back stays among the values of one set, however often. They need
`type: string`. With `publish: family` a value is published as its family, and other criteria count families as
values. With `publish: value` it is published as it is, and a class that has one of a family's values has all of
them, each held by somebody else; criteria that compare a class with its window are not for it. A record whose
value is in no family is rejected (`unknown-value`, `missing`), or published as the `rest`. A value must have no
`|`, which stands between the values of a published family."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    distinct_l: int | None = Field(default=None, ge=2, le=MOST_CLASS)
    """Least number of distinct values, held by as many different individuals. Of a list: no value is held by more
    than one in so many individuals of a class."""
    entropy_l: float | None = Field(default=None, gt=1, le=MOST_CLASS)
    """Least exponential of the entropy of the values."""
    recursive_cl: RecursionSettings | None = None
    """Recursive (c, l)-diversity."""
    t_closeness: ClosenessSettings | None = None
    """Largest distance of the values from those of the window."""
    p_sensitive: int | None = Field(default=None, ge=2, le=MOST_CLASS)
    """The same as distinct_l."""
    alpha: float | None = Field(default=None, gt=0, lt=1)
    """Largest share of one value."""
    delta_disclosure: float | None = Field(default=None, gt=0, le=MOST_DELTA)
    """A value's share in a class is below e^delta times that in the window, and conversely; none is absent."""
    beta_likeness: float | None = Field(default=None, gt=0, le=MOST_CLASS)
    """Largest relative gain of a value's share in a class over that in the window."""
    invariant: int | None = Field(default=None, ge=2, le=MOST_VALUES)
    """Least number of values of a family, which somebody who comes back is always among; `families` lists them."""
    families: list[list[str | None]] | None = Field(default=None, min_length=1)
    """The values of each family; null is a missing value. `stream-anon families` deals them from a sample."""
    rest: str | None = Field(default=None, min_length=1)
    """What is published for a value that no family lists, such as `other`. It may stand for a single value: how
    many is not promised."""
    publish: Literal["family", "value"] = "family"
    """What records contain: the family, or the value in a class that has all values of its family."""

    @model_validator(mode="after")
    def _any(self) -> DiversitySettings:
        asking = [key for key in type(self).model_fields if key != "publish"]
        if all(getattr(self, key) is None for key in asking):
            raise ValueError(f"needs at least one of {', '.join(asking)}")
        return self

    @model_validator(mode="after")
    def _whole_families(self) -> DiversitySettings:
        if (self.invariant is None) != (self.families is None):
            raise ValueError("needs both invariant and families, or neither: stream-anon families deals the values")
        if any(len(family) < (self.invariant or 0) for family in self.families or ()):
            raise ValueError(f"families must have at least {self.invariant} values each, as invariant asks")
        if self.rest is not None and self.families is None:
            raise ValueError("rest needs families: it stands for the values that none of them lists")
        if self.families is None and "publish" in self.model_fields_set:
            raise ValueError("publish is for families")
        return self

    @property
    def diversity(self) -> Diversity | None:
        """Return what is asked of classes; None for nothing besides what is published of a value."""
        asked = self.model_dump(exclude={"invariant", "families", "rest", "publish"}, exclude_none=True)
        return msgspec.convert(asked, Diversity) if asked else None
