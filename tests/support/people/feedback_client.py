"""A reader who leaves feedback on a share link: one browser, with its cookies."""

from __future__ import annotations

import json
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.engines.rows import count_rows
from tests.support.people.cast import World
from tests.support.people.gate_client import set_trial_cookies
from tests.support.people.share_page import parse_facts

RECT = {"x": 0.1, "y": 0.2, "width": 0.3, "height": 0.4}
ALL_FEEDBACK_SETTINGS = {
    "commentsEnabled": True,
    "commentsAllowPublic": True,
    "marksEnabled": True,
    "annotationsEnabled": True,
    "askReceipt": True,
}
CTA = {"cta": {"label": "Book", "url": "https://example.com"}}
_TABLES = ("viewers", "notes", "marks", "annotations", "receipts", "taps", "activity_rows")
FEEDBACK_WRITES: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("POST", "notes", {"author": "Ann", "body": "A typo"}),
    ("DELETE", "notes/00000000-0000-4000-8000-000000000000", None),
    ("PUT", "marks/1", {"mark": "pick"}),
    ("POST", "annotations", {"page": 1, "rect": RECT, "note": "Move this"}),
    ("DELETE", "annotations/00000000-0000-4000-8000-000000000000", None),
    ("POST", "receipt", {"name": "Ann Lee"}),
    ("POST", "taps", {"cta": True}),
)
"""Every request that leaves feedback: method, path below the link, body."""


class FeedbackClient:
    """A reader of the link ``name``. ``http``: their browser, a new one by default, which stores cookies unless
    ``cookies`` is False."""

    def __init__(
        self,
        world: World,
        name: str,
        *,
        http: FlaskClient | None = None,
        address: str = "198.51.100.4",
        cookies: bool = True,
    ) -> None:
        self.name = name
        self.http = http or world.app.test_client(use_cookies=cookies)
        if cookies:
            set_trial_cookies(self.http)
        self._origin = {"REMOTE_ADDR": address}

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> TestResponse:
        """Send one request below the link; ``headers``: with ``_`` for ``-``."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            sent = {"Content-Type": "application/json"} | sent
            body = json.dumps(body, ensure_ascii=False).encode()  # as browsers encode it
        return self.http.open(
            f"/{self.name}/{path}", method=method, data=body, headers=sent, environ_overrides=self._origin
        )

    def leave_note(self, body: str = "A typo", author: str = "Ann", **more: Any) -> dict[str, Any]:
        """Leave a note and return it."""
        return self._create("notes", {"author": author, "body": body, **more})

    def annotate(self, page: int = 1, note: str = "Move this", **more: Any) -> dict[str, Any]:
        """Leave an annotation and return it."""
        return self._create("annotations", {"page": page, "rect": RECT, "note": note, **more})

    def mark_page(self, page: int, mark: str | None) -> int:
        """Mark a page and return the status of the response."""
        return self.send("PUT", f"marks/{page}", {"mark": mark}).status_code

    def get_feedback(self) -> dict[str, Any]:
        """Return the feedback that the reader sees on the document."""
        answer = self.send("GET", "feedback")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.get_json()
        return found

    def read_page_facts(self) -> dict[str, Any]:
        """Return the facts of the share page for its script."""
        return parse_facts(self.http.get(f"/{self.name}").text)

    def _create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.send("POST", path, body)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.get_json()
        return made


def list_activity(world: World) -> list[tuple[str, dict[str, Any]]]:
    """Return the recorded events: kind and data."""
    return [
        (event, json.loads(data))
        for event, data in world.rt.db.fetch_all("SELECT event, data FROM activity_rows ORDER BY id")
    ]


def count_feedback_rows(world: World) -> dict[str, int]:
    """Return the number of rows in each table of feedback that is not empty."""
    return {table: found for table in _TABLES if (found := count_rows(world, table))}
