"""Existing webhooks: list, delete, enable and ownership."""

import pytest

from docshare.server.services.accounts import accounts
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.rows import count_rows
from tests.support.outside.receivers import record_replacements
from tests.support.people.cast import World
from tests.support.people.webhooks import WEBHOOKS_PATH, create_webhook, list_webhooks, update_webhook_row

pytestmark = [pytest.mark.world(rate_limit=1_000), pytest.mark.usefixtures("resolve_hosts")]


# --- list ------------------------------------------------------------------------------------------------------------


def test_the_list_is_newest_first_with_the_delivery_status(world: World) -> None:
    """``failureCount`` is always present; unknown keys are absent."""
    assert list_webhooks(world.pia) == []
    made = [create_webhook(world.pia)["webhook"] for _ in range(3)]
    update_webhook_row(
        world, made[0]["uuid"],
        failure_count=20, last_delivery_at=1_790_000_000_000, last_status=503, disabled_at=1_790_000_060_000,
    )  # fmt: skip
    newest, middle, oldest = list_webhooks(world.pia)
    assert newest == {**made[2], "failureCount": 0}
    assert middle == {**made[1], "failureCount": 0}
    assert oldest == {
        **made[0],
        "active": False,
        "failureCount": 20,
        "lastDeliveryAt": "2026-09-21T14:13:20.000Z",
        "lastStatus": 503,
        "disabledAt": "2026-09-21T14:14:20.000Z",
    }


def test_a_last_status_of_zero_is_listed(world: World) -> None:
    """Zero means that the receiver was not reached."""
    update_webhook_row(
        world, create_webhook(world.pia)["webhook"]["uuid"], last_delivery_at=1_790_000_000_000, last_status=0
    )
    assert list_webhooks(world.pia)[0]["lastStatus"] == 0


def test_the_webhook_of_a_listener_is_hidden_and_does_not_count(world: World) -> None:
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    update_webhook_row(world, uuid, listens_until=1_790_000_060_000)
    assert list_webhooks(world.pia) == []
    for method, path in (("DELETE", ""), ("POST", "/test"), ("POST", "/enable")):
        answer = world.http.open(f"{WEBHOOKS_PATH}/{uuid}{path}", method=method, headers=world.pia.headers)
        assert answer.status_code == 404
    for _ in range(25):
        create_webhook(world.pia)
    assert count_rows(world, "webhooks") == 26


# --- delete ----------------------------------------------------------------------------------------------------------


def test_deleting_a_webhook_deletes_its_queued_deliveries(world: World) -> None:
    """The response is 204 without a body."""
    made = world.pia.upload()
    hooks = [create_webhook(world.pia, events=["content.replaced"])["webhook"]["uuid"] for _ in range(2)]
    record_replacements(world, made["uuid"], times=3)
    answer = world.pia.delete(f"{WEBHOOKS_PATH}/{hooks[0]}")
    assert (answer.status_code, answer.data) == (204, b"")
    assert [row["uuid"] for row in list_webhooks(world.pia)] == [hooks[1]]
    assert count_rows(world, "deliveries") == 3
    record_replacements(world, made["uuid"], first=5)
    assert count_rows(world, "deliveries") == 4
    assert world.pia.delete(f"{WEBHOOKS_PATH}/{hooks[0]}").status_code == 404


def test_the_database_file_does_not_contain_the_url_of_a_deleted_webhook(world: World) -> None:
    uuid = create_webhook(world.pia, url="https://hook.example/very-private-path")["webhook"]["uuid"]
    world.pia.delete(f"{WEBHOOKS_PATH}/{uuid}")
    stored = b"".join(path.read_bytes() for path in world.rt.config.data_dir.glob("docshare.db*"))
    assert b"very-private-path" not in stored


def test_deleting_an_account_deletes_its_webhooks(world: World) -> None:
    made = world.fay.upload()
    create_webhook(world.fay, fileUuid=made["uuid"])
    create_webhook(world.fay)
    create_webhook(world.pia)
    accounts.delete_account(world.rt, world.fay.email)
    assert count_rows(world, "webhooks") == 1


# --- enable ----------------------------------------------------------------------------------------------------------


def test_enabling_a_disabled_webhook_resets_its_failure_count(world: World) -> None:
    """The response is the webhook."""
    made = create_webhook(world.pia)["webhook"]
    update_webhook_row(world, made["uuid"], failure_count=20, last_status=500, disabled_at=1_790_000_060_000)
    answer = world.pia.post(f"{WEBHOOKS_PATH}/{made['uuid']}/enable")
    assert answer.status_code == 200
    assert answer.get_json() == {**made, "failureCount": 0, "lastStatus": 500} == list_webhooks(world.pia)[0]


def test_enabling_an_active_webhook_resets_its_failure_count(world: World) -> None:
    made = create_webhook(world.pia)["webhook"]
    update_webhook_row(world, made["uuid"], failure_count=7)
    answer = world.pia.post(f"{WEBHOOKS_PATH}/{made['uuid']}/enable")
    assert (answer.status_code, answer.get_json()["failureCount"], answer.get_json()["active"]) == (200, 0, True)


def test_events_are_delivered_to_a_webhook_again_after_it_is_enabled(world: World) -> None:
    made = world.pia.upload()
    uuid = create_webhook(world.pia, events=["content.replaced"])["webhook"]["uuid"]
    update_webhook_row(world, uuid, disabled_at=1)
    record_replacements(world, made["uuid"])
    assert count_rows(world, "deliveries") == 0
    world.pia.post(f"{WEBHOOKS_PATH}/{uuid}/enable")
    record_replacements(world, made["uuid"], first=3)
    assert count_rows(world, "deliveries") == 1


# --- ownership -------------------------------------------------------------------------------------------------------

WEBHOOK_REQUESTS = [("DELETE", ""), ("POST", "/test"), ("POST", "/enable")]


@pytest.mark.parametrize(("method", "path"), WEBHOOK_REQUESTS)
def test_a_foreign_webhook_has_the_404_of_an_unknown_one(world: World, method: str, path: str) -> None:
    """The bodies are identical."""
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    answers = [
        world.http.open(f"{WEBHOOKS_PATH}/{name}{path}", method=method, headers=world.mal.headers)
        for name in (uuid, UNKNOWN_UUID, "nothing", uuid[:8])
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1
    assert [row["uuid"] for row in list_webhooks(world.pia)] == [uuid]
    assert list_webhooks(world.mal) == []


@pytest.mark.parametrize(("method", "path"), WEBHOOK_REQUESTS)
def test_a_webhook_uuid_is_accepted_in_any_case(world: World, method: str, path: str) -> None:
    uuid = create_webhook(world.pia)["webhook"]["uuid"]
    answer = world.http.open(f"{WEBHOOKS_PATH}/{uuid.upper()}{path}", method=method, headers=world.pia.headers)
    assert answer.status_code in (200, 204)
