"""A data directory has one owner process and is readable only by its user."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from docshare.server.config import Config
from docshare.server.instance import announce, open_instance, read_owner, read_running_owner
from docshare.server.store import lock
from docshare.server.store.lock import NOBODY, AlreadyLocked, DirectoryLock, read_holder

BASE_URL = "http://127.0.0.1:8787"


def make_config(data_dir: Path) -> Config:
    return Config(data_dir=data_dir, base_url=BASE_URL)


def test_files_of_an_instance_are_readable_only_by_its_user(tmp_path: Path) -> None:
    with open_instance(make_config(tmp_path / "data")):
        paths = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
        readable_by_others = [path for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077]
        assert not readable_by_others
        assert {"docshare.db", "lock", "instance.key", "blobs", "tmp", "cache"} <= {path.name for path in paths}


def test_a_second_process_cannot_own_the_directory(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path):
        code = (
            "import sys, pathlib\n"
            "from docshare.server.store.lock import AlreadyLocked, DirectoryLock\n"
            "try:\n    DirectoryLock(pathlib.Path(sys.argv[1])).__enter__()\n"
            "except AlreadyLocked:\n    sys.exit(7)\n"
        )
        assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 7


def test_the_lock_is_released_after_the_block(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path), pytest.raises(AlreadyLocked), DirectoryLock(tmp_path):
        pass
    with DirectoryLock(tmp_path) as lock:
        assert lock


def test_the_instance_key_stays_the_same(tmp_path: Path) -> None:
    with open_instance(make_config(tmp_path)) as first:
        key = first.key
    with open_instance(make_config(tmp_path)) as second:
        assert second.key == key
        assert len(key) == 64


def test_the_owner_process_is_announced(tmp_path: Path) -> None:
    assert read_owner(tmp_path) is None
    with open_instance(make_config(tmp_path)) as instance:
        announce(instance, "http://127.0.0.1:1234", "127.0.0.1")
        owner = read_owner(tmp_path)
        assert owner is not None
        assert (owner.pid, owner.url, owner.base_url) == (os.getpid(), "http://127.0.0.1:1234", BASE_URL)


def test_a_process_that_has_not_announced_itself_does_not_answer_at_the_address_before(tmp_path: Path) -> None:
    with open_instance(make_config(tmp_path)) as instance:
        announce(instance, "http://127.0.0.1:1234", "127.0.0.1")
        assert read_running_owner(tmp_path) == read_owner(tmp_path)
    (tmp_path / "server.json").write_text((tmp_path / "server.json").read_text().replace(str(os.getpid()), "1"))
    with open_instance(make_config(tmp_path)) as instance:
        assert read_owner(tmp_path) is not None
        assert read_running_owner(tmp_path) is None
        announce(instance, "http://127.0.0.1:1234", "127.0.0.1")
        assert read_running_owner(tmp_path) == read_owner(tmp_path)


def test_the_holder_before_is_not_taken_for_one_that_has_just_locked_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_instance(make_config(tmp_path)) as instance:
        announce(instance, "http://127.0.0.1:1234", "127.0.0.1")
    assert read_holder(tmp_path / "lock") == NOBODY
    store, found = lock._store_holder, []

    def look_and_store(handle: int, pid: int) -> None:
        found.append(read_running_owner(tmp_path))
        store(handle, pid)

    monkeypatch.setattr(lock, "_store_holder", look_and_store)
    with DirectoryLock(tmp_path):
        assert found == [None]


def test_on_a_disk_without_room_for_the_holder_the_last_announcement_counts(tmp_path: Path) -> None:
    with open_instance(make_config(tmp_path)) as instance:
        announce(instance, "http://127.0.0.1:1234", "127.0.0.1")
        (tmp_path / "lock").write_text("")
        assert read_running_owner(tmp_path) == read_owner(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_damaged_announcement_has_no_owner(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)
    assert read_owner(tmp_path) is None
