"""A report has the figures that an independent recount of what was released gives."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import yaml
from pycanon import anonymity

from stream_anon.audit.scope import AuditScope, seconds_of
from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.policy import Policy
from stream_anon.operations.audit import audit_settings
from stream_anon.operations.audit.auditing import WantedAudit
from stream_anon.operations.report.report_document import document_of
from stream_anon.operations.report.report_page import statement
from stream_anon.operations.report.reporting import ReportSubject, report
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import build_policy
from tests.support.audited_files import SETTINGS, Files, visits
from tests.support.clock import FakeClock
from tests.support.completed import release, townspeople
from tests.support.policies import write_json_lines

QUASI = ("patient.age", "patient.zip", "plan", "ward", "smoker", "weight", "day")
EVERY: dict[str, Any] = SETTINGS | {"privacy": SETTINGS["privacy"] | {"individual": "every-record"}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("made"), EVERY, visits(900))


def _told(files: Files, wanted: WantedAudit | None = None, **more: Any) -> dict[str, Any]:
    subject = ReportSubject(files.policy_path, files.output, files.certificates, **more)
    return document_of(report(subject, wanted or WantedAudit(), FakeClock()))


def _parts(files: Files) -> list[dict[str, Any]]:
    return [json.loads(part) for part in files.parts]


def _released(files: Files) -> pd.DataFrame:
    """Return the released records, each with its window, as the order of certificates has them."""
    windows = [number for number, one in enumerate(_parts(files)) for _ in range(one["released"])]
    rows = [json.loads(line) for line in files.lines]
    flat = [row | {f"patient.{name}": value for name, value in row.pop("patient").items()} for row in rows]
    texts = [{name: json.dumps(value) for name, value in row.items()} for row in flat]
    return pd.DataFrame(texts).assign(window=windows)


def test_classes_and_risks_are_those_that_duckdb_counts(files: Files) -> None:
    released = _released(files)  # noqa: F841 - named in the query
    columns = ", ".join(f'"{name}"' for name in ("window", *QUASI))
    query = f"""
        with sizes as (select count(*) n, count(distinct result) l from released group by {columns})
        select count(*), sum(n), min(n), max(n), quantile_disc(n, 0.5), max(1 / n), count(*) / sum(n), min(l),
               coalesce(sum(n) filter (1 / n > 0.2), 0) / sum(n)
        from sizes
    """  # noqa: S608 - names of this test
    counted = duckdb.sql(query).fetchall()[0]
    told = _told(files, max_risk=0.2)
    classes, people, smallest, largest, median, highest, average, distinct, above = counted
    found = told["classes"]
    assert (found["classes"], found["people"], found["smallest"]) == (classes, people, smallest)
    assert (found["largest"], found["median"]) == (largest, median)
    risks = {risk["attacker"]: risk for risk in told["risks"]["after"]}
    assert risks["prosecutor"]["highest"] == pytest.approx(highest)
    assert risks["prosecutor"]["average"] == risks["marketer"]["average"] == pytest.approx(float(average))
    assert risks["prosecutor"]["above"] == pytest.approx(float(above))
    assert told["sensitive"][0]["distinct_l"] == {"asked": 2, "achieved": distinct, "windows": len(files.parts)}
    assert told["records"]["released"] == people
    assert (told["risks"]["holds"], told["holds"]) == (highest <= 0.2, highest <= 0.2)


def test_the_worst_window_is_the_one_that_pycanon_finds(files: Files) -> None:
    released, told = _released(files), _told(files)
    windows = [window.reset_index(drop=True) for _, window in released.groupby("window")]
    assert told["classes"]["smallest"] == min(anonymity.k_anonymity(one, list(QUASI)) for one in windows)
    least = min(anonymity.l_diversity(one, list(QUASI), ["result"]) for one in windows)
    assert told["sensitive"][0]["distinct_l"]["achieved"] == least


def test_records_and_losses_are_those_of_the_certificates(files: Files) -> None:
    told, parts = _told(files), _parts(files)
    records = told["records"]
    for key in ("in", "released", "suppressed", "rejected"):
        assert records[key] == sum(one[key] for one in parts)
    assert records["windows"] == len(parts)
    assert records["in"] == records["released"] + records["suppressed"] + records["rejected"] == 900
    judged = [one["released"] + one["suppressed"] for one in parts]
    gcp = sum(one["gcp"] * count for one, count in zip(parts, judged, strict=True)) / sum(judged)
    assert told["loss"]["gcp"] == pytest.approx(gcp)
    losses = told["loss"]["attributes"]
    assert list(losses) == list(QUASI)
    assert sum(losses.values()) / len(losses) == pytest.approx(gcp)
    assert sum(stretch["records"] for stretch in told["loss"]["over_time"]) == sum(judged)


def test_only_windows_of_the_period_are_counted(files: Files) -> None:
    """The first closed a day before the others: their certificates are changed as one who owns the clock may."""
    parts = _parts(files)
    first = parts[0] | {"opened": "2024-05-01T10:00:00Z", "closed": "2024-05-01T10:00:07Z"}
    files.parts[0] = json.dumps(first, separators=(",", ":"), ensure_ascii=False).encode()
    for number in range(1, len(parts)):
        later = parts[number] | {"opened": "2024-05-02T10:00:00Z", "closed": "2024-05-02T10:00:02Z"}
        files.parts[number] = json.dumps(later, separators=(",", ":"), ensure_ascii=False).encode()
    files.write()
    midnight = seconds_of("2024-05-02T00:00:00Z")
    before = _told(files, WantedAudit(AuditScope(until=midnight)))
    after = _told(files, WantedAudit(AuditScope(since=midnight)))
    assert before["records"]["windows"] == 1
    assert before["records"]["released"] == first["released"]
    assert before["period"] == {
        "from": None,
        "to": "2024-05-02T00:00:00Z",
        "first": "2024-05-01T10:00:07Z",
        "last": "2024-05-01T10:00:07Z",
    }
    assert before["delay"]["mean_seconds"] == before["delay"]["most_seconds"] == 7
    assert after["records"]["windows"] == len(parts) - 1
    assert after["delay"]["most_seconds"] == 2


def test_the_risk_before_is_that_of_exact_values(files: Files, tmp_path: Path) -> None:
    twice = [visit | {"person": f"p{number}"} for number in range(2) for visit in visits(40) if "plan" in visit]
    sample = write_json_lines(tmp_path / "in.jsonl", twice)
    told = _told(files, original=str(sample))["risks"]
    assert told["sample"] == str(sample)
    assert (told["sample_people"], told["sample_left_out"]) == (72, 2)
    assert len(twice) == 74
    before = {risk["attacker"]: risk for risk in told["before"]}
    assert before["prosecutor"]["highest"] == before["prosecutor"]["average"] == 0.5


def test_a_journalist_counts_the_population(tmp_path: Path) -> None:
    settings = {
        "privacy": {"k": 3, "individual": "every-record"},
        "attributes": {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 9}}},
    }
    files = Files(tmp_path, settings, [{"age": age} for age in (1, 1, 1, 1, 8, 8, 8)])
    counts = tmp_path / "counts.csv"
    counts.write_text("age,count\n1,40\n8,6\n5,1000\n")
    told = _told(files, population=counts, max_risk=0.1)
    journalist = told["risks"]["after"][2]
    assert journalist["attacker"] == "journalist"
    assert journalist["highest"] == 1 / 6
    assert journalist["average"] == pytest.approx(max((4 / 40 + 3 / 6) / 7, 2 / 46))
    assert journalist["above"] == pytest.approx(3 / 7)
    assert [risk["attacker"] for risk in _told(files)["risks"]["after"]] == ["prosecutor", "marketer"]


def test_the_threshold_is_that_of_the_policy_unless_another_is_given(files: Files) -> None:
    assert _told(files)["risks"]["threshold"] == 0.25
    risky = EVERY | {
        "privacy": {"max_risk": 0.3, "individual": "every-record", "sensitive": {"result": {"distinct_l": 2}}}
    }
    files.policy_path.write_text(yaml.safe_dump(risky))
    assert _told(files)["risks"]["threshold"] == 0.3
    assert _told(files, max_risk=0.01)["risks"] | {"after": 0} == {
        "threshold": 0.01,
        "holds": False,
        "after": 0,
        "sample": None,
        "sample_people": None,
        "sample_left_out": 0,
        "before": None,
    }


def test_a_release_that_was_changed_does_not_hold(files: Files) -> None:
    files.lines[3] = json.dumps(json.loads(files.lines[3]) | {"person": "Mrs Smith"}).encode()
    files.write()
    told = _told(files)
    assert not told["holds"]
    assert told["risks"]["holds"]
    assert told["audit"]["kinds"] == {"identifying-field": 1}
    assert "Smith" not in json.dumps(told)


def test_counterfeits_are_no_people_in_a_report(tmp_path: Path) -> None:
    """Recounted from who is in the file: a class of ten records may be of five people."""
    people = townspeople(2_000)
    done = release(tmp_path, people)
    made = {key: shown.total() for key, shown in done.counterfeits(people).items()}
    classes = Counter(json.dumps([one["age"], one["city"]]) for one in done.released)
    sizes = [records - made.get(key, 0) for key, records in classes.items()]
    told = document_of(
        report(ReportSubject(done.policy, done.output, done.certificates), WantedAudit(), FakeClock())
    )
    assert told["records"]["counterfeits"] == sum(made.values()) > 20
    found = {key: told["classes"][key] for key in ("classes", "people", "smallest", "largest")}
    assert found == {"classes": len(sizes), "people": sum(sizes), "smallest": min(sizes), "largest": max(sizes)}
    risks = {one["attacker"]: one for one in told["risks"]["after"]}
    assert risks["prosecutor"]["highest"] == 1 / min(sizes) > 0.1 >= risks["deceived prosecutor"]["highest"]
    assert risks["prosecutor"]["average"] == risks["marketer"]["average"] == pytest.approx(len(sizes) / sum(sizes))
    above = sum(size for size in sizes if size < 10) / sum(sizes)
    assert risks["prosecutor"]["above"] == pytest.approx(above)
    assert told["holds"], "what the policy promises"
    assert statement(told).endswith(f"By who tells these it is up to {1 / min(sizes):.1%}.")


def test_settings_are_read_once(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hierarchies and populations are large, and a file that is changed meanwhile would give two policies."""
    read: list[Path] = []

    def counted(settings: Settings, path: Path, **more: Any) -> Policy:
        read.append(path)
        return build_policy(settings, path, **more)

    monkeypatch.setattr(audit_settings, "build_policy", counted)
    assert _told(files)["records"]["windows"] == len(files.parts)
    assert read == [files.policy_path]


