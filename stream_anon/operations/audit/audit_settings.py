"""What an audit compares with: the settings file, the policy that it gives, and what of it is not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_anon.microdata.policy import Policy
from stream_anon.settings.loading import load_settings
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import build_policy


@dataclass(frozen=True)
class AuditSettings:
    """A settings file as an audit reads it, once.

    Parameters
    ----------
    absent_key
        The file of `output.digest_key_file` if it is not there.
    """

    path: Path
    settings: Settings
    policy: Policy
    absent_key: Path | None = None

    @classmethod
    def load(cls, path: Path, overrides: Mapping[str, Mapping[str, Any]]) -> AuditSettings:
        """Read a settings file, with values by section and key that win over its own.

        Raises
        ------
        SettingsError
            If it is wrong, or a file that it names.
        """
        settings = load_settings(path, overrides)
        named = settings.output.digest_key_file
        file = None if named is None else path.parent / named
        absent = None if file is None or file.exists() else file
        return cls(path, settings, build_policy(settings, path, with_secrets=absent is None), absent)
