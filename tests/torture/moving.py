"""Move an instance from its folder to PostgreSQL and a bucket, and back: every API response stays the same.

``python -m tests.torture.moving [FILES [SESSIONS]]``; by default 1,000 files, and another file with 100,000 sessions.
"""

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import requests

from docshare.server.store.database import Store
from tests.benchmarks import readership
from tests.support.object_store import run_object_store
from tests.support.pdfs import simple_pdf
from tests.support.postgresql import drop_store, make_store
from tests.support.server_process import make_env, run_docshare, run_server

_TIMEOUT_S = 1800
_BASE_URL = "https://docs.example.com"
_NO_LIMITS = {"DOCSHARE_RATE_LIMIT": "1000000"}
_FILE_PATHS = (
    "", "/content", "/variants", "/invites", "/page-marks", "/annotations", "/feedback", "/readership",
    "/readership/pages", "/readership/sessions?limit=100",
)  # fmt: skip
_ACCOUNT_PATHS = ("/user", "/events?since=0", "/gate-responses?since=0", "/activity?since=0", "/webhooks")


def move_there_and_back(folder: Path, files: int, sessions: int) -> list[str]:
    """Move an instance both ways; return the differences."""
    data, back = folder / "data", folder / "back"
    _populate(folder, files, sessions)
    before = _fetch_everything(folder, data)
    store = make_store("moving")
    address = str(store.engine.pool.conninfo)
    store.close()
    try:
        with run_object_store() as engine:
            bucket = engine.make_url(engine.create_bucket(), "docs")
            _move(folder, data, "--to-database", address, "--to-storage", bucket, **engine.environ)
            there = engine.environ | {"DOCSHARE_DATABASE_URL": address, "DOCSHARE_STORAGE_URL": bucket}
            problems = _compare("on the engines", before, _fetch_everything(folder, data, **there))
            _move(folder, data, "--to-data", str(back), **there)
    finally:
        drop_store("moving")
    return problems + _compare("back in a folder", before, _fetch_everything(folder, back))


def _populate(folder: Path, files: int, sessions: int) -> None:
    """Create an instance with a file that was read in ``sessions`` sessions, and ``files`` others."""
    data = folder / "data"
    with readership.populate_sessions(data, sessions, 10):
        pass
    with run_server(folder, "--base-url", _BASE_URL, **_NO_LIMITS) as server:
        address = server.process_url
        for number in range(files):
            pdf = simple_pdf(pages=number % 3 + 1)
            sent = requests.post(
                f"{address}/api/v1/files", headers=server.headers, files={"file": (f"{number}.pdf", pdf)}, timeout=60
            )
            assert sent.status_code < 300, sent.text
    with closing(Store(data / "docshare.db")) as store, store.write():
        # Give the file that was read its own content, in clear as an earlier version stored it.
        content = simple_pdf(pages=1)
        key = hashlib.sha256(b"read").hexdigest()
        copy = data / "blobs" / key[:2] / key
        copy.parent.mkdir(exist_ok=True, mode=0o700)
        copy.write_bytes(content)
        store.execute(
            "UPDATE files SET blob = ?, size = ?, sha256 = ? WHERE id = 1",
            (key, len(content), hashlib.sha256(content).hexdigest()),
        )


def _move(folder: Path, data: Path, *line: str, **environ: str) -> None:
    begun = time.perf_counter()
    env = make_env(folder, **environ)
    done = run_docshare("admin", "--data", str(data), "move", *line, "--json", env=env, timeout=_TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    moved = json.loads(done.stdout)
    duration_s = time.perf_counter() - begun
    print(f"{line[0]}: {moved['rows']:,} rows, {moved['documents']:,} documents in {duration_s:.1f} s")


def _fetch_everything(folder: Path, data: Path, **environ: str) -> dict[str, bytes]:
    """Return the response of every path that an owner can read."""
    answers: dict[str, bytes] = {}
    limits = _NO_LIMITS | environ
    with run_server(folder, "--base-url", _BASE_URL, data_dir=data, **limits) as server, requests.Session() as http:
        http.headers.update(server.headers)

        def fetch(path: str) -> Any:
            answer = http.get(f"{server.process_url}/api/v1{path}", timeout=60)
            answers[path] = str(answer.status_code).encode() + answer.content
            return answer

        listed = list(_list_files(fetch))
        for path in (*_ACCOUNT_PATHS, *(f"/files/{uuid}{of}" for uuid in listed for of in _FILE_PATHS)):
            fetch(path)
    return answers


def _list_files(fetch: Any) -> Iterator[str]:
    path = "/files"
    for file in fetch(path).json():
        yield file["uuid"]


def _compare(where: str, before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    return [f"{where}, {path} differs" for path in before.keys() | after.keys() if before.get(path) != after.get(path)]


def main() -> int:
    """Run the move, print the results, and return the exit code."""
    files, sessions = (*map(int, sys.argv[1:3]), *(1000, 100_000)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory(prefix="moving-") as folder:
        problems = move_there_and_back(Path(folder), files, sessions)
    print("\n".join(problems[:20]) or "every response is the same")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
