"""Three instances behind nginx while each of their dependencies fails once: no acknowledged write is lost.

``python -m tests.torture.cluster [SECONDS [CLIENTS]]``; by default 300 seconds and 20 clients that upload, replace,
read, download and tail the feed. Every ten seconds one instance is killed (SIGKILL) and restarted. Once each,
PostgreSQL is restarted and is down for 30 seconds, the object store is down for 30 seconds, an instance is suspended
(SIGSTOP) for as long, and Redis is stopped.
"""

import itertools
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.cluster import Cluster, ClusterInstance, run_cluster
from tests.support.engines.object_store import ObjectStore, run_object_store
from tests.support.engines.postgresql import PostgresqlServer, run_postgresql_server
from tests.support.engines.redis import RedisServer, run_redis
from tests.support.outside.receivers import FakeReceiver, open_receiver
from tests.support.polling import wait_until

INSTANCES = 3
_KILL_EVERY_S = 10.0
_TIMEOUT_S = 90
_SETTLE_S = 150.0  # a failed delivery is retried after a minute
_EXPECTED = {200, 201, 204, 303, 304}


@dataclass
class ClusterTally:
    """``uploads``: acknowledged UUIDs by the unique name of the file; ``unknown``: names of uploads whose
    connection was cut; ``versions``: the last acknowledged version of each file; ``downloads``: number of
    acknowledged downloads; ``seen``: the feed ids that each tailing client received, in order."""

    uploads: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    versions: dict[str, int] = field(default_factory=dict)
    downloads: int = 0
    seen: list[list[int]] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    kills: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Client:
    """A client that sends requests through nginx until ``is_over`` and checks every response."""

    def __init__(self, cluster: Cluster, tally: ClusterTally, is_over: threading.Event, number: int) -> None:
        self._cluster, self._tally, self._is_over = cluster, tally, is_over
        self._chance = random.Random(number)
        self._numbers = itertools.count()
        self._number = number
        self._http = cluster.open_session()

    def send(self, method: str, path: str, *, is_owner: bool = True, **more: Any) -> requests.Response | None:
        """Send a request; return the response, or None if the connection was cut and the outcome is unknown."""
        address = f"10.{self._number >> 8 & 255}.{self._number & 255}.{self._chance.randrange(256)}"
        headers = self._cluster.headers if is_owner else {"X-Forwarded-For": address}
        try:
            answer = self._http.request(
                method, f"{self._cluster.url}{path}", headers=headers, timeout=_TIMEOUT_S, allow_redirects=False, **more
            )
        except requests.RequestException:
            return None
        with self._tally.lock:
            self._tally.statuses[answer.status_code] += 1
        is_from_nginx = answer.headers.get("Server", "").startswith("nginx")
        if answer.status_code == 504 or (is_from_nginx and answer.status_code == 502):
            return None  # the instance was killed or suspended, or lost PostgreSQL during a commit
        if answer.status_code == 503 and "Retry-After" not in answer.headers:
            self._report(f"{method} {path}: 503 without Retry-After")
        elif answer.status_code not in _EXPECTED | {503}:
            self._report(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return answer

    def _report(self, problem: str) -> None:
        with self._tally.lock:
            self._tally.problems.append(problem)

    def upload(self) -> None:
        """Upload a file; retry after each 503, which guarantees that nothing was stored."""
        name = f"c{self._number}-{next(self._numbers)}.pdf"
        pdf = simple_pdf(pages=self._number % 3 + 1)
        while not self._is_over.is_set():
            answer = self.send("POST", "/api/v1/files", files={"file": (name, pdf)})
            with self._tally.lock:
                if answer is None:
                    self._tally.unknown.add(name)
                elif answer.status_code == 200:
                    self._tally.uploads[name] = answer.json()["uuid"]
                    self._tally.versions[answer.json()["uuid"]] = 1
            if answer is None or answer.status_code != 503:
                return
            self._is_over.wait(0.5)

    def replace(self) -> None:
        """Replace a document of this client; other clients do not replace it."""
        with self._tally.lock:
            own = [uuid for name, uuid in self._tally.uploads.items() if name.startswith(f"c{self._number}-")]
        if not own:
            return
        uuid = self._chance.choice(own)
        files = {"file": ("next.pdf", simple_pdf(pages=2))}
        answer = self.send("POST", f"/api/v1/files/{uuid}/content", files=files)
        if answer is not None and answer.status_code == 200:
            with self._tally.lock:
                self._tally.versions[uuid] = answer.json()["contentVersion"]

    def read(self) -> None:
        """View a page and download the document, as a reader."""
        with self._tally.lock:
            uploaded = list(self._tally.uploads.values())
        if not uploaded:
            return
        uuid = self._chance.choice(uploaded)
        found = self.send("GET", f"/api/v1/files/{uuid}")
        if found is None or found.status_code != 200:
            return
        short_id, version = found.json()["shortId"], found.json()["contentVersion"]
        self.send("GET", f"/{short_id}", is_owner=False)
        image = self._http.get(f"{self._cluster.url}/{short_id}/pages/1-800.jpg?v={version}", timeout=_TIMEOUT_S)
        if image.status_code == 500:
            self._report(f"a page image: 500 {image.text[:200]}")
        answer = self.send("POST", f"/{short_id}/download", is_owner=False)
        if answer is not None and answer.status_code == 200:
            with self._tally.lock:
                self._tally.downloads += 1

    def work(self) -> None:
        """Run random actions until ``is_over``."""
        while not self._is_over.is_set():
            action = self._chance.choice((self.upload, self.replace, self.read, self.read))
            try:
                action()
            except requests.RequestException:
                continue  # the connection was cut

    def tail(self, seen: list[int], is_settled: threading.Event) -> None:
        """Poll the feed of downloads from the last id; read it to its end after ``is_settled``."""
        while True:
            last_round = is_settled.is_set()
            query = {"type": "download", "limit": 100, "since": seen[-1] if seen else 1}
            answer = self.send("GET", "/api/v1/events", params=query)
            rows = answer.json() if answer is not None and answer.status_code == 200 else []
            seen += [row["id"] for row in rows]
            if last_round and answer is not None and answer.status_code == 200 and not rows:
                return
            if not rows:
                time.sleep(0.1)


@dataclass
class Engines:
    """The dependencies of the instances."""

    database: PostgresqlServer
    redis: RedisServer
    objects: ObjectStore

    def list_outages(self, instance: ClusterInstance, outage_s: float) -> list[Callable[[], None]]:
        """Return the outages, in order; ``instance`` is suspended during one of them."""

        def restart_database(pause_s: float = 0.0) -> None:
            self.database.stop(signal.SIGINT)
            time.sleep(pause_s)
            self.database.start()

        def suspend_instance() -> None:
            process = instance.process
            process.send_signal(signal.SIGSTOP)
            time.sleep(outage_s)
            process.send_signal(signal.SIGCONT)  # unless it was killed meanwhile

        def stop_objects() -> None:
            self.objects.stop()
            time.sleep(outage_s)
            self.objects.start()

        def stop_redis() -> None:
            self.redis.kill()
            time.sleep(outage_s / 3)
            self.redis.start()

        return [restart_database, stop_objects, suspend_instance, lambda: restart_database(outage_s), stop_redis]


def run_chaos(folder: Path, seconds: float, clients: int, *, outage_s: float = 30.0) -> ClusterTally:
    """Run the clients for ``seconds`` while instances and engines fail; return the results and the errors."""
    tally = ClusterTally()
    with (
        run_postgresql_server() as database,
        run_redis() as redis,
        run_object_store() as objects,
        open_receiver() as receiver,
    ):
        engines = Engines(database, redis, objects)
        settings = {
            "REDIS_URL": redis.url, "STORAGE_URL": objects.make_url(objects.create_bucket()), **objects.environ,
            "RATE_LIMIT": "1000000", "ADDRESS_LIMIT": "1000000", "WEBHOOK_ALLOW": "127.0.0.0/8",
        }  # fmt: skip
        with run_cluster(folder, INSTANCES, database.url, **settings) as cluster:
            hook = {"url": receiver.url, "events": ["content.replaced"]}
            made = requests.post(
                f"{cluster.instances[0].url}/api/v1/webhooks", json=hook, headers=cluster.headers, timeout=60
            )
            assert made.status_code == 201, made.text
            _run_clients(cluster, engines, tally, seconds, clients, outage_s)
            _check_end(cluster, tally, receiver)
            if "Traceback" in (log := cluster.read_logs()):
                tally.problems.append(f"a traceback in the log: {log[log.index('Traceback') :][:2000]}")
    return tally


def _run_clients(
    cluster: Cluster, engines: Engines, tally: ClusterTally, seconds: float, clients: int, outage_s: float
) -> None:
    is_over, is_settled = threading.Event(), threading.Event()
    tails = max(1, clients // 5)
    tally.seen = [[] for _ in range(tails)]
    # There is no cursor before the first id, so the first download is not counted for any client.
    first = _Client(cluster, tally, is_over, clients)
    first.upload()
    first.read()
    workers = [
        threading.Thread(target=_Client(cluster, tally, is_over, number).work) for number in range(clients - tails)
    ]
    followers = [
        threading.Thread(target=_Client(cluster, tally, is_over, 1000 + number).tail, args=(seen, is_settled))
        for number, seen in enumerate(tally.seen)
    ]
    for thread in (*workers, *followers):
        thread.start()
    _inject_failures(cluster, engines, tally, seconds, outage_s)
    is_over.set()
    for thread in workers:
        thread.join()
    is_settled.set()
    for thread in followers:
        thread.join()


def _inject_failures(cluster: Cluster, engines: Engines, tally: ClusterTally, seconds: float, outage_s: float) -> None:
    """Kill instances in turn; meanwhile each engine fails once."""
    begun = time.monotonic()
    outages = engines.list_outages(cluster.instances[-1], outage_s)

    def fail_engines() -> None:
        for number, outage in enumerate(outages, start=1):
            time.sleep(max(0.0, begun + seconds * number / (len(outages) + 1) - time.monotonic()))
            outage()

    engine_failures = threading.Thread(target=fail_engines)
    engine_failures.start()
    for instance in itertools.cycle(cluster.instances):
        time.sleep(min(_KILL_EVERY_S, seconds / 5))
        instance.kill()
        tally.kills += 1
        _restart(instance)
        if time.monotonic() - begun >= seconds and not engine_failures.is_alive():
            return


def _restart(instance: ClusterInstance) -> None:
    """Restart the instance like a service manager does: retry while an engine is down."""
    while True:
        try:
            instance.start()
            return
        except AssertionError:  # its log contains the reason
            time.sleep(1)


def _check_end(cluster: Cluster, tally: ClusterTally, receiver: FakeReceiver) -> None:
    """Check that every acknowledged write is present, and wait for the deliveries."""
    client = _Client(cluster, tally, threading.Event(), 10_000)
    listed = requests.get(f"{cluster.instances[0].url}/api/v1/files", headers=cluster.headers, timeout=60).json()
    by_name = Counter(file["originalName"] for file in listed if file["contentVersion"] == 1)
    versions = {file["uuid"]: file["contentVersion"] for file in listed}
    for name, uuid in tally.uploads.items():
        if uuid not in versions:
            tally.problems.append(f"the upload {name} was acknowledged and is lost")
        elif versions[uuid] < tally.versions[uuid]:
            tally.problems.append(f"version {tally.versions[uuid]} of {name} was acknowledged and is lost")
    doubled = [name for name, count in by_name.items() if count > 1 and name not in tally.unknown]
    tally.problems += [f"the upload {name} was stored {by_name[name]} times" for name in doubled]
    for number, uuid in enumerate(tally.uploads.values()):
        url = cluster.instances[number % INSTANCES].url
        content = requests.get(f"{url}/api/v1/files/{uuid}/content", headers=cluster.headers, timeout=60)
        if content.status_code != 200 or not content.content.startswith(b"%PDF"):
            tally.problems.append(f"the document {uuid} cannot be read: {content.status_code}")
    _check_feed(client, tally)
    _check_deliveries(client, tally, receiver)


def _check_feed(client: _Client, tally: ClusterTally) -> None:
    whole: list[int] = []
    settled = threading.Event()
    settled.set()
    client.tail(whole, settled)
    if len(whole) < tally.downloads - 1:
        tally.problems.append(f"{tally.downloads} downloads were acknowledged, the feed has {len(whole)}")
    for seen in tally.seen:
        if seen != whole:
            tally.problems.append(f"a tailing client got {len(seen)} rows, {len(set(whole) - set(seen))} are missing")


def _check_deliveries(client: _Client, tally: ClusterTally, receiver: FakeReceiver) -> None:
    """Check that every acknowledged replacement is delivered at least once."""
    wanted = {(uuid, version) for uuid, last in tally.versions.items() for version in range(2, last + 1)}

    def list_missing() -> set[tuple[str, int]]:
        with receiver.lock:
            got = {_describe_delivery(hit.body) for hit in receiver.requests}
        return wanted - got

    try:
        wait_until(lambda: not list_missing(), seconds=_SETTLE_S)
    except AssertionError:
        missing = sorted(list_missing())
        tally.problems.append(f"{len(missing)} of {len(wanted)} replacements were not delivered, as {missing[0]}")


def _describe_delivery(body: bytes) -> tuple[str, int]:
    """Return the file and its version from the body of a webhook."""
    event = json.loads(body)
    data = event.get("data", event)
    return str(data.get("fileUuid") or data.get("file", {}).get("uuid")), int(data.get("contentVersion", 0))


def main(seconds: int = 300, clients: int = 20) -> int:
    """Run the test, print the results, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        tally = run_chaos(Path(folder), seconds, clients)
    print(f"{seconds} s, {clients} clients, {tally.kills} instances killed, one suspended, each engine failed")
    print("answers by status:", ", ".join(f"{status}: {count}" for status, count in sorted(tally.statuses.items())))
    print(f"{len(tally.uploads)} uploads and {tally.downloads} downloads acknowledged, {len(tally.unknown)} unknown")
    print(f"{sum(last - 1 for last in tally.versions.values())} replacements acknowledged and delivered")
    print(f"{len(tally.problems)} errors", *tally.problems[:20], sep="\n  ")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
