"""Listeners of ``docshare webhooks listen`` in the server: they live as long as they say that they do."""

from __future__ import annotations

from typing import Any

import pytest

from docshare.contract.problems import Problem
from docshare.contract.signing import verify
from docshare.server.admin import run_command
from docshare.server.services.events import listeners
from docshare.server.workers import jobs
from docshare.server.workers.dispatcher import deliver_due
from tests.support.cast import Person, World
from tests.support.pdfs import simple_pdf
from tests.support.receivers import FAILING_SCRIPTS, open_receiver, record_replacements

URL = "http://127.0.0.1:4000/"
EVENT_KINDS = [
    "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
    "content.replaced", "invite.viewed", "proofing.updated",
]  # fmt: skip


def start_listener(world: World, url: str = URL, person: Person | None = None, **more: str) -> dict[str, Any]:
    """Return a listener of Pia's, unless another person is given."""
    answer = run_command(world.rt, "listen start", {"url": url, "account": (person or world.pia).uuid, **more})
    assert isinstance(answer, dict)
    return answer


def waiting_events(world: World) -> list[str]:
    return [event for (event,) in world.rt.db.fetch_all("SELECT event FROM deliveries ORDER BY id")]


def webhook_uuids(world: World) -> list[str]:
    return [uuid for (uuid,) in world.rt.db.fetch_all("SELECT uuid FROM webhooks")]


@pytest.fixture
def deck(world: World) -> str:
    return str(world.pia.upload(simple_pdf(pages=1))["uuid"])


def test_a_listener_is_told_with_its_own_secret(world: World, deck: str) -> None:
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


def test_what_a_listener_refuses_is_sent_again_after_a_minute(world: World, deck: str) -> None:
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


def test_a_listener_can_be_tested_and_that_counts_for_nothing(world: World, deck: str) -> None:
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


def test_who_is_gone_cannot_be_tested(world: World) -> None:
    made = start_listener(world)
    world.clock.advance(seconds=60)
    with pytest.raises(Problem) as refused:
        run_command(world.rt, "listen test", {"uuid": made["uuid"]})
    assert refused.value.code == "not_found"


@pytest.mark.parametrize(("seconds", "told"), [(59, ["content.replaced"]), (60, [])])
def test_a_listener_is_told_for_a_minute_after_its_last_sign(
    world: World, deck: str, seconds: int, told: list[str]
) -> None:
    start_listener(world)
    world.clock.advance(seconds=seconds)
    record_replacements(world, deck)
    assert waiting_events(world) == told


def test_a_sign_of_life_gives_it_another_minute(world: World, deck: str) -> None:
    made = start_listener(world)
    world.clock.advance(seconds=50)
    assert run_command(world.rt, "listen keep", {"uuid": made["uuid"]}) == {
        "uuid": made["uuid"], "until": "2026-09-21T14:15:10.000Z",
    }  # fmt: skip
    world.clock.advance(seconds=59)
    record_replacements(world, deck)
    assert waiting_events(world) == ["content.replaced"]


def test_a_sign_that_comes_too_late_is_told_so(world: World) -> None:
    made = start_listener(world)
    world.clock.advance(seconds=60)
    with pytest.raises(Problem) as refused:
        run_command(world.rt, "listen keep", {"uuid": made["uuid"]})
    assert refused.value.code == "not_found"


def test_who_gave_no_sign_is_forgotten_with_what_waits(world: World, deck: str) -> None:
    gone, there = start_listener(world), start_listener(world)
    record_replacements(world, deck)
    world.clock.advance(seconds=59)
    run_command(world.rt, "listen keep", {"uuid": there["uuid"]})
    assert listeners.delete_expired(world.rt) == 0
    world.clock.advance(seconds=1)
    assert listeners.delete_expired(world.rt) == 1
    assert webhook_uuids(world) == [there["uuid"]]
    assert gone["uuid"] not in webhook_uuids(world)
    assert len(waiting_events(world)) == 1


