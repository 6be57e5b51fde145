"""Without its package a host says what to install."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.parametrize(("host", "package"), [("spark", "pyspark"), ("bytewax", "bytewax")])
def test_without_its_package_a_host_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, host: str, package: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"stream_anon.hosts.{host}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install '\.\[{host}\]' in a clone"):
        importlib.import_module(f"stream_anon.hosts.{host}")
