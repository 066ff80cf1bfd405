"""Backups and restores whose process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from docshare.private_files import is_locked
from docshare.server.backup import placing, restoring, sources
from docshare.server.config import Config
from docshare.server.instance import open_instance
from docshare.server.services.operations import sweeps
from docshare.server.store.blobs import BACKUP_LOCK
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.instance_backup import Operator
from tests.support.servers.server_process import COMMAND, make_env

COMMIT_STEP, TOTAL_STEPS = 3, 17  # renames of a restore before it is committed, and in total


class BackupKill(BaseException):
    """Raised where the process is killed."""


@pytest.mark.parametrize("step", [0, COMMIT_STEP, COMMIT_STEP + 1, 5, 8, 9, 12, 14, 16, TOTAL_STEPS])
def test_a_killed_restore_leaves_the_old_or_the_new_instance(
    operator: Operator, own_backup: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """After any rename, the next process that opens the directory finds one complete instance."""
    later = operator.world.pia.upload(simple_pdf(pages=1))
    operator.world.rt.db.close()
    left, real, raises = [step], Path.rename, pytest.raises(BackupKill)

    def rename(path: Path, target: Path) -> Path:
        if left[0] == 0:
            raise BackupKill
        left[0] -= 1
        return real(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename)
        patched.setattr(placing.shutil, "rmtree", lambda *_, **__: None)  # a killed process does not clean up
        with raises if step < TOTAL_STEPS else nullcontext(), sources.open_source(own_backup) as source:
            restoring.restore(source, operator.data, now=1, hold=False, progress=lambda done, total: None)
    with open_instance(Config(data_dir=operator.data, base_url="http://127.0.0.1:1")) as instance:
        uuids = {uuid for (uuid,) in instance.rt.db.fetch_all("SELECT uuid FROM files")}
        is_new = later["uuid"] not in uuids
        assert len(uuids) == (1 if is_new else 2)
    assert is_new == (step > COMMIT_STEP), "a restore is committed after everything is verified"
    assert operator.run_admin("check", "--json").code == 0
    assert not list(operator.data.glob("restoring*")), "a complete copy was never removed"


def test_a_restore_that_is_killed_in_its_last_step_is_finished(
    operator: Operator, own_backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory of the restored files is empty, but still there."""
    operator.world.rt.db.close()
    rmtree = placing.shutil.rmtree

    def delete_content(path: Path, **options: bool) -> None:
        rmtree(path, **options)
        if path.name == placing.READY:
            path.mkdir()

    with monkeypatch.context() as patched, sources.open_source(own_backup) as source:
        patched.setattr(placing.shutil, "rmtree", delete_content)
        restoring.restore(source, operator.data, now=1, hold=False, progress=lambda done, total: None)
    assert not list((operator.data / placing.READY).iterdir())
    with open_instance(Config(data_dir=operator.data, base_url="http://127.0.0.1:1")):
        assert not (operator.data / placing.READY).exists()


def test_a_killed_backup_releases_its_lock(operator: Operator, own_backup: Path) -> None:
    assert own_backup.stat().st_size > 500_000, "the whole backup fits into a pipe"
    process = subprocess.Popen(
        [*COMMAND, "admin", "backup", "-", "--data", str(operator.data)],
        env=make_env(operator.place), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.read(100_000)
    assert is_locked(operator.data / BACKUP_LOCK)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not is_locked(operator.data / BACKUP_LOCK)
    again = operator.make_backup("again.tar")
    assert operator.run_admin("restore", again, "--verify-only").code == 0


def test_a_killed_backup_preserves_the_previous_one(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    root = operator.make_backup("kept")
    operator.world.pia.upload()

    def die(*_: object) -> None:
        raise BackupKill

    with monkeypatch.context() as patched:
        patched.setattr("docshare.server.backup.durable.sync_tree", die)
        operator.run_admin("backup", root)
    (root / "blobs" / "00").mkdir(parents=True)
    (root / "blobs" / "00" / f"{'0' * 64}.part").write_bytes(b"half")
    done = operator.run_admin("restore", root, "--json", "--verify-only")
    assert (done.code, done.json["files"]) == (0, 0)
    operator.make_backup("kept")
    assert not list(root.rglob("*.part"))
    assert operator.run_admin("restore", root, "--json", "--verify-only").json["files"] == 1


def test_a_start_removes_the_copies_of_the_database_that_killed_commands_left(operator: Operator) -> None:
    """They have the names and addresses of people, also of those that were erased since."""
    day_ago = operator.world.clock() / 1000 - 86_400
    for name, age_s in {"snapshot-old": 60, "move-old": 60, "snapshot-new": -60}.items():
        (operator.data / name).mkdir()
        (operator.data / name / "docshare.db").write_bytes(b"copy")
        os.utime(operator.data / name, (day_ago - age_s, day_ago - age_s))
    sweeps.clean_at_start(operator.world.rt)
    assert [path.name for path in operator.data.glob("*-*") if path.is_dir()] == ["snapshot-new"]
