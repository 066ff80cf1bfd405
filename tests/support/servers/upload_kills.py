"""Kill a server at random moments during uploads, and check the data."""

import hashlib
import random
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.stored_bytes import decrypt_offline
from tests.support.moments import random_moment
from tests.support.servers.server_process import ServerProcess, run_server


@dataclass
class UploadTally:
    """The result of all rounds: the ``acknowledged`` uploads, and the ``problems``."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # uuid -> SHA-256
    kills: int = 0
    lost_uploads: list[str] = field(default_factory=list)
    damaged_files: list[str] = field(default_factory=list)
    orphans: int = 0
    partials: int = 0
    restart_seconds: list[float] = field(default_factory=list)


def kill_during_uploads(folder: Path, rounds: int, seed: int, *, size: int = 200_000) -> UploadTally:
    """``rounds`` times: start on the same data, check it, upload from four threads, and SIGKILL at a random moment.

    ``size``: bytes of padding per PDF, so that some kills happen within a request body.
    """
    chance = random.Random(seed)
    tally = UploadTally()
    for _ in range(rounds):
        began = time.monotonic()
        with run_server(folder, DOCSHARE_RATE_LIMIT="1000000") as server:
            tally.restart_seconds.append(time.monotonic() - began)
            _check_data(server, tally)
            _upload_until_killed(server, tally, chance, size)
    with run_server(folder, DOCSHARE_RATE_LIMIT="1000000") as server:
        _check_data(server, tally)
    return tally


def _upload_until_killed(server: ServerProcess, tally: UploadTally, chance: random.Random, size: int) -> None:
    threads = [
        threading.Thread(target=_upload_repeatedly, args=(server, tally, chance.getrandbits(32), size), daemon=True)
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    random_moment(chance, lambda: len(tally.acknowledged), most=6)
    server.process.kill()
    server.process.wait()
    tally.kills += 1
    for thread in threads:
        thread.join()


def _upload_repeatedly(server: ServerProcess, tally: UploadTally, seed: int, size: int) -> None:
    number = 0
    with requests.Session() as http:
        while True:
            number += 1
            content = simple_pdf(pages=1) + b"\n%" + random.Random(f"{seed}-{number}").randbytes(size).hex().encode()
            try:
                answer = http.post(
                    f"{server.url}/api/v1/files", headers=server.headers, files={"file": ("a.pdf", content)}, timeout=20
                )
            except requests.RequestException:
                return
            if answer.status_code != 200:
                tally.damaged_files.append(f"upload answered {answer.status_code}: {answer.text}")
                return
            tally.acknowledged[answer.json()["uuid"]] = hashlib.sha256(content).hexdigest()


def _check_data(server: ServerProcess, tally: UploadTally) -> None:
    blobs = {path.name: path for path in (server.data_dir / "blobs").rglob("*") if path.is_file()}
    tally.partials += len([path for path in (server.data_dir / "tmp").iterdir() if path.is_file()])
    # The server holds the database, so only read it, and only while the server is idle after its start.
    with closing(sqlite3.connect(f"file:{server.data_dir / 'docshare.db'}?mode=ro", uri=True)) as connection:
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            tally.damaged_files.append("integrity_check failed")
        rows = connection.execute("SELECT uuid, blob, sha256 FROM files").fetchall()
        keys = {blob for (blob,) in connection.execute("SELECT blob FROM data_keys")}
        for uuid, blob, sha256 in rows:
            if blob not in blobs:
                tally.damaged_files.append(f"{uuid}: its bytes are gone")
            elif not _has_bytes(server.data_dir, connection, blob, sha256):
                tally.damaged_files.append(f"{uuid}: its bytes changed")
            elif tally.acknowledged.get(uuid, sha256) != sha256:
                tally.damaged_files.append(f"{uuid}: not the bytes that were sent")
    known = {uuid: blob for uuid, blob, _ in rows}
    tally.orphans += len((blobs.keys() | keys) - set(known.values()))
    tally.lost_uploads += [uuid for uuid in tally.acknowledged if uuid not in known]


def _has_bytes(data_dir: Path, connection: sqlite3.Connection, blob: str, sha256: str) -> bool:
    try:
        return hashlib.sha256(decrypt_offline(data_dir, connection, blob)).hexdigest() == sha256
    except (OSError, ValueError):
        return False
