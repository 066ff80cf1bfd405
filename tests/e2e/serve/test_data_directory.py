"""Starts on a data directory that cannot be used, or not as a whole."""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import run_docshare, run_server


def test_an_invalid_data_directory_and_a_damaged_database_are_reported(env: dict[str, str], tmp_path: Path) -> None:
    done = run_docshare("serve", "--data", "/dev/null", "--port", "0", env=env)
    assert (done.returncode, "Errno" in done.stderr, "/dev/null is not a directory" in done.stderr) == (2, False, True)
    assert run_docshare("admin", "account", "create", "ada@example.com", env=env).returncode == 0
    database = tmp_path / "data" / "docshare.db"
    content = database.read_bytes()
    database.write_bytes(content[:100] + b"Z" * 32_000 + content[32_100:])
    for line in (["serve", "--port", "0"], ["admin", "account", "list"]):
        done = run_docshare(*line, env=env)
        assert (done.returncode, "docshare admin check --data" in done.stderr) == (13, True), done.stderr
    database.write_bytes(content)
    with closing(sqlite3.connect(database)) as whole:
        pages = dict(whole.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0"))
    for name in ("accounts", "oauth_clients"):  # read after the database has been opened
        at = (pages[name] - 1) * 4096
        database.write_bytes(content[:at] + b"Z" * 4096 + content[at + 4096 :])
        done = run_docshare("serve", "--port", "0", env=env)
        assert (done.returncode, "docshare admin check --data" in done.stderr) == (13, True), done.stderr
    assert not (tmp_path / "state" / "crash.log").exists()


@pytest.mark.parametrize("is_empty", [False, True], ids=["missing", "empty"])
def test_a_start_without_the_database_keeps_the_documents(
    env: dict[str, str], tmp_path: Path, *, is_empty: bool
) -> None:
    data = tmp_path / "data"
    with run_server(tmp_path) as server:
        files = {"file": ("a.pdf", simple_pdf(pages=1))}
        requests.post(f"{server.url}/api/v1/files", files=files, headers=server.headers, timeout=30).raise_for_status()
    blobs = [path for path in (data / "blobs").rglob("*") if path.is_file()]
    database = data / "docshare.db"
    database.rename(tmp_path / "kept.db")
    if is_empty:
        database.touch()
    for line in (["serve", "--port", "0"], ["admin", "account", "list"]):
        done = run_docshare(*line, env=env)
        assert (done.returncode, f"{database} is missing or empty" in done.stderr) == (2, True), done.stderr
    assert blobs
    assert all(path.exists() for path in blobs)
    (tmp_path / "kept.db").rename(database)
    assert run_docshare("admin", "check", env=env).returncode == 0


def test_a_start_without_the_documents_is_an_error_until_their_links_are_frozen(
    env: dict[str, str], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with run_server(tmp_path) as server:
        files = {"file": ("a.pdf", simple_pdf(pages=1))}
        requests.post(f"{server.url}/api/v1/files", files=files, headers=server.headers, timeout=30).raise_for_status()
    (data / "blobs").rename(tmp_path / "kept")
    for line in (["serve", "--port", "0"], ["admin", "account", "list"]):
        done = run_docshare(*line, env=env)
        assert (done.returncode, f"{data / 'blobs'} has none of the newest" in done.stderr) == (2, True), done.stderr
    (data / "blobs").rmdir()
    (tmp_path / "kept").rename(data / "blobs")
    assert run_docshare("admin", "account", "list", env=env).returncode == 0
    (data / "blobs").rename(tmp_path / "kept")
    assert run_docshare("admin", "check", "--repair", env=env).returncode == 13
    assert run_docshare("admin", "account", "list", env=env).returncode == 0


def test_a_data_directory_in_quotes_is_an_error(env: dict[str, str], tmp_path: Path) -> None:
    for quote in "\"'":
        quoted = f"{quote}{tmp_path / 'data'}{quote}"
        done = run_docshare("serve", "--port", "0", env={**env, "DOCSHARE_DATA_DIR": quoted}, cwd=tmp_path)
        assert (done.returncode, "a path without quotes" in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_empty_data_directory_name_is_an_error(env: dict[str, str], tmp_path: Path) -> None:
    for line in (["serve", "--port", "0"], ["admin", "account", "list"]):
        done = run_docshare(*line, "--data", "", env=env, cwd=tmp_path)
        assert (done.returncode, "must not be empty" in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_start_on_a_read_only_file_system_is_reported(env: dict[str, str], tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(disk)], capture_output=True, check=False).returncode:
        pytest.skip("may not mount")
    try:
        for line in (["admin", "account", "create", "ada@example.com"],):
            assert run_docshare(*line, "--data", str(disk / "data"), env=env).returncode == 0
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        done = run_docshare("serve", "--data", str(disk / "data"), "--port", "0", env=env)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    assert (done.returncode, "read-only" in done.stderr, "Errno" in done.stderr) == (11, True, False), done.stderr
    assert not (tmp_path / "state" / "crash.log").exists()
