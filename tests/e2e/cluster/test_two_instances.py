"""Two instances behind nginx with TLS act as one."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from docshare.server.store.postgresql import PostgresqlStore
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.cluster import Cluster, run_cluster
from tests.support.engines.postgresql import open_store
from tests.support.engines.redis import run_redis
from tests.support.outside.receivers import open_receiver
from tests.support.people.reader import DESKTOP
from tests.support.people.share_page import parse_facts
from tests.support.polling import wait_until
from tests.support.servers.server_process import run_docshare

READERS = 100


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresqlStore]:
    with open_store("two instances") as store:
        yield store


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, database: PostgresqlStore) -> Iterator[Cluster]:
    shared = tmp_path_factory.mktemp("documents")
    with (
        run_redis() as redis,
        run_cluster(
            tmp_path_factory.mktemp("cluster"), 2, str(database.engine.pool.conninfo),
            REDIS_URL=redis.url, STORAGE_URL=shared.as_uri(), RATE_LIMIT="100000", ADDRESS_LIMIT="100000",
            WEBHOOK_ALLOW="127.0.0.0/8",
        ) as cluster,
    ):  # fmt: skip
        yield cluster


def upload(cluster: Cluster, pages: int = 3) -> dict[str, Any]:
    with cluster.open_session() as http:
        files = {"file": ("report.pdf", simple_pdf(pages=pages))}
        sent = http.post(f"{cluster.url}/api/v1/files", headers=cluster.headers, files=files, timeout=60)
        assert sent.status_code == 200, sent.text
        return dict(sent.json())


def make_beacon(token: str, seq: int) -> dict[str, Any]:
    return {
        "token": token, "part": 0, "seq": seq, "ageMs": (seq + 1) * 2000, "visible": True,
        "visibleMs": 2000, "input": True, "turns": 1, "backTurns": 0,
        "pages": [{"page": seq % 3 + 1, "ms": 2000, "views": 1, "back": 0}],
    }  # fmt: skip


def send_to_instance(cluster: Cluster, number: int, method: str, path: str, **more: Any) -> requests.Response:
    """Send a request with the owner's key directly to one instance, bypassing nginx."""
    url = f"{cluster.instances[number].url}{path}"
    return requests.request(method, url, headers=cluster.headers, timeout=60, **more)


def test_a_session_across_two_instances_is_one_session(cluster: Cluster, database: PostgresqlStore) -> None:
    """One instance serves the page; both serve images and receive beacons in turn."""
    made = upload(cluster)
    with cluster.open_session() as http:
        http.headers["User-Agent"] = DESKTOP
        facts = parse_facts(http.get(f"{cluster.url}/{made['shortId']}", timeout=60).text)
    forwarded = {"User-Agent": DESKTOP, "X-Forwarded-For": "198.51.100.7", "Host": cluster.url.partition("//")[2]}
    for number in range(1, 4):
        server = cluster.instances[number % 2].url
        image = requests.get(f"{server}/{made['shortId']}/pages/{number}-800.jpg?v=1", headers=forwarded, timeout=60)
        assert (image.status_code, image.headers["Content-Type"]) == (200, "image/jpeg")
    for seq in range(6):
        server = cluster.instances[seq % 2].url
        beacon = make_beacon(facts["token"], seq) | {"visible": seq < 5}
        sent = requests.post(f"{server}{facts['beaconUrl']}", json=beacon, headers=forwarded, timeout=60)
        assert sent.status_code in (200, 204), sent.text
    rows = database.fetch_all(
        "SELECT s.time_ms, (SELECT count(*) FROM beacons b WHERE b.session_id = s.id) FROM view_sessions s "
        "JOIN files f ON f.id = s.file_id WHERE f.uuid = ?",
        (made["uuid"],),
    )
    assert [count for _, count in rows] == [6]


