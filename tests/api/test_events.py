"""The event feed for polling."""

import pytest

from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.rows import (
    count_rows,
    insert_download,
    insert_gate_response,
    insert_view,
    set_next_id,
    update_file_row,
)
from tests.support.people.cast import World

INT32 = 2**31 - 1
INT64 = 2**63 - 1


def list_ids(world: World, query: str) -> list[int]:
    answer = world.pia.get(f"/api/v1/events?{query}")
    assert answer.status_code == 200, answer.data
    return [row["id"] for row in answer.get_json()]


def insert_views(world: World, many: int) -> list[int]:
    uuid = world.pia.upload()["uuid"]
    return [insert_view(world, uuid) for _ in range(many)]


def test_an_empty_feed_is_an_empty_array(world: World) -> None:
    for stream in ("view", "download", "gate"):
        assert world.pia.get(f"/api/v1/events?type={stream}").data == b"[]"


def test_a_view_row_has_its_keys_in_order(world: World) -> None:
    """All keys are present if all values are known."""
    made = world.pia.upload(name="Q3.pdf")
    insert_view(world, made["uuid"], read_at=world.clock.now, country="DE", pages=3, time_ms=102_000)
    [row] = world.pia.get("/api/v1/events").get_json()
    assert list(row.items()) == [
        ("id", 2),
        ("fileUuid", made["uuid"]),
        ("fileName", "Q3.pdf"),
        ("readAt", "2026-09-21T14:13:20.000Z"),
        ("country", "DE"),
        ("pagesViewed", 3),
        ("timeMs", 102_000),
        ("type", "view"),
    ]


def test_a_view_row_has_its_numbers_and_omits_unknown_keys(world: World) -> None:
    """``pagesViewed`` and ``timeMs`` are present even if they are 0; ``readAt`` and ``country`` are omitted."""
    insert_view(world, world.pia.upload()["uuid"], read_at=None, country=None, pages=0, time_ms=0)
    [row] = world.pia.get("/api/v1/events").get_json()
    assert list(row) == ["id", "fileUuid", "fileName", "pagesViewed", "timeMs", "type"]
    assert (row["pagesViewed"], row["timeMs"]) == (0, 0)


@pytest.mark.parametrize("country", ["DE", None])
def test_a_download_row_has_no_reading_data(world: World, country: str | None) -> None:
    """``pagesViewed`` and ``timeMs`` are absent."""
    insert_download(world, world.pia.upload()["uuid"], country=country)
    [row] = world.pia.get("/api/v1/events?type=download").get_json()
    expected = ["id", "fileUuid", "fileName", "readAt", "country", "type"]
    assert list(row) == [key for key in expected if country or key != "country"]
    assert row["type"] == "download"


def test_a_gate_row_has_its_fields_last_and_never_a_country(world: World) -> None:
    """``fields`` follows ``type``."""
    insert_gate_response(world, world.pia.upload()["uuid"], {"mail": "ada@example.com", "firm": "Über"})
    [row] = world.pia.get("/api/v1/events?type=gate").get_json()
    assert list(row) == ["id", "fileUuid", "fileName", "readAt", "type", "fields"]
    assert row["fields"] == {"mail": "ada@example.com", "firm": "Über"}


@pytest.mark.parametrize("stored", [None, "", "{}", "{broken", "[]", '"text"', '{"a": 1}', '{"a": null}', "[" * 5000])
def test_fields_that_are_empty_or_cannot_be_read_are_absent(world: World, stored: str | None) -> None:
    """A row without readable fields is still listed."""
    insert_gate_response(world, world.pia.upload()["uuid"], stored)
    [row] = world.pia.get("/api/v1/events?type=gate").get_json()
    assert "fields" not in row


@pytest.mark.parametrize("word", ["all", "", "View", "views", "view%00", "gate%20", "1", "%F0%9F%99%82"])
def test_an_unknown_type_is_400(world: World, word: str) -> None:
    """``all`` is not a type."""
    for person in (world.fay, world.pia):
        answer = person.get(f"/api/v1/events?type={word}")
        assert answer.status_code == 400
        assert answer.get_json()["code"] == "bad_request"


def test_the_default_type_is_view(world: World) -> None:
    made = world.pia.upload()
    insert_view(world, made["uuid"])
    insert_download(world, made["uuid"])
    [row] = world.pia.get("/api/v1/events").get_json()
    assert row["type"] == "view"


