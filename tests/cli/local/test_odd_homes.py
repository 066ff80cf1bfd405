"""The files of the command line on file systems without locks, and damaged ones."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from tests.cli.commands.fakes.uploads import FakeUploads
from tests.support.outside.fake_api import FakeApi
from tests.support.shell import TOKEN, Shell


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer as a network file system whose servers do not support locks."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_an_upload_succeeds_without_locks(
    shell: Shell, fake_uploads: FakeUploads, deck: Path, without_locks: None
) -> None:
    """Only ``@last`` cannot be stored: a script must not upload the document again."""
    done = shell("upload", deck)
    assert (done.code, done.err, len(fake_uploads.uploads)) == (0, "", 1)


@pytest.mark.parametrize(
    "line", ["profile add work --url https://docs.example.com --with-token", "auth login --with-token"]
)
def test_a_file_that_cannot_be_locked_is_named(shell: Shell, api: FakeApi, line: str, without_locks: None) -> None:
    api.on("GET", "/user", {"uuid": "0b8e7d5c-3f0e-4f4f-9d0c-2a7b1f6c8e11", "tier": "pro", "email": "a@example.com"})
    done = shell(*line.split(), stdin=TOKEN.encode())
    assert (done.code, "cannot write" in done.err, os.strerror(errno.ENOLCK) in done.err) == (2, True, True)


@pytest.mark.parametrize("content", ["[" * 100_000, "{", "[]", '{"a b": 1, "c": 2}', "\udcff"])
def test_an_upload_succeeds_with_a_damaged_file_of_uploads(
    shell: Shell, fake_uploads: FakeUploads, deck: Path, content: str
) -> None:
    path = shell.home / "state" / "last.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, errors="surrogateescape")
    assert shell("upload", deck).code == 0
    assert shell("upload", deck, "--json").code == 0
    assert path.read_text().count('"uuid"') == 1
