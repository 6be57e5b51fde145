"""Write settings into a policy's text, so that comments and order stay where they can."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import yaml

from stream_anon.errors import InputError
from stream_anon.settings.yaml_text import read_yaml

BLOCK = r"(?m)^{key}:[^\n]*(?:\n(?:[ \t]+[^\n]*|[ \t]*(?=\n[ \t]+\S)))*(?:\n|\Z)"
"""The text of a top-level key with all that belongs to it, for `format` and `re`."""
_LEVEL = re.compile(r"\bmin_level: *[0-9]+")


def check_output(output: Path, policy: Path, document: Mapping[str, Any], *read: Path) -> None:
    """Raise InputError if a new policy may not be written to a file.

    It replaces no settings that were read, and stands in the folder of the policy if that names files beside it.

    Parameters
    ----------
    document
        What the policy says.
    read
        Further settings files that were read.
    """
    for there in (policy, *read):
        if output.resolve() == there.resolve() or (output.exists() and output.samefile(there)):
            raise InputError(f"{output}: was read, and is not written over: give --output another file")
    attributes = document.get("attributes") or {}
    named = [name for name, own in attributes.items() if isinstance((own or {}).get("hierarchy"), str)]
    if named and output.resolve().parent != policy.resolve().parent:
        raise InputError(
            f"{output}: must be in the folder of {policy}, whose hierarchy of {named[0]} is a file beside it"
        )


def with_lowest_levels(text: str, levels: Mapping[str, int], place: str) -> str:
    """Return a policy's text in which some attributes have a `min_level`.

    Parameters
    ----------
    levels
        By name of the attribute.
    place
        The policy's file, for messages.
    """
    wanted = deepcopy(cast("dict[str, Any]", read_yaml(text, place)))
    for name, level in levels.items():
        wanted["attributes"][name]["min_level"] = level

    def edited(block: re.Match[str]) -> str:
        lines = block[0].splitlines(keepends=True)
        for name, level in levels.items():
            _put_lowest_level(lines, name, f"min_level: {level}")
        return "".join(lines)

    return kept_or_anew(re.sub(BLOCK.format(key="attributes"), edited, text, count=1), wanted)


def _put_lowest_level(lines: list[str], name: str, setting: str) -> None:
    """Write a level into the lines of the attributes; what is in no usual form is left as it is."""
    start = re.compile(rf"(\s+(?:{re.escape(name)}|{re.escape(json.dumps(name))}): *)(.*)", re.DOTALL)
    for number, line in enumerate(lines):
        found = start.fullmatch(line)
        if found is None:
            continue
        if found[2].startswith("{"):
            there = _LEVEL.search(found[2]) is not None
            own = _LEVEL.sub(setting, found[2]) if there else "{" + setting + ", " + found[2][1:]
            lines[number] = found[1] + own
            return
        for later in range(number + 1, len(lines)):
            words = lines[later].lstrip()
            depth = len(lines[later]) - len(words)
            if words and depth <= len(line) - len(line.lstrip()):
                break
            if _LEVEL.match(words):
                lines[later] = lines[later][:depth] + _LEVEL.sub(setting, words, count=1)
                return
        following = lines[number + 1] if number + 1 < len(lines) else ""
        depth = len(following) - len(following.lstrip())
        lines.insert(number + 1, " " * depth + setting + "\n")
        return


def kept_or_anew(edited: str, wanted: Mapping[str, Any]) -> str:
    """Return an edited text if it says what is wanted, else a new text that says it."""
    if _same(edited, wanted):
        return edited
    return yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True, width=110)


def _same(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return bool(read_yaml(text) == wanted)
    except Exception:  # noqa: BLE001 - it is written anew then
        return False
