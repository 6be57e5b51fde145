"""How the command ends."""

from __future__ import annotations

import pytest

from stream_anon.cli import main
from stream_anon.errors import BrokerError, InputError, Refused


class Ended(BaseException):
    """Stands for the end of the process."""


ENDS = [
    (SystemExit(0), 0),
    (SystemExit(None), 0),
    (SystemExit(3), 3),
    (Refused("not so"), 1),
    (InputError("x"), 2),
    (BrokerError("away"), 3),
    (ValueError("a bug"), 1),
]


@pytest.mark.parametrize(("error", "code"), ENDS)
def test_a_command_that_leaves_a_compiler_at_work_ends_its_process_at_once(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taking the interpreter down under a compiler aborted workers that were asked to stop, or that refused."""

    def app() -> None:
        raise error

    ended: list[int] = []

    def end(found: int) -> None:
        ended.append(found)
        raise Ended

    monkeypatch.setattr(main, "app", app)
    monkeypatch.setattr(main.os, "_exit", end)
    with pytest.raises(SystemExit) as left:
        main.command()
    assert (left.value.code or 0, ended) == (code, [])
    monkeypatch.setattr(main, "work_is_left", lambda: True)
    with pytest.raises(Ended):
        main.command()
    assert ended == [code]
