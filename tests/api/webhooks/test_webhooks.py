"""Webhooks: creation and secret."""

import ipaddress
import json
import re
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor

import pytest

from docshare.server.fair_slots import Ticket
from docshare.server.outbound.addresses import Address
from docshare.server.services.accounts import accounts
from docshare.server.services.accounts.callers import authenticate
from docshare.server.services.webhooks.webhooks import create as create_service
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.database import sqlite_only
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.outside.receivers import record_replacements
from tests.support.people.cast import Person, World
from tests.support.people.webhooks import (
    URL,
    WEBHOOKS_PATH,
    create_webhook,
    list_webhooks,
    post_webhook,
    update_webhook_row,
)

pytestmark = [pytest.mark.world(rate_limit=1_000), pytest.mark.usefixtures("resolve_hosts")]


UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
EVENT_KINDS = [
    "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
    "content.replaced", "invite.viewed", "proofing.updated",
]  # fmt: skip


# --- create ----------------------------------------------------------------------------------------------------------


def test_creating_a_webhook_returns_the_webhook_and_its_secret(world: World) -> None:
    """The secret is not part of the webhook object."""
    made = create_webhook(world.pia)
    assert list(made) == ["webhook", "secret"]
    assert re.fullmatch("whsec_[0-9a-f]{64}", made["secret"])
    assert re.fullmatch(UUID, made["webhook"].pop("uuid"))
    assert made["webhook"] == {
        "url": URL,
        "events": ["file.viewed"],
        "format": "json",
        "active": True,
        "createdAt": "2026-09-21T14:13:20.000Z",
    }


@pytest.mark.parametrize("who", ["fay", "bea", "pia"])
def test_webhooks_are_available_on_every_plan(world: World, who: str) -> None:
    assert post_webhook(getattr(world, who)).status_code == 201


@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_every_kind_can_be_subscribed_to(world: World, kind: str) -> None:
    assert create_webhook(world.pia, events=[kind])["webhook"]["events"] == [kind]


def test_events_keep_their_order_and_are_deduplicated(world: World) -> None:
    assert create_webhook(world.pia, events=[*reversed(EVENT_KINDS), "file.viewed"])["webhook"]["events"] == [
        *reversed(EVENT_KINDS)
    ]


def test_the_slack_format_is_stored(world: World) -> None:
    made = create_webhook(world.pia, format="slack")
    assert made["webhook"]["format"] == "slack"
    assert made["secret"].startswith("whsec_")


@pytest.mark.parametrize(
    "events",
    [
        [], None, "file.viewed", {}, {"0": "file.viewed"}, 1, True, ["webhook.test"], ["notion"], ["access.denied"],
        ["file.viewed", "webhook.test"], ["FILE.VIEWED"], [" file.viewed"], ["file.*"], ["*"], [""], [None], [1],
        [["file.viewed"]], ["file.opened"],
    ],
)  # fmt: skip
def test_invalid_events_are_400(world: World, events: object) -> None:
    """``webhook.test`` cannot be subscribed to, and the list must not be empty."""
    answer = post_webhook(world.pia, events=events)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert "events" in answer.get_json()["detail"]
    assert count_rows(world, "webhooks") == 0


@pytest.mark.parametrize("word", ["notion", "JSON", "", None, 1, True, [], {}, "xml"])
def test_an_unknown_format_is_400(world: World, word: object) -> None:
    """The formats are ``json`` and ``slack``."""
    answer = post_webhook(world.pia, format=word)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert "format" in answer.get_json()["detail"]


@pytest.mark.parametrize("url", [None, 1, True, [], {}, [URL]])
def test_a_url_that_is_not_a_string_is_400(world: World, url: object) -> None:
    answer = post_webhook(world.pia, url=url)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize("missing", ["url", "events"])
def test_url_and_events_are_required(world: World, missing: str) -> None:
    body = {"url": URL, "events": ["file.viewed"]}
    del body[missing]
    answer = world.pia.post(WEBHOOKS_PATH, json=body)
    assert answer.status_code == 400
    assert missing in answer.get_json()["detail"]


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"null", b"{", b'{"url": NaN}', b"\xff"])
def test_an_empty_or_malformed_body_is_400(world: World, raw: bytes) -> None:
    assert world.pia.post(WEBHOOKS_PATH, data=raw, content_type="application/json").status_code == 400


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_a_body_that_is_not_declared_as_json_is_415(world: World, content_type: str | None) -> None:
    body = json.dumps({"url": URL, "events": ["file.viewed"]})
    assert world.pia.post(WEBHOOKS_PATH, data=body, content_type=content_type).status_code == 415


