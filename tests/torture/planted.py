"""Search everything that a server writes, and its memory while it is idle, for planted texts and destroyed keys.

``python -m tests.torture.planted [DOCUMENTS]``; by default 200 documents, first with a folder and then with a bucket.
Each has a text of its own, is read and downloaded as readers do, and some are replaced, purged or burned. Neither a
file nor the memory may then have a part of any document, or the key of a destroyed one, and no file its sealed key. The
memory may: the database keeps the values of its last statements.
"""

import os
import random
import re
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from PIL import Image

from docshare.server.store.master_keys import KeyFile
from docshare.server.store.vault import Vault, name_data_key
from tests.support.documents.images import encode_image
from tests.support.documents.office import change_parts, make_docx
from tests.support.documents.pdfs import Sheet, lines_content, sheets_pdf
from tests.support.engines.object_store import ObjectStore, run_object_store
from tests.support.polling import wait_until
from tests.support.servers.process_memory import read_memory, read_open_files
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

WORD = f"PLANTED{os.getpid()}-"  # other runs on this machine have another
_LIMITS = {f"DOCSHARE_{name}_LIMIT": "1000000" for name in ("RATE", "ADDRESS")}
_TIMEOUT_S = 60
_IDLE_S = 40  # until the server has erased its free memory, and replaced its workers
_SLICE_BYTES = 40  # of a compressed file: no other file has the same
_MOST_SLICED = 20  # documents; the search for a slice reads everything once
_SHARED_MEMORY = Path("/dev/shm")
_BURN_MS = 31 * 60_000


@dataclass
class PlantedDocument:
    """A document of the server. ``slices``: parts of what is made from it, which have no text."""

    number: int
    uuid: str = ""
    short_id: str = ""
    slices: list[bytes] = field(default_factory=list)


