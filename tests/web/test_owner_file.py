"""The page of one file: what it tells, and to whom."""

import io

import pytest
from flask.testing import FlaskClient

from docshare.server.services.accounts import callers
from docshare.server.services.files import trash
from tests.support.cast import World
from tests.support.forms import Form
from tests.support.markup import Node
from tests.support.owner import put, signed_in
from tests.support.owner_file import UNKNOWN, Desk
from tests.support.pdfs import simple_pdf

PLACES = ("", "/settings", "/looks", "/links", "/invites", "/hotspots", "/hotspots/1", "/assets", "/replace")
POSTS = (
    "/settings", "/looks", "/links", f"/links/{UNKNOWN}", f"/links/{UNKNOWN}/revoke", f"/links/{UNKNOWN}/restore",
    f"/links/{UNKNOWN}/redact", f"/links/{UNKNOWN}/delete", "/invites", "/hotspots", f"/hotspots/{UNKNOWN}/delete",
    f"/assets/{UNKNOWN}/use",
)  # fmt: skip


@pytest.fixture
def desk(world: World) -> Desk:
    return Desk(world, world.pia)


def fact(page: Node, name: str) -> str:
    return next(row.one("dd").words for row in page.all("div") if row.all("dt") and row.one("dt").words == name)


def test_the_overview_has_everything_to_share_the_file(desk: Desk) -> None:
    put(desk.world, desk.made, slug="q3", viewLimit=9)
    page = desk.page()
    short = desk.made["shortId"]
    assert page.one("h1").words == "Ann & Bob <3.pdf"
    links = {node.attrs["href"] for node in page.all("a")}
    assert {f"http://127.0.0.1:8787/{short}", "http://127.0.0.1:8787/q3", f"/readership/{desk.made['uuid']}"} <= links
    assert page.all("img", class_="file-picture")[0].attrs["src"] == f"/{short}/pages/1-800.jpg?v=1"
    assert page.one("textarea", id="frame").words == (
        f'<iframe src="http://127.0.0.1:8787/embed/{short}" title="Ann &amp; Bob &lt;3.pdf" width="800" height="600" '
        'allow="fullscreen" loading="lazy"></iframe>'
    )
    code = page.one("a", download=f"{short}.png").attrs["href"]
    assert desk.type_of(code) == "image/png"
    assert [fact(page, name) for name in ("Views", "Of a limit of 9", "Link", "Ends", "Pages")] == [
        "0", "0 taken", "live", "never", "3",
    ]  # fmt: skip


def test_the_picture_is_there_for_the_owner_of_a_protected_document(desk: Desk) -> None:
    put(desk.world, desk.made, password="hunter22", pageRange={"from": 2, "to": 2})
    source = desk.page().one("img", class_="file-picture").attrs["src"]
    assert desk.type_of(source) == "image/jpeg"


def test_an_expired_file_says_so_and_shows_no_pictures(desk: Desk) -> None:
    put(desk.world, desk.made, deleteAt="2026-01-01T00:00:00Z")
    page = desk.page()
    assert page.one("p", class_="note").words.startswith("This link is expired.")
    assert fact(page, "Link") == "expired"
    assert page.all("img", class_="file-picture") == []
    for tail in PLACES:
        assert desk.page(tail).all("img", id="canvas") == []


def test_every_version_stands_on_the_overview(desk: Desk) -> None:
    sent = {"file": (io.BytesIO(simple_pdf(pages=2)), "second.pdf")}
    assert desk.owner.post(f"{desk.api}/content", data=sent).status_code == 200
    rows = desk.page().one("tbody").all("tr")
    assert [[cell.words for cell in row.all("td")[:3]] for row in rows] == [
        ["2", "second.pdf", "2"],
        ["1", "Ann & Bob <3.pdf", "3"],
    ]


@pytest.mark.parametrize("tail", PLACES)
def test_a_page_of_somebody_elses_file_does_not_exist(desk: Desk, tail: str) -> None:
    foreign = signed_in(desk.world, desk.world.mal)
    assert foreign.get(desk.path + tail).status_code == 404
    assert foreign.get(f"/files/{UNKNOWN}{tail}").status_code == 404
    assert desk.world.http.get(desk.path + tail).status_code == 403


@pytest.mark.parametrize("tail", POSTS)
def test_a_form_of_somebody_elses_file_leads_nowhere(desk: Desk, tail: str) -> None:
    http = signed_in(desk.world, desk.world.mal)
    own = Desk(desk.world, desk.world.mal)
    token = Form(http, f"{own.path}/settings").fields["csrf"]
    assert http.post(desk.path + tail, data={"csrf": token, "confirm": "delete"}).status_code == 404


def test_a_form_without_the_token_changes_nothing(desk: Desk) -> None:
    form = desk.form("/invites")
    form.fields |= {"csrf": "made-up", "email": "ann@example.com"}
    assert form.send().status_code == 403
    assert desk.told("/invites") == []


def test_a_file_in_the_trash_has_no_pages(desk: Desk) -> None:
    assert desk.owner.delete(desk.api).status_code == 200
    assert desk.http.get(desk.path).status_code == 404
    trash.restore(desk.world.rt, callers.authenticate(desk.world.rt, f"Bearer {desk.owner.key}"), desk.made["uuid"])
    assert desk.http.get(desk.path).status_code == 200


def test_the_pages_of_a_frozen_file_stay_with_its_owner(desk: Desk) -> None:
    with desk.world.rt.db.write():
        desk.world.rt.db.execute("UPDATE files SET frozen_at = ?", (desk.world.clock(),))
    page = desk.page()
    assert page.one("p", class_="note").words.startswith("This link is frozen.")
    assert desk.type_of(page.one("img", class_="file-picture").attrs["src"]) == "image/jpeg"
    assert all(desk.http.get(desk.path + tail).status_code == 200 for tail in PLACES)


def test_the_short_id_leads_there_too(desk: Desk) -> None:
    http: FlaskClient = desk.http
    assert http.get(f"/files/{desk.made['shortId']}").status_code == 200
