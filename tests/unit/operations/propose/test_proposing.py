import csv
import datetime as dt
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from stream_anon.cli.main import app
from stream_anon.errors import InputError, SettingsError
from stream_anon.formats.tables import undeclared_samples
from stream_anon.formats.tables.undeclared_samples import NESTED, SampledField
from stream_anon.microdata.attributes import Identifier, QuasiIdentifier, Sensitive
from stream_anon.microdata.domains.addresses import AddressDomain
from stream_anon.microdata.domains.calendar.moments import PER_SECOND
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.domains.ranges import RangedDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.propose.proposing import propose
from stream_anon.operations.propose.roles import FieldKind, kind_of, person_score
from stream_anon.operations.propose.support import FEWEST, People, Reading, read
from stream_anon.settings.policy_file import load_policy
from tests.support.data import shared_data
from tests.support.effort import examples
from tests.support.proposals import Record, write_csv, write_json


def policy_of(path: Path, k: int = 10) -> Policy:
    proposal = path.with_suffix(".yaml")
    proposal.write_text(propose(path, k))
    return load_policy(proposal)


def people(count: int = 300) -> list[Record]:
    """Every column kind, events of 100 people; whatever is in it, at least ten people share."""
    towns = ["Aachen", "Bonn", "Chemnitz"]
    return [
        {
            "person_id": f"P{i % 100:05}",
            "age": 30 + i % 10,
            "weight": 60.5 + i % 5,
            "income": 20_000 + 1000 * (i % 8),
            "zip": f"0{4100 + i % 4}",
            "town": towns[i % 100 % 3],
            "job": f"job {i % 100 % 9}" if i % 3 else "none",
            "born": f"19{70 + i % 10}-06-{10 + i % 5}",
            "seen": f"2024/0{1 + i % 5}",
            "smoker": i % 2 == 0,
            "diagnosis": ["flu", "cough", "asthma"][i % 3],
        }
        for i in range(count)
    ]


RARE: Record = {
    "age": 113,
    "weight": 213.5,
    "income": 7_770_000,
    "zip": "99987",
    "town": "Zwiesel",
    "job": "astronaut",
    "born": "1903-12-31",
    "seen": "2037/09",
    "diagnosis": "Zika",
}
WRITERS = [pytest.param(write_json, "sample.jsonl", id="json"), pytest.param(write_csv, "sample.csv", id="csv")]


@pytest.mark.parametrize(("write", "name"), WRITERS)
@pytest.mark.parametrize("holders", [1, FEWEST - 1])
def test_no_value_of_few_people_is_written(write: Any, name: str, holders: int, tmp_path: Path) -> None:
    records = people()
    for i in range(30):  # many records, few people
        records.append({**records[i], "person_id": f"P{i % holders:05}", **RARE})

    text = propose(write(tmp_path / name, records))

    for value in RARE.values():
        assert str(value) not in text, value
    for part in ("7770000", "7.77", "214", "1903", "2037", "99987", "P000"):
        assert part not in text, part


@pytest.mark.parametrize(("write", "name"), WRITERS)
def test_every_value_of_ten_people_is_written(write: Any, name: str, tmp_path: Path) -> None:
    records = people()
    records += [{**records[i], "town": "Zwiesel", "age": 95} for i in range(FEWEST)]

    policy = policy_of(write(tmp_path / name, records))

    town = policy.attribute("town")
    assert isinstance(town, QuasiIdentifier)
    assert town.code("Zwiesel") < town.missing_code
    age = policy.attribute("age")
    assert isinstance(age, QuasiIdentifier)
    assert age.code(95) < age.missing_code


@pytest.mark.parametrize(("write", "name"), WRITERS)
def test_every_column_gets_its_role_and_domain(write: Any, name: str, tmp_path: Path) -> None:
    policy = policy_of(write(tmp_path / name, people()), k=7)

    assert (policy.k, policy.individual) == (7, "person_id")
    domains = {a.name: type(a.domain) for a in policy.quasi_identifiers}
    assert domains == {
        "age": NumericDomain,
        "weight": NumericDomain,
        "zip": PrefixDomain,
        "town": CategoricalDomain,
        "job": CategoricalDomain,
        "born": DateDomain,
        "seen": PrefixDomain,
        "smoker": CategoricalDomain,
    }
    assert [a.name for a in policy.attributes if isinstance(a, Identifier)] == ["person_id"]
    assert [a.name for a in policy.attributes if isinstance(a, Sensitive)] == ["income", "diagnosis"]
    assert set(policy.diversity) == {"income", "diagnosis"}


