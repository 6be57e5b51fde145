"""Read a settings file, let the environment override it, and say in words what is wrong with it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource
from pydantic_settings import SettingsError as VariableError

from stream_anon.conditions import Condition
from stream_anon.errors import InputError, SettingsError
from stream_anon.formats.tables.small_texts import read_text
from stream_anon.settings.model import ENVIRONMENT_PREFIX, Settings
from stream_anon.settings.sections.kafka_settings import KafkaSettings
from stream_anon.settings.sections.section import models_in
from stream_anon.settings.yaml_text import read_yaml

_ONE_K = {"k", "max_risk"}
_KEY_FILES = (
    "engine.draws_key_file",
    "privacy.returning.key_file",
    "certificates.sign.key_file",
    "output.digest_key_file",
)
_ONE_USE = (
    "each needs one of its own, since whoever has a key can replay windows (draws), look people up (counts of "
    "returns), sign certificates, or make digests"
)
_MESSAGES = {"missing": "is required", "dict_type": "must be a mapping", "list_type": "must be a list"}
_OF_RECORDS = {".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"}  # JSON is YAML: .json may be a policy


def _overridden(overrides: Mapping[str, Mapping[str, Any]]) -> type[Settings]:
    """Return the settings with values that win over the environment and the file: they were typed just now."""
    typed = {section: dict(values) for section, values in overrides.items() if values}

    class Typed(Settings):
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource, **named: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            below = super().settings_customise_sources(settings_cls, *sources, **named)
            layers = _with_one_k([typed, *(source() for source in below)])
            return tuple(InitSettingsSource(settings_cls, layer) for layer in layers)

    return Typed


def _with_one_k(layers: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield layers of settings, the first of which wins: k and max_risk are one, so that either replaces both."""
    given = False
    for layer in layers:
        privacy = layer.get("privacy")
        if not isinstance(privacy, Mapping) or not privacy.keys() & _ONE_K:
            yield layer
            continue
        kept = {key: value for key, value in privacy.items() if not given or key not in _ONE_K}
        given = True
        yield layer | {"privacy": kept}


