"""Links that ask for something before they open: not one byte of the document leaves, whoever comes which way."""

import re
from typing import Any

import pytest

from tests.contract.settings_table import FORM
from tests.support.cast import World
from tests.support.pdfs import Sheet, lines_content, sheets_pdf
from tests.support.reader import Reader, sessions
from tests.support.rows import change_file
from tests.support.settings import Shared

LOCKS: list[dict[str, Any]] = [
    {"password": "secret"},
    {"requireEmail": True},
    {"gateFields": FORM},
    {"viewLimit": 1},
    {"viewLimit": 1_000_000, "password": "secret", "requireEmail": True},
]
OPENERS: dict[str, Any] = {"password": "", "requireEmail": False, "gateFields": None, "viewLimit": 0}


@pytest.fixture
def file(world: World) -> Shared:
    """Pia's document whose words and name nobody may learn."""
    shared = Shared(world, world.pia, sheets_pdf([Sheet(lines_content("Canary words"))]))
    change_file(world, shared.made["uuid"], original_name="Canary name.pdf")
    return shared


def addresses(file: Shared) -> list[str]:
    """Every public address that serves a part of the document."""
    variant = file.owner.post(f"{file.path}/variants").get_json()
    names = (file.made["shortId"], file.made["uuid"], file.made["uuid"].upper(), variant["shortId"], variant["uuid"])
    rest = ["", "?page=1", "/pages/1-800.jpg?v=1", "/pages/1-1600.jpg?v=1", "/text/1.json?v=1"]
    return [f"/{name}{end}" for name in names for end in rest] + [f"/embed/{name}" for name in names] + ["/canary-slug"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: "-".join(lock))
def test_no_address_of_a_locked_link_serves_a_byte_of_the_document(
    world: World, file: Shared, lock: dict[str, Any]
) -> None:
    file.change(slug="canary-slug")
    paths = addresses(file)
    assert {world.http.get(path, buffered=True).status_code for path in paths} == {200}
    file.change(**lock)
    for path in paths:
        for http in (world.http.get, world.http.head):
            answer = http(path, buffered=True)
            assert answer.status_code == 403, path
            assert b"Canary" not in answer.data
            assert file.made["uuid"].encode() not in answer.data
            assert answer.mimetype in ("text/html", "text/plain")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: "-".join(lock))
def test_a_link_opens_again_when_it_asks_for_nothing_any_more(world: World, file: Shared, lock: dict[str, Any]) -> None:
    file.change(slug="canary-slug", **lock)
    file.change(**OPENERS)
    assert {world.http.get(path, buffered=True).status_code for path in addresses(file)} == {200}


@pytest.mark.parametrize("plan", ["free", "basic"])
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: "-".join(lock))
def test_a_lock_survives_a_downgrade(world: World, file: Shared, lock: dict[str, Any], plan: str) -> None:
    file.change(**lock)
    file.on(plan)
    assert world.http.get(f"/{file.made['shortId']}").status_code == 403


def test_the_page_says_that_the_document_asks_for_something(world: World, file: Shared) -> None:
    file.change(password="secret")
    for path, framing in ((f"/{file.made['shortId']}", "'none'"), (f"/embed/{file.made['shortId']}", "*")):
        page = world.http.get(path)
        assert page.mimetype == "text/html"
        assert "<h1>This document is locked</h1>" in page.text
        assert "does not ask for it yet" in page.text
        assert re.search(r"<title>[^<]*locked[^<]*</title>", page.text)
        assert f"frame-ancestors {framing}" in page.headers["Content-Security-Policy"]


def test_the_owners_download_is_not_locked(file: Shared) -> None:
    """Exact stored bytes for the owner even with password, gate, range, watermark, view limit."""
    file.change(**LOCKS[-1])
    answer = file.owner.get(f"{file.path}/content", buffered=True)
    assert (answer.status_code, answer.data) == (200, file.everything()[-1])


@pytest.mark.parametrize("started", [False, True])
def test_a_page_that_was_open_before_reports_no_more_reading(world: World, file: Shared, started: bool) -> None:
    reader = Reader(world, file.made["shortId"])
    if started:
        assert reader.reads(9) == 204
    before = sessions(world)
    file.change(requireEmail=True)
    assert reader.reads(9) == 403
    assert sessions(world) == before


def test_a_dead_link_stays_dead_and_an_unknown_one_unknown(world: World, file: Shared) -> None:
    file.change(password="secret")
    change_file(world, file.made["uuid"], delete_at=world.clock.now)
    assert world.http.get(f"/{file.made['shortId']}").status_code == 410
    file.owner.delete(file.path)
    assert world.http.get(f"/{file.made['shortId']}").status_code == 404


@pytest.mark.parametrize("settings", [{"gateDomains": ["a.example"]}, {"watermark": True, "askReceipt": True}])
def test_what_asks_for_nothing_locks_nothing(world: World, file: Shared, settings: Any) -> None:
    file.change(**settings)
    assert world.http.get(f"/{file.made['shortId']}").status_code == 200
