"""docs/explain/privacy.md names each attack that measures what is not promised, and none that there is not."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.data import ROOT


def test_every_figure_of_the_documentation_is_measured_by_an_attack() -> None:
    named = set(
        re.findall(r"`(test_\w+\.py)`", (ROOT / "docs" / "explain" / "privacy.md").read_text(encoding="utf-8"))
    )
    measuring = {
        path.name
        for path in Path(__file__).parent.glob("test_*.py")
        if "measured(" in path.read_text(encoding="utf-8") and path.name != Path(__file__).name
    }
    assert named == measuring
