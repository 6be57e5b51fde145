from __future__ import annotations

import pytest

from stream_anon.clustering.forest.refining import peel
from stream_anon.clustering.forest.repairing import repair
from stream_anon.engine.warming import warm_up
from stream_anon.microdata.policy import Policy
from tests.support.batches import small_policy


@pytest.mark.parametrize("least", [None, 2])
@pytest.mark.parametrize("max_records", [6, 20, 1_000])
def test_a_policy_cannot_be_warmed_up(least: int | None, max_records: int) -> None:
    warm_up(small_policy(distinct_l=least, max_records=max_records))


def test_the_first_window_with_people_who_return_waits_for_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
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
