"""Settings of the engine that forms the classes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from stream_anon.microdata.choices.engine_choice import MOST_ROUNDS
from stream_anon.settings.sections.section import Section


class EngineSettings(Section):
    """Which partitioner forms the classes."""

    explanation = """`forest`, `k-forest` and `mondrian` choose levels class by class. `full-domain` publishes each
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
