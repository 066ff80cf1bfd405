"""Somebody who is signed in and fills in the forms of their pages."""

import re
from html import unescape
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse


def token_in(text: str) -> str:
    """The CSRF token of the forms on a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', text)
    assert found is not None, text
    return found[1]


def press(http: FlaskClient, path: str, /, **fields: Any) -> TestResponse:
    """Send the form of ``path``, with the token that the session's pages hold."""
    return http.post(path, data={"csrf": token_in(http.get("/login").text), **fields})


def pressed(http: FlaskClient, path: str, /, **fields: Any) -> str:
    """The page that follows on a form that is obeyed."""
    answer = press(http, path, **fields)
    assert answer.status_code == 303, answer.text
    return http.get(answer.headers["Location"]).text


def text_of(answer: TestResponse) -> str:
    """The words of a page, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())
