"""Collects what attacks measure and prints it at the end of the run; docs/explain/privacy.md has these figures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Measured = Callable[[str], None]
_LINES = pytest.StashKey[list[tuple[str, str]]]()


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Measured:
    """Take a figure that k-anonymity does not promise, in words."""
    lines = request.config.stash.setdefault(_LINES, [])
    family = request.path.stem.removeprefix("test_").replace("_", " ")
    return lambda text: lines.append((family, text))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(_LINES, [])
    if lines:
        terminalreporter.section("not promised, measured by attacks")
        for family, text in sorted(lines):
            terminalreporter.write_line(f"{family}: {text}")
