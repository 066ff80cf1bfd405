"""Every route that changes something for whoever holds a cookie refuses what another site made up."""

import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.support.cast import BASE_URL, World
from tests.support.cookie_routes import COOKIE_ROUTES as OTHER_ROWS
from tests.support.cookie_routes import COOKIELESS, CookieRequest, OwnerAndReader, SenderKind, make_owner_and_reader
from tests.support.database import dump_database
from tests.support.owner_routes import OWNER_ROUTES

ROWS = OTHER_ROWS | OWNER_ROUTES
CHANGES = {"POST", "PUT", "DELETE", "PATCH"}
BEARER_ONLY = "/api/v1/"

SITES: dict[str, dict[str, str]] = {
    "another site": {"Sec-Fetch-Site": "cross-site"},
    "a neighbour": {"Sec-Fetch-Site": "same-site"},
    "another site that lies about its origin": {"Sec-Fetch-Site": "cross-site", "Origin": BASE_URL},
}
ORIGINS: dict[str, dict[str, str]] = {
    "a foreign origin": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://127.0.0.1:9999"},
    "a longer name": {"Origin": f"{BASE_URL}.evil.example"},
}
NO_ORIGIN: dict[str, dict[str, str]] = {
    "an origin that hides": {"Origin": "null"},
    "nobody's page": {"Sec-Fetch-Site": "none"},
}
HEADERS = {
    SenderKind.FORM: SITES | ORIGINS | NO_ORIGIN,
    SenderKind.JSON: SITES | ORIGINS | NO_ORIGIN,
    SenderKind.UPLOAD: SITES | ORIGINS | NO_ORIGIN,
    SenderKind.SIGN_IN: SITES | ORIGINS | NO_ORIGIN,
    SenderKind.READER_JSON: SITES | ORIGINS | NO_ORIGIN,
    # Share pages tell nobody where their readers come from, so browsers hide the origin of their forms too.
    SenderKind.READER_FORM: SITES | ORIGINS,
    # The token of the page vouches where browsers do not say who asks.
    SenderKind.BEACON: SITES,
}
TAKES_TOKEN = [name for name, row in ROWS.items() if row.kind in (SenderKind.FORM, SenderKind.JSON, SenderKind.UPLOAD)]
TAKES_JSON = [
    name
    for name, row in ROWS.items()
    if row.kind in (SenderKind.JSON, SenderKind.READER_JSON, SenderKind.BEACON) and row.takes_body
]


@pytest.fixture
def owner_and_reader(world: World) -> OwnerAndReader:
    return make_owner_and_reader(world)


def test_every_such_route_stands_in_the_table(world: World) -> None:
    """A new route that takes a cookie needs a row in ``cookie_routes`` or ``owner_routes``: then it is tried here."""
    found = {
        rule.endpoint
        for rule in world.app.url_map.iter_rules()
        if rule.methods and CHANGES & rule.methods and not rule.rule.startswith(BEARER_ONLY)
    }
    assert found == ROWS.keys() | COOKIELESS.keys()


@pytest.mark.parametrize("name", ROWS)
def test_as_its_own_page_sends_it_it_is_obeyed(owner_and_reader: OwnerAndReader, name: str) -> None:
    """Otherwise the refusals below would prove nothing."""
    sent = ROWS[name].build_request(owner_and_reader)
    before = dump_database(owner_and_reader.world)
    answer = owner_and_reader.send(sent)
    assert answer.status_code < 400, answer.text
    assert ROWS[name].is_quiet or dump_database(owner_and_reader.world) != before


def send_and_compare(desk: OwnerAndReader, sent: CookieRequest) -> tuple[int, str]:
    """The status of the answer, and whether anything was changed."""
    before, blobs = dump_database(desk.world), sorted(desk.world.rt.blobs.root.rglob("*"))
    answer = desk.send(sent)
    same = dump_database(desk.world) == before and sorted(desk.world.rt.blobs.root.rglob("*")) == blobs
    return answer.status_code, "nothing changed" if same else "changed"


def assert_all_refused(found: dict[str, tuple[int, str]], status: int) -> None:
    assert found == dict.fromkeys(found, (status, "nothing changed"))


@pytest.mark.parametrize("name", ROWS)
def test_from_elsewhere_it_is_refused_whatever_it_knows(owner_and_reader: OwnerAndReader, name: str) -> None:
    row = ROWS[name]
    forged = {
        words: row.build_request(owner_and_reader).with_headers(headers) for words, headers in HEADERS[row.kind].items()
    }
    assert_all_refused({words: send_and_compare(owner_and_reader, sent) for words, sent in forged.items()}, 403)


@pytest.mark.parametrize("name", TAKES_TOKEN)
def test_without_the_token_of_the_session_it_is_refused(owner_and_reader: OwnerAndReader, name: str) -> None:
    tokens = {
        "no token": None,
        "an empty token": "",
        "a wrong token": "x" * 40,
        "the token of another session": owner_and_reader.other_token,
        "a token beyond ASCII": "\xff" * 40,
    }
    forged = {words: ROWS[name].build_request(owner_and_reader).with_token(token) for words, token in tokens.items()}
    assert_all_refused({words: send_and_compare(owner_and_reader, sent) for words, sent in forged.items()}, 403)


@pytest.mark.parametrize("name", TAKES_JSON)
def test_a_type_that_forms_of_other_sites_can_send_is_refused(owner_and_reader: OwnerAndReader, name: str) -> None:
    """A form post where JSON is due: other sites can send that without the browser asking first."""
    sent = ROWS[name].build_request(owner_and_reader)
    forms: dict[str, dict[str, Any]] = {
        "a form": {"data": {key: str(value) for key, value in (sent.body or {}).items()}},
        "a form with a file": {"data": {"file": (io.BytesIO(b"{}"), "a.json")}},
        "no type": {"data": json.dumps(sent.body)},
    }
    if ROWS[name].kind is not SenderKind.BEACON:  # browsers that leave a page send those in no other way
        forms["plain text"] = {"data": json.dumps(sent.body), "content_type": "text/plain"}
    forged = {words: replace(sent, body=None, more=more) for words, more in forms.items()}
    assert_all_refused({words: send_and_compare(owner_and_reader, one) for words, one in forged.items()}, 415)


@pytest.mark.parametrize("name", COOKIELESS)
def test_where_no_cookie_counts_it_opens_nothing(owner_and_reader: OwnerAndReader, name: str) -> None:
    status, changed = send_and_compare(
        owner_and_reader, CookieRequest(owner_and_reader.browser, "POST", COOKIELESS[name])
    )
    assert status in (400, 401, 403, 404)
    assert changed == "nothing changed"


def test_no_page_that_is_only_opened_changes_anything(owner_and_reader: OwnerAndReader) -> None:
    """A link on another site brings the cookie along; only ``Sec-Fetch-Site`` would tell."""
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
                path, headers={"Sec-Fetch-Site": "cross-site"}, buffered=True
            ).status_code
    assert set(found.values()) <= {200, 303}, found
    assert len(found) > 10
    assert dump_database(owner_and_reader.world) == before
