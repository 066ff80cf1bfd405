"""Kill a server at random moments during replacements, and check the data."""

import hashlib
import random
import sqlite3
import threading
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.stored_bytes import decrypt_offline
from tests.support.moments import random_moment
from tests.support.servers.server_process import ServerProcess, run_server

_THREADS = 3


@dataclass
class TrackedFile:
    """One file that one thread replaces. ``version``, ``sha256``: of the last acknowledged replacement;
    ``pending_sha256``: of a later one that the server may have stored."""

    uuid: str
    version: int
    sha256: str
    pending_sha256: str = ""


@dataclass
class ReplaceTally:
    """The result of all rounds: the number of acknowledged ``replacements`` and ``kills``, and the ``problems``."""

    replacements: int = 0
    kills: int = 0
    problems: list[str] = field(default_factory=list)


def kill_during_replacements(folder: Path, rounds: int, seed: int) -> ReplaceTally:
    """``rounds`` times: start on the same data, check it, replace from three threads, and SIGKILL at a random
    moment."""
    chance = random.Random(seed)
    tally = ReplaceTally()
    links: list[TrackedFile] = []
    for _ in range(rounds):
        with run_server(folder, DOCSHARE_RATE_LIMIT="1000000") as server:
            _check_data(server, links, tally)
            links = links or [_upload_document(server, chance) for _ in range(_THREADS)]
            threads = [
                threading.Thread(
                    target=_replace_repeatedly, args=(server, link, tally, chance.getrandbits(32)), daemon=True
                )
                for link in links
            ]
            for thread in threads:
                thread.start()
            random_moment(chance, lambda: tally.replacements, most=8)
            server.process.kill()
            server.process.wait()
            tally.kills += 1
            for thread in threads:
                thread.join()
    with run_server(folder, DOCSHARE_RATE_LIMIT="1000000") as server:
        _check_data(server, links, tally)
    return tally


def _make_document(seed: str) -> bytes:
    return simple_pdf(pages=1) + b"\n%" + random.Random(seed).randbytes(100_000).hex().encode()


def _upload_document(server: ServerProcess, chance: random.Random) -> TrackedFile:
    content = _make_document(str(chance.random()))
    answer = requests.post(
        f"{server.url}/api/v1/files", headers=server.headers, files={"file": ("a.pdf", content)}, timeout=20
    )
    return TrackedFile(answer.json()["uuid"], 1, hashlib.sha256(content).hexdigest())


def _replace_repeatedly(server: ServerProcess, link: TrackedFile, tally: ReplaceTally, seed: int) -> None:
    number = 0
    with requests.Session() as http:
        while True:
            number += 1
            content = _make_document(f"{seed}-{number}")
            link.pending_sha256 = hashlib.sha256(content).hexdigest()
            try:
                answer = http.post(
                    f"{server.url}/api/v1/files/{link.uuid}/content",
                    headers=server.headers,
                    files={"file": ("a.pdf", content)},
                    timeout=20,
                )
            except requests.RequestException:
                return
            if answer.status_code != 200:
                tally.problems.append(f"a replacement answered {answer.status_code}: {answer.text}")
                return
            link.version, link.sha256, link.pending_sha256 = answer.json()["contentVersion"], link.pending_sha256, ""
            tally.replacements += 1


def _check_data(server: ServerProcess, links: list[TrackedFile], tally: ReplaceTally) -> None:
    """Check that every link has the acknowledged document, or the one replacement after it, and each version exactly
    once."""
    stored = {path.name for path in (server.data_dir / "blobs").rglob("*") if path.is_file()}
    connection = sqlite3.connect(f"file:{server.data_dir / 'docshare.db'}?mode=ro", uri=True)
    try:
        for link in links:
            _check_file(connection, link, server.data_dir, tally)
        rows = {blob for (blob,) in connection.execute("SELECT blob FROM files")}
        keys = {blob for (blob,) in connection.execute("SELECT blob FROM data_keys")}
    finally:
        connection.close()
    if not stored == keys == rows or any((server.data_dir / "tmp").iterdir()):
        tally.problems.append(f"{len(stored)} blobs and {len(keys)} keys for {len(rows)} files, or partial files")


def _check_file(connection: sqlite3.Connection, link: TrackedFile, data_dir: Path, tally: ReplaceTally) -> None:
    found = connection.execute("SELECT id, content_version, sha256, blob FROM files WHERE uuid = ?", (link.uuid,))
    file_id, version, sha256, blob = found.fetchone()
    revisions = connection.execute(
        "SELECT content_version FROM revisions WHERE file_id = ? ORDER BY content_version", (file_id,)
    ).fetchall()
    told = connection.execute(
        "SELECT COUNT(*) FROM activity_rows WHERE file_id = ? AND event = 'content.replaced'", (file_id,)
    ).fetchone()[0]
    if (version, sha256) not in ((link.version, link.sha256), (link.version + 1, link.pending_sha256)):
        tally.problems.append(f"version {version} of {link.uuid} is not what was acknowledged")
    if revisions != [(number,) for number in range(1, version + 1)] or told != version - 1:
        tally.problems.append(f"{link.uuid} has revisions {revisions} and {told} events at version {version}")
    try:
        has_bytes = hashlib.sha256(decrypt_offline(data_dir, connection, blob)).hexdigest() == sha256
    except (OSError, ValueError):
        has_bytes = False
    if not has_bytes:
        tally.problems.append(f"the bytes of {link.uuid} are gone or not its own")
    link.version, link.sha256 = version, sha256
