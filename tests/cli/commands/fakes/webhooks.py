"""The webhooks of an account on a fake server, for the tests of ``docshare webhooks``."""

from __future__ import annotations

import json
from typing import Any

from docshare.contract.wire import format_instant
from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, RecordedRequest, problem

URL = "https://hooks.example.com/docshare"
SECRET = "whsec_" + "7e57" * 16
HOUR = 3600
EVENT_KINDS = [
    "file.viewed", "file.downloaded", "gate.completed", "note.created", "receipt.confirmed", "file.burned",
    "content.replaced", "invite.viewed", "proofing.updated",
]  # fmt: skip


def webhook_uuid(number: int) -> str:
    """Return the UUID of webhook ``number``; its first characters differ from those of every other."""
    return f"{number:08x}-0000-4000-8000-000000000001"


def format_moment(seconds: float) -> str:
    """Return the moment ``seconds`` after fake time began, in the format of the API."""
    return format_instant(int((BASE + seconds) * 1000))


def make_attempt(seconds: float, status: int, **more: Any) -> dict[str, Any]:
    """Return an attempt at that moment."""
    return {"at": format_moment(seconds), "status": status, "latencyMs": 143, **more}


class FakeWebhooks:
    """Stores webhooks under ``/webhooks``, numbered from 1, and the deliveries of each; ``rows`` are newest first.

    ``results`` are the responses to test requests; the last one is repeated.
    """

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.rows: list[dict[str, Any]] = []
        self.log: dict[str, list[dict[str, Any]]] = {}
        self.results: list[Any] = [{"delivered": True, "status": 200, "latencyMs": 143}]
        api.on("GET", "/webhooks", lambda heard: {"webhooks": list(self.rows)})
        api.on("POST", "/webhooks", self._create)

    def add_webhook(self, url: str = URL, number: int | None = None, **more: Any) -> str:
        """Add a webhook and its routes; return the UUID."""
        ident = webhook_uuid(len(self.rows) + 1 if number is None else number)
        row = {"uuid": ident, "url": url, "events": ["file.viewed"], "format": "json", "active": True}
        row |= {"createdAt": format_moment(0), "failureCount": 0, **more}
        self.rows.insert(0, row)
        self.log[ident] = []
        path = f"/webhooks/{ident}"
        self.api.on("DELETE", path, lambda heard: self._delete(row))
        self.api.on("POST", f"{path}/test", self._test)
        self.api.on("POST", f"{path}/enable", lambda heard: row.update(active=True, failureCount=0) or row)
        self.api.on("GET", f"{path}/deliveries", lambda heard: self._list_deliveries(ident, heard))
        return ident

    def add_delivery(self, webhook: str, number: int, state: str, *attempts: dict[str, Any], **more: Any) -> None:
        """Add a delivery to the log of a webhook."""
        row = {
            "id": number,
            "event": "file.viewed",
            "createdAt": format_moment(number),
            "state": state,
            "attempts": [*attempts],
        }
        self.log[webhook].append(row | more)
        path = f"/webhooks/{webhook}/deliveries/{number}/redeliver"
        refusal = problem(409, "conflict", "It is still queued.") if state == "queued" else None
        self.api.on(
            "POST",
            path,
            refusal or FakeResponse(row | {"state": "queued", "nextAttemptAt": format_moment(number)}, 202),
        )

    def list_changes(self) -> list[str]:
        """Return method and path of every change."""
        return [f"{heard.method} {heard.path}" for heard in self.api.requests if heard.method != "GET"]

    def _create(self, heard: RecordedRequest) -> Any:
        body = json.loads(heard.body)
        file = {"fileUuid": UUID.format(1)} if "fileUuid" in body else {}
        self.add_webhook(body["url"], events=body["events"], format=body["format"], **file)
        row = {key: value for key, value in self.rows[0].items() if key != "failureCount"}
        return FakeResponse({"webhook": row, "secret": SECRET}, 201)

    def _delete(self, row: dict[str, Any]) -> Any:
        if row not in self.rows:
            return problem(404, "not_found")
        self.rows.remove(row)
        return FakeResponse(b"", 204)

    def _test(self, _: RecordedRequest) -> Any:
        return self.results.pop(0) if len(self.results) > 1 else self.results[0]

    def _list_deliveries(self, webhook: str, heard: RecordedRequest) -> Any:
        since, limit = int(heard.query.get("since", 0)), int(heard.query["limit"])
        rows = sorted(self.log[webhook], key=lambda row: row["id"])
        return [row for row in rows if row["id"] > since][:limit] if since else rows[::-1][:limit]
