"""A file, and the pages of its owner about it."""

from __future__ import annotations

from typing import Any

from tests.support.browsers.forms import Form
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import Person, World

UNKNOWN_UUID = "00000000-0000-4000-8000-000000000000"


class OwnerFile:
    """A file of ``owner``, and the browser in which they are signed in."""

    def __init__(self, world: World, owner: Person, **settings: Any) -> None:
        self.world, self.owner = world, owner
        self.made = owner.upload(name="Ann & Bob <3.pdf")
        self.path = f"/files/{self.made['uuid']}"
        self.api = f"/api/v1{self.path}"
        self.http = sign_in_browser(world, owner)
        if settings:
            put_settings(world, self.made, **settings)

    def get_page(self, tail: str = "") -> HtmlElement:
        answer = self.http.get(self.path + tail)
        assert answer.status_code == 200, answer.text
        return parse_html(answer.text)

    def open_form(self, tail: str, action: str | None = None) -> Form:
        return Form(self.http, self.path + tail, action and self.path + action)

    def get_from_api(self, tail: str) -> Any:
        """Return the response of the API."""
        answer = self.owner.get(self.api + tail)
        assert answer.status_code == 200, answer.text
        return answer.get_json()

    def get_content_type(self, address: str) -> str:
        """Return the media type of the response to the owner's browser at ``address``."""
        with self.http.get(address, buffered=True) as answer:
            assert answer.status_code == 200, answer.text
            return answer.mimetype

    def csrf_token(self) -> str:
        """Return the token of the session."""
        return self.open_form("/settings").fields["csrf"]

    def list_variants(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get_from_api("/variants")["variants"]
        return found

    def create_variant(self, **body: Any) -> dict[str, Any]:
        answer = self.owner.post(f"{self.api}/variants", json=body)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.get_json()
        return made


def form_error(page: HtmlElement) -> str:
    """Return the message above a rejected form."""
    return page.find_one(class_="wrong").words
