"""What ``docshare help upgrade`` promises: an older version leaves the data directory of a newer one alone."""

import sqlite3
from pathlib import Path

import pytest

from docshare.cli import topics
from docshare.server.store.migrations import STEPS
from tests.support.server_process import make_env, run_docshare


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
    assert "    error: database version 16 is newer than this docshare (15); upgrade docshare\n" in topics.load(
        "upgrade"
    )
