"""The variants of one file on a fake server, for the tests of ``docshare variants``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from docshare.contract.wire import format_instant
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, RecordedRequest

FILE = "aB3dE5fG7hJ9"
FILE_UUID = UUID.format(1)
_BASE = 1_790_000_000_000


def variant_short_id(number: int) -> str:
    return f"vB3dE5fG7h{number:02}"


def variant_url(number: int) -> str:
    return f"https://d.example/{variant_short_id(number)}"


class FakeVariants:
    """Stores variants under ``/files/{file}/variants``, numbered from 1; ``rows`` are newest first. ``error_for``
    returns the error response to a create request, or None; ``lose`` decides whether a create request is carried out
    but its response is lost."""

    def __init__(self, api: FakeApi, file: str = FILE, *, first: int = 1) -> None:
        self.api = api
        self.file = file
        self.rows: list[dict[str, Any]] = []
        self.error_for: Callable[[dict[str, Any]], FakeResponse | None] = lambda body: None
        self.lose: Callable[[dict[str, Any]], bool] = lambda body: False
        self._next = first
        self.pages = 9
        api.on("GET", f"/files/{file}", lambda heard: {"uuid": FILE_UUID, "totalPages": self.pages})
        api.on("GET", f"/files/{file}/variants", lambda heard: {"variants": list(self.rows)})
        api.on("POST", f"/files/{file}/variants", self._create)

    def add_variant(self, label: str | None = None, **more: Any) -> dict[str, Any]:
        """Add a variant, and the routes that change it."""
        number = self._next
        self._next += 1
        row: dict[str, Any] = {
            "uuid": UUID.format(100 + number),
            "shortId": variant_short_id(number),
            "url": variant_url(number),
        }
        row |= {} if label is None else {"label": label.strip()}
        moment = format_instant(_BASE + number * 1000)
        row |= {"overrides": {}, "revoked": False, "redacted": False, "createdAt": moment, **more}
        self.rows.insert(0, row)
        path = f"/files/{self.file}/variants/{row['uuid']}"
        self.api.on("PUT", path, lambda heard: self._update(row, heard))
        self.api.on("DELETE", path, lambda heard: self._delete(row, heard))
        return row

    def list_creates(self) -> list[dict[str, Any]]:
        """Return the bodies of all create requests."""
        return [json.loads(heard.body) for heard in self.api.list_requests("POST", f"/files/{self.file}/variants")]

    def list_changes(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return method, UUID of the variant and body (or query) of every change."""
        changes = [heard for heard in self.api.requests if heard.method in ("PUT", "DELETE")]
        return [
            (heard.method, heard.path.rpartition("/")[2], json.loads(heard.body) if heard.body else dict(heard.query))
            for heard in changes
        ]

    def _create(self, heard: RecordedRequest) -> Any:
        body = json.loads(heard.body)
        error = self.error_for(body)
        if error is not None:
            return error
        row = self.add_variant(body.get("label"), overrides=body.get("overrides", {}))
        return FakeResponse(connection_action="drop") if self.lose(body) else FakeResponse(row, 201)

    def _update(self, row: dict[str, Any], heard: RecordedRequest) -> Any:
        body = json.loads(heard.body)
        if body.get("label") == "":
            row.pop("label", None)
            del body["label"]
        row |= body
        return row

    def _delete(self, row: dict[str, Any], heard: RecordedRequest) -> Any:
        if heard.query.get("redact") == "1":
            row.pop("label", None)
            row["redacted"] = True
        else:
            self.rows.remove(row)
        return FakeResponse(b"", 204)
