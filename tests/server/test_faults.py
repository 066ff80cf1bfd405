"""Faults of the host: classification, logging, and their effect on stored data."""

import errno
import io
import logging
import sqlite3
from pathlib import Path

import peewee
import pytest

from docshare.server import faults
from docshare.server.pdf import child
from docshare.server.services.files import intake
from docshare.server.store import reserve
from tests.support.documents.pdfs import simple_pdf
from tests.support.people.cast import World


def make_sqlite_error(name: str) -> peewee.OperationalError:
    inner = sqlite3.OperationalError("disk I/O error")
    inner.sqlite_errorcode = getattr(sqlite3, name)
    return peewee.OperationalError(inner, "disk I/O error")


FAULTS = {
    "full": [
        OSError(errno.ENOSPC, ""),
        OSError(errno.EDQUOT, ""),
        OSError(errno.EFBIG, ""),
        make_sqlite_error("SQLITE_FULL"),
    ],
    "fails": [OSError(errno.EIO, ""), make_sqlite_error("SQLITE_IOERR"), make_sqlite_error("SQLITE_IOERR_FSYNC")],
    "read-only": [
        OSError(errno.EROFS, ""),
        make_sqlite_error("SQLITE_READONLY"),
        make_sqlite_error("SQLITE_READONLY_DBMOVED"),
    ],
    "descriptors": [OSError(errno.EMFILE, ""), OSError(errno.ENFILE, "")],
    "memory": [MemoryError(), OSError(errno.ENOMEM, ""), make_sqlite_error("SQLITE_NOMEM")],
    "damaged": [
        make_sqlite_error("SQLITE_CORRUPT"),
        peewee.DatabaseError(make_sqlite_error("SQLITE_NOTADB"), "while connecting"),
    ],
    "open its database": [make_sqlite_error("SQLITE_CANTOPEN")],
    "busy": [make_sqlite_error("SQLITE_BUSY")],
}


@pytest.mark.parametrize(("word", "error"), [(word, error) for word, errors in FAULTS.items() for error in errors])
def test_a_host_fault_is_503(word: str, error: Exception) -> None:
    problem = faults.to_problem(error)
    assert problem is not None
    assert (problem.status, word in problem.detail) == (503, True)
    assert int(problem.headers["Retry-After"]) > 0
    assert problem.hint


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        FileNotFoundError(errno.ENOENT, ""),
        make_sqlite_error("SQLITE_CONSTRAINT"),
        peewee.IntegrityError(),
    ],
)
def test_other_exceptions_are_not_host_faults(error: Exception) -> None:
    assert faults.to_problem(error) is None


def test_a_repeated_fault_is_logged_once_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("docshare").propagate = True
    faults._last_logged.clear()
    for _ in range(50):
        faults.log_error(OSError(errno.ENOSPC, ""), "a request failed")
    faults.log_error(ValueError("bad"), "a request failed")
    assert [(record.getMessage(), bool(record.exc_info)) for record in caplog.records] == [
        ("a request failed: the disk is full", False),
        ("a request failed", True),
    ]


def test_a_blob_whose_commit_may_have_succeeded_is_preserved(world: World) -> None:
    """A commit whose sync failed may be in the journal; after a crash its rows need their blobs."""
    kept = {}
    for name in ("SQLITE_IOERR_FSYNC", "SQLITE_FULL"):
        part = world.rt.blobs.create_partial()
        part.write(b"%PDF-")
        kept[name] = world.rt.blobs.store(part)
        intake.discard_blob(world.rt, kept[name], make_sqlite_error(name))
    assert world.rt.blobs.exists(kept["SQLITE_IOERR_FSYNC"])
    assert not world.rt.blobs.exists(kept["SQLITE_FULL"])


def test_the_reserve_is_released_only_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reserve.ensure_reserve(tmp_path) == 1
    assert (tmp_path / reserve.RESERVE_NAME).stat().st_size == reserve.RESERVE_BYTES
    assert (tmp_path / reserve.RESERVE_NAME).stat().st_mode & 0o777 == 0o600
    assert reserve.ensure_reserve(tmp_path) == 0
    reserve.release_if_full(tmp_path)
    assert (tmp_path / reserve.RESERVE_NAME).exists()
    monkeypatch.setattr(reserve, "_available_bytes", lambda folder: 1000)
    reserve.release_if_full(tmp_path)
    assert not (tmp_path / reserve.RESERVE_NAME).exists()
    assert reserve.ensure_reserve(tmp_path) == 0
    assert reserve.is_spent(tmp_path)


def test_an_upload_that_cannot_be_opened_for_its_check_is_503(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document is not to blame, so the sender must not read that it is damaged."""
    uploaded = world.pia.upload()

    def refuse(path: str) -> int:
        raise OSError(errno.EMFILE, "Too many open files", path)

    with monkeypatch.context() as patch:
        patch.setattr(child, "_open_regular_file", refuse)
        answer = world.pia.post("/api/v1/files", data={"file": (io.BytesIO(simple_pdf(pages=2)), "a.pdf")})
        assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable"), answer.text
        image = world.http.get(f"/{uploaded['shortId']}/pages/1-800.jpg?v=1")
        assert image.status_code == 503
    assert world.http.get(f"/{uploaded['shortId']}/pages/1-800.jpg?v=1").status_code == 200
