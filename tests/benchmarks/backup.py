"""Back up a server every 30 seconds during a hundred writes a second for five minutes; restore and check each backup.

python -m tests.benchmarks.backup [WRITES_A_SECOND]: uploads, settings, beacons, deletions and purges, which go on while
a backup is restored and checked. At least 90 % of them must be acknowledged.
Then compare the speed of a large backup with ``tar`` and ``sha256sum`` of the same directory, in the same run.
"""

import hashlib
import itertools
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from docshare.contract.wire import format_instant
from docshare.server.backup import reading
from docshare.server.runtime import random_token
from docshare.server.store.blobs import FolderStore
from docshare.server.store.database import Store
from docshare.server.store.migrations import migrate
from tests.benchmarks.comparison import SMALLEST, compare_in_turns, format_verdict, read_amount
from tests.support.clock import START
from tests.support.documents.pdfs import simple_pdf
from tests.support.people.reader import DESKTOP
from tests.support.people.share_page import parse_facts
from tests.support.servers.server_process import ServerProcess, make_env, run_docshare, run_server

BACKUPS, PERIOD_S = (1, 2.0) if SMALLEST else (10, 30.0)
ACKNOWLEDGED_TARGET = 0.9  # of the rate
THREADS = 8
BEACONS_PER_PAGE_LOAD = 50  # beacons until a reader opens the page again
KEPT_FILES = 60  # files that are not deleted; more would be rejected
EXPIRY = 2_000_000_000_000  # ms; each settings write sets the expiry one second further
BLOBS, BLOB_BYTES = 10 if SMALLEST else 300, 1_000_000  # for the speed


@dataclass
class AcknowledgedWrites:
    """Acknowledged writes: digests of stored documents and their last expiry by UUID, and counts."""

    files: dict[str, str] = field(default_factory=dict)
    expiry: dict[str, int] = field(default_factory=dict)
    beacons: int = 0
    writes: int = 0
    rejected: int = 0
    slowest: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def copy(self) -> "AcknowledgedWrites":
        with self.lock:
            return AcknowledgedWrites(dict(self.files), dict(self.expiry), self.beacons, self.writes)


class BackupLoadWriter(threading.Thread):
    """A thread that writes at its share of the rate until ``stop``; it catches up with at most one second."""

    def __init__(
        self, server: ServerProcess, acknowledged: AcknowledgedWrites, rate: float, seed: int, stop: threading.Event
    ) -> None:
        super().__init__(daemon=True)
        self._server, self._acknowledged, self._rate, self._stopping = server, acknowledged, rate, stop
        self._chance = random.Random(seed)
        self._http = requests.Session()
        self._reader: dict[str, Any] | None = None
        self._seq, self._opened_at, self._due = 0, 0.0, time.monotonic()
        self._files: list[str] = []

    def run(self) -> None:
        actions: list[Callable[[], None]] = [self._upload] + [self._write_settings] * 5 + [self._send_beacon] * 4
        self._due = time.monotonic()
        while not self._stopping.wait(max(0.0, self._due - time.monotonic())):
            began = time.monotonic()
            if self._files:
                self._chance.choice(actions)()
            else:
                self._upload()
            with self._acknowledged.lock:
                self._acknowledged.slowest = max(self._acknowledged.slowest, time.monotonic() - began)

    def _count(self, *, is_acknowledged: bool) -> bool:
        """Count one write, and schedule the next; return ``is_acknowledged``."""
        self._due = max(self._due + 1 / self._rate, time.monotonic() - 1)
        with self._acknowledged.lock:
            self._acknowledged.writes += is_acknowledged
            self._acknowledged.rejected += not is_acknowledged
        return is_acknowledged

    def _request(self, method: str, path: str, **more: Any) -> requests.Response:
        headers = self._server.headers | more.pop("headers", {})
        return self._http.request(method, f"{self._server.url}{path}", headers=headers, timeout=60, **more)

    def _upload(self) -> None:
        content = simple_pdf(pages=1) + self._chance.randbytes(2000).hex().encode()
        answer = self._request("POST", "/api/v1/files", files={"file": ("a.pdf", content)})
        if not self._count(is_acknowledged=answer.status_code == 200):
            return
        uuid = answer.json()["uuid"]
        if len(self._files) < KEPT_FILES // THREADS:
            self._files.append(uuid)
            with self._acknowledged.lock:
                self._acknowledged.files[uuid] = hashlib.sha256(content).hexdigest()
            return
        self._count(is_acknowledged=self._request("DELETE", f"/api/v1/files/{uuid}").status_code == 200)
        command = {"command": "trash purge", "args": {"file": uuid}}
        key = {"Authorization": f"Instance {(self._server.data_dir / 'instance.key').read_text().strip()}"}
        purged = self._request("POST", "/_admin", json=command, headers=key)
        self._count(is_acknowledged=purged.status_code == 200)

    def _write_settings(self) -> None:
        uuid = self._chance.choice(self._files)
        expiry = self._acknowledged.expiry.get(uuid, EXPIRY) + 1000
        body = {"deleteAt": format_instant(expiry)}
        answer = self._request("PUT", f"/api/v1/files/{uuid}/settings", json=body)
        if self._count(is_acknowledged=answer.status_code == 200):
            with self._acknowledged.lock:
                self._acknowledged.expiry[uuid] = expiry

    def _send_beacon(self) -> None:
        if self._reader is None or self._seq == BEACONS_PER_PAGE_LOAD:
            page = self._http.get(f"{self._server.url}/{self._files[0]}", headers={"User-Agent": DESKTOP}, timeout=60)
            self._reader, self._seq, self._opened_at = parse_facts(page.text), 0, time.monotonic()
        age = round((time.monotonic() - self._opened_at) * 1000)
        beacon = {"token": self._reader["token"], "part": 0, "seq": self._seq, "ageMs": age}
        beacon |= {"visible": True, "visibleMs": 0, "input": False, "turns": 0, "backTurns": 0, "pages": []}
        self._seq += 1
        answer = self._http.post(
            self._server.url + self._reader["beaconUrl"], json=beacon, headers={"User-Agent": DESKTOP}, timeout=60
        )
        self._count(is_acknowledged=answer.status_code == 204)


