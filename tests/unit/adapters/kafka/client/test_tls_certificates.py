"""Certificates that expire soon are reported in time."""

from __future__ import annotations

import shutil
import ssl
import time
from pathlib import Path

import pytest

from stream_anon.adapters.kafka.client.tls_certificates import ends_of_certificates
from tests.support.apache_kafka.certificates import Authority

DAY = 86_400.0

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates need `openssl` on the path")


def test_the_expiry_of_authorities_and_of_our_own_certificate_is_read(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority", "authority")
    own = authority.issue("service", days=9)
    ends = ends_of_certificates(authority.certificate, own.certificate)
    assert ends.keys() == {"ca_file", "certificate_file"}
    assert ends["certificate_file"] == pytest.approx(time.time() + 9 * DAY, abs=DAY)
    context = ssl.create_default_context(cafile=authority.certificate)
    assert ends["ca_file"] == ssl.cert_time_to_seconds(str(context.get_ca_certs()[0]["notAfter"]))


def test_a_file_that_is_no_certificate_has_no_end(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing")
    assert not ends_of_certificates(tmp_path / "x", tmp_path / "nowhere")
    assert not ends_of_certificates(None, None)
