"""Deliveries to webhooks: attempts, retries and the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import stripe

from docshare.server.services.webhooks import deliveries
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.import_source import http_response, make_certificate
from tests.support.outside.receivers import (
    ENDLESS_SCRIPTS,
    FAILING_SCRIPTS,
    LOOPBACK_NETWORKS,
    OK,
    SERVER_ERROR,
    UNUSUAL_SCRIPTS,
    CreatedWebhook,
    FakeReceiver,
    add_webhook,
    build_envelope,
    deliver_until_idle,
    get_webhook,
    list_deliveries,
    open_receiver,
    record_replacements,
    shorten_deadlines,
)
from tests.support.people.cast import Person, World
from tests.support.polling import wait_until

pytestmark = pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS)


ATTEMPT_TIMES = [0, 60, 660, 4260, 7860]
"""Seconds from the event to attempts 1 to 5; the delays are 60, 600, 3600 and 3600 s."""


def verify_signatures(hook: CreatedWebhook, receiver: FakeReceiver) -> None:
    """Verify all received signatures with the package of Stripe, which uses the same scheme."""
    assert receiver.requests
    for hit in receiver.requests:
        header = hit.headers["x-service-signature"]
        stripe.WebhookSignature.verify_header(hit.body.decode("utf-8"), header, hook.secret)


def get_only_delivery(person: Person, hook: CreatedWebhook) -> dict[str, object]:
    (row,) = list_deliveries(person, hook)
    return row


# --- one attempt -----------------------------------------------------------------------------------------------------


def test_a_delivery_has_the_body_headers_and_signature(world: World, receiver: FakeReceiver) -> None:
    hook = add_webhook(world.pia, receiver.url)
    file = world.pia.upload(name="Jahresbericht – ü.pdf")
    record_replacements(world, file["uuid"], contentVersion=2)
    assert deliver_due(world.rt) == 1
    (hit,) = receiver.requests
    assert hit.body == build_envelope(file["uuid"], "Jahresbericht – ü.pdf", world.clock.now, contentVersion=2)
    signature = hit.headers.pop("x-service-signature")
    assert signature.startswith(f"t={world.clock.now // 1000},v1=")
    assert hit.headers.pop("webhook-id")
    assert hit.headers == {
        "host": urlsplit(receiver.url).netloc,
        "connection": "close",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": str(len(hit.body)),
        "user-agent": "Service-Webhooks/1.0",
        "webhook-event": "content.replaced",
        "webhook-attempt": "1",
    }
    hit.headers["x-service-signature"] = signature
    verify_signatures(hook, receiver)


def test_a_delivered_event_is_not_sent_again(world: World, receiver: FakeReceiver) -> None:
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    assert deliver_until_idle(world, world.rt) == [0]
    row = get_only_delivery(world.pia, hook)
    assert row["state"] == "delivered"
    assert "nextAttemptAt" not in row
    (attempt,) = row["attempts"]  # type: ignore[misc]
    assert (attempt["status"], "error" in attempt) == (200, False)
    health = get_webhook(world.pia, hook)
    assert (health["lastStatus"], health["failureCount"]) == (200, 0)
    assert health["lastDeliveryAt"] == attempt["at"] == row["createdAt"]


def test_the_operator_can_change_the_signature_header_and_the_user_agent(
    make: Callable[..., World], receiver: FakeReceiver
) -> None:
    world = make(
        webhook_allow=LOOPBACK_NETWORKS, signature_header="X-Acme-Signature", webhook_user_agent="Acme-Hooks/2"
    )
    add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    deliver_due(world.rt)
    (hit,) = receiver.requests
    assert hit.headers["user-agent"] == "Acme-Hooks/2"
    assert hit.headers["x-acme-signature"].startswith("t=")
    assert "x-service-signature" not in hit.headers


def test_a_slack_delivery_is_a_message_without_a_signature(world: World, receiver: FakeReceiver) -> None:
    add_webhook(world.pia, receiver.url, format="slack")
    file = world.pia.upload(name="Plan.pdf")
    record_replacements(world, file["uuid"], contentVersion=2)
    deliver_due(world.rt)
    (hit,) = receiver.requests
    message = json.loads(hit.body)
    assert message.keys() >= {"blocks", "text"}
    assert f"/readership/{file['uuid']}" in hit.body.decode()
    assert "x-service-signature" not in hit.headers
    assert hit.headers["content-type"] == "application/json"


@pytest.mark.parametrize("script", UNUSUAL_SCRIPTS)
def test_any_2xx_status_is_a_delivery(world: World, receiver: FakeReceiver, script: str) -> None:
    receiver.set_script(UNUSUAL_SCRIPTS[script])
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    short = shorten_deadlines(world.rt, receiver, after_head=True)
    assert deliver_until_idle(world, short if script in ENDLESS_SCRIPTS else world.rt) == [0]
    assert get_only_delivery(world.pia, hook)["state"] == "delivered"
    verify_signatures(hook, receiver)


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", FAILING_SCRIPTS)
def test_a_failed_delivery_is_abandoned_after_five_attempts(world: World, receiver: FakeReceiver, script: str) -> None:
    receiver.set_script(FAILING_SCRIPTS[script])
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    assert (
        deliver_until_idle(world, shorten_deadlines(world.rt, receiver) if script in ENDLESS_SCRIPTS else world.rt)
        == ATTEMPT_TIMES
    )
    row = get_only_delivery(world.pia, hook)
    assert row["state"] == "abandoned"
    attempts: list[dict[str, object]] = row["attempts"]  # type: ignore[assignment]
    assert len(attempts) == 5
    wait_until(lambda: len(receiver.requests) == 5)  # the receiver may read a request after the server has timed out
    for attempt in attempts:
        assert attempt["error"]
        assert "127.0.0.1" not in str(attempt["error"])
    assert [hit.attempt for hit in receiver.requests] == [1, 2, 3, 4, 5]
    assert get_webhook(world.pia, hook)["failureCount"] == 1
    verify_signatures(hook, receiver)


@pytest.mark.parametrize("script", ["hang", "drip"])
def test_the_deadline_applies_to_the_whole_attempt(world: World, receiver: FakeReceiver, script: str) -> None:
    receiver.set_script(FAILING_SCRIPTS[script])
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    deliver_due(shorten_deadlines(world.rt, receiver))
    (attempt,) = get_only_delivery(world.pia, hook)["attempts"]  # type: ignore[misc]
    assert (attempt["status"], attempt["error"]) == (0, "The receiver did not answer in time.")
    assert 380 <= attempt["latencyMs"] < 5_000


@pytest.mark.parametrize("script", ["plain text behind https", "a certificate nobody vouches for"])
def test_a_tls_error_is_a_failure_and_sends_nothing(world: World, tmp_path: Path, script: str) -> None:
    cert = make_certificate(tmp_path) if script.startswith("a cert") else None
    with open_receiver(cert=cert, https=True) as receiver:
        hook = add_webhook(world.pia, receiver.url)
        record_replacements(world, world.pia.upload()["uuid"])
        assert deliver_until_idle(world, world.rt) == ATTEMPT_TIMES
    assert receiver.requests == []
    row = get_only_delivery(world.pia, hook)
    assert (row["state"], len(row["attempts"])) == ("abandoned", 5)  # type: ignore[arg-type]


def test_a_delivery_over_https_with_a_trusted_certificate_succeeds(make: Callable[..., World], tmp_path: Path) -> None:
    cert = make_certificate(tmp_path)
    world = make(webhook_allow=LOOPBACK_NETWORKS, ca_bundle=cert)
    with open_receiver(cert=cert) as receiver:
        hook = add_webhook(world.pia, receiver.url)
        record_replacements(world, world.pia.upload()["uuid"])
        assert deliver_until_idle(world, world.rt) == [0]
    assert get_only_delivery(world.pia, hook)["state"] == "delivered"
    verify_signatures(hook, receiver)


def test_a_redirect_is_not_followed(world: World, receiver: FakeReceiver) -> None:
    with open_receiver() as elsewhere:
        receiver.set_script(http_response(b"", "308 Permanent Redirect", f"Location: {elsewhere.url}"))
        hook = add_webhook(world.pia, receiver.url)
        record_replacements(world, world.pia.upload()["uuid"])
        deliver_due(world.rt)
    assert elsewhere.requests == []
    (attempt,) = get_only_delivery(world.pia, hook)["attempts"]  # type: ignore[misc]
    assert (attempt["status"], attempt["error"]) == (
        308,
        "The receiver answered with a redirect (308), which is not followed.",
    )


def test_every_attempt_has_the_same_body_and_a_new_signature(world: World, receiver: FakeReceiver) -> None:
    receiver.choose_script = lambda hit: OK if hit.attempt == 4 else SERVER_ERROR
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    began = world.clock.now // 1000
    assert deliver_until_idle(world, world.rt) == ATTEMPT_TIMES[:4]
    assert len({hit.body for hit in receiver.requests}) == 1
    assert len({hit.delivery for hit in receiver.requests}) == 1
    signatures = [hit.headers["x-service-signature"].split(",") for hit in receiver.requests]
    assert [signed_at for signed_at, _ in signatures] == [f"t={began + moment}" for moment in ATTEMPT_TIMES[:4]]
    assert len({v1 for _, v1 in signatures}) == 4
    assert get_only_delivery(world.pia, hook)["state"] == "delivered"
    assert get_webhook(world.pia, hook)["failureCount"] == 0
    verify_signatures(hook, receiver)


def test_the_next_attempt_omits_a_redacted_label_and_has_a_valid_signature(
    world: World, receiver: FakeReceiver
) -> None:
    receiver.choose_script = lambda hit: SERVER_ERROR if hit.attempt == 1 else OK
    hook = add_webhook(world.pia, receiver.url)
    file = world.pia.upload()["uuid"]
    path = f"/api/v1/files/{file}/variants"
    variant = world.pia.post(path, json={"label": "Ada Lovelace"}).get_json()["uuid"]
    record_replacements(world, file, variant=variant, variantUuid=variant, variantLabel="Ada Lovelace")
    deliver_due(world.rt)
    assert world.pia.delete(f"{path}/{variant}?redact=1").status_code == 204
    assert deliver_until_idle(world, world.rt) == [60]
    first, second = (json.loads(hit.body) for hit in receiver.requests)
    assert first["data"].pop("variantLabel") == "Ada Lovelace"
    assert second == first
    verify_signatures(hook, receiver)


def test_an_address_that_is_no_longer_allowed_is_not_called(world: World, receiver: FakeReceiver) -> None:
    """The address is checked before every attempt."""
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    stricter = replace(world.rt, config=replace(world.rt.config, webhook_allow=()))
    assert deliver_until_idle(world, stricter) == ATTEMPT_TIMES
    assert receiver.connections == 0
    row = get_only_delivery(world.pia, hook)
    assert row["state"] == "abandoned"
    assert {attempt["status"] for attempt in row["attempts"]} == {0}  # type: ignore[attr-defined]


def test_a_lost_vault_key_is_an_error_and_nothing_is_sent_unsigned(world: World, receiver: FakeReceiver) -> None:
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    (world.rt.config.data_dir / "vault.key").write_bytes(bytes(32))
    deliver_due(world.rt)
    assert receiver.requests == []
    (attempt,) = get_only_delivery(world.pia, hook)["attempts"]  # type: ignore[misc]
    assert "cannot decrypt the secret" in attempt["error"]


def test_an_internal_error_counts_as_a_failed_attempt(
    world: World, receiver: FakeReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise such a delivery would be retried forever, or never."""
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    broken = replace(world.rt, config=replace(world.rt.config, signature_header="not a\nheader"))
    assert deliver_until_idle(world, broken) == ATTEMPT_TIMES
    assert get_only_delivery(world.pia, hook)["state"] == "abandoned"
    assert receiver.requests == []
    assert hook.secret not in caplog.text


