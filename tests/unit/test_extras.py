"""What is said where a package of an extra is missing."""

from __future__ import annotations

import re
import tomllib

import pytest

from stream_anon import extras
from stream_anon.errors import SettingsError
from stream_anon.extras import require
from tests.support.data import ROOT


@pytest.mark.parametrize("module", extras._PACKAGES)
def test_a_missing_module_is_named_by_a_package_that_its_extra_installs(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == module else object())
    with pytest.raises(SettingsError) as raised:
        require("--option", *extras._PACKAGES)
    told = re.fullmatch(
        r"--option: needs (\S+), which the extra `(\w+)` installs: pip install (\S+)", str(raised.value)
    )
    assert told is not None
    package, extra, argument = told.groups()
    assert argument.strip("'") == package
    assert ("'" in argument) == ("[" in package), "a shell takes brackets for a pattern"
    assert package in {re.split(r"[>=<;]", each)[0] for each in project["optional-dependencies"][extra]}


def test_a_module_of_a_package_that_is_missing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras._PACKAGES, "nothing.there", ("nothing", "frames"))
    with pytest.raises(SettingsError, match="needs nothing, which the extra `frames` installs"):
        require("--option", "nothing.there")


def test_nothing_is_said_of_what_is_installed() -> None:
    require("--option", "numpy.linalg", "pytest")
