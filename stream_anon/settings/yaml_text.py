"""YAML without surprises: a key occurs once, and only what is plainly a number, true or false is no text.

PyYAML reads YAML 1.1, where `no`, `on`, `010`, `1_000`, `1:30` and `2025-02-28` are none. In a list of countries NO
is Norway, and a code that begins with a zero keeps it.

An alias (`*name`) may repeat what an anchor (`&name`) holds, within a bound: nine anchors of nine aliases each make
gigabytes of a few hundred bytes.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from stream_anon.errors import SettingsError

_TAG = "tag:yaml.org,2002:"
_LOOSE = {f"{_TAG}{kind}" for kind in ("bool", "int", "timestamp")}
MOST_REPEATED = 1_000_000  # characters and nodes that all aliases of a document add


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, but for what this file's first lines say."""

    def get_single_node(self) -> yaml.Node | None:
        """Return the document's root. Nothing is made of it before it is known how much that would be."""
        root: yaml.Node | None = super().get_single_node()
        if root is not None:
            _raise_if_repetitive(root)
        return root

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != f"{_TAG}merge":
                if key.value in seen:
                    raise SettingsError(key.value, f"stands twice in line {key.start_mark.line + 1}")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _raise_if_repetitive(root: yaml.Node) -> None:
    """Raise SettingsError where aliases add more than MOST_REPEATED, ValueError where a node lies within itself.

    An alias is its anchor's node once more: a node's size is counted once, and added wherever it stands; O(nodes).
    """
    whole: dict[int, int | None] = {}  # of each node with all that its aliases repeat; None while it is counted
    once = 0

    def size(node: yaml.Node) -> int:
        nonlocal once
        if id(node) in whole:
            known = whole[id(node)]
            if known is None:
                raise ValueError("an alias of a node within itself")
            return known
        whole[id(node)] = None
        own = 1 + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)
        once += own
        total = own
        if isinstance(node, yaml.SequenceNode):
            total += sum(map(size, node.value))
        elif isinstance(node, yaml.MappingNode):
            total += sum(size(key) + size(value) for key, value in node.value)
        whole[id(node)] = total
        return total

    if size(root) > once + MOST_REPEATED:
        text = f"repeats more than {MOST_REPEATED:,} characters by aliases (`*name`): write out what they stand for"
        raise SettingsError("settings", text)


_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _LOOSE]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}bool", _BOOL, list("tTfF"))
_Loader.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))


def read_yaml(text: str, place: str | None = None) -> object:
    """Return the document of a text.

    Raises
    ------
    SettingsError
        Names the line, and `place`.
    """
    try:
        document = yaml.load(text, _Loader)  # noqa: S506 - a safe loader that is stricter
    except SettingsError as error:
        raise SettingsError(error.key, error.message, place) from None
    except RecursionError:
        raise SettingsError("settings", "is not valid YAML: it is nested too deeply", place) from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        raise SettingsError("settings", f"is not valid YAML{line}", place) from None
    return document
