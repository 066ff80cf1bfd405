"""A redaction removes the label from recorded events and from deliveries."""

import json
from typing import Any

import pytest
import stripe

from docshare.contract.webhooks import KINDS
from tests.support.engines.database import ON_POSTGRESQL, dump_database, sqlite_only
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.queued_deliveries import delivery_bodies, list_activity
from tests.support.outside.receivers import (
    LOOPBACK_NETWORKS,
    OK,
    SERVER_ERROR,
    CreatedWebhook,
    FakeReceiver,
    add_webhook,
)
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader, end_all_sessions

pytestmark = pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS)


CANARY = "Bea-Canary-51ce"


@pytest.fixture
def variant(world: World, uploaded_file: dict[str, Any]) -> dict[str, Any]:
    answer = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": CANARY})
    row: dict[str, Any] = answer.get_json()
    return row


def read_and_download(world: World, variant: dict[str, Any]) -> None:
    """Read and download the document through the link of the variant."""
    FakeReader(world, variant["shortId"]).read_page(30, input=True)
    assert world.http.post(f"/{variant['shortId']}/download", buffered=True).status_code == 200
    end_all_sessions(world)


def redact_variant(world: World, made: dict[str, Any], variant: dict[str, Any]) -> None:
    path = f"/api/v1/files/{made['uuid']}/variants/{variant['uuid']}?redact=1"
    assert world.pia.delete(path).status_code == 204


def verify_and_parse_bodies(receiver: FakeReceiver, hook: CreatedWebhook) -> list[dict[str, Any]]:
    """Verify the signatures with the package of Stripe, which uses the same scheme, and return the bodies."""
    for hit in receiver.requests:
        header = hit.headers["x-service-signature"]
        stripe.WebhookSignature.verify_header(hit.body.decode(), header, hook.secret)
    return [json.loads(hit.body) for hit in receiver.requests]


def test_a_retry_of_a_delivery_omits_a_redacted_label(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], receiver: FakeReceiver
) -> None:
    """The new body has a new signature."""
    hook = add_webhook(world.pia, receiver.url, *KINDS)
    receiver.set_script(SERVER_ERROR)
    read_and_download(world, variant)
    assert deliver_due(world.rt) == 2
    redact_variant(world, uploaded_file, variant)
    receiver.set_script(OK)
    world.clock.advance(minutes=1)
    assert deliver_due(world.rt) == 2
    before, after = (verify_and_parse_bodies(receiver, hook)[start : start + 2] for start in (0, 2))
    assert [sent["event"] for sent in before] == ["file.downloaded", "file.viewed"]
    assert [sent["data"].pop("variantLabel") for sent in before] == [CANARY] * 2
    assert after == before
    assert [hit.attempt for hit in receiver.requests] == [1, 1, 2, 2]


def test_events_after_a_redaction_omit_the_label(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], receiver: FakeReceiver
) -> None:
    hook = add_webhook(world.pia, receiver.url, *KINDS)
    FakeReader(world, variant["shortId"]).read_page(30, input=True)
    redact_variant(world, uploaded_file, variant)
    read_and_download(world, variant)
    assert deliver_due(world.rt) == 3
    found = verify_and_parse_bodies(receiver, hook)
    assert [sent["event"] for sent in found] == ["file.downloaded", "file.viewed", "file.viewed"]
    assert {sent["data"]["variantUuid"] for sent in found} == {variant["uuid"]}
    assert not [hit for hit in receiver.requests if b"variantLabel" in hit.body]


def test_a_redelivery_omits_a_redacted_label(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], receiver: FakeReceiver
) -> None:
    hook = add_webhook(world.pia, receiver.url, "file.viewed")
    read_and_download(world, variant)
    assert deliver_due(world.rt) == 1
    redact_variant(world, uploaded_file, variant)
    (row,) = world.pia.get(f"/api/v1/webhooks/{hook.uuid}/deliveries").get_json()
    assert world.pia.post(f"/api/v1/webhooks/{hook.uuid}/deliveries/{row['id']}/redeliver").status_code == 202
    assert deliver_due(world.rt) == 1
    first, again = verify_and_parse_bodies(receiver, hook)
    assert first["data"].pop("variantLabel") == CANARY
    assert again == first


def test_a_slack_message_omits_a_redacted_label(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], receiver: FakeReceiver
) -> None:
    add_webhook(world.pia, receiver.url, "file.viewed", format="slack")
    receiver.set_script(SERVER_ERROR)
    read_and_download(world, variant)
    assert deliver_due(world.rt) == 1
    redact_variant(world, uploaded_file, variant)
    world.clock.advance(minutes=1)
    assert deliver_due(world.rt) == 1
    first, second = (hit.body.decode() for hit in receiver.requests)
    assert f"Personal link:\\n{CANARY}" in first
    assert CANARY not in second
    assert variant["uuid"] in second
    assert {"blocks", "text"} <= set(json.loads(second))
    assert not [hit for hit in receiver.requests if "x-service-signature" in hit.headers]


def test_the_activity_feed_omits_a_redacted_label(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any]
) -> None:
    read_and_download(world, variant)
    before = list_activity(world)
    assert [row["data"].pop("variantLabel") for row in before] == [CANARY] * 2
    redact_variant(world, uploaded_file, variant)
    after = list_activity(world)
    assert after == before
    # PostgreSQL does not preserve the order of the remaining keys of a JSON object.
    assert ON_POSTGRESQL or [list(row["data"]) for row in after] == [list(row["data"]) for row in before]


@sqlite_only
def test_the_disk_does_not_contain_a_redacted_label_of_events(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], receiver: FakeReceiver
) -> None:
    """This includes the log and free pages of the database, and payloads of delivered and queued deliveries."""
    add_webhook(world.pia, receiver.url, "file.viewed")
    add_webhook(world.pia, receiver.url, "file.viewed", format="slack")
    read_and_download(world, variant)
    assert deliver_due(world.rt) == 2
    receiver.set_script(SERVER_ERROR)
    read_and_download(world, variant)
    assert deliver_due(world.rt) == 2
    assert str(dump_database(world)).count(CANARY) >= 9  # the variant, four events and four deliveries
    redact_variant(world, uploaded_file, variant)
    assert CANARY not in str(dump_database(world))
    assert len(delivery_bodies(world)) == 4
    kept = [path for path in world.rt.config.data_dir.rglob("*") if path.is_file()]
    assert {path.name for path in kept} >= {"docshare.db", "docshare.db-wal"}
    assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []


def test_queued_deliveries_omit_a_deleted_variant(
    world: World, uploaded_file: dict[str, Any], variant: dict[str, Any], receiver: FakeReceiver
) -> None:
    hook = add_webhook(world.pia, receiver.url, "file.viewed")
    read_and_download(world, variant)
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants/{variant['uuid']}"
    assert world.pia.delete(path).status_code == 204
    assert deliver_due(world.rt) == 1
    (sent,) = verify_and_parse_bodies(receiver, hook)
    assert ON_POSTGRESQL or list(sent["data"]) == ["fileUuid", "fileName", "pagesViewed", "timeMs", "sessionId"]
    assert all(CANARY.encode() not in file.read_bytes() for file in world.rt.config.data_dir.glob("docshare.db*"))
