"""``docshare readership report``: one self-contained HTML file, which overwrites no existing file."""

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
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.fake_api import FakeApi, FakeResponse, problem
from tests.support.owner.browser import put_settings
from tests.support.people import reports
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.people.reader import FakeReader
from tests.support.shell import Shell

if TYPE_CHECKING:
    from tests.support.people.cast import Person, World

ID = "aB3dE5fG7hJ9"
JPEG = re.compile(r"data:image/jpeg;base64,([A-Za-z0-9+/=]+)")


@pytest.fixture
def full_report_api(api: FakeApi) -> FakeApi:
    """Return a server with the full Pro report of a document with twelve pages."""
    api.on("GET", f"/files/{ID}/readership", reports.pro_report())
    api.on("GET", f"/files/{ID}/readership/pages", reports.pages_report())
    api.on("GET", f"/files/{ID}/page-marks", reports.marks_report())
    api.on("GET", f"/files/{ID}/annotations", reports.annotations_report())
    api.on("GET", f"/files/{ID}/feedback", reports.feedback_report())
    api.on("GET", f"/files/{ID}/content", make_document_response(simple_pdf(pages=12)))
    api.on("GET", f"/files/{ID}/qr-code", FakeResponse(b"\x89PNG", headers={"Content-Type": "image/png"}))
    return api


def make_document_response(content: bytes) -> FakeResponse:
    return FakeResponse(content, 200, {"Content-Type": "application/pdf", "Content-Length": str(len(content))})


def parse_page(path: Path | str) -> HtmlElement:
    return parse_html(path.read_text(encoding="utf-8") if isinstance(path, Path) else path)


def list_picture_sizes(page: HtmlElement) -> list[tuple[int, int]]:
    """Return the size in pixels of every JPEG in the page, read from its bytes."""
    found = [JPEG.fullmatch(node.attrs["src"]) for node in page.find_all("img")]
    return [PIL.Image.open(io.BytesIO(base64.b64decode(match[1]))).size for match in found if match]


