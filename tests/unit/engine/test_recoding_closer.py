"""What becomes of a method's answer: its nodes are published, and it is not believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import pytest

from stream_anon.engine import recoding_closer
from stream_anon.engine.partitioners import partitioners
from stream_anon.engine.recoding_closer import RecodingCloser, WholeTable
from stream_anon.errors import Refused, SettingsError
from stream_anon.microdata.attributes import QuasiIdentifier, Sensitive
from stream_anon.microdata.batch import MISSING_KEY
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.columns import NO_VALUE, Columns
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.method import METHODS, MethodChoice
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Release, Suppression
from stream_anon.privacy.policy_document import PolicyDocument
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table
from stream_anon.recoding.recoders.recoders_by_name import RECODERS
from tests.support.lying import sealed

LEAVES = CategoricalDomain(balanced([str(i) for i in range(8)], 2))
DATAFLY = MethodChoice("datafly")


class Told:
    """A recoder that answers what it was told."""

    across_groups = False

    def __init__(
        self, low: Sequence[int], high: Sequence[int], suppressed: Sequence[int] = (), below: int = 0
    ) -> None:
        self._bounds = np.array([low], np.int32), np.array([high], np.int32)
        self._suppressed, self._below = suppressed, below

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        assert asked.k in (1, 2)
        marks = np.isin(np.arange(len(table)), self._suppressed)
        return Recoding(*self._bounds, marks, (Step("told"),), self._below)


def _policy(**more: object) -> Policy:
    return replace(Policy((QuasiIdentifier("x", LEAVES), Sensitive("s")), 2, EVERY_RECORD), **more)  # type: ignore[arg-type]


def _released(
    monkeypatch: pytest.MonkeyPatch, recoder: Told, codes: Sequence[int], values: Sequence[int] = (), **more: object
) -> Release:
    monkeypatch.setattr(recoding_closer, "recoder_of", lambda choice: recoder)
    choice = MethodChoice("iab") if "k" in more else DATAFLY
    policy = _policy(**more)
    sensitive = np.array([values] * len(policy.diverse), np.int32).reshape(len(policy.diverse), len(codes))
    rows = Columns(np.array([codes], np.int32), np.arange(len(codes), dtype=np.int32), sensitive)
    closer = RecodingCloser(policy, choice)
    return closer.release(sealed(policy, rows, WholeTable()), np.random.default_rng(0))


def test_nodes_above_the_least_one_are_published_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _released(monkeypatch, Told([0, 0, 4, 4], [3, 3, 5, 5]), [0, 1, 4, 5])
    assert release.classes.low.tolist() == [[0, 4]]
    assert release.classes.high.tolist() == [[3, 5]]
    assert release.class_of_row.tolist() == [0, 0, 1, 1]
    assert release.classes.ncp.tolist() == [[0.5, 0.25]]
    assert (release.gate_violations, release.achieved_k) == (0, 2)


def test_rows_that_the_method_suppresses_are_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _released(monkeypatch, Told([0, 0, 4], [1, 1, 4], [2]), [0, 1, 4])
    assert release.class_of_row.tolist() == [0, 0, -1]
    assert release.suppressed == {Suppression.UNPLACED: 1}


def test_the_gate_suppresses_a_group_below_k_that_a_method_wants_published(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _released(monkeypatch, Told([0, 0, 4], [1, 1, 4]), [0, 1, 4])
    assert release.class_of_row.tolist() == [0, 0, -1]
    assert release.suppressed == {Suppression.GATE: 1}
    assert release.gate_violations == 1


def test_the_gate_suppresses_rows_outside_of_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _released(monkeypatch, Told([0, 0, 0, 4, 4], [1, 1, 1, 5, 5]), [0, 1, 7, 4, 5])
    assert set(release.class_of_row[:3].tolist()) == {-1}
    assert release.released == 2


def test_a_group_that_misses_a_criterion_no_method_knows_is_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told([0, 0, 4, 4, 6, 6], [1, 1, 5, 5, 7, 7])
    criteria = {"s": Diversity(alpha=0.6)}
    release = _released(monkeypatch, told, [0, 1, 4, 5, 6, 7], [0, 1, 1, 1, 0, 0], diversity=criteria)
    assert release.class_of_row.tolist() == [0, 0, -1, -1, -1, -1]
    assert release.suppressed == {Suppression.UNPLACED: 4}
    assert release.gate_violations == 0


def test_nodes_that_are_written_alike_become_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole domain is published as `*`, with the leaves for missing and unknown values or without them."""
    told = Told([0, 0, 4, 4], [7, 9, 5, 5])
    release = _released(monkeypatch, told, [0, 1, 4, 5])
    assert release.class_of_row.tolist() == [0, 0, 1, 1]
    assert list(release.classes.values[0]) == ["*", LEAVES.publish(4, 5)]
    assert release.gate_violations == 0


