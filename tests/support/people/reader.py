"""A reader of a share link who loads the page and sends the beacons of its script."""

import json
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.readership import viewing
from tests.support.people.cast import World
from tests.support.people.share_page import parse_facts

DESKTOP = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"


class FakeReader:
    """``name``: short id, UUID or slug; ``page_headers``: headers of the page request; ``http``: the browser, by
    default a new one."""

    def __init__(
        self,
        world: World,
        name: str,
        *,
        address: str = "198.51.100.4",
        user_agent: str = DESKTOP,
        page_headers: dict[str, str] | None = None,
        query: str = "",
        prefix: str = "",
        http: FlaskClient | None = None,
    ) -> None:
        self._world = world
        self._origin = {"REMOTE_ADDR": address}
        self._headers = {"User-Agent": user_agent}
        self.http = http or world.app.test_client()
        page = self.http.get(
            f"{prefix}/{name}{query}", headers=self._headers | (page_headers or {}), environ_overrides=self._origin
        )
        assert page.status_code == 200, page.get_data(as_text=True)
        self.facts = parse_facts(page.get_data(as_text=True))
        self.token: str = self.facts["token"]
        self._opened_at = world.clock.now
        self._seq = -1

    def build_beacon(self, **fields: Any) -> dict[str, Any]:
        """Return the next beacon of this page load with ``fields``. ``read``: milliseconds by page; it also sets
        ``input``, unless given."""
        read: dict[int, int] = fields.pop("read", {})
        self._seq = fields.get("seq", self._seq + 1)
        default = {
            "token": self.token,
            "part": 0,
            "seq": self._seq,
            "ageMs": self._world.clock.now - self._opened_at,
            "visible": True,
            "visibleMs": sum(read.values()),
            "input": bool(read),
            "turns": 0,
            "backTurns": 0,
            "pages": [{"page": page, "ms": ms, "views": 1, "back": 0} for page, ms in read.items()],
        }
        return default | fields

    def send_beacon(
        self, body: dict[str, Any] | bytes, *, to: str | None = None, headers: dict[str, str] | None = None
    ) -> TestResponse:
        """Send ``body`` to the beacon URL of this link, or of the link ``to``; return the response."""
        return self.http.post(
            f"/{to}/beacon" if to else self.facts["beaconUrl"],
            data=body if isinstance(body, bytes) else json.dumps(body),
            headers={"Content-Type": "application/json"} | self._headers | (headers or {}),
            environ_overrides=self._origin,
        )

    def send_next_beacon(self, **fields: Any) -> int:
        """Send the next beacon; return the status of the response."""
        return self.send_beacon(self.build_beacon(**fields)).status_code

    def read_page(self, seconds: float, page: int = 1, **fields: Any) -> int:
        """Read ``page`` for ``seconds``, then send a beacon."""
        self._world.clock.advance(seconds=seconds)
        return self.send_next_beacon(read={page: round(seconds * 1000)}, **fields)

    def leave(self, **fields: Any) -> int:
        """Hide the page."""
        return self.send_next_beacon(visible=False, **fields)


def read_as_six_people(world: World, name: str) -> None:
    """Let six readers read the link ``name``, the first two pages and the last twelve, over two days."""
    for place in range(6):
        reader = FakeReader(world, name, address=f"203.0.113.{place + 5}", user_agent=DESKTOP)
        reader.send_next_beacon(input=True)
        for page in range(1, place * 2 + 3):
            reader.read_page(6 + place * page % 7, page=page)
        reader.leave()
        world.clock.advance(hours=7)
    viewing.end_due_sessions(world.rt)


def view_count(world: World, link: str) -> int:
    return int(world.pia.get(f"/api/v1/files/{link}").get_json()["viewCount"])


def list_view_rows(world: World) -> list[dict[str, Any]]:
    """Return Pia's view stream after all sessions have ended."""
    end_all_sessions(world)
    rows: list[dict[str, Any]] = world.pia.get("/api/v1/events").get_json()
    return rows


def end_all_sessions(world: World) -> None:
    """Advance the clock until all sessions have ended, and store their end."""
    world.clock.advance(minutes=6)
    viewing.end_due_sessions(world.rt)


def list_sessions(world: World) -> list[tuple[str, int]]:
    """Return class and reading time of every stored session, including those that no route shows yet."""
    return world.rt.db.fetch_all("SELECT class, time_ms FROM view_sessions ORDER BY id")
