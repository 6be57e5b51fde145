"""The table of log lines as the page docs/reference/logs.md, and one of them for `stream-anon logs-explain`.

`python -m stream_anon.operations.log_lines FILE` writes the page; a test compares the committed file with the code.
"""

from __future__ import annotations

import sys
from pathlib import Path

from stream_anon.errors import SettingsError
from stream_anon.ports.log_lines import LogLine

HEAD = """# Log lines
The service writes one line a window and one for each thing an operator might want to know, to standard error. On
a terminal lines are for people, elsewhere each is a JSON object (`logs.format`: `auto`, `json` or `console`). No
line holds a person's value: only names of topics and attributes, places, counts and times. What a library says is
counted and withheld, for its text may quote a record. `stream-anon logs-explain CODE` prints the same as this page,
which is generated from the code (`python -m stream_anon.operations.log_lines docs/reference/logs.md`).

Every line has `timestamp`, `level` and `event`, one of the codes below. The line of a window:

| field of `window-published` | meaning |
| --- | --- |
| `batch` | the random id in the header of its records, and in its certificate |
| `records_in`, `released` | records taken in and published |
| `suppressed`, `rejected` | records kept back and dead letters, by reason; empty where there were none |
| `ignored` | records that are no rows, such as deletions, by reason; absent where there were none |
| `classes`, `achieved_k` | published classes, and the least number of people in one |
| `achieved_shields` | the least number of people by each shield, in the policy's order; only where it has shields |
| `loss` | information loss (GCP), 0 to 1 |
| `age` | seconds the window was open |
| `close_seconds`, `publish_seconds` | what closing and the transaction took |

"""


def explain(code: str) -> str:
    """Return meaning and advice of an event.

    Raises
    ------
    SettingsError
        If there is no such event; the message names those that are.
    """
    known = {line.value: line for line in LogLine}
    if code not in known:
        raise SettingsError("CODE", f"no such event; there are {', '.join(sorted(known))}")
    line = known[code]
    return f"{line.value} ({line.levels})\n{line.meaning}\nWhat to do: {line.action}"


def logs_page() -> str:
    """Return the page."""
    rows = [f"| `{line.value}` | {line.levels} | {line.meaning} | {_linked(line.action)} |" for line in LogLine]
    return HEAD + "\n".join(["| code | level | meaning | what to do |", "| --- | --- | --- | --- |", *rows]) + "\n"


def _linked(action: str) -> str:
    head, word, tail = action.partition("unbook ")
    if not word:
        return action
    name = tail.split(maxsplit=1)[0].rstrip(".,:;")
    return f"{head}{word}[{name}](../runbooks/{name}.md){tail.removeprefix(name)}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(logs_page(), encoding="utf-8")