@pytest.mark.parametrize(("write", "name"), WRITERS)
def test_the_sample_fits_what_was_proposed(write: Any, name: str, tmp_path: Path) -> None:
    records = people()
    policy = policy_of(write(tmp_path / name, records))

    for attribute in policy.quasi_identifiers:
        for record in records:
            value = record[attribute.name]
            value = str(value) if name.endswith("csv") and isinstance(value, bool) else value
            assert attribute.code(value) < attribute.missing_code, attribute.name


def test_no_outlier_shows_in_the_width_of_a_range(tmp_path: Path) -> None:
    records = people()
    records[7]["age"] = 1_000_000
    records[8]["age"] = -5_000

    age = policy_of(write_json(tmp_path / "s.jsonl", records)).attribute("age")

    assert isinstance(age, QuasiIdentifier)
    assert isinstance(age.domain, NumericDomain)
    assert age.domain.minimum >= 20
    assert age.domain.maximum <= 50
    assert age.code(1_000_000) == age.unknown_code


def test_no_bound_is_rounded_onto_a_rare_value(tmp_path: Path) -> None:
    records = [{**record, "age": 30 + 11 * (record["age"] - 30)} for record in people()]
    records[0]["age"] = 130  # the next round number above 129
    records[1]["born"] = "1970-01-01"
    records[2]["born"] = "1979-12-31"

    text = propose(write_json(tmp_path / "s.jsonl", records))

    bounds = yaml.safe_load(text)["attributes"]
    assert bounds["age"]["numeric"]["max"] > 130
    assert bounds["born"]["date"]["min"] == "1969-01-01"
    assert bounds["born"]["date"]["max"] == "1980-12-31"


def scalars(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from scalars(item)
    else:
        yield value


@st.composite
def tables(draw: st.DrawFn) -> list[Record]:
    count = draw(st.integers(20, 60))
    texts = st.sampled_from(["Tokio", "Quito", "Lima", "Oslo", "Zuerich", "*", "", "true", "1-2", "ä: #\n'"])
    numbers = st.one_of(st.integers(-40, 40), st.integers(-(10**6), 10**6).map(lambda n: n * 7919))
    day = st.dates().map(str)
    columns = {
        "person_id": st.integers(100_000, 100_030),
        "town": st.one_of(st.none(), texts),
        "height": st.one_of(st.none(), numbers),
        "width": st.floats(-1e6, 1e6),
        "born": day,
        "mixed": st.one_of(texts, numbers, st.booleans()),
        "sex": st.sampled_from("MF"),
    }
    return [{name: draw(column) for name, column in columns.items()} for _ in range(count)]


@examples(60)
@given(tables())
def test_any_table_makes_a_file_that_loads_and_holds_no_rare_value(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record]
) -> None:
    path = write_json(tmp_path_factory.mktemp("table") / "s.jsonl", records)
    try:
        text = propose(path)
    except InputError:
        return
    for name, given_ in yaml.safe_load(text)["attributes"].items():
        given_.pop("role")
        given_.get("numeric", {}).pop("step", None)
        given_.get("numeric", {}).pop("decimals", None)
        given_.get("hierarchy", {}).pop("arity", None)
        for written in scalars(given_):
            holders = {r["person_id"] for r in records if r[name] == written and type(r[name]) is type(written)}
            assert len(holders) in (0, *range(FEWEST, 100)), name


def test_the_proposal_for_the_census_has_every_quasi_identifier(tmp_path: Path) -> None:
    text = propose(shared_data("arx-adult", "adult.csv"))
    (tmp_path / "p.yaml").write_text(text)
    policy = load_policy(tmp_path / "p.yaml")

    assert {a.name for a in policy.quasi_identifiers} == {
        "sex",
        "age",
        "race",
        "marital-status",
        "education",
        "native-country",
        "workclass",
        "occupation",
    }
    assert set(policy.diversity) == {"salary-class"}
    assert policy.individual == EVERY_RECORD
    assert "role: insensitive" not in text
    assert "Holand-Netherlands" not in text  # one record


