"""Move an instance from its folder to PostgreSQL and a bucket, and back: every API response stays the same.

``python -m tests.torture.moving [FILES [SESSIONS]]``; by default 1,000 files, one with 100,000 sessions, and one with
everything that owners, readers and operators can add to a document.
"""

import hashlib
import json
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import requests

from docshare.server.store.database import Store
from docshare.server.store.tables import TABLES
from tests.benchmarks import readership
from tests.support.documents.images import make_picture
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.object_store import run_object_store
from tests.support.engines.postgresql import drop_store, make_store
from tests.support.outside.receivers import open_receiver
from tests.support.polling import wait_until
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

_TIMEOUT_S = 1800
_BASE_URL = "https://docs.example.com"
_NO_LIMITS = {"DOCSHARE_RATE_LIMIT": "1000000"}
_FILE_PATHS = (
    "", "/content", "/variants", "/invites", "/page-marks", "/annotations", "/feedback", "/readership",
    "/readership/pages", "/qr-code",
)  # fmt: skip
_ACCOUNT_PATHS = ("/user", "/gate-responses?since=1", "/webhooks")
_STREAMS = (
    "/events?type=view",
    "/events?type=download",
    "/events?type=gate",
    "/activity?kind=file.viewed",
    "/activity?",
)
_PAGE_PATHS = ("/pages/1-800.jpg?v={version}", "/text/1.json?v={version}", "/outline.json?v={version}")
_PAGE_ROWS = 100
_FORM = (
    '[{"key": "email", "label": "Email", "type": "email", "required": true},'
    ' {"key": "firm", "label": "Firm", "type": "company", "required": true}]'
)

# Tables without a row before the move: sign-ins and other rows that live for minutes, and the design tool.
_EMPTY_TABLES = {
    "file_tokens", "page_reloads", "designs", "design_uploads", "login_links", "web_sessions", "oauth_grants",
    "oauth_codes", "oauth_tokens", "device_codes", "mails", "muted_notices", "blob_removals", "denials", "taps",
}  # fmt: skip


def move_there_and_back(folder: Path, files: int, sessions: int) -> list[str]:
    """Move an instance both ways; return the differences."""
    data, back = folder / "data", folder / "back"
    _populate(folder, files, sessions)
    before = _fetch_everything(folder, data)
    assert _list_empty_tables(data) - _EMPTY_TABLES == set()
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
    with run_server(folder, "--base-url", _BASE_URL, DOCSHARE_WEBHOOK_ALLOW="127.0.0.0/8", **_NO_LIMITS) as server:
        address = server.process_url
        for number in range(files):
            pdf = simple_pdf(pages=number % 3 + 1)
            sent = requests.post(
                f"{address}/api/v1/files", headers=server.headers, files={"file": (f"{number}.pdf", pdf)}, timeout=60
            )
            assert sent.status_code < 300, sent.text
        with open_receiver() as receiver:
            _add_everything(folder, server, receiver.url)
            wait_until(lambda: _is_everything_delivered(server), seconds=120)
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


