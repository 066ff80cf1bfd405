"""Webhooks: who is told about events, and how the telling went (section Webhooks)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from docshare.client.errors import NotAnApi
from docshare.client.json_body import JsonBody
from docshare.client.recovery import Probe
from docshare.client.retries import Call
from docshare.client.walking import Feed, Row
from docshare.contract.fields import is_uuid
from docshare.contract.problems import Problem
from docshare.contract.webhooks import DEFAULT_FORMAT

if TYPE_CHECKING:
    from docshare.client.transport import Transport

_ROOT = "/webhooks"


class Webhooks:
    """``client.webhooks``. A ``webhook`` is always its UUID; Webhook and delivery objects are the server's JSON as it
    was sent."""

    def __init__(self, transport: "Transport") -> None:
        self._transport = transport
        self._made: set[str] = set()

    def list(self) -> list[Row]:
        """``GET /webhooks``: all of the account, newest first, with their health; never with a secret. Problems:
        insufficient_scope."""
        return _rows(self._transport)

    def create(
        self,
        url: str,
        events: Iterable[str],
        format: str = DEFAULT_FORMAT,
        file: str | None = None,
        *,
        known: Iterable[str] = (),
    ) -> Row:
        """``POST /webhooks``: ``{webhook, secret}``. The secret is told here and never again.

        Parameters:
            url: an https address, up to 2048 characters.
            events: one or more of the nine kinds.
            format: ``json`` (signed) or ``slack``.
            file: the UUID or short id of the only file whose events are sent; None for all files.
            known: UUIDs of webhooks that were there before.

        The API knows no idempotency key. When the answer is lost after the server may have made the webhook, the list
        decides: one new webhook of that address, kinds, format and scope is the result. It then comes with
        ``"recovered": true`` and without its secret, which was lost with the answer. None means that it is sent once
        more, and anything else raises ``UnknownOutcome``. Problems: bad_request (the address, the kinds, or the account
        has 25), not_found (the file), insufficient_scope.
        """
        sent: Row = {"url": url, "events": [*events], "format": format}
        if file is not None:
            sent["fileUuid"] = file
        call = Call("POST", _ROOT, body=JsonBody(sent), repeatable=False)
        answer = _WebhookProbe(self._transport, call, sent, known=self._made | set(known)).guard()
        webhook = answer.get("webhook")
        if not isinstance(webhook, dict) or "uuid" not in webhook:
            raise NotAnApi("the answer holds no webhook", method="POST", path=f"/api/v1{_ROOT}")
        self._made.add(str(webhook["uuid"]))
        return answer

    def delete(self, webhook: str) -> None:
        """``DELETE /webhooks/{uuid}``: nothing is sent any more, not even what waits. Problems: not_found."""
        self._transport.send(Call("DELETE", _path(webhook)))

    def test(self, webhook: str) -> Row:
        """``POST /webhooks/{uuid}/test``: sends one ``webhook.test`` now; ``{delivered, status, latencyMs}``. Problems:
        not_found, rate_limited (10 a minute)."""
        return self._transport.json_object(Call("POST", f"{_path(webhook)}/test", repeatable=False))

    def enable(self, webhook: str) -> Row:
        """``POST /webhooks/{uuid}/enable``: the Webhook, active again and with a failure count of 0. Problems:
        not_found."""
        return self._transport.json_object(Call("POST", f"{_path(webhook)}/enable"))

    def deliveries(self, webhook: str) -> Feed:
        """``GET /webhooks/{uuid}/deliveries``: the delivery log, read as the event feed is: ``page``, ``newest`` and
        ``rows_after``. Rows: ``{id, event, createdAt, state, nextAttemptAt, attempts}``. Problems: not_found."""
        return Feed(self._transport, f"{_path(webhook)}/deliveries", {})

    def redeliver(self, webhook: str, delivery: int) -> Row:
        """``POST /webhooks/{uuid}/deliveries/{id}/redeliver``: the row, queued for a new round of attempts. Problems:
        not_found, conflict (it is still queued, or the webhook is disabled)."""
        return self._transport.json_object(
            Call("POST", f"{_path(webhook)}/deliveries/{delivery}/redeliver", repeatable=False)
        )


class _WebhookProbe(Probe):
    """The probe of a create: a new webhook of the same address, kinds, format and scope."""

    what, kind, place = "creation of a webhook", "webhook", "the list of webhooks"

    def __init__(self, transport: "Transport", call: Call, sent: Row, *, known: set[str]) -> None:
        super().__init__(transport, call, known=known)
        self._sent = sent

    def rows(self) -> list[Row]:
        """The webhooks of the account."""
        return _rows(self._transport)

    def fits(self, row: Row) -> bool:
        """Whether the webhook would be sent the same, to the same address. Its scope is told as a UUID, whatever named
        the file, so only that there is one can be compared."""
        same = all(row.get(key) == self._sent[key] for key in ("url", "format"))
        kinds = row.get("events")
        return (
            same
            and isinstance(kinds, list)
            and sorted(kinds) == sorted(dict.fromkeys(self._sent["events"]))
            and ("fileUuid" in row) == ("fileUuid" in self._sent)
        )

    def result(self, row: Row) -> Row:
        """The answer without the secret, which only the server and the lost answer knew."""
        return {"webhook": row}


def _rows(transport: "Transport") -> list[Row]:
    # Spec gap: the list is an object; an array, which another server may send, is understood too.
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


def _path(webhook: str) -> str:
    # Anything but a UUID must not become part of a path.
    if not is_uuid(webhook):
        raise Problem("not_found", f"'{webhook}' is no UUID of a webhook")
    return f"{_ROOT}/{webhook}"
