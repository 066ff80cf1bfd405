"""``docshare serve --ephemeral`` beside the settings of a real instance."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.postgresql import open_database
from tests.support.servers.server_process import make_env, run_docshare


@pytest.fixture
def address() -> Iterator[str]:
    """Yield the address of a database with empty tables."""
    with open_database("ephemeral") as address:
        yield address


def test_an_ephemeral_server_uses_no_engine_of_the_environment(address: str, tmp_path: Path) -> None:
    report, shared, key = tmp_path / "report.pdf", tmp_path / "shared", tmp_path / "key"
    report.write_bytes(simple_pdf(pages=1))
    key.write_bytes(os.urandom(32))
    shared.mkdir()
    env = make_env(
        tmp_path / "home",
        DOCSHARE_DATABASE_URL=address,
        DOCSHARE_STORAGE_URL=shared.as_uri(),
        DOCSHARE_REDIS_URL="redis://127.0.0.1:1",
        DOCSHARE_SECRET_KEY_FILE=str(key),
        DOCSHARE_WORKERS="2",
    )
    program = f"{sys.executable} -m docshare"
    script = f"{program} upload {report} && {program} admin account create second@example.com"
    for _ in range(2):
        done = run_docshare("serve", "--ephemeral", "--port", "0", "--exec", "sh", "-c", script, env=env)
        assert done.returncode == 0, done.stderr
    assert list(shared.iterdir()) == []
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT email FROM accounts").fetchall() == []
