"""How long the certificates of a connection are valid."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def ends_of_certificates(ca_file: Path | None, certificate_file: Path | None) -> Mapping[str, float]:
    """Return when each certificate of the settings ends, in seconds since the epoch, by its key.

    For `ca_file`, the last of its authorities to end counts: while one of them is valid, a server may be trusted. A
    file that cannot be read or holds no certificate is left out; connecting says what is wrong with it.
    """
    ends: dict[str, float] = {}
    if ca_file is not None:
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(ca_file)
            authorities = [ssl.cert_time_to_seconds(str(each["notAfter"])) for each in context.get_ca_certs()]
        except (OSError, ssl.SSLError, ValueError, KeyError):
            authorities = []
        if authorities:
            ends["ca_file"] = float(max(authorities))
    if certificate_file is not None:
        try:
            # Only this function, made for Python's own tests, reads a certificate file; a test pins it.
            decode: Any = ssl._ssl._test_decode_cert  # type: ignore[attr-defined] # noqa: SLF001
            ends["certificate_file"] = float(ssl.cert_time_to_seconds(decode(str(certificate_file))["notAfter"]))
        except (OSError, ssl.SSLError, ValueError, KeyError, AttributeError):
            pass
    return ends
