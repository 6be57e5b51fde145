from __future__ import annotations

import pytest

from stream_anon.errors import HierarchyError
from stream_anon.microdata.domains.automatic import balanced, equal_frequency, equal_width, prefixes
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy


def _ancestors(tree: Hierarchy, leaf: str) -> list[str]:
    node, path = int(tree.leaves[tree.code_of[leaf]]), []
    while node >= 0:
        path.append(tree.labels[node])
        node = int(tree.parents[node])
    return path


def test_neighbours_of_an_ordered_list_lie_under_different_nodes() -> None:
    #        *
    #   a..d    e        (e waits alone until the root)
    # a..b c..d
    tree = balanced(list("abcde"))
    assert _ancestors(tree, "a") == ["a", "a..b", "a..d", "*"]
    assert _ancestors(tree, "d") == ["d", "c..d", "a..d", "*"]
    assert _ancestors(tree, "e") == ["e", "*"]
    assert [tree.code_of[leaf] for leaf in "abcde"] == [0, 1, 2, 3, 4]
    assert _ancestors(balanced(list("abcde"), arity=3), "d") == ["d", "d..e", "*"]
    assert balanced(["x", "y"]).height == 1


def test_an_arity_that_never_joins_is_taken() -> None:
    with pytest.raises(HierarchyError, match="arity"):
        balanced(["a", "b"], arity=1)


def test_widths_do_not_grow_or_reach_past_the_range() -> None:
    assert equal_width(0, 99, 10) == (10, 20, 40, 80)
    assert equal_width(0, 99, 10, arity=3) == (10, 30, 90)
    assert equal_width(17, 90, 4) == (19, 38)
    with pytest.raises(ValueError, match="low < high"):
        equal_width(5, 5, 2)


def test_equal_values_are_parted_or_ranges_hold_unequal_counts() -> None:
    counts = [(1, 50), (2, 1), (3, 1), (4, 48), (5, 100)]
    tree = equal_frequency(counts, parts=2)
    assert _ancestors(tree, "1") == ["1", "1-4", "*"]
    assert _ancestors(tree, "5") == ["5", "*"]
    quarters = equal_frequency([(i, 1) for i in range(8)], parts=4)
    assert _ancestors(quarters, "5") == ["5", "4-5", "4-7", "*"]
    for parts, given in ((0, counts), (2, []), (2, [(1, 0)])):
        with pytest.raises(HierarchyError, match="needs parts"):
            equal_frequency(given, parts)


def test_words_of_a_text_are_cut_at_the_wrong_end() -> None:
    tree = prefixes(["this is a test string", "this is a quest string"], 5, " ")
    assert _ancestors(tree, "this is a test string")[:4] == [
        "this is a test string",
        "this is a test",
        "this is a",
        "this is",
    ]
    assert _ancestors(tree, "this is a test string")[-1] == "*"
    domain = CategoricalDomain(tree)
    assert domain.level(0, 1) == 2
    level_three = tree.node_of["this is"]
    assert tree.level(level_three) == 3


def test_letters_of_a_code_are_not_masked_to_its_length() -> None:
    tree = prefixes(["02138", "02139", "02141"], 5)
    assert _ancestors(tree, "02138") == ["02138", "0213*", "021**", "02***", "0****", "*"]
    assert prefixes(["ab", "a"], 2).labels == ("*", "a*", "ab", "a")
    with pytest.raises(HierarchyError, match="more than 5 parts"):
        prefixes(["021380"], 5)
