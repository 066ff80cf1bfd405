"""The documentation of webhooks, the activity feed and email matches the code."""

import json
import re
import textwrap
import time
import tomllib
from ipaddress import ip_address
from typing import Any

import pytest

from docshare.cli import topics
from docshare.contract import webhooks
from docshare.contract.limits import ACTIVITY_RETENTION_MS, HOUR, MAX_DENIED_COUNT
from docshare.contract.plans import DAY
from docshare.contract.problems import Problem
from docshare.contract.signing import REPLAY_WINDOW_MS, sign
from docshare.contract.wire import parse_instant
from docshare.server.rules import mails, webhook_url
from docshare.server.services.operations import mail
from docshare.server.services.webhooks import deliveries
from tests.docs.test_docs import read_section

WEBHOOKS = " ".join(topics.load("webhooks").split())


def get_example(begin: str) -> str:
    """Return the example of the webhooks topic that begins with the line ``begin``."""
    text = topics.load("webhooks")
    start = text.index(f"\n    {begin}") + 1
    return textwrap.dedent(re.split(r"\n+(?! {4}|\n)", text[start:])[0]) + "\n"


def test_the_documented_retries_of_email_match_the_code() -> None:
    minute = 60_000
    assert (60 * minute, 24 * 60 * minute) == (HOUR, DAY)
    assert (minute, 10 * minute, HOUR, 6 * HOUR, DAY) == mails.RETRY_MS
    text = read_section("server", "Send email")
    assert "after 1 minute, 10 minutes, 1 hour, 6 hours, and a day" in text
    assert (mail.RETENTION_MS, "after 30 days" in text) == (30 * DAY, True)
    assert all(mails.mail_state(*row) in text for row in ((0, 1, None), (1, None, 1), (1, None, None), (0, None, None)))


def test_the_verifier_of_the_topic_accepts_only_valid_signatures() -> None:
    names: dict[str, Any] = {}
    exec(get_example("import hashlib"), names)
    genuine, body, now = names["genuine"], '{"event":"x","data":{"body":"Grüße"}}'.encode(), int(time.time() * 1000)
    assert genuine("whsec_ab", body, sign("whsec_ab", body, now))
    assert genuine("whsec_ab", body, sign("whsec_ab", body, now - 290_000))
    for secret, sent, header in (
        ("whsec_ac", body, sign("whsec_ab", body, now)),
        ("ab", body, sign("whsec_ab", body, now)),
        ("whsec_ab", body + b"\n", sign("whsec_ab", body, now)),
        ("whsec_ab", body, sign("whsec_ab", body, now - 310_000)),
        ("whsec_ab", body, sign("whsec_ab", body, now + 310_000)),
        ("whsec_ab", body, sign("whsec_ab", body, now).replace(",", ", ")),
        ("whsec_ab", body, ""),
        ("whsec_ab", body, "t=,v1="),
        ("whsec_ab", body, "t=x,v1=ü"),
    ):
        assert not genuine(secret, sent, header), header
    assert REPLAY_WINDOW_MS == 300_000


def test_the_delivery_of_the_topic_is_valid() -> None:
    envelope = json.loads(get_example("{").split("\n\n")[0])
    kind = webhooks.KINDS[envelope["event"]]
    assert tuple(envelope) == webhooks.ENVELOPE_KEYS
    assert tuple(envelope["data"]) == (*webhooks.DATA_KEYS, *kind.required_keys, *kind.optional_keys)
    headers = dict(line.split(": ", 1) for line in get_example("Content-Type: application/json").splitlines())
    assert headers.keys() == {
        "Content-Type", webhooks.SIGNATURE_HEADER, webhooks.ID_HEADER, webhooks.EVENT_HEADER, webhooks.ATTEMPT_HEADER,
    }  # fmt: skip
    assert (headers[webhooks.EVENT_HEADER], headers["Content-Type"]) == (envelope["event"], webhooks.CONTENT_TYPE)
    assert headers[webhooks.SIGNATURE_HEADER].startswith("t=1795269731,v1=")
    assert parse_instant(envelope["timestamp"]) == 1_795_269_731_000


def test_the_documented_behavior_of_webhooks_matches_the_code() -> None:
    text = WEBHOOKS
    assert (webhooks.RETRY_MS, webhooks.MAX_ATTEMPTS) == ((60_000, 600_000, HOUR, HOUR), 5)
    assert re.search("after 1 minute, 10 minutes, 1 hour, and 1 hour, and then abandons it", text)
    assert (webhooks.TIMEOUT_MS, "within 10 seconds" in text) == (10_000, True)
    assert webhooks.DISABLE_AFTER == 20
    assert "After 20 abandoned deliveries in a row" in text
    assert (ACTIVITY_RETENTION_MS, deliveries.RETENTION_MS, "90 days" in text) == (90 * DAY, 90 * DAY, True)
    silent = {name for name, kind in webhooks.KINDS.items() if not kind.is_visitor_event}
    assert silent == {"file.burned", "content.replaced"}


def test_the_webhook_limits_of_the_topic_match_the_code() -> None:
    text = WEBHOOKS
    assert (webhooks.WEBHOOKS_PER_ACCOUNT, "25 webhooks" in text) == (25, True)
    assert (MAX_DENIED_COUNT, "at most 1,000" in text) == (1_000, True)
    assert (len(webhooks.KINDS), "the nine kinds" in text) == (9, True)
    assert [name for name, kind in webhooks.KINDS.items() if kind.plan > 0] == ["gate.completed"]


def test_the_webhooks_topic_lists_every_event_type_and_reason() -> None:
    text = topics.load("webhooks")
    assert set(webhooks.KINDS) <= set(re.findall(r"^  ([a-z.]+)", text, re.MULTILINE))
    assert set(webhooks.DENIED_REASONS) <= set(re.findall("[a-z]+", text))


def test_the_private_targets_of_the_topic_can_be_configured() -> None:
    entries = tomllib.loads(get_example("webhook_allow = "))["webhook_allow"]
    allowed = webhook_url.parse_allowed(entries)
    target, permit = webhook_url.vet_url("http://hooks.internal/docshare", allowed)
    assert (target.host, permit(ip_address("10.0.0.1")), permit(ip_address("169.254.169.254"))) == (
        "hooks.internal", True, False,
    )  # fmt: skip
    for forbidden in ("169.254.169.254", "224.0.0.1", "0.0.0.0", "10.21.0.1"):
        with pytest.raises(Problem):
            webhook_url.vet_url(f"https://{forbidden}/", webhook_url.parse_allowed([*entries, "169.254.0.0/16"]))
