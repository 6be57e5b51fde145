from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.cli.run import run


class Ended(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize(("error", "code"), [(None, 0), (ValueError(), 1)])
def test_a_service_that_leaves_a_compiler_at_work_ends_its_process_at_once(
    error: Exception | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taking the interpreter down under a compiler aborted a worker that was asked to stop."""
    ended: list[int] = []

    def serve(*_: object) -> None:
        if error is not None:
            raise error

    def end(found: int) -> None:
        ended.append(found)
        raise Ended

    monkeypatch.setattr(run, "serve", serve)
    monkeypatch.setattr(run.os, "_exit", end)
    assert run.run(Path("policy.yaml")) == code
    monkeypatch.setattr(run, "work_is_left", lambda: True)
    with pytest.raises(Ended):
        run.run(Path("policy.yaml"))
    assert ended == [code]