def _add_everything(folder: Path, server: ServerProcess, receiver: str) -> None:
    """Share a document with rows of every kind: links, feedback, a form, events, deliveries, versions and assets.

    All sessions have ended afterwards, so that no event is added between two comparisons.
    """
    document, picture = folder / "everything.pdf", folder / "logo.png"
    document.write_bytes(simple_pdf(pages=4))
    picture.write_bytes(make_picture())
    env = make_env(folder, DOCSHARE_URL=server.process_url, DOCSHARE_TOKEN=server.token)
    on = ("commentsEnabled", "commentsAllowPublic", "marksEnabled", "annotationsEnabled")
    trigger = ("trigger", "--file", "@last", "--data", str(server.data_dir))
    for line in (
        ("upload", str(document), "--slug", "everything", "--receipt", *(f"--set={key}=true" for key in on)),
        ("webhooks", "create", receiver, "--all"),
        ("assets", "add", "@last", str(picture), "--kind", "logo", "--apply"),
        ("variants", "create", "@last", "--label", "Ann Lee"),
        ("invites", "create", "@last", "ann@example.com", "--no-mail"),
        ("admin", "--data", str(server.data_dir), "hotspot", "add", "@last", "--page", "1", "--rect", "0,0,0.5,0.5",
         "--link", "https://example.com/prices"),
        ("auth", "keys", "create", "--scope", "files:read", "--name", "reports"),
        (*trigger, "file.viewed", "--variant", "label:Ann Lee"),
        (*trigger, "file.viewed", "--wait"),
        *((*trigger, kind) for kind in ("file.downloaded", "note.created", "receipt.confirmed")),
        *((*trigger, "proofing.updated", "--set", f"kind={kind}") for kind in ("mark", "annotation")),
        ("settings", "set", "@last", f"gateFields:={_FORM}"),
        (*trigger, "gate.completed", "--set", "email=bob@example.com", "--set", "fields.firm=Acme", "--wait"),
        ("files", "replace", "@last", str(document), "--keep-anchors"),
    ):  # fmt: skip
        done = run_docshare(*line, env=env)
        assert done.returncode == 0, (line, done.stderr)


def _is_everything_delivered(server: ServerProcess) -> bool:
    """Return whether each event up to the last one has been delivered."""
    root = f"{server.process_url}/api/v1/webhooks"
    (webhook,) = requests.get(root, headers=server.headers, timeout=60).json()["webhooks"]
    rows = requests.get(f"{root}/{webhook['uuid']}/deliveries", headers=server.headers, timeout=60).json()
    return {row["state"] for row in rows} == {"delivered"} and rows[0]["event"] == "content.replaced"


def _list_empty_tables(data: Path) -> set[str]:
    with closing(Store(data / "docshare.db")) as store:
        names = [cast(Any, model)._meta.table_name for model in TABLES]
        return {name for name in names if not store.fetch_all(f"SELECT 1 FROM {name} LIMIT 1")}


def _move(folder: Path, data: Path, *line: str, **environ: str) -> None:
    begun = time.perf_counter()
    env = make_env(folder, **environ)
    done = run_docshare("admin", "--data", str(data), "move", *line, "--json", env=env, timeout=_TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    moved = json.loads(done.stdout)
    duration_s = time.perf_counter() - begun
    print(f"{line[0]}: {moved['rows']:,} rows, {moved['documents']:,} documents in {duration_s:.1f} s")


def _fetch_everything(folder: Path, data: Path, **environ: str) -> dict[str, bytes]:
    """Return the response of every path that an owner can read, of all pages of lists, and of one page of each
    document."""
    answers: dict[str, bytes] = {}
    limits = _NO_LIMITS | environ
    with run_server(folder, "--base-url", _BASE_URL, data_dir=data, **limits) as server, requests.Session() as http:
        http.headers.update(server.headers)

        def fetch(path: str, root: str = "/api/v1") -> Any:
            answer = http.get(f"{server.process_url}{root}{path}", timeout=60)
            answers[path] = str(answer.status_code).encode() + answer.content
            return answer

        def fetch_pages(path: str) -> None:
            since = 1
            while rows := fetch(f"{path}&limit={_PAGE_ROWS}&since={since}").json():
                since = rows[-1]["id"]

        for file in fetch("/files").json():
            for path in _FILE_PATHS:
                fetch(f"/files/{file['uuid']}{path}")
            fetch_pages(f"/files/{file['uuid']}/readership/sessions?")
            for path in _PAGE_PATHS:
                fetch(f"/{file['shortId']}{path.format(version=file['contentVersion'])}", "")
        for path in _ACCOUNT_PATHS:
            fetch(path)
        for path in _STREAMS:
            fetch_pages(path)
        for webhook in fetch("/webhooks").json()["webhooks"]:
            fetch_pages(f"/webhooks/{webhook['uuid']}/deliveries?")
    return answers


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