def test_the_report_is_one_private_file(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    ended = shell("readership", "report", ID)
    assert (ended.code, ended.out) == (0, "report.html\n")
    found = parse_page(work_dir / "report.html")
    assert found.find_one("h1").words == "Series A deck – autumn 2026.pdf"
    assert found.find_one("footer").words.startswith(f"Created on 21 Sep 2026, 14:13 UTC from {full_report_api.url}.")
    for title in ("notes-heading", "proofs-heading", "sessions-heading", "pages-heading"):
        assert len(found.find_all(id=title)) == 1
    assert stat.S_IMODE((work_dir / "report.html").stat().st_mode) == 0o600
    assert [path.name for path in work_dir.iterdir()] == ["report.html"]


def test_thumbnails_are_rendered_from_the_stored_pdf(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    assert shell("readership", "report", ID, "-o", "r.html").code == 0
    # Twelve pages, and three of them again with feedback of readers.
    assert list_picture_sizes(parse_page(work_dir / "r.html")) == [(280, 363)] * 15


def test_the_document_is_not_fetched_without_thumbnails(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    assert shell("readership", "report", ID, "--no-thumbnails").code == 0
    assert full_report_api.list_requests("GET", f"/files/{ID}/content") == []
    found = parse_page(work_dir / "report.html")
    assert list_picture_sizes(found) == []
    assert len(found.find_all("figure", id="times")) == 1


def test_a_document_above_100_mb_is_not_fetched(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
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
        (make_document_response(b"%PDF-1.7\nnot really"), "no page thumbnails: the document could not be rendered"),
    ],
)
def test_a_document_that_cannot_be_rendered_still_gets_its_report(
    full_report_api: FakeApi, shell: Shell, work_dir: Path, content: FakeResponse, why: str
) -> None:
    full_report_api.on("GET", f"/files/{ID}/content", content)
    ended = shell("readership", "report", ID)
    assert (ended.code, why in ended.err) == (0, True)
    assert len(parse_page(work_dir / "report.html").find_all("table", class_="sessions")) == 2


@pytest.mark.parametrize(("tier", "asked"), [("free", []), ("basic", ["readership/pages"])])
def test_data_above_the_plan_is_not_requested(
    full_report_api: FakeApi, shell: Shell, work_dir: Path, tier: str, asked: list[str]
) -> None:
    full_report_api.on(
        "GET", f"/files/{ID}/readership", {"free": reports.free_report, "basic": reports.basic_report}[tier]()
    )
    assert shell("readership", "report", ID).code == 0
    others = {"readership", "content"}
    paths = [heard.path.removeprefix(f"/files/{ID}/") for heard in full_report_api.requests]
    assert [path for path in paths if path not in others] == asked
    assert parse_page(work_dir / "report.html").find_all("h2")[-1].words == "More with a higher plan"


def test_a_server_without_newer_routes_still_gets_its_report(
    full_report_api: FakeApi, shell: Shell, work_dir: Path
) -> None:
    full_report_api.on("GET", f"/files/{ID}/feedback", problem(404, "not_found", "There is no such route."))
    ended = shell("readership", "report", ID)
    assert ended.code == 0
    assert "skipped: There is no such route." in ended.err
    assert parse_page(work_dir / "report.html").find_all(id="notes-heading") == []


def test_a_file_of_another_account_exits_with_5_and_writes_nothing(api: FakeApi, shell: Shell, work_dir: Path) -> None:
    api.on("GET", f"/files/{ID}/readership", problem(403, "forbidden", "This file belongs to another account."))
    ended = shell("readership", "report", ID)
    assert ended.code == 5
    assert "Only the owner" in ended.err
    assert list(work_dir.iterdir()) == []


def test_a_server_that_fails_halfway_leaves_no_file(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    full_report_api.on("GET", f"/files/{ID}/page-marks", problem(500, "internal"))
    assert shell("readership", "report", ID, "--retries", "0").code == 11
    assert list(work_dir.iterdir()) == []


def test_an_existing_file_is_overwritten_only_with_force(
    full_report_api: FakeApi, shell: Shell, work_dir: Path
) -> None:
    (work_dir / "report.html").write_text("mine")
    os.chmod(work_dir / "report.html", 0o644)
    assert shell("readership", "report", ID).code == 2
    assert full_report_api.requests == []
    assert (work_dir / "report.html").read_text() == "mine"
    assert shell("readership", "report", ID, "--force").code == 0
    assert parse_page(work_dir / "report.html").find_all("main")
    assert stat.S_IMODE((work_dir / "report.html").stat().st_mode) == 0o600


def test_a_dash_writes_only_to_stdout(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    ended = shell("readership", "report", ID, "-o", "-")
    assert ended.code == 0
    assert parse_page(ended.out).find_all("main")
    assert list(work_dir.iterdir()) == []


@pytest.mark.parametrize("more", [("--open",), ()])
def test_html_is_not_printed_on_a_terminal(
    full_report_api: FakeApi, shell: Shell, work_dir: Path, more: tuple[str, ...]
) -> None:
    shell.tty = True
    assert shell("readership", "report", ID, "-o", "-", *more).code == 2
    assert full_report_api.requests == []


def test_open_shows_the_file_in_the_browser(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    shell.tty = True
    shell.env["DISPLAY"] = ":0"
    assert shell("readership", "report", ID, "--open").code == 0
    assert shell.opened == [(work_dir / "report.html").as_uri()]


def test_open_without_a_browser_prints_a_warning(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    ended = shell("readership", "report", ID, "--open")
    assert (ended.code, shell.opened) == (0, [])
    assert "no browser" in ended.err


def test_json_contains_path_and_size(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    found = shell("readership", "report", ID, "-o", "r.html", "--json").json
    assert found == {"file": ID, "path": "r.html", "size": (work_dir / "r.html").stat().st_size}


def test_the_report_of_a_file_without_readers_starts_with_the_qr_code(
    full_report_api: FakeApi, shell: Shell, work_dir: Path
) -> None:
    report: dict[str, Any] = reports.pro_report()
    full_report_api.on("GET", f"/files/{ID}/readership", report | {"summary": dict.fromkeys(report["summary"], 0)})
    assert shell("readership", "report", ID, "--no-thumbnails").code == 0
    assert (
        parse_page(work_dir / "report.html").find_one("img", class_="code").attrs["src"]
        == "data:image/png;base64,iVBORw=="
    )


def test_a_link_that_is_not_http_is_omitted(full_report_api: FakeApi, shell: Shell, work_dir: Path) -> None:
    full_report_api.on(
        "GET", f"/files/{ID}/readership", reports.pro_report(file=reports.file_object(shareUrl="javascript:alert(1)"))
    )
    assert shell("readership", "report", ID).code == 0
    targets = {node.attrs["href"] for node in parse_page(work_dir / "report.html").find_all("a")}
    assert {target[:1] for target in targets} == {"#"}


def test_the_report_from_a_real_server_contains_reading_and_feedback(
    shell_for: Callable[[Person], Shell], world: World, work_dir: Path
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
    found = parse_page(work_dir / "report.html")
    assert found.find_one("h1").words == "offer.pdf"
    assert [leaf.find_one("b").words for leaf in found.find_all("li", class_="leaf")] == ["12s", "0s", "0s"]
    assert found.find_one("p", class_="note-body").words == "Very clear."
    assert len(list_picture_sizes(found)) == 3