def test_that_every_group_misses_a_criterion_leaves_nothing_to_publish(monkeypatch: pytest.MonkeyPatch) -> None:
    told, criteria = Told([0, 0, 4, 4], [1, 1, 5, 5]), {"s": Diversity(alpha=0.6)}
    release = _released(monkeypatch, told, [0, 1, 4, 5], [0, 0, 1, 1], diversity=criteria)
    assert release.released == 0
    assert release.suppressed == {Suppression.UNPLACED: 4}


def test_criteria_never_suppress_what_a_promise_across_groups_counts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told([0, 0, 4, 4], [1, 1, 5, 5])
    told.across_groups = True
    with pytest.raises(Refused, match="would suppress 2 records"):
        _released(monkeypatch, told, [0, 1, 4, 5], [0, 1, 1, 1], diversity={"s": Diversity(2)})


def test_a_highest_level_never_suppresses_what_a_promise_across_groups_counts_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limited = (QuasiIdentifier("x", LEAVES, max_level=1), Sensitive("s"))
    told = Told([0, 0, 4, 4], [1, 1, 7, 7])
    release = _released(monkeypatch, told, [0, 1, 4, 6], attributes=limited)
    assert release.suppressed == {Suppression.MAX_LEVEL: 2}
    told.across_groups = True
    with pytest.raises(Refused, match="would suppress 2 records"):
        _released(monkeypatch, told, [0, 1, 4, 6], attributes=limited)
    told = Told([0, 0, 4, 4], [1, 1, 5, 5])
    told.across_groups = True
    assert _released(monkeypatch, told, [0, 1, 4, 5], attributes=limited).released == 4


def test_a_method_sees_its_classes_and_the_attribute_of_which_most_values_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[Table, RecodingGoal]] = []

    class Seeing(Told):
        def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
            seen.append((table, asked))
            return super().recode(table, asked)

    told = Seeing([0] * 4, [7] * 4)
    monkeypatch.setattr(recoding_closer, "recoder_of", lambda choice: told)
    attributes = (QuasiIdentifier("x", LEAVES), Sensitive("s"), Sensitive("r"))
    diversity = {"s": Diversity(3), "r": Diversity(2)}
    policy = Policy(attributes, 2, EVERY_RECORD, diversity=diversity)
    sensitive = np.array([[0, 1, 2, NO_VALUE], [0, 1, 0, 1]], np.int32)
    rows = Columns(np.array([[0, 2, 4, 6]], np.int32), np.arange(4, dtype=np.int32), sensitive)
    window = replace(sealed(policy, rows, WholeTable()), payload=[("a", 7), ("b", 8), ("c", 7), ("d", None)])
    closer = RecodingCloser(policy, MethodChoice("tds", {"target": "r"}))
    release = closer.release(window, np.random.default_rng(0))
    ((table, asked),) = seen
    assert (asked.k, asked.l, asked.most_suppressed) == (2, 3, 0)
    assert table.rows.sensitive.tolist() == [[0, 1, 2, MISSING_KEY]]
    assert table.labels is not None
    assert table.labels.tolist() == [0, 1, 0, 2]
    assert [str(step) for step in closer.steps] == ["told"]
    assert release.released == 4


def test_without_criteria_a_method_is_asked_for_one_value(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[RecodingGoal] = []

    class Seeing(Told):
        def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
            seen.append(asked)
            return super().recode(table, asked)

    _released(monkeypatch, Seeing([0, 0], [1, 1]), [0, 1])
    assert seen == [RecodingGoal(2, 1, 0)]


def test_what_a_method_leaves_below_k_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="leaves 1 records"):
        _released(monkeypatch, Told([0, 0, 4], [1, 1, 4], below=1), [0, 1, 4])


def test_a_window_below_k_is_suppressed_without_asking_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    release = _released(monkeypatch, Told([], []), [3])
    assert release.suppressed == {Suppression.SHORTFALL: 1}


def test_the_options_of_a_policy_are_the_fields_of_its_recoder() -> None:
    for name, recoder in RECODERS.items():
        own = {field.name for field in fields(recoder)}  # type: ignore[arg-type]
        assert own == METHODS[name] - {"max_suppressed"}
    assert METHODS.keys() - RECODERS.keys() == {"anatomy"}  # which recodes no cells