@pytest.mark.soak
def test_the_proposal_for_receipts_counts_people(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(propose(shared_data("receipts", "receipt.csv")))
    policy = load_policy(tmp_path / "p.yaml")

    assert policy.individual == "iid"
    assert [a.name for a in policy.attributes if isinstance(a, Identifier)] == ["rid", "iid"]
    assert set(policy.diversity) == {"icd10"}
    months = {a.name for a in policy.quasi_identifiers if isinstance(a.domain, PrefixDomain)}
    assert months == {"treatment_ym", "birth_ym", "start_obs_ym", "end_obs_ym", "start_treatment_ym"}


@pytest.mark.soak
@pytest.mark.parametrize(
    "parts",
    [("nyc-taxi", "taxis.csv"), ("pycanon", "StudentsMath_Score.csv"), ("pycanon", "drugs_k5.csv")],
    ids=lambda parts: parts[-1],
)
def test_real_tables_make_a_file_that_loads(parts: tuple[str, str], tmp_path: Path) -> None:
    path = shared_data(*parts)
    (tmp_path / "p.yaml").write_text(propose(path))
    policy = load_policy(tmp_path / "p.yaml")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert len(policy.quasi_identifiers) >= 4
    for attribute in policy.quasi_identifiers:
        if isinstance(attribute.domain, CategoricalDomain):
            for written in attribute.domain.hierarchy.code_of:
                assert sum(row[attribute.name] == written for row in rows) >= FEWEST


def test_nested_json_keeps_its_paths_and_names_no_undeclarable_key(tmp_path: Path) -> None:
    records: list[Record] = [
        {
            "patient": {"id": f"p{i}", "age": i % 50, "address": {"city": ["Oslo", "Bergen"][i % 2]}},
            "tags": ["jane"],
            "": "jane",
            f"jane-{i}": i,
            "scores": {f"doe-{i}": 1},
            "notes": "Jane was seen again on Tuesday because of the cough that will not go away",
            "empty": None,
        }
        for i in range(200)
    ]
    text = propose(write_json(tmp_path / "s.jsonl", records))

    attributes = yaml.safe_load(text)["attributes"]
    assert list(attributes) == ["patient.id", "patient.age", "patient.address.city"]
    assert "jane" not in text.lower()
    assert "doe" not in text
    assert "#   notes: free text" in text
    assert "#   tags: a list of texts, which can be no quasi-identifier" in text


ILLNESSES = ["flu", "gout", "croup", "pox", "cough"]


def with_lists(lists: Callable[[int], object]) -> list[Record]:
    return [{**record, "diagnoses": lists(i)} for i, record in enumerate(people())]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_sensitive_list_of_texts_is_proposed_as_one(tmp_path: Path, suffix: str) -> None:
    records = with_lists(lambda i: [ILLNESSES[i % 5], None, ILLNESSES[i * 3 % 5]] if i % 4 else [])
    if suffix == ".csv":
        for record in records:
            record["diagnoses"] = json.dumps(record["diagnoses"])
        path = write_csv(tmp_path / "s.csv", records)
    else:
        path = write_json(tmp_path / "s.jsonl", records)
    text = propose(path)
    assert yaml.safe_load(text)["attributes"]["diagnoses"] == {"role": "sensitive", "type": "string[]"}
    attribute = policy_of(path).attribute("diagnoses")
    assert isinstance(attribute, Sensitive)
    assert attribute.many
    assert yaml.safe_load(text)["privacy"]["sensitive"]["diagnoses"] == {"distinct_l": 2}
    assert not any(illness in text for illness in ILLNESSES)


@pytest.mark.parametrize(
    "lists",
    [
        pytest.param(lambda i: ["flu", ILLNESSES[i % 5]], id="one value is in all lists"),
        pytest.param(lambda i: ["flu", "gout"] if i % 2 else ["gout", "croup"], id="one value is in half of them"),
        pytest.param(lambda i: [f"rare {i % 100}"] * 3, id="each value is one person's"),
    ],
)
def test_no_distinct_values_are_asked_of_lists_that_could_not_show_them(
    tmp_path: Path, lists: Callable[[int], object]
) -> None:
    text = propose(write_json(tmp_path / "s.jsonl", with_lists(lists)))
    assert "diagnoses" not in yaml.safe_load(text)["privacy"].get("sensitive", {})
    assert "no distinct_l is proposed: one value is in too many lists, or all are rare" in text
    assert "rare 7" not in text


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        (lambda i: [i % 5, 2], "a list, but not of texts alone"),
        (lambda _: ["flu", 2], "a list, but not of texts alone"),
        (lambda _: [["flu"]], "a list, but not of texts alone"),
        (lambda _: [], "a list, but not of texts alone"),
        (lambda i: "flu" if i % 2 else ["flu"], "of several kinds: one in 150 records, others in 150"),
        (lambda i: [f"p{i}@example.org"], "a list of what looks like identifiers"),
    ],
)
def test_other_lists_stay_undeclared_and_it_is_said_why(
    tmp_path: Path, lists: Callable[[int], object], words: str
) -> None:
    text = propose(write_json(tmp_path / "s.jsonl", with_lists(lists)))
    assert "diagnoses" not in yaml.safe_load(text)["attributes"]
    assert f"#   diagnoses: {words}" in text


