"""Two builds can be told apart: what the package says its source was."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_anon.version import SOFTWARE, UNKNOWN, __version__, revision
from tests.support.git import git


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return the package of a clone with one commit."""
    root = tmp_path / "clone"
    (root / "stream_anon").mkdir(parents=True)
    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "one")
    return root / "stream_anon"


@pytest.mark.parametrize("change", [(), ("pack-refs", "--all"), ("checkout", "--quiet", "--detach")])
def test_a_checkout_has_the_revision_that_git_says_and_is_marked(package: Path, change: tuple[str, ...]) -> None:
    if change:
        git(package, *change)
    assert revision(package) == git(package, "rev-parse", "HEAD")[:12] + ".checkout"


def test_a_worktree_has_its_own_revision(package: Path, tmp_path: Path) -> None:
    git(package, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    git(tmp_path / "other", "commit", "--quiet", "--allow-empty", "--message", "two")
    (tmp_path / "other" / "stream_anon").mkdir()
    found = revision(tmp_path / "other" / "stream_anon")
    assert found == git(tmp_path / "other", "rev-parse", "HEAD")[:12] + ".checkout"
    assert found != revision(package)


def test_what_a_build_wrote_counts_more_than_the_folder_around_it(package: Path) -> None:
    (package / "_revision").write_text("0123456789ab.dirty\n")
    assert revision(package) == "0123456789ab.dirty"


@pytest.mark.parametrize(
    "head", [None, "", "ref: refs/heads/gone\n", "ref: ../../etc/passwd\n", "no commit\n", "\xff"]
)
def test_what_cannot_be_read_is_unknown(tmp_path: Path, head: str | None) -> None:
    (tmp_path / "stream_anon").mkdir()
    if head is not None:
        (tmp_path / ".git").mkdir()
        (tmp_path / ".git" / "HEAD").write_text(head, "latin-1")
    assert revision(tmp_path / "stream_anon") == UNKNOWN


def test_certificates_name_version_and_revision() -> None:
    assert SOFTWARE.partition("+")[0] == f"stream-anon {__version__}"
    assert SOFTWARE.partition("+")[2]
