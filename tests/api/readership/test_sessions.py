"""Sessions and pages: the list in the report, the session feed, one session, and readership by page."""

from typing import Any

import pytest

from docshare.server.services.readership import viewing
from tests.api.route_table import UNKNOWN_UUID
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import get_readership, put_settings
from tests.support.people.cast import World
from tests.support.people.reader import DESKTOP, FakeReader, end_all_sessions


def read_first_page(world: World, name: str, seconds: float = 9, host: int = 1) -> None:
    """Read the first page and leave."""
    reader = FakeReader(world, name, address=f"198.51.100.{host}")
    reader.read_page(seconds)
    reader.leave()


def test_a_session_has_its_keys_in_order_and_omits_unknown_ones(world: World, uploaded_file: dict[str, Any]) -> None:
    began = world.clock.now
    reader = FakeReader(world, uploaded_file["shortId"], address="203.0.113.7")
    reader.read_page(9.5, page=1)
    reader.read_page(0.9, page=2)
    end_all_sessions(world)
    (row,) = get_readership(world, uploaded_file, "")["sessions"]
    ((uuid, started_at),) = world.rt.db.fetch_all("SELECT uuid, started_at FROM view_sessions")
    assert started_at == began
    assert list(row.items()) == [
        ("sessionId", uuid),
        ("startedAt", "2026-09-21T14:13:20.000Z"),
        ("totalTimeMs", 10_400),
        ("pagesViewed", 1),
        ("country", "DE"),
        ("deviceType", "Desktop"),
        ("browser", "Chrome"),
        ("returning", False),
        ("fromInvite", False),
        ("contentVersion", 1),
        ("shownPages", 3),
        ("pseudonym", row["pseudonym"]),
    ]


def test_a_session_has_the_number_of_pages_of_its_link(world: World, uploaded_file: dict[str, Any]) -> None:
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    overrides = {"pageRange": {"from": 1, "to": 2}}
    variant = world.pia.post(path, json={"label": "Ann", "overrides": overrides}).get_json()
    read_first_page(world, variant["shortId"])
    read_first_page(world, uploaded_file["shortId"], host=2)
    end_all_sessions(world)
    for rows in (
        get_readership(world, uploaded_file, "")["sessions"],
        get_readership(world, uploaded_file, "/sessions"),
    ):
        assert {row.get("variantUuid"): row["shownPages"] for row in rows} == {variant["uuid"]: 2, None: 3}


def test_the_report_lists_the_fifty_sessions_that_started_last(world: World, uploaded_file: dict[str, Any]) -> None:
    for host in range(52):
        world.clock.advance(minutes=1)
        read_first_page(world, uploaded_file["shortId"], 6 + host / 10, host)
    end_all_sessions(world)
    times = [row["totalTimeMs"] for row in get_readership(world, uploaded_file, "")["sessions"]]
    assert times == [6_000 + host * 100 for host in range(51, 1, -1)]


def test_sessions_are_sorted_by_their_start_and_not_by_their_end(world: World, uploaded_file: dict[str, Any]) -> None:
    longest_reader = FakeReader(world, uploaded_file["shortId"])
    longest_reader.read_page(9)
    read_first_page(world, uploaded_file["shortId"], 7)
    longest_reader.read_page(60)
    world.clock.advance(seconds=10)
    end_all_sessions(world)
    assert [row["totalTimeMs"] for row in get_readership(world, uploaded_file, "")["sessions"]] == [7_000, 69_000]
    assert [row["totalTimeMs"] for row in get_readership(world, uploaded_file, "/sessions")] == [7_000, 69_000]


def test_the_report_counts_invites_that_were_not_viewed(world: World, uploaded_file: dict[str, Any]) -> None:
    for name in ("bob", "eve"):
        body = {"email": f"{name}@example.com", "mail": False}
        world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/invites", json=body)
    assert get_readership(world, uploaded_file, "")["summary"]["invitedNotViewed"] == 2