def test_unknown_keys_are_ignored(world: World) -> None:
    made = create_webhook(world.pia, active=False, secret="whsec_mine", uuid=UNKNOWN_UUID, failureCount=9)
    assert made["webhook"]["active"] is True
    assert made["webhook"]["uuid"] != UNKNOWN_UUID
    assert made["secret"] != "whsec_mine"


# --- webhooks of one file --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["uuid", "shortId", "upper"])
def test_file_uuid_accepts_a_short_id_and_is_stored_as_the_uuid(world: World, key: str) -> None:
    """A UUID is accepted in any case."""
    made = world.pia.upload()
    name = made["uuid"].upper() if key == "upper" else made[key]
    assert create_webhook(world.pia, fileUuid=name)["webhook"]["fileUuid"] == made["uuid"]
    assert list_webhooks(world.pia)[0]["fileUuid"] == made["uuid"]


def test_every_file_that_is_not_found_has_the_same_404(world: World) -> None:
    """This applies to unknown, foreign, unclaimed and trashed files and to malformed ids."""
    foreign, trashed, unclaimed = world.mal.upload(), world.pia.upload(), world.pia.upload()
    world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    update_file_row(world, unclaimed["uuid"], owner_id=None)
    names = [
        UNKNOWN_UUID, "000000000000", foreign["uuid"], foreign["shortId"], trashed["uuid"], trashed["shortId"],
        unclaimed["uuid"], "a-slug", "", " ", "x" * 5000, None, 1, True, [], {}, f" {world.pia.upload()['uuid']}",
    ]  # fmt: skip
    answers = [post_webhook(world.pia, fileUuid=name) for name in names]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1
    assert answers[0].get_json()["code"] == "not_found"
    assert count_rows(world, "webhooks") == 0


def test_purging_a_file_deletes_its_webhooks(world: World) -> None:
    made = world.fay.upload()
    create_webhook(world.fay, fileUuid=made["uuid"])
    kept = create_webhook(world.fay)
    assert world.fay.delete(f"/api/v1/files/{made['uuid']}?purge=1").status_code == 200
    assert [row["uuid"] for row in list_webhooks(world.fay)] == [kept["webhook"]["uuid"]]


def test_a_webhook_keeps_its_file_while_the_file_is_in_the_trash(world: World) -> None:
    made = world.pia.upload()
    create_webhook(world.pia, fileUuid=made["uuid"])
    world.pia.delete(f"/api/v1/files/{made['uuid']}")
    assert list_webhooks(world.pia)[0]["fileUuid"] == made["uuid"]


# --- the limit -------------------------------------------------------------------------------------------------------


def test_the_26th_webhook_including_those_of_one_file_is_400(world: World) -> None:
    """The limit of 25 applies to the account; a deleted webhook does not count."""
    made = world.pia.upload()
    first = create_webhook(world.pia)
    for number in range(24):
        create_webhook(world.pia, **({"fileUuid": made["uuid"]} if number % 2 else {}))
    answer = post_webhook(world.pia)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")
    assert "25" in answer.get_json()["detail"]
    assert post_webhook(world.mal).status_code == 201
    world.pia.delete(f"{WEBHOOKS_PATH}/{first['webhook']['uuid']}")
    assert post_webhook(world.pia).status_code == 201


def test_a_disabled_webhook_counts_against_the_limit(world: World) -> None:
    for _ in range(25):
        update_webhook_row(world, create_webhook(world.pia)["webhook"]["uuid"], disabled_at=1)
    assert post_webhook(world.pia).status_code == 400


def test_fifty_concurrent_requests_create_exactly_25_webhooks(world: World) -> None:
    def attempt(number: int) -> int:
        answer = world.app.test_client().post(
            WEBHOOKS_PATH, json={"url": URL, "events": EVENT_KINDS}, headers=world.pia.headers
        )
        return answer.status_code

    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(attempt, range(50)))
    assert sorted(statuses) == [201] * 25 + [400] * 25
    assert count_rows(world, "webhooks") == 25


# --- while the host is looked up -------------------------------------------------------------------------------------


def test_a_key_that_is_revoked_meanwhile_creates_no_webhook(world: World) -> None:
    key = accounts.create_key(world.rt, world.pia.email, "short-lived")

    def look_up(host: str) -> list[Address]:
        accounts.revoke_key(world.rt, key.uuid)
        return [ipaddress.ip_address("93.184.216.34")]

    world.rt.outbound.resolve = look_up
    answer = post_webhook(Person(world.pia.email, world.pia.uuid, key.key, world.http))
    assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthorized")
    assert count_rows(world, "webhooks") == 0


