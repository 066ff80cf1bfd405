"""The master key of an instance: it is required at start, and can be exchanged while everything is served."""

import io
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.server.admin import run_command
from docshare.server.backup import making, reading
from docshare.server.config import Config, ConfigError
from docshare.server.instance import open_instance
from docshare.server.services.files import sealed_blobs
from docshare.server.services.operations import encryption
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.store.master_keys import KeyFile
from docshare.server.store.tables import instance as instance_rows
from docshare.server.store.tables import webhooks as webhook_rows
from docshare.server.store.vault import Vault
from tests.services.test_encryption import assert_served, list_sealed, make_document, reopen, upload_everything
from tests.support.engines.database import sqlite_only
from tests.support.people import webhooks
from tests.support.people.cast import BASE_URL, World
from tests.support.servers.instance_backup import Operator, open_restored

OLD, NEW, NEXT = (bytes([number]) * 32 for number in (1, 2, 3))

pytestmark = sqlite_only  # on PostgreSQL, other instances may still use the old key


def fill(world: World) -> dict[str, bytes]:
    """Store one of everything that the vault seals; return what is served."""
    encryption.require_master_key(world.rt)
    webhooks.resolve_all_hosts(world.rt)
    webhooks.create_webhook(world.pia)
    instance_secret(world.rt, "views")
    return upload_everything(world)[1]


def read_secrets(world: World) -> dict[str, bytes | None]:
    """Return everything that the vault sealed, decrypted."""
    return {row.name: encryption._open(world.rt, row) for row in encryption._list_sealed(world.rt)}


def rotate(world: World) -> dict[str, Any]:
    done: dict[str, Any] = run_command(world.rt, "vault rotate", {})
    return done


def write_keys(path: Path, *keys: bytes) -> None:
    path.write_text("".join(f"{key.hex()}\n" for key in keys))


def open_with(key: bytes, path: Path) -> Vault:
    path.write_bytes(key)
    return Vault(KeyFile(path, bytes), bytes)


def opens(vault: Vault, row: encryption._SealedRow) -> bool:
    try:
        vault.open_bytes(row.sealed, row.about)
    except ValueError:
        return False
    return True


@pytest.fixture
def data_dir(world: World) -> Path:
    """Return the directory of an instance with an encrypted document, which is not running."""
    world.pia.upload()
    world.rt.db.close()
    return world.rt.config.data_dir


def start(data_dir: Path) -> None:
    with open_instance(Config(data_dir=data_dir, base_url=BASE_URL)) as instance:
        (blob,) = (row.name for row in encryption._list_sealed(instance.rt) if row.table == "data_keys")
        assert sealed_blobs.open_blob(instance.rt, blob).read_bytes().startswith(b"%PDF-")


def test_a_lost_key_is_named_at_start_and_not_replaced(data_dir: Path) -> None:
    start(data_dir)
    key = (data_dir / "vault.key").read_bytes()
    (data_dir / "vault.key").unlink()
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"vault\.key is missing") as failure:
            start(data_dir)
        assert str(data_dir / "vault.key") in str(failure.value)
        assert not (data_dir / "vault.key").exists()
    (data_dir / "vault.key").write_bytes(key)
    start(data_dir)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(NEW, "is not the master key"), (b"", "no usable key"), (b"truncated", "no usable key")],
)
def test_a_wrong_key_is_named_at_start(data_dir: Path, content: bytes, reason: str) -> None:
    start(data_dir)
    (data_dir / "vault.key").write_bytes(content)
    with pytest.raises(ConfigError, match=rf"vault\.key.* {reason}"):
        start(data_dir)
    assert (data_dir / "vault.key").read_bytes() == content


def test_a_key_that_cannot_be_read_is_named_at_start(data_dir: Path) -> None:
    start(data_dir)
    (data_dir / "vault.key").unlink()
    (data_dir / "vault.key").symlink_to(data_dir)
    with pytest.raises(ConfigError, match=r"vault\.key"):
        start(data_dir)


def test_a_rotation_seals_everything_with_a_new_key(world: World, tmp_path: Path) -> None:
    served = fill(world)
    path = world.rt.config.vault_path
    old, secrets, sealed = path.read_bytes(), read_secrets(world), list_sealed(world)
    kinds = {row.table for row in encryption._list_sealed(world.rt)}
    assert kinds == {"data_keys", "webhooks", "instance_secrets"}
    done = rotate(world)
    assert (done["keys"], done["sealedCurrent"], done["sealedEarlier"]) == (1, len(secrets), 0)
    assert done["fingerprint"] == world.rt.vault.fingerprint().hex()
    assert run_command(world.rt, "vault status", {}) == done
    assert (len(path.read_bytes()), path.read_bytes() == old) == (32, False)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_secrets(world) == secrets
    assert set(list_sealed(world).values()).isdisjoint(sealed.values())
    former = open_with(old, tmp_path / "old.key")
    assert not any(opens(former, row) for row in encryption._list_sealed(world.rt))
    assert_served(world, served)
    reopen(world)
    encryption.require_master_key(world.rt)
    assert read_secrets(world) == secrets
    assert_served(world, served)


