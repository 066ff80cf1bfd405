"""Listeners of ``docshare webhooks listen`` in the server: they expire unless the client renews them."""

from __future__ import annotations

from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.contract.signing import verify
from docshare.server.admin import run_command
from docshare.server.services.events import listeners
from docshare.server.workers import jobs
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.receivers import FAILING_SCRIPTS, open_receiver, record_replacements
from tests.support.people.cast import Person, World

URL = "http://127.0.0.1:4000/"
EVENT_KINDS = [
    "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
    "content.replaced", "invite.viewed", "proofing.updated",
]  # fmt: skip


def start_listener(world: World, url: str = URL, person: Person | None = None, **more: str) -> dict[str, Any]:
    """Start a listener, by default of Pia, and return it."""
    answer = run_command(world.rt, "listen start", {"url": url, "account": (person or world.pia).uuid, **more})
    assert isinstance(answer, dict)
    return answer


def list_queued_events(world: World) -> list[str]:
    return [event for (event,) in world.rt.db.fetch_all("SELECT event FROM deliveries ORDER BY id")]


def list_webhook_uuids(world: World) -> list[str]:
    return [uuid for (uuid,) in world.rt.db.fetch_all("SELECT uuid FROM webhooks")]


@pytest.fixture
def deck(world: World) -> str:
    return str(world.pia.upload(simple_pdf(pages=1))["uuid"])


def test_events_for_a_listener_are_signed_with_its_own_secret(world: World, deck: str) -> None:
    with open_receiver() as program:
        made = start_listener(world, program.url)
        record_replacements(world, deck)
        deliver_due(world.rt)
    (hit,) = program.requests
    assert made["account"] == "pia@example.com"
    assert made["events"] == EVENT_KINDS
    assert made["secret"].startswith("whsec_")
    assert len(made["secret"]) == len("whsec_") + 64
    assert verify(made["secret"], hit.body, hit.headers["x-service-signature"], world.clock.now)


def test_an_event_that_a_listener_rejects_is_retried_after_a_minute(world: World, deck: str) -> None:
    with open_receiver(FAILING_SCRIPTS["5xx"]) as program:
        made = start_listener(world, program.url)
        record_replacements(world, deck)
        deliver_due(world.rt)
        for _ in range(2):
            world.clock.advance(seconds=30)
            run_command(world.rt, "listen keep", {"uuid": made["uuid"]})
            deliver_due(world.rt)
    assert [hit.attempt for hit in program.requests] == [1, 2]
    assert program.requests[0].body == program.requests[1].body


def test_a_test_of_a_listener_does_not_change_its_delivery_status(world: World, deck: str) -> None:
    with open_receiver() as program:
        made = start_listener(world, program.url)
        result = run_command(world.rt, "listen test", {"uuid": made["uuid"]})
        program.set_script(FAILING_SCRIPTS["5xx"])
        refused = run_command(world.rt, "listen test", {"uuid": made["uuid"]})
    assert (result["delivered"], result["status"]) == (True, 200)
    assert (refused["delivered"], refused["status"]) == (False, 503)
    assert {hit.headers["webhook-event"] for hit in program.requests} == {"webhook.test"}
    assert verify(
        made["secret"], program.requests[0].body, program.requests[0].headers["x-service-signature"], world.clock.now
    )
    assert world.rt.db.fetch_all("SELECT failure_count, last_status FROM webhooks") == [(0, None)]


def test_an_expired_listener_cannot_be_tested(world: World) -> None:
    made = start_listener(world)
    world.clock.advance(seconds=60)
    with pytest.raises(Problem) as refused:
        run_command(world.rt, "listen test", {"uuid": made["uuid"]})
    assert refused.value.code == "not_found"


@pytest.mark.parametrize(("seconds", "expected"), [(59, ["content.replaced"]), (60, [])])
def test_a_listener_receives_events_for_a_minute_after_its_last_renewal(
    world: World, deck: str, seconds: int, expected: list[str]
) -> None:
    start_listener(world)
    world.clock.advance(seconds=seconds)
    record_replacements(world, deck)
    assert list_queued_events(world) == expected


def test_a_renewal_extends_a_listener_by_a_minute(world: World, deck: str) -> None:
    made = start_listener(world)
    world.clock.advance(seconds=50)
    assert run_command(world.rt, "listen keep", {"uuid": made["uuid"]}) == {
        "uuid": made["uuid"], "until": "2026-09-21T14:15:10.000Z",
    }  # fmt: skip
    world.clock.advance(seconds=59)
    record_replacements(world, deck)
    assert list_queued_events(world) == ["content.replaced"]


def test_a_renewal_of_an_expired_listener_is_not_found(world: World) -> None:
    made = start_listener(world)
    world.clock.advance(seconds=60)
    with pytest.raises(Problem) as refused:
        run_command(world.rt, "listen keep", {"uuid": made["uuid"]})
    assert refused.value.code == "not_found"