def test_a_file_that_is_deleted_meanwhile_is_404(world: World) -> None:
    made = world.fay.upload()

    def look_up(host: str) -> list[Address]:
        world.fay.delete(f"/api/v1/files/{made['uuid']}")
        return [ipaddress.ip_address("93.184.216.34")]

    world.rt.outbound.resolve = look_up
    assert post_webhook(world.fay, fileUuid=made["uuid"]).status_code == 404
    assert count_rows(world, "webhooks") == 0


def test_hanging_dns_lookups_of_one_account_do_not_block_other_accounts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lookups above the limit of the account are 503 with Retry-After; lookups that find no address are 400."""
    monkeypatch.setattr("docshare.server.services.webhooks.destination._LOOKUP_TIMEOUT_S", 30.0)
    monkeypatch.setattr("docshare.server.services.webhooks.destination._SLOT_WAIT_S", 30.0)  # of those in the queue
    over, asked = threading.Event(), threading.Semaphore(0)

    def look_up(host: str) -> list[Address]:
        if host != "slow.example":
            return [ipaddress.ip_address("93.184.216.34")]
        asked.release()
        over.wait(30)
        return []

    world.rt.outbound.resolve = look_up
    slots, requested = world.rt.outbound.webhook_slots, threading.Semaphore(0)
    request_slot = slots.request

    def count_request(who: Hashable, notify: Callable[[], None]) -> Ticket:
        ticket = request_slot(who, notify)
        requested.release()
        return ticket

    monkeypatch.setattr(slots, "request", count_request)
    with ThreadPoolExecutor(8) as pool:
        body = {"url": "https://slow.example/", "events": EVENT_KINDS}
        held = [
            pool.submit(world.app.test_client().post, WEBHOOKS_PATH, json=body, headers=world.mal.headers)
            for _ in range(8)
        ]
        for event in [asked] * 4 + [requested] * 8:
            assert event.acquire(timeout=30)
        assert post_webhook(world.bea).status_code == 201
        monkeypatch.setattr("docshare.server.services.webhooks.destination._SLOT_WAIT_S", 0)
        refused = post_webhook(world.mal)
        assert (refused.status_code, refused.get_json()["code"]) == (503, "unavailable")
        assert int(refused.headers["Retry-After"]) > 0
        over.set()
        assert [future.result().status_code for future in held] == [400] * 8


# --- the secret ------------------------------------------------------------------------------------------------------


@sqlite_only
def test_the_secret_is_returned_once_and_stored_encrypted(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Only the response to the creation has it; later responses, logs and the bytes on disk do not."""
    caplog.set_level("DEBUG")
    made = world.pia.upload()
    hook = create_webhook(world.pia, events=["content.replaced"])
    uuid, digits = hook["webhook"]["uuid"], hook["secret"].removeprefix("whsec_")
    record_replacements(world, made["uuid"])
    stored = b"".join(path.read_bytes() for path in world.rt.config.data_dir.rglob("*") if path.is_file())
    answers = [
        world.pia.get(WEBHOOKS_PATH),
        world.pia.post(f"{WEBHOOKS_PATH}/{uuid}/test"),
        world.pia.post(f"{WEBHOOKS_PATH}/{uuid}/enable"),
        world.pia.get(f"{WEBHOOKS_PATH}/{uuid}/deliveries"),
        world.pia.get("/api/v1/activity?since=1"),
        post_webhook(world.pia, events=[hook["secret"]]),
        world.pia.delete(f"{WEBHOOKS_PATH}/{uuid}"),
    ]
    told = "".join(answer.text for answer in answers) + caplog.text
    assert uuid.encode() in stored
    assert digits not in told
    for form in (digits.encode(), bytes.fromhex(digits)):
        assert form not in stored


def test_every_webhook_has_its_own_secret(world: World) -> None:
    assert len({create_webhook(world.pia)["secret"] for _ in range(20)}) == 20


def test_the_repr_of_a_created_webhook_does_not_contain_its_secret(world: World) -> None:
    """Otherwise logs and tracebacks could contain it."""
    caller = authenticate(world.rt, f"Bearer {world.pia.key}")
    made = create_service(world.rt, caller, {"url": URL, "events": EVENT_KINDS})
    assert made.secret not in repr(made)
