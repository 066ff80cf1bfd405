"""Webhooks that fail repeatedly, and deliveries whose webhook or file is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from docshare.contract.problems import Problem
from docshare.server import admin
from docshare.server.services.accounts import accounts
from docshare.server.services.events import listeners
from docshare.server.services.events.listeners import ListenerInput
from docshare.server.services.operations import mail, sweeps
from docshare.server.services.webhooks import dispatch
from docshare.server.store.tables import deliveries
from tests.support.engines.rows import count_rows
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.import_source import Script
from tests.support.outside.receivers import (
    LOOPBACK_NETWORKS,
    OK,
    SERVER_ERROR,
    CreatedWebhook,
    FakeReceiver,
    ReceivedRequest,
    add_webhook,
    deliver_until_idle,
    get_webhook,
    list_deliveries,
    open_receiver,
    record_replacements,
)
from tests.support.people.cast import World

pytestmark = pytest.mark.world(webhook_allow=LOOPBACK_NETWORKS)


@pytest.fixture
def receiver() -> Iterator[FakeReceiver]:
    with open_receiver(SERVER_ERROR) as running:
        yield running


def abandon_events(world: World, file: str, times: int) -> None:
    """Cause ``times`` events that are abandoned, one after the other."""
    for _ in range(times):
        record_replacements(world, file)
        deliver_until_idle(world, world.rt)


def attempt_four_times(world: World, file: str) -> None:
    """Cause an event, and let the first four of its five attempts fail."""
    record_replacements(world, file)
    for wait in (60, 600, 3600, 3600):
        deliver_due(world.rt)
        world.clock.advance(seconds=wait)


def list_delivery_states(world: World, hook: CreatedWebhook) -> list[str]:
    """List the states of all deliveries, oldest first."""
    return [str(row["state"]) for row in list_deliveries(world.pia, hook, "?since=1&limit=100")]


def test_a_delivery_counts_as_abandoned_only_after_its_last_attempt(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    """``docshare doctor`` reports this number."""
    add_webhook(world.pia, receiver.url)
    before = world.clock() - 1
    attempt_four_times(world, file)
    assert deliveries.count_abandoned(world.rt.db, before, before) == 0
    deliver_until_idle(world, world.rt)
    assert (len(receiver.requests), deliveries.count_abandoned(world.rt.db, before, before)) == (5, 1)


# --- disabling -------------------------------------------------------------------------------------------------------


def test_the_failure_count_is_incremented_once_per_abandoned_delivery(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    abandon_events(world, file, 3)
    assert len(receiver.requests) == 15
    health = get_webhook(world.pia, hook)
    assert (health["failureCount"], health["active"], health["lastStatus"]) == (3, True, 500)


def test_20_abandoned_deliveries_in_a_row_disable_the_webhook_and_send_one_email(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url + "/T0KEN")
    abandon_events(world, file, 19)
    assert get_webhook(world.pia, hook)["active"] is True
    assert mail.list_outbox(world.rt) == []
    abandon_events(world, file, 1)
    health = get_webhook(world.pia, hook)
    assert (health["failureCount"], health["active"]) == (20, False)
    assert health["disabledAt"]
    (row,) = mail.list_outbox(world.rt)
    assert row["to"] == "pia@example.com"
    text = mail.show(world.rt, str(row["uuid"]))["message"]
    assert hook.uuid in text
    assert f"docshare webhooks enable {hook.uuid}" in text
    assert "127.0.0.1" in text
    assert "T0KEN" not in text
    record_replacements(world, file)
    assert deliver_until_idle(world, world.rt) == []
    assert len(receiver.requests) == 100
    assert len(list_delivery_states(world, hook)) == 20


def test_queued_deliveries_are_abandoned_with_the_20th_and_are_not_counted(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    abandon_events(world, file, 19)
    attempt_four_times(world, file)
    record_replacements(world, file, times=7)  # due at the time of the last attempt or later
    sent = len(receiver.requests)
    assert deliver_due(world.rt) == 3  # the concurrency limit of a webhook; one of them is the 20th
    assert len(receiver.requests) == sent + 3
    assert deliver_until_idle(world, world.rt) == []
    assert list_delivery_states(world, hook) == ["abandoned"] * 27
    assert get_webhook(world.pia, hook)["failureCount"] == 20
    assert len(mail.list_outbox(world.rt)) == 1


def test_deliveries_that_are_abandoned_concurrently_send_one_email(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    abandon_events(world, file, 18)
    record_replacements(world, file, times=3)
    for wait in (60, 600, 3600, 3600):
        deliver_due(world.rt)
        world.clock.advance(seconds=wait)
    sent = [dispatch.send(world.rt, claimed) for claimed in dispatch.claim_due(world.rt, 4)]
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda one: dispatch.record_attempts(world.rt, [one]), sent))
    assert list_delivery_states(world, hook) == ["abandoned"] * 21
    assert {len(row["attempts"]) for row in list_deliveries(world.pia, hook, "?limit=100")} == {5}
    assert get_webhook(world.pia, hook)["failureCount"] == 20
    assert len(mail.list_outbox(world.rt)) == 1


def test_a_2xx_status_resets_the_failure_count(world: World, receiver: FakeReceiver, file: str) -> None:
    hook = add_webhook(world.pia, receiver.url)
    abandon_events(world, file, 19)
    receiver.set_script(OK)
    record_replacements(world, file)
    deliver_until_idle(world, world.rt)
    assert get_webhook(world.pia, hook)["failureCount"] == 0
    receiver.set_script(SERVER_ERROR)
    abandon_events(world, file, 19)
    health = get_webhook(world.pia, hook)
    assert (health["failureCount"], health["active"]) == (19, True)


def test_an_enabled_webhook_is_disabled_again_after_20_more_with_another_email(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    abandon_events(world, file, 20)
    assert world.pia.post(f"/api/v1/webhooks/{hook.uuid}/enable").status_code == 200
    abandon_events(world, file, 19)
    assert get_webhook(world.pia, hook)["active"] is True
    abandon_events(world, file, 1)
    assert get_webhook(world.pia, hook)["active"] is False
    assert len(mail.list_outbox(world.rt)) == 2


def test_another_webhook_of_the_account_is_not_disabled(world: World, receiver: FakeReceiver, file: str) -> None:
    add_webhook(world.pia, receiver.url)
    with open_receiver() as other:
        hook = add_webhook(world.pia, other.url)
        abandon_events(world, file, 20)
        record_replacements(world, file)
        deliver_until_idle(world, world.rt)
    assert len(other.requests) == 21
    assert get_webhook(world.pia, hook)["active"] is True


# --- deletions during an attempt -------------------------------------------------------------------------------------


def act_during_request(receiver: FakeReceiver, act: Callable[[], object]) -> None:
    """Call ``act`` while the receiver holds a request, which it then accepts."""

    def choose(hit: ReceivedRequest) -> Script:
        act()
        return OK

    receiver.choose_script = choose


def test_deleting_a_webhook_during_an_attempt_deletes_its_deliveries(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, file, times=2)
    act_during_request(receiver, lambda: world.pia.delete(f"/api/v1/webhooks/{hook.uuid}"))
    assert deliver_due(world.rt) == 2
    assert len(receiver.requests) == 2
    assert (count_rows(world, "deliveries"), count_rows(world, "attempts"), count_rows(world, "webhooks")) == (0, 0, 0)


def test_purging_a_file_during_an_attempt_deletes_its_deliveries(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, file)
    act_during_request(receiver, lambda: world.pia.delete(f"/api/v1/files/{file}?purge=1"))
    deliver_due(world.rt)
    assert list_deliveries(world.pia, hook) == []
    assert count_rows(world, "attempts") == 0


def test_a_delivery_that_succeeds_while_its_webhook_is_disabled_is_delivered(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    """The 20th delivery is abandoned during an attempt of a newer one, which succeeds."""
    hook = add_webhook(world.pia, receiver.url)
    abandon_events(world, file, 19)
    attempt_four_times(world, file)
    record_replacements(world, file)
    receiver.choose_script = lambda hit: SERVER_ERROR if hit.attempt == 5 else OK
    last, latest = [dispatch.send(world.rt, claimed) for claimed in dispatch.claim_due(world.rt, 2)]
    dispatch.record_attempts(world.rt, [last])
    assert get_webhook(world.pia, hook)["active"] is False
    dispatch.record_attempts(world.rt, [latest])
    assert list_delivery_states(world, hook) == ["abandoned"] * 20 + ["delivered"]
    assert get_webhook(world.pia, hook)["active"] is False


# --- disabled accounts ----------------------------------------------------------------------------------------------


def test_a_disabled_account_gets_no_events(world: World, receiver: FakeReceiver, file: str) -> None:
    """Its webhooks may send the addresses and answers of readers to somebody who must not see them any more."""
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, file)
    deliver_due(world.rt)
    accounts.disable(world.rt, world.pia.email)
    record_replacements(world, file)
    assert deliver_until_idle(world, world.rt) == []
    assert len(receiver.requests) == 1
    accounts.enable(world.rt, world.pia.email)
    assert list_delivery_states(world, hook) == ["abandoned"]
    health = get_webhook(world.pia, hook)
    assert (health["active"], health["failureCount"]) == (True, 0)
    receiver.set_script(OK)
    record_replacements(world, file)
    deliver_until_idle(world, world.rt)
    assert list_delivery_states(world, hook) == ["abandoned", "delivered"]


def test_other_accounts_get_events_while_one_is_disabled(world: World, receiver: FakeReceiver) -> None:
    hook = add_webhook(world.bea, receiver.url)
    record_replacements(world, world.bea.upload()["uuid"])
    accounts.disable(world.rt, world.pia.email)
    deliver_due(world.rt)
    (row,) = list_deliveries(world.bea, hook)
    assert (row["state"], len(receiver.requests)) == ("queued", 1)


def test_an_attempt_is_not_repeated_if_its_account_is_disabled_meanwhile(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, file)
    sent = [dispatch.send(world.rt, claimed) for claimed in dispatch.claim_due(world.rt, 4)]
    accounts.disable(world.rt, world.pia.email)
    dispatch.record_attempts(world.rt, sent)
    assert deliver_until_idle(world, world.rt) == []
    accounts.enable(world.rt, world.pia.email)
    assert (list_delivery_states(world, hook), get_webhook(world.pia, hook)["failureCount"]) == (["abandoned"], 0)


def test_the_operator_cannot_send_an_event_of_a_disabled_account_again(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    add_webhook(world.pia, receiver.url)
    record_replacements(world, file)
    accounts.disable(world.rt, world.pia.email)
    (listed,) = admin.run_command(world.rt, "deliveries list", {})
    with pytest.raises(Problem, match="The account is disabled"):
        admin.run_command(world.rt, "deliveries retry", {"id": str(listed["id"])})
    assert deliver_until_idle(world, world.rt) == []
    accounts.enable(world.rt, world.pia.email)
    assert admin.run_command(world.rt, "deliveries retry", {"id": str(listed["id"])})["state"] == "queued"


# --- claims ----------------------------------------------------------------------------------------------------------


def test_a_claimed_delivery_is_not_claimed_again(world: World, receiver: FakeReceiver, file: str) -> None:
    add_webhook(world.pia, receiver.url)
    record_replacements(world, file)
    assert len(dispatch.claim_due(world.rt, 8)) == 1
    assert dispatch.claim_due(world.rt, 8) == []


def test_claims_of_a_crashed_process_are_released_at_the_next_start(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    receiver.set_script(OK)
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, file)
    (claimed,) = dispatch.claim_due(world.rt, 8)
    world.clock.advance(minutes=1)  # with other instances a claim lasts half a minute
    sweeps.clean_at_start(world.rt)
    assert deliver_until_idle(world, world.rt) == [0]
    assert [hit.attempt for hit in receiver.requests] == [1]
    dispatch.record_attempts(
        world.rt, [dispatch.send(world.rt, claimed)]
    )  # the result of the expired claim is too late
    (row,) = list_deliveries(world.pia, hook)
    assert (row["state"], len(row["attempts"])) == ("delivered", 1)


def test_a_claim_on_a_disabled_webhook_is_abandoned_at_the_next_start(
    world: World, receiver: FakeReceiver, file: str
) -> None:
    hook = add_webhook(world.pia, receiver.url)
    record_replacements(world, file)
    dispatch.claim_due(world.rt, 8)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE webhooks SET disabled_at = ?", (world.clock.now,))
    world.clock.advance(minutes=1)
    sweeps.clean_at_start(world.rt)
    assert list_delivery_states(world, hook) == ["abandoned"]


# --- listeners -------------------------------------------------------------------------------------------------------


def test_a_listener_is_never_disabled_and_sends_no_email(make: Callable[..., World]) -> None:
    world = make()  # ordinary webhooks may not call this machine
    file = world.pia.upload()["uuid"]
    with open_receiver(SERVER_ERROR) as receiver:
        url = receiver.url
        listener = listeners.start(world.rt, ListenerInput(url, events="content.replaced", account=world.pia.uuid))
        for _ in range(21):
            record_replacements(world, file)
            with world.rt.db.write():
                world.rt.db.execute("UPDATE webhooks SET listens_until = ?", (world.clock.now + 10**9,))
            deliver_until_idle(world, world.rt)
    assert len(receiver.requests) == 105
    assert mail.list_outbox(world.rt) == []
    assert listeners.renew(world.rt, listener["uuid"])["uuid"] == listener["uuid"]
    assert world.rt.db.fetch_all("SELECT disabled_at FROM webhooks") == [(None,)]


def test_an_expired_listener_receives_nothing(make: Callable[..., World]) -> None:
    world = make()
    file = world.pia.upload()["uuid"]
    with open_receiver() as receiver:
        listeners.start(world.rt, ListenerInput(receiver.url, account=world.pia.uuid))
        record_replacements(world, file)
        world.clock.advance(minutes=2)
        assert deliver_due(world.rt) == 0
    assert receiver.requests == []