def test_variants_are_listed_with_their_sessions_newest_first(world: World, uploaded_file: dict[str, Any]) -> None:
    """The label is omitted after redaction."""
    base = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    ada, eve = (world.pia.post(base, json={"label": label}).get_json() for label in ("Ada", "Eve"))
    read_first_page(world, ada["shortId"], 10)
    read_first_page(world, ada["shortId"], 13, host=2)
    end_all_sessions(world)
    world.pia.put(f"{base}/{ada['uuid']}", json={"revoked": True})
    world.pia.delete(f"{base}/{eve['uuid']}?redact=1")
    assert get_readership(world, uploaded_file, "")["variants"] == [
        {"uuid": eve["uuid"], "sessions": 0, "avgTimeMs": 0, "revoked": False, "redacted": True},
        {"uuid": ada["uuid"], "label": "Ada", "sessions": 2, "avgTimeMs": 11_500, "revoked": True, "redacted": False},
    ]


def test_sessions_of_a_deleted_variant_are_kept_without_the_variant(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    base = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    ada = world.pia.post(base, json={"label": "Ada"}).get_json()
    read_first_page(world, ada["shortId"])
    end_all_sessions(world)
    FakeReader(world, ada["shortId"]).read_page(9)
    assert world.pia.delete(f"{base}/{ada['uuid']}").status_code == 204
    end_all_sessions(world)
    found = get_readership(world, uploaded_file, "")
    assert (found["variants"], found["summary"]["totalSessions"]) == ([], 2)
    assert not any("variantUuid" in row for row in found["sessions"])


def test_a_session_has_the_content_version_that_was_read(world: World, uploaded_file: dict[str, Any]) -> None:
    read_first_page(world, uploaded_file["shortId"])
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2), "v2.pdf")
    read_first_page(world, uploaded_file["shortId"], host=2)
    end_all_sessions(world)
    assert [row["contentVersion"] for row in get_readership(world, uploaded_file, "/sessions")] == [1, 2]


def test_the_readership_of_an_expired_or_burned_file_is_kept(world: World, uploaded_file: dict[str, Any]) -> None:
    """Only a purge deletes the readership."""
    read_first_page(world, uploaded_file["shortId"])
    end_all_sessions(world)
    update_file_row(world, uploaded_file["uuid"], burned_at=world.clock.now, delete_at=world.clock.now)
    assert get_readership(world, uploaded_file, "")["summary"]["totalSessions"] == 1
    assert get_readership(world, uploaded_file, "")["file"]["burnedAt"]
    assert [row["views"] for row in get_readership(world, uploaded_file, "/pages")["pages"]] == [1, 0, 0]
    assert len(get_readership(world, uploaded_file, "/sessions")) == 1


# The session feed


def test_the_session_feed_is_ascending(world: World, uploaded_file: dict[str, Any]) -> None:
    """Ids start at 2; without a valid cursor the feed starts with the first session."""
    for host in range(3):
        read_first_page(world, uploaded_file["shortId"], 6 + host, host)
    end_all_sessions(world)
    for query in ("", "?since=0", "?since=1", "?since=-3", "?since=x"):
        rows = get_readership(world, uploaded_file, f"/sessions{query}")
        assert [(row["id"], row["totalTimeMs"]) for row in rows] == [(2, 6_000), (3, 7_000), (4, 8_000)]
    assert [row["id"] for row in get_readership(world, uploaded_file, "/sessions?since=2&limit=1")] == [3]
    assert get_readership(world, uploaded_file, "/sessions?since=4") == []
    assert get_readership(world, uploaded_file, f"/sessions?since={2**63}") == []


@pytest.mark.parametrize(("limit", "rows"), [("0", 1), ("2", 2), ("-9", 1), ("1000", 3), ("x", 3)])
def test_a_limit_is_clamped_and_never_rejected(
    world: World, uploaded_file: dict[str, Any], limit: str, rows: int
) -> None:
    for host in range(3):
        read_first_page(world, uploaded_file["shortId"], host=host)
    end_all_sessions(world)
    assert len(get_readership(world, uploaded_file, f"/sessions?limit={limit}")) == rows