@pytest.mark.parametrize("path", ["/api/v1/events?type=gate", "/api/v1/gate-responses"])
@pytest.mark.parametrize("person", ["fay", "bea"])
def test_gate_responses_below_pro_are_a_plain_text_403(world: World, person: str, path: str) -> None:
    """``type=gate`` and ``/gate-responses`` respond alike, with ``WWW-Authenticate: Bearer``."""
    answer = getattr(world, person).get(path)
    assert answer.status_code == 403
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.data == b"This feature requires the pro plan or higher"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_gate_responses_ignores_the_type_parameter(world: World) -> None:
    """It is an alias of ``type=gate`` with the same rows, cursor and parameters."""
    made = world.pia.upload()
    insert_view(world, made["uuid"])
    for number in range(3):
        insert_gate_response(world, made["uuid"], {"mail": f"{number}@example.com"})
    for query in ("", "since=2", "limit=1", f"file={made['shortId']}", "since=3&limit=1"):
        alias = world.pia.get(f"/api/v1/gate-responses?type=view&{query}").data
        assert alias == world.pia.get(f"/api/v1/events?type=gate&{query}").data
        assert b"@example.com" in alias


@pytest.mark.parametrize(
    "since", [None, "0", "00", "", "x", "-1", "+3", " 3", "3 ", "1_0", "3.0", "1e3", "０", "３", "0x2", "null"]
)
def test_an_invalid_cursor_lists_the_newest_rows_first(world: World, since: str | None) -> None:
    """0, a missing, a negative and an unparsable ``since`` are all invalid."""
    made = insert_views(world, 5)
    assert list_ids(world, "" if since is None else f"since={since}".replace("+", "%2B")) == made[::-1]


def test_a_cursor_lists_later_rows_in_ascending_order(world: World) -> None:
    """The row with the id of the cursor is not listed."""
    made = insert_views(world, 5)
    assert list_ids(world, f"since={made[1]}") == made[2:]
    assert list_ids(world, f"since={made[-1]}") == []
    assert list_ids(world, f"since=000{made[1]}") == made[2:]


def test_since_1_lists_the_whole_history(world: World) -> None:
    """Ids start at 2, so that ``since=1`` precedes every row."""
    made = insert_views(world, 7)
    assert made[0] == 2
    walked: list[int] = []
    while page := list_ids(world, f"since={walked[-1] if walked else 1}&limit=3"):
        walked += page
    assert walked == made


@pytest.mark.parametrize("stream", ["view", "download", "gate"])
def test_ids_of_every_type_start_at_2(world: World, stream: str) -> None:
    uuid = world.pia.upload()["uuid"]
    insert_view(world, uuid)
    insert_download(world, uuid)
    insert_gate_response(world, uuid, {"mail": "a@b.example"})
    assert list_ids(world, f"type={stream}&since=1") == [2]


@pytest.mark.parametrize("since", ["2147483647", "2147483648", "99999999999999999999", "9" * 5000])
def test_a_cursor_beyond_32_bits_is_clamped_for_views_and_downloads(world: World, since: str) -> None:
    """Values above 2147483647 are clamped to it."""
    uuid = world.pia.upload()["uuid"]
    set_next_id(world, "view_rows", INT32 + 1)
    set_next_id(world, "download_rows", INT32 + 1)
    assert insert_view(world, uuid) == insert_download(world, uuid) == INT32 + 1
    assert list_ids(world, f"since={since}") == [INT32 + 1]
    assert list_ids(world, f"type=download&since={since}") == [INT32 + 1]


def test_a_gate_cursor_is_a_64_bit_number(world: World) -> None:
    """It is not clamped to 32 bits: 2147483648 is a valid cursor."""
    uuid = world.pia.upload()["uuid"]
    set_next_id(world, "gate_rows", INT32 + 1)
    first = insert_gate_response(world, uuid, {"mail": "a@b.example"})
    second = insert_gate_response(world, uuid, {"mail": "a@b.example"})
    assert list_ids(world, f"type=gate&since={first}") == [second]
    for since in (second, INT64, INT64 + 1, "9" * 5000):
        assert list_ids(world, f"type=gate&since={since}") == []


@pytest.mark.parametrize(
    ("limit", "rows"),
    [
        (None, 50),
        ("", 50),
        ("x", 50),
        ("1.5", 50),
        ("１", 50),
        ("%2B5", 50),
        ("0", 1),
        ("-3", 1),
        ("1", 1),
        ("007", 7),
        ("100", 100),
        ("101", 100),
        ("1000", 100),
        ("99999999999999999999", 100),
        ("9" * 5000, 100),
    ],
)
def test_a_limit_is_clamped_and_never_rejected(world: World, limit: str | None, rows: int) -> None:
    """0 becomes 1, 1000 becomes 100, and ``x`` becomes the default of 50."""
    insert_views(world, 103)
    assert len(list_ids(world, "" if limit is None else f"limit={limit}")) == rows