def test_what_another_policy_did_to_fields_is_told(files: Files) -> None:
    """The settings were changed since: what was published then is not what they say."""
    attributes = {**EVERY["attributes"]}
    gone = attributes.pop("day")
    assert gone["role"] == attributes["patient.zip"]["role"] == "quasi-identifier"
    attributes["patient.zip"] = {"role": "insensitive"}
    files.policy_path.write_text(yaml.safe_dump(EVERY | {"attributes": attributes}, sort_keys=False))
    fields = {one["name"]: one for one in _told(files)["fields"]}
    assert fields["day"]["technique"] == "not in the settings"
    assert fields["day"]["formerly"] == ["quasi-identifier: generalized to nodes of a hierarchy"]
    assert fields["patient.zip"]["technique"] == "published as it came"
    assert fields["patient.zip"]["formerly"] == ["quasi-identifier: generalized to nodes of a hierarchy"]
    assert not fields["patient.age"]["formerly"]


@pytest.mark.parametrize("risk", [0.0, -0.1, 1.5, float("nan")])
def test_a_threshold_that_is_none_is_refused(risk: float, files: Files) -> None:
    """No risk is above one that is no number: everything would hold."""
    with pytest.raises(SettingsError, match="--max-risk"):
        _told(files, max_risk=risk)