def test_a_row_of_the_feed_adds_an_id_and_pages(world: World, uploaded_file: dict[str, Any]) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    reader.read_page(9, page=1)
    reader.read_page(4, page=3)
    end_all_sessions(world)
    (row,) = get_readership(world, uploaded_file, "/sessions")
    assert (next(iter(row)), list(row)[-1]) == ("id", "pages")
    assert row["pages"] == [{"page": 1, "timeMs": 9_000}, {"page": 3, "timeMs": 4_000}]
    assert {key: value for key, value in row.items() if key not in ("id", "pages")} == get_readership(
        world, uploaded_file, ""
    )["sessions"][0]


def test_no_session_is_added_before_a_cursor(world: World, uploaded_file: dict[str, Any]) -> None:
    """Ids follow the end of the sessions; sessions of other files leave gaps."""
    other = world.pia.upload()
    longest_reader = FakeReader(world, uploaded_file["shortId"])
    longest_reader.read_page(9)
    read_first_page(world, other["shortId"])
    read_first_page(world, uploaded_file["shortId"], 7)
    longest_reader.read_page(60)
    viewing.end_due_sessions(world.rt)
    assert [(row["id"], row["totalTimeMs"]) for row in get_readership(world, uploaded_file, "/sessions")] == [
        (3, 7_000)
    ]
    end_all_sessions(world)
    assert [(row["id"], row["totalTimeMs"]) for row in get_readership(world, uploaded_file, "/sessions?since=3")] == [
        (4, 69_000)
    ]


# One session


def test_one_session_shows_how_its_time_and_class_were_determined(world: World, uploaded_file: dict[str, Any]) -> None:
    """Each beacon shows the reported and the accepted values, even after the session has ended."""
    began = world.clock.now
    referrer = {"Referer": "https://news.example/"}
    reader = FakeReader(world, uploaded_file["shortId"], page_headers=referrer)
    reader.read_page(4, page=1, input=False)
    world.clock.advance(seconds=4)
    reader.send_next_beacon(read={2: 40_000}, input=True, turns=1)
    end_all_sessions(world)
    ((uuid,),) = world.rt.db.fetch_all("SELECT uuid FROM view_sessions")
    told = get_readership(world, uploaded_file, f"/sessions/{uuid.upper()}")
    row = get_readership(world, uploaded_file, "")["sessions"][0]
    beacons = told.pop("beacons")
    assert began == world.rt.db.fetch_all("SELECT started_at FROM view_sessions")[0][0]
    assert told == row | {
        "id": 2,
        "class": "human",
        "reason": "a pointer, key, touch, or wheel event",
        "countedAt": "2026-09-21T14:13:28.000Z",
        "lastHeardAt": "2026-09-21T14:13:28.000Z",
        "endedAt": "2026-09-21T14:18:28.000Z",
        "visibleMs": 8_000,
        "turns": 1,
        "backTurns": 0,
        "source": "Direct link",
        "referrer": "news.example",
        "viewerMode": "standard",
        "prefetched": False,
        "shownPages": 3,
        "pages": [
            {"page": 1, "timeMs": 4_000, "views": 1, "backTurns": 0},
            {"page": 2, "timeMs": 4_000, "views": 1, "backTurns": 0},
        ],
    }
    assert [list(beacon)[:2] for beacon in beacons] == [["seq", "receivedAt"]] * 2
    assert beacons[1] == {
        "seq": 1,
        "receivedAt": "2026-09-21T14:13:28.000Z",
        "part": 0,
        "ageMs": 8_000,
        "visible": True,
        "visibleMs": 40_000,
        "input": True,
        "turns": 1,
        "backTurns": 0,
        "pages": [{"page": 2, "ms": 40_000, "views": 1, "back": 0}],
        "accepted": [{"page": 2, "ms": 4_000, "views": 1, "back": 0}],
    }


