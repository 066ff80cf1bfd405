"""Every route that changes data by cookie rejects requests forged by another site."""

import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.support.engines.database import dump_database
from tests.support.owner.routes import OWNER_ROUTES
from tests.support.people.cast import BASE_URL, World
from tests.support.people.cookie_routes import COOKIE_ROUTES as OTHER_ROWS
from tests.support.people.cookie_routes import (
    COOKIELESS,
    CookieRequest,
    OwnerAndReader,
    SenderKind,
    make_owner_and_reader,
)

ROWS = OTHER_ROWS | OWNER_ROUTES
CHANGES = {"POST", "PUT", "DELETE", "PATCH"}
BEARER_ONLY = "/api/v1/"

SITES: dict[str, dict[str, str]] = {
    "another site": {"Sec-Fetch-Site": "cross-site"},
    "a same-site page": {"Sec-Fetch-Site": "same-site"},
    "another site with a forged origin": {"Sec-Fetch-Site": "cross-site", "Origin": BASE_URL},
}
ORIGINS: dict[str, dict[str, str]] = {
    "another origin": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://127.0.0.1:9999"},
    "an origin with ours as a prefix": {"Origin": f"{BASE_URL}.evil.example"},
}
NO_ORIGIN: dict[str, dict[str, str]] = {
    "an opaque origin": {"Origin": "null"},
    "no initiating page": {"Sec-Fetch-Site": "none"},
}
HEADERS = {
    SenderKind.FORM: SITES | ORIGINS | NO_ORIGIN,
    SenderKind.JSON: SITES | ORIGINS | NO_ORIGIN,
    SenderKind.UPLOAD: SITES | ORIGINS | NO_ORIGIN,
    SenderKind.SIGN_IN: SITES | ORIGINS | NO_ORIGIN,
    SenderKind.READER_JSON: SITES | ORIGINS | NO_ORIGIN,
    # Share pages send no referrer, so browsers also hide the origin of their forms.
    SenderKind.READER_FORM: SITES | ORIGINS,
    # The token of the page authenticates the request if the browser does not name its origin.
    SenderKind.BEACON: SITES,
}
TOKEN_ROUTES = [name for name, row in ROWS.items() if row.kind in (SenderKind.FORM, SenderKind.JSON, SenderKind.UPLOAD)]
JSON_ROUTES = [
    name
    for name, row in ROWS.items()
    if row.kind in (SenderKind.JSON, SenderKind.READER_JSON, SenderKind.BEACON) and row.takes_body
]


@pytest.fixture
def owner_and_reader(world: World) -> OwnerAndReader:
    return make_owner_and_reader(world)


def test_every_cookie_route_is_in_the_table(world: World) -> None:
    """A new route that accepts a cookie needs a row in ``cookie_routes`` or ``owner.routes``."""
    found = {
        rule.endpoint
        for rule in world.app.url_map.iter_rules()
        if rule.methods and CHANGES & rule.methods and not rule.rule.startswith(BEARER_ONLY)
    }
    assert found == ROWS.keys() | COOKIELESS.keys()


@pytest.mark.parametrize("name", ROWS)
def test_a_request_from_its_own_page_succeeds(owner_and_reader: OwnerAndReader, name: str) -> None:
    """Without this, the rejections below would prove nothing."""
    sent = ROWS[name].build_request(owner_and_reader)
    before = dump_database(owner_and_reader.world)
    answer = owner_and_reader.send(sent)
    assert answer.status_code < 400, answer.text
    assert ROWS[name].is_quiet or dump_database(owner_and_reader.world) != before


def send_and_compare(actors: OwnerAndReader, sent: CookieRequest) -> tuple[int, str]:
    """Return the status of the response and whether anything was changed."""
    before, blobs = dump_database(actors.world), sorted(actors.world.rt.blobs.root.rglob("*"))
    answer = actors.send(sent)
    same = dump_database(actors.world) == before and sorted(actors.world.rt.blobs.root.rglob("*")) == blobs
    return answer.status_code, "nothing changed" if same else "changed"