def test_a_view_limit_of_one_admits_one_of_100_concurrent_readers_on_two_instances(cluster: Cluster) -> None:
    made = upload(cluster, pages=1)
    api = f"/api/v1/files/{made['uuid']}"
    assert send_to_instance(cluster, 0, "PUT", f"{api}/settings", json={"viewLimit": 1}).status_code == 200
    barrier, answers = threading.Barrier(READERS), list[tuple[int, int]]()

    def read() -> None:
        with cluster.open_session() as browser:
            browser.get(f"{cluster.url}/{made['shortId']}", timeout=120)
            barrier.wait(120)
            entered = browser.post(f"{cluster.url}/{made['shortId']}/enter", allow_redirects=False, timeout=120)
            page = browser.get(f"{cluster.url}/{made['shortId']}/text/1.json?v=1", timeout=120)
            answers.append((entered.status_code, page.status_code))

    threads = [threading.Thread(target=read) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert sorted(answers) == [(303, 200)] + [(410, 410)] * (READERS - 1)
    assert [send_to_instance(cluster, number, "GET", api).json()["viewsConsumed"] for number in range(2)] == [1, 1]


@pytest.mark.parametrize("way", ["deleted", "disabled"])
def test_a_webhook_that_ended_on_one_instance_receives_nothing_from_the_other(
    cluster: Cluster, database: PostgresqlStore, way: str
) -> None:
    made = upload(cluster)
    with open_receiver() as ended, open_receiver() as other:
        first = _create_webhook(cluster, 0, ended.url)
        for number in range(2):
            _replace(cluster, number, made)
            wait_until(lambda number=number: len(ended.requests) == number + 1)
        if way == "deleted":
            assert send_to_instance(cluster, 0, "DELETE", f"/api/v1/webhooks/{first}").status_code == 204
        else:  # as after the last of 20 failed deliveries
            with database.write():
                database.execute("UPDATE webhooks SET disabled_at = ? WHERE uuid = ?", (1, first))
        _create_webhook(cluster, 1, other.url)
        for number in range(2):
            _replace(cluster, 1 - number, made)
            wait_until(lambda number=number: len(other.requests) == number + 1)
        assert len(ended.requests) == 2
        if way == "disabled":
            enabled = send_to_instance(cluster, 1, "POST", f"/api/v1/webhooks/{first}/enable")
            assert enabled.status_code == 200, enabled.text
            _replace(cluster, 0, made)
            wait_until(lambda: (len(ended.requests), len(other.requests)) == (3, 3))


def _create_webhook(cluster: Cluster, number: int, url: str) -> str:
    """Create a webhook through one instance; return its UUID."""
    body = {"url": url, "events": ["content.replaced"]}
    created = send_to_instance(cluster, number, "POST", "/api/v1/webhooks", json=body)
    assert created.status_code == 201, created.text
    return str(created.json()["webhook"]["uuid"])


def _replace(cluster: Cluster, number: int, made: dict[str, Any]) -> None:
    files = {"file": ("second.pdf", simple_pdf(pages=2))}
    done = send_to_instance(cluster, number, "POST", f"/api/v1/files/{made['uuid']}/content", files=files)
    assert done.status_code == 200, done.text


def test_a_key_revoked_on_one_instance_is_rejected_by_the_other_immediately(cluster: Cluster) -> None:
    first = cluster.instances[0]
    made = run_docshare("admin", "key", "create", "owner@example.com", "--json", env=first.env)
    assert made.returncode == 0, made.stderr
    key = json.loads(made.stdout)
    headers = {"Authorization": f"Bearer {key['key']}"}
    for instance in cluster.instances:
        assert requests.get(f"{instance.url}/api/v1/user", headers=headers, timeout=30).status_code == 200
    revoked = run_docshare("admin", "key", "revoke", key["uuid"], "--yes", env=first.env)
    assert revoked.returncode == 0, revoked.stderr
    for instance in reversed(cluster.instances):
        assert requests.get(f"{instance.url}/api/v1/user", headers=headers, timeout=30).status_code == 401


def test_instances_that_restart_one_after_the_other_fail_no_request(cluster: Cluster) -> None:
    path, link = f"/api/v1/files/{upload(cluster)['uuid']}", f"{cluster.url}/{upload(cluster)['shortId']}"
    reader = {"User-Agent": DESKTOP}
    over = threading.Event()
    statuses: list[int] = []

    def send() -> None:
        with cluster.open_session() as http:
            facts = parse_facts(http.get(link, headers=reader, timeout=60).text)
            while not over.is_set():
                read = http.get(f"{cluster.url}{path}", headers=cluster.headers, timeout=60)
                body = {"viewLimit": len(statuses) % 50}
                written = http.put(f"{cluster.url}{path}/settings", json=body, headers=cluster.headers, timeout=60)
                # nginx does not repeat a POST that it has sent on a connection that was just being closed.
                beacon = make_beacon(facts["token"], len(statuses))
                posted = http.post(f"{cluster.url}{facts['beaconUrl']}", json=beacon, headers=reader, timeout=60)
                statuses.extend((read.status_code, written.status_code, posted.status_code))

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for instance in cluster.instances:
            before = len(statuses)
            instance.stop()
            wait_until(lambda: len(statuses) > before + 10)  # noqa: B023 - called in this iteration only
            instance.start()
            assert requests.get(f"{instance.url}/healthz", timeout=30).status_code == 200
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
    assert set(statuses) == {200, 204}


def test_a_document_larger_than_any_buffer_of_nginx_passes_it_unchanged(cluster: Cluster) -> None:
    document = simple_pdf(pages=1) + b"\n%" + bytes(range(14, 256)) * 200_000
    with cluster.open_session() as http:
        files = {"file": ("large.pdf", document)}
        sent = http.post(f"{cluster.url}/api/v1/files", headers=cluster.headers, files=files, timeout=300)
        assert sent.status_code == 200, sent.text
        path = f"{cluster.url}/api/v1/files/{sent.json()['uuid']}/content"
        assert http.get(path, headers=cluster.headers, timeout=300).content == document
        assert http.get(f"{cluster.url}/metrics", timeout=60).status_code == 404