def test_it_is_said_of_long_lists_that_they_would_be_rejected(tmp_path: Path) -> None:
    text = propose(write_json(tmp_path / "s.jsonl", with_lists(lambda i: ["flu"] * (129 if i == 7 else 1))))
    assert "# records with more than 128 values in it would be rejected" in text


def test_every_text_is_read_back_as_itself(tmp_path: Path) -> None:
    towns = [
        "yes",
        "null",
        "1e3",
        "x: y",
        "- a",
        "#b",
        "'q\"",
        "tab\there",
        "ünï\u2028x",
        "{",
        "0x1F",
        "\U0001f600",
        "~",
    ]
    records = [{"id": f"u{i}", "town of\nbirth": towns[i % len(towns)]} for i in range(400)]
    text = propose(write_json(tmp_path / "s.jsonl", records))

    given_ = yaml.safe_load(text)["attributes"]["town of\nbirth"]
    found = given_.get("values") or given_["hierarchy"]["ordered"]
    assert sorted(found) == sorted(towns)


def test_a_table_without_names_is_refused_without_quoting_it(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    for first in ("Jane,44,Oslo", "Jane,Oslo,jane@example.org", "town,,x", "town,town,x"):
        path.write_text(f"{first}\n" + "Joe,44,Oslo\n" * 30)
        with pytest.raises(InputError, match="first line must hold the names") as caught:
            propose(path)
        assert "Jane" not in str(caught.value)


DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d-%b-%Y", "%B %d, %Y", "%Y%m%d")
MOMENTS = (
    "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y, %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y, %I:%M:%S %p", "%Y/%m/%d %H:%M:%S.%f", "%d-%m-%Y %H:%M", "%d %b %Y %H:%M", "%d/%b/%Y:%H:%M:%S %z",
    "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y", "%Y%m%d%H%M%S",
    "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M",
)  # fmt: skip


@pytest.mark.parametrize("form", [*DAYS, *MOMENTS, *PER_SECOND])
@pytest.mark.parametrize("write", [write_json, write_csv])
def test_a_format_of_days_is_recognized(form: str, write: Any, tmp_path: Path) -> None:
    days = [dt.datetime(2024, 1 + i % 12, 13 + i % 15, i % 24, i % 60, i % 7, tzinfo=dt.UTC) for i in range(400)]

    def written(day: dt.datetime) -> str | int:
        return int(day.timestamp()) * PER_SECOND[form] if form in PER_SECOND else day.strftime(form)

    records: list[Record] = [{"id": i, "seen_at": written(day)} for i, day in enumerate(days)]
    seen = policy_of(write(tmp_path / ("s.csv" if write is write_csv else "s.jsonl"), records)).attribute("seen_at")

    assert isinstance(seen, QuasiIdentifier)
    assert isinstance(seen.domain, DateDomain)
    for day, record in zip(days, records, strict=True):
        assert seen.domain.earliest + dt.timedelta(days=seen.code(record["seen_at"])) == day.date()


@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_times_of_day_that_vary_are_pointed_out(tmp_path: Path, numbers: bool, times: bool) -> None:
    days = [dt.datetime(2024, 1 + i % 12, 13 + i % 15, i % 24 if times else 0, tzinfo=dt.UTC) for i in range(400)]
    values = [int(day.timestamp()) * 1000 if numbers else day.isoformat() for day in days]
    records: list[Record] = [{"id": i, "seen_at": value} for i, value in enumerate(values)]
    assert ("`finest: hour` publishes them" in propose(write_json(tmp_path / "s.jsonl", records))) == times


def test_moments_that_grow_from_row_to_row_number_no_records(tmp_path: Path) -> None:
    records: list[Record] = [{"id": i, "event_time": 1_700_000_000_000 + 10**7 * i} for i in range(400)]
    assert "format: epoch-ms" in propose(write_json(tmp_path / "s.jsonl", records))


def test_numbers_of_ten_digits_are_seconds_only_where_the_name_says_so(tmp_path: Path) -> None:
    records: list[Record] = [{"id": i, "line": 1_700_000_000 + 1000 * (i % 40)} for i in range(400)]
    assert "epoch" not in propose(write_json(tmp_path / "s.jsonl", records))


def test_blanks_around_cells_and_a_repeated_header_make_no_new_values(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    rows = "Oslo ;30\n Oslo; 31\nBonn;32\n" * 20
    path.write_text("town; age\n" + rows + "town;age\n" + rows + "Bonn;30;extra\n\n")
    text = propose(path)

    assert yaml.safe_load(text)["attributes"]["town"]["values"] == ["Bonn", "Oslo"]
    assert "# 2 lines were no records" in text


def test_lines_that_are_no_records_are_counted(tmp_path: Path) -> None:
    path = write_json(tmp_path / "s.jsonl", people())
    path.write_text("{\n[1]\nnull\n\n" + path.read_text() + '{"a": NaN}\n')

    assert "# 4 lines were no records" in propose(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "No such file"),
        ("s.parquet", b"x", "from a file of CSV, TSV or JSON Lines"),
        ("s.csv", b"", "holds no record"),
        ("s.jsonl", b"nothing\n", "holds no record"),
        ("s.csv", b"a,b\n\xff\xfe,1\n", "is not UTF-8"),
        ("s.jsonl", b'{"town": "x"}\n' * 9, "fewer than 10 individuals"),
        ("s.jsonl", b'{"id": 1, "town": "x"}\n' * 30, "fewer than 10 individuals"),
        ("s.jsonl", b'{"tags": [1]}\n' * 30, "quasi-identifier"),
        ("s.csv", b'town,b\n"' + b"x" * 200_000, "holds no record"),
    ],
)
def test_a_useless_file_is_refused_with_a_reason(
    name: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        propose(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("patient.id", [1, 2, 3] * 20, FieldKind.IDENTIFIER),
        ("contactEmail", [f"x{i % 30}" for i in range(90)], FieldKind.IDENTIFIER),
        ("email", ["a@b.com"] * 60, FieldKind.IDENTIFIER),
        ("mobile", ["yes", "no"] * 30, FieldKind.CONTACT),
        ("student", ["yes", "no"] * 30, FieldKind.PLAIN),
        ("student", [i % 40 for i in range(400)], FieldKind.IDENTIFIER),
        ("home.address.city", ["Oslo", "Bonn"] * 30, FieldKind.PLAIN),
        ("home.address", ["Elm 3", "Oak 4", "Ash 5"] * 20, FieldKind.CONTACT),
        ("name", ["Ann", "Bob"] * 30, FieldKind.IDENTIFIER),
        ("first_name", ["Ann", "Bob"] * 30, FieldKind.IDENTIFIER),
        ("product_name", ["soap", "milk"] * 30, FieldKind.PLAIN),
        ("department_id", [1, 2, 3] * 20, FieldKind.PLAIN),
        ("account", [f"{i:08x}-aaaa-bbbb-cccc-{i:012x}" for i in range(60)], FieldKind.IDENTIFIER),
        ("contact", ["+49 170 1234567", "0170/7654321"] * 30, FieldKind.IDENTIFIER),
        ("code", [f"x{i}" for i in range(60)], FieldKind.IDENTIFIER),
        ("nr", [str(i) for i in range(100, 160)], FieldKind.IDENTIFIER),
        ("age", [str(i % 7) for i in range(60)], FieldKind.PLAIN),
        ("passengers", [1, 2, 3] * 20, FieldKind.PLAIN),
        ("salaryClass", ["high", "low"] * 30, FieldKind.SENSITIVE),
        ("remark", ["a b c d e f g h i"] * 60, FieldKind.TEXT),
        ("tags", [(), ()] * 30, FieldKind.NESTED),
        ("tags", [NESTED, ("a", "b")] * 30, FieldKind.NESTED),
        ("tags", [("red", "blue"), ()] * 30, FieldKind.LIST),
        ("ages", [("30", "50"), ()] * 30, FieldKind.LIST),
        ("diagnoses", [("flu",), ("flu", "gout")] * 30, FieldKind.SENSITIVE_LIST),
        ("treatments", [("rest",), ()] * 30, FieldKind.SENSITIVE_LIST),
        ("emails", [("a@b.com", "c@b.com")] * 60, FieldKind.IDENTIFYING_LIST),
        ("visited", [(f"10.0.0.{i}",) for i in range(60)], FieldKind.IDENTIFYING_LIST),
        ("codes", [(f"x{i}", f"y{i}") for i in range(60)], FieldKind.IDENTIFYING_LIST),
        ("remarks", [("a b c d e f g h i",)] * 60, FieldKind.TEXT),
    ],
)
def test_a_field_is_taken_for_what_it_is(name: str, values: list[Any], kind: FieldKind) -> None:
    assert kind_of(name, values, len(values)) is kind


