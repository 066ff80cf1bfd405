"""Actions on several files of the library: one form, whose answer says what happened to each file."""

import csv
import io
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.engines.rows import insert_files, update_file_row
from tests.support.owner.browser import count_statements, put_settings, sign_in_browser
from tests.support.people.cast import BASE_URL, Person, World

UNKNOWN = "00000000-0000-4000-8000-000000000000"


class Library:
    """The library of a signed-in ``person``, and the form around its list."""

    def __init__(self, world: World, person: Person) -> None:
        self.http: FlaskClient = sign_in_browser(world, person)
        self.csrf = parse_html(self.http.get("/files").text).find_all("input", name="csrf")[0].attrs["value"]

    def send(self, action: str, *uuids: str, **fields: Any) -> TestResponse:
        """Post the form with ``uuids`` selected."""
        form = {"csrf": self.csrf, "action": action, "file": list(uuids), **fields}
        return self.http.post("/files/selected", data=form)

    def send_and_follow(self, action: str, *uuids: str, **fields: Any) -> str:
        """Post the form and return the message of the page to which it leads."""
        answer = self.send(action, *uuids, **fields)
        assert answer.status_code == 303, answer.text
        page = parse_html(self.http.get(answer.headers["Location"]).text)
        return page.find_one("p", class_="said").words

    def list_names(self, query: str = "") -> list[str]:
        page = parse_html(self.http.get(f"/files{query}").text)
        return [row.find_one("h2").words for row in page.find_all("li", class_="item")]


@pytest.fixture
def pia_library(world: World) -> Library:
    return Library(world, world.pia)


def read_confirmation(answer: TestResponse) -> tuple[HtmlElement, list[str]]:
    """Return the page that asks for a confirmation, and the names of the files that it lists."""
    assert answer.status_code == 200
    page = parse_html(answer.text)
    return page, [item.words for item in page.find_one("main").find_all("li")]


def test_selected_files_are_trashed_and_the_others_reported(world: World, pia_library: Library) -> None:
    made = [world.pia.upload(name=f"{name}.pdf")["uuid"] for name in ("a", "b", "c", "d")]
    foreign = world.mal.upload(name="foreign.pdf")["uuid"]
    world.pia.delete(f"/api/v1/files/{made[2]}")
    words = pia_library.send_and_follow("trash", *made[:3], foreign, UNKNOWN, made[0])
    assert words.startswith("2 files moved to the trash until ")
    assert words.endswith(", 3 were already gone.")
    assert pia_library.list_names() == ["d.pdf"]
    assert world.mal.get(f"/api/v1/files/{foreign}").status_code == 200
    trash = pia_library.http.get("/trash").text
    assert [f"Restore {name}.pdf" in trash for name in ("a", "b", "c", "d")] == [True, True, True, False]


def test_one_gone_file_is_reported_in_the_singular(world: World, pia_library: Library) -> None:
    uuid = world.pia.upload()["uuid"]
    assert pia_library.send_and_follow("trash", uuid, UNKNOWN).endswith(", 1 was already gone.")


def test_on_a_plan_without_trash_deletion_must_be_confirmed(world: World) -> None:
    library = Library(world, world.fay)
    uuids = [world.fay.upload(name=name)["uuid"] for name in ("one.pdf", "two <b>.pdf")]
    page, names = read_confirmation(library.send("trash", *uuids, UNKNOWN))
    assert page.find_one("h1").words == "Delete 2 files for good?"
    assert names == ["one.pdf", "two <b>.pdf"]
    assert len(library.list_names()) == 2
    assert library.send_and_follow("purge", *uuids, confirmed="on") == "2 files permanently deleted."
    assert library.list_names() == []


def test_ending_links_must_be_confirmed(world: World, pia_library: Library) -> None:
    live, ended, gone = (world.pia.upload(name=f"{name}.pdf") for name in ("live", "ended", "gone"))
    update_file_row(world, ended["uuid"], delete_at=1_000)
    world.pia.delete(f"/api/v1/files/{gone['uuid']}")
    uuids = [made["uuid"] for made in (live, ended, gone)]
    page, names = read_confirmation(pia_library.send("expire", *uuids))
    assert page.find_one("h1").words == "End the links of 2 files?"
    assert names == ["ended.pdf", "live.pdf"]
    assert world.http.get(f"/{live['shortId']}").status_code == 200
    words = pia_library.send_and_follow("expire", *uuids, confirmed="on")
    assert words == "1 link ended, 1 was already ended, 1 was already gone."
    assert world.http.get(f"/{live['shortId']}").status_code == 410


