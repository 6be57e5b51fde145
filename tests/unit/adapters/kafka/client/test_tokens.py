"""Tokens that are kept: for how long, and by whom a failure is seen."""

from __future__ import annotations

import asyncio
import gc

import pytest

from stream_anon.adapters.kafka.client.tokens import KeptToken, TokenError


class _Slow(KeptToken):
    """Gives tokens that live 0.2 s from the moment at which they are asked for, after a while."""

    def __init__(self, takes: float) -> None:
        super().__init__()
        self.takes, self.asked = takes, 0

    async def _obtained(self) -> tuple[str, float]:
        self.asked += 1
        await asyncio.sleep(self.takes)
        return f"token{self.asked}", 0.2


async def test_a_token_is_kept_for_all_that_come_while_it_lives() -> None:
    source = _Slow(0.01)
    assert await asyncio.gather(source.token(), source.token()) == ["token1", "token1"]
    assert await source.token() == "token1"


async def test_a_token_that_expired_while_it_was_obtained_is_not_handed_out_again() -> None:
    source = _Slow(0.25)
    assert await source.token() == "token1"
    assert await source.token() == "token2"


async def test_a_failure_that_nobody_waits_for_any_more_is_not_printed_by_asyncio() -> None:
    class Failing(KeptToken):
        async def _obtained(self) -> tuple[str, float]:
            await asyncio.sleep(0.05)
            raise TokenError("no token")

    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    source = Failing()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(source.token(), 0.01)
    await asyncio.sleep(0.1)
    del source
    gc.collect()
    assert told == []
