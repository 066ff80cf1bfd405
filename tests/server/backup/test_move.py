"""``docshare admin move``: rejected targets, and behavior after an interruption."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from docshare.server.store import copying
from docshare.server.store.database import SERVING_LOCK, Store
from docshare.server.store.lock import DirectoryLock
from docshare.server.store.postgresql import PostgresqlStore
from docshare.server.store.tables import instance as instance_rows
from tests.support.documents.images import make_picture
from tests.support.engines.postgresql import make_store, open_database
from tests.support.servers.instance_backup import Operator


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of an empty database."""
    with open_database("move") as address:
        yield address


@pytest.fixture
def stopped_operator(populated_operator: Operator) -> Operator:
    """Return the operator of an instance whose server has stopped."""
    populated_operator.world.rt.db.close()
    return populated_operator


def test_rows_keep_their_ids_and_new_rows_get_new_ids(stopped_operator: Operator, address: str) -> None:
    done = stopped_operator.run_admin("move", "--to-database", address, "--json")
    assert done.code == 0, done.err
    stopped_operator.shell.env["DOCSHARE_DATABASE_URL"] = address
    made = stopped_operator.run_admin("key", "create", "pia@example.com", "--json")
    assert made.code == 0, made.err
    keys = json.loads(stopped_operator.run_admin("key", "list", "pia@example.com", "--json").out)
    assert len(keys) == 2


def test_the_data_directory_of_an_earlier_database_is_not_moved(stopped_operator: Operator, address: str) -> None:
    """As in a folder that was restored from a backup of PostgreSQL."""
    with closing(Store(stopped_operator.data / "docshare.db")) as source, source.write():
        instance_rows.insert_secret(source, instance_rows.FOLDER_SECRET, b"another")
    assert stopped_operator.run_admin("move", "--to-database", address).code == 0
    stopped_operator.shell.env["DOCSHARE_DATABASE_URL"] = address
    listed = stopped_operator.run_admin("account", "list")
    assert listed.code == 0, listed.err
    (stopped_operator.data / "instance.key").unlink()
    refused = stopped_operator.run_admin("account", "list")
    assert (refused.code, "set DOCSHARE_STORAGE_URL" in refused.err) == (2, True), refused.err


def test_a_database_with_rows_is_rejected(stopped_operator: Operator, address: str) -> None:
    assert stopped_operator.run_admin("move", "--to-database", address).code == 0
    refused = stopped_operator.run_admin("move", "--to-database", address)
    assert (refused.code, "set DOCSHARE_DATABASE_URL as for the server" in refused.err) == (2, True), refused.err
    (stopped_operator.data / "database-address").unlink()
    again = stopped_operator.run_admin("move", "--to-database", address)
    assert again.code == 7
    assert "the database is not empty: it has rows in accounts" in again.err


def test_addresses_that_differ_in_the_case_of_other_than_ascii_letters_are_moved(
    stopped_operator: Operator, address: str
) -> None:
    for email in ("Émile@example.com", "émile@example.com", "ann@example.com"):
        assert stopped_operator.run_admin("account", "create", email).code == 0
    moved = stopped_operator.run_admin("move", "--to-database", address)
    assert moved.code == 0, moved.err
    stopped_operator.shell.env["DOCSHARE_DATABASE_URL"] = address
    for name in ("émile", "ÉMILE", "ÉMile"):
        assert stopped_operator.run_admin("key", "create", f"{name}@example.com").code == 0


