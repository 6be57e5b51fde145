"""The rules of `promtool check metrics`, and of the text format, written out."""

import re
from collections.abc import Iterator

SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\.)*)"(?:,|$)')
WRONG_UNITS = ("ms", "milliseconds", "minutes", "hours", "days", "kb", "mb", "kilobytes", "percent", "sec", "s")


def problems(text: str) -> list[str]:
    """Return what a linter would say of an exposition; nothing for a good one."""
    found: list[str] = []
    kinds: dict[str, str] = {}
    helps: dict[str, str] = {}
    seen: set[str] = set()
    current = ""
    if not text.endswith("\n"):
        found.append("the text must end with a line break")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, _, words = line.removeprefix("# HELP ").partition(" ")
            helps[name] = words
        elif line.startswith("# TYPE "):
            name, _, kind = line.removeprefix("# TYPE ").partition(" ")
            if name in kinds:
                found.append(f"{name}: declared twice")
            kinds[name], current = kind, name
        else:
            match = SAMPLE.match(line)
            if match is None:
                found.append(f"no sample: {line}")
                continue
            series = line.rpartition(" ")[0]
            if series in seen:
                found.append(f"{series}: written twice")
            seen.add(series)
            found.extend(_of_sample(match[1], match[2] or "", match[3], current, kinds.get(current, "")))
    for name, kind in kinds.items():
        found.extend(_of_family(name, kind, helps.get(name, "")))
    return found


def _of_sample(name: str, labels: str, value: str, family: str, kind: str) -> Iterator[str]:
    endings = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
    if name not in {family + ending for ending in endings}:
        yield f"{name}: stands under {family}"
    if LABEL.sub("", labels):
        yield f"{name}: labels cannot be read"
    names = [label[0] for label in LABEL.findall(labels)]
    if len(names) != len(set(names)):
        yield f"{name}: a label stands twice"
    if (name.endswith("_bucket") and kind == "histogram") != ("le" in names):
        yield f"{name}: le is for buckets"
    try:
        float(value)
    except ValueError:
        yield f"{name}: no number"


def _of_family(name: str, kind: str, words: str) -> Iterator[str]:
    if not words:
        yield f"{name}: no help text"
    if (kind == "counter") != name.endswith("_total"):
        yield f"{name}: _total is for counters and all of them"
    if kind not in ("counter", "gauge", "histogram"):
        yield f"{name}: untyped"
    parts = name.split("_")
    if any(part in ("counter", "gauge", "histogram", "summary") for part in parts):
        yield f"{name}: names its type"
    if any(unit in parts for unit in WRONG_UNITS):
        yield f"{name}: no base unit"
    if name != name.lower() or "__" in name or ":" in name:
        yield f"{name}: not snake_case"
    if name.endswith(("_bucket", "_sum", "_count")):
        yield f"{name}: a reserved ending"