def reading(values: Sequence[Any]) -> Reading:
    return read(SampledField(list(range(len(values))), list(values)), lambda value: value)


def test_the_field_that_says_fewer_people_share_a_value_is_believed() -> None:
    town = reading(["Oslo"] * 40)
    receipts, persons = reading(range(40)), reading([row % 4 for row in range(40)])

    assert People.of([receipts, persons], 40).sharing(town).tolist() == [4]
    assert People.of([receipts], 40).sharing(town).tolist() == [40]
    assert People().sharing(town).tolist() == [40]


def test_alphabetical_groups_are_said_to_mean_nothing(tmp_path: Path) -> None:
    records = [{"id": f"u{i}", "town": f"{chr(65 + i % 20)}-town"} for i in range(400)]
    text = propose(write_json(tmp_path / "s.jsonl", records))
    town = text.index("  town:")
    assert "# DECIDE: the groups are alphabetical" in text[:town]


def test_ages_are_published_in_steps_of_five_ten_and_twenty_years(tmp_path: Path) -> None:
    records = [{"id": f"u{i}", "patient": {"age": 17 + i % 74}} for i in range(2000)]
    written = yaml.safe_load(propose(write_json(tmp_path / "s.jsonl", records)))
    assert written["attributes"]["patient.age"]["numeric"] == {
        "min": 0,
        "max": 100,
        "step": 1,
        "levels": [5, 10, 20],
    }