def assert_all_rejected(found: dict[str, tuple[int, str]], status: int) -> None:
    assert found == dict.fromkeys(found, (status, "nothing changed"))


@pytest.mark.parametrize("name", ROWS)
def test_a_cross_site_request_is_rejected_even_with_a_valid_token(owner_and_reader: OwnerAndReader, name: str) -> None:
    row = ROWS[name]
    forged = {
        words: row.build_request(owner_and_reader).with_headers(headers) for words, headers in HEADERS[row.kind].items()
    }
    assert_all_rejected({words: send_and_compare(owner_and_reader, sent) for words, sent in forged.items()}, 403)


@pytest.mark.parametrize("name", TOKEN_ROUTES)
def test_a_request_without_the_session_token_is_rejected(owner_and_reader: OwnerAndReader, name: str) -> None:
    tokens = {
        "no token": None,
        "an empty token": "",
        "a wrong token": "x" * 40,
        "the token of another session": owner_and_reader.other_token,
        "a token beyond ASCII": "\xff" * 40,
    }
    forged = {words: ROWS[name].build_request(owner_and_reader).with_token(token) for words, token in tokens.items()}
    assert_all_rejected({words: send_and_compare(owner_and_reader, sent) for words, sent in forged.items()}, 403)


@pytest.mark.parametrize("name", JSON_ROUTES)
def test_a_content_type_that_cross_site_forms_can_send_is_rejected(owner_and_reader: OwnerAndReader, name: str) -> None:
    """Other sites can send a form post without a preflight request, so a JSON route must not accept one."""
    sent = ROWS[name].build_request(owner_and_reader)
    forms: dict[str, dict[str, Any]] = {
        "a form": {"data": {key: str(value) for key, value in (sent.body or {}).items()}},
        "a form with a file": {"data": {"file": (io.BytesIO(b"{}"), "a.json")}},
        "no type": {"data": json.dumps(sent.body)},
    }
    if ROWS[name].kind is not SenderKind.BEACON:  # navigator.sendBeacon can send plain text only
        forms["plain text"] = {"data": json.dumps(sent.body), "content_type": "text/plain"}
    forged = {words: replace(sent, body=None, more=more) for words, more in forms.items()}
    assert_all_rejected({words: send_and_compare(owner_and_reader, one) for words, one in forged.items()}, 415)


@pytest.mark.parametrize("name", COOKIELESS)
def test_a_cookie_alone_does_not_authorize_cookieless_routes(owner_and_reader: OwnerAndReader, name: str) -> None:
    status, changed = send_and_compare(
        owner_and_reader, CookieRequest(owner_and_reader.browser, "POST", COOKIELESS[name])
    )
    assert status in (400, 401, 403, 404)
    assert changed == "nothing changed"


def test_opening_a_page_changes_nothing(owner_and_reader: OwnerAndReader) -> None:
    """A link on another site sends the cookie; only ``Sec-Fetch-Site`` shows where the request comes from."""
    link = owner_and_reader.world.pia.post(
        f"/api/v1/files/{owner_and_reader.uploaded_file['uuid']}/variants", json={"label": "Ann"}
    ).get_json()
    hook, trashed = owner_and_reader.create_webhook(), owner_and_reader.upload_file()
    owner_and_reader.world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    names = {"name": owner_and_reader.uploaded_file["uuid"], "variant": link["uuid"], "uuid": hook, "number": "1"}
    before, found = dump_database(owner_and_reader.world), {}
    for rule in owner_and_reader.world.app.url_map.iter_rules():
        if rule.endpoint.startswith("owner_") and "GET" in (rule.methods or ()):
            named = names | ({"name": trashed["uuid"]} if rule.rule.startswith("/trash/") else {})
            path = re.sub(r"<(?:\w+:)?(\w+)>", lambda part, named=named: named[part[1]], rule.rule)  # type: ignore[misc]
            found[path] = owner_and_reader.browser.get(
                f"{path}?v=1", headers={"Sec-Fetch-Site": "cross-site"}, buffered=True
            ).status_code
    assert set(found.values()) <= {200, 303}, found
    assert len(found) > 10
    assert dump_database(owner_and_reader.world) == before
