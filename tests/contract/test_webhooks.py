"""Expected constants of webhooks, written by hand, and parsing of event kinds."""

from typing import Any

import pytest
from hypothesis import given

from docshare.contract import webhooks
from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from tests.contract.hostile_values import HOSTILE_VALUES, json_values, run_parser

# kind -> required keys, optional keys, whether a visitor causes it, plan required when the event occurs
KINDS: dict[str, tuple[list[str], list[str], bool, Plan]] = {
    "file.viewed": (["pagesViewed", "timeMs", "sessionId"], ["variantUuid", "variantLabel"], True, Plan.FREE),
    "file.downloaded": ([], ["variantUuid", "variantLabel"], True, Plan.FREE),
    "gate.completed": (["source"], ["email", "fields"], True, Plan.PRO),
    "note.created": (["author", "body"], ["pageNumber"], True, Plan.FREE),
    "receipt.confirmed": (["name"], [], True, Plan.FREE),
    "file.burned": ([], [], False, Plan.FREE),
    "content.replaced": (["contentVersion"], [], False, Plan.FREE),
    "invite.viewed": (["email", "name"], [], True, Plan.FREE),
    "proofing.updated": (["kind", "pageNumber", "viewer"], [], True, Plan.FREE),
}
CONSTANTS = {
    "TEST_KIND": "webhook.test",
    "DENIED_KIND": "access.denied",
    "DENIED_REQUIRED_KEYS": ("reason", "count"),
    "DENIED_OPTIONAL_KEYS": ("variantUuid",),
    "DENIED_REASONS": ("password", "domain", "revoked", "expired", "burned"),
    "GATE_SOURCES": ("form", "email"),
    "PROOFING_KINDS": ("mark", "annotation"),
    "ENVELOPE_KEYS": ("event", "timestamp", "data"),
    "DATA_KEYS": ("fileUuid", "fileName"),
    "FORMATS": ("json", "slack"),
    "DEFAULT_FORMAT": "json",
    "WEBHOOK_KEYS": ("uuid", "url", "events", "format", "active", "createdAt", "fileUuid"),
    "DELIVERY_KEYS": ("id", "event", "createdAt", "state", "nextAttemptAt", "attempts"),
    "DELIVERY_STATES": ("queued", "delivered", "abandoned"),
    "ATTEMPT_KEYS": ("at", "status", "latencyMs", "error"),
    "TEST_RESULT_KEYS": ("delivered", "status", "latencyMs"),
    "SECRET_PREFIX": "whsec_",
    "SECRET_HEX_CHARS": 64,
    "RETRY_MS": (60_000, 600_000, 3_600_000, 3_600_000),
    "MAX_ATTEMPTS": 5,
    "TIMEOUT_MS": 10_000,
    "DISABLE_AFTER": 20,
    "WEBHOOKS_PER_ACCOUNT": 25,
    "SIGNATURE_HEADER": "X-Service-Signature",
    "USER_AGENT": "Service-Webhooks/1.0",
    "CONTENT_TYPE": "application/json",
    "ID_HEADER": "Webhook-Id",
    "EVENT_HEADER": "Webhook-Event",
    "ATTEMPT_HEADER": "Webhook-Attempt",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kind_has_the_expected_data_keys_actor_and_plan(kind: str) -> None:
    row = webhooks.KINDS[kind]
    assert (list(row.required_keys), list(row.optional_keys), row.is_visitor_event, row.plan) == KINDS[kind]
    assert row.trigger_text


def test_kinds_are_listed_in_order() -> None:
    assert list(webhooks.KINDS) == list(KINDS)


def test_the_activity_feed_contains_all_kinds_and_denials() -> None:
    assert list(webhooks.ACTIVITY_KINDS) == [*KINDS, "access.denied"]


@pytest.mark.parametrize(("name", "value"), CONSTANTS.items())
def test_constant_has_the_expected_value(name: str, value: object) -> None:
    assert getattr(webhooks, name) == value


def test_the_webhook_list_adds_health_keys() -> None:
    extra = ("failureCount", "lastDeliveryAt", "lastStatus", "disabledAt")
    assert (*CONSTANTS["WEBHOOK_KEYS"], *extra) == webhooks.WEBHOOK_LIST_KEYS  # type: ignore[misc]


@pytest.mark.parametrize(
    ("failures", "wait"), [(1, 60_000), (2, 600_000), (3, 3_600_000), (4, 3_600_000), (5, None), (6, None)]
)
def test_a_delivery_is_abandoned_after_the_fifth_failure(failures: int, wait: int | None) -> None:
    assert webhooks.retry_delay(failures) == wait


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plan", list(Plan))
def test_only_gate_events_require_a_plan_and_visitor_kinds_skip_the_owner(kind: str, plan: Plan) -> None:
    allowed = kind != "gate.completed" or plan is Plan.PRO
    assert webhooks.is_queued(kind, plan, by_owner=False) is allowed
    assert webhooks.is_queued(kind, plan, by_owner=True) is (kind in ("file.burned", "content.replaced"))


def test_event_kinds_are_parsed_in_order_without_duplicates() -> None:
    sent = ["note.created", "file.viewed", "note.created"]
    assert webhooks.parse_event_kinds("events", sent) == ["note.created", "file.viewed"]


@pytest.mark.parametrize(
    "value", [["webhook.test"], ["notion"], ["access.denied"], ["file.viewed", "x"], *HOSTILE_VALUES]
)
def test_any_other_value_of_events_is_a_bad_request(value: object) -> None:
    with pytest.raises(Problem) as caught:
        webhooks.parse_event_kinds("events", value)
    assert (caught.value.code, "events" in caught.value.detail) == ("bad_request", True)


@given(json_values(list(KINDS)))
def test_hostile_events_raise_only_problems(value: Any) -> None:
    accepted, found = run_parser(webhooks.parse_event_kinds, "events", value)
    assert set(found) <= set(KINDS) if accepted else found == "bad_request"
