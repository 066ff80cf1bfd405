"""One file and its readers on a fake server, for the tests of ``readership``, ``pending``, ``wait`` and ``explain``."""

from __future__ import annotations

from typing import Any

from docshare.contract.wire import format_instant
from tests.support.outside.fake_api import BASE, UUID, FakeApi, RecordedRequest

FILE = "aB3dE5fG7hJ9"
FILE_UUID = UUID.format(1)
PATH = f"/files/{FILE}"
SESSIONS = f"{PATH}/readership/sessions"
ANN, BOB = UUID.format(101), UUID.format(102)  # variants


def make_session(number: int, pages: dict[int, int] | None = None, **more: Any) -> dict[str, Any]:
    """Return the session with that id. ``pages``: seconds by page; it started ``number`` seconds after fake time
    did."""
    spent = {1: 10} if pages is None else pages
    row = {
        "id": number,
        "sessionId": UUID.format(1000 + number),
        "startedAt": format_instant(int((BASE + number) * 1000)),
        "totalTimeMs": sum(spent.values()) * 1000,
        "pagesViewed": len(spent),
        "country": "DE",
        "deviceType": "Desktop",
        "browser": "Firefox",
        "returning": False,
        "fromInvite": False,
        "contentVersion": 2,
        "pages": [{"page": page, "timeMs": seconds * 1000} for page, seconds in spent.items()],
    }
    return row | more


def make_variant(uuid: str, label: str | None, **more: Any) -> dict[str, Any]:
    """Return a variant of the file."""
    short = f"vB3dE5fG7h{uuid[-2:]}"
    row = {"uuid": uuid, "shortId": short, "url": f"https://d.example/{short}", "overrides": {}, "revoked": False}
    return row | ({} if label is None else {"label": label}) | more


def make_invite(number: int, email: str, **more: Any) -> dict[str, Any]:
    """Return an invitation to the file."""
    return {"uuid": UUID.format(200 + number), "email": email, "url": f"https://d.example/i{number}"} | more


class FakeReadership:
    """Serves the file, its variants, its invitations and its sessions, which are paginated like those of the API."""

    def __init__(self, api: FakeApi) -> None:
        self.file: dict[str, Any] = {
            "uuid": FILE_UUID, "shortId": FILE, "totalPages": 3, "contentVersion": 2, "pageRange": {"from": 0, "to": 0},
        }  # fmt: skip
        self.variants: list[dict[str, Any]] = []
        self.invites: list[dict[str, Any]] = []
        self.sessions: list[dict[str, Any]] = []
        api.on("GET", PATH, lambda heard: self.file)
        api.on("GET", f"{PATH}/variants", lambda heard: {"variants": self.variants})
        api.on("GET", f"{PATH}/invites", lambda heard: self.invites)
        api.on("GET", SESSIONS, self.list_sessions)

    def list_sessions(self, heard: RecordedRequest) -> list[dict[str, Any]]:
        """Return the sessions that a request selects."""
        since, limit = int(heard.query["since"]), int(heard.query["limit"])
        return [row for row in self.sessions if row["id"] > since][:limit]
