"""Strict parsing of webhooks, and the test event. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docshare.contract import fields, webhooks
from docshare.contract.problems import Problem
from docshare.contract.wire import format_instant

_SAMPLE_UUID = "00000000-0000-0000-0000-000000000000"
_SAMPLE_FILE_NAME = "example.pdf"
_parse_format = fields.word_parser(*webhooks.FORMATS)


@dataclass(frozen=True)
class WebhookInput:
    """The parsed body.

    The ``url`` as sent, the kinds of ``events`` and the ``format``; ``file`` names the only file whose events are
    sent (empty if no file can have that name); None: all files.
    """

    url: object
    events: list[str]
    format: str
    file: str | None


def parse_create(body: Mapping[str, Any]) -> WebhookInput:
    """Parse the body of a create. Raises ``bad_request`` for the first malformed field."""
    # A malformed fileUuid gets the same 404 as an unknown one.
    file = body.get("fileUuid", "")
    return WebhookInput(
        url=body.get("url"),
        events=webhooks.parse_event_kinds("events", body.get("events")),
        format=_parse_format("format", body["format"]) if "format" in body else webhooks.DEFAULT_FORMAT,
        file=(file if isinstance(file, str) else "") if "fileUuid" in body else None,
    )


def require_webhook_slot(count: int) -> None:
    """Raise ``bad_request`` if an account with ``count`` webhooks can have no more.

    Webhooks for one file and disabled webhooks count too.
    """
    if count >= webhooks.WEBHOOKS_PER_ACCOUNT:
        raise Problem(
            "bad_request",
            f"The account has {webhooks.WEBHOOKS_PER_ACCOUNT} webhooks, the maximum for an account.",
            hint="Delete a webhook; disabled ones count too.",
        )


def build_test_event(file: tuple[str, str] | None, now: int) -> dict[str, Any]:
    """Return the envelope of a test delivery at ``now`` (milliseconds).

    Parameters: ``file`` UUID and name of a document for the example; None: use an invented one.
    """
    # The data of webhook.test. A real document, so that the link in a Slack message works.
    uuid, name = file or (_SAMPLE_UUID, _SAMPLE_FILE_NAME)
    return {"event": webhooks.TEST_KIND, "timestamp": format_instant(now), "data": {"fileUuid": uuid, "fileName": name}}
