"""A document that a real browser reads, on a server with a clock that can be advanced."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser

from docshare.server.services.readership import viewing
from tests.support.browsers.browser import visitor
from tests.support.browsers.browser_reader import BrowserReader
from tests.support.people.cast import World

SECOND = 1_000  # the tolerance of every time, in ms


@dataclass
class MeasuredDocument:
    """A document of Pia, uploaded for one test. ``url``: its share link."""

    world: World
    short_id: str
    url: str

    @property
    def view_count(self) -> int:
        return int(self.world.pia.get(f"/api/v1/files/{self.short_id}").get_json()["viewCount"])

    def list_view_rows(self) -> list[dict[str, Any]]:
        """Return its rows of the view stream, oldest first."""
        viewing.end_due_sessions(self.world.rt)
        rows: list[dict[str, Any]] = self.world.pia.get(f"/api/v1/events?since=1&file={self.short_id}").get_json()
        return rows

    def list_rows_after_end(self) -> list[dict[str, Any]]:
        """Return the rows after all open sessions have ended."""
        self.world.clock.advance(minutes=6)
        return self.list_view_rows()

    def list_sessions(self, columns: str = "class") -> list[tuple[Any, ...]]:
        """Return its stored sessions, including uncounted ones."""
        sql = (
            f"SELECT {columns} FROM view_sessions s JOIN files f ON f.id = s.file_id WHERE f.short_id = ? ORDER BY s.id"
        )
        return self.world.rt.db.fetch_all(sql, (self.short_id,))

    def has_ended_message(self) -> bool:
        """Return whether the server knows that the reader has left."""
        return self.list_sessions("hidden_at IS NOT NULL")[-1:] == [(1,)]


@contextmanager
def open_browser_reader(browser: Browser, document: MeasuredDocument, **options: Any) -> Iterator[BrowserReader]:
    with visitor(browser, **options) as person:
        person.page.clock.install()
        yield BrowserReader(person.open(document.url), document.world.clock)
