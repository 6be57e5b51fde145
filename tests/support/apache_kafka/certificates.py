"""Keys and certificates for tests, made with OpenSSL and worthless outside of them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_EXTENSIONS = (
    "basicConstraints=critical,CA:FALSE\n"
    "keyUsage=critical,digitalSignature\n"
    "extendedKeyUsage=serverAuth,clientAuth\n"
    "subjectKeyIdentifier=hash\n"
    "authorityKeyIdentifier=keyid\n"
)
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, both PEM; `both` holds the two of them, as Kafka wants a key store."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """A certificate authority of its own.

    Parameters
    ----------
    folder
        Where its files go.
    name
        Its common name, and the beginning of its files' names.
    """

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._name = folder, name
        self.certificate = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        _openssl(
            "req", "-x509", *_NEW_KEY, "-keyout", self._key, "-out", self.certificate, "-days", "3",
            "-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign",
        )  # fmt: skip

    def issue(self, name: str, *hosts: str, days: int = 2) -> Certificate:
        """Return a certificate of a subject, for host names or addresses; with 0 days it expires at once."""
        key, request, certificate, both, extensions = (
            self._folder / f"{self._name}.{name}.{suffix}" for suffix in ("key", "csr", "crt", "both", "ext")
        )
        names = ",".join(f"{'IP' if host[0].isdigit() else 'DNS'}:{host}" for host in hosts)
        extensions.write_text(_EXTENSIONS + (f"subjectAltName={names}\n" if names else ""))
        _openssl("req", "-new", *_NEW_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        _openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial",
            "-days", str(days), "-extfile", extensions, "-out", certificate,
        )  # fmt: skip
        both.write_text(key.read_text() + certificate.read_text())
        return Certificate(certificate, key, both)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
