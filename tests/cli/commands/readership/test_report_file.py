"""``docshare readership report``: one file that holds it all, from any server, and overwrites nothing."""

from __future__ import annotations

import base64
import io
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import PIL.Image
import pytest

from docshare.server.services.readership import viewing
from tests.support import reports
from tests.support.fake_api import FakeApi, FakeResponse, problem
from tests.support.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.markup import HtmlElement, parse_html
from tests.support.owner import put_settings
from tests.support.pdfs import simple_pdf
from tests.support.reader import FakeReader
from tests.support.shell import Shell

if TYPE_CHECKING:
    from tests.support.cast import Person, World

ID = "aB3dE5fG7hJ9"
JPEG = re.compile(r"data:image/jpeg;base64,([A-Za-z0-9+/=]+)")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def full_report_api(api: FakeApi) -> FakeApi:
    """A server that tells everything a Pro owner may know of a document with twelve pages."""
    api.on("GET", f"/files/{ID}/readership", reports.pro_report())
    api.on("GET", f"/files/{ID}/readership/pages", reports.pages_report())
    api.on("GET", f"/files/{ID}/page-marks", reports.marks_report())
    api.on("GET", f"/files/{ID}/annotations", reports.annotations_report())
    api.on("GET", f"/files/{ID}/feedback", reports.feedback_report())
    api.on("GET", f"/files/{ID}/content", document_answer(simple_pdf(pages=12)))
    api.on("GET", f"/files/{ID}/qr-code", FakeResponse(b"\x89PNG", headers={"Content-Type": "image/png"}))
    return api


def document_answer(content: bytes) -> FakeResponse:
    return FakeResponse(content, 200, {"Content-Type": "application/pdf", "Content-Length": str(len(content))})


def parse_page(path: Path | str) -> HtmlElement:
    return parse_html(path.read_text(encoding="utf-8") if isinstance(path, Path) else path)


def picture_sizes(page: HtmlElement) -> list[tuple[int, int]]:
    """The size in pixels of every JPEG in the page, as its bytes say."""
    found = [JPEG.fullmatch(node.attrs["src"]) for node in page.find_all("img")]
    return [PIL.Image.open(io.BytesIO(base64.b64decode(match[1]))).size for match in found if match]


