"""Kill a server at random moments during uploads, and see what is left."""

import hashlib
import random
import sqlite3
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.support.moments import random_moment
from tests.support.pdfs import simple_pdf
from tests.support.server_process import ServerProcess, run_server


@dataclass
class UploadTally:
    """What happened over all rounds: uploads the server said yes to, and everything that should not be."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # uuid -> SHA-256
    kills: int = 0
    lost_uploads: list[str] = field(default_factory=list)
    damaged_files: list[str] = field(default_factory=list)
    orphans: int = 0
    partials: int = 0
    restart_seconds: list[float] = field(default_factory=list)


def kill_during_uploads(folder: Path, rounds: int, seed: int, *, size: int = 200_000) -> UploadTally:
    """``rounds`` times: start on the same data, upload from four threads, SIGKILL at a random moment; check each start.

    ``size``: bytes of padding per PDF, so that kills fall into the middle of bodies.
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
    known = _read_rows(server.data_dir / "docshare.db", tally)
    blobs = {path.name: path for path in (server.data_dir / "blobs").rglob("*") if path.is_file()}
    tally.partials += len([path for path in (server.data_dir / "tmp").iterdir() if path.is_file()])
    tally.orphans += len(blobs.keys() - {blob for blob, _ in known.values()})
    tally.lost_uploads += [uuid for uuid in tally.acknowledged if uuid not in known]
    for uuid, (blob, sha256) in known.items():
        if blob not in blobs:
            tally.damaged_files.append(f"{uuid}: its bytes are gone")
        elif hashlib.sha256(blobs[blob].read_bytes()).hexdigest() != sha256:
            tally.damaged_files.append(f"{uuid}: its bytes changed")
        elif tally.acknowledged.get(uuid, sha256) != sha256:
            tally.damaged_files.append(f"{uuid}: not the bytes that were sent")


def _read_rows(database: Path, tally: UploadTally) -> dict[str, tuple[str, str]]:
    # The server owns the live file, so only read, and only while it idles right after its start.
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            tally.damaged_files.append("integrity_check failed")
        return {
            uuid: (blob, sha256) for uuid, blob, sha256 in connection.execute("SELECT uuid, blob, sha256 FROM files")
        }
    finally:
        connection.close()
