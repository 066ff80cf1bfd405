"""Rejected attempts to open a link, recorded as ``access.denied``."""

import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from peewee import OperationalError
from werkzeug.test import TestResponse

from docshare.server.services.links import denials
from docshare.server.workers import jobs
from tests.support.engines.database import record_all
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.outside.queued_deliveries import create_webhook_for, delivery_bodies, list_activity
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import World, make_runtime
from tests.support.people.gate_client import GateClient
from tests.support.people.reader import DESKTOP

(WRITE_DENIALS_JOB,) = (job for job in jobs.JOBS if job.name == "record denied views")
UNKNOWN = {"shortId": "AbCdEfGhIjK1", "uuid": "00000000-0000-4000-8000-000000000000"}


@pytest.fixture
def revoked_variant(world: World, uploaded_file: dict[str, Any]) -> dict[str, Any]:
    """Return a revoked variant of the file."""
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    row: dict[str, Any] = world.pia.post(path, json={"label": "Ada"}).get_json()
    assert world.pia.put(f"{path}/{row['uuid']}", json={"revoked": True}).status_code == 200
    return row


def request_path(world: World, path: str, *, http: Any = None, method: str = "GET", **headers: str) -> TestResponse:
    """Request ``path`` as a browser; ``headers`` have ``_`` for ``-``."""
    sent = {"User-Agent": DESKTOP} | {name.replace("_", "-"): value for name, value in headers.items()}
    answer: TestResponse = (http or world.http).open(f"/{path}", method=method, headers=sent, buffered=True)
    return answer


def list_denials(world: World) -> list[dict[str, Any]]:
    """Advance the clock by a minute and return the data of every ``access.denied``."""
    world.clock.advance(minutes=1)
    jobs.run_job(world.rt, WRITE_DENIALS_JOB)
    return [row["data"] for row in list_activity(world, "since=1&kind=access.denied")]


def expire_file(world: World, made: dict[str, Any]) -> None:
    update_file_row(world, made["uuid"], delete_at=world.clock.now)


def burn_file(world: World, made: dict[str, Any]) -> None:
    put_settings(world, made, viewLimit=1)
    assert GateClient(world, made["shortId"]).enter()


def test_a_wrong_password_is_recorded(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, password="right")
    guest = GateClient(world, uploaded_file["shortId"])
    assert guest.submit("wrong").status_code == 403
    assert not guest.enter("Wrong")
    assert guest.enter("right")
    data = {"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf", "reason": "password", "count": 2}
    found = list_denials(world)
    assert found == [data]
    assert list(found[0]) == list(data)


def test_an_address_of_another_domain_is_recorded(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, requireEmail=True, gateDomains=["a.example"])
    guest = GateClient(world, uploaded_file["shortId"], prefix="/embed")
    assert guest.submit(email="ada@b.example").status_code == 403
    assert [(row["reason"], row["count"]) for row in list_denials(world)] == [("domain", 1)]


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
@pytest.mark.parametrize("prefix", ["", "embed/"])
def test_opening_a_revoked_link_is_recorded_with_its_variant(
    world: World, uploaded_file: dict[str, Any], revoked_variant: dict[str, Any], shape: str, prefix: str
) -> None:
    assert request_path(world, prefix + revoked_variant[shape]).status_code == 404
    (found,) = list_denials(world)
    assert list(found.items()) == [
        ("fileUuid", uploaded_file["uuid"]),
        ("fileName", "report.pdf"),
        ("reason", "revoked"),
        ("count", 1),
        ("variantUuid", revoked_variant["uuid"]),
    ]


@pytest.mark.parametrize(("ends", "reason"), [(expire_file, "expired"), (burn_file, "burned")])
@pytest.mark.parametrize("prefix", ["", "embed/"])
def test_opening_an_ended_link_is_recorded(
    world: World, uploaded_file: dict[str, Any], ends: Callable[[World, dict[str, Any]], None], reason: str, prefix: str
) -> None:
    ends(world, uploaded_file)
    if reason == "expired":
        assert request_path(world, prefix + uploaded_file["shortId"]).status_code == 410
    else:
        world.clock.advance(minutes=30)
        assert request_path(world, prefix + uploaded_file["uuid"]).status_code == 410
    assert [(row["reason"], row["count"]) for row in list_denials(world)] == [(reason, 1)]


def test_the_variant_is_recorded_even_if_the_file_has_ended(world: World, uploaded_file: dict[str, Any]) -> None:
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()
    expire_file(world, uploaded_file)
    request_path(world, variant["shortId"])
    request_path(world, uploaded_file["shortId"])
    assert [(row["reason"], row.get("variantUuid")) for row in list_denials(world)] == [
        ("expired", None),
        ("expired", variant["uuid"]),
    ]