def load_settings(path: Path, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """Return the validated settings of a YAML file.

    Parameters
    ----------
    path
        The file; paths inside it are relative to its folder.
    overrides
        Values by section and key that win over the environment and the file (command line options).

    Raises
    ------
    SettingsError
        Names the first wrong key, what is allowed, and the file.
    """
    if path.suffix.lower() in _OF_RECORDS:
        raise SettingsError("settings", "is a file of records; a policy is a YAML file", str(path))
    try:
        document = read_yaml(read_text(path), str(path))
    except InputError as error:
        raise SettingsError("settings", str(error)) from None
    if not isinstance(document, dict):
        raise SettingsError("settings", "must be a mapping of sections", str(path))
    settings = parse_settings(document, overrides, str(path))
    return _with_places_of_keys(settings, path)


def _with_places_of_keys(settings: Settings, path: Path) -> Settings:
    """Return the settings with whole paths of keys: who reads these later does not know where the settings lie."""
    folder, named = path.absolute().parent, dict[Path, str]()
    for key in _KEY_FILES:
        *names, last = key.split(".")
        sections: list[Any] = [settings]
        for name in names:
            sections.append(getattr(sections[-1], name, None))
        file = getattr(sections[-1], last, None)
        if file is None:
            continue
        first = named.setdefault((folder / file).resolve(), key)
        if first != key:
            raise SettingsError(key, f"is the file of {first} too: {_ONE_USE}", str(path))
        changed: Any = str(folder / file)
        for section, name in zip(reversed(sections), [last, *reversed(names)], strict=True):
            changed = section.model_copy(update={name: changed})
        settings = changed
    return settings


def parse_settings(
    document: Mapping[str, Any],
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    place: str | None = None,
) -> Settings:
    """Return the validated settings of a decoded document; see `load_settings`."""
    _refuse_stray_variables(place)
    for section in document:
        if section not in Settings.model_fields:
            raise SettingsError(str(section), "unknown key; allowed: " + ", ".join(Settings.model_fields), place)
        if not isinstance(document[section], Mapping):
            raise SettingsError(str(section), "must be a mapping of keys", place)
    try:
        return _overridden(overrides or {})(**document)
    except ValidationError as error:
        raise _first_error(error, place) from None
    except VariableError as error:  # the rest of its message may hold a secret
        named = re.search(r'field "(\w+)"', str(error))
        name = f"{ENVIRONMENT_PREFIX}{named[1].upper() + '__' if named else ''}*"
        raise SettingsError(name, "a variable is not the JSON that its key needs", place) from None


def _refuse_stray_variables(place: str | None) -> None:
    """Refuse a variable that names no section: a misspelt override must not be ignored in silence."""
    sections = set(Settings.model_fields) - {"attributes"}
    for name in os.environ:
        if name.upper().startswith(ENVIRONMENT_PREFIX):  # pydantic-settings does not mind the case
            section, _, key = name[len(ENVIRONMENT_PREFIX) :].lower().partition("__")
            if section not in sections:
                allowed = ", ".join(sorted(sections))
                raise SettingsError(name, f"names no section that can be overridden; sections: {allowed}", place)
            if not key:
                raise SettingsError(name, f"names a whole section; override a key of it: {name}__KEY", place)


def _first_error(error: ValidationError, place: str | None) -> SettingsError:
    details = error.errors(include_url=False, include_input=False)
    # Of a union's branches report the one that got furthest: it is the one that was meant.
    first = max(
        details,
        key=lambda detail: (
            detail["type"] == "extra_forbidden",
            len(detail["loc"]),
            not detail["type"].endswith("_type"),
        ),
    )
    branches = {
        "str",
        "BalancedSettings",
        "WordsSettings",
        "IndividualSettings",
        "InputSettings",
        "FormatSettings",
        "constrained-str",
        "constrained-int",
        "literal['none']",
        "dict[str,any]",
        "int",
        "float",
    }
    parts = (str(part) for part in first["loc"])
    named = [part for part in parts if part not in branches and not part.startswith(("list[", "literal["))]
    key = ".".join(named) or "settings"
    if first["type"] == "extra_forbidden":
        message = "unknown key" + _allowed_keys(first["loc"])
    elif first["type"] == "model_type":
        message = "must be a mapping of keys" + _allowed_keys((*first["loc"], ""))
    elif first["type"] in _MESSAGES:
        message = _MESSAGES[first["type"]]
    else:
        text = first["msg"].removeprefix("Value error, ")
        message = text[:1].lower() + text[1:]
    more = len(details) - 1
    return SettingsError(key, message + (f" (and {more} more)" if more else ""), place)


def _allowed_keys(location: tuple[int | str, ...]) -> str:
    """Return the keys allowed beside an unknown one, by walking the models; empty where that fails."""
    model: Any = Settings
    for part in location[:-1]:
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            continue
        field = model.model_fields.get(str(part))
        if field is None:
            continue
        model = next(models_in(field.annotation), None)
    if isinstance(model, type) and issubclass(model, BaseModel):
        return "; allowed: " + ", ".join(model.model_fields)
    return ""


def settings_of_run(config: Path, accepted: Sequence[Condition]) -> Settings:
    """Return the settings of a file, with conditions accepted on the command line added to its own."""
    settings = load_settings(config)
    if not accepted:
        return settings
    both = sorted({*kafka_of(settings).accept_risks, *accepted})
    return load_settings(config, {"kafka": {"accept_risks": both}})


def kafka_of(settings: Settings) -> KafkaSettings:
    """Return the section on Kafka.

    Raises
    ------
    SettingsError
        If there is none.
    """
    if settings.kafka is None:
        raise SettingsError("kafka", "is required for a service; files need no such section")
    return settings.kafka
