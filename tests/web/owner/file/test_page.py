"""The pages of one file: content and permissions."""

import io

import pytest
from flask.testing import FlaskClient

from docshare.server.services.accounts import callers
from docshare.server.services.files import trash
from tests.support.browsers.forms import Form
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.owner.file import UNKNOWN_UUID, OwnerFile

PAGES = (
    "",
    "/settings",
    "/looks",
    "/looks/preview",
    "/links",
    "/invites",
    "/hotspots",
    "/hotspots/1",
    "/assets",
    "/replace",
)
FORM_ACTIONS = (
    "/settings", "/looks", "/looks/preview", "/links", f"/links/{UNKNOWN_UUID}", f"/links/{UNKNOWN_UUID}/revoke",
    f"/links/{UNKNOWN_UUID}/restore",
    f"/links/{UNKNOWN_UUID}/redact", f"/links/{UNKNOWN_UUID}/delete", "/invites", "/hotspots",
    f"/hotspots/{UNKNOWN_UUID}/delete",
    f"/assets/{UNKNOWN_UUID}/use",
)  # fmt: skip


def get_page_fact(page: HtmlElement, name: str) -> str:
    return next(
        row.find_one("dd").words
        for row in page.find_all("div")
        if row.find_all("dt") and row.find_one("dt").words == name
    )


def test_the_overview_contains_everything_to_share_the_file(owner_file: OwnerFile) -> None:
    put_settings(owner_file.world, owner_file.made, slug="q3", viewLimit=9)
    page = owner_file.get_page()
    short = owner_file.made["shortId"]
    assert page.find_one("h1").words == "Ann & Bob <3.pdf"
    links = {node.attrs["href"] for node in page.find_all("a")}
    assert {
        f"http://127.0.0.1:8787/{short}",
        "http://127.0.0.1:8787/q3",
        f"/readership/{owner_file.made['uuid']}",
    } <= links
    assert page.find_all("img", class_="file-picture")[0].attrs["src"] == f"/{short}/pages/1-800.jpg?v=1"
    assert page.find_one("textarea", id="frame").words == (
        f'<iframe src="http://127.0.0.1:8787/embed/{short}" title="Ann &amp; Bob &lt;3.pdf" width="800" height="600" '
        'allow="fullscreen" loading="lazy"></iframe>'
    )
    code = page.find_one("a", download=f"{short}.png").attrs["href"]
    assert owner_file.get_content_type(code) == "image/png"
    assert [get_page_fact(page, name) for name in ("Views", "View limit", "Link", "Expires", "Pages")] == [
        "0", "0 of 9 used", "Live", "Never", "3",
    ]  # fmt: skip


def test_the_owner_sees_the_thumbnail_of_a_protected_document(owner_file: OwnerFile) -> None:
    put_settings(owner_file.world, owner_file.made, password="hunter22", pageRange={"from": 2, "to": 2})
    source = owner_file.get_page().find_one("img", class_="file-picture").attrs["src"]
    assert owner_file.get_content_type(source) == "image/jpeg"


def test_an_expired_file_is_marked_and_shows_no_page_images(owner_file: OwnerFile) -> None:
    put_settings(owner_file.world, owner_file.made, deleteAt="2026-01-01T00:00:00Z")
    page = owner_file.get_page()
    assert page.find_one("p", class_="note").words.startswith("This link has expired.")
    assert get_page_fact(page, "Link") == "Expired"
    assert page.find_all("img", class_="file-picture") == []
    for tail in set(PAGES) - {"/looks/preview"}:
        assert owner_file.get_page(tail).find_all("img", id="canvas") == []


def test_the_overview_lists_every_version(owner_file: OwnerFile) -> None:
    sent = {"file": (io.BytesIO(simple_pdf(pages=2)), "second.pdf")}
    assert owner_file.owner.post(f"{owner_file.api}/content", data=sent).status_code == 200
    rows = owner_file.get_page().find_one("tbody").find_all("tr")
    assert [[cell.words for cell in row.find_all("td")[:3]] for row in rows] == [
        ["2", "second.pdf", "2"],
        ["1", "Ann & Bob <3.pdf", "3"],
    ]


@pytest.mark.parametrize("tail", PAGES)
def test_a_page_of_another_owners_file_is_404(owner_file: OwnerFile, tail: str) -> None:
    foreign = sign_in_browser(owner_file.world, owner_file.world.mal)
    assert foreign.get(owner_file.path + tail).status_code == 404
    unknown = foreign.get(f"/files/{UNKNOWN_UUID}{tail}")
    assert unknown.status_code == 404
    if "preview" not in tail:
        assert parse_html(unknown.text).find_one("a", class_="button").attrs["href"] == "/files"
    assert owner_file.world.http.get(owner_file.path + tail).status_code == 403


@pytest.mark.parametrize("tail", FORM_ACTIONS)
def test_a_form_of_another_owners_file_is_404(owner_file: OwnerFile, tail: str) -> None:
    http = sign_in_browser(owner_file.world, owner_file.world.mal)
    own = OwnerFile(owner_file.world, owner_file.world.mal)
    token = Form(http, f"{own.path}/settings").fields["csrf"]
    assert http.post(owner_file.path + tail, data={"csrf": token, "confirm": "delete"}).status_code == 404


def test_a_form_without_the_csrf_token_changes_nothing(owner_file: OwnerFile) -> None:
    form = owner_file.open_form("/invites")
    form.fields |= {"csrf": "made-up", "email": "ann@example.com"}
    assert form.send().status_code == 403
    assert owner_file.get_from_api("/invites") == []


def test_a_trashed_file_has_no_pages(owner_file: OwnerFile) -> None:
    assert owner_file.owner.delete(owner_file.api).status_code == 200
    assert owner_file.http.get(owner_file.path).status_code == 404
    trash.restore(
        owner_file.world.rt,
        callers.authenticate(owner_file.world.rt, f"Bearer {owner_file.owner.key}"),
        owner_file.made["uuid"],
    )
    assert owner_file.http.get(owner_file.path).status_code == 200


def test_the_owner_can_still_open_the_pages_of_a_frozen_file(owner_file: OwnerFile) -> None:
    with owner_file.world.rt.db.write():
        owner_file.world.rt.db.execute("UPDATE files SET frozen_at = ?", (owner_file.world.clock(),))
    page = owner_file.get_page()
    assert page.find_one("p", class_="note").words.startswith("This link is on hold.")
    assert owner_file.get_content_type(page.find_one("img", class_="file-picture").attrs["src"]) == "image/jpeg"
    assert all(owner_file.http.get(owner_file.path + tail).status_code == 200 for tail in PAGES)


def test_the_short_id_opens_the_same_page(owner_file: OwnerFile) -> None:
    http: FlaskClient = owner_file.http
    assert http.get(f"/files/{owner_file.made['shortId']}").status_code == 200
