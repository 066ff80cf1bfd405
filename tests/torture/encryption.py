"""Damage the stored bytes of a server, and kill it while it encrypts, rotates its master key and replaces documents.

``python -m tests.torture.encryption [FLIPS [KILLS]]``; by default 10,000 flipped bits and 200 kills. Every change of
stored bytes must be reported, and no response may have a wrong byte; after every kill each document must be readable,
in the version that was acknowledged last or in the one that was being sent.
"""

import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from docshare.server.store.identity import instance_key
from tests.support.documents.pdfs import simple_pdf
from tests.support.polling import wait_until
from tests.support.servers.server_process import make_env, run_docshare, run_server, start_server

_LIMITS = {"DOCSHARE_RATE_LIMIT": "1000000", "DOCSHARE_ADDRESS_LIMIT": "1000000"}
_SIZES = (0, 0, 70_000, 300_000, 1_000_000, 5_000_000)  # bytes after the pages; above 4 MiB a download is streamed
_REFUSALS = (503, 410)
_TIMEOUT_S = 30
_CLIENTS = 16
_BUSY_TRIES = 5


@dataclass
class TestedDocument:
    """A document of the server: its stored file, and what each path returns."""

    uuid: str
    path: Path
    responses: dict[str, bytes]


@dataclass
class TrackedDocument:
    """A document that may be replaced. ``digests`` of the version that was acknowledged last, and of one that was being
    sent."""

    uuid: str
    digests: set[str]