def test_rows_that_differ_are_not_committed(
    stopped_operator: Operator, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = make_store("move")
    source = Store(stopped_operator.data / "docshare.db")
    monkeypatch.setattr(target, "insert_rows", lambda table, columns, rows: list(rows))  # and discards them
    with pytest.raises(copying.NotCopyableError, match="differ after they were copied"):
        copying.copy_database(source, target)
    assert target.fetch_all("SELECT id FROM accounts") == []
    source.close()
    target.close()


def test_a_running_server_and_invalid_targets_are_rejected(
    stopped_operator: Operator, address: str, tmp_path: Path
) -> None:
    with DirectoryLock(stopped_operator.data):
        assert stopped_operator.run_admin("move", "--to-database", address).code == 7
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.odt").write_text("mine")
    for line, words in (
        ((), "needs either --to-data, or"),
        (
            ("--to-database", address, "--to-data", tmp_path / "new"),
            "needs either --to-data, or",
        ),
        (("--to-database", "mysql://host/db"), "expected an address like postgresql://"),
        (("--to-data", full), "is not empty"),
        (("--to-data", stopped_operator.data), "is not empty"),
    ):
        refused = stopped_operator.run_admin("move", *line)
        assert (refused.code, words in refused.err) == (2, True), refused.err
    missing = stopped_operator.run_admin("move", "--to-database", "postgresql://u:secret@127.0.0.1:1/db")
    assert (missing.code, "secret" in missing.err) == (11, False), missing.err


def test_an_interrupted_move_to_a_folder_continues_and_reports_damage(
    stopped_operator: Operator, tmp_path: Path
) -> None:
    folder = tmp_path / "new"
    blobs = sorted(path for path in (stopped_operator.data / "blobs").rglob("*") if path.is_file())
    blobs[0].write_bytes(b"damaged")
    damaged = stopped_operator.run_admin("move", "--to-data", folder, "--json")
    assert (damaged.code, json.loads(damaged.out)["damaged"]) == (13, [blobs[0].name])
    (folder / "docshare.db").unlink()  # as if the move had been killed before its end
    kept = [path for path in (folder / "blobs").rglob("*") if path.is_file() and path.name != blobs[0].name]
    times = {path: path.stat().st_mtime_ns for path in kept}
    again = stopped_operator.run_admin("move", "--to-data", folder)
    assert again.code == 13
    assert {path: path.stat().st_mtime_ns for path in kept} == times
    assert (folder / "vault.key").read_bytes() == (stopped_operator.data / "vault.key").read_bytes()


def test_an_instance_that_another_host_serves_is_not_moved(
    stopped_operator: Operator, address: str, tmp_path: Path
) -> None:
    assert stopped_operator.run_admin("move", "--to-database", address).code == 0
    stopped_operator.shell.env["DOCSHARE_DATABASE_URL"] = address
    store, is_listening = make_store("move"), threading.Event()
    stop_listening = store.listen("deliveries", is_listening.set)
    assert is_listening.wait(30)
    refused = stopped_operator.run_admin("move", "--to-data", tmp_path / "new")
    assert (refused.code, "an instance is serving this database" in refused.err) == (7, True), refused.err
    stop_listening()
    with wait_for_lock(store):
        started = stopped_operator.run_admin("account", "list")
        assert (started.code, "is copying this database" in started.err) == (2, True), started.err
    moved = stopped_operator.run_admin("move", "--to-data", tmp_path / "new")
    assert moved.code == 0, moved.err
    store.close()


@contextmanager
def wait_for_lock(store: PostgresqlStore) -> Iterator[None]:
    """Hold the lock that a move holds, once no process serves the instance."""
    is_mine = False
    while not is_mine:
        with store.try_lock(SERVING_LOCK) as is_mine:
            if is_mine:
                yield


def test_a_dry_run_writes_nothing(stopped_operator: Operator, address: str, tmp_path: Path) -> None:
    planned = stopped_operator.run_admin("move", "--to-data", tmp_path / "new", "--dry-run")
    assert (planned.code, '"rows":' in planned.out) == (0, True), planned.err
    assert not (tmp_path / "new").exists()
    secret = address.replace("docshare@", "docshare:secret@")
    planned = stopped_operator.run_admin("move", "--to-database", secret, "--dry-run")
    assert (planned.code, "secret" in planned.out + planned.err) == (0, False)


def test_an_asset_that_a_broken_move_left_behind_is_copied_again(populated_operator: Operator, tmp_path: Path) -> None:
    """Rows of assets have no digest, so its bytes are compared with those of the source."""
    world = populated_operator.world
    data = {"kind": "logo", "file": (io.BytesIO(make_picture("PNG")), "logo.png")}
    sent = world.pia.post(f"/api/v1/files/{world.pia.upload()['uuid']}/assets", data=data)
    assert sent.status_code == 200, sent.text
    world.rt.db.close()
    with closing(Store(populated_operator.data / "docshare.db")) as source:
        ((key,), *_) = source.fetch_all("SELECT blob FROM assets")
    original = populated_operator.data / "blobs" / key[:2] / key
    broken = tmp_path / "new" / "blobs" / key[:2] / key
    broken.parent.mkdir(parents=True)
    broken.write_bytes(bytes(original.stat().st_size))
    moved = populated_operator.run_admin("move", "--to-data", tmp_path / "new")
    assert moved.code == 0, moved.err
    assert broken.read_bytes() == original.read_bytes()