def test_selected_files_are_exported(world: World, pia_library: Library) -> None:
    world.clock.now = 1_790_000_000_000  # 21 September 2026
    one, two, other = (world.pia.upload(name=name) for name in ("=1+1.pdf", "b.pdf", "other.pdf"))
    put_settings(world, two, slug="b-link", deleteAt="2030-01-31T18:00:00Z")
    update_file_row(world, two["uuid"], view_count=7, size=900, frozen_at=1)
    answer = pia_library.send("export", two["uuid"], one["uuid"], UNKNOWN)
    assert answer.content_type == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="files.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["name"] for row in rows] == ["'=1+1.pdf", "b.pdf"]
    assert rows[1] == {
        "name": "b.pdf", "link": f"{BASE_URL}/b-link", "state": "frozen", "pages": "3", "bytes": "900", "views": "7",
        "viewsThisWeek": "0", "createdAt": "2026-09-21T14:13:20.000Z", "expiresAt": "2030-01-31T18:00:00.000Z",
        "lastReadAt": "", "uuid": two["uuid"],
    }  # fmt: skip
    assert other["uuid"] not in answer.text


def test_the_list_keeps_its_search_after_an_action(world: World, pia_library: Library) -> None:
    for name in ("plan a.pdf", "plan b.pdf", "other.pdf"):
        world.pia.upload(name=name)
    page = parse_html(pia_library.http.get("/files?q=plan&sort=name").text)
    query = page.find_one("input", name="list").attrs["value"]
    uuid = page.find_all("input", name="file")[0].attrs["value"]
    answer = pia_library.send("trash", uuid, list=query)
    assert answer.headers["Location"].startswith("/files?q=plan&sort=name&page=1&done=")
    assert pia_library.list_names("?q=plan&sort=name") == ["plan b.pdf"]


def test_the_list_to_return_to_cannot_be_another_page(world: World, pia_library: Library) -> None:
    uuid = world.pia.upload()["uuid"]
    answer = pia_library.send("trash", uuid, list="q=x&done=forged&next=//evil.example")
    assert answer.headers["Location"].startswith("/files?q=x&done=1+file+moved")


@pytest.mark.parametrize(
    ("action", "uuids", "status"),
    [
        ("trash", ["nonsense"], 400),
        ("trash", ["../admin"], 400),
        ("", [UNKNOWN], 400),
        ("restore", [UNKNOWN], 400),
        ("trash", [f"{number:08d}-0000-4000-8000-000000000000" for number in range(201)], 400),
        ("trash", [], 303),
    ],
)
def test_an_invalid_selection_changes_nothing(
    world: World, pia_library: Library, action: str, uuids: list[str], status: int
) -> None:
    world.pia.upload(name="kept.pdf")
    assert pia_library.send(action, *uuids).status_code == status
    assert pia_library.list_names() == ["kept.pdf"]


def test_a_form_from_another_site_changes_nothing(world: World, pia_library: Library) -> None:
    uuid = world.pia.upload(name="kept.pdf")["uuid"]
    assert pia_library.send("trash", uuid, csrf="wrong").status_code == 403
    assert pia_library.list_names() == ["kept.pdf"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [("Name", "/files?sort=name", ""), ("Shared", "/files?sort=oldest", "↓"),
              ("Views", "/files?sort=views", ""), ("Size", "/files?sort=size", "")]),
        ("?q=a&sort=name", [("Name", "/files?q=a&sort=name-desc", "↑"), ("Shared", "/files?q=a", ""),
                            ("Views", "/files?q=a&sort=views", ""), ("Size", "/files?q=a&sort=size", "")]),
        ("?sort=size-asc&state=live", [("Name", "/files?state=live&sort=name", ""), ("Shared", "/files?state=live", ""),
                                       ("Views", "/files?state=live&sort=views", ""),
                                       ("Size", "/files?state=live&sort=size", "↑")]),
    ],
)  # fmt: skip
def test_each_column_links_to_its_order(
    world: World, pia_library: Library, query: str, expected: list[tuple[str, str, str]]
) -> None:
    world.pia.upload(name="a.pdf")
    links = parse_html(pia_library.http.get(f"/files{query}").text).find_one("nav", class_="sorts").find_all("a")
    shown = []
    for link in links:
        arrows = [part.words for part in link.find_all("span") if part.attrs.get("aria-hidden")]
        assert (link.attrs.get("aria-current") == "true") == bool(arrows)
        shown.append((link.words.split()[0], link.attrs["href"], "".join(arrows)))
    assert shown == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("name-desc", ["c.pdf", "b.pdf", "A.pdf"]),
        ("views-asc", ["b.pdf", "c.pdf", "A.pdf"]),
        ("size-asc", ["A.pdf", "c.pdf", "b.pdf"]),
    ],
)
def test_each_order_has_an_opposite(world: World, pia_library: Library, order: str, expected: list[str]) -> None:
    for name, views, size in (("b.pdf", 1, 900), ("A.pdf", 50, 100), ("c.pdf", 2, 500)):
        update_file_row(world, world.pia.upload(name=name)["uuid"], view_count=views, size=size)
    assert pia_library.list_names(f"?sort={order}") == expected


@pytest.mark.parametrize("address", ["/files", "/files?q=file+99", "/files?sort=name-desc&state=live"])
def test_ten_thousand_files_need_no_more_statements_than_one(world: World, pia_library: Library, address: str) -> None:
    world.pia.upload(name="file 99.pdf")
    few = count_statements(world, pia_library.http, address)
    insert_files(world, 10_000)
    assert count_statements(world, pia_library.http, address) == few <= 12
