"""A replacement without any page of the page range: readers see a notice and no content, the owner sees a warning."""

import json
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.gate_client import GateClient
from tests.support.people.reader import FakeReader

RANGE_WARNING = "The shared pages are not part of the new version"
PAGE_RESOURCES = [
    "pages/1-800.jpg?v=",
    "tiles/1/400/0-0.jpg?v=",
    "text/1.json?v=",
    "outline.json?v=",
    "search?q=page&v=",
    "style.css",
    "feedback",
]


@pytest.fixture
def uploaded_file(world: World) -> dict[str, Any]:
    """Share pages 3 to 4 of six, with three variants: pages 5 to 6, all pages, and the range of the file."""
    made = world.pia.upload(simple_pdf(pages=6))
    put_settings(world, made, pageRange={"from": 3, "to": 4})
    own = {"own": {"from": 5, "to": 6}, "whole": {"from": 0, "to": 0}}
    for name, span in own.items():
        body = {"label": name, "overrides": {"pageRange": span}}
        made[name] = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json=body).get_json()
    made["follows"] = world.pia.post(f"/api/v1/files/{made['uuid']}/variants").get_json()
    return made


def get_path(world: World, path: str, **more: Any) -> TestResponse:
    return world.http.get(path, buffered=True, **more)


@pytest.mark.parametrize("link", ["", "follows", "own"])
@pytest.mark.parametrize("prefix", ["", "/embed"])
def test_readers_see_a_notice_and_receive_no_content(
    world: World, uploaded_file: dict[str, Any], link: str, prefix: str
) -> None:
    name = (uploaded_file[link] if link else uploaded_file)["shortId"]
    loaded = [
        f"{path}{mark}"
        for path in PAGE_RESOURCES
        for mark in (["2", read_page_version(world, name)] if "?" in path else [""])
    ]
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2))
    page = get_path(world, f"{prefix}/{name}")
    assert (page.status_code, RANGE_WARNING in page.text) == (200, True)
    assert 'id="facts"' not in page.text
    assert "short.pdf" not in page.text
    assert [get_path(world, f"/{name}/{path}").status_code for path in loaded] == [404] * len(loaded)
    download = world.http.post(f"/{name}/download")
    assert (download.status_code, b"%PDF" in download.data) == (404, False)
    assert get_path(world, f"/api/files/{name}/metadata").get_json()["totalPages"] == 0
    oembed = get_path(world, f"/oembed?url=http://127.0.0.1:8787/{name}")
    assert (oembed.status_code, "thumbnail_url" in oembed.get_json()) == (200, False)


def read_page_version(world: World, name: str) -> str:
    """Return the version in the page addresses of an open page."""
    return str(FakeReader(world, name).facts["version"])


def test_a_link_whose_range_still_exists_works(world: World, uploaded_file: dict[str, Any]) -> None:
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2))
    name = uploaded_file["whole"]["shortId"]
    assert FakeReader(world, name).facts["pages"] == 2
    assert get_path(world, f"/api/files/{name}/metadata").get_json()["totalPages"] == 2


def test_the_owner_sees_a_warning_until_the_range_is_changed(world: World, uploaded_file: dict[str, Any]) -> None:
    replace_result = world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2))
    assert (replace_result["pageRangeEmpty"], replace_result["emptyVariants"]) == (True, 1)

    def list_flags() -> list[Any]:
        file = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()
        listed = world.pia.get("/api/v1/files").get_json()[0]
        report = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/readership").get_json()["file"]
        links = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()["variants"]
        return [row.get("pageRangeEmpty") for row in (file, listed, report, *links)]

    assert list_flags() == [True, True, True, None, None, True]
    owner = sign_in_browser(world, world.pia)
    for path in (f"/files/{uploaded_file['uuid']}", f"/readership/{uploaded_file['uuid']}"):
        assert "Readers see no pages" in owner.get(path).text
    put_settings(world, uploaded_file, pageRange={"from": 1, "to": 2})
    assert list_flags() == [None, None, None, None, None, True]
    assert FakeReader(world, uploaded_file["shortId"]).facts["pages"] == 2
    assert "Readers see no pages" not in owner.get(f"/readership/{uploaded_file['uuid']}").text


def test_a_longer_version_makes_the_pages_visible_again(world: World, uploaded_file: dict[str, Any]) -> None:
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=1))
    replace_result = world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=6))
    assert not {"pageRangeEmpty", "emptyVariants"} & replace_result.keys()
    assert FakeReader(world, uploaded_file["shortId"]).facts["pages"] == 2


def test_the_owner_reads_the_full_document(world: World, uploaded_file: dict[str, Any]) -> None:
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2))
    owner = sign_in_browser(world, world.pia)
    assert 'id="facts"' in owner.get(f"/{uploaded_file['shortId']}").text
    assert owner.get(f"/{uploaded_file['shortId']}/pages/1-800.jpg?v=2", buffered=True).status_code == 200


@pytest.mark.parametrize("path", ["", "/embed"])
def test_an_empty_range_has_no_gate(world: World, uploaded_file: dict[str, Any], path: str) -> None:
    """Neither a password nor an address is asked for, and no view is consumed."""
    put_settings(world, uploaded_file, password="x", requireEmail=True, viewLimit=1)
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2))
    guest = GateClient(world, uploaded_file["shortId"], prefix=path)
    page = guest.open_page()
    assert RANGE_WARNING in page.text
    assert "<form" not in page.text
    assert guest.submit("x", email="ann@a.example").status_code == 303
    file = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}").get_json()
    assert (file["viewsConsumed"], "burnedAt" in file) == (0, False)
    assert world.rt.db.fetch_all("SELECT * FROM viewers") == []


def test_the_report_of_an_empty_range_has_no_funnel(world: World, uploaded_file: dict[str, Any]) -> None:
    FakeReader(world, uploaded_file["shortId"]).read_page(30, page=1)
    world.clock.advance(minutes=40)
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2))
    report = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/readership").get_json()
    assert (report["effectivePages"], report["funnel"]) == (0, [])
    json.dumps(report)