def test_an_expired_listener_is_deleted_with_its_queued_deliveries(world: World, deck: str) -> None:
    expired, renewed = start_listener(world), start_listener(world)
    record_replacements(world, deck)
    world.clock.advance(seconds=59)
    run_command(world.rt, "listen keep", {"uuid": renewed["uuid"]})
    assert listeners.delete_expired(world.rt) == 0
    world.clock.advance(seconds=1)
    assert listeners.delete_expired(world.rt) == 1
    assert list_webhook_uuids(world) == [renewed["uuid"]]
    assert expired["uuid"] not in list_webhook_uuids(world)
    assert len(list_queued_events(world)) == 1


def test_deleting_expired_listeners_is_a_job() -> None:
    assert listeners.delete_expired in [job.run for job in jobs.JOBS if job.interval_s <= 5]


def test_a_stop_deletes_the_listener_and_its_queued_deliveries(world: World, deck: str) -> None:
    made = start_listener(world)
    record_replacements(world, deck)
    for _ in range(2):  # the second stop has no effect
        assert run_command(world.rt, "listen stop", {"uuid": made["uuid"]}) == {"uuid": made["uuid"]}
    assert (list_webhook_uuids(world), list_queued_events(world)) == ([], [])


def test_an_ordinary_webhook_is_not_a_listener(world: World) -> None:
    made = start_listener(world)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE webhooks SET listens_until = NULL")
    run_command(world.rt, "listen stop", {"uuid": made["uuid"]})
    with pytest.raises(Problem):
        run_command(world.rt, "listen keep", {"uuid": made["uuid"]})
    world.clock.advance(days=1)
    assert listeners.delete_expired(world.rt) == 0
    assert list_webhook_uuids(world) == [made["uuid"]]


def test_a_listener_can_be_limited_to_events_and_a_file(world: World, deck: str) -> None:
    other = world.pia.upload(simple_pdf(pages=1))["uuid"]
    start_listener(world, events="content.replaced", file=deck)
    start_listener(world, events="file.burned")
    record_replacements(world, other)
    assert list_queued_events(world) == []
    record_replacements(world, deck)
    assert list_queued_events(world) == ["content.replaced"]


def test_a_listener_without_an_account_belongs_to_the_owner(world: World) -> None:
    assert run_command(world.rt, "listen start", {"url": URL})["account"] == "fay@example.com"


def test_a_listener_does_not_receive_events_of_other_accounts(world: World, deck: str) -> None:
    start_listener(world, person=world.mal)
    record_replacements(world, deck)
    assert list_queued_events(world) == []


def test_a_given_secret_is_used_and_stored_encrypted(world: World) -> None:
    secret = "whsec_of-my-own"
    assert start_listener(world, secret=secret)["secret"] == secret
    ((sealed,),) = world.rt.db.fetch_all("SELECT secret FROM webhooks")
    assert secret.encode() not in bytes(sealed)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:4000/", "http://localhost:4000/", "http://10.0.0.1/", "http://example.com/",
        "http://2130706433/", "http://127.1/", "http://0177.0.0.1/", "http://0.0.0.0:4000/", "http://[::]:4000/",
        "http://127.0.0.1@example.com/", "http://example.com\\@127.0.0.1/", "http://169.254.169.254/", "ftp://127.0.0.1/",
        "127.0.0.1:4000", "http://127.0.0.1:0/", "http://[::ffff:10.0.0.1]/", "http://127.0.0.1:99999/",
    ],
)  # fmt: skip
def test_a_listener_url_must_be_on_this_machine(world: World, url: str) -> None:
    with pytest.raises(Problem) as refused:
        start_listener(world, url)
    assert refused.value.code == "bad_request"
    assert list_webhook_uuids(world) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:4000/", "http://127.9.9.9:4000/x?y=1", "http://[::1]:4000/"])
def test_a_listener_url_can_have_any_loopback_address(world: World, url: str) -> None:
    start_listener(world, url)
    assert len(list_webhook_uuids(world)) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"events": "file.vewed"}, {"events": "webhook.test"}, {"events": "access.denied"}, {"events": "file.viewed,"},
        {"secret": "a\nb"}, {"secret": "x" * 201},
    ],
)  # fmt: skip
def test_invalid_listener_options_are_rejected(world: World, options: dict[str, str]) -> None:
    with pytest.raises(Problem) as refused:
        start_listener(world, **options)
    assert refused.value.code == "bad_request"


def test_foreign_trashed_and_unknown_files_have_the_same_error(world: World, deck: str) -> None:
    trashed = world.pia.upload(simple_pdf(pages=1))["uuid"]
    world.pia.delete(f"/api/v1/files/{trashed}")
    errors = set()
    for person, file in [(world.mal, deck), (world.pia, trashed), (world.pia, "zzzzzzzzzzz9"), (world.pia, "no id")]:
        with pytest.raises(Problem) as refused:
            start_listener(world, person=person, file=file)
        errors.add((refused.value.code, refused.value.detail))
    assert errors == {("not_found", "There is no such file.")}


def test_an_unknown_account_is_not_found(world: World) -> None:
    with pytest.raises(Problem) as refused:
        run_command(world.rt, "listen start", {"url": URL, "account": "00000000-0000-4000-8000-000000000000"})
    assert refused.value.code == "not_found"


def test_listeners_do_not_count_against_the_webhook_limit(world: World) -> None:
    for _ in range(30):
        start_listener(world)
    assert world.pia.get("/api/v1/webhooks").get_json() == {"webhooks": []}
