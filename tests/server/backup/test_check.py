"""``docshare admin check``: problems are reported, and repaired if possible."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from docshare.server.store.blobs import BACKUP_LOCK
from docshare.server.store.lock import DirectoryLock
from tests.support.clock import START
from tests.support.documents.pdfs import simple_pdf
from tests.support.people.cast import World
from tests.support.servers.instance_backup import DAY, Operator, populate_instance

pytestmark = pytest.mark.usefixtures("uploaded_file")

Damage = Callable[[World, Path], object]


@pytest.fixture
def uploaded_file(operator: Operator) -> dict[str, Any]:
    """Return a file of Pia in an intact instance, which also has a webhook."""
    return populate_instance(operator)


def find_blob(world: World) -> Path:
    ((key,),) = world.rt.db.fetch_all("SELECT blob FROM files")
    return world.rt.blobs.path(key)


def make_damage(sql: str) -> Damage:
    def run(world: World, _data: Path) -> None:
        world.rt.db.engine.execute_sql("PRAGMA foreign_keys = OFF")
        world.rt.db.engine.execute_sql(sql)

    return run


def add_stray_blob(_world: World, data: Path) -> None:
    (data / "blobs" / "zz").mkdir()
    (data / "blobs" / "zz" / ("z" * 32)).write_bytes(b"nobody's")


def test_an_intact_instance_has_no_problems(operator: Operator) -> None:
    done = operator.run_admin("check", "--json")
    assert done.code == 0, done.out
    assert {row["check"] for row in done.json} == {
        "permissions", "database", "schema", "content", "encryption", "leftovers", "secrets", "rows",
    }  # fmt: skip
    assert all(row["ok"] and row["fix"] is None for row in done.json)


DAMAGES: dict[str, tuple[Damage, str, str]] = {
    "a missing document": (lambda world, _: find_blob(world).unlink(), "content", "missing from the store"),
    "a shorter document": (lambda world, _: find_blob(world).write_bytes(b"short"), "content",
        "has 5 bytes instead of"),
    "a changed document": (
        lambda world, _: find_blob(world).write_bytes(bytes(find_blob(world).stat().st_size)), "content",
        "is not what was uploaded",
    ),
    "a blob without a row": (add_stray_blob, "leftovers", "nothing refers to blobs/zz/"),
    "half an upload": (lambda _, data: (data / "tmp" / "x.part").write_bytes(b"x"), "leftovers", "refers to tmp/x"),
    "a blob of a burned document": (make_damage("UPDATE files SET destroyed_at = 1"), "leftovers",
        "refers to blobs/"),
    "a directory that others can read": (lambda _, data: data.chmod(0o755), "permissions",
        "other users of this machine can read"),
    "a key that others can read": (lambda _, data: (data / "vault.key").chmod(0o644), "permissions", "vault.key"),
    "another key": (lambda _, data: (data / "vault.key").write_bytes(bytes(range(32))), "content secrets",
        "cannot decrypt"),
    "no key": (lambda _, data: (data / "vault.key").unlink(), "content encryption secrets",
        "vault.key is missing"),
    "a lost parent": (make_damage("DELETE FROM accounts WHERE email = 'pia@example.com'"), "database", "missing row"),
    "invalid settings": (make_damage("UPDATE files SET settings = '{'"), "rows", "settings cannot be read"),
    "a lost revision": (make_damage("DELETE FROM revisions"), "rows", "version has no revision"),
    "too many views": (make_damage("UPDATE files SET view_limit = 1, views_consumed = 2"), "rows", "more views"),
    "a trashed file without a purge date": (make_damage("UPDATE files SET trashed_at = 1"), "rows",
        "without a purge date"),
    "a later schema": (make_damage("PRAGMA user_version = 99"), "schema", "upgrade"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_reported(operator: Operator, name: str) -> None:
    inflict, check, words = DAMAGES[name]
    inflict(operator.world, operator.data)
    done = operator.run_admin("check", "--json")
    wrong = [row for row in done.json if not row["ok"]]
    assert done.code == 13
    assert {row["check"] for row in wrong} == set(check.split())
    assert any(words in f"{row['detail']} {row['fix']}" for row in wrong), wrong
    assert all(row["fix"] for row in wrong)


def test_an_invalid_database_is_reported(operator: Operator) -> None:
    broken = operator.place / "broken"
    broken.mkdir(mode=0o700)
    (broken / "docshare.db").write_bytes(b"not a database" * 1000)
    done = operator.run_admin("check", "--json", data=broken)
    assert (done.code, done.json[-1]["check"], done.json[-1]["ok"]) == (13, "database", False)


def test_a_quick_check_reads_no_document(operator: Operator) -> None:
    path = find_blob(operator.world)
    path.write_bytes(b"x" * path.stat().st_size)
    assert operator.run_admin("check", "--quick").code == 0
    assert operator.run_admin("check").code == 13


def test_a_pipe_gets_tabs_and_a_terminal_gets_fixes(operator: Operator) -> None:
    assert operator.run_admin("check").lines[0].startswith("permissions\ttrue\t")
    operator.shell.tty = True
    operator.shell.env["NO_COLOR"] = "1"
    find_blob(operator.world).unlink()
    lines = operator.run_admin("check").lines
    assert lines[0].startswith("✓ permissions")
    wrong = next(number for number, line in enumerate(lines) if line.startswith("✗ content"))
    assert lines[wrong + 1].startswith("  fix: have its owner replace it")


def test_a_recent_blob_is_ignored_while_a_server_runs(operator: Operator) -> None:
    add_stray_blob(operator.world, operator.data)
    path = operator.data / "blobs" / "zz" / ("z" * 32)
    now = START // 1000 + DAY
    with DirectoryLock(operator.data):
        os.utime(path, (now - 60, now - 60))
        assert operator.run_admin("check").code == 0
        os.utime(path, (now - 7200, now - 7200))
        assert operator.run_admin("check").code == 13


def test_during_a_backup_orphans_are_ignored(operator: Operator) -> None:
    add_stray_blob(operator.world, operator.data)
    with DirectoryLock(operator.data, BACKUP_LOCK):
        assert operator.run_admin("check").code == 0
    assert operator.run_admin("check").code == 13


def test_a_document_deleted_during_the_check_is_not_damage(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    def delete_and_fail(store: object, row: Any, vault: object) -> bool:
        operator.world.rt.db.engine.execute_sql("DELETE FROM files")
        raise FileNotFoundError(row.blob)

    monkeypatch.setattr("docshare.server.backup.contents.is_intact", delete_and_fail)
    done = operator.run_admin("check", "--json")
    assert [row["ok"] for row in done.json if row["check"] == "content"] == [True]


# --- repair -----------------------------------------------------------------------------------------------------------


def test_leftovers_are_moved_to_lost_and_found_with_a_report(operator: Operator, uploaded_file: dict[str, Any]) -> None:
    add_stray_blob(operator.world, operator.data)
    (operator.data / "tmp" / "x.part").write_bytes(b"half")
    done = operator.run_admin("check", "--repair", "--json")
    assert done.code == 0, done.out
    assert (done.code, operator.run_admin("check", "--repair", "--json").json) == (0, done.json[2:]), (
        "it repaired twice"
    )
    (place,) = (operator.data / "lost-and-found").iterdir()
    assert (place / "blobs" / "zz" / ("z" * 32)).read_bytes() == b"nobody's"
    assert (place / "tmp" / "x.part").read_bytes() == b"half"
    assert "was moved to" in (place / "report.json").read_text()
    with operator.world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/content") as response:
        assert response.data == simple_pdf(pages=3)


def test_permissions_are_restricted(operator: Operator) -> None:
    operator.data.chmod(0o755)
    (operator.data / "docshare.db").chmod(0o644)
    assert operator.run_admin("check", "--repair").code == 0
    assert operator.data.stat().st_mode & 0o777 == 0o700
    assert (operator.data / "docshare.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [None, b"rotten"])
def test_links_of_damaged_documents_are_frozen(
    operator: Operator, uploaded_file: dict[str, Any], content: bytes | None
) -> None:
    world = operator.world
    find_blob(world).unlink()
    if content is not None:
        ((key,),) = world.rt.db.fetch_all("SELECT blob FROM files")
        world.rt.blobs.path(key).write_bytes(content)
    assert world.http.get(f"/{uploaded_file['shortId']}/pages/1-800.jpg").status_code != 500
    done = operator.run_admin("check", "--repair", "--json")
    assert done.code == 13, "the document is still damaged"
    assert any("were frozen" in row["detail"] for row in done.json)
    with world.rt.db.write():  # like a restart: invalidates the cached pages
        page = world.http.get(f"/{uploaded_file['shortId']}")
    assert page.status_code == 403, "the page must report that the link is on hold"
    again = operator.run_admin("check", "--repair", "--json")
    assert not any("were frozen" in row["detail"] for row in again.json), "it was frozen twice"


def test_an_inconsistent_index_is_rebuilt(operator: Operator) -> None:
    operator.world.rt.db.close()
    schema = "FROM sqlite_schema WHERE name = 'files_owner'"
    (index,) = run_statements(operator.data, f"SELECT * {schema}", f"DELETE {schema}")
    values = ", ".join("?" * len(index))
    run_statements(operator.data, "UPDATE files SET trashed_at = 1, purge_at = 9999999999999")
    run_statements(operator.data, f"INSERT INTO sqlite_schema VALUES ({values})", values=index)
    before = operator.run_admin("check", "--json")
    assert {row["check"] for row in before.json if not row["ok"]} == {"database"}
    after = operator.run_admin("check", "--repair", "--json")
    assert after.code == 0, after.out
    assert any(row["detail"] == "its indexes were rebuilt" for row in after.json)


def run_statements(data: Path, *statements: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Run statements that may change the schema on a separate connection; return the rows of the first."""
    with closing(sqlite3.connect(data / "docshare.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        found = [connection.execute(statement, values).fetchall() for statement in statements]
        return found[0]


def test_a_dry_run_repairs_nothing(operator: Operator) -> None:
    add_stray_blob(operator.world, operator.data)
    assert operator.run_admin("check", "--repair", "-n").code == 13
    assert not (operator.data / "lost-and-found").exists()