def test_the_file_filter_accepts_a_uuid_in_any_case_and_a_short_id(world: World) -> None:
    """``fileUuid`` is always the UUID in lower case."""
    one, other = world.pia.upload(), world.pia.upload()
    wanted = [insert_view(world, one["uuid"]), insert_view(world, one["uuid"])]
    insert_view(world, other["uuid"])
    for name in (one["uuid"], one["uuid"].upper(), one["shortId"]):
        rows = world.pia.get(f"/api/v1/events?file={name}&since=1").get_json()
        assert [row["id"] for row in rows] == wanted
        assert {row["fileUuid"] for row in rows} == {one["uuid"]}


@pytest.mark.parametrize("name", ["", "nope", UNKNOWN_UUID, "abcdefghijkl", "%00", "%ff", "my-report", "a" * 5000])
def test_an_unknown_file_has_no_rows(world: World, name: str) -> None:
    """The response is an empty array with 200; slugs are not accepted."""
    made = world.pia.upload()
    update_file_row(world, made["uuid"], slug="my-report")
    insert_view(world, made["uuid"])
    for stream in ("view", "download", "gate"):
        assert list_ids(world, f"type={stream}&file={name}") == []


def test_rows_of_another_account_are_not_listed(world: World) -> None:
    made = world.pia.upload()
    for add in (insert_view, insert_download):
        add(world, made["uuid"])
    for query in ("", f"file={made['uuid']}", f"file={made['shortId']}", "type=download"):
        answer = world.mal.get(f"/api/v1/events?{query}")
        assert (answer.status_code, answer.data) == (200, b"[]")


def test_rows_of_a_trashed_file_are_hidden_and_those_of_others_are_not(world: World) -> None:
    """This applies to every type of event."""
    trashed, kept = world.pia.upload(), world.pia.upload()
    for made in (trashed, kept):
        insert_view(world, made["uuid"])
        insert_download(world, made["uuid"])
        insert_gate_response(world, made["uuid"], {"mail": "a@b.example"})
    world.pia.delete(f"/api/v1/files/{trashed['uuid']}")
    for stream in ("view", "download", "gate"):
        assert list_ids(world, f"type={stream}") == list_ids(world, f"type={stream}&since=1") == [3]
        assert list_ids(world, f"type={stream}&file={trashed['shortId']}") == []


def test_rows_are_hidden_as_soon_as_the_file_is_marked_as_trashed(world: World) -> None:
    made = world.pia.upload()
    insert_view(world, made["uuid"])
    update_file_row(world, made["uuid"], trashed_at=world.clock.now, purge_at=world.clock.now + 1)
    assert list_ids(world, "") == []


def test_ids_of_deleted_rows_are_not_reused(world: World) -> None:
    """Otherwise a client would skip the new row."""
    first, second = world.pia.upload(), world.pia.upload()
    assert insert_view(world, first["uuid"]) == 2
    world.pia.delete(f"/api/v1/files/{first['uuid']}?purge=1")
    assert count_rows(world, "view_rows") == 0
    assert insert_view(world, second["uuid"]) == 3


def test_expired_and_burned_files_keep_their_rows(world: World) -> None:
    """Only a purge deletes the events of a file."""
    made = world.pia.upload()
    insert_view(world, made["uuid"])
    update_file_row(world, made["uuid"], delete_at=1, burned_at=1)
    assert list_ids(world, "") == [2]


def test_a_row_has_the_current_name_of_the_file(world: World) -> None:
    made = world.pia.upload(name="before.pdf")
    insert_view(world, made["uuid"])
    update_file_row(world, made["uuid"], original_name="after.pdf")
    [row] = world.pia.get("/api/v1/events").get_json()
    assert row["fileName"] == "after.pdf"


def test_api_requests_are_not_events(world: World) -> None:
    """Polling and downloads by the owner add no rows."""
    made = world.pia.upload()
    for path in ("/api/v1/events", f"/api/v1/files/{made['uuid']}/content", "/api/v1/files"):
        world.pia.get(path, buffered=True)
    assert [count_rows(world, table) for table in ("view_rows", "download_rows", "gate_rows")] == [0, 0, 0]
