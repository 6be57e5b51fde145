from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stream_anon.clustering.forest.repairing import peel, repair
from stream_anon.clustering.near_classes import near_classes
from stream_anon.clustering.shield_groups import join_groups
from stream_anon.engine.closing import Closer
from stream_anon.engine.keyed_draws import DrawsKey, keyed_order
from stream_anon.engine.warming import warm_up
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.keys import span_keys
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release, Suppression
from stream_anon.privacy.population.presence_check import count_covered
from tests.support.batches import small_policy
from tests.support.populations import bounded, population


@pytest.mark.parametrize("least", [None, 2])
@pytest.mark.parametrize("max_records", [6, 20, 1_000])
def test_any_policy_can_be_warmed_up(least: int | None, max_records: int) -> None:
    warm_up(small_policy(distinct_l=least, max_records=max_records))


@pytest.mark.parametrize("engine", ["forest", "mondrian", "k-forest", "full-domain"])
def test_engines_within_limits_meet_windows_of_which_they_can_make_classes(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[int] = []
    release = Closer.release

    def noted(self: Closer, *given: Any) -> Release:
        found = release(self, *given)
        released.append(found.released)
        return found

    monkeypatch.setattr(Closer, "release", noted)
    policy = small_policy(max_records=1_000)
    limited = tuple(
        (a.at_level(1) if engine == "full-domain" else replace(a, max_level=1))
        if isinstance(a, QuasiIdentifier)
        else a
        for a in policy.attributes
    )
    warm_up(replace(policy, attributes=limited, engine=EngineChoice(engine)))
    assert released
    assert min(released) > 0


def test_shields_of_many_people_are_met_by_windows_that_can_meet_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing is released, and the first real window waits for the compiler of RAISE."""
    reached: list[tuple[int, ...]] = []
    release = Closer.release

    def noted(self: Closer, *given: Any) -> Release:
        found = release(self, *given)
        reached.append(found.achieved_shields)
        return found

    monkeypatch.setattr(Closer, "release", noted)
    policy = small_policy(max_records=1_000)
    names = tuple(attribute.name for attribute in policy.quasi_identifiers)
    warm_up(replace(policy, shields=(Shield(names[:1], 20 * policy.k),)))
    assert reached
    assert all(shields and shields[0] >= 20 * policy.k for shields in reached)
    assert join_groups.signatures  # type: ignore[attr-defined] # it is compiled


def test_presence_is_met_by_a_window_of_which_nothing_is_published_and_by_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the first class that fails waits for the compiler, or what is done with released classes does."""
    found: list[Release] = []
    release = Closer.release

    def noted(self: Closer, *given: Any) -> Release:
        found.append(release(self, *given))
        return found[-1]

    monkeypatch.setattr(Closer, "release", noted)
    policy = small_policy(max_records=1_000)
    nodes = (
        replace(one, publication=PublishedForm.NODES) if isinstance(one, QuasiIdentifier) else one
        for one in policy.attributes
    )
    policy = replace(policy, attributes=tuple(nodes))
    warm_up(replace(policy, **bounded(0.3, population([[0] * len(policy.quasi_identifiers)]))))
    assert found[0].released == 0
    assert Suppression.PRESENCE in found[0].suppressed
    assert all(one.released for one in found[1:])
    assert near_classes.signatures  # type: ignore[attr-defined] # it is compiled
    assert count_covered.signatures  # type: ignore[attr-defined]


def test_a_key_of_draws_meets_no_kernel_that_was_not_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first window of a service with a key compiles nothing: its order is by a kernel of the same types."""
    met: list[tuple[object, ...]] = []

    def noted(*given: Any) -> None:
        met.append(tuple((one.dtype, one.ndim, one.strides, one.flags.writeable) for one in given))
        span_keys(*given)

    monkeypatch.setattr("stream_anon.microdata.keys.span_keys", noted)
    policy = small_policy()
    warm_up(policy)
    warmed, met = set(met), []
    payload = PassedTexts.of([(None,) * len(policy.passed)] * 20, len(policy.passed))
    codes = np.zeros((len(policy.quasi_identifiers), 20), np.int32)
    keyed_order(codes, np.arange(20, dtype=np.int32), payload, len(policy.passed), DrawsKey(b"x" * 16))
    assert met
    assert set(met) <= warmed


def test_the_first_window_with_people_who_return_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels that mend classes are met before the first record comes."""
    met: list[str] = []

    def noting(policy: Policy) -> None:
        for module in (repair, peel):
            for name, found in list(vars(module).items()):
                if hasattr(found, "py_func") and hasattr(found, "signatures") and found.signatures:
                    met.append(f"{module.__name__}.{name}")
        assert policy.k

    policy = small_policy(max_records=1_000)
    warm_up(policy)
    noting(policy)
    assert any("repair" in name for name in met)
    assert any("peel" in name for name in met)
