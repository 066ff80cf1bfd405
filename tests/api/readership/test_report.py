"""The readership report."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import insert_download, insert_gate_response, update_file_row
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import Person, World
from tests.support.people.reader import FakeReader, end_all_sessions

pytestmark = pytest.mark.file_document(simple_pdf(pages=4), "Q3.pdf")

TABLET = (
    "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/604.1"
)
FREE_SECTIONS = ["tier", "summary", "file"]
BASIC_SECTIONS = [
    *FREE_SECTIONS, "viewsOverTime", "funnel", "referrers", "browsers", "sources", "viewerModes", "peakTimes",
    "devices", "countries", "uncounted",
]  # fmt: skip
PRO_SECTIONS = [*BASIC_SECTIONS, "sessions", "hotspotTaps", "ctaTaps", "variants", "contacts"]
FREE_NUMBERS = [
    "totalViews", "totalSessions", "uniqueVisitors", "uniqueCountries", "avgTimeMs", "downloads", "unconfirmedSessions",
]  # fmt: skip
BASIC_NUMBERS = [*FREE_NUMBERS, "medianTimeMs", "totalTurns", "completionRate", "backTurnShare"]
PRO_NUMBERS = [*BASIC_NUMBERS, "activeReaders", "newSessions", "returningSessions", "invitedNotViewed"]


def get_report(owner: Person, made: dict[str, Any]) -> dict[str, Any]:
    answer = owner.get(f"/api/v1/files/{made['uuid']}/readership")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def test_each_plan_has_its_sections_in_order(world: World, uploaded_file: dict[str, Any]) -> None:
    """Sections above the plan of the owner are absent, not empty."""
    FakeReader(world, uploaded_file["shortId"]).read_page(9)
    end_all_sessions(world)
    for plan, sections, numbers in (
        (Plan.FREE, FREE_SECTIONS, FREE_NUMBERS),
        (Plan.BASIC, BASIC_SECTIONS, BASIC_NUMBERS),
        (Plan.PRO, PRO_SECTIONS, PRO_NUMBERS),
    ):
        accounts.set_tier(world.rt, world.pia.email, plan)
        found = get_report(world.pia, uploaded_file)
        assert list(found) == sections
        assert list(found["summary"]) == numbers
        assert found["tier"] == plan.tier


def test_a_file_without_readers_has_a_report_of_zeros(world: World, uploaded_file: dict[str, Any]) -> None:
    found = get_report(world.pia, uploaded_file)
    assert found["summary"] == dict.fromkeys(PRO_NUMBERS, 0)
    assert found["funnel"] == [{"page": page, "reached": 0, "pct": 0.0} for page in (1, 2, 3, 4)]
    assert [row["count"] for row in found["viewsOverTime"]] == [0] * 30
    assert found["ctaTaps"] == 0
    for name in set(PRO_SECTIONS) - {"tier", "summary", "file", "funnel", "viewsOverTime", "ctaTaps"}:
        assert found[name] == []


def test_the_report_contains_the_file_without_revisions(world: World, uploaded_file: dict[str, Any]) -> None:
    listed = world.pia.get("/api/v1/files").get_json()
    assert get_report(world.pia, uploaded_file)["file"] == listed[0]


def test_the_numbers_of_two_readers_add_up(world: World, uploaded_file: dict[str, Any]) -> None:
    ada = FakeReader(world, uploaded_file["shortId"], address="203.0.113.7")
    ada.read_page(10, page=1)
    ada.read_page(6, page=2, turns=1)
    ada.read_page(4, page=1, turns=1, backTurns=1)
    ada.leave()
    bob = FakeReader(world, uploaded_file["shortId"], address="198.51.100.9")
    bob.read_page(10.5, page=1)
    insert_download(world, uploaded_file["uuid"])
    end_all_sessions(world)
    assert get_report(world.pia, uploaded_file)["summary"] == {
        "totalViews": 2,
        "totalSessions": 2,
        "uniqueVisitors": 2,
        "uniqueCountries": 1,
        "avgTimeMs": 15_250,
        "downloads": 1,
        "unconfirmedSessions": 0,
        "medianTimeMs": 15_250,
        "totalTurns": 2,
        "completionRate": 37.5,  # two of four pages, and one
        "backTurnShare": 50.0,
        "activeReaders": 0,
        "newSessions": 2,
        "returningSessions": 0,
        "invitedNotViewed": 0,
    }


@pytest.mark.parametrize(("seconds", "median"), [((7,), 7_000), ((9, 5), 7_000), ((30, 6, 9), 9_000)])
def test_the_median_is_computed_from_the_times_of_sessions(
    world: World, uploaded_file: dict[str, Any], seconds: tuple[int, ...], median: int
) -> None:
    for host, time in enumerate(seconds):
        FakeReader(world, uploaded_file["shortId"], address=f"198.51.100.{host}").read_page(time)
    end_all_sessions(world)
    assert get_report(world.pia, uploaded_file)["summary"]["medianTimeMs"] == median


def test_an_open_session_counts_only_as_a_view_and_an_active_reader(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """``totalSessions`` counts ended sessions; ``activeReaders`` counts sessions with a beacon in the last 60 s."""
    FakeReader(world, uploaded_file["shortId"]).read_page(9)
    found = get_report(world.pia, uploaded_file)
    numbers = found["summary"]
    assert (numbers["totalViews"], numbers["activeReaders"], numbers["totalSessions"]) == (1, 1, 0)
    assert (found["sessions"], found["devices"]) == ([], [])
    world.clock.advance(seconds=60)
    assert get_report(world.pia, uploaded_file)["summary"]["activeReaders"] == 0


def test_uncounted_readers_and_readers_of_other_files_are_not_active(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    FakeReader(world, world.pia.upload()["shortId"]).read_page(9)
    FakeReader(world, uploaded_file["shortId"]).read_page(2, input=False)
    FakeReader(world, uploaded_file["shortId"]).read_page(20, input=False)
    assert get_report(world.pia, uploaded_file)["summary"]["activeReaders"] == 0


def test_uncounted_sessions_are_reported_only_by_class(world: World, uploaded_file: dict[str, Any]) -> None:
    """They do not affect any other number of the report."""
    empty = get_report(world.pia, uploaded_file)
    FakeReader(world, uploaded_file["shortId"], user_agent="curl/8.5.0").read_page(20)
    FakeReader(world, uploaded_file["shortId"]).read_page(2, input=False)
    for _ in range(2):
        FakeReader(world, uploaded_file["shortId"]).read_page(20, input=False)
    sign_in_browser(world, world.pia).get(f"/{uploaded_file['shortId']}")
    end_all_sessions(world)
    classes = [("unconfirmed", 2), ("scanner", 1), ("tool", 1)]
    assert get_report(world.pia, uploaded_file) == empty | {
        "summary": empty["summary"] | {"unconfirmedSessions": 2},
        "uncounted": [{"label": label, "count": count} for label, count in classes],
    }


def test_sessions_of_one_reader_are_one_visitor_and_returning_sessions(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """A visitor is identified by address and browser family."""
    for _ in range(3):
        FakeReader(world, uploaded_file["shortId"]).read_page(9)
        end_all_sessions(world)
    found = get_report(world.pia, uploaded_file)
    numbers = found["summary"]
    assert (numbers["uniqueVisitors"], numbers["newSessions"], numbers["returningSessions"]) == (1, 1, 2)
    assert [row["returning"] for row in found["sessions"]] == [True, True, False]


def test_the_first_counted_session_is_new_even_if_it_ends_last(world: World, uploaded_file: dict[str, Any]) -> None:
    first, second = FakeReader(world, uploaded_file["shortId"]), FakeReader(world, uploaded_file["shortId"])
    first.read_page(9)
    second.read_page(9)
    second.leave()
    first.read_page(30)
    world.clock.advance(seconds=40)
    end_all_sessions(world)
    rows = get_report(world.pia, uploaded_file)["sessions"]
    assert {row["totalTimeMs"]: row["returning"] for row in rows} == {39_000: False, 9_000: True}


def test_a_reader_is_new_after_the_salt_rotates(world: World, uploaded_file: dict[str, Any]) -> None:
    """The salt of reader identities rotates every 30 days."""
    FakeReader(world, uploaded_file["shortId"]).read_page(9)
    end_all_sessions(world)
    world.clock.advance(days=31)
    FakeReader(world, uploaded_file["shortId"]).read_page(9)
    end_all_sessions(world)
    numbers = get_report(world.pia, uploaded_file)["summary"]
    assert (numbers["uniqueVisitors"], numbers["newSessions"], numbers["returningSessions"]) == (2, 2, 0)


def test_views_over_time_cover_the_last_thirty_days_in_utc(world: World, uploaded_file: dict[str, Any]) -> None:
    FakeReader(world, uploaded_file["shortId"]).read_page(9)  # 2026-09-21, a Monday, 14:13
    end_all_sessions(world)
    world.clock.advance(days=3, hours=9, minutes=40)  # 23:59 until after midnight
    FakeReader(world, uploaded_file["shortId"]).read_page(9)
    end_all_sessions(world)
    found = get_report(world.pia, uploaded_file)
    days = found["viewsOverTime"]
    assert (len(days), days[0]["day"], days[-1]["day"]) == (30, "2026-08-27", "2026-09-25")
    assert [row for row in days if row["count"]] == [
        {"day": "2026-09-21", "count": 1},
        {"day": "2026-09-24", "count": 1},
    ]
    assert found["peakTimes"] == [{"dow": 1, "hour": 14, "count": 1}, {"dow": 4, "hour": 23, "count": 1}]
    world.clock.advance(days=26)
    assert [row for row in get_report(world.pia, uploaded_file)["viewsOverTime"] if row["count"]] == [
        {"day": "2026-09-24", "count": 1}
    ]


def test_peak_times_begin_the_week_on_sunday(world: World, uploaded_file: dict[str, Any]) -> None:
    world.clock.advance(days=6)
    FakeReader(world, uploaded_file["shortId"]).read_page(9)
    end_all_sessions(world)
    assert get_report(world.pia, uploaded_file)["peakTimes"] == [{"dow": 0, "hour": 14, "count": 1}]


def test_the_funnel_counts_sessions_that_reached_each_page(world: World, uploaded_file: dict[str, Any]) -> None:
    """A session has reached every page up to its last one; ``pct`` is the share of sessions."""
    for host, last in enumerate((1, 1, 3)):
        reader = FakeReader(world, uploaded_file["shortId"], address=f"198.51.100.{host}")
        for page in range(1, last + 1):
            reader.read_page(6, page=page)
    end_all_sessions(world)
    assert get_report(world.pia, uploaded_file)["funnel"] == [
        {"page": 1, "reached": 3, "pct": 100.0},
        {"page": 2, "reached": 1, "pct": 33.3},
        {"page": 3, "reached": 1, "pct": 33.3},
        {"page": 4, "reached": 0, "pct": 0.0},
    ]


def test_breakdowns_are_sorted_by_count_descending(world: World, uploaded_file: dict[str, Any]) -> None:
    link = uploaded_file["shortId"]
    FakeReader(world, link, address="198.51.100.1", page_headers={"Referer": "https://news.example/a?b=c"}).read_page(9)
    FakeReader(world, link, address="198.51.100.2", prefix="/embed").read_page(9)
    FakeReader(world, link, address="203.0.113.7", query="?via=qr", user_agent=TABLET).read_page(9)
    end_all_sessions(world)
    found = get_report(world.pia, uploaded_file)
    assert found["browsers"] == [{"label": "Chrome", "count": 2}, {"label": "Safari", "count": 1}]
    assert found["devices"] == [{"label": "Desktop", "count": 2}, {"label": "Tablet", "count": 1}]
    assert found["countries"] == [{"label": "DE", "count": 1}]
    assert found["referrers"] == [{"label": "news.example", "count": 1}]
    assert found["viewerModes"] == [{"label": "standard", "count": 3}]
    assert found["sources"] == [
        {"label": "Direct link", "count": 1},
        {"label": "Embed", "count": 1},
        {"label": "QR code", "count": 1},
    ]


def test_only_the_most_frequent_referrers_are_listed(world: World, uploaded_file: dict[str, Any]) -> None:
    with world.rt.db.write():
        for number in range(150):
            world.rt.db.execute(
                "INSERT INTO tallies SELECT id, 'referrer', ?, ? FROM files", (f"{number}.example", number + 1)
            )
    listed = get_report(world.pia, uploaded_file)["referrers"]
    assert (len(listed), listed[0]) == (100, {"label": "149.example", "count": 150})


def test_an_active_page_range_is_reported_and_shortens_the_funnel(world: World, uploaded_file: dict[str, Any]) -> None:
    """``effectivePages`` is present only with an active page range."""
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 3})
    FakeReader(world, uploaded_file["shortId"]).read_page(9, page=1)  # the second page of the document
    end_all_sessions(world)
    found = get_report(world.pia, uploaded_file)
    assert list(found)[:4] == ["tier", "summary", "file", "effectivePages"]
    assert found["effectivePages"] == 2
    assert found["summary"]["completionRate"] == 50.0
    assert [(row["page"], row["reached"]) for row in found["funnel"]] == [(2, 1), (3, 0)]
    put_settings(world, uploaded_file, pageRange={"from": 0, "to": 0})
    found = get_report(world.pia, uploaded_file)
    assert "effectivePages" not in found
    assert found["summary"]["completionRate"] == 50.0
    assert [row["reached"] for row in found["funnel"]] == [1, 1, 0, 0]


def test_a_page_range_is_reported_on_every_plan(world: World, uploaded_file: dict[str, Any]) -> None:
    """The page range applies after a downgrade."""
    put_settings(world, uploaded_file, pageRange={"from": 1, "to": 4})
    accounts.set_tier(world.rt, world.pia.email, Plan.FREE)
    assert list(get_report(world.pia, uploaded_file)) == ["tier", "summary", "file", "effectivePages"]


def test_contacts_are_the_gate_responses_newest_first(world: World, uploaded_file: dict[str, Any]) -> None:
    insert_gate_response(world, uploaded_file["uuid"], {"mail": "ada@example.com", "firm": "Über"})
    insert_gate_response(world, uploaded_file["uuid"], "{broken")
    insert_gate_response(world, world.pia.upload()["uuid"], {"mail": "other@example.com"})
    created = "2026-09-21T14:13:20.000Z"
    assert get_report(world.pia, uploaded_file)["contacts"] == [
        {"createdAt": created},
        {"fields": {"mail": "ada@example.com", "firm": "Über"}, "createdAt": created},
    ]


def test_taps_are_counted_per_hotspot_and_for_the_call_to_action(world: World, uploaded_file: dict[str, Any]) -> None:
    spots = ((3, "b"), (1, "a"))
    with world.rt.db.write():
        for number, (page, uuid) in enumerate(spots, start=1):
            world.rt.db.execute(
                "INSERT INTO hotspots (id, uuid, file_id, page, rect, label, url, created_at) "
                "SELECT ?, ?, id, ?, '{}', 'Prices', 'https://example.com', 0 FROM files",
                (number, uuid, page),
            )
        for hotspot in (1, 1, None, None, None):
            world.rt.db.execute(
                "INSERT INTO taps (file_id, hotspot_id, tapped_at) SELECT id, ?, 0 FROM files", (hotspot,)
            )
    found = get_report(world.pia, uploaded_file)
    assert found["hotspotTaps"] == [
        {"hotspotUuid": "a", "page": 1, "label": "Prices", "count": 0},
        {"hotspotUuid": "b", "page": 3, "label": "Prices", "count": 2},
    ]
    assert found["ctaTaps"] == 3


def test_the_path_accepts_a_uuid_in_any_case_and_a_short_id(world: World, uploaded_file: dict[str, Any]) -> None:
    answers = [
        world.pia.get(f"/api/v1/files/{name}/readership")
        for name in (uploaded_file["uuid"].upper(), uploaded_file["shortId"])
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].data == answers[1].data


@pytest.mark.parametrize("tail", ["", "/pages", "/sessions", f"/sessions/{UNKNOWN_UUID}"])
def test_a_foreign_file_is_403_and_an_unknown_or_trashed_one_404(
    world: World, uploaded_file: dict[str, Any], tail: str
) -> None:
    """An unclaimed file and a slug are 404, too."""

    def request_report(person: Person, name: str) -> tuple[int, str]:
        answer = person.get(f"/api/v1/files/{name}/readership{tail}")
        return answer.status_code, answer.get_json()["code"]

    trashed, unclaimed = world.pia.upload(), world.pia.upload()
    assert world.pia.delete(f"/api/v1/files/{trashed['uuid']}").status_code == 200
    update_file_row(world, unclaimed["uuid"], owner_id=None)
    update_file_row(world, uploaded_file["uuid"], slug="q3")
    for stranger in (world.mal, world.fay):
        assert request_report(stranger, uploaded_file["uuid"]) == (403, "forbidden")
        for name in (UNKNOWN_UUID, trashed["uuid"], unclaimed["uuid"], "q3", "nope"):
            assert request_report(stranger, name) == (404, "not_found")
    for name in (UNKNOWN_UUID, trashed["uuid"], unclaimed["uuid"], "q3"):
        assert request_report(world.pia, name) == (404, "not_found")


@pytest.mark.parametrize(
    ("tail", "plan", "needed"),
    [
        ("/pages", Plan.FREE, "basic"),
        ("/sessions", Plan.BASIC, "pro"),
        (f"/sessions/{UNKNOWN_UUID}", Plan.BASIC, "pro"),
    ],
)
def test_a_report_above_the_plan_is_403_plan_required(
    world: World, uploaded_file: dict[str, Any], tail: str, plan: Plan, needed: str
) -> None:
    accounts.set_tier(world.rt, world.pia.email, plan)
    answer = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/readership{tail}")
    assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")
    assert f"requires the {needed} plan" in answer.get_json()["detail"]
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_restored_file_keeps_its_readership(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    reader.read_page(9)
    FakeReader(world, uploaded_file["shortId"], address="198.51.100.5").read_page(9)
    reader.leave()
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    end_all_sessions(world)
    assert world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/restore").status_code == 200
    assert get_report(world.pia, uploaded_file)["summary"]["totalSessions"] == 2


def test_a_claimed_file_keeps_its_readership(world: World) -> None:
    """The report includes views from before the claim."""
    made = world.pia.upload()
    update_file_row(world, made["uuid"], owner_id=None)
    FakeReader(world, made["shortId"]).read_page(9)
    end_all_sessions(world)
    with world.rt.db.write():
        world.rt.db.execute("UPDATE files SET owner_id = (SELECT id FROM accounts WHERE email = 'mal@example.com')")
    assert get_report(world.mal, made)["summary"]["totalSessions"] == 1


def test_a_purge_deletes_the_readership(world: World, uploaded_file: dict[str, Any]) -> None:
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants").get_json()
    FakeReader(world, variant["shortId"]).read_page(9)
    end_all_sessions(world)
    tables = ("session_rows", "readerships", "readers", "tallies", "page_tallies", "variant_tallies")
    counts = [world.rt.db.fetch_all(f"SELECT COUNT(*) > 0 FROM {table}") for table in tables]
    assert counts == [[(1,)]] * len(tables)
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}?purge=1")
    for table in tables:
        assert world.rt.db.fetch_all(f"SELECT COUNT(*) FROM {table}") == [(0,)], table
