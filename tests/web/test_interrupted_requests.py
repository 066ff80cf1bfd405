"""Every request that changes something, while its account, its file, or its client is deleted."""

import io
from collections.abc import Callable
from itertools import count

import pytest
from werkzeug.test import TestResponse

from docshare.server.services.accounts import accounts
from docshare.server.services.oauth import clients
from docshare.server.services.operations import unsubscribe
from docshare.server.store.database import Store
from docshare.server.store.tables import accounts as account_rows
from docshare.server.store.tables import contents
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.routes import OWNER_ROUTES
from tests.support.people.cast import World
from tests.support.people.cookie_routes import COOKIE_ROUTES, OwnerAndReader, make_owner_and_reader
from tests.support.people.interrupted import Interruption

ROUTES = {**COOKIE_ROUTES, **OWNER_ROUTES}


def delete_account(pair: OwnerAndReader) -> None:
    accounts.delete_account(pair.world.rt, pair.world.pia.email)


def purge_files(pair: OwnerAndReader) -> None:
    for row in pair.world.pia.get("/api/v1/files").get_json():
        pair.world.pia.delete(f"/api/v1/files/{row['uuid']}?purge=1")


@pytest.mark.parametrize("act", [delete_account, purge_files])
@pytest.mark.parametrize("name", ROUTES)
def test_no_request_fails_while_what_it_is_about_is_deleted(
    make: Callable[..., World], name: str, act: Callable[[OwnerAndReader], None]
) -> None:
    for number in count(1):
        pair = make_owner_and_reader(make())
        sent = ROUTES[name].build_request(pair)
        with Interruption(pair.world, number, lambda pair=pair: act(pair)) as interruption:
            answer = pair.send(sent)
        assert answer.status_code < 500, f"before transaction {number}"
        if not interruption.has_happened:
            return


def replace_by_one_page(pair: OwnerAndReader) -> None:
    sent = {"file": (io.BytesIO(simple_pdf(1)), "short.pdf")}
    assert pair.world.pia.post(f"/api/v1/files/{pair.uploaded_file['uuid']}/content", data=sent).status_code == 200


@pytest.mark.parametrize("act", [delete_account, purge_files, replace_by_one_page])
@pytest.mark.parametrize(
    ("path", "expected"), [("/{id}/tiles/2/400/0-0.jpg?v=1", 404), ("/oembed?url={link}", 200)], ids=["tile", "oembed"]
)
def test_a_page_that_is_deleted_meanwhile_has_no_size(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str, expected: int, act: Callable[[OwnerAndReader], None]
) -> None:
    pair, real, pending = make_owner_and_reader(world), contents.find_page_sizes, [act]

    def find_later(store: Store, file_id: int) -> str | None:
        if pending:
            pending.pop()(pair)
        return real(store, file_id)

    monkeypatch.setattr(contents, "find_page_sizes", find_later)
    made = pair.uploaded_file
    answer = world.http.get(path.format(id=made["shortId"], link=made["shareUrl"]))
    assert (answer.status_code, pending) == (expected, [])


def send_while_the_client_is_removed(pair: OwnerAndReader, send: Callable[[], TestResponse]) -> TestResponse:
    with Interruption(pair.world, 1, lambda: clients.remove(pair.world.rt, pair.app.client_id)):
        return send()


def test_an_app_that_is_removed_while_it_is_allowed_gets_no_code(world: World) -> None:
    pair = make_owner_and_reader(world)
    form = {"csrf": pair.token, "decision": "approve"}
    answer = send_while_the_client_is_removed(pair, lambda: pair.browser.post(pair.app.authorize_url(), data=form))
    assert (answer.status_code, "The app was removed from this server." in answer.text) == (400, True)


def test_a_program_that_is_removed_while_it_begins_a_login_gets_no_code(world: World) -> None:
    pair = make_owner_and_reader(world)
    form = {"client_id": pair.app.client_id, "client_secret": pair.app.secret, "scope": "files:read"}
    answer = send_while_the_client_is_removed(
        pair, lambda: pair.app.http.post("/oauth/device_authorization", data=form)
    )
    assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_client")


def test_notices_to_an_account_that_is_deleted_meanwhile_cannot_be_turned_off(world: World) -> None:
    pair = make_owner_and_reader(world)
    account_id = account_rows.find_id(world.rt.db, world.pia.uuid)
    assert account_id is not None
    path = unsubscribe.build_link(world.rt, account_id, unsubscribe.VIEWS).removeprefix(world.rt.config.base_url)
    with Interruption(world, 1, lambda: delete_account(pair)):
        assert world.http.post(path, data={"List-Unsubscribe": "One-Click"}).status_code == 404
