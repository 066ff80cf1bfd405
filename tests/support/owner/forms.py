"""Send the forms of the owner's pages as the signed-in owner."""

import re
from html import unescape
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse


def find_csrf_token(text: str) -> str:
    """Return the CSRF token of the forms on a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', text)
    assert found is not None, text
    return found[1]


def submit_form(http: FlaskClient, path: str, /, **fields: Any) -> TestResponse:
    """Send a form to ``path`` with the CSRF token of the session."""
    return http.post(path, data={"csrf": find_csrf_token(http.get("/login").text), **fields})


def submit_and_follow(http: FlaskClient, path: str, /, **fields: Any) -> str:
    """Return the page that follows an accepted form."""
    answer = submit_form(http, path, **fields)
    assert answer.status_code == 303, answer.text
    return http.get(answer.headers["Location"]).text


def visible_text(answer: TestResponse) -> str:
    """Return the words of a page, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())
