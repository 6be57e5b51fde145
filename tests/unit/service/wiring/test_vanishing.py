"""Fields that stop coming are told once, and once more when they are back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stream_anon.service.wiring.vanishing import EXPECTED, Vanishing

GONE, HERE = {"city": 100}, dict[str, int]()


def told(windows: list[tuple[int, dict[str, int]]], *names: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    vanishing = Vanishing()
    vanishing.follow(names or ("city",))
    changes = [vanishing.take(records, missing) for records, missing in windows]
    return [(change.vanished, change.back) for change in changes]


def test_a_field_that_stops_coming_is_told_once_and_once_more_when_it_is_back() -> None:
    windows = [(100, HERE), (100, GONE), (100, GONE), (100, HERE), (100, HERE), (100, GONE)]
    assert told(windows) == [((), ()), (("city",), ()), ((), ()), ((), ("city",)), ((), ()), (("city",), ())]


def test_a_field_that_never_came_has_not_vanished() -> None:
    assert told([(100, GONE)] * 3) == [((), ())] * 3


def test_a_field_that_few_records_hold_has_not_vanished_when_a_small_window_has_none() -> None:
    # one record of a hundred holds it: 400 without it are chance, 500 are not
    windows = [(100, {"city": 99}), *[(100, GONE)] * 5]
    assert [vanished for vanished, _ in told(windows)] == [(), (), (), (), (), ("city",)]


def test_a_window_of_few_records_is_counted_together_with_the_next_ones() -> None:
    windows = [(50, HERE), (2, {"city": 2}), (2, {"city": 2}), (0, {}), (1, {"city": 1})]
    assert [vanished for vanished, _ in told(windows)] == [(), (), (), (), ("city",)]


def test_fields_are_told_together_in_the_order_of_the_policy() -> None:
    both = {"city": 60, "age": 60}
    assert told([(60, HERE), (60, both), (60, HERE)], "age", "city")[1:] == [
        (("age", "city"), ()),
        ((), ("age", "city")),
    ]


def test_a_worker_that_starts_again_in_the_process_still_knows_what_came() -> None:
    vanishing = Vanishing()
    vanishing.follow(["city"])
    vanishing.take(100, HERE)
    vanishing.follow(["city", "age"])
    assert vanishing.take(100, {"city": 100, "age": 100}).vanished == ("city",)


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), max_size=40))
def test_vanished_and_back_take_turns_and_nothing_vanishes_in_a_window_that_holds_it(
    windows: list[tuple[int, float]],
) -> None:
    given_windows = [(records, {"city": round(records * share)}) for records, share in windows]
    changes = told(given_windows)
    gone = False
    for (records, missing), (vanished, back) in zip(given_windows, changes, strict=True):
        assert not (vanished and back)
        assert not (vanished and gone)
        assert bool(back) is (gone and missing["city"] < records)
        assert not (vanished and missing["city"] < records)
        gone = bool(vanished) or (gone and not back)


def test_by_chance_a_field_is_hardly_ever_told_as_vanished() -> None:
    assert (1 - 0.01) ** (EXPECTED / 0.01) < 1 / 100