def test_an_age_of_few_people_is_no_bound(tmp_path: Path) -> None:
    records = [{"id": f"u{i}", "age": 17 + i % 74} for i in range(2000)]
    records[0]["age"], records[1]["age"] = 0, 100
    numeric = yaml.safe_load(propose(write_json(tmp_path / "s.jsonl", records)))["attributes"]["age"]["numeric"]
    assert 0 not in numeric.values()
    assert 100 not in numeric.values()


@pytest.mark.parametrize(("write", "name"), WRITERS)
def test_other_values_are_rejected_where_the_whole_file_has_none(
    write: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = people()
    records[0]["town"] = "Zwiesel"  # of one person: it is not written, so it must stay publishable as "*"
    path = write(tmp_path / name, records)

    def unknown() -> dict[str, str]:
        attributes = yaml.safe_load(propose(path))["attributes"]
        return {each: given.get("unknown", "") for each, given in attributes.items()}

    whole = unknown()
    assert (whole["town"], whole["age"], whole["job"], whole["born"], whole["zip"]) == ("root", *["reject"] * 4)
    monkeypatch.setattr(
        "stream_anon.operations.propose.proposing.read_sample",
        lambda path: undeclared_samples.read_sample(path, 299),
    )
    assert set(unknown().values()) == {"", "root"}


def test_an_index_without_a_name_is_left_out_and_mentioned(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    rows = "".join(f"{i},{30 + i % 9},{['Oslo', 'Bonn'][i % 2]}\n" for i in range(200))
    path.write_text(",age,town\n" + rows)
    text = propose(path)
    assert list(yaml.safe_load(text)["attributes"]) == ["age", "town"]
    assert "# The first column has no name and counts rows: it is left out." in text
    path.write_text(",age,town\n" + rows.replace("17,", "71,", 1))
    with pytest.raises(InputError, match="must hold the names"):
        propose(path)


def test_k_decides_whether_the_sample_suffices_and_delay_alone_about_the_window(tmp_path: Path) -> None:
    path = write_json(tmp_path / "s.jsonl", people())  # 100 people
    plain, larger, largest = propose(path, 10), propose(path, 50), propose(path, 200)
    assert "the sample holds" not in plain
    assert "# DECIDE: the sample holds 100 people, at most 2 classes of k = 50:" in larger
    assert "# DECIDE: the sample holds 100 people: classes of k = 200 cannot be formed of them." in largest
    windows = [yaml.safe_load(text)["window"] for text in (plain, larger, largest)]
    assert windows == [{"max_delay": "30s"}] * 3


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (("customer_id", 50, 200), ("customer_order_id", 200, 200)),
        (("loyalty_id", 50, 200), ("id", 200, 200)),
        (("patient_nr", 50, 200), ("nr", 200, 200)),
        (("patient_id", 200, 200), ("department_id", 30, 200)),
        (("member_id", 50, 200), ("member", 50, 200)),
    ],
)
def test_the_field_that_numbers_people_is_preferred(
    better: tuple[str, int, int], worse: tuple[str, int, int]
) -> None:
    assert person_score(*better) > person_score(*worse)