@dataclass
class PlantedServer:
    """A server with planted documents. ``objects``: the store with its documents, None if they are in ``folder``;
    ``found``: what was found in clear, and how often; ``marks``: further texts that must not be found."""

    server: ServerProcess
    folder: Path
    objects: ObjectStore | None = None
    documents: list[PlantedDocument] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)
    marks: set[bytes] = field(default_factory=set)

    def list_patterns(self) -> list[bytes]:
        """Return the planted text as any program may store it, and the slices of some documents."""
        texts = [WORD.encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-32-le")]
        return texts + [part for document in self.documents[:_MOST_SLICED] for part in document.slices] + [*self.marks]

    def read_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield all files that the server or its bucket has, by name."""
        roots = [self.folder] if self.objects is None else [self.folder, self.objects.folder / "devices"]
        for root in roots:
            yield from _read_tree(root)
        yield from read_open_files(self.server.process.pid)
        began = self.folder.stat().st_ctime
        for root in (Path("/tmp"), _SHARED_MEMORY):  # what the server may have left there
            for entry in root.glob("*"):
                with suppress(OSError):
                    if entry.lstat().st_mtime >= began and entry not in self.folder.parents:
                        yield from [(str(entry), entry.read_bytes())] if entry.is_file() else _read_tree(entry)


def run_planted(folder: Path, count: int, objects: ObjectStore | None = None, *, memory: bool = True) -> list[str]:
    """Run a server with ``count`` planted documents, in the bucket ``objects`` if there is one; return what was
    found. ``memory``: wait until it is idle, and search its memory as well."""
    environ = dict(_LIMITS, TMPDIR=str(folder / "tmp"))
    (folder / "tmp").mkdir(parents=True)
    if objects is not None:
        environ |= objects.environ | {"DOCSHARE_STORAGE_URL": objects.make_url(objects.create_bucket(), "docs")}
    environ = environ | {"DOCSHARE_TRUSTED_PROXIES": "127.0.0.1/32"}
    with run_server(folder, **environ) as server, requests.Session() as http:
        planted = PlantedServer(server, folder, objects)
        with _watch(planted):
            for number in range(count):
                planted.documents.append(_plant(planted, http, number))
        problems = _search(planted, "after reading", planted.list_patterns(), planted.read_files())
        if memory:
            http.close()
            time.sleep(_IDLE_S)
            problems += _search_memory(planted, "idle", planted.list_patterns())
        return problems + _destroy(planted, environ, memory=memory)


def _plant(planted: PlantedServer, http: requests.Session, number: int) -> PlantedDocument:
    """Upload a document, and read and download it in the ways of its number."""
    server, document = planted.server, PlantedDocument(number)
    http.headers["X-Forwarded-For"] = f"198.51.100.{number % 250 + 1}"  # an address may download 60 files a minute
    content = _make_document(number)
    name = "Plan.docx" if content[:2] == b"PK" else "Plan.pdf"
    if name == "Plan.docx":
        document.slices.append(_make_random(number)[:_SLICE_BYTES])
        assert document.slices[0] in content
    made = _post(server, http, "/api/v1/files", content, name)
    document.uuid, document.short_id = made["uuid"], made["shortId"]
    file, base = f"/api/v1/files/{made['uuid']}", f"{server.url}/{made['shortId']}"
    for page in (1, 2):
        document.slices += _slice(_get(http, f"{base}/pages/{page}-800.jpg?v=1"))
        assert f"{WORD}{number:04}".encode() in _get(http, f"{base}/text/{page}.json?v=1")
    assert _get(http, f"{server.url}{file}/content", **server.headers).startswith(b"%PDF-")
    if number % 4 == 0:
        asset = _post(server, http, f"{file}/assets", _make_logo(number), "logo.png", kind="logo")
        document.slices += _slice(_get(http, f"{base}/assets/{asset['assetId']}"))
    if number % 5 < 2:
        settings = {"pageRange": {"from": 2, "to": 3}, "allowDownload": True, "watermark": number % 5 == 1}
        _require(http.put(f"{server.url}{file}/settings", json=settings, headers=server.headers, timeout=_TIMEOUT_S))
        copy = _require(http.post(f"{base}/download", timeout=_TIMEOUT_S)).content
        assert copy.startswith(b"%PDF-")
        planted.marks |= set(re.findall(rb"copy [0-9A-F]{4}-[0-9A-F]{4}", copy))
        facts = re.search(r'"version": ?"([^"]+)"', _require(http.get(base, timeout=_TIMEOUT_S)).text)
        assert facts is not None
        document.slices += _slice(_get(http, f"{base}/pages/1-800.jpg?v={facts[1]}"))
    return document


def _make_document(number: int) -> bytes:
    """Return three pages; every line has the planted text. Each seventh is larger than a segment, and each twentieth
    is of Word."""
    text = f"{WORD}{number:04} {_make_random(number)[:8].hex()}"
    if number % 20 == 3:
        return change_parts(make_docx(text, pages=3), {"word/media/random.bin": _make_random(number)})
    lines = 2_000 if number % 7 == 6 else 12
    pages = [lines_content("\n".join(f"{text} {page} {line}" for line in range(lines)), size=9) for page in (1, 2, 3)]
    return sheets_pdf([Sheet(page) for page in pages])


def _make_logo(number: int) -> bytes:
    return encode_image(Image.frombytes("RGB", (60, 40), _make_random(number)), "PNG")


def _make_random(number: int) -> bytes:
    """Return 7,200 bytes that no other document has, also of another run on this machine."""
    return random.Random(f"{WORD} {number}").randbytes(60 * 40 * 3)


def _slice(content: bytes) -> list[bytes]:
    """Return a part that looks random, if there is one: images of pages have the white of the paper in common, and the
    tables at their beginning."""
    parts = (content[at : at + _SLICE_BYTES] for at in range(len(content) // 3, len(content), _SLICE_BYTES))
    return [part for part in parts if len(set(part)) > 0.8 * _SLICE_BYTES][:1]


def _require(answer: requests.Response) -> requests.Response:
    assert answer.status_code == 200, (answer.request.path_url, answer.status_code, answer.text[:300])
    return answer


def _get(http: requests.Session, url: str, **headers: str) -> bytes:
    return _require(http.get(url, headers=headers, timeout=_TIMEOUT_S)).content


def _post(
    server: ServerProcess, http: requests.Session, path: str, content: bytes, name: str, **fields: str
) -> dict[str, Any]:
    files = {"file": (name, content)}
    answer = http.post(f"{server.url}{path}", headers=server.headers, files=files, data=fields, timeout=_TIMEOUT_S)
    made: dict[str, Any] = _require(answer).json()
    return made


@contextmanager
def _watch(planted: PlantedServer) -> Iterator[None]:
    """Search the folders of temporary files again and again for the duration of the block."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(0.05):
            for root in (planted.folder / "data" / "tmp", planted.folder / "tmp", planted.folder / "cache"):
                for name, content in _read_tree(root):
                    if WORD.encode() in content or content.startswith((b"%PDF-", b"\xff\xd8\xff", b"PK\3\4")):
                        planted.found[f"meanwhile: {name} is in clear"] += 1

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _read_tree(root: Path) -> Iterator[tuple[str, bytes]]:
    for folder, _, names in os.walk(root):
        for path in (Path(folder, name) for name in names):
            with suppress(OSError):
                if path.is_file() and not path.is_symlink():
                    yield str(path), path.read_bytes()


def _search(
    planted: PlantedServer, when: str, patterns: Iterable[bytes], files: Iterable[tuple[str, bytes]]
) -> list[str]:
    """Return the names of the files that have one of the patterns, and what was found meanwhile."""
    wanted, total, problems = list(patterns), 0, list(planted.found)
    planted.found.clear()
    for name, content in files:
        total += len(content)
        if count := sum(pattern in content for pattern in wanted):
            problems.append(f"{when}: {name} has {count} of {len(wanted)} patterns")
    print(f"{when}: {len(wanted)} patterns in {total / 1e6:.0f} MB of files: {len(problems)} found", flush=True)
    return problems


def _search_memory(planted: PlantedServer, when: str, patterns: Iterable[bytes]) -> list[str]:
    """Return how often the patterns are in the memory of each process."""
    wanted, total, hits = list(patterns), 0, Counter[str]()
    for block in read_memory(planted.server.process.pid):
        total += len(block.content)
        for pattern in wanted:
            if count := block.content.count(pattern):
                hits[block.process] += count
    print(f"{when}: {len(wanted)} patterns in {total / 1e6:.0f} MB of memory: {dict(hits)}", flush=True)
    return [f"{when}: {count} times in the memory of {name}" for name, count in hits.items()]


def _destroy(planted: PlantedServer, environ: dict[str, str], *, memory: bool) -> list[str]:
    """Purge, burn and replace documents; search for their keys."""
    data_dir = planted.folder / "data"
    before = _read_keys(data_dir)
    assert any(sealed in content for _, content in _read_tree(data_dir) for sealed, _ in before.values())
    with requests.Session() as http:
        for document in planted.documents[:: max(2, len(planted.documents) // 40)]:
            _destroy_document(planted, http, document)
    wait_until(lambda: not _count_burning(data_dir), seconds=30)
    gone = {blob: keys for blob, keys in before.items() if blob not in _read_keys(data_dir)}
    assert gone
    backup = planted.folder / "backup"
    made = run_docshare(
        "admin", "--data", str(data_dir), "backup", str(backup), env=make_env(planted.folder, **environ)
    )
    assert made.returncode == 0, made.stderr
    when = f"after {len(gone)} keys were destroyed"
    plain = [form for _, key in gone.values() for form in (key, key.hex().encode())] + [WORD.encode()]
    problems = _search(planted, when, [*plain, *(sealed for sealed, _ in gone.values())], planted.read_files())
    if memory:
        time.sleep(_IDLE_S)
        problems += _search_memory(planted, when, plain)
    return problems


def _destroy_document(planted: PlantedServer, http: requests.Session, document: PlantedDocument) -> None:
    server = planted.server
    url = f"{server.url}/api/v1/files/{document.uuid}"
    match document.number // 2 % 3:
        case 0:
            _require(http.delete(f"{url}?purge=1", headers=server.headers, timeout=_TIMEOUT_S))
        case 1:
            _post(server, http, f"/api/v1/files/{document.uuid}/content", _make_document(1000), "Plan.pdf")
        case _:
            limit = {"viewLimit": 1}
            _require(http.put(f"{url}/settings", json=limit, headers=server.headers, timeout=_TIMEOUT_S))
            _view(f"{server.url}/{document.short_id}")
            with closing(sqlite3.connect(server.data_dir / "docshare.db", timeout=30)) as database, database:
                change = "UPDATE files SET burned_at = burned_at - ? WHERE uuid = ? AND burned_at IS NOT NULL"
                assert database.execute(change, (_BURN_MS, document.uuid)).rowcount == 1


def _view(url: str) -> None:
    """Use a view of a link with a view limit."""
    with requests.Session() as browser:
        page = _require(browser.get(url, timeout=_TIMEOUT_S)).text
        ticket = re.search(r'name="ticket" value="([^"]+)"', page)
        form = {"ticket": ticket[1] if ticket else ""}
        answer = browser.post(f"{url}/enter", data=form, allow_redirects=False, timeout=_TIMEOUT_S)
        assert answer.status_code == 303, answer.text[:500]


def _count_burning(data_dir: Path) -> int:
    """Return how many documents are still there although their last view was long ago."""
    with closing(sqlite3.connect(data_dir / "docshare.db", timeout=30)) as database:
        burning = "SELECT COUNT(*) FROM files WHERE burned_at IS NOT NULL AND destroyed_at IS NULL"
        return int(database.execute(burning).fetchone()[0])


def _read_keys(data_dir: Path) -> dict[str, tuple[bytes, bytes]]:
    """Return the sealed and the plain data key of each blob."""
    vault = Vault(KeyFile(data_dir / "vault.key", os.urandom), os.urandom)
    with closing(sqlite3.connect(data_dir / "docshare.db", timeout=30)) as database:
        rows = database.execute("SELECT blob, sealed FROM data_keys").fetchall()
    return {blob: (sealed, vault.open_bytes(sealed, name_data_key(blob))) for blob, sealed in rows}


def main() -> int:
    """Run both, print the results, and return the exit code."""
    count, problems = int(sys.argv[1]) if len(sys.argv) > 1 else 200, list[str]()
    for kind in ("folder", "bucket"):
        store = run_object_store() if kind == "bucket" else nullcontext()
        with tempfile.TemporaryDirectory(prefix="planted-") as name, store as objects:
            print(f"with a {kind}:", flush=True)
            problems += run_planted(Path(name, kind), count, objects)
    print("\n".join(problems[:60]) or "nothing was found")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