# --- the log ---------------------------------------------------------------------------------------------------------


def test_settled_deliveries_are_deleted_after_90_days(world: World, receiver: FakeReceiver) -> None:
    hook = add_webhook(world.pia, receiver.url)
    file = world.pia.upload()["uuid"]
    record_replacements(world, file)
    deliver_due(world.rt)
    record_replacements(world, file)  # never sent
    world.clock.advance(days=90, milliseconds=-1)
    assert deliveries.delete_expired(world.rt) == 0
    world.clock.advance(milliseconds=1)
    assert deliveries.delete_expired(world.rt) == 1
    assert [row["state"] for row in list_deliveries(world.pia, hook)] == ["queued"]
    assert world.rt.db.fetch_all("SELECT COUNT(*) FROM attempts") == [(0,)]


def test_only_failed_attempts_are_logged_each_with_its_number(
    world: World, receiver: FakeReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    receiver.choose_script = lambda hit: SERVER_ERROR if hit.attempt < 3 else OK
    add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    deliver_until_idle(world, world.rt)
    failures = [vars(record) for record in caplog.records if record.getMessage() == "delivery failed"]
    assert [(row["attempt"], row["status"]) for row in failures] == [(1, 500), (2, 500)]


def test_logs_do_not_contain_the_secret(world: World, receiver: FakeReceiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    receiver.set_script(SERVER_ERROR)
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, world.pia.upload()["uuid"])
    deliver_due(world.rt)
    assert "delivery failed" in caplog.text
    assert hook.secret not in caplog.text
    assert hook.secret.removeprefix("whsec_") not in "".join(str(vars(record)) for record in caplog.records)
