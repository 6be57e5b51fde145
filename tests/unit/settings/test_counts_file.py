from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.errors import SettingsError
from stream_anon.microdata.policy import Policy
from stream_anon.settings.counts_file import read_population
from stream_anon.settings.policy_file import load_policy
from tests.support.policies import write_policy

COUNTS = "age,home.city,count\n30,Oslo,4\n31,Rome,2\n30,Oslo,1\n,Bari,3\n40,Rome,0\n"


def _policy(folder: Path, counts: str = COUNTS, most: float = 0.3) -> Policy:
    (folder / "counts.csv").write_text(counts)
    presence = {"population": "counts.csv", "most": most}
    return load_policy(write_policy(folder, privacy={"presence": presence}))


def test_a_population_is_read_beside_its_policy(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    known, bound = policy.population, policy.presence
    assert known is not None
    assert bound is not None
    age, city = policy.quasi_identifiers
    found = dict(zip(map(tuple, known.codes.T.tolist()), known.counts.tolist(), strict=True))
    assert found == {
        (age.code(30), city.code("Oslo")): 5,
        (age.code(31), city.code("Rome")): 2,
        (age.missing_code, city.code("Bari")): 3,
        (age.code(40), city.code("Rome")): 0,
    }
    assert (bound.most, bound.counted, bound.people) == (0.3, known.digest, 10)


def test_the_digest_of_a_policy_is_that_of_its_counts_whatever_their_order(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    turned = "home.city;count;age\nRome;2;31\nBari;3;\nOslo;5;30\n"
    assert _policy(tmp_path, turned).digest == policy.digest
    assert _policy(tmp_path, COUNTS.replace("31,Rome", "31.0,Rome")).digest == policy.digest
    for other in (COUNTS.replace("Oslo,4", "Oslo,5"), COUNTS.replace("31,", "32,")):
        assert _policy(tmp_path, other).digest != policy.digest
    assert _policy(tmp_path, most=0.4).digest != policy.digest
    (tmp_path / "counts.csv").rename(tmp_path / "people.csv")
    moved = {"population": "people.csv", "most": 0.3}
    assert load_policy(write_policy(tmp_path, privacy={"presence": moved})).digest == policy.digest


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ("", "must have one column age"),
        ("age,count\n30,4\n", r"must have one column home\.city"),
        ("age,home.city\n30,Oslo\n", "must have one column count"),
        ("age,home.city,count,count\n30,Oslo,4,4\n", "must have one column count"),
        ("age,home.city,count\n", "has no line below its names"),
        ("age,home.city,count\n30,Oslo,4\n31,Rome\n", "line 3 has another number of cells"),
        ("age,home.city,count\n30,Oslo,-4\n", "line 2, column count: must be a whole number"),
        ("age,home.city,count\n30,Oslo,4.5\n", "line 2, column count: must be a whole number"),
        ("age,home.city,count\n30,Oslo,30000000000\n", "must have at most 20,000,000,000 people"),
        (
            "age,home.city,count\n30,Oslo,4\n131,Rome,1\n",
            r"line 3, column age: no record may have it \(out-of-range\)",
        ),
        (
            "age,home.city,count\n30,Smith,4\n",
            r"line 2, column home\.city: no record may have it \(unknown-value\)",
        ),
    ],
)
def test_a_fault_is_told_by_line_and_column_and_never_by_its_value(
    tmp_path: Path, counts: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        _policy(tmp_path, counts)
    assert caught.value.key == "privacy.presence.population"
    said = str(caught.value).replace(str(tmp_path), "")
    assert not any(text in said for text in ("Smith", "131", "-4", "4.5"))


def test_a_file_that_is_missing_or_has_a_quasi_identifier_called_count_is_refused(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    with pytest.raises(SettingsError, match="no such file"):
        read_population(tmp_path / "absent.csv", policy.attributes)
    path = write_policy(tmp_path, privacy={"presence": {"population": "counts.csv", "most": 0.3}})
    path.write_text(path.read_text().replace("  age:", "  count:"))
    (tmp_path / "counts.csv").write_text("count,home.city\n30,Oslo\n")
    with pytest.raises(SettingsError, match="count cannot be a quasi-identifier too"):
        load_policy(path)


def test_texts_that_mean_nothing_are_missing_values(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    known = read_population(tmp_path / "counts.csv", policy.attributes, frozenset({"Oslo"}))
    assert known.codes[1, 0] == policy.quasi_identifiers[1].missing_code
