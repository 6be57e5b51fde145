"""What somebody may do to a file of signed certificates, and what the audit calls it, whatever made the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from stream_anon.audit.verdict import Kind
from stream_anon.operations.audit.auditing import WantedAudit, audit_files
from tests.support.signing import key_of, public_of

ONE, OTHER, STRANGER = key_of(1), key_of(2), key_of(3)
KEYS = public_of(1, 2)

FALSE_SIGNATURES: list[tuple[Callable[[bytes], bytes], Kind]] = [
    (STRANGER.sign, Kind.UNKNOWN_SIGNER),
    (lambda part: STRANGER.sign(part).replace(STRANGER.name.encode(), ONE.name.encode()), Kind.FORGED),
    (lambda _: ONE.sign(b"another document"), Kind.FORGED),
]
"""Signatures of a part that do not hold, where ONE has signed it and only `KEYS` may."""


def meddled(lines: Sequence[bytes]) -> Iterator[tuple[list[bytes], set[Kind]]]:
    """Yield what becomes of a file, and the violations that it then shows.

    Parameters
    ----------
    lines
        A policy document, then the parts of certificates; below each line its signature by ONE.
    """
    document, rest = list(lines[:2]), list(lines[2:])
    *before, part, signature = lines
    for sign, kind in FALSE_SIGNATURES:
        yield [*before, part, sign(part)], {kind}
        yield [document[0], sign(document[0]), *rest], {kind}
    yield [*before, part + b" ", signature], {Kind.FORGED}
    yield [*before, part], {Kind.UNSIGNED}
    yield [document[0], *rest], {Kind.UNSIGNED}
    yield document, {Kind.NO_CERTIFICATE}
    if in_parts(part):
        yield before, {Kind.MISSING_PART}
        yield [*before, part, OTHER.sign(part)], {Kind.SIGNER_CHANGED}
    yield [*lines, part, signature], {Kind.REPLAYED}
    yield [*lines, *rest], {Kind.REPLAYED}


def in_parts(part: bytes) -> bool:
    """Return whether a part is not the whole certificate."""
    return b'"parts":1,' not in part


def check_each_meddling_is_named(policy: Path, records: Path, certificates: Path, folder: Path) -> None:
    """Audit a release as it is, and after each thing that somebody may do to its certificates.

    Parameters
    ----------
    policy, records, certificates
        As `audit_files` takes them.
    folder
        Where files may be written.
    """
    public, changed = folder / "public.pem", folder / "meddled.jsonl"
    public.write_bytes(ONE.public + OTHER.public)
    wanted = WantedAudit(public_keys=[public])
    whole = audit_files(policy, records, certificates, wanted).verdict
    assert whole.violations == ()
    assert whole.counts.signed == whole.counts.windows > 0
    assert [signer.key for signer in whole.signers] == [ONE.name]
    for lines, expected in meddled(certificates.read_bytes().splitlines()):
        changed.write_bytes(b"".join(line + b"\n" for line in lines))
        found = audit_files(policy, records, changed, wanted).verdict
        # Records whose certificate is not whole have none either.
        names = {one.kind for one in found.violations}
        assert names - ({Kind.NO_CERTIFICATE} if Kind.MISSING_PART in names else set()) == expected