def test_a_number_of_people_is_preferred_to_the_number_of_a_row(tmp_path: Path) -> None:
    records = [{"Id": i, "customer_no": 4000 + i * 7 % 50, "age": 30 + i % 9} for i in range(500)]
    assert policy_of(write_json(tmp_path / "s.jsonl", records)).individual == "customer_no"


def test_many_columns_are_said_to_cost_much_and_the_first_to_drop_are_named(tmp_path: Path) -> None:
    records = [
        {"id": f"u{i}", "age": 30 + i % 9, **{f"answer{j}": (i * (j + 1)) % (j + 2) for j in range(20)}}
        for i in range(400)
    ]
    text = propose(write_json(tmp_path / "s.jsonl", records))
    assert "# DECIDE: 21 quasi-identifiers are many." in text
    assert '#   "answer19"' in text
    assert '#   "age"' not in text
    few = [{name: record[name] for name in ("id", "age", "answer1")} for record in records]
    assert "quasi-identifiers are many" not in propose(write_json(tmp_path / "few.jsonl", few))


def test_the_command_writes_where_it_is_told_and_exits_with_zero(tmp_path: Path) -> None:
    sample, output = write_json(tmp_path / "s.jsonl", people()), tmp_path / "policy.yaml"
    shown = CliRunner().invoke(app, ["propose", "--input", str(sample), "--k", "12"])
    written = CliRunner().invoke(app, ["propose", "--input", str(sample), "--k", "12", "--output", str(output)])

    assert (shown.exit_code, written.exit_code) == (0, 0)
    assert output.read_text() == shown.stdout
    assert load_policy(output).k == 12
    assert "  k: 12\n" in shown.stdout
    assert "DECIDE" in written.stdout


def test_a_risk_is_proposed_beside_the_thresholds_in_use_with_their_k_and_source(tmp_path: Path) -> None:
    sample = write_json(tmp_path / "s.jsonl", people())
    shown = CliRunner().invoke(app, ["propose", "--input", str(sample)])
    assert shown.stdout == propose(sample)
    assert yaml.safe_load(shown.stdout)["privacy"]["max_risk"] == 0.09
    assert "k" not in yaml.safe_load(shown.stdout)["privacy"]
    lines = re.findall(r"  #   ([0-9.]+) +\(k = ([0-9]+)\): (.+)", shown.stdout)
    assert [line[:2] for line in lines] == [("0.09", "12"), ("0.075", "14"), ("0.05", "20")]
    assert "EMA policy 0070" in lines[0][2]
    assert all("Ontario IPC" in line[2] for line in lines[1:])
    strict = CliRunner().invoke(app, ["propose", "--input", str(sample), "--max-risk", "0.05"])
    (tmp_path / "strict.yaml").write_text(strict.stdout)
    assert load_policy(tmp_path / "strict.yaml").k == 20
    both = CliRunner().invoke(app, ["propose", "--input", str(sample), "--max-risk", "0.05", "--k", "20"])
    assert isinstance(both.exception, SettingsError)


def test_keys_with_dots_are_proposed_with_their_path(tmp_path: Path) -> None:
    records = [{"op": "c", **{f"after.{key}": value for key, value in record.items()}} for record in people()]
    records = [{"source": {"x.city": "Oslo"}, **record} for record in records]
    policy = policy_of(write_json(tmp_path / "s.jsonl", records))
    assert policy.attribute("after.age").path == ("after.age",)
    assert policy.attribute("source.x.city").path == ("source", "x.city")
    assert policy.individual == "after.person_id"


