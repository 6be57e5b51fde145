from __future__ import annotations

from base64 import b64encode

import pytest

from stream_anon.errors import InputError
from stream_anon.formats.protobuf import proto_files
from stream_anon.formats.protobuf.proto_files import Messages, message_of, renumbered, taken_wrongly

NESTED = """
syntax = "proto3";
import "parts/one.proto";
message First { parts.One one = 1; }
message Second { message Inner { message Deep { int32 a = 1; } } message Other { string b = 1; } }
"""
ONE = 'syntax = "proto2"; package parts; import "two.proto"; message One { optional Two two = 1; }'
TWO = 'edition = "2023"; package parts; message Two { int32 number = 1 [features.field_presence = IMPLICIT]; }'
REFERENCES = {"parts/one.proto": ONE, "two.proto": TWO}


def test_a_message_is_found_by_its_place_in_the_file() -> None:
    assert message_of(NESTED, [0], REFERENCES).full_name == "First"
    assert message_of(NESTED, [1, 0, 0], REFERENCES).full_name == "Second.Inner.Deep"
    assert message_of(NESTED, [1, 1], REFERENCES).full_name == "Second.Other"
    [one] = message_of(NESTED, [0], REFERENCES).fields
    [two] = one.message_type.fields
    assert not two.message_type.fields[0].has_presence


@pytest.mark.parametrize("indexes", [[], [2], [-1], [1, 0, 0, 0], [0, 0]])
def test_a_message_that_is_not_there_is_told(indexes: list[int]) -> None:
    with pytest.raises(InputError, match="message"):
        message_of(NESTED, indexes, REFERENCES)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("mess", "line 1, column 1"),
        ('syntax = "proto3";\nmessage A { B b = 1; }', "line 2, column 13"),
        ('import "not/there.proto"; message A {}', "protoc refuses it"),
        ('import "/etc/passwd"; message A {}', "protoc refuses it"),
        ('syntax = "proto3"; ' + "message A {" * 5000, "protoc refuses it"),
        ("\ud800", "not UTF-8"),
        ("//" + "x" * 5_000_000, "too large"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        message_of(schema, [0], {})


@pytest.mark.parametrize("name", ["a=b.proto", "a:b.proto", "/etc/passwd", "../a.proto", "a/../b.proto", ""])
def test_a_file_is_imported_by_a_sound_name_only(name: str) -> None:
    with pytest.raises(InputError, match="no sound name"):
        message_of("message A {}", [0], {name: TWO})


def test_files_that_import_each_other_are_refused() -> None:
    loop = {"a.proto": 'import "b.proto"; message A {}', "b.proto": 'import "a.proto"; message B {}'}
    with pytest.raises(InputError, match="protoc refuses it"):
        message_of('import "a.proto"; message C {}', [0], loop)


def test_a_reference_may_have_the_name_that_the_schema_would_get() -> None:
    references = {"schema.proto": 'syntax = "proto3"; message Other {}'}
    assert message_of('import "schema.proto"; message A {}', [0], references).full_name == "A"


def test_a_descriptor_in_base64_is_read_as_its_text_would_be() -> None:
    text = """
    syntax = "proto3";
    import "google/protobuf/timestamp.proto";
    import "own/city.proto";
    message Visit { message Inner { string x = 1; } google.protobuf.Timestamp at = 1; City city = 2; }
    """
    city = 'syntax = "proto3"; message City { string name = 1; }'
    described = message_of(text, (0,), {"own/city.proto": city})
    whole = b64encode(described.file.serialized_pb).decode()
    part = b64encode(described.fields_by_name["city"].message_type.file.serialized_pb).decode()
    found = message_of(whole, (0,), {"own/city.proto": part})
    assert [field.name for field in found.fields] == ["at", "city"]
    assert [field.name for field in message_of(whole, (0, 0), {"own/city.proto": part}).fields] == ["x"]
    for schema, references in ((whole, {}), (whole, {"own/city.proto": whole}), (whole[:-4], {}), ("AAAA", {})):
        with pytest.raises(InputError):
            message_of(schema, (0,), references)


def test_places_are_where_messages_are() -> None:
    messages = Messages(NESTED, REFERENCES)
    assert messages.places == ((), (((),), ()))
    assert messages.at([1, 0, 0]).full_name == "Second.Inner.Deep"


def test_a_schema_of_very_many_messages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proto_files, "MOST_MESSAGES", 5)
    assert len(Messages(NESTED, REFERENCES).places) == 2
    with pytest.raises(InputError, match="more than 5 messages"):
        Messages(NESTED + "message Third {}", REFERENCES)


@pytest.mark.parametrize(
    ("older", "newer", "wanted"),
    [
        ("int64 age = 1; string city = 2;", "int64 age = 1; string city = 2; string more = 3;", None),
        ("int64 age = 1; string city = 2;", "int64 age = 1;", None),
        ("int64 age = 1; string city = 2;", "int64 more = 1; int64 age = 2; string city = 3;", (1, "age", "more")),
        ("int64 age = 1; string city = 2;", "string city = 1;", (1, "age", "city")),
        ("message A { int64 min = 1; } A age = 1;", "message B { int64 max = 1; } B age = 1;", (1, "min", "max")),
        ("message A { int64 min = 1; } A age = 1;", "int64 age = 1;", None),
        ("message A { A age = 1; } A age = 1;", "message A { int64 age = 1; } A age = 1;", None),
    ],
)
def test_a_number_that_stands_for_another_field_is_found(
    older: str, newer: str, wanted: tuple[int, str, str] | None
) -> None:
    before, after = (message_of(f'syntax = "proto3"; message M {{ {each} }}', (0,), {}) for each in (older, newer))
    assert renumbered(before, after) == wanted


def test_messages_are_numbered_by_their_full_names_as_aws_glue_does() -> None:
    # The example of AWS: B = 0, B.A = 1, B.A.D = 2, B.C = 3.
    of_aws = 'syntax = "proto3"; package aws; message B { message C {} message A { message D {} } }'
    assert Messages(of_aws, {}).by_number == {0: (0,), 1: (0, 1), 2: (0, 1, 0), 3: (0, 0)}
    mixed = 'syntax = "proto3"; message b {} message A_ {} message A { map<string, int32> m = 1; } message A1 {}'
    assert Messages(mixed, {}).by_number == {0: (2,), 2: (3,), 3: (1,), 4: (0,)}  # A A.MEntry A1 A_ b


def test_messages_that_are_not_within_others_have_names() -> None:
    text = 'syntax = "proto3"; package people; message Visit { message Home {} } message Other {}'
    assert Messages(text, {}).by_name == {"Visit": (0,), "Other": (1,)}


@pytest.mark.parametrize("dependency", [b"\xff\xfe", b"a\0b", b"google/protobuf/nothing.proto", b""])
def test_a_descriptor_whose_import_has_no_sound_name_is_no_schema(dependency: bytes) -> None:
    descriptor = b"\x0a\1x\x1a" + bytes([len(dependency)]) + dependency  # a name, and the name of an import
    schema = b64encode(descriptor).decode()
    with pytest.raises(InputError):
        Messages(schema, {})
    assert taken_wrongly("message M { string a = 1; }", schema, {}) is None
