"""What a released record of any shape says, as natural records say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_anon.microdata.coding import find
from stream_anon.microdata.output.output_members import members_of
from stream_anon.microdata.output.typed import ENDS, read_typed
from stream_anon.microdata.policy import Policy


def natural_record(policy: Policy, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the natural record that says the same as a record that was released under a policy.

    A number that passes may be written as a decimal still: `3.0` for `3`.
    """
    natural: dict[str, Any] = {}
    for member in members_of(policy.published, policy.shape):
        *above, last = member.attribute.path
        inner = natural
        for key in above:
            inner = inner.setdefault(key, {})
        value: Any = find(record, member.path)
        if member.end == ENDS[1]:
            value = {ENDS[0]: inner[last], ENDS[1]: value}
        first = member.end == ENDS[0]  # the other end is still to come
        inner[last] = value if member.form is None or first else read_typed(member.form, value)
    return natural