def test_the_report_is_one_private_file(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    ended = shell("readership", "report", ID)
    assert (ended.code, ended.out) == (0, "report.html\n")
    found = parse_page(here / "report.html")
    assert found.find_one("h1").words == "Series A deck – autumn 2026.pdf"
    assert found.find_one("footer").words.startswith(f"Created on 21 Sep 2026, 14:13 UTC from {full_report_api.url}.")
    for title in ("notes-heading", "proofs-heading", "sessions-heading", "pages-heading"):
        assert len(found.find_all(id=title)) == 1
    assert stat.S_IMODE((here / "report.html").stat().st_mode) == 0o600
    assert [path.name for path in here.iterdir()] == ["report.html"]


def test_pages_are_drawn_small_from_the_stored_pdf(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    assert shell("readership", "report", ID, "-o", "r.html").code == 0
    # Twelve pages, and three of them once more with what readers left on them.
    assert picture_sizes(parse_page(here / "r.html")) == [(280, 363)] * 15


def test_without_thumbnails_the_document_is_not_fetched(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    assert shell("readership", "report", ID, "--no-thumbnails").code == 0
    assert full_report_api.list_requests("GET", f"/files/{ID}/content") == []
    found = parse_page(here / "report.html")
    assert picture_sizes(found) == []
    assert len(found.find_all("figure", id="times")) == 1


def test_a_document_above_100_mb_is_not_fetched(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    full_report_api.on(
        "GET", f"/files/{ID}/readership", reports.pro_report(file=reports.file_object(size=100 * 1024**2 + 1))
    )
    ended = shell("readership", "report", ID)
    assert ended.code == 0
    assert "larger than 100 MB" in ended.err
    assert full_report_api.list_requests("GET", f"/files/{ID}/content") == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (problem(410, "gone", "The content is gone."), "no page thumbnails: The content is gone."),
        (document_answer(b"%PDF-1.7\nnot really"), "no page thumbnails: the document could not be rendered"),
    ],
)
def test_a_document_that_cannot_be_drawn_has_its_report_all_the_same(
    full_report_api: FakeApi, shell: Shell, here: Path, content: FakeResponse, why: str
) -> None:
    full_report_api.on("GET", f"/files/{ID}/content", content)
    ended = shell("readership", "report", ID)
    assert (ended.code, why in ended.err) == (0, True)
    assert len(parse_page(here / "report.html").find_all("table", class_="sessions")) == 2


@pytest.mark.parametrize(("tier", "asked"), [("free", []), ("basic", ["readership/pages"])])
def test_a_lower_plan_is_not_asked_for_what_it_has_not(
    full_report_api: FakeApi, shell: Shell, here: Path, tier: str, asked: list[str]
) -> None:
    full_report_api.on(
        "GET", f"/files/{ID}/readership", {"free": reports.free_report, "basic": reports.basic_report}[tier]()
    )
    assert shell("readership", "report", ID).code == 0
    others = {"readership", "content"}
    paths = [heard.path.removeprefix(f"/files/{ID}/") for heard in full_report_api.requests]
    assert [path for path in paths if path not in others] == asked
    assert parse_page(here / "report.html").find_all("h2")[-1].words == "More with a higher plan"


def test_a_server_without_the_additions_has_its_report(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    full_report_api.on("GET", f"/files/{ID}/feedback", problem(404, "not_found", "There is no such route."))
    ended = shell("readership", "report", ID)
    assert ended.code == 0
    assert "skipped: There is no such route." in ended.err
    assert parse_page(here / "report.html").find_all(id="notes-heading") == []


def test_a_foreign_file_is_refused_and_nothing_is_written(api: FakeApi, shell: Shell, here: Path) -> None:
    api.on("GET", f"/files/{ID}/readership", problem(403, "forbidden", "This file belongs to another account."))
    ended = shell("readership", "report", ID)
    assert ended.code == 5
    assert "Only the owner" in ended.err
    assert list(here.iterdir()) == []


def test_a_server_that_fails_halfway_leaves_no_file(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    full_report_api.on("GET", f"/files/{ID}/page-marks", problem(500, "internal"))
    assert shell("readership", "report", ID, "--retries", "0").code == 11
    assert list(here.iterdir()) == []


def test_nothing_is_overwritten_unless_forced(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    (here / "report.html").write_text("mine")
    os.chmod(here / "report.html", 0o644)
    assert shell("readership", "report", ID).code == 2
    assert full_report_api.requests == []
    assert (here / "report.html").read_text() == "mine"
    assert shell("readership", "report", ID, "--force").code == 0
    assert parse_page(here / "report.html").find_all("main")
    assert stat.S_IMODE((here / "report.html").stat().st_mode) == 0o600


def test_a_dash_writes_to_stdout_and_nothing_else(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    ended = shell("readership", "report", ID, "-o", "-")
    assert ended.code == 0
    assert parse_page(ended.out).find_all("main")
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("more", [("--open",), ()])
def test_html_is_not_poured_over_a_terminal(
    full_report_api: FakeApi, shell: Shell, here: Path, more: tuple[str, ...]
) -> None:
    shell.tty = True
    assert shell("readership", "report", ID, "-o", "-", *more).code == 2
    assert full_report_api.requests == []


def test_open_shows_the_file_in_the_browser(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    shell.tty = True
    shell.env["DISPLAY"] = ":0"
    assert shell("readership", "report", ID, "--open").code == 0
    assert shell.opened == [(here / "report.html").as_uri()]


def test_where_there_is_no_browser_open_says_so(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    ended = shell("readership", "report", ID, "--open")
    assert (ended.code, shell.opened) == (0, [])
    assert "no browser" in ended.err


def test_json_tells_what_was_written(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    found = shell("readership", "report", ID, "-o", "r.html", "--json").json
    assert found == {"file": ID, "path": "r.html", "size": (here / "r.html").stat().st_size}


def test_a_file_without_readers_begins_with_its_code(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    report: dict[str, Any] = reports.pro_report()
    full_report_api.on("GET", f"/files/{ID}/readership", report | {"summary": dict.fromkeys(report["summary"], 0)})
    assert shell("readership", "report", ID, "--no-thumbnails").code == 0
    assert (
        parse_page(here / "report.html").find_one("img", class_="code").attrs["src"] == "data:image/png;base64,iVBORw=="
    )


def test_a_link_of_the_server_leads_to_the_web_or_nowhere(full_report_api: FakeApi, shell: Shell, here: Path) -> None:
    full_report_api.on(
        "GET", f"/files/{ID}/readership", reports.pro_report(file=reports.file_object(shareUrl="javascript:alert(1)"))
    )
    assert shell("readership", "report", ID).code == 0
    targets = {node.attrs["href"] for node in parse_page(here / "report.html").find_all("a")}
    assert {target[:1] for target in targets} == {"#"}


def test_the_report_of_the_bundled_server_holds_what_its_readers_did(
    shell_for: Callable[[Person], Shell], world: World, here: Path
) -> None:
    made = world.pia.upload(name="offer.pdf")
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS)
    reader = FakeReader(world, made["shortId"], address="203.0.113.7")
    reader.send_next_beacon(input=True)
    reader.read_page(12)
    reader.leave()
    world.clock.advance(minutes=6)
    viewing.end_due_sessions(world.rt)
    FeedbackClient(world, made["shortId"]).leave_note("Very clear.", page=2)
    ended = shell_for(world.pia)("readership", "report", made["uuid"])
    assert (ended.code, ended.out) == (0, "report.html\n"), ended.err
    found = parse_page(here / "report.html")
    assert found.find_one("h1").words == "offer.pdf"
    assert [leaf.find_one("b").words for leaf in found.find_all("li", class_="leaf")] == ["12s", "0s", "0s"]
    assert found.find_one("p", class_="note-body").words == "Very clear."
    assert len(picture_sizes(found)) == 3
