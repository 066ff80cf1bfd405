"""A reader with a browser who opens a gated link, fills in its form, and reads."""

import html
import re
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.people.cast import World

_INPUT = re.compile(r"<input [^>]*>")
_ATTRIBUTE = re.compile(r'([a-z-]+)(?:="([^"]*)")?')
_ERROR = re.compile(r'<p class="field-error" id="([^"]+)-error">(.*?)</p>')
_ALERT = re.compile(r'<p class="gate-trouble" role="alert">(.*?)</p>')
PAGES_MARKER = 'id="facts"'  # in the HTML of share pages only, not of gates


class GateClient:
    """``name``: short id, UUID or slug; ``prefix``: ``/embed`` inside a frame; ``address``: the IP address of the
    reader; ``cookies``: whether the browser stores cookies."""

    def __init__(
        self, world: World, name: str, *, address: str = "198.51.100.4", prefix: str = "", cookies: bool = True
    ) -> None:
        self.http = world.app.test_client(use_cookies=cookies)
        if cookies:
            set_trial_cookies(self.http)
        self.path = f"{prefix}/{name}"
        self._origin = {"REMOTE_ADDR": address}

    def open_page(self, query: str = "") -> TestResponse:
        """Open the page."""
        return self.http.get(self.path + query, environ_overrides=self._origin, buffered=True)

    def get(self, path: str, **more: Any) -> TestResponse:
        """Request another path of this server."""
        return self.http.get(path, environ_overrides=self._origin, buffered=True, **more)

    def post(self, path: str, **more: Any) -> TestResponse:
        """Post to another path of this server."""
        return self.http.post(path, environ_overrides=self._origin, buffered=True, **more)

    def submit(self, password: str = "", /, *, ticket: str = "", query: str = "", **values: str) -> TestResponse:
        """Send the form of the gate with ``password`` and ``values`` by key, even if the page does not show it."""
        form = {"password": password, "ticket": ticket} | {f"field-{key}": value for key, value in values.items()}
        return self.post(f"{self.path}/enter{query}", data=form)

    def enter(self, password: str = "", /, **values: str) -> bool:
        """Open the page, fill in its form and send it; return whether the gate opened."""
        page = self.open_page()
        if PAGES_MARKER in page.text:
            return True
        answer = self.submit(password, ticket=read_ticket(page), **values)
        return answer.status_code == 303 and self.is_in()

    def gate_secret(self) -> str | None:
        """Return the secret that binds the tickets of the link's gate to this browser; None before it has opened the
        gate."""
        found = self.http.get_cookie(f"gate-{self.path.rpartition('/')[2]}")
        return found.value if found else None

    def is_in(self) -> bool:
        """Return whether the page shows the document."""
        return PAGES_MARKER in self.open_page().text


def set_trial_cookies(http: FlaskClient) -> None:
    """Set the trial cookie in ``http``, as in a browser that has visited this server before."""
    for name in ("viewer-cookies", "__Host-viewer-cookies"):
        http.set_cookie(name, "1")


def parse_inputs(page: TestResponse) -> dict[str, dict[str, str]]:
    """Return the attributes of every input of the form, by name; an attribute without a value is an empty string."""
    found = [dict(_ATTRIBUTE.findall(tag[len("<input ") :])) for tag in _INPUT.findall(page.text)]
    return {row["name"]: {key: html.unescape(value) for key, value in row.items()} for row in found if "name" in row}


def read_ticket(page: TestResponse) -> str:
    """Return the ticket in the form of a gate page."""
    return parse_inputs(page)["ticket"]["value"]


def parse_errors(page: TestResponse) -> dict[str, str]:
    """Return the errors of a gate page by the name of the input; errors of the whole form have an empty name."""
    told = [*_ERROR.findall(page.text), *(("", text) for text in _ALERT.findall(page.text))]
    return {name: html.unescape(text) for name, text in told}
