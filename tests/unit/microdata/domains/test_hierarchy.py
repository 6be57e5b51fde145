from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import HierarchyError
from stream_anon.microdata.domains.hierarchy import Hierarchy

RAGGED = [
    ["flu", "respiratory", "illness", "*"],
    ["asthma", "respiratory", "illness", "*"],
    ["burn", "injury", "*"],
    ["none", "*"],
]


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        pytest.param([["a", "*"], ["a", "*"]], "row 2: the leaf 'a' stands twice", id="leaf twice"),
        pytest.param(
            [["a", "x", "*"], ["b", "y", "*"], ["c", "x", "y", "*"]], "under two parents", id="two parents"
        ),
        pytest.param([["a", "x", "*"], ["b", "x", "y", "*"]], "'x' lies under two parents", id="two heights"),
        pytest.param([["a", "x", "y", "x", "*"]], "a cycle", id="cycle in a row"),
        pytest.param([["a", "x", "y", "*"], ["b", "y", "x", "*"]], "two parents", id="cycle over rows"),
        pytest.param([["a", "x"], ["b", "y"]], "one root is needed, found 2", id="several roots"),
        pytest.param([], "one root is needed, found 0", id="no rows"),
        pytest.param([["a", "*"], ["b", "a", "*"]], "two parents|both a leaf and a group", id="leaf is group"),
        pytest.param([["a", "*"], ["*", "*"]], "both a leaf and a group", id="the star as a leaf"),
        pytest.param([["a", "*", "all"], ["b", "*", "all"]], "kept for the root", id="the star as a group"),
        pytest.param([["a", "", "*"]], "row 1 holds an empty label", id="empty label"),
        pytest.param([[]], "row 1 holds an empty label", id="empty row"),
        pytest.param([["*"]], "a root above its leaves", id="nothing but a root"),
        pytest.param([[str(i) for i in range(3_000)]], "more than 64 levels", id="deeper than the stack"),
    ],
)
def test_rows_that_are_no_tree_are_refused(rows: list[list[str]], complaint: str) -> None:
    with pytest.raises(HierarchyError, match=complaint) as caught:
        Hierarchy.from_rows(rows, "attributes.illness.hierarchy")
    assert caught.value.key == "attributes.illness.hierarchy"


def test_ragged_branches_have_the_levels_of_padded_ones() -> None:
    padded = [
        ["flu", "respiratory", "illness", "*"],
        ["asthma", "respiratory", "illness", "*"],
        ["burn", "burn", "injury", "*"],
        ["none", "none", "none", "*"],
    ]
    for rows in (RAGGED, padded):
        tree = Hierarchy.from_rows(rows)
        assert tree.height == 3
        assert [tree.level(tree.lowest_common_ancestor(c, c)) for c in range(4)] == [0, 0, 0, 0]
        flu, asthma, burn, none = (tree.code_of[leaf] for leaf in ("flu", "asthma", "burn", "none"))
        over = tree.lowest_common_ancestor(flu, asthma)
        assert (tree.labels[over], tree.level(over)) == ("respiratory", 1)
        assert tree.lowest_common_ancestor(min(asthma, burn), max(asthma, burn)) == 0
        assert tree.level(0) == 3
        assert tree.labels[tree.lowest_common_ancestor(none, none)] == "none"


def test_the_lowest_of_several_labels_over_the_same_leaves_is_published() -> None:
    tree = Hierarchy.from_rows([["a", "p", "q", "*"], ["b", "p", "q", "*"], ["c", "r", "*"]])
    a, b, c = (tree.code_of[leaf] for leaf in "abc")
    assert tree.labels[tree.lowest_common_ancestor(a, b)] == "p"  # not q, over the same leaves
    assert tree.labels[tree.lowest_common_ancestor(c, c)] == "c"  # not r


