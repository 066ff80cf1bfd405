"""The promises of ``docshare help upgrade``: this version opens the data directories of all earlier versions, and an
older version does not change the directory of a newer one.

``fixtures/schema-NN.tar.zst`` is the data directory of the last commit whose newest schema step was NN. A step without
a fixture was released together with a later one. The file ``expected.json`` of the archive names the commit. Its
program created an account of the Pro plan and served the directory; as far as it supported them, it received
``plan.pdf`` of three pages, a variant, a webhook, and the beacons of one reader of three pages. A released fixture
never changes. Before you add a step, ``python -m tests.support.schema_fixture`` creates the fixture of the step before,
and ``python -m tests.support.backup_fixture`` the backup ``backup-NN.tar.zst`` that the same program makes of it.
"""

import hashlib
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
import zstandard

from docshare.cli import topics
from docshare.server.store.migrations import STEPS
from tests.support import schema_fixture
from tests.support.backup_fixture import extract_fixture
from tests.support.repository import ROOT
from tests.support.servers.server_process import make_env, run_docshare, start_server

FIXTURES = sorted(schema_fixture.FIXTURES.glob("schema-*.tar.zst"))
BACKUPS = sorted(schema_fixture.FIXTURES.glob("backup-*.tar.zst"))
FIRST_WITH_BACKUPS = 6  # in the order of released schemas


def test_every_released_schema_has_a_fixture() -> None:
    assert [path.name[7:9] for path in FIXTURES] == [
        "01",
        "02",
        "03",
        "04",
        "05",
        "07",
        "10",
        "12",
        "13",
        "14",
        "15",
        "16",
        "17",
    ]


@pytest.mark.parametrize("archive", FIXTURES, ids=lambda path: path.name[:9])
def test_the_data_directory_of_every_released_schema_opens(tmp_path: Path, archive: Path) -> None:
    open_fixture(tmp_path, archive)


def test_a_release_of_this_version_would_leave_a_fixture_that_opens(tmp_path: Path) -> None:
    """``python -m tests.support.schema_fixture`` still works, and the schema has a step for every change."""
    archive = schema_fixture.make_fixture(ROOT, "this version", tmp_path)
    assert archive.name == f"schema-{len(STEPS):02d}.tar.zst"
    before = archive.read_bytes()
    with pytest.raises(FileExistsError):
        schema_fixture.make_fixture(ROOT, "this version", tmp_path)
    assert archive.read_bytes() == before
    made = open_fixture(tmp_path, archive)
    assert made["viewCount"] == 1
    released = extract_fixture(FIXTURES[-1], tmp_path / "released")
    assert set(made) == set(released)


def open_fixture(tmp_path: Path, archive: Path) -> dict[str, Any]:
    """Serve the data directory of ``archive`` and find in it what its program stored; return that."""
    data_dir = tmp_path / "data"
    old = extract_fixture(archive, data_dir)
    open_data_directory(tmp_path, int(archive.name[7:9]), old)
    return old


def open_data_directory(tmp_path: Path, version: int, old: dict[str, Any]) -> None:
    """Serve ``tmp_path / "data"``, which has the schema ``version``, and find what its program stored in it."""
    data_dir = tmp_path / "data"
    env = make_env(tmp_path)
    with (tmp_path / "log").open("w") as log:
        process, url = start_server("--data", str(data_dir), "--port", "0", env=env, errors=log.fileno())
    try:
        headers = {"Authorization": f"Bearer {old['apiKey']}"}
        api = f"{url}/api/v1/files/{old['uuid']}"
        content = requests.get(f"{api}/content", headers=headers, timeout=30)
        file = requests.get(api, headers=headers, timeout=30).json()
        assert hashlib.sha256(content.content).hexdigest() == file["sha256"]
        assert len(content.content) == file["size"] == 1193
        assert (file["shortId"], file["originalName"], file["viewCount"]) == (
            old["shortId"],
            "plan.pdf",
            old["viewCount"],
        )
        report = requests.get(f"{api}/readership", headers=headers, timeout=30).json()
        assert report["summary"]["totalViews"] == old["viewCount"]
        variants = requests.get(f"{api}/variants", headers=headers, timeout=30).json()["variants"]
        assert [each["shortId"] for each in variants] == ([old["variant"]] if old["variant"] else [])
        hooks = requests.get(f"{url}/api/webhooks", headers=headers, timeout=30).json()["webhooks"]
        assert [each["uuid"] for each in hooks] == ([old["webhook"]] if old["webhook"] else [])
        assert requests.get(f"{url}/{old['shortId']}", timeout=30).status_code == 200
    finally:
        process.terminate()
        process.communicate(timeout=30)
    upgraded = [f"database upgraded from={version} to={len(STEPS)}"] if version < len(STEPS) else []
    assert re.findall("database upgraded.*", (tmp_path / "log").read_text()) == upgraded
    with closing(sqlite3.connect(data_dir / "docshare.db")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
    checked = run_docshare("admin", "--data", str(data_dir), "check", env=env)
    assert checked.returncode == 0, f"{checked.stdout}\n{checked.stderr}"


@pytest.mark.parametrize("backup", BACKUPS, ids=lambda path: path.name[:9])
def test_the_backup_of_an_earlier_version_is_restored(tmp_path: Path, backup: Path) -> None:
    version = int(backup.name[7:9])
    old = extract_fixture(schema_fixture.FIXTURES / f"schema-{version:02d}.tar.zst", tmp_path / "original")
    plain = tmp_path / "backup.tar"
    with backup.open("rb") as packed, plain.open("wb") as out:
        zstandard.ZstdDecompressor().copy_stream(packed, out)
    env = make_env(tmp_path)
    done = run_docshare("admin", "restore", str(plain), "--data", str(tmp_path / "data"), env=env)
    assert done.returncode == 0, done.stderr
    open_data_directory(tmp_path, version, old)


def test_every_released_program_that_makes_backups_has_one() -> None:
    assert [path.name[7:9] for path in BACKUPS] == [path.name[7:9] for path in FIXTURES][FIRST_WITH_BACKUPS:]


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("admin", "account", "list")])
def test_an_older_version_rejects_a_newer_database_in_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    env = make_env(tmp_path)
    created = run_docshare("admin", "account", "create", "ada@example.com", env=env)
    assert created.returncode == 0, created.stderr
    database = tmp_path / "data" / "docshare.db"
    newer = len(STEPS) + 1
    connection = sqlite3.connect(database)
    connection.execute(f"PRAGMA user_version = {newer}")
    connection.close()
    before = database.read_bytes()
    done = run_docshare(*command, env=env)
    expected = f"error: database version {newer} is newer than this docshare ({len(STEPS)}); upgrade docshare"
    assert done.stdout == ""
    assert done.stderr.splitlines() == [expected]
    assert done.returncode == 2
    assert database.read_bytes() == before


def test_the_topic_quotes_the_line_of_the_refusal() -> None:
    line = "error: database version 16 is newer than this docshare (15); upgrade docshare"
    assert line in " ".join(topics.load("upgrade").split())