def test_neither_the_old_key_nor_what_it_sealed_is_found_in_a_file(world: World) -> None:
    fill(world)
    old, sealed = world.rt.config.vault_path.read_bytes(), list_sealed(world)
    rotate(world)
    files = [path.read_bytes() for path in world.rt.config.data_dir.rglob("*") if path.is_file()]
    for gone in (old, *sealed.values()):
        assert not any(gone in content for content in files)


def test_documents_and_webhooks_can_be_added_after_a_rotation(world: World) -> None:
    fill(world)
    rotate(world)
    served = upload_everything(world)[1]
    first = read_secrets(world)
    rotate(world)
    assert read_secrets(world) == first
    assert_served(world, served)


def fail(*given: Any) -> None:
    raise RuntimeError("killed")


def interrupt_after_new_key(world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(encryption, "_reseal_outdated", fail)


def interrupt_between_batches(world: World, patch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def update(*given: Any) -> None:
        calls.append(given)
        if len(calls) > 3:  # the first batch is committed, the second is not
            fail()
        instance_rows.update_data_key(*given)

    patch.setattr(encryption, "_BATCH", 2)
    patch.setitem(encryption._UPDATES, "data_keys", update)


def interrupt_at_webhooks(world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(encryption, "_BATCH", 1)
    patch.setitem(encryption._UPDATES, "webhooks", fail)


def interrupt_at_fingerprint(world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(instance_rows, "update_secret", fail)


def interrupt_before_old_key_is_deleted(world: World, patch: pytest.MonkeyPatch) -> None:
    replace = KeyFile.replace
    patch.setattr(KeyFile, "replace", lambda self, keys: fail() if len(keys) == 1 else replace(self, keys))


@pytest.mark.parametrize(
    ("interrupt", "has_begun"),
    [
        (interrupt_after_new_key, False),
        (interrupt_between_batches, True),
        (interrupt_at_webhooks, True),
        (interrupt_at_fingerprint, True),
        (interrupt_before_old_key_is_deleted, True),
    ],
)
@pytest.mark.parametrize("restarts", [False, True])
def test_an_interrupted_rotation_is_continued(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    interrupt: Callable[..., None],
    has_begun: bool,
    restarts: bool,
) -> None:
    served = fill(world)
    for _ in range(2):
        served |= upload_everything(world)[1]
    path = world.rt.config.vault_path
    old, secrets, sealed = path.read_bytes(), read_secrets(world), list_sealed(world)
    with monkeypatch.context() as patch:
        interrupt(world, patch)
        with pytest.raises(RuntimeError, match="killed"):
            rotate(world)
    changed = {name for name, value in list_sealed(world).items() if sealed[name] != value}
    assert bool(changed) == has_begun
    assert len(path.read_bytes()) == 64
    assert path.read_bytes()[32:] == old
    if restarts:
        reopen(world)
        encryption.require_master_key(world.rt)
    assert read_secrets(world) == secrets
    assert_served(world, served)
    meanwhile = upload_everything(world)[1]
    new = path.read_bytes()[:32]
    rotate(world)
    assert path.read_bytes() == new
    assert {name: read_secrets(world)[name] for name in secrets} == secrets
    former = open_with(old, tmp_path / "old.key")
    assert not any(opens(former, row) for row in encryption._list_sealed(world.rt))
    assert_served(world, served | meanwhile)
    reopen(world)
    encryption.require_master_key(world.rt)
    assert_served(world, served | meanwhile)


def test_a_key_that_was_sealed_during_a_rotation_is_sealed_again(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fill(world)
    former = open_with(world.rt.config.vault_path.read_bytes(), tmp_path / "old.key")
    reseal = encryption._reseal_outdated

    def insert_meanwhile(*given: Any) -> Any:
        monkeypatch.setattr(encryption, "_reseal_outdated", reseal)
        yield from reseal(*given)
        with world.rt.db.write():
            instance_rows.insert_data_key(world.rt.db, "meanwhile", former.seal_bytes(OLD, "data key meanwhile"))

    monkeypatch.setattr(encryption, "_reseal_outdated", insert_meanwhile)
    assert rotate(world)["sealedEarlier"] == 0
    assert read_secrets(world)["meanwhile"] == OLD


def test_a_document_that_arrives_during_a_rotation_stays_readable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes are stored before the rotation, and its row is inserted afterwards."""
    fill(world)
    store = sealed_blobs.store

    def rotate_meanwhile(*given: Any) -> Any:
        stored = store(*given)
        monkeypatch.setattr(sealed_blobs, "store", store)
        rotate(world)
        return stored

    monkeypatch.setattr(sealed_blobs, "store", rotate_meanwhile)
    served = upload_everything(world)[1]
    assert_served(world, served)
    reopen(world)
    assert_served(world, served)
    assert None not in read_secrets(world).values()


@pytest.mark.skipif(os.environ.get("DOCSHARE_TEST_STORAGE") == "bucket", reason="restores into a folder of blobs")
def test_the_key_is_not_replaced_during_a_backup(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A backup copies the database before the key: with a new key, nothing of it could be decrypted."""
    encryption.require_master_key(world.rt)
    made, operator = world.pia.upload(), Operator(world, tmp_path)
    copy, attempts = reading.copy_database, []

    def copy_and_rotate(*given: Any) -> None:
        copy(*given)
        monkeypatch.setattr(making, "_LOCK_PAUSE_S", 0)
        try:
            attempts.append(rotate(world))
        except Problem as problem:
            attempts.append({"code": problem.code, "detail": problem.detail})

    monkeypatch.setattr(reading, "copy_database", copy_and_rotate)
    path = operator.make_backup()
    assert attempts == [{"code": "conflict", "detail": "A backup is being made."}]
    monkeypatch.undo()
    served = world.pia.get(f"/api/v1/files/{made['uuid']}/content").data
    assert rotate(world)["sealedEarlier"] == 0
    assert operator.run_admin("restore", path, data=tmp_path / "new").code == 0
    with open_restored(operator, tmp_path / "new") as again:
        assert again.pia.get(f"/api/v1/files/{made['uuid']}/content").data == served


def test_a_file_of_the_operator_is_rotated_with_its_new_key_and_not_changed(
    make: Callable[..., World], tmp_path: Path
) -> None:
    path = tmp_path / "operator.keys"
    write_keys(path, OLD)
    world = make(secret_key_file=path)
    served = fill(world)
    encryption.require_master_key(world.rt)
    with pytest.raises(Problem, match="only one key") as refusal:
        rotate(world)
    assert refusal.value.status == 409
    write_keys(path, NEW, OLD)
    content = path.read_bytes()
    reopen(world, secret_key_file=path)
    encryption.require_master_key(world.rt)
    before = run_command(world.rt, "vault status", {})
    assert (before["keys"], before["sealedCurrent"], before["sealedEarlier"] > 3) == (2, 0, True)
    done = rotate(world)
    assert (done["sealedCurrent"], done["sealedEarlier"]) == (before["sealedEarlier"], 0)
    assert path.read_bytes() == content
    assert not (world.rt.config.data_dir / "vault.key").exists()
    write_keys(path, NEW)
    reopen(world, secret_key_file=path)
    encryption.require_master_key(world.rt)
    assert_served(world, served)
    assert None not in read_secrets(world).values()
    write_keys(path, NEXT)
    reopen(world, secret_key_file=path)
    with pytest.raises(ConfigError, match="not the master key"):
        encryption.require_master_key(world.rt)


def test_a_command_serves_the_keys(make: Callable[..., World], tmp_path: Path) -> None:
    path = tmp_path / "keys"
    write_keys(path, OLD)
    line = shlex.join([sys.executable, "-c", f"print(open({str(path)!r}).read())"])
    world = make(key_command=line)
    served = fill(world)
    encryption.require_master_key(world.rt)
    assert run_command(world.rt, "vault status", {})["source"] == "command"
    write_keys(path, NEW, OLD)
    with pytest.raises(Problem, match="only one key"):
        rotate(world)  # it runs at start only
    reopen(world, key_command=line)
    assert rotate(world)["sealedEarlier"] == 0
    write_keys(path, NEW)
    reopen(world, key_command=line)
    encryption.require_master_key(world.rt)
    assert_served(world, served)
    assert not (world.rt.config.data_dir / "vault.key").exists()


def test_secrets_of_the_instance_that_an_earlier_version_stored_in_clear_are_sealed(world: World) -> None:
    with world.rt.db.write():
        instance_rows.insert_secret(world.rt.db, "views", OLD)
    assert instance_secret(world.rt, "views") == OLD
    encryption.seal_plain_secrets(world.rt)
    stored = instance_rows.find_secret(world.rt.db, "views")
    assert stored is not None
    assert OLD not in stored
    reopen(world)
    assert instance_secret(world.rt, "views") == OLD


def test_a_webhook_keeps_its_secret_over_a_rotation(world: World) -> None:
    webhooks.resolve_all_hosts(world.rt)
    webhooks.create_webhook(world.pia)
    ((uuid, sealed),) = webhook_rows.list_secrets(world.rt.db)
    secret = world.rt.vault.open(sealed, uuid)
    rotate(world)
    ((_, resealed),) = webhook_rows.list_secrets(world.rt.db)
    assert resealed != sealed
    assert world.rt.vault.open(resealed, uuid) == secret


def test_a_key_that_disappears_while_the_server_runs_is_not_replaced(world: World) -> None:
    """With a new key, everything added from then on would be lost as soon as the old one is put back."""
    served = fill(world)
    path = world.rt.config.vault_path
    key = path.read_bytes()
    path.unlink()
    refused = world.pia.post("/api/v1/files", data={"file": (io.BytesIO(make_document()), "Plan.pdf")})
    assert (refused.status_code, refused.get_json()["detail"]) == (503, "The server cannot read its master key.")
    assert not path.exists()
    assert_served(world, served)
    path.write_bytes(key)
    served |= upload_everything(world)[1]
    reopen(world)
    assert_served(world, served)
