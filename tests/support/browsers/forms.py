"""The forms of a page as a browser would send them: read from the HTML, filled in, and posted."""

from __future__ import annotations

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.browsers.markup import HtmlElement, parse_html


class Form:
    """The form on the page at ``path`` that is sent to ``action`` (by default ``path``), with its current values.

    ``disabled``: names of the controls that cannot be used.
    """

    def __init__(
        self, http: FlaskClient, path: str, action: str | None = None, page: HtmlElement | None = None
    ) -> None:
        if page is None:
            answer = http.get(path)
            assert answer.status_code == 200, answer.text
            page = parse_html(answer.text)
        self._http = http
        self.action = action or path
        self.node = page.find_one("form", method="post", action=self.action)
        self.fields: dict[str, str] = {}
        self.disabled: set[str] = set()
        for tag in ("input", "select", "textarea"):
            for control in self.node.find_all(tag):
                self._read_control(control)

    def _read_control(self, control: HtmlElement) -> None:
        name = control.attrs.get("name", "")
        if "disabled" in control.attrs:
            self.disabled.add(name)
        elif control.tag == "select":
            options = control.find_all("option")
            chosen = [option for option in options if "selected" in option.attrs] or options[:1]
            self.fields[name] = chosen[0].attrs["value"]
        elif control.tag == "textarea":
            self.fields[name] = "".join(control.parts).removeprefix("\n")
        elif control.attrs.get("type") not in ("checkbox", "radio"):
            self.fields[name] = control.attrs.get("value", "")
        elif "checked" in control.attrs:
            self.fields[name] = control.attrs["value"]

    def fill(self, values: dict[str, str]) -> Form:
        """Enter ``values``; an empty one clears a text field and unchecks a box."""
        for name, value in values.items():
            assert name not in self.disabled, f"{name} is disabled"
            assert self.node.find_all(name=name), f"there is no {name}"
            self.fields[name] = value
        return self

    def send(self, values: dict[str, str] | None = None) -> TestResponse:
        """Enter ``values`` and send the form."""
        self.fill(values or {})
        return self._http.post(self.action, data=self.fields)

    def send_and_follow(self, values: dict[str, str] | None = None) -> str:
        """Enter ``values`` and send the form, which must succeed; return the message of the next page."""
        answer = self.send(values)
        assert answer.status_code == 303, answer.text
        page = parse_html(self._http.get(answer.headers["Location"]).text)
        return page.find_one("p", class_="said").words

    def send_refused(self, status: int, values: dict[str, str]) -> HtmlElement:
        """Enter ``values`` and send the form, which must be rejected; return the page with the form."""
        answer = self.send(values)
        assert answer.status_code == status, answer.text
        return parse_html(answer.text)