def test_forgetting_is_one_of_the_jobs() -> None:
    assert listeners.delete_expired in [job.run for job in jobs.JOBS if job.interval_s <= 5]


def test_a_stop_forgets_it_at_once_with_what_waits(world: World, deck: str) -> None:
    made = start_listener(world)
    record_replacements(world, deck)
    for _ in range(2):  # the second time it is gone already
        assert run_command(world.rt, "listen stop", {"uuid": made["uuid"]}) == {"uuid": made["uuid"]}
    assert (webhook_uuids(world), waiting_events(world)) == ([], [])


def test_an_ordinary_webhook_is_no_listener(world: World) -> None:
    made = start_listener(world)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE webhooks SET listens_until = NULL")
    run_command(world.rt, "listen stop", {"uuid": made["uuid"]})
    with pytest.raises(Problem):
        run_command(world.rt, "listen keep", {"uuid": made["uuid"]})
    world.clock.advance(days=1)
    assert listeners.delete_expired(world.rt) == 0
    assert webhook_uuids(world) == [made["uuid"]]


def test_kinds_and_file_narrow_what_is_told(world: World, deck: str) -> None:
    other = world.pia.upload(simple_pdf(pages=1))["uuid"]
    start_listener(world, events="content.replaced", file=deck)
    start_listener(world, events="file.burned")
    record_replacements(world, other)
    assert waiting_events(world) == []
    record_replacements(world, deck)
    assert waiting_events(world) == ["content.replaced"]


def test_without_an_account_it_is_the_owners(world: World) -> None:
    assert run_command(world.rt, "listen start", {"url": URL})["account"] == "fay@example.com"


def test_other_accounts_events_are_not_told(world: World, deck: str) -> None:
    start_listener(world, person=world.mal)
    record_replacements(world, deck)
    assert waiting_events(world) == []


def test_a_given_secret_is_taken_and_stored_sealed(world: World) -> None:
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
def test_a_listener_is_on_this_machine_and_nowhere_else(world: World, url: str) -> None:
    with pytest.raises(Problem) as refused:
        start_listener(world, url)
    assert refused.value.code == "bad_request"
    assert webhook_uuids(world) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:4000/", "http://127.9.9.9:4000/x?y=1", "http://[::1]:4000/"])
def test_any_loopback_address_will_do(world: World, url: str) -> None:
    start_listener(world, url)
    assert len(webhook_uuids(world)) == 1


@pytest.mark.parametrize(
    "wish",
    [
        {"events": "file.vewed"}, {"events": "webhook.test"}, {"events": "access.denied"}, {"events": "file.viewed,"},
        {"secret": "a\nb"}, {"secret": "x" * 201},
    ],
)  # fmt: skip
def test_what_is_no_wish_is_refused(world: World, wish: dict[str, str]) -> None:
    with pytest.raises(Problem) as refused:
        start_listener(world, **wish)
    assert refused.value.code == "bad_request"


def test_files_that_are_not_the_accounts_are_all_the_same(world: World, deck: str) -> None:
    trashed = world.pia.upload(simple_pdf(pages=1))["uuid"]
    world.pia.delete(f"/api/v1/files/{trashed}")
    said = set()
    for person, file in [(world.mal, deck), (world.pia, trashed), (world.pia, "zzzzzzzzzzz9"), (world.pia, "no id")]:
        with pytest.raises(Problem) as refused:
            start_listener(world, person=person, file=file)
        said.add((refused.value.code, refused.value.detail))
    assert said == {("not_found", "There is no such file.")}


def test_an_unknown_account_is_told_so(world: World) -> None:
    with pytest.raises(Problem) as refused:
        run_command(world.rt, "listen start", {"url": URL, "account": "00000000-0000-4000-8000-000000000000"})
    assert refused.value.code == "not_found"


def test_listeners_take_no_place_of_the_accounts_webhooks(world: World) -> None:
    for _ in range(30):
        start_listener(world)
    assert world.pia.get("/api/v1/webhooks").get_json() == {"webhooks": []}
