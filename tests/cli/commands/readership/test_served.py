"""The readership commands against a real server, with simulated readers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.browsers.markup import parse_html
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.fake_api import FakeTime
from tests.support.owner.browser import put_settings
from tests.support.people.cast import Person, World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.people.gate_client import GateClient
from tests.support.people.reader import FakeReader, end_all_sessions
from tests.support.shell import CommandResult, Shell

MakeShell = Callable[[Person], Shell]


@pytest.fixture
def file(world: World) -> str:
    """Upload a document of three pages and return its short id."""
    return str(world.pia.upload()["shortId"])


def parse_output(ended: CommandResult, code: int = 0) -> Any:
    """Return the JSON that a command printed, and check that it exited with ``code``."""
    assert ended.code == code, ended.err
    return json.loads(ended.out) if ended.out else None


def create_variant(shell: Shell, file: str, label: str) -> str:
    """Create a variant and return its short id."""
    return str(parse_output(shell("variants", "create", file, "--label", label, "--json"))["shortId"])


def read_pages(world: World, link: str, *pages: int, seconds: int = 7, **how: Any) -> None:
    """Open a link as a reader, read these pages and leave."""
    reader = FakeReader(world, link, **how)
    for page in pages:
        assert reader.read_page(seconds, page, input=True, turns=int(page != pages[0])) == 204
    assert reader.leave() == 204
    end_all_sessions(world)


def list_reasons_by_name(shell: Shell, file: str, *options: str) -> dict[str, str]:
    ended = shell("pending", file, *options, "--json")
    assert ended.code == (13 if json.loads(ended.out) else 0), ended.err
    return {row["name"]: row["reason"] for row in json.loads(ended.out)}


def test_pending_follows_what_readers_do(world: World, pia: Shell, file: str, tmp_path: Path) -> None:
    ann, bob = create_variant(pia, file, "Ann"), create_variant(pia, file, "Bob")
    eve = parse_output(pia("invites", "create", file, "eve@example.com", "--json"))
    link = eve["url"].rpartition("/")[2]
    assert list_reasons_by_name(pia, file) == {"Bob": "never", "Ann": "never", "eve@example.com": "never"}

    read_pages(world, ann, 1, 2, 3)
    read_pages(world, link, 1)
    assert list_reasons_by_name(pia, file) == {"Bob": "never", "eve@example.com": "stopped_early"}
    assert list_reasons_by_name(pia, file, "--page", "1", "--min-time", "7s") == {"Bob": "never"}

    read_pages(world, bob, 1, 2, 3)
    read_pages(world, link, 2, 3)
    assert list_reasons_by_name(pia, file) == {}

    new = tmp_path / "new.pdf"
    new.write_bytes(simple_pdf(pages=2))
    parse_output(pia("files", "replace", file, new, "--json"))
    assert set(list_reasons_by_name(pia, file).values()) == {"old_version"}
    assert list_reasons_by_name(pia, file, "--any-version") == {}
    read_pages(world, bob, 1, 2)
    assert list_reasons_by_name(pia, file) == {"Ann": "old_version", "eve@example.com": "old_version"}
    parse_output(pia("variants", "revoke", ann, "--file", file, "--yes", "--json"))
    assert list_reasons_by_name(pia, file) == {"eve@example.com": "old_version"}


def test_wait_ends_with_the_expected_reader(world: World, pia: Shell, file: str, time: FakeTime) -> None:
    ann, bob = create_variant(pia, file, "Ann"), create_variant(pia, file, "Bob")
    visits = iter([(bob, 30, [3]), (ann, 7, [1, 3]), (ann, 30, [3])])

    def visit(_: float) -> None:
        link, seconds, pages = next(visits)
        read_pages(world, link, *pages, seconds=seconds)

    def add_no_reader(seconds: float) -> None:
        world.clock.advance(seconds=seconds)

    time.on_sleep = visit
    line = ("wait", file, "--variant", "label:Ann", "--page", "3", "--min-time", "20s", "--timeout", "1h", "--json")
    session = parse_output(pia(*line))
    assert (session["pages"], session["totalTimeMs"]) == ([{"page": 3, "timeMs": 30_000}], 30_000)
    assert parse_output(pia(*line))["sessionId"] == session["sessionId"]  # it has already happened
    time.on_sleep = add_no_reader
    assert parse_output(pia(*line[:-1], "--new", "--json"), 124) is None


def test_an_entered_address_does_not_identify_an_invitee_but_the_personal_link_does(
    world: World, pia: Shell, file: str
) -> None:
    put_settings(world, {"uuid": file}, requireEmail=True)
    link = parse_output(pia("invites", "create", file, "eve@example.com", "--json"))["url"].rpartition("/")[2]
    wait = ("wait", file, "--invite", "eve@example.com", "--timeout", "2s", "--json")

    enter_and_read(world, file, "eve@example.com")
    assert [row["email"] for row in parse_output(pia("readership", "sessions", file, "--json"))] == ["eve@example.com"]
    assert list_reasons_by_name(pia, file) == {"eve@example.com": "never"}
    assert parse_output(pia(*wait), 124) is None

    enter_and_read(world, link, "private@example.com")
    assert list_reasons_by_name(pia, file) == {}
    assert parse_output(pia(*wait))["fromInvite"] is True


def enter_and_read(world: World, link: str, address: str) -> None:
    """Enter ``address`` into the form of a link and read the document."""
    guest = GateClient(world, link)
    assert guest.enter(email=address)
    read_pages(world, link, 1, 2, 3, http=guest.http)


def test_wait_expects_the_newest_version(world: World, pia: Shell, file: str, time: FakeTime, tmp_path: Path) -> None:
    ann, new = create_variant(pia, file, "Ann"), tmp_path / "new.pdf"
    read_pages(world, ann, 2)
    new.write_bytes(simple_pdf(pages=3))
    parse_output(pia("files", "replace", file, new, "--json"))
    line = ("wait", file, "--variant", "label:Ann", "--page", "2", "--timeout", "1h", "--json")
    assert parse_output(pia(*line, "--any-version"))["contentVersion"] == 1
    time.on_sleep = lambda _: read_pages(world, ann, 2)
    assert parse_output(pia(*line))["contentVersion"] == 2


def test_wait_without_a_reader_times_out(pia: Shell, file: str, time: FakeTime) -> None:
    assert parse_output(pia("wait", file, "--timeout", "10m", "--json"), 124) is None
    assert time.passed == 600


def test_report_pages_and_sessions_agree(world: World, pia: Shell, file: str) -> None:
    ann = create_variant(pia, file, "Ann")
    read_pages(world, ann, 1, 2)
    read_pages(world, file, 1, address="203.0.113.7")
    report = parse_output(pia("readership", "show", file, "--json"))
    sessions = parse_output(pia("readership", "sessions", file, "--json"))
    pages = parse_output(pia("readership", "pages", file, "--json"))["pages"]
    assert report["summary"]["totalSessions"] == len(sessions) == 2
    assert [row["totalTimeMs"] for row in sessions] == [14_000, 7_000]
    assert [row["avgDurationMs"] * row["views"] for row in pages] == [14_000, 7_000, 0]
    assert {row["sessionId"] for row in report["sessions"]} == {row["sessionId"] for row in sessions}
    pia.tty = True
    shown = pia("readership", "show", file, "--no-color")
    assert (shown.code, "report.pdf · plan pro" in shown.out) == (0, True)
    assert "Ann" in pia("readership", "sessions", file, "--no-color").out


def test_the_times_of_an_explanation_add_up(world: World, pia: Shell, file: str) -> None:
    reader = FakeReader(world, file)
    reader.read_page(5, 1)
    world.clock.advance(seconds=5)
    reader.send_next_beacon(read={2: 10**9}, visibleMs=10**9, turns=1)  # reports far more than has elapsed
    reader.leave()
    end_all_sessions(world)
    row = parse_output(pia("readership", "sessions", file, "--json"))[0]
    told = parse_output(pia("explain", row["sessionId"], "--json"))
    assert told["totalTimeMs"] == row["totalTimeMs"] == 10_000
    accepted = [page["ms"] for beacon in told["beacons"] for page in beacon["accepted"]]
    assert sum(accepted) == sum(page["timeMs"] for page in told["pages"]) == 10_000
    lines = pia("explain", row["sessionId"], "--file", file).lines
    assert [line.split("\t")[7:] for line in lines] == [
        ["5000", "5000", ""], ["1000000000", "5000", "less time had passed"], ["0", "0", ""],
    ]  # fmt: skip
    pia.tty = True
    story = pia("explain", row["sessionId"], "--no-color").lines
    assert story[:2] == ["human: a reader, counted", "reason: a pointer, key, touch, or wheel event"]
    assert any(line.endswith(": a minute after the page was hidden") for line in story)


def test_an_uncounted_session_can_be_explained_too(world: World, pia: Shell, file: str) -> None:
    FakeReader(world, file).read_page(2, input=False)
    end_all_sessions(world)
    assert parse_output(pia("readership", "sessions", file, "--json")) == []
    found = world.rt.db.fetch_one("SELECT uuid FROM view_sessions")
    assert found is not None
    told = parse_output(pia("explain", found[0], "--file", file, "--json"))
    assert (told["class"], told["totalTimeMs"]) == ("scanner", 2_000)
    (listed,) = parse_output(pia("readership", "sessions", file, "--uncounted", "--json"))
    assert (listed["sessionId"], listed["class"]) == (found[0], "scanner")
    assert pia("readership", "sessions", file, "--uncounted", "--since", "7d").code == 2


def test_unconfirmed_sessions_are_counted_next_to_the_others(world: World, pia: Shell, file: str) -> None:
    for _ in range(2):
        FakeReader(world, file).read_page(20, input=False)
    FakeReader(world, file).read_page(9)
    end_all_sessions(world)
    pia.tty = True
    sessions = pia("readership", "sessions", file, "--no-color")
    assert "sessions without any interaction, not counted: 2" in sessions.err
    assert sum("unconfirmed" in line for line in pia("readership", "sessions", file, "--uncounted").lines) == 2
    assert any("unconfirmed" in line for line in pia("readership", "show", file, "--no-color").lines)


@pytest.mark.parametrize(("name", "skipped"), [("fay", 7), ("bea", 6), ("pia", 0)])
def test_export_contains_what_the_plan_includes(
    world: World, shell_for: MakeShell, tmp_path: Path, name: str, skipped: int
) -> None:
    person: Person = getattr(world, name)
    file = str(person.upload()["shortId"])
    read_pages(world, file, 1)
    rows = parse_output(shell_for(person)("readership", "export", file, "-o", tmp_path / "out", "--json"))
    assert sum("skipped" in row for row in rows) == skipped
    assert json.loads((tmp_path / "out" / "readership.json").read_text())["summary"]["totalSessions"] == 1
    assert len(list((tmp_path / "out").iterdir())) == 8 - skipped
    shell = shell_for(person)
    shell.tty = True
    last = shell("readership", "show", file, "--no-color").lines[-1]
    assert ("require Pro" in last, "require Basic" in last) == (name != "pia", name == "fay")


def test_feedback_of_readers_is_printed(world: World, pia: Shell) -> None:
    made = world.pia.upload()
    put_settings(world, made, **ALL_FEEDBACK_SETTINGS)
    file, reader = made["shortId"], FeedbackClient(world, made["shortId"])
    reader.mark_page(2, "pick")
    reader.annotate(3, "=Move this")
    reader.leave_note("A\u202e typo", public=True)
    assert reader.send("POST", "receipt", {"name": "Ann Lee"}).status_code == 201

    page, who, mark = pia("readership", "marks", file).lines[0].split("\t")
    assert (page, who[:7], mark) == ("2", "Reader ", "pick")
    assert pia("readership", "annotations", file).lines[0].split("\t")[2:5] == [
        who, '{"x":0.1,"y":0.2,"width":0.3,"height":0.4}', "=Move this",
    ]  # fmt: skip
    told = [line.split("\t")[:3:2] for line in pia("readership", "notes", file).lines]
    assert sorted(told) == [["note", "Ann"], ["receipt", "Ann Lee"]]
    assert "A\\u202e typo" in pia("readership", "notes", file).out
    for words, route in (("marks", "page-marks"), ("annotations", "annotations")):
        sheet = world.pia.get(f"/api/v1/files/{file}/{route}?format=csv").data
        assert pia("readership", words, file, "--format", "csv").out.encode() == sheet
        assert "'=Move this" in sheet.decode() or words == "marks"


def test_a_file_without_feedback_prints_nothing(pia: Shell, file: str) -> None:
    for words in ("marks", "annotations"):
        assert pia("readership", words, file).out == ""
        header = pia("readership", words, file, "--format", "csv").out
        assert "page" in header.splitlines()[0]
    assert parse_output(pia("readership", "notes", file, "--json")) == {"notes": [], "receipts": []}


READING = [
    ("readership", "show"), ("readership", "pages"), ("readership", "sessions"), ("readership", "marks"),
    ("readership", "annotations"), ("readership", "notes"), ("wait",),
]  # fmt: skip


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_file_of_another_account_exits_with_5_and_an_unknown_one_with_3(
    world: World, shell_for: MakeShell, file: str, words: tuple[str, ...]
) -> None:
    mal = shell_for(world.mal)
    foreign = mal(*words, file, "--json")
    assert (foreign.code, foreign.out) == (5, "")
    assert "Only the owner" in foreign.error["hint"]
    assert mal(*words, "aaaaaaaaaaaa", "--json").code == 3


@pytest.mark.parametrize("words", [*READING[1:], ("pending",)], ids=" ".join)
def test_a_command_above_the_plan_exits_with_6(world: World, shell_for: MakeShell, words: tuple[str, ...]) -> None:
    file = str(world.fay.upload()["shortId"])
    refused = shell_for(world.fay)(*words, file, "--json")
    assert (refused.code, refused.out) == (6, "")


def test_show_counts_only_the_sessions_of_the_days(world: World, pia: Shell, file: str) -> None:
    FakeReader(world, file).read_page(5, input=True)
    end_all_sessions(world)
    today = datetime.fromtimestamp(world.clock() / 1000, UTC).date()
    earlier, later = (str(today - timedelta(days=days)) for days in (2, 1))

    def count(*options: str) -> int:
        return int(parse_output(pia("readership", "show", file, *options, "--json"))["summary"]["totalSessions"])

    assert (count(), count("--since", str(today))) == (1, 1)
    assert count("--since", earlier, "--until", later) == 0


def test_report_has_only_the_sessions_and_pages_of_the_days(world: World, pia: Shell, file: str) -> None:
    read_pages(world, file, 1, 2)
    world.clock.advance(seconds=3 * 86_400)
    today = datetime.fromtimestamp(world.clock() / 1000, UTC).date()
    read_pages(world, file, 3)

    def read_report(*options: str) -> tuple[str, list[str]]:
        """Return the number of views, and the rows of the table of pages: number, average, views, back."""
        written = pia("readership", "report", file, *options, "-o", "-", "--no-thumbnails")
        assert written.code == 0, written.err
        page = parse_html(written.out)
        (views,) = [tile for tile in page.find_all("div", class_="tile") if tile.find_one("dt").words == "Views"]
        rows = page.find_one("figure", id="times").find_one("tbody").find_all("tr")
        return views.find_all("dd")[0].words, ["/".join(cell.words for cell in row.nodes) for row in rows]

    assert read_report() == ("2", ["1/7s/1/0", "2/7s/1/0", "3/7s/1/0"])
    assert read_report("--since", str(today)) == ("1", ["1/0s/0/0", "2/0s/0/0", "3/7s/1/0"])
