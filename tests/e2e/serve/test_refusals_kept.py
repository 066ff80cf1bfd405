"""A server writes the denials that it counts in memory when it stops."""

import sqlite3
from contextlib import closing
from pathlib import Path

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.people.reader import DESKTOP
from tests.support.servers.server_process import ServerProcess, run_server


def create_revoked_link(server: ServerProcess) -> str:
    """Return the address of a revoked variant."""
    files = f"{server.url}/api/v1/files"
    body = {"file": ("report.pdf", simple_pdf(), "application/pdf")}
    uuid = requests.post(files, headers=server.headers, files=body, timeout=30).json()["uuid"]
    variants = f"{files}/{uuid}/variants"
    made = requests.post(variants, headers=server.headers, timeout=30).json()
    done = requests.put(f"{variants}/{made['uuid']}", headers=server.headers, json={"revoked": True}, timeout=30)
    assert done.status_code == 200
    return f"{server.url}/{made['shortId']}"


def test_denials_just_before_a_stop_are_stored(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        link = create_revoked_link(server)
        for _ in range(3):
            assert requests.get(link, headers={"User-Agent": DESKTOP}, timeout=30).status_code == 404
    with closing(sqlite3.connect(server.data_dir / "docshare.db")) as database:
        waiting = database.execute("SELECT reason, count FROM denials").fetchall()
        sql = "SELECT data ->> 'reason', data ->> 'count' FROM activity_rows WHERE event = 'access.denied'"
        found = waiting + database.execute(sql).fetchall()  # denials are moved to the feed every minute
    assert {reason for reason, _ in found} == {"revoked"}
    assert sum(times for _, times in found) == 3
