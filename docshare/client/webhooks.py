"""Webhooks and their deliveries."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from docshare.client.errors import NotAnApi
from docshare.client.http.call import Call
from docshare.client.http.recovery import Probe
from docshare.client.http.resource import Resource
from docshare.client.http.whole_body import JsonBody
from docshare.client.links import find_file_id
from docshare.client.paging import Feed, Row
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.contract.webhooks import DEFAULT_FORMAT

if TYPE_CHECKING:
    from docshare.client.http.transport import Transport
    from docshare.client.types.webhooks import CreatedWebhook, Delivery, Webhook, WebhookTest

_ROOT = "/webhooks"


class WebhooksApi(Resource):
    """``client.webhooks``. A ``webhook`` is always its UUID; Webhook and delivery objects are the JSON of the server,
    unchanged.

    Example::

        created = client.webhooks.create("https://hooks.example/docshare", ["file.viewed"])
        print(created["secret"])  # returned only here
        for delivery in client.webhooks.deliveries(created["webhook"]["uuid"]).rows_after(None):
            print(delivery["state"], len(delivery["attempts"]))
    """

    def __init__(self, transport: "Transport") -> None:
        super().__init__(transport)
        self._created: set[str] = set()

    def list(self) -> "list[Webhook]":
        """Return all webhooks of the account, newest first, with their status and without secrets (``GET /webhooks``).
        Problems: insufficient_scope."""
        return cast("list[Webhook]", _list_webhooks(self._transport))

    def create(
        self,
        url: str,
        events: Iterable[str],
        format: str = DEFAULT_FORMAT,
        file: str | None = None,
        *,
        known: Iterable[str] = (),
    ) -> "CreatedWebhook":
        """Create a webhook (``POST /webhooks``) and return ``{webhook, secret}``. The secret is returned only here.

        Parameters:
            url: an https address, up to 2048 characters.
            events: one or more of the nine kinds.
            format: ``json`` (signed) or ``slack``.
            file: the UUID or short id of the only file whose events are sent; None for all files.
            known: UUIDs of existing webhooks.

        The API has no idempotency keys. If the response is lost after the server may have created the webhook, the
        client reads the list of webhooks: exactly one new webhook with this address, kinds, format, and file is the
        result, with ``"recovered": true`` and without its secret, which was lost with the response. If there is none,
        the client retries once; anything else raises ``UnknownOutcome``. Problems: bad_request (the address, the kinds,
        or the account has 25), not_found (the file), insufficient_scope.
        """
        sent: Row = {"url": url, "events": [*events], "format": format}
        if file is not None:
            sent["fileUuid"] = find_file_id(self._transport, file)
        call = Call("POST", _ROOT, body=JsonBody(sent), is_repeatable=False)
        answer = _WebhookProbe(self._transport, call, sent, known=self._created | set(known)).call_and_recover()
        webhook = answer.get("webhook")
        if not isinstance(webhook, dict) or "uuid" not in webhook:
            raise NotAnApi("the answer does not contain a webhook", method="POST", path=f"/api/v1{_ROOT}")
        self._created.add(str(webhook["uuid"]))
        return cast("CreatedWebhook", answer)

    def delete(self, webhook: str) -> None:
        """Delete a webhook and drop its queued deliveries (``DELETE /webhooks/{uuid}``). Problems: not_found."""
        self._transport.send_unless_done(Call("DELETE", _webhook_path(webhook)))

    def test(self, webhook: str) -> "WebhookTest":
        """Send one ``webhook.test`` now and return ``{delivered, status, latencyMs}``
        (``POST /webhooks/{uuid}/test``). Problems: not_found, rate_limited (10 a minute)."""
        return cast(
            "WebhookTest",
            self._transport.json_object(Call("POST", f"{_webhook_path(webhook)}/test", is_repeatable=False)),
        )

    def enable(self, webhook: str) -> "Webhook":
        """Enable a webhook, reset its failure count, and return it (``POST /webhooks/{uuid}/enable``). Problems:
        not_found."""
        return cast("Webhook", self._transport.json_object(Call("POST", f"{_webhook_path(webhook)}/enable")))

    def deliveries(self, webhook: str) -> "Feed[Delivery]":
        """Return the delivery log as a feed (``GET /webhooks/{uuid}/deliveries``). Rows: ``{id, event, createdAt,
        state, nextAttemptAt, attempts}``. Problems: not_found."""
        return Feed(self._transport, f"{_webhook_path(webhook)}/deliveries", {})

    def redeliver(self, webhook: str, delivery: int) -> "Delivery":
        """Queue a delivery for a new round of attempts and return its row
        (``POST /webhooks/{uuid}/deliveries/{id}/redeliver``). Problems: not_found, conflict (the webhook is
        disabled)."""
        return cast(
            "Delivery",
            self._transport.json_object(
                Call("POST", f"{_webhook_path(webhook)}/deliveries/{delivery}/redeliver", is_repeatable=False)
            ),
        )


class _WebhookProbe(Probe):
    """Look for a new webhook with the same address, kinds, format, and file."""

    what, kind, place = "creation of a webhook", "webhook", "the list of webhooks"

    def __init__(self, transport: "Transport", call: Call, sent: Row, *, known: set[str]) -> None:
        super().__init__(transport, call, known=known)
        self._payload = sent

    def list_rows(self) -> list[Row]:
        """Return the webhooks of the account."""
        return _list_webhooks(self._transport)

    def matches(self, row: Row) -> bool:
        """Return whether address, kinds, and format are the same. The list shows the file as a UUID, whatever id was
        sent, so compare only whether there is one."""
        same = all(row.get(key) == self._payload[key] for key in ("url", "format"))
        kinds = row.get("events")
        return (
            same
            and isinstance(kinds, list)
            and sorted(kinds) == sorted(dict.fromkeys(self._payload["events"]))
            and ("fileUuid" in row) == ("fileUuid" in self._payload)
        )

    def build_result(self, row: Row) -> Row:
        """Return the webhook without its secret, which was in the lost response only."""
        return {"webhook": row}


def _list_webhooks(transport: "Transport") -> list[Row]:
    # The list is an object; other servers of this API may send an array.
    call = Call("GET", _ROOT)
    answer = transport.json_value(call)
    rows = answer.get("webhooks") if isinstance(answer, dict) else answer
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NotAnApi(
            f"{transport.address.base} did not answer with a list of webhooks",
            method="GET",
            path=f"/api/v1{_ROOT}",
        )
    return rows


def _webhook_path(webhook: str) -> str:
    # Anything but a UUID must not become part of a path.
    if not is_uuid(webhook):
        raise Problem("not_found", f"'{webhook}' is not the UUID of a webhook")
    return f"{_ROOT}/{webhook}"