def test_a_root_may_have_any_name() -> None:
    tree = Hierarchy.from_rows([["47677", "4767*", "*****"], ["47678", "4767*", "*****"], ["4", "*****"]])
    assert tree.labels[0] == "*****"


@st.composite
def _rows(draw: st.DrawFn) -> list[list[str]]:
    """Random trees as rows leaf first, in random order, every inner node over at least one leaf."""
    rows: list[list[str]] = []
    count = 0

    def grow(above: list[str], depth: int) -> None:
        nonlocal count
        count += 1
        label = f"n{count}"
        children = draw(st.integers(0, 3)) if depth < 4 and count < 25 else 0
        if not children:
            rows.append([label, *above])
        for _ in range(children):
            grow([label, *above], depth + 1)

    for _ in range(draw(st.integers(1, 3))):
        grow(["*"], 1)
    return draw(st.permutations(rows))


@given(_rows(), st.data())
def test_an_ancestor_by_interval_is_the_one_found_by_walking(rows: list[list[str]], data: st.DataObject) -> None:
    tree = Hierarchy.from_rows(rows)
    above = {row[0]: row for row in rows}
    assert sorted(tree.code_of.values()) == list(range(len(rows)))
    chosen = data.draw(st.lists(st.sampled_from(sorted(above)), min_size=1))
    codes = [tree.code_of[leaf] for leaf in chosen]
    node = tree.lowest_common_ancestor(min(codes), max(codes))
    shared = next(label for label in above[chosen[0]] if all(label in above[leaf] for leaf in chosen))
    assert tree.labels[node] == shared
    under = {tree.code_of[leaf] for leaf, row in above.items() if shared in row}
    assert under == set(range(tree.first[node], tree.last[node] + 1))


def test_a_nested_tree_is_read_as_its_rows_are() -> None:
    nested = {"illness": {"respiratory": ["flu", "asthma"]}, "injury": ["burn"], "none": None}
    tree, rows = Hierarchy.from_tree(nested), Hierarchy.from_rows(RAGGED)
    assert tree.code_of == rows.code_of
    assert tree.node_of == rows.node_of
    assert Hierarchy.from_tree({"*": nested}).labels == tree.labels
    assert Hierarchy.from_tree(["a", {"g": ["b", "c"]}]).labels == ("*", "a", "g", "b", "c")


@pytest.mark.parametrize(
    ("nested", "complaint"),
    [
        pytest.param({"x": "leaf"}, "groups are mappings", id="text under a group"),
        pytest.param({"x": [1.5]}, "text, whole numbers or truth values", id="number with a point"),
        pytest.param({"x": ["a", None]}, "text, whole numbers or truth values", id="null as a leaf"),
        pytest.param({"x": ["a"], "y": ["a"]}, "stands twice", id="leaf twice"),
        pytest.param({}, "empty|one root|root above", id="empty"),
    ],
)
def test_a_nested_value_that_is_no_tree_is_refused(nested: object, complaint: str) -> None:
    with pytest.raises(HierarchyError, match=complaint):
        Hierarchy.from_tree(nested)  # type: ignore[arg-type]


def test_a_tree_that_holds_itself_is_refused() -> None:
    tree: dict[str, object] = {}
    tree["again"] = {"x": tree}
    with pytest.raises(HierarchyError, match="64 levels"):
        Hierarchy.from_tree(tree)  # type: ignore[arg-type]


def test_truth_values_and_numbers_of_yaml_are_labels_as_json_writes_them() -> None:
    tree = Hierarchy.from_tree({"all": [True, False, 7]})  # type: ignore[dict-item]
    assert set(tree.code_of) == {"true", "false", "7"}


def test_a_flat_hierarchy_has_one_level() -> None:
    tree = Hierarchy.flat(["x", "y"])
    assert (tree.size, tree.height) == (2, 1)
    with pytest.raises(HierarchyError, match=r"kept for the root|leaf and a group"):
        Hierarchy.flat(["x", "*"])
