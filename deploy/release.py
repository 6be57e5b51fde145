"""Print a release's notes, or what names another version, and end with 1: `python -m deploy.release v1.0.0`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_NAMED = {
    "pyproject.toml": r'^version = "(.+)"$',
    "Dockerfile": r"^ARG VERSION=(.+)$",
    "docker-compose.yml": r"^ +image: stream-anon:(.+)$",
    "helm/stream-anon/Chart.yaml": r"^appVersion: (.+)$",
}


def forgotten(version: str, root: Path) -> list[str]:
    """Return the files that name another version, or none."""
    return [
        name
        for name, pattern in _NAMED.items()
        if set(re.findall(pattern, (root / name).read_text(), re.MULTILINE)) != {version}
    ]


def notes(version: str, changelog: str) -> str:
    """Return what the changelog says of a version; empty if it has no heading with a date for it."""
    heading = rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d\n"
    found = re.search(rf"{heading}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def main(tag: str) -> int:
    """Print the notes of the version that a tag names, or what does not fit it."""
    version = tag.removeprefix("v")
    told = notes(version, (_ROOT / "CHANGELOG.md").read_text())
    problems = [f"{name}: names another version than {version}" for name in forgotten(version, _ROOT)]
    if not told:
        problems.append(f"CHANGELOG.md: has no heading '## {version} - YYYY-MM-DD'")
    print("\n".join(problems) if problems else told, file=sys.stderr if problems else sys.stdout)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