def test_reported_pages_outside_the_page_range_are_not_accepted(world: World, uploaded_file: dict[str, Any]) -> None:
    """Page numbers are those of the document."""
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 2})
    world.clock.advance(seconds=1)
    reader = FakeReader(world, uploaded_file["shortId"])
    world.clock.advance(seconds=9)
    reader.send_next_beacon(read={1: 3_000, 2: 3_000, 76: 3_000})
    end_all_sessions(world)
    (row,) = get_readership(world, uploaded_file, "/sessions")
    assert (row["totalTimeMs"], row["pages"]) == (3_000, [{"page": 2, "timeMs": 3_000}])
    told = get_readership(world, uploaded_file, f"/sessions/{row['sessionId']}")
    assert [(page["page"], page["ms"]) for page in told["beacons"][0]["pages"]] == [(2, 3_000), (3, 3_000), (77, 3_000)]
    assert [page["page"] for page in told["beacons"][0]["accepted"]] == [page["page"] for page in told["pages"]] == [2]
    assert [page["views"] for page in get_readership(world, uploaded_file, "/pages")["pages"]] == [0, 1, 0]


def test_an_open_session_can_be_fetched(world: World, uploaded_file: dict[str, Any]) -> None:
    FakeReader(world, uploaded_file["shortId"]).read_page(9, page=2)
    ((uuid,),) = world.rt.db.fetch_all("SELECT uuid FROM view_sessions")
    told = get_readership(world, uploaded_file, f"/sessions/{uuid}")
    assert not {"id", "endedAt"} & told.keys()
    assert (told["pagesViewed"], told["totalTimeMs"]) == (1, 9_000)
    assert told["pages"] == [{"page": 2, "timeMs": 9_000, "views": 1, "backTurns": 0}]


@pytest.mark.parametrize(
    ("agent", "seconds", "klass", "reason"),
    [
        (DESKTOP, 2, "scanner", "visible for less than 5 seconds, without input"),
        (DESKTOP, 9, "unconfirmed", "visible for 5 seconds or more, without input"),
        ("curl/8.5.0", 2, "tool", "the user agent names a program"),
    ],
)
def test_an_uncounted_session_shows_the_reason(
    world: World, uploaded_file: dict[str, Any], agent: str, seconds: int, klass: str, reason: str
) -> None:
    FakeReader(world, uploaded_file["shortId"], user_agent=agent).read_page(seconds, input=False)
    end_all_sessions(world)
    ((uuid,),) = world.rt.db.fetch_all("SELECT uuid FROM view_sessions")
    told = get_readership(world, uploaded_file, f"/sessions/{uuid}")
    assert (told["class"], told["reason"], told["totalTimeMs"]) == (klass, reason, seconds * 1_000)
    assert not {"id", "countedAt"} & told.keys()
    assert "endedAt" in told
    (listed,) = get_readership(world, uploaded_file, "/sessions?counted=false")
    assert (listed["sessionId"], listed["class"], listed["reason"]) == (uuid, klass, reason)
    assert "id" not in listed
    assert get_readership(world, uploaded_file, "/sessions") == []


def test_ended_uncounted_sessions_are_listed_newest_first(world: World, uploaded_file: dict[str, Any]) -> None:
    other = world.pia.upload()
    for seconds in (9, 2):
        FakeReader(world, uploaded_file["shortId"]).read_page(seconds, input=False)
    for link in (uploaded_file, other):
        FakeReader(world, link["shortId"]).read_page(9)
    FakeReader(world, other["shortId"]).read_page(9, input=False)
    assert get_readership(world, uploaded_file, "/sessions?counted=false") == []
    end_all_sessions(world)
    listed = get_readership(world, uploaded_file, "/sessions?counted=false")
    assert [(row["class"], row["totalTimeMs"]) for row in listed] == [("scanner", 2_000), ("unconfirmed", 9_000)]
    assert get_readership(world, uploaded_file, "/sessions?counted=false&limit=1") == listed[:1]
    assert [row["totalTimeMs"] for row in get_readership(world, uploaded_file, "/sessions?counted=true")] == [9_000]
    path = f"/api/v1/files/{uploaded_file['uuid']}/readership/sessions?counted=false"
    assert world.mal.get(path).status_code == 403