@pytest.mark.parametrize(
    ("name", "options", "key"),
    [
        ("guess", {}, "method.name"),
        ("datafly", {"prefer": ["x"]}, "method.prefer"),
        ("tds", {}, "method.target"),
    ],
)
def test_a_method_refuses_what_is_not_its_own(name: str, options: dict[str, object], key: str) -> None:
    with pytest.raises(SettingsError) as error:
        MethodChoice(name, options)
    assert error.value.key == key


def test_an_option_of_a_wrong_value_is_refused() -> None:
    with pytest.raises(SettingsError, match="method"):
        RecodingCloser(_policy(), MethodChoice("ola", {"loss": "beauty"}))


def test_a_stream_refuses_a_method_and_a_method_refuses_extra_levels() -> None:
    with pytest.raises(SettingsError, match="a stream has no whole table"):
        partitioners(_policy(method=DATAFLY), draws=np.random.default_rng(0))
    with pytest.raises(SettingsError, match="extra_levels"):
        _policy(method=DATAFLY, extra_levels=1)


def test_a_method_promises_what_the_policy_promises_without_it() -> None:
    assert PolicyDocument.of(_policy(method=DATAFLY)).promises == PolicyDocument.of(_policy()).promises


WITHOUT_K: dict[str, object] = {"k": None, "max_share": 1.0, "shields": (Shield(("x",), 3),)}


def test_without_k_the_gate_suppresses_a_group_of_a_shield_and_no_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recoder that lies publishes nothing unsafe: of four groups only the one of three people leaves."""
    low, high = [0, 0, 0, 3, 4, 4], [2, 2, 2, 3, 5, 5]
    release = _released(monkeypatch, Told(low, high), [0, 1, 2, 3, 4, 5], **WITHOUT_K)
    assert release.class_of_row.tolist() == [0, 0, 0, -1, -1, -1]
    assert release.suppressed == {Suppression.SHIELD: 3}
    assert (release.achieved_k, release.achieved_shields) == (3, (3,))


def test_a_window_of_fewer_people_than_a_shield_asks_is_not_recoded_without_k(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = _released(monkeypatch, Told([], []), [3, 3], **WITHOUT_K)
    assert release.suppressed == {Suppression.SHORTFALL: 2}


def test_only_iab_does_without_k() -> None:
    policy = _policy(**WITHOUT_K)
    for name in METHODS.keys() - {"iab", "anatomy"}:
        with pytest.raises(SettingsError, match=r"privacy\.k"):
            RecodingCloser(policy, MethodChoice(name, {"target": "s"} if "target" in METHODS[name] else {}))
    with pytest.raises(SettingsError, match=r"privacy\.k"):
        partitioners(policy, draws=np.random.default_rng(0))
    for wrong in ({"shields": ()}, {"max_share": 0.5}):
        with pytest.raises(SettingsError, match=r"privacy\."):
            _policy(**{**WITHOUT_K, **wrong})


def test_a_target_that_is_not_published_as_it_is_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"method\.target"):
        RecodingCloser(_policy(), MethodChoice("tds", {"target": "x"}))


@pytest.mark.parametrize("seed", range(5))
def test_a_method_meets_each_person_with_their_own_values_and_its_answer_is_theirs(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Equal rows are dealt: in which order a method meets them was drawn, and follows no arrival."""
    n = 12
    values = np.arange(n, dtype=np.int32) // 2
    met: list[list[int]] = []

    class Choosing(Told):
        def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
            people = table.rows.individuals
            met.append(people.tolist())
            assert table.labels is not None
            assert table.labels.tolist() == (people // 3).tolist()
            assert table.rows.sensitive.tolist() == [(people // 2).tolist()]
            told = super().recode(table, asked)
            return replace(told, suppressed=people < 4)

    told = Choosing([0] * n, [0] * n)
    monkeypatch.setattr(recoding_closer, "recoder_of", lambda choice: told)
    attributes = (QuasiIdentifier("x", LEAVES), Sensitive("s"), Sensitive("r"))
    policy = Policy(attributes, 2, EVERY_RECORD, diversity={"s": Diversity(2)})
    rows = Columns(np.zeros((1, n), np.int32), np.arange(n, dtype=np.int32), values[None])
    window = replace(sealed(policy, rows, WholeTable()), payload=[(0, row // 3) for row in range(n)])
    closer = RecodingCloser(policy, MethodChoice("tds", {"target": "r"}))
    release = closer.release(window, np.random.default_rng(seed))
    assert release.class_of_row.tolist() == [-1] * 4 + [0] * 8
    assert met != [list(range(n))]
