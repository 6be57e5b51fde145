"""One word for one thing: no two classes of the package have one name, but for twins that mean the same."""

from __future__ import annotations

import ast
from collections import Counter

from tests.support.data import ROOT

TWINS = {
    "Policy": "the library's is the core's with its settings file",
    "Program": "of Avro and of Protobuf: how bodies of one schema are read",
    "_Compiler": "of Avro and of Protobuf: makes a program",
}


def test_a_name_of_a_class_means_one_thing() -> None:
    trees = [ast.parse(path.read_text()) for path in (ROOT / "stream_anon").rglob("*.py")]
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert {name for name, times in names.items() if times > 1} == set(TWINS)
