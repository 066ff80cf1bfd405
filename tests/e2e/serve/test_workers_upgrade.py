"""SIGHUP to ``docshare serve --workers`` after an upgrade of its code."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import requests

import docshare
from tests.support.engines.postgresql import drop_store, make_store
from tests.support.polling import wait_until
from tests.support.servers.server_process import make_env

NEW_STEP = '\n    "ALTER TABLE files ADD COLUMN nickname TEXT;",\n)'


def read_version(address: str) -> int:
    with psycopg.connect(address) as connection:
        ((version,),) = connection.execute("SELECT MAX(version) FROM schema_version").fetchall()
    return int(version)


def test_new_worker_processes_upgrade_the_schema_before_they_serve(tmp_path: Path) -> None:
    store = make_store("workers upgrade")
    address = str(store.engine.pool.conninfo)
    app = tmp_path / "app"
    shutil.copytree(Path(docshare.__file__).parent, app / "docshare", ignore=shutil.ignore_patterns("__pycache__"))
    env = make_env(tmp_path, DOCSHARE_DATABASE_URL=address, PYTHONPATH=str(app))
    command = [sys.executable, "-P", "-m", "docshare", "serve", "--port", "0", "--workers", "2"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            command, env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        before = read_version(address)
        path = app / "docshare" / "server" / "store" / "migrations.py"
        text = path.read_text()
        path.write_text(text.replace("\n)\n\n\nclass DatabaseTooNew", f"{NEW_STEP}\n\n\nclass DatabaseTooNew"))
        assert path.read_text() != text
        server.send_signal(signal.SIGHUP)
        wait_until(lambda: "worker processes replaced" in (tmp_path / "log").read_text(), seconds=120)
        assert read_version(address) == before + 1
        health = json.loads(requests.get(f"{url}/healthz?details", timeout=30).text)
        assert health["database"]
    finally:
        server.terminate()
        server.communicate(timeout=60)
        store.close()
        drop_store("workers upgrade")
