"""The page on settings (docs/settings.md), generated from the model that validates them.

`python -m stream_anon.settings.page FILE` writes it; a test compares the committed file with the model.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from stream_anon.settings import domains, model
from stream_anon.settings.json_schema import is_duration, meaning

HEAD = """# Settings
One YAML file. Unknown keys are errors, and a message names the key and what is allowed. This page is generated from
the model that validates the file (`make schemas`); the same as a JSON Schema is
[schemas/settings.schema.json](../schemas/settings.schema.json).

- **Environment.** Every value outside `attributes` can be overridden by `STREAM_ANON__SECTION__KEY`, such as
  `STREAM_ANON__WINDOW__MAX_RECORDS=5000` or `STREAM_ANON__KAFKA__SECURITY__PASSWORD`. A variable that names no
  section is an error. The environment wins over the file, and the options of a command win over both.
- **Durations** are numbers of seconds or texts: `500ms`, `30s`, `2m`, `1h`.
- **Files** of hierarchies are sought beside the settings file, those of `kafka.security` in the working folder.
- **Fields** may lie deep: `patient.age` is the field `age` of the object `patient`. A single key with a dot in it,
  as in `{"after.age": 30}`, is declared by its `path`: `path: ["after.age"]`. What is released keeps these keys. In
  a CSV file the column of a field is named by its keys, joined by dots, in either case.
"""

_KAFKA = """Needed by `run`, `check`, `topics`, `forget`, `realign`, and by `audit` without files; files need no
such section. `input`, `output`, `certificates`, `dead_letters` and `ledger` must be five different topics, or more.
What the protocol makes of these settings is told in [exactly-once.md](exactly-once.md). `fault` is allowed with
`development: true` only."""
_INPUT = """Instead of one topic or a list of topics. The pattern must not fit `output`, `certificates`,
`dead_letters` or `ledger`: where `people.anonymous` lies beside `people.north`, write `people\\.(?!anonymous).*`. A
topic that appears later is noticed within 10 s and read from `kafka.start` on."""
_SECURITY = """How to set it up and what a user must be allowed: [kafka.md](kafka.md). A SASL protocol needs
`sasl_mechanism` and, for PLAIN and SCRAM, `username` and either `password` or `password_file`; for OAUTHBEARER
either `token_file` or `token_command`. Keep passwords out of the settings file: in a variable, or in a file of
their own."""
_SENSITIVE = """For an attribute of `role: sensitive`. One without an entry is published without a criterion; one
with an entry has at least one, and all that are given hold together, in every class. What each promises is told
in [privacy.md](privacy.md)."""
_RECURSION = """The most frequent value occurs fewer than `c` times as often as all values from the `l`-th most
frequent on together."""
_CLOSENESS = """The earth mover's distance from the values of the window's released records is at most `t`.
`ordered` needs `type: integer` or `type: number`."""
_PRIVACY = (
    """See [privacy.md](privacy.md). `individual: person_id` is short for `individual: {field: person_id}`."""
)
_INDIVIDUAL = """Instead of a name alone. Every spelling of an id counts as an individual of its own, but for the
differences that `normalize` names. They are taken away in this order, in every way in, before anybody is counted:

- `nfkc`: Unicode's compatibility form (letters composed or not, full width, ligatures).
- `casefold`: upper and lower case.
- `strip`: blanks, control and format characters at both ends. An id of nothing else is none.
- `uuid`: case, braces, hyphens and `urn:uuid:` of a UUID.
- `digits`: zeros in front of an id of digits alone, and the script of the digits.