def back_up_under_load(folder: Path, rate: float) -> bool:
    """Take, restore and check the backups while writers run; return whether all are complete, and the rate was kept."""
    acknowledged, stop, env = AcknowledgedWrites(), threading.Event(), make_env(folder)
    problems: list[str] = []
    with run_server(folder, DOCSHARE_RATE_LIMIT="1000000", DOCSHARE_ADDRESS_LIMIT="1000000") as server:
        writers = [BackupLoadWriter(server, acknowledged, rate / THREADS, seed, stop) for seed in range(THREADS)]
        for writer in writers:
            writer.start()
        time.sleep(5)
        began, first = time.monotonic(), acknowledged.copy().writes
        for number in range(BACKUPS):
            print(f"backup {number} begins after {time.monotonic() - began:.0f} s")
            expected = acknowledged.copy()
            expected.beacons = _count_beacons(folder / "data")
            done = run_docshare("admin", "backup", str(folder / f"{number}.tar"), "--json", env=env, timeout=300)
            assert done.returncode == 0, done.stderr
            problems += _find_problems(folder, number, expected, env)
            time.sleep(max(0.0, began + (number + 1) * PERIOD_S - time.monotonic()))
        share = (acknowledged.copy().writes - first) / (time.monotonic() - began) / rate
        ended = sum(not writer.is_alive() for writer in writers)
        stop.set()
        for writer in writers:
            writer.join()
        live = run_docshare("admin", "check", env=env, timeout=300)
    is_kept = SMALLEST or share >= ACKNOWLEDGED_TARGET
    print(
        f"{share * rate:.0f} of {rate:g} writes a second acknowledged (target >= {ACKNOWLEDGED_TARGET * rate:g}) "
        f"{format_verdict(is_kept)}, slowest {acknowledged.slowest:.2f} s, rejected {acknowledged.rejected}"
    )
    print(f"{BACKUPS - len({line.split(':')[0] for line in problems})} of {BACKUPS} restored completely")
    problems += [] if live.returncode == 0 else [f"the live instance: {live.stdout}"]
    problems += [f"{ended} writers ended early"] if ended else []
    print(*problems[:20], sep="\n")
    return is_kept and not problems


