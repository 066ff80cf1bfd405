"""Faults of the host: classification, logging, and their effect on stored data."""

import errno
import io
import logging
import os
import shutil
import sqlite3
from pathlib import Path

import peewee
import pytest

from docshare.server import faults
from docshare.server.pdf import child
from docshare.server.services.files import intake, removals
from docshare.server.services.operations import sweeps
from docshare.server.services.webhooks import dispatch
from docshare.server.store import reserve
from docshare.server.store.blobs import FolderStore
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
    "fails": [
        OSError(errno.EIO, ""),
        OSError(errno.ESTALE, ""),
        make_sqlite_error("SQLITE_IOERR"),
        make_sqlite_error("SQLITE_IOERR_FSYNC"),
    ],
    "read-only": [
        OSError(errno.EROFS, ""),
        make_sqlite_error("SQLITE_READONLY"),
        make_sqlite_error("SQLITE_READONLY_DBMOVED"),
    ],
    "permission": [OSError(errno.EACCES, ""), OSError(errno.EPERM, "")],
    "missing": [OSError(errno.ENOTDIR, "")],
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


def test_a_missing_directory_of_documents_is_503_and_loses_nothing(world: World) -> None:
    """An error that means "gone" would be wrong, and a deletion must not pass as done."""
    kept, purged = world.pia.upload(), world.pia.upload()
    blobs = world.rt.blobs
    assert isinstance(blobs, FolderStore)
    away = blobs.root.with_name("blobs.away")
    blobs.root.rename(away)
    form = {"file": (io.BytesIO(simple_pdf(pages=2)), "a.pdf")}
    answers = {
        "upload": world.pia.post("/api/v1/files", data=form),
        "content": world.pia.get(f"/api/v1/files/{kept['uuid']}/content"),
        "download": world.http.post(f"/{kept['shortId']}/download"),
        "image": world.http.get(f"/{kept['shortId']}/pages/1-800.jpg?v=1"),
    }
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 503)
    assert {name for name, answer in answers.items() if answer.headers.get("Retry-After")} == answers.keys()
    assert world.pia.delete(f"/api/v1/files/{purged['uuid']}?purge=1").status_code == 200
    assert not blobs.root.exists()
    assert count_files(away) == 2

    away.rename(blobs.root)
    assert removals.delete_remembered(world.rt) == 1
    assert count_files(blobs.root) == 1
    assert world.http.get(f"/{kept['shortId']}/pages/1-800.jpg?v=1").status_code == 200
    assert world.http.post(f"/{kept['shortId']}/download").status_code == 200


def count_files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def test_an_upload_without_a_directory_for_partial_files_is_503(world: World) -> None:
    away = world.rt.blobs.tmp.rename(world.rt.blobs.tmp.with_name("tmp.away"))
    form = {"file": (io.BytesIO(simple_pdf(pages=2)), "a.pdf")}
    assert world.pia.post("/api/v1/files", data=form).status_code == 503
    away.rename(world.rt.blobs.tmp)
    world.pia.upload()


def test_a_job_that_finds_no_data_directory_logs_one_line(world: World, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("docshare").propagate = True
    faults._last_logged.clear()
    folder = world.rt.config.data_dir
    away = folder.rename(folder.with_name("data.away"))
    with pytest.raises(NotADirectoryError) as raised:
        dispatch.claim_due(world.rt, 1)
    faults.log_error(raised.value, "deliveries have stalled")
    assert not folder.exists()
    away.rename(folder)
    assert [(record.getMessage(), record.exc_info) for record in caplog.records] == [
        ("deliveries have stalled: a directory is missing", None)
    ]


def test_cached_pages_that_the_disk_refuses_to_delete_are_deleted_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document is deleted already, so the request has succeeded."""
    uploaded = world.pia.upload()
    assert world.http.get(f"/{uploaded['shortId']}/pages/1-800.jpg?v=1").status_code == 200
    pages = world.rt.config.data_dir / "cache"
    assert list(pages.rglob(f"*{uploaded['uuid']}*"))

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", refuse)
        assert world.pia.delete(f"/api/v1/files/{uploaded['uuid']}?purge=1").status_code == 200
    assert list(pages.rglob(f"*{uploaded['uuid']}*"))
    sweeps.delete_derived_of_destroyed(world.rt)
    assert not list(pages.rglob(f"*{uploaded['uuid']}*"))