def damage_stored_bytes(
    folder: Path, flips: int, seed: int = 16, sizes: Sequence[int] = _SIZES, clients: int = 1
) -> list[str]:
    """Flip ``flips`` bits in stored documents of ``sizes``, one at a time in each, and truncate and exchange some;
    return what the server got wrong. ``clients``: each has its own documents, because an error is sent with a delay."""
    with run_server(folder, **_LIMITS) as server:
        owned = [[_upload_document(server, size, number) for number, size in enumerate(sizes)] for _ in range(clients)]
        with ThreadPoolExecutor(clients) as pool:
            work = [
                pool.submit(_damage_documents, server, documents, flips // clients, random.Random(f"{seed} {number}"))
                for number, documents in enumerate(owned)
            ]
            problems = [problem for done in work for problem in done.result()]
        if server.process.poll() is not None:
            problems.append(f"the server ended with {server.process.returncode}")
    return problems


def _damage_documents(server: Any, documents: list[TestedDocument], flips: int, chance: random.Random) -> list[str]:
    problems = list[str]()
    with requests.Session() as http:
        for document in documents:
            document.responses = {path: _fetch_intact(server, http, path)[1] for path in document.responses}
        for number in range(flips):
            document = chance.choice(documents)
            at, bit = chance.randrange(document.path.stat().st_size), chance.randrange(8)
            with _change_file(document.path, lambda old, at=at, bit=bit: _flip(old, at, bit)):
                problems += _check_damaged(server, http, document, chance, f"bit {bit} of byte {at}")
            if number % 10 == 0:
                problems += _cut_or_exchange(server, http, documents, chance)
            if number % 50 == 49:
                problems += _check_intact(server, http, document, f"after flip {number}")
                _print_progress(number + 1, flips, "flips of one client", problems)
        for document in documents:
            problems += _check_intact(server, http, document, "at the end")
    return problems


def _print_progress(done: int, total: int, what: str, problems: list[str]) -> None:
    """Print how far a run is, which takes up to an hour."""
    print(f"{done} of {total} {what}: {len(problems)} problems", *problems[:5], sep="\n  ", flush=True)


def _make_document(size: int, seed: object) -> bytes:
    more = random.Random(repr(seed)).randbytes(size // 2).hex().encode()
    return simple_pdf(texts=[f"PLANTED {seed} page {page}" for page in (1, 2, 3)]) + b"\n%" + more


def _upload(server: Any, content: bytes) -> dict[str, Any]:
    files = {"file": ("a.pdf", content)}
    answer = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=files, timeout=_TIMEOUT_S)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def _upload_document(server: Any, size: int, number: int) -> TestedDocument:
    stored = server.data_dir / "blobs"
    before = set(stored.rglob("*/*"))
    made = _upload(server, _make_document(size, number))
    (path,) = set(stored.rglob("*/*")) - before
    pages = [f"/{made['shortId']}/{rest}" for page in (1, 2, 3) for rest in
             (f"pages/{page}-800.jpg?v=1", f"text/{page}.json?v=1")]  # fmt: skip
    return TestedDocument(made["uuid"], path, dict.fromkeys([f"/api/v1/files/{made['uuid']}/content", *pages], b""))


def _fetch(server: Any, http: requests.Session, path: str) -> tuple[int, bytes]:
    """Return status and body; status 0 if the server broke off."""
    headers = server.headers if path.startswith("/api/") else {}
    try:
        answer = http.get(f"{server.url}{path}", headers=headers, timeout=_TIMEOUT_S)
    except requests.RequestException:
        return 0, b""
    return answer.status_code, answer.content


def _fetch_intact(server: Any, http: requests.Session, path: str) -> tuple[int, bytes]:
    """Like ``_fetch``, of an intact document; again if the server is busy, which is 503 as well."""
    found = _fetch(server, http, path)
    for _ in range(_BUSY_TRIES):
        found = _fetch(server, http, path) if found[0] == 503 else found
    return found


def _flip(content: bytes, at: int, bit: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


@contextmanager
def _change_file(path: Path, change: Callable[[bytes], bytes]) -> Iterator[None]:
    """Change a file for the duration of the block."""
    content = path.read_bytes()
    path.write_bytes(change(content))
    try:
        yield
    finally:
        path.write_bytes(content)


def _check_damaged(
    server: Any, http: requests.Session, document: TestedDocument, chance: random.Random, what: str
) -> list[str]:
    """Fetch the whole document, which must be reported, and one of its pages, which may be intact."""
    shutil.rmtree(server.data_dir / "cache" / document.uuid, ignore_errors=True)
    whole, *pages = document.responses
    status, _ = _fetch(server, http, whole)
    # The stream of a large document breaks off, because it begins before all of it was read.
    is_large = len(document.responses[whole]) > 4 << 20
    problems = [] if status in _REFUSALS or (is_large and status == 0) else [f"{what}: {whole} is {status}"]
    page = chance.choice(pages)
    status, body = _fetch(server, http, page)
    if status not in _REFUSALS and (status, body) != (200, document.responses[page]):
        problems.append(f"{what}: {page} is {status}, {len(body)} bytes, not those of the page")
    return problems


def _cut_or_exchange(
    server: Any, http: requests.Session, documents: list[TestedDocument], chance: random.Random
) -> list[str]:
    one, two = chance.sample(documents, 2)
    length = chance.randrange(one.path.stat().st_size)
    with _change_file(one.path, lambda old: old[:length]):
        problems = _check_damaged(server, http, one, chance, f"truncation to {length}")
    first, second = one.path.read_bytes(), two.path.read_bytes()
    with _change_file(one.path, lambda old: second), _change_file(two.path, lambda old: first):
        for document in (one, two):
            problems += _check_damaged(server, http, document, chance, "exchange")
    return problems


def _check_intact(server: Any, http: requests.Session, document: TestedDocument, when: str) -> list[str]:
    shutil.rmtree(server.data_dir / "cache" / document.uuid, ignore_errors=True)
    problems = []
    for path, content in document.responses.items():
        found = _fetch_intact(server, http, path)
        if found != (200, content):
            problems.append(f"{when}: {path} is {found[0]}, {len(found[1])} bytes")
    return problems


@dataclass
class KilledServer:
    """A server that is killed and started again on the data below ``folder``."""

    folder: Path
    token: str
    url: str = ""

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @contextmanager
    def run(self, *, kills: bool, **environ: str) -> Iterator[None]:
        """Run the server for the duration of the block; end it with SIGKILL or SIGTERM."""
        env = make_env(self.folder, **_LIMITS, **environ)
        process, self.url = start_server("--data", str(self.data_dir), "--port", "0", env=env)
        try:
            yield
        finally:
            (process.kill if kills else process.terminate)()
            process.communicate(timeout=_TIMEOUT_S)

    def count_unencrypted(self) -> int:
        """Return how many documents are in clear."""
        found = requests.get(f"{self.url}/healthz?details", timeout=_TIMEOUT_S).json()["encryption"]
        return int(found["stored"]) - int(found["encrypted"])

    def rotate(self) -> requests.Response:
        """Replace the master key."""
        headers = {"Authorization": f"Instance {instance_key(self.data_dir)}"}
        order = {"command": "vault rotate", "args": {}}
        return requests.post(f"{self.url}/_admin", json=order, headers=headers, timeout=_TIMEOUT_S)

    def replace(self, document: TrackedDocument, content: bytes) -> None:
        """Replace a document, and track which version is acknowledged."""
        digest = hashlib.sha256(content).hexdigest()
        document.digests.add(digest)
        url, files = f"{self.url}/api/v1/files/{document.uuid}/content", {"file": ("a.pdf", content)}
        answer = requests.post(url, headers=self.headers, files=files, timeout=_TIMEOUT_S)
        assert answer.status_code == 200, answer.text
        document.digests = {digest}

    def check(self, documents: list[TrackedDocument], when: str) -> list[str]:
        """Read every document; return those that are not as they must be."""
        problems = []
        with requests.Session() as http:
            for document in documents:
                status, body = _fetch(self, http, f"/api/v1/files/{document.uuid}/content")
                found = hashlib.sha256(body).hexdigest()
                if status == 200 and found in document.digests:
                    document.digests = {found}
                else:
                    problems.append(f"{when}: {document.uuid} is {status}, {len(body)} bytes")
        return problems


def kill_at_random(folder: Path, kills: int, seed: int = 16, *, clear: int = 8) -> list[str]:
    """Kill a server ``kills`` times: while it encrypts ``clear`` documents that were stored in clear, while it rotates
    its master key, while documents are replaced, and during all of that; return what was wrong afterwards."""
    chance, documents, problems = random.Random(seed), list[TrackedDocument](), list[str]()
    server = _create_server(folder)
    before = "at the start"
    for number in range(kills):
        kind = ("encryption", "rotation", "replacement", "all")[number % 4]
        when = f"kill {number} during {kind}"
        if kind in ("encryption", "all"):
            with server.run(kills=False, DOCSHARE_ENCRYPTION="off"):
                problems += server.check(documents, before)
                documents += [_upload_in_clear(server, f"{number} {each}") for each in range(clear)]
        with server.run(kills=True):
            work: list[Callable[[], object]] = [server.rotate] if kind in ("rotation", "all") else []
            if kind in ("replacement", "all"):
                work += [_make_replacement(server, document, chance) for document in chance.sample(documents, 2)]
            if kind in ("rotation", "replacement"):
                problems += server.check(documents, before)
            threads = [threading.Thread(target=_repeat, args=(each, problems, when), daemon=True) for each in work]
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0, 0.4))
        for thread in threads:
            thread.join(_TIMEOUT_S)
        before = f"after {when}"
        if number % 10 == 9:
            _print_progress(number + 1, kills, "kills", problems)
    return problems + _check_at_the_end(server, documents, before)