def test_a_population_that_would_not_be_used_is_refused(tmp_path: Path) -> None:
    """The settings name one: its people would be counted, and the report would say that these were."""
    settings = {
        "privacy": {"k": 2, "individual": "every-record", "presence": {"population": "own.csv", "most": 0.9}},
        "attributes": {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 9}}},
    }
    for name in ("own.csv", "other.csv"):
        (tmp_path / name).write_text("age,count\n1,40\n")
    files = Files(tmp_path, settings, [{"age": 1}] * 3)
    with pytest.raises(SettingsError, match="--population"):
        _told(files, population=tmp_path / "other.csv")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"attacks": 1}',
        '{"attacks": [{}]}',
        '{"attacks": [{"attack": "x", "risk": 1}]}',
        '{"source": "in.csv", "released": 7, "attacks": []}',
        '{"source": "in.csv", "attacks": [{"attack": "x", "risk": {"value": 0, "low": 0, "high": 0}}]}',
        '{"source": "", "released": 7, "attacks": [{"attack": "", "risk": {"value": NaN, "low": 0, "high": 0}}]}',
        '{"source": "", "released": 7, "attacks": [{"attack": "", "risk": {"value": "", "low": 0, "high": 0}}]}',
        "[" * 10**5,
    ],
)
def test_what_is_no_attack_is_refused(text: str, files: Files, tmp_path: Path) -> None:
    attacks = tmp_path / "attack.json"
    attacks.write_text(text)
    with pytest.raises(InputError, match="stream-anon attack --json"):
        _told(files, attacks=attacks)


def test_attacks_stand_in_the_report(files: Files, tmp_path: Path) -> None:
    attacks = tmp_path / "attack.json"
    share = {"value": 0.1, "low": 0.0, "high": 0.2}
    row = {"attack": "linkability", "secret": None, "success": share, "control": None, "risk": share, "answer": "k"}
    attacks.write_text(json.dumps({"source": "in.csv", "released": 7, "attacks": [row], "more": 1}))
    assert _told(files, attacks=attacks)["attacks"] == {"source": "in.csv", "released": 7, "attacks": [row]}