def test_each_minute_is_one_row_that_is_written_afterward_and_never_changes(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """A row that a client may already have read must not change."""
    expire_file(world, uploaded_file)
    world.clock.advance(seconds=20)  # the clock starts 20 seconds into a minute
    for _ in range(3):
        request_path(world, uploaded_file["shortId"])
        world.clock.advance(seconds=5)
        jobs.run_job(world.rt, WRITE_DENIALS_JOB)
        assert list_activity(world) == []
    world.clock.advance(seconds=4.999)
    request_path(world, uploaded_file["shortId"])
    world.clock.advance(milliseconds=1)
    request_path(world, uploaded_file["shortId"])  # the next minute
    world.clock.advance(seconds=15 if world.rt.db.is_shared else 0)  # other instances may have counted too
    jobs.run_job(world.rt, WRITE_DENIALS_JOB)
    (first,) = list_activity(world)
    assert (first["id"], first["event"], first["timestamp"]) == (2, "access.denied", "2026-09-21T14:14:00.000Z")
    assert first["data"]["count"] == 4
    request_path(world, uploaded_file["shortId"])
    world.clock.advance(minutes=1)
    jobs.run_job(world.rt, WRITE_DENIALS_JOB)
    kept, second = list_activity(world)
    assert kept == first
    assert (second["timestamp"], second["data"]["count"]) == ("2026-09-21T14:15:00.000Z", 2)
    assert count_rows(world, "denials") == 0


@pytest.mark.parametrize("bursts", [(1_500,), (600, 600), (1_500, 1)])
def test_the_count_per_minute_is_limited_to_1000(
    world: World, uploaded_file: dict[str, Any], bursts: tuple[int, ...]
) -> None:
    """The limit applies per minute, whether the counts are written at once or in several steps."""
    expire_file(world, uploaded_file)
    for burst in bursts:
        for _ in range(burst):
            world.rt.denials.add(1, "expired", 0, world.clock)
        jobs.run_job(world.rt, WRITE_DENIALS_JOB)
    assert [row["count"] for row in list_denials(world)] == [1_000]


def test_the_number_of_different_denials_is_bounded(world: World, uploaded_file: dict[str, Any]) -> None:
    for number in range(12_000):
        world.rt.denials.add(1, "revoked", number, world.clock)
    counts, _ = world.rt.denials.take_counts(world.clock)
    assert len(counts) == 10_000


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("HEAD", {}),
        ("GET", {"User_Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}),
        ("GET", {"User_Agent": "Googlebot/2.1"}),
        ("GET", {"User_Agent": "curl/8.5.0"}),
        ("GET", {"User_Agent": ""}),
        ("GET", {"Sec_Purpose": "prefetch"}),
        ("GET", {"Purpose": "prefetch"}),
        ("GET", {"X_Moz": "prefetch"}),
    ],
)
def test_automatic_requests_are_not_recorded(
    world: World, uploaded_file: dict[str, Any], revoked_variant: dict[str, Any], method: str, headers: dict[str, str]
) -> None:
    """Known programs, link previews, prefetches and HEAD requests do not count."""
    expire_file(world, uploaded_file)
    for name in (uploaded_file["shortId"], revoked_variant["shortId"]):
        request_path(world, name, method=method, **headers)
    assert list_denials(world) == []


def test_attempts_by_the_owner_are_not_recorded(
    world: World, uploaded_file: dict[str, Any], revoked_variant: dict[str, Any]
) -> None:
    put_settings(world, uploaded_file, password="right")
    http = sign_in_browser(world, world.pia)
    http.post(f"/{uploaded_file['shortId']}/enter", data={"password": "wrong"})
    request_path(world, revoked_variant["shortId"], http=http)
    expire_file(world, uploaded_file)
    request_path(world, uploaded_file["shortId"], http=http)
    assert list_denials(world) == []
    request_path(world, uploaded_file["shortId"], http=sign_in_browser(world, world.mal))
    assert [row["count"] for row in list_denials(world)] == [1]


def test_requests_of_an_open_page_are_not_recorded(world: World, uploaded_file: dict[str, Any]) -> None:
    expire_file(world, uploaded_file)
    pages = ("pages/1-800.jpg?v=1", "tiles/1/400/0-0.jpg?v=1", "text/1.json?v=1", "outline.json?v=1")
    for path in (*pages, "search?v=1&q=page", "feedback"):
        assert request_path(world, f"{uploaded_file['shortId']}/{path}").status_code == 410
    assert request_path(world, f"api/files/{uploaded_file['shortId']}/metadata").status_code == 410
    assert list_denials(world) == []


def test_unknown_and_trashed_links_are_not_recorded(
    world: World, uploaded_file: dict[str, Any], revoked_variant: dict[str, Any]
) -> None:
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    for name in (
        *UNKNOWN.values(),
        uploaded_file["shortId"],
        revoked_variant["shortId"],
        revoked_variant["uuid"],
        "my-report",
        "favicon.ico",
    ):
        assert request_path(world, name).status_code == 404
    world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/restore")
    assert list_denials(world) == []


def test_attempts_on_a_file_without_an_owner_are_not_recorded(world: World) -> None:
    file = share_anonymously(world, days=0)
    assert request_path(world, file.short_id).status_code == 410
    assert list_denials(world) == []
    assert count_rows(world, "denials") == count_rows(world, "activity_rows") == 0


def test_files_and_variants_deleted_meanwhile_are_handled(
    world: World, uploaded_file: dict[str, Any], revoked_variant: dict[str, Any]
) -> None:
    other = world.pia.upload()
    expire_file(world, other)
    request_path(world, other["shortId"])
    request_path(world, revoked_variant["shortId"])
    jobs.run_job(world.rt, WRITE_DENIALS_JOB)
    request_path(world, other["shortId"])
    world.pia.delete(f"/api/v1/files/{other['uuid']}?purge=1")
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}/variants/{revoked_variant['uuid']}")
    (found,) = list_denials(world)
    assert list(found) == ["fileUuid", "fileName", "reason", "count"]


