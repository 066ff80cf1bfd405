"""The page of one file: what it tells, and to whom."""

import io

import pytest
from flask.testing import FlaskClient

from docshare.server.services.accounts import callers
from docshare.server.services.files import trash
from tests.support.cast import World
from tests.support.forms import Form
from tests.support.markup import HtmlElement
from tests.support.owner import put_settings, sign_in_browser
from tests.support.owner_file import UNKNOWN_UUID, OwnerFile
from tests.support.pdfs import simple_pdf

PLACES = ("", "/settings", "/looks", "/links", "/invites", "/hotspots", "/hotspots/1", "/assets", "/replace")
POSTS = (
    "/settings", "/looks", "/links", f"/links/{UNKNOWN_UUID}", f"/links/{UNKNOWN_UUID}/revoke",
    f"/links/{UNKNOWN_UUID}/restore",
    f"/links/{UNKNOWN_UUID}/redact", f"/links/{UNKNOWN_UUID}/delete", "/invites", "/hotspots",
    f"/hotspots/{UNKNOWN_UUID}/delete",
    f"/assets/{UNKNOWN_UUID}/use",
)  # fmt: skip


@pytest.fixture
def desk(world: World) -> OwnerFile:
    return OwnerFile(world, world.pia)


def page_fact(page: HtmlElement, name: str) -> str:
    return next(row.one("dd").words for row in page.all("div") if row.all("dt") and row.one("dt").words == name)


def test_the_overview_has_everything_to_share_the_file(desk: OwnerFile) -> None:
    put_settings(desk.world, desk.made, slug="q3", viewLimit=9)
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
    assert [page_fact(page, name) for name in ("Views", "Of a limit of 9", "Link", "Ends", "Pages")] == [
        "0", "0 taken", "live", "never", "3",
    ]  # fmt: skip


def test_the_picture_is_there_for_the_owner_of_a_protected_document(desk: OwnerFile) -> None:
    put_settings(desk.world, desk.made, password="hunter22", pageRange={"from": 2, "to": 2})
    source = desk.page().one("img", class_="file-picture").attrs["src"]
    assert desk.type_of(source) == "image/jpeg"


def test_an_expired_file_says_so_and_shows_no_pictures(desk: OwnerFile) -> None:
    put_settings(desk.world, desk.made, deleteAt="2026-01-01T00:00:00Z")
    page = desk.page()
    assert page.one("p", class_="note").words.startswith("This link is expired.")
    assert page_fact(page, "Link") == "expired"
    assert page.all("img", class_="file-picture") == []
    for tail in PLACES:
        assert desk.page(tail).all("img", id="canvas") == []


def test_every_version_stands_on_the_overview(desk: OwnerFile) -> None:
    sent = {"file": (io.BytesIO(simple_pdf(pages=2)), "second.pdf")}
    assert desk.owner.post(f"{desk.api}/content", data=sent).status_code == 200
    rows = desk.page().one("tbody").all("tr")
    assert [[cell.words for cell in row.all("td")[:3]] for row in rows] == [
        ["2", "second.pdf", "2"],
        ["1", "Ann & Bob <3.pdf", "3"],
    ]


@pytest.mark.parametrize("tail", PLACES)
def test_a_page_of_somebody_elses_file_does_not_exist(desk: OwnerFile, tail: str) -> None:
    foreign = sign_in_browser(desk.world, desk.world.mal)
    assert foreign.get(desk.path + tail).status_code == 404
    assert foreign.get(f"/files/{UNKNOWN_UUID}{tail}").status_code == 404
    assert desk.world.http.get(desk.path + tail).status_code == 403


@pytest.mark.parametrize("tail", POSTS)
def test_a_form_of_somebody_elses_file_leads_nowhere(desk: OwnerFile, tail: str) -> None:
    http = sign_in_browser(desk.world, desk.world.mal)
    own = OwnerFile(desk.world, desk.world.mal)
    token = Form(http, f"{own.path}/settings").fields["csrf"]
    assert http.post(desk.path + tail, data={"csrf": token, "confirm": "delete"}).status_code == 404


def test_a_form_without_the_token_changes_nothing(desk: OwnerFile) -> None:
    form = desk.form("/invites")
    form.fields |= {"csrf": "made-up", "email": "ann@example.com"}
    assert form.send().status_code == 403
    assert desk.told("/invites") == []


def test_a_file_in_the_trash_has_no_pages(desk: OwnerFile) -> None:
    assert desk.owner.delete(desk.api).status_code == 200
    assert desk.http.get(desk.path).status_code == 404
    trash.restore(desk.world.rt, callers.authenticate(desk.world.rt, f"Bearer {desk.owner.key}"), desk.made["uuid"])
    assert desk.http.get(desk.path).status_code == 200


def test_the_pages_of_a_frozen_file_stay_with_its_owner(desk: OwnerFile) -> None:
    with desk.world.rt.db.write():
        desk.world.rt.db.execute("UPDATE files SET frozen_at = ?", (desk.world.clock(),))
    page = desk.page()
    assert page.one("p", class_="note").words.startswith("This link is frozen.")
    assert desk.type_of(page.one("img", class_="file-picture").attrs["src"]) == "image/jpeg"
    assert all(desk.http.get(desk.path + tail).status_code == 200 for tail in PLACES)


def test_the_short_id_leads_there_too(desk: OwnerFile) -> None:
    http: FlaskClient = desk.http
    assert http.get(f"/files/{desk.made['shortId']}").status_code == 200