def test_whole_numbers_of_a_postal_code_get_their_zeros_back(tmp_path: Path) -> None:
    records = [record | {"zip": 41000 + i % 4 if i % 20 else 1067} for i, record in enumerate(people())]
    zip_code = policy_of(write_json(tmp_path / "s.jsonl", records)).attribute("zip")
    assert isinstance(zip_code, QuasiIdentifier)
    assert zip_code.domain == PrefixDomain(5, "0123456789", 5, pad=True)
    whole = policy_of(write_json(tmp_path / "t.jsonl", [r | {"zip": 41000 + i % 4} for i, r in enumerate(records)]))
    assert not whole.attribute("zip").domain.pad  # type: ignore[attr-defined]


@pytest.mark.parametrize(("write", "name"), WRITERS)
@pytest.mark.parametrize("column", ["ip", "client_ip", "seen_from"])
def test_internet_addresses_are_proposed_as_networks_whatever_the_field_is_called(
    write: Any, name: str, column: str, tmp_path: Path
) -> None:
    records = [record | {column: f"10.{i % 4}.{i % 100}.{i}"} for i, record in enumerate(people(200))]
    records += [records[i] | {column: "unknown"} for i in range(3)]
    path = write(tmp_path / name, records)
    attribute = policy_of(path).attribute(column)
    assert isinstance(attribute, QuasiIdentifier)
    assert isinstance(attribute.domain, AddressDomain)
    assert (
        attribute.publish(*attribute.node(*sorted(map(attribute.code, ("10.1.2.3", "10.1.99.3"))))) == "10.1.0.0/16"
    )
    text = propose(path)
    assert "3 values (1.5 %) do not fit and would be rejected" in text
    assert not re.search(r"\d+[.]\d+[.]\d+[.]\d+", text.partition("privacy:")[2])


def test_addresses_of_version_6_are_proposed_where_most_are_public(tmp_path: Path) -> None:
    records = [record | {"host": f"2001:db8:{i:x}::1"} for i, record in enumerate(people())]
    attribute = policy_of(write_json(tmp_path / "s.jsonl", records)).attribute("host")
    assert isinstance(attribute, QuasiIdentifier)
    assert isinstance(attribute.domain, AddressDomain)
    assert attribute.domain.version == 6
    local = [record | {"host": f"fe80::{i:x}"} for i, record in enumerate(people())]
    assert "host: {role: identifier}" in propose(write_json(tmp_path / "t.jsonl", local))


def test_ranges_of_equal_frequency_begin_only_where_k_people_stand(tmp_path: Path) -> None:
    # Ages 20 to 79, few of them old; two people are 95.
    records = [{"id": i, "age": 20 + (i % 20 if i < 900 else i % 60)} for i in range(1_200)]
    records += [{"id": 2_000 + i, "age": 95} for i in range(2)]
    source = write_json(tmp_path / "in.jsonl", records)
    text = propose(source, 12, {"age": 4})
    proposal = tmp_path / "policy.yaml"
    proposal.write_text(text)
    policy = load_policy(proposal)
    domain = policy.quasi_identifiers[0].domain
    assert isinstance(domain, RangedDomain)
    ages = [record["age"] for record in records]
    assert len(domain.cuts) == 3
    for cut in domain.cuts:
        assert ages.count(int(cut)) >= 12
    ends = [0, *map(int, domain.cuts), 1_000]
    shares = [sum(low <= age < high for age in ages) / len(ages) for low, high in itertools.pairwise(ends)]
    assert max(abs(share - 0.25) for share in shares) < 0.05
    assert "DECIDE: these cuts tell how the values of the sample are distributed" in text
    assert "no number is shared by 500 individuals" in propose(source, 500, {"age": 4})


def test_ranges_of_equal_frequency_are_asked_for_by_name(tmp_path: Path) -> None:
    source = write_json(tmp_path / "in.jsonl", people())
    runner = CliRunner()
    found = runner.invoke(app, ["propose", "--input", str(source), "--equal-frequency", "age=4", "--k", "10"])
    assert found.exit_code == 0
    assert "cuts: [" in found.stdout
    for wrong in ("age", "age=1", "age=x", "=4"):
        with pytest.raises(SettingsError, match="NAME=COUNT"):
            runner.invoke(
                app, ["propose", "--input", str(source), "--equal-frequency", wrong], catch_exceptions=False
            )
    with pytest.raises(SettingsError, match="no such field"):
        propose(source, 10, {"nothing": 4})