def test_a_rejected_attempt_is_not_sent_to_webhooks(world: World, uploaded_file: dict[str, Any]) -> None:
    create_webhook_for(world)
    expire_file(world, uploaded_file)
    request_path(world, uploaded_file["shortId"])
    assert len(list_denials(world)) == 1
    assert delivery_bodies(world) == []


def test_counts_of_the_current_minute_survive_a_restart(
    world: World, uploaded_file: dict[str, Any], revoked_variant: dict[str, Any]
) -> None:
    request_path(world, revoked_variant["shortId"])
    jobs.run_job(world.rt, WRITE_DENIALS_JOB)
    again = make_runtime(world.rt.config.data_dir, world.clock, world.rt.engine)
    again.denials.add(1, "revoked", 1, world.clock)
    denials.flush_counts(again)
    again.db.close()
    assert [row["count"] for row in list_denials(world)] == [2]


def test_counts_wait_until_the_database_can_be_written(
    world: World, revoked_variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    request_path(world, revoked_variant["shortId"])
    with monkeypatch.context() as patch:
        patch.setattr(world.rt.db, "write", refuse_writes)
        jobs.run_job(world.rt, WRITE_DENIALS_JOB)
        request_path(world, revoked_variant["shortId"])
        jobs.run_job(world.rt, WRITE_DENIALS_JOB)
    assert [row["count"] for row in list_denials(world)] == [2]


def refuse_writes(*_: Any) -> Any:
    raise OperationalError("database or disk is full")


def record_request_statements(world: World, path: str) -> list[str]:
    """Return the SQL statements of a reader's request, without link names."""
    request_path(world, "no-such-link-at-all")  # the first request of a thread opens its connection
    with world.rt.db.write():
        pass  # clear the cache
    with record_all(world.rt.db) as seen:
        request_path(world, path)
    return [text.replace(path.rpartition("/")[2], "?") for text in seen]


@pytest.mark.parametrize("shape", ["shortId", "uuid"])
@pytest.mark.parametrize("prefix", ["", "embed/"])
def test_revoked_and_unknown_links_execute_the_same_statements(
    world: World, revoked_variant: dict[str, Any], shape: str, prefix: str
) -> None:
    """Otherwise the response time would reveal that the link existed; neither request writes anything."""
    seen = record_request_statements(world, prefix + revoked_variant[shape])
    assert seen == record_request_statements(world, prefix + UNKNOWN[shape])
    assert len(seen) >= 3
    assert [text for text in seen if not text.startswith("SELECT")] == []


def test_revoked_and_unknown_links_respond_equally_fast(make: Callable[..., World]) -> None:
    """The median difference of pairs of samples is at most 2 ms."""
    world = make(address_limit=10_000)
    made = world.pia.upload()
    path = f"/api/v1/files/{made['uuid']}/variants"
    variant = world.pia.post(path).get_json()
    world.pia.put(f"{path}/{variant['uuid']}", json={"revoked": True})
    gaps = []
    for pair in range(300):
        names = (variant["shortId"], UNKNOWN["shortId"])
        took = {}
        for name in names[:: 1 if pair % 2 else -1]:
            began = time.perf_counter()
            assert request_path(world, name).status_code == 404
            took[name] = time.perf_counter() - began
        gaps.append(took[names[0]] - took[names[1]])
    assert abs(statistics.median(gaps)) < 0.002


def test_concurrent_attempts_are_all_counted(world: World, uploaded_file: dict[str, Any]) -> None:
    expire_file(world, uploaded_file)
    threads = [
        threading.Thread(target=lambda: [request_path(world, uploaded_file["shortId"]) for _ in range(10)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        jobs.run_job(world.rt, WRITE_DENIALS_JOB)
        thread.join()
    assert [row["count"] for row in list_denials(world)] == [40]
