"""What settings cost on a sample, which of them are worth having, and which is the cheapest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stream_anon.errors import InputError, SettingsError
from stream_anon.files.job import FileJob
from stream_anon.microdata.diversity import Closeness, Diversity
from stream_anon.microdata.policy import Policy
from stream_anon.operations.plan.arrivals import Arrivals, Load, arrivals_of, bytes_of, rate_of
from stream_anon.operations.plan.planning import Plan, PlanChoices, PlanLimits, pareto_front, plan
from stream_anon.operations.plan.plot import plan_plot
from stream_anon.operations.plan.trial import Figures, Setting, Trial, diversity_with, try_setting, with_setting
from stream_anon.operations.samples import sample_of_file
from stream_anon.settings.policy_file import load_policy
from tests.support.batches import small_policy
from tests.support.policies import people, write_json_lines, write_policy


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Policy, Path]:
    folder = tmp_path_factory.mktemp("plan")
    records = people(1_030)
    records[7]["home"] = {"city": "Atlantis"}  # does not fit, and takes its place in time
    source = write_json_lines(folder / "in.jsonl", records)
    source.write_text(source.read_text().replace("\n", "\n\n", 3))  # blank lines are no records
    return load_policy(write_policy(folder)), source


def _setting(**changes: object) -> Setting:
    return replace(Setting(3, None, "mondrian", 100, 1_000.0), **changes)


def _figures(policy: Policy, arrivals: Arrivals, setting: Setting) -> Figures:
    found = try_setting(policy, arrivals, setting, 5)
    assert found.figures is not None, found.reason
    return found.figures


def test_what_a_delay_costs_is_told_of_published_records() -> None:
    figures = Figures(10, 1_000, 1.0, 1.0, 1.0, suppressed=0.4, loss=0.52, least_individuals=3)
    assert figures.published == pytest.approx((60, 0.2))
    assert replace(figures, suppressed=1.0, loss=1.0).published is None


def test_figures_are_those_of_a_file_that_is_anonymized_with_the_same_setting(
    sample: tuple[Policy, Path], tmp_path: Path
) -> None:
    policy, source = sample
    setting = _setting()
    figures = _figures(policy, arrivals_of(policy, sample_of_file(policy, str(source)), Load(10.0)), setting)
    # The last window of the file is cut off by its end, and not one of the plan's.
    whole = tmp_path / "whole.jsonl"
    lines = [line for line in source.read_text().splitlines() if line]
    whole.write_text("\n".join(lines[:1_001]))
    job = FileJob(with_setting(policy, setting, 5), str(whole), str(tmp_path / "out.jsonl"), by_arrival=True)
    report = job.run(lambda _: None)
    assert figures.windows == report.windows == 10
    assert figures.records == 1_000
    assert figures.suppressed == pytest.approx(sum(report.suppressed.values()) / 1_000)
    assert figures.loss == pytest.approx(report.gcp)
    assert figures.least_individuals == report.achieved_k


def test_a_full_window_delays_its_first_record_by_the_time_it_fills(sample: tuple[Policy, Path]) -> None:
    policy, source = sample
    figures = _figures(policy, arrivals_of(policy, sample_of_file(policy, str(source)), Load(10.0)), _setting())
    assert figures.longest_delay == pytest.approx(10.0)  # 100 records and the one that does not fit
    assert figures.mean_delay == pytest.approx(4.95, abs=0.02)
    assert figures.late_delay == pytest.approx(9.4, abs=0.11)


def test_a_window_that_is_due_delays_by_its_age_limit(sample: tuple[Policy, Path]) -> None:
    policy, source = sample
    arrivals = arrivals_of(policy, sample_of_file(policy, str(source)), Load(10.0))
    figures = _figures(policy, arrivals, _setting(max_records=1_000, max_delay=20.0))
    assert 18.0 <= figures.longest_delay <= 20.0
    assert 5 <= figures.windows <= 6
    assert figures.records < 1_030


def test_the_same_seed_gives_the_same_figures(sample: tuple[Policy, Path]) -> None:
    policy, source = sample
    arrivals = arrivals_of(policy, sample_of_file(policy, str(source)), Load(10.0))
    setting = _setting(engine="forest", max_delay=9.0)
    one, two, other = (try_setting(policy, arrivals, setting, seed) for seed in (1, 1, 2))
    assert one == two
    assert one != other


def test_a_sample_that_fills_no_window_gives_no_figures(sample: tuple[Policy, Path]) -> None:
    policy, source = sample
    arrivals = arrivals_of(policy, sample_of_file(policy, str(source)), Load(10.0))
    found = try_setting(policy, arrivals, _setting(max_records=5_000), 0)
    assert found.figures is None
    assert found.reason == (
        "the sample is too short: 1,029 records in 102.9 s fill no window of 5,000 records or 1000 s"
    )
    contradiction = try_setting(policy, arrivals, _setting(k=200), 0)
    assert contradiction.figures is None
    assert "max_records" in contradiction.reason


def test_a_rate_is_records_by_time() -> None:
    assert [rate_of(text) for text in ("500/s", "30/min", "7200 / h", "2.5")] == [500.0, 0.5, 2.0, 2.5]
    for wrong in ("", "0/s", "x", "-1/s", "5/d", "1e3/s"):
        with pytest.raises(SettingsError, match="--rate"):
            rate_of(wrong)


def test_a_length_may_be_told_in_bytes_kilobytes_or_megabytes() -> None:
    assert [bytes_of(text) for text in ("800", "1KB", "1.5 kb", "2MB")] == [800.0, 1000.0, 1500.0, 2e6]
    for wrong in ("0", "much", "1KiB", "-5", "1e3"):
        with pytest.raises(SettingsError, match="--record-bytes"):
            bytes_of(wrong)


def test_a_file_needs_a_rate_and_a_record_that_fits(sample: tuple[Policy, Path], tmp_path: Path) -> None:
    policy, source = sample
    with pytest.raises(InputError, match="no times of arrival"):
        arrivals_of(policy, sample_of_file(policy, str(source)), Load())
    with pytest.raises(InputError, match="no record that fits the policy; 1 do not"):
        arrivals_of(
            policy,
            sample_of_file(policy, str(write_json_lines(tmp_path / "in.jsonl", [{"nothing": 1}]))),
            Load(1.0),
        )
    arrivals = arrivals_of(policy, sample_of_file(policy, str(source)), Load(2.0))
    assert arrivals.records == 1_030
    assert arrivals.rejected == 1
    assert np.diff(arrivals.times[arrivals.batch.offsets]).max() == 1.0  # where the one is missing


def test_a_number_of_values_is_asked_of_what_has_a_criterion_and_else_of_all_sensitive_values() -> None:
    none, two = small_policy(), small_policy(distinct_l=2)
    assert diversity_with(two, None) == dict(two.diversity)
    assert diversity_with(none, 3) == {"result": Diversity(distinct_l=3)}
    assert diversity_with(two, 3) == {"result": Diversity(distinct_l=3)}
    assert diversity_with(two, 1) == {}
    close = replace(two, diversity={"result": Diversity(distinct_l=2, t_closeness=Closeness(0.3))})
    assert diversity_with(close, 1) == {"result": Diversity(t_closeness=Closeness(0.3))}
    bare = replace(none, attributes=none.attributes[:-1])
    assert diversity_with(bare, 1) == {}
    with pytest.raises(SettingsError, match="sensitive"):
        diversity_with(bare, 2)


def test_every_combination_is_tried_and_sizes_are_halved_down_to_k() -> None:
    policy = small_policy(3)  # windows of 20
    found = PlanChoices().settings(policy)
    assert [setting.max_records for setting in found] == [5, 10, 20]
    assert {(s.k, s.l, s.engine, s.max_delay) for s in found} == {(3, None, "forest", 10.0)}
    many = PlanChoices((5, 2), (2, 1), ("forest", "mondrian"), (50,), (5.0, 1.0)).settings(policy)
    assert len(many) == 16
    assert many[0] == Setting(2, 1, "forest", 50, 1.0)
    with pytest.raises(SettingsError, match="at most 1,000"):
        PlanChoices(range(2, 1_010)).settings(policy)


def test_where_nobody_has_chosen_a_number_of_records_delays_are_halved() -> None:
    policy = small_policy(3)
    auto = replace(policy, window=replace(policy.window, max_records=1_000_000, auto=True))
    found = PlanChoices().settings(auto)
    assert [(setting.max_records, setting.max_delay) for setting in found] == [
        (1_000_000, delay) for delay in (0.625, 1.25, 2.5, 5.0, 10.0)
    ]
    assert [setting.max_records for setting in PlanChoices(max_records=(50,)).settings(auto)] == [50]
    assert with_setting(auto, Setting(3, None, "k-forest", 1_000_000, 5.0), 0).window.max_records == 10_000


def _trial(delay: float, suppressed: float, loss: float, k: int = 2, most: int = 10) -> Trial:
    figures = Figures(3, 100, delay / 2, delay, delay, suppressed, loss, k)
    return Trial(Setting(k, None, "forest", most, 1.0), figures)


def test_the_front_has_what_nothing_of_the_same_promise_beats() -> None:
    trials = [
        _trial(1, 0.0, 0.5),
        _trial(2, 0.0, 0.4),
        _trial(2, 0.1, 0.4),  # beaten by the one before
        _trial(3, 0.0, 0.45),  # beaten by the second
        _trial(3, 0.0, 0.45, k=5),  # of another k
        _trial(1, 0.0, 0.5),  # as good as the first
        Trial(Setting(2, None, "forest", 99, 1.0), None, "too short"),
    ]
    assert pareto_front(trials) == {0, 1, 4, 5}


def test_the_cheapest_setting_loses_least_of_those_that_meet_the_limits(sample: tuple[Policy, Path]) -> None:
    policy, source = sample
    arrivals = arrivals_of(policy, sample_of_file(policy, str(source)), Load(10.0))
    choices = PlanChoices((2, 5), (), ("mondrian",), (25, 50, 100, 200), (1_000.0,))
    told: list[int] = []
    found = plan(policy, arrivals, choices, PlanLimits(delay=11.0, suppressed=0.5), 0, told.append)
    assert told == list(range(9))
    assert [answer[:2] for answer in found.answers] == [(2, None), (5, None)]
    for k, _, place in found.answers:
        assert place is not None
        best = found.trials[place].figures
        assert best is not None
        assert best.longest_delay <= 11.0
        for trial in found.trials:
            if trial.setting.k == k and trial.figures is not None and trial.figures.longest_delay <= 11.0:
                assert best.loss <= trial.figures.loss
    assert found.met
    impossible = plan(policy, arrivals, choices, PlanLimits(loss=0.0, delay=1.0), 0, told.append)
    assert [place for *_, place in impossible.answers] == [None, None]
    assert not impossible.met
    assert plan(policy, arrivals, choices, PlanLimits(), 0, told.append).met


def test_the_picture_holds_every_setting_and_is_the_same_each_time(sample: tuple[Policy, Path]) -> None:
    pytest.importorskip("matplotlib")
    policy, source = sample
    trials = (_trial(1, 0, 0.5, most=123), _trial(2, 0.1, 0.4, 7, 4_567), _trial(3, 0, 0.45, most=89))
    arrivals = arrivals_of(policy, sample_of_file(policy, str(source)), Load(10.0))
    found = Plan(arrivals, 0, PlanLimits(), trials, pareto_front(trials), ())
    drawn = plan_plot(found)
    assert drawn == plan_plot(found)
    text = drawn.decode()
    assert text.count("<svg") == 1
    for word in ("123", "4,567", "89", "k 2, forest", "k 7, forest", "information loss (GCP)"):
        assert f">{word}<" in text
    nothing = plan_plot(replace(found, trials=(Trial(trials[0].setting, None, "too short"),), front=frozenset()))
    assert b"<svg" in nothing