def _find_problems(folder: Path, number: int, expected: AcknowledgedWrites, env: dict[str, str]) -> list[str]:
    """Return the problems of a restored backup; ``expected``: the writes acknowledged when it began."""
    data = folder / f"restored{number}"
    for command in (["restore", str(folder / f"{number}.tar")], ["check"]):
        done = run_docshare("admin", *command, "--data", str(data), env=env, timeout=300)
        if done.returncode != 0:
            return [f"{number}: {command[0]} ended with {done.returncode}: {done.stdout} {done.stderr}"]
    beacons = _count_beacons(data)
    with closing(sqlite3.connect(data / "docshare.db")) as database:
        found = {row[0]: row[1:] for row in database.execute("SELECT uuid, sha256, delete_at FROM files")}
    lost = [uuid for uuid, digest in expected.files.items() if found.get(uuid, ("",))[0] != digest]
    stale = [uuid for uuid, expiry in expected.expiry.items() if (found.get(uuid, ("", 0))[1] or 0) < expiry]
    print(
        f"backup {number}: {len(found)} files, {beacons} beacons; "
        f"{len(expected.files)} and {expected.beacons} when it began"
    )
    wrong = {"uploads lost": len(lost), "settings lost": len(stale), "beacons lost": max(0, expected.beacons - beacons)}
    return [f"{number}: {count} {what}" for what, count in wrong.items() if count]


def _count_beacons(data: Path) -> int:
    """Return the number of stored beacons; the server silently drops those that it cannot store."""
    with reading.open_database(data / "docshare.db") as database:
        return database.count_rows("beacons")


def measure_speed(folder: Path) -> bool:
    """Compare a large backup with ``tar``, ``sha256sum`` and ``sync`` of the same directory."""
    data = folder / "much" / "data"
    data.mkdir(parents=True)
    db, blobs = Store(data / "docshare.db"), FolderStore(data / "blobs", data / "tmp", lambda: random_token(32))
    migrate(db)
    with db.write():
        db.execute("INSERT INTO accounts (uuid, email, name, plan, created_at) VALUES ('u', 'p@example.com', '', 2, 0)")
        for number in range(BLOBS):
            part = blobs.create_partial()
            part.write(random.Random(number).randbytes(BLOB_BYTES))
            digest, key = part.sha256(), blobs.store(part)
            db.execute(
                "INSERT INTO files (uuid, short_id, owner_id, original_name, size, mime_type, total_pages, page_sizes, "
                "sha256, blob, content_version, created_at, updated_at) "
                "VALUES (?1, ?1, 1, 'a.pdf', ?2, 'application/pdf', 1, '[]', ?3, ?4, 1, ?5, ?5)",
                (f"f{number}", BLOB_BYTES, digest, key, START),
            )
    db.close()
    env, numbers = make_env(folder / "much"), itertools.count()

    def measure_s(run: Callable[[], Any]) -> float:
        began = time.monotonic()
        run()
        return time.monotonic() - began

    def back_up_to_archive() -> None:
        target = folder / "ours.tar"
        done = run_docshare("admin", "backup", str(target), "--force", "--data", str(data), env=env, timeout=600)
        assert done.returncode == 0, done.stderr

    def back_up_to_directory() -> None:
        target = folder / f"kept{next(numbers)}"
        done = run_docshare("admin", "backup", str(target), "--data", str(data), env=env, timeout=600)
        assert done.returncode == 0, done.stderr

    def update_directory() -> None:
        done = run_docshare("admin", "backup", str(folder / "kept0"), "--data", str(data), env=env, timeout=600)
        assert done.returncode == 0, done.stderr

    def run_tar() -> None:
        subprocess.run(["tar", "cf", str(folder / "theirs.tar"), "-C", str(data), "."], check=True)
        find = ["find", str(data), "-type", "f", "-exec", "sha256sum", "{}", "+"]
        subprocess.run(find, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["sync", str(folder / "theirs.tar")], check=True)

    def run_cp() -> None:
        target = folder / f"copied{next(numbers)}"
        subprocess.run(["cp", "-r", str(data), str(target)], check=True)
        subprocess.run(["sync"], check=True)

    print(f"{BLOBS * BLOB_BYTES / 1e6:.0f} MB of content")
    one = compare_in_turns(
        "archive / tar and sha256sum",
        lambda: measure_s(back_up_to_archive),
        lambda: measure_s(run_tar),
        target=3,
        better="less",
        unit="s",
        rounds=3,
    )
    compare_in_turns(
        "directory / cp -r",
        lambda: measure_s(back_up_to_directory),
        lambda: measure_s(run_cp),
        target=3,
        better="less",
        unit="s",
        rounds=2,
    )
    compare_in_turns(
        "again / cp -r",
        lambda: measure_s(update_directory),
        lambda: measure_s(run_cp),
        target=1,
        better="less",
        unit="s",
        rounds=2,
    )
    return one.reached


def main() -> int:
    rate = read_amount(100.0, 10.0)
    with tempfile.TemporaryDirectory() as folder:
        is_complete = back_up_under_load(Path(folder), rate)
        is_fast = measure_speed(Path(folder))
    return 0 if is_complete and is_fast else 1


if __name__ == "__main__":
    sys.exit(main())
