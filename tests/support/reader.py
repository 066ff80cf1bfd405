"""Somebody who opens a share link in a browser: loads the page and sends the beacons that its script would send."""

import json
import re
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from docshare.server.services.readership import viewing
from tests.support.cast import World

DESKTOP = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
_FACTS = re.compile(r'<script type="application/json" id="facts">(.*?)</script>', re.DOTALL)


class FakeReader:
    """``name``: short id, UUID or slug; ``headers`` go with the page and with every beacon; ``http`` the browser, a
    fresh one unless given."""

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
        found = _FACTS.search(page.get_data(as_text=True))
        assert found is not None
        self.facts: dict[str, Any] = json.loads(found[1])
        self.token: str = self.facts["token"]
        self._opened_at = world.clock.now
        self._seq = -1

    def build_beacon(self, **fields: Any) -> dict[str, Any]:
        """Return a beacon of this load; whatever is not given continues from the one before. ``read``: ms by page;
        who reads also touches the page, unless ``input`` is given."""
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
        """Post ``body`` to the beacon address, ``to`` that of another link; returns the answer."""
        return self.http.post(
            f"/{to}/beacon" if to else self.facts["beaconUrl"],
            data=body if isinstance(body, bytes) else json.dumps(body),
            headers={"Content-Type": "application/json"} | self._headers | (headers or {}),
            environ_overrides=self._origin,
        )

    def send_next_beacon(self, **fields: Any) -> int:
        """Send the next beacon; returns the status of its answer."""
        return self.send_beacon(self.build_beacon(**fields)).status_code

    def read_page(self, seconds: float, page: int = 1, **fields: Any) -> int:
        """Let ``seconds`` go by reading ``page``, then tell so."""
        self._world.clock.advance(seconds=seconds)
        return self.send_next_beacon(read={page: round(seconds * 1000)}, **fields)

    def leave(self, **fields: Any) -> int:
        """Hide the page."""
        return self.send_next_beacon(visible=False, **fields)


def view_count(world: World, link: str) -> int:
    return int(world.pia.get(f"/api/v1/files/{link}").get_json()["viewCount"])


def list_view_rows(world: World) -> list[dict[str, Any]]:
    """Pia's view stream once everybody has left."""
    end_all_sessions(world)
    rows: list[dict[str, Any]] = world.pia.get("/api/v1/events").get_json()
    return rows


def end_all_sessions(world: World) -> None:
    """Let so much time go by that all sessions have ended, and write that down."""
    world.clock.advance(minutes=6)
    viewing.end_due_sessions(world.rt)


def list_sessions(world: World) -> list[tuple[str, int]]:
    """Class and reading time of every stored session: no route shows them yet."""
    return world.rt.db.fetch_all("SELECT class, time_ms FROM view_sessions ORDER BY id")