`stream-anon check` counts in a sample how many ids each of them would make alike. Two people's ids that are made
alike by mistake make classes larger than they had to be, never smaller. An id of more than 512 characters is
rejected where anything is normalized. `input.null_values` are compared before. Dropping a step weakens a policy."""
_WINDOW = """A window closes when it is full, or when its oldest record is as old as a limit that is drawn anew for
each window, between 0.9 and 1 times `max_delay`. `max_records` must not be below `privacy.k`."""
_ATTRIBUTES = f"""What is not declared never leaves. A quasi-identifier has exactly one domain:
{", ".join(f"`{key}`" for key in domains.DOMAIN_KEYS)}. A published field that no record of a sample has forbids a
run (`missing-field`) unless it says `accept_missing: true`; where the input was empty at the start, a first window
without it is withheld. What is missing is counted in certificates, reports and metrics anyway."""
_RECORDS = """In every declared field these texts are read as null: a quasi-identifier is missing, a field that
passes is published as null, a record without an id is rejected. An empty text is a text unless it is among them; an
empty cell of a CSV file is missing in any case. No category may be among them."""
_HIERARCHY = """A mapping with these two keys is built from an ordered list. `hierarchy` may also name a CSV file
with a row per leaf, from leaf to root, or be a nested mapping of groups. The file must be a regular one of 64 MiB
at the most; what is wrong with it is told by lines, without its words. Aliases of YAML (`&name`, `*name`) may
repeat a million characters."""

SECTIONS: tuple[tuple[str, type[BaseModel], str], ...] = (
    ("kafka", model.KafkaSettings, _KAFKA),
    ("kafka.input", model.InputSettings, _INPUT),
    ("kafka.security", model.SecuritySettings, _SECURITY),
    ("privacy", model.PrivacySettings, _PRIVACY),
    ("privacy.individual", model.IndividualSettings, _INDIVIDUAL),
    ("privacy.sensitive.NAME", model.DiversitySettings, _SENSITIVE),
    ("privacy.sensitive.NAME.recursive_cl", model.RecursionSettings, _RECURSION),
    ("privacy.sensitive.NAME.t_closeness", model.ClosenessSettings, _CLOSENESS),
    ("window", model.WindowSettings, _WINDOW),
    ("engine", model.EngineSettings, ""),
    ("input", model.RecordSettings, _RECORDS),
    ("attributes.NAME", domains.AttributeSettings, _ATTRIBUTES),
    *((f"attributes.NAME.{key}", kind, kind.explanation) for key, kind in domains.DOMAINS.items()),
    ("attributes.NAME.hierarchy", domains.BalancedSettings, _HIERARCHY),
    ("http", model.HttpSettings, "Loopback by default. Port 0 is any free port."),
    ("logs", model.LogSettings, "Lines go to standard error."),
)


def settings_page() -> str:
    """Return the page, Markdown: one table a section."""
    parts = [HEAD]
    for name, section, text in SECTIONS:
        rows = "\n".join(_row(section, key, field) for key, field in section.model_fields.items())
        head = "| key | default | allowed | meaning |\n| --- | --- | --- | --- |"
        parts.append(f"## {name}\n" + (f"{text}\n\n" if text else "") + f"{head}\n{rows}\n")
    return "\n".join(parts)


def _row(model: type[BaseModel], key: str, field: FieldInfo) -> str:
    cells = (f"`{key}`", _default(field), _allowed(field), meaning(model, key, field))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if default is PydanticUndefined or default in (None, "", [], {}) or isinstance(default, BaseModel):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if is_duration(field):
        return f"`{default:g}s`"
    if isinstance(default, float):
        return f"`{default:g}`"
    return f"`{default}`"


def _allowed(field: FieldInfo) -> str:
    if is_duration(field):
        unit = "s"
        text = "a duration"
    else:
        unit = ""
        text = " or ".join(dict.fromkeys(_kinds(field.annotation)))
    bounds = _bounds(field, unit)
    return f"{text}, {bounds}" if bounds else text


def _bounds(field: FieldInfo, unit: str) -> str:
    found = []
    for rule in field.metadata:
        match rule:
            case MinLen(min_length=1):
                found.append("not empty")
            case MinLen(min_length=length):
                found.append(f"of length {length} at least")
            case Ge(ge=bound):
                found.append(f"from {_number(bound)}{unit}")
            case Gt(gt=bound):
                found.append(f"above {_number(bound)}{unit}")
            case Le(le=bound):
                found.append(f"to {_number(bound)}{unit}")
            case Lt(lt=bound):
                found.append(f"below {_number(bound)}{unit}")
            case _:
                pattern = getattr(rule, "pattern", None)
                found += [f"`{pattern}`"] if pattern else []
    return " ".join(found)


def _number(bound: Any) -> str:
    if isinstance(bound, int) and bound >= 2**31:
        return f"2^{math.log2(bound + 1):g} - 1"
    return f"{bound:,}"


_WORDS: dict[Any, str] = {str: "a text", int: "an integer", float: "a number", bool: "true or false"} | {
    Path: "a file",
    SecretStr: "a text",
    Any: "anything",
}


def _kinds(annotation: Any) -> Iterator[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        yield ", ".join(f"`{value}`" for value in arguments)
    elif origin is Annotated:
        yield from _kinds(arguments[0])
    elif origin in (Union, UnionType):
        yield from (kind for argument in arguments if argument is not NoneType for kind in _kinds(argument))
    elif origin is list:
        yield "a list"
    elif origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        yield "a mapping"
    else:
        yield _WORDS[annotation]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(settings_page(), encoding="utf-8")