def _create_server(folder: Path) -> KilledServer:
    env = make_env(folder)
    create = ("account", "create", "owner@example.com", "--tier", "pro", "--json")
    made = run_docshare("admin", "--data", str(folder / "data"), *create, env=env)
    assert made.returncode == 0, made.stderr
    return KilledServer(folder, json.loads(made.stdout)["apiKey"])


def _upload_in_clear(server: KilledServer, seed: str) -> TrackedDocument:
    content = _make_document(200_000, seed)
    made = _upload(server, content)
    with requests.Session() as http:
        status, _ = _fetch(server, http, f"/{made['shortId']}/text/1.json?v=1")  # into the cache, in clear
        assert status == 200
    return TrackedDocument(made["uuid"], {hashlib.sha256(content).hexdigest()})


def _make_replacement(server: KilledServer, document: TrackedDocument, chance: random.Random) -> Callable[[], object]:
    return lambda: server.replace(document, _make_document(100_000, chance.random()))


def _repeat(work: Callable[[], Any], problems: list[str], when: str) -> None:
    """Repeat ``work`` until the server is killed."""
    while True:
        try:
            answer = work()
            if isinstance(answer, requests.Response) and answer.status_code != 200:
                problems.append(f"{when}: a rotation answered {answer.status_code}: {answer.text}")
        except requests.RequestException:
            return
        except AssertionError as error:
            problems.append(f"{when}: a replacement answered {error}")
            return


def _check_at_the_end(server: KilledServer, documents: list[TrackedDocument], before: str) -> list[str]:
    """Let the server finish; check that nothing is in clear, and that the files of keys that were in use are gone."""
    with server.run(kills=False):
        problems = server.check(documents, before)
        wait_until(lambda: server.count_unencrypted() == 0, seconds=60)
        assert server.rotate().status_code == 200
        wait_until(lambda: not _find_plain_blobs(server.data_dir), seconds=60)
    with server.run(kills=False):
        problems += server.check(documents, "after a restart")
    for path in server.data_dir.rglob("*"):
        if path.is_file() and (b"PLANTED" in (content := path.read_bytes()) or content.startswith(b"%PDF-")):
            problems.append(f"at the end: {path.relative_to(server.data_dir)} is in clear")
    if len((server.data_dir / "vault.key").read_bytes()) != 32:
        problems.append("at the end: vault.key has an earlier key")
    return problems + [f"at the end: {path.name} is left behind" for path in server.data_dir.glob("vault.key.*")]


def _find_plain_blobs(data_dir: Path) -> list[Path]:
    return [path for path in (data_dir / "blobs").rglob("*/*") if _is_plain(path)]


def _is_plain(path: Path) -> bool:
    try:
        return path.read_bytes().startswith(b"%PDF-")
    except FileNotFoundError:  # the server has just deleted it
        return False


def main() -> int:
    """Run both, print the results, and return the exit code."""
    flips, kills = (*map(int, sys.argv[1:3]), *(10_000, 200)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory(prefix="encryption-") as name:
        begun = time.perf_counter()
        seed = int.from_bytes(os.urandom(4), "big")
        problems = damage_stored_bytes(Path(name, "flips"), flips, seed, clients=_CLIENTS)
        print(f"{flips:,} flips in {time.perf_counter() - begun:.0f} s: {len(problems)} problems", flush=True)
        begun = time.perf_counter()
        killed = kill_at_random(Path(name, "kills"), kills, seed=int.from_bytes(os.urandom(4), "big"))
        print(f"{kills:,} kills in {time.perf_counter() - begun:.0f} s: {len(killed)} problems")
    print("\n".join((problems + killed)[:40]) or "every change was reported, and every document is readable")
    return int(bool(problems + killed))


if __name__ == "__main__":
    sys.exit(main())
