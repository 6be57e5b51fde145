"""Tokens for Amazon MSK with IAM: an address that is signed with AWS credentials (Signature Version 4)."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from stream_anon.adapters.kafka.client.tokens import KeptToken, TokenError, cleaned
from stream_anon.errors import SettingsError

_KEY = "kafka.security.sasl_mechanism AWS_MSK_IAM"
_WITHIN = 10.0
# Seconds. A token lives for 15 minutes, but not longer than the credentials that signed it, which it does not tell.
# A start opens ten connections; one token serves them all.
_KEPT = 60.0


class IamToken(KeptToken):
    """Sign tokens with the credentials that AWS's own tools find: variables, files, the role of a pod or machine.

    Parameters
    ----------
    region
        Of the cluster.

    Raises
    ------
    SettingsError
        If the signer is not installed.
    """

    def __init__(self, region: str) -> None:
        super().__init__()
        if find_spec("aws_msk_iam_sasl_signer") is None:
            raise SettingsError(_KEY, "needs the extra `msk`: pip install '.[msk]' in a clone")
        self._region = region

    async def _obtained(self) -> tuple[str, float]:
        try:
            async with asyncio.timeout(_WITHIN):
                return await asyncio.to_thread(self._signed), _KEPT
        except TimeoutError:
            raise TokenError(f"{_KEY}: no AWS credentials within {_WITHIN:g} s") from None

    def _signed(self) -> str:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            token, _ = MSKAuthTokenProvider.generate_auth_token(self._region)
        except (BotoCoreError, ClientError, ValueError, OSError) as error:  # a message may hold the key's id
            raise TokenError(f"{_KEY}: AWS credentials cannot be obtained ({type(error).__name__})") from None
        except AttributeError:  # the signer's answer to credentials that are nowhere
            raise TokenError(f"{_KEY}: no AWS credentials were found") from None
        return cleaned(token.encode("ascii"), "sasl_mechanism")
