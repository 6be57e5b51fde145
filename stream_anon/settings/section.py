"""What every section of the settings is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A closed section: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)
