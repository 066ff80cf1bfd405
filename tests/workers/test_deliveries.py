"""Deliveries to webhooks: single attempts, the waits after failures, and the log (section Delivery semantics)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import stripe

from docshare.server.services.webhooks import deliveries
from docshare.server.workers.dispatcher import deliver_due
from tests.support.cast import Person, World
from tests.support.receivers import (
    ALLOWED,
    BAD_HABITS,
    ENDLESS,
    ODD_HABITS,
    OK,
    Hook,
    Receiver,
    add_hook,
    deliveries_of,
    envelope,
    happen,
    health_of,
    hurried,
    receiver_at,
    run_out,
)
from tests.support.source import answer, make_certificate
from tests.support.waiting import eventually

MOMENTS = [0, 60, 660, 4260, 7860]
"""Seconds from the event to attempt 1 to 5: waits of 60, 600, 3600 and 3600 s."""
BROKEN = answer(b"", "500 Internal Server Error")


@pytest.fixture
def world(make: Callable[..., World]) -> World:
    return make(webhook_allow=ALLOWED)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiver_at() as running:
        yield running


def verify(hook: Hook, receiver: Receiver) -> None:
    """Let the official package of a service with the same scheme look at everything that came."""
    assert receiver.hits
    for hit in receiver.hits:
        header = hit.headers["x-service-signature"]
        stripe.WebhookSignature.verify_header(hit.body.decode("utf-8"), header, hook.secret)


def only(person: Person, hook: Hook) -> dict[str, object]:
    (row,) = deliveries_of(person, hook)
    return row


# --- one attempt -----------------------------------------------------------------------------------------------------


def test_an_event_arrives_whole_and_signed(world: World, receiver: Receiver) -> None:
    hook = add_hook(world.pia, receiver.url)
    file = world.pia.upload(name="Jahresbericht – ü.pdf")
    happen(world, file["uuid"], contentVersion=2)
    assert deliver_due(world.rt) == 1
    (hit,) = receiver.hits
    assert hit.body == envelope(file["uuid"], "Jahresbericht – ü.pdf", world.clock.now, contentVersion=2)
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
    verify(hook, receiver)


def test_what_was_delivered_is_not_sent_again(world: World, receiver: Receiver) -> None:
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    assert run_out(world, world.rt) == [0]
    row = only(world.pia, hook)
    assert row["state"] == "delivered"
    assert "nextAttemptAt" not in row
    (attempt,) = row["attempts"]  # type: ignore[misc]
    assert (attempt["status"], "error" in attempt) == (200, False)
    health = health_of(world.pia, hook)
    assert (health["lastStatus"], health["failureCount"]) == (200, 0)
    assert health["lastDeliveryAt"] == attempt["at"] == row["createdAt"]


def test_the_names_on_deliveries_are_the_operators_to_choose(make: Callable[..., World], receiver: Receiver) -> None:
    world = make(webhook_allow=ALLOWED, signature_header="X-Acme-Signature", webhook_user_agent="Acme-Hooks/2")
    add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    deliver_due(world.rt)
    (hit,) = receiver.hits
    assert hit.headers["user-agent"] == "Acme-Hooks/2"
    assert hit.headers["x-acme-signature"].startswith("t=")
    assert "x-service-signature" not in hit.headers


def test_slack_gets_a_message_without_a_signature(world: World, receiver: Receiver) -> None:
    add_hook(world.pia, receiver.url, format="slack")
    file = world.pia.upload(name="Plan.pdf")
    happen(world, file["uuid"], contentVersion=2)
    deliver_due(world.rt)
    (hit,) = receiver.hits
    message = json.loads(hit.body)
    assert message.keys() >= {"blocks", "text"}
    assert f"/readership/{file['uuid']}" in hit.body.decode()
    assert "x-service-signature" not in hit.headers
    assert hit.headers["content-type"] == "application/json"


@pytest.mark.parametrize("habit", ODD_HABITS)
def test_any_2xx_counts_as_delivered(world: World, receiver: Receiver, habit: str) -> None:
    receiver.script(ODD_HABITS[habit])
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    assert run_out(world, hurried(world.rt, receiver) if habit in ENDLESS else world.rt) == [0]
    assert only(world.pia, hook)["state"] == "delivered"
    verify(hook, receiver)


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("habit", BAD_HABITS)
def test_a_failure_is_tried_five_times_and_then_abandoned(world: World, receiver: Receiver, habit: str) -> None:
    receiver.script(BAD_HABITS[habit])
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    assert run_out(world, hurried(world.rt, receiver) if habit in ENDLESS else world.rt) == MOMENTS
    row = only(world.pia, hook)
    assert row["state"] == "abandoned"
    attempts: list[dict[str, object]] = row["attempts"]  # type: ignore[assignment]
    assert len(attempts) == 5
    eventually(lambda: len(receiver.hits) == 5)  # it may read the request when nobody waits any more
    for attempt in attempts:
        assert attempt["error"]
        assert "127.0.0.1" not in str(attempt["error"])
    assert [hit.attempt for hit in receiver.hits] == [1, 2, 3, 4, 5]
    assert health_of(world.pia, hook)["failureCount"] == 1
    verify(hook, receiver)


@pytest.mark.parametrize("habit", ["hang", "drip"])
def test_the_deadline_is_of_the_whole_attempt_and_not_of_each_byte(
    world: World, receiver: Receiver, habit: str
) -> None:
    receiver.script(BAD_HABITS[habit])
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    deliver_due(hurried(world.rt, receiver))
    (attempt,) = only(world.pia, hook)["attempts"]  # type: ignore[misc]
    assert (attempt["status"], attempt["error"]) == (0, "The receiver did not answer in time.")
    assert 380 <= attempt["latencyMs"] < 5_000


@pytest.mark.parametrize("habit", ["plain text behind https", "a certificate nobody vouches for"])
def test_bad_tls_is_a_failure_without_a_packet_of_the_event(world: World, tmp_path: Path, habit: str) -> None:
    cert = make_certificate(tmp_path) if habit.startswith("a cert") else None
    with receiver_at(cert=cert, https=True) as receiver:
        hook = add_hook(world.pia, receiver.url)
        happen(world, world.pia.upload()["uuid"])
        assert run_out(world, world.rt) == MOMENTS
    assert receiver.hits == []
    row = only(world.pia, hook)
    assert (row["state"], len(row["attempts"])) == ("abandoned", 5)  # type: ignore[arg-type]


def test_https_is_spoken_under_a_certificate_that_is_trusted(make: Callable[..., World], tmp_path: Path) -> None:
    cert = make_certificate(tmp_path)
    world = make(webhook_allow=ALLOWED, ca_bundle=cert)
    with receiver_at(cert=cert) as receiver:
        hook = add_hook(world.pia, receiver.url)
        happen(world, world.pia.upload()["uuid"])
        assert run_out(world, world.rt) == [0]
    assert only(world.pia, hook)["state"] == "delivered"
    verify(hook, receiver)


def test_a_redirect_is_not_followed(world: World, receiver: Receiver) -> None:
    with receiver_at() as elsewhere:
        receiver.script(answer(b"", "308 Permanent Redirect", f"Location: {elsewhere.url}"))
        hook = add_hook(world.pia, receiver.url)
        happen(world, world.pia.upload()["uuid"])
        deliver_due(world.rt)
    assert elsewhere.hits == []
    (attempt,) = only(world.pia, hook)["attempts"]  # type: ignore[misc]
    assert (attempt["status"], attempt["error"]) == (
        308,
        "The receiver answered with a redirect (308), which is not followed.",
    )


def test_every_attempt_has_the_same_body_and_a_fresh_signature(world: World, receiver: Receiver) -> None:
    receiver.choose = lambda hit: OK if hit.attempt == 4 else BROKEN
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    began = world.clock.now // 1000
    assert run_out(world, world.rt) == MOMENTS[:4]
    assert len({hit.body for hit in receiver.hits}) == 1
    assert len({hit.delivery for hit in receiver.hits}) == 1
    signatures = [hit.headers["x-service-signature"].split(",") for hit in receiver.hits]
    assert [signed_at for signed_at, _ in signatures] == [f"t={began + moment}" for moment in MOMENTS[:4]]
    assert len({v1 for _, v1 in signatures}) == 4
    assert only(world.pia, hook)["state"] == "delivered"
    assert health_of(world.pia, hook)["failureCount"] == 0
    verify(hook, receiver)


def test_a_redacted_label_is_gone_from_the_next_attempt_whose_signature_fits(world: World, receiver: Receiver) -> None:
    receiver.choose = lambda hit: BROKEN if hit.attempt == 1 else OK
    hook = add_hook(world.pia, receiver.url)
    file = world.pia.upload()["uuid"]
    path = f"/api/v1/files/{file}/variants"
    variant = world.pia.post(path, json={"label": "Ada Lovelace"}).get_json()["uuid"]
    happen(world, file, variant=variant, variantUuid=variant, variantLabel="Ada Lovelace")
    deliver_due(world.rt)
    assert world.pia.delete(f"{path}/{variant}?redact=1").status_code == 204
    assert run_out(world, world.rt) == [60]
    first, second = (json.loads(hit.body) for hit in receiver.hits)
    assert first["data"].pop("variantLabel") == "Ada Lovelace"
    assert second == first
    verify(hook, receiver)


def test_an_address_that_is_no_longer_allowed_gets_no_packet(world: World, receiver: Receiver) -> None:
    """Re-checked before every send."""
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    stricter = replace(world.rt, config=replace(world.rt.config, webhook_allow=()))
    assert run_out(world, stricter) == MOMENTS
    assert receiver.connections == 0
    row = only(world.pia, hook)
    assert row["state"] == "abandoned"
    assert {attempt["status"] for attempt in row["attempts"]} == {0}  # type: ignore[attr-defined]


def test_a_lost_key_of_the_vault_is_told_and_nothing_is_sent_unsigned(world: World, receiver: Receiver) -> None:
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    (world.rt.config.data_dir / "vault.key").write_bytes(bytes(32))
    elsewhere = replace(world.rt, vault=type(world.rt.vault)(world.rt.config.data_dir / "vault.key", world.rt.secret))
    deliver_due(elsewhere)
    assert receiver.hits == []
    (attempt,) = only(world.pia, hook)["attempts"]  # type: ignore[misc]
    assert "no longer read the secret" in attempt["error"]


def test_a_fault_of_the_server_itself_counts_as_a_failed_attempt(
    world: World, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise one odd delivery would be tried for ever, or never again."""
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    broken = replace(world.rt, config=replace(world.rt.config, signature_header="not a\nheader"))
    assert run_out(world, broken) == MOMENTS
    assert only(world.pia, hook)["state"] == "abandoned"
    assert receiver.hits == []
    assert hook.secret not in caplog.text


# --- the log ---------------------------------------------------------------------------------------------------------


def test_settled_deliveries_are_forgotten_after_90_days(world: World, receiver: Receiver) -> None:
    hook = add_hook(world.pia, receiver.url)
    file = world.pia.upload()["uuid"]
    happen(world, file)
    deliver_due(world.rt)
    happen(world, file)  # never sent
    world.clock.advance(days=90, milliseconds=-1)
    assert deliveries.forget_old(world.rt) == 0
    world.clock.advance(milliseconds=1)
    assert deliveries.forget_old(world.rt) == 1
    assert [row["state"] for row in deliveries_of(world.pia, hook)] == ["queued"]
    assert world.rt.db.rows("SELECT COUNT(*) FROM attempts") == [(0,)]


def test_the_secret_is_in_no_log(world: World, receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    receiver.script(BROKEN)
    hook = add_hook(world.pia, receiver.url)
    happen(world, world.pia.upload()["uuid"])
    deliver_due(world.rt)
    assert "delivery failed" in caplog.text
    assert hook.secret not in caplog.text
    assert hook.secret.removeprefix("whsec_") not in "".join(str(vars(record)) for record in caplog.records)