def test_beacons_above_the_storage_limit_are_counted(
    world: World, uploaded_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docshare.server.services.readership.view_sessions.MAX_BEACONS_KEPT", 2)
    reader = FakeReader(world, uploaded_file["shortId"])
    for _ in range(4):
        reader.read_page(9)
    ((uuid,),) = world.rt.db.fetch_all("SELECT uuid FROM view_sessions")
    open_session = get_readership(world, uploaded_file, f"/sessions/{uuid}")
    end_all_sessions(world)
    ended = get_readership(world, uploaded_file, f"/sessions/{uuid}")
    assert open_session["pages"][0]["timeMs"] == ended["pages"][0]["timeMs"] == 36_000
    assert len(ended["beacons"]) == 2


@pytest.mark.parametrize("name", [UNKNOWN_UUID, "nope", "2", "%00"])
def test_an_unknown_session_is_not_found(world: World, uploaded_file: dict[str, Any], name: str) -> None:
    answer = world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/readership/sessions/{name}")
    assert (answer.status_code, answer.get_json()["code"]) == (404, "not_found")


def test_a_session_of_another_file_is_not_found(world: World, uploaded_file: dict[str, Any]) -> None:
    other = world.pia.upload()
    read_first_page(world, other["shortId"])
    ((uuid,),) = world.rt.db.fetch_all("SELECT uuid FROM view_sessions")
    assert get_readership(world, other, f"/sessions/{uuid}")["class"] == "human"
    assert world.pia.get(f"/api/v1/files/{uploaded_file['uuid']}/readership/sessions/{uuid}").status_code == 404


# Pages


def test_every_page_is_listed_with_views_average_time_and_back_turns(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """All values are integers."""
    back = [{"page": 1, "ms": 2_000, "views": 1, "back": 1}]
    for seconds in (9, 6):
        reader = FakeReader(world, uploaded_file["shortId"])
        reader.read_page(seconds, page=1)
        reader.read_page(4, page=2, turns=1)
        world.clock.advance(seconds=2)
        reader.send_next_beacon(visibleMs=2_000, turns=1, backTurns=1, pages=back)
    end_all_sessions(world)
    assert get_readership(world, uploaded_file, "/pages") == {
        "totalPages": 3,
        "pages": [
            {"pageNumber": 1, "views": 4, "avgDurationMs": 4_750, "backTurns": 2},
            {"pageNumber": 2, "views": 2, "avgDurationMs": 4_000, "backTurns": 0},
            {"pageNumber": 3, "views": 0, "avgDurationMs": 0, "backTurns": 0},
        ],
    }


def test_pages_have_the_page_numbers_of_the_document(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 3})
    read_first_page(world, uploaded_file["shortId"])
    end_all_sessions(world)
    assert [row["views"] for row in get_readership(world, uploaded_file, "/pages")["pages"]] == [0, 1, 0]
    assert get_readership(world, uploaded_file, "/sessions")[0]["pages"] == [{"page": 2, "timeMs": 9_000}]


def test_pages_beyond_the_end_of_a_replaced_document_are_not_listed(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    reader = FakeReader(world, uploaded_file["shortId"])
    reader.read_page(9, page=3)
    end_all_sessions(world)
    world.pia.replace(uploaded_file["uuid"], simple_pdf(pages=2), "v2.pdf")
    assert [row["pageNumber"] for row in get_readership(world, uploaded_file, "/pages")["pages"]] == [1, 2]
    assert [row["reached"] for row in get_readership(world, uploaded_file, "")["funnel"]] == [1, 1]
