from __future__ import annotations

import pytest

from stream_anon.errors import HierarchyError
from stream_anon.microdata.domains.automatic import balanced, equal_frequency, equal_width, word_prefixes
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy


def _ancestors(tree: Hierarchy, leaf: str) -> list[str]:
    node, path = int(tree.leaves[tree.code_of[leaf]]), []
    while node >= 0:
        path.append(tree.labels[node])
        node = int(tree.parents[node])
    return path


def test_neighbours_of_an_ordered_list_lie_under_one_node() -> None:
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


def test_an_arity_below_two_is_refused() -> None:
    with pytest.raises(HierarchyError, match="arity"):
        balanced(["a", "b"], arity=1)


def test_equal_widths_grow_by_the_arity_and_stay_below_the_whole() -> None:
    assert equal_width(100, 10) == (10, 20, 40, 80)
    assert equal_width(100, 10, arity=3) == (10, 30, 90)
    assert equal_width(74, 4) == (19, 38)
    assert equal_width(2, 2) == (1,)
    for cells, parts, arity in ((5, 6, 2), (5, 1, 2), (5, 2, 1)):
        with pytest.raises(ValueError, match="needs"):
            equal_width(cells, parts, arity)


def test_ranges_of_equal_frequency_begin_only_where_enough_people_stand() -> None:
    anywhere = [True] * 8
    assert equal_frequency([1] * 8, anywhere, 4) == (2, 4, 6)
    assert equal_frequency([50, 1, 1, 48, 100], [True] * 5, 2) == (4,)
    assert equal_frequency([50, 1, 1, 48, 100], [True, False, False, True, False], 2) == (3,)
    assert equal_frequency([9, 0, 0, 0], [True] * 4, 3) == ()  # whatever begins behind all values holds none
    assert equal_frequency([0, 0, 5, 5], [True] * 4, 2) == (3,)  # nothing lies before the first value
    assert equal_frequency([1] * 8, [False] * 8, 4) == ()


def test_words_of_a_text_are_cut_from_its_end() -> None:
    """The vector: 5 words, "this is" at level 3, the root at level 5."""
    tree = word_prefixes(["this is a test string", "this is a quest string", "this was"])
    assert _ancestors(tree, "this is a test string") == [
        "this is a test string",
        "this is a test",
        "this is a",
        "this is",
        "this",
        "*",
    ]
    assert _ancestors(tree, "this was") == ["this was", "this", "*"]
    domain = CategoricalDomain(tree)
    codes = [domain.code(f"this is a {word} string") for word in ("test", "quest")]
    assert domain.level(min(codes), max(codes)) == 2
    assert tree.level(tree.node_of["this is"]) == 3
    assert word_prefixes(["a/b", "a/c"], "/").labels == ("*", "a", "a/b", "a/c")


def test_a_text_that_another_one_begins_with_is_refused() -> None:
    with pytest.raises(HierarchyError, match="both a leaf and a group"):
        word_prefixes(["surgery", "surgery general"])
    with pytest.raises(HierarchyError, match="more than 64 words"):
        word_prefixes(["a " * 64 + "a", "b"])
