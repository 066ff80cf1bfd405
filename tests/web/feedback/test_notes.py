"""Notes of readers."""

from collections.abc import Callable
from typing import Any

import pytest

from docshare.server.rules.feedback import FEEDBACK_QUOTAS, FeedbackQuota
from docshare.server.services.operations import mail
from tests.support.clock import FakeClock
from tests.support.engines.rows import count_rows
from tests.support.outside.mail_server import FakeMailServer, read_part
from tests.support.owner.browser import put_settings, sign_in_browser
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient, list_activity
from tests.support.people.known_readers import insert_invite

pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS)


@pytest.fixture
def bob(world: World, uploaded_file: dict[str, Any]) -> FeedbackClient:
    return FeedbackClient(world, uploaded_file["shortId"])


def list_note_bodies(client: FeedbackClient) -> list[str]:
    return [note["body"] for note in client.get_feedback()["notes"]]


def test_a_created_note_is_returned_with_all_its_fields(ann: FeedbackClient, bob: FeedbackClient) -> None:
    note = ann.leave_note("First line\r\nsecond\tline", "  Ann Lee ", page=2, public=True)
    uuid = note["uuid"]
    expected = {
        "uuid": uuid,
        "author": "Ann Lee",
        "body": "First line\nsecond\tline",
        "page": 2,
        "public": True,
        "mine": True,
        "createdAt": "2026-09-21T14:13:20.000Z",
    }
    assert note == expected
    assert ann.get_feedback()["notes"] == [expected]
    assert bob.get_feedback()["notes"] == [expected | {"mine": False}]


def test_a_note_is_private_and_for_the_whole_document_by_default(ann: FeedbackClient) -> None:
    note = ann.leave_note()
    assert note["public"] is False
    assert "page" not in note
    assert "page" not in ann.leave_note(page=None)


def test_readers_see_their_own_and_public_notes_oldest_first(
    world: World, ann: FeedbackClient, bob: FeedbackClient
) -> None:
    (
        ann.leave_note("a private"),
        bob.leave_note("b public", public=True),
        ann.leave_note("a public", public=True),
        bob.leave_note("b private"),
    )
    assert list_note_bodies(ann) == ["a private", "b public", "a public"]
    assert list_note_bodies(bob) == ["b public", "a public", "b private"]
    assert list_note_bodies(FeedbackClient(world, ann.name)) == ["b public", "a public"]


def test_without_public_notes_readers_see_only_their_own(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, bob: FeedbackClient
) -> None:
    ann.leave_note("a public", public=True)
    put_settings(world, uploaded_file, commentsAllowPublic=False)
    bob.leave_note("b private")
    assert (list_note_bodies(ann), list_note_bodies(bob)) == (["a public"], ["b private"])
    refused = bob.send("POST", "notes", {"author": "Bob", "body": "x", "public": True})
    assert refused.status_code == 403
    assert count_rows(world, "notes") == 2


def test_the_signed_in_owner_sees_all_notes(world: World, ann: FeedbackClient) -> None:
    ann.leave_note("private"), ann.leave_note("public", public=True)
    owner = FeedbackClient(world, ann.name, http=sign_in_browser(world, world.pia))
    found = owner.get_feedback()
    assert [(note["body"], note["mine"]) for note in found["notes"]] == [("private", False), ("public", False)]


def test_only_the_owner_sees_the_identity_of_a_note_author(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, bob: FeedbackClient
) -> None:
    """Any reader can use any author name."""
    insert_invite(world, uploaded_file["uuid"], "zoe@example.com", "Zz3dE5fG7hJ9")
    (
        FeedbackClient(world, "Zz3dE5fG7hJ9").leave_note("true", "Zoe", public=True),
        bob.leave_note("false", "Zoe", public=True),
    )
    ((pseudonym,),) = world.rt.db.fetch_all("SELECT pseudonym FROM viewers WHERE invite_id IS NULL")
    owner = FeedbackClient(world, ann.name, http=sign_in_browser(world, world.pia))
    listed = [(note["author"], note["identity"]) for note in owner.get_feedback()["notes"]]
    assert listed == [("Zoe", "zoe@example.com"), ("Zoe", pseudonym)]
    for reader in (ann, bob):
        assert ["identity" in note for note in reader.get_feedback()["notes"]] == [False, False]


def test_an_email_about_notes_names_their_identities(
    world: World, uploaded_file: dict[str, Any], bob: FeedbackClient
) -> None:
    put_settings(world, uploaded_file, notifyOnComment=True)
    insert_invite(world, uploaded_file["uuid"], "zoe@example.com", "Zz3dE5fG7hJ9")
    bob.leave_note("false", "Zoe")
    (pseudonym,) = list_pseudonyms(world)
    assert list_mails(world)[0][0] == f'Zoe ({pseudonym}) left a note on "report.pdf"'
    FeedbackClient(world, "Zz3dE5fG7hJ9").leave_note("true", "Zoe")
    ((_, body),) = list_mails(world)
    phrase = 'left a private note on "report.pdf"'
    assert body.startswith(
        f"Zoe ({pseudonym}) {phrase}:\n\n    false\n\nZoe (zoe@example.com) {phrase}:\n\n    true\n\n"
    )


def test_note_created_is_recorded_for_public_notes_only(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    """``pageNumber`` is present for notes on a page and counts the pages of the document."""
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 3})
    ann.leave_note("private"), ann.leave_note("whole", public=True), ann.leave_note("page", public=True, page=1)
    base = {"fileUuid": uploaded_file["uuid"], "fileName": "report.pdf", "author": "Ann"}
    assert list_activity(world) == [
        ("note.created", base | {"body": "whole"}),
        ("note.created", base | {"body": "page", "pageNumber": 2}),
    ]


def test_the_owner_is_emailed_about_private_notes(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    put_settings(world, uploaded_file, notifyOnComment=True, pageRange={"from": 2, "to": 3})
    ann.leave_note("for you", page=1)
    ((recipient, body),) = world.rt.db.fetch_all("SELECT recipient, body FROM mails")
    assert recipient == world.pia.email
    assert "for you" in body
    assert "page 2" in body


def list_mails(world: World) -> list[tuple[str, str]]:
    return world.rt.db.fetch_all("SELECT subject, body FROM mails ORDER BY id")


def list_pseudonyms(world: World) -> list[str]:
    return [name for (name,) in world.rt.db.fetch_all("SELECT pseudonym FROM viewers ORDER BY id")]


def test_notes_within_five_minutes_are_combined_in_one_email(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, bob: FeedbackClient
) -> None:
    """This also applies without a mail server."""
    put_settings(world, uploaded_file, notifyOnComment=True)
    ann.leave_note("early")
    put_settings(world, uploaded_file, notifyOnComment=False)
    ann.leave_note("unwanted")
    world.clock.advance(minutes=5)
    put_settings(world, uploaded_file, notifyOnComment=True)
    ann.leave_note("one", page=1)
    world.clock.advance(minutes=4, seconds=59)
    bob.leave_note("two", author="Bob")
    world.clock.advance(seconds=1)
    bob.leave_note("three", author="Bob")
    first, second, third = list_mails(world)
    ann_is, bob_is = list_pseudonyms(world)
    assert [subject for subject, _ in (first, second, third)] == [
        f'Ann ({ann_is}) left a note on "report.pdf"',
        '2 notes were left on "report.pdf"',
        f'Bob ({bob_is}) left a note on "report.pdf"',
    ]
    assert "early" in first[1]
    assert second[1].startswith(
        f'Ann ({ann_is}) left a private note on page 1 of "report.pdf":\n\n    one\n\n'
        f'Bob ({bob_is}) left a private note on "report.pdf":\n\n    two\n\nReadership report: http'
    )
    assert "three" in third[1]


def test_the_email_contains_the_first_note_while_time_passes(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_settings(world, uploaded_file, notifyOnComment=True)
    monkeypatch.setattr(FakeClock, "__call__", lambda clock: clock.advance(milliseconds=1))
    for words in ("one", "two", "three"):
        ann.leave_note(words)
    ((subject, body),) = list_mails(world)
    assert subject == '3 notes were left on "report.pdf"'
    assert [line.strip() for line in body.splitlines() if line.startswith("    ")] == ["one", "two", "three"]


def test_a_note_deleted_within_five_minutes_is_not_emailed(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, bob: FeedbackClient
) -> None:
    put_settings(world, uploaded_file, notifyOnComment=True)
    secret, kept = ann.leave_note("a secret"), bob.leave_note("kept", author="Bob")
    assert ann.send("DELETE", f"notes/{secret['uuid']}").status_code == 204
    ((subject, body),) = list_mails(world)
    assert (subject.startswith("Bob "), "a secret" in body, "kept" in body) == (True, False, True)
    assert bob.send("DELETE", f"notes/{kept['uuid']}").status_code == 204
    assert list_mails(world) == []


def test_the_email_about_many_notes_has_bounded_length(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    put_settings(world, uploaded_file, notifyOnComment=True)
    for number in range(27):
        ann.leave_note(f"note {number}.")
    ((subject, body),) = list_mails(world)
    assert subject == '27 notes were left on "report.pdf"'
    assert ("note 19." in body, "note 20." in body) == (True, False)
    assert "And 7 more.\n" in body


def test_each_document_has_its_own_note_email(world: World, uploaded_file: dict[str, Any], ann: FeedbackClient) -> None:
    other = world.pia.upload(name="other.pdf")
    for each in (uploaded_file, other):
        put_settings(world, each, commentsEnabled=True, notifyOnComment=True)
    ann.leave_note(), FeedbackClient(world, other["shortId"]).leave_note()
    here, there = list_pseudonyms(world)
    assert [subject for subject, _ in list_mails(world)] == [
        f'Ann ({here}) left a note on "report.pdf"',
        f'Ann ({there}) left a note on "other.pdf"',
    ]


def test_a_note_email_is_sent_when_its_five_minutes_are_over(make: Callable[..., World]) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        made = world.pia.upload()
        put_settings(world, made, commentsEnabled=True, notifyOnComment=True)
        client = FeedbackClient(world, made["shortId"])
        client.leave_note("one")
        world.clock.advance(minutes=4)
        client.leave_note("two")
        assert mail.send_due(world.rt) == 0
        world.clock.advance(minutes=1)
        assert mail.send_due(world.rt) == 1
        client.leave_note("three")
        assert mail.send_due(world.rt) == 0
    (message,) = box.messages
    assert ["    one" in read_part(message), "    two" in read_part(message)] == [True, True]
    assert "three" not in read_part(message)


def test_public_notes_are_visible_on_every_link_of_the_document(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    variant = world.pia.post(f"/api/v1/files/{uploaded_file['uuid']}/variants", json={"label": "Ada"}).get_json()
    ada = FeedbackClient(world, variant["shortId"])
    ann.leave_note("canonical", public=True), ada.leave_note("variant", public=True)
    assert list_note_bodies(ada) == list_note_bodies(ann) == ["canonical", "variant"]
    listed = ada.send("GET", "feedback").text
    assert uploaded_file["uuid"] not in listed
    assert uploaded_file["shortId"] not in listed


def test_notes_on_hidden_pages_are_omitted_and_others_are_renumbered(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    for page in (1, 2, 3):
        ann.leave_note(f"page {page}", page=page, public=True)
    ann.leave_note("whole")
    put_settings(world, uploaded_file, pageRange={"from": 2, "to": 2})
    assert [(note["body"], note.get("page")) for note in ann.get_feedback()["notes"]] == [
        ("page 2", 1),
        ("whole", None),
    ]
    owner = FeedbackClient(world, ann.name, http=sign_in_browser(world, world.pia))
    assert [note.get("page") for note in owner.get_feedback()["notes"]] == [1, 2, 3, None]


@pytest.mark.parametrize("page", [0, -1, 3, 50_000, 2**60])
def test_a_note_on_a_page_outside_of_the_page_range_is_404(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient, page: int
) -> None:
    put_settings(world, uploaded_file, pageRange={"from": 1, "to": 2})
    assert ann.send("POST", "notes", {"author": "Ann", "body": "x", "page": page}).status_code == 404
    assert count_rows(world, "notes") == count_rows(world, "viewers") == 0


INVALID_CHANGES = [
    {"author": ""},
    {"author": "  "},
    {"author": "x" * 81},
    {"author": "two\nlines"},
    {"author": None},
    {"author": 7},
    {"body": ""},
    {"body": " \n\t "},
    {"body": "x" * 2_001},
    {"body": "\x1b[31m"},
    {"body": "\x85"},
    {"body": ["x"]},
    {"page": "1"},
    {"page": 1.5},
    {"page": True},
    {"public": "yes"},
    {"public": 1},
    {"public": None},
]


@pytest.mark.parametrize("change", INVALID_CHANGES)
def test_a_malformed_note_is_400_and_names_the_field(world: World, ann: FeedbackClient, change: dict[str, Any]) -> None:
    answer = ann.send("POST", "notes", {"author": "Ann", "body": "x"} | change)
    assert answer.status_code == 400
    assert next(iter(change)) in answer.text
    assert count_rows(world, "notes") == count_rows(world, "viewers") == 0


@pytest.mark.parametrize("change", [{"author": "🙂" * 80}, {"body": "🙂" * 2_000}, {"body": "a\n\nb\tc"}, {"extra": 1}])
def test_values_at_the_limits_are_stored_unchanged(ann: FeedbackClient, change: dict[str, Any]) -> None:
    note = ann.leave_note(**({"body": "x", "author": "Ann"} | change))
    assert {key: note[key] for key in change if key in note}.items() <= change.items()


def test_readers_can_delete_only_their_own_notes_and_only_once(
    world: World, ann: FeedbackClient, bob: FeedbackClient
) -> None:
    note = ann.leave_note(public=True)
    bob.leave_note()
    assert bob.send("DELETE", f"notes/{note['uuid']}").status_code == 404
    gone = ann.send("DELETE", f"notes/{note['uuid'].upper()}")
    assert (gone.status_code, gone.data) == (204, b"")
    for uuid in (note["uuid"], "nonsense"):
        assert ann.send("DELETE", f"notes/{uuid}").status_code == 404
    assert count_rows(world, "notes") == 1


def test_a_note_can_be_deleted_after_notes_were_disabled(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    note = ann.leave_note()
    put_settings(world, uploaded_file, commentsEnabled=False)
    assert ann.send("DELETE", f"notes/{note['uuid']}").status_code == 204
    assert count_rows(world, "notes") == 0


def test_a_rejected_note_creates_no_event_and_no_email(
    world: World, uploaded_file: dict[str, Any], ann: FeedbackClient
) -> None:
    """Notes and events are written in one transaction."""
    put_settings(world, uploaded_file, notifyOnComment=True)
    ann.send("POST", "notes", {"author": "Ann", "body": "x", "public": True, "page": 9})
    assert (list_activity(world), count_rows(world, "mails")) == ([], 0)


def test_notes_per_reader_and_per_document_are_limited(
    world: World, ann: FeedbackClient, bob: FeedbackClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FEEDBACK_QUOTAS["notes"] == FeedbackQuota(200, 5_000)
    monkeypatch.setitem(FEEDBACK_QUOTAS, "notes", FeedbackQuota(2, 3))
    ann.leave_note(), ann.leave_note(), bob.leave_note()
    refusals = []
    for client in (ann, bob):
        answer = client.send("POST", "notes", {"author": "Ann", "body": "x"})
        refusals.append((answer.status_code, answer.text))
    assert refusals == [
        (409, "You have left 2 notes on this document, the maximum for a reader."),
        (409, "This document does not accept more notes."),
    ]
    assert count_rows(world, "notes") == 3


def test_the_last_author_name_of_a_reader_is_remembered(world: World, ann: FeedbackClient, bob: FeedbackClient) -> None:
    ann.leave_note(author="Ann"), ann.leave_note(author="Ann Lee")
    bob.leave_note(author="Somebody else", public=True)
    assert ann.get_feedback()["name"] == "Ann Lee"
    assert "name" not in FeedbackClient(world, ann.name).get_feedback()


def test_a_personal_link_identifies_its_reader_without_revealing_the_address(
    world: World, uploaded_file: dict[str, Any]
) -> None:
    insert_invite(world, uploaded_file["uuid"], "zoe@example.com", "Zz3dE5fG7hJ9")
    zoe = FeedbackClient(world, "Zz3dE5fG7hJ9")
    zoe.leave_note("hello", "Zoe", public=True)
    listed = zoe.send("GET", "feedback").text
    assert "zoe@example.com" not in listed
    assert zoe.get_feedback()["name"] == "Zoe"


def test_markup_is_stored_as_text_and_served_as_json(world: World, ann: FeedbackClient) -> None:
    """Text is stored as sent, and no response has a content type that a browser would execute."""
    payload = "</script><img src=x onerror=alert(1)>{{7*7}}"
    made = ann.send("POST", "notes", {"author": payload, "body": payload, "public": True})
    found = ann.send("GET", "feedback")
    for answer in (made, found):
        assert answer.mimetype == "application/json"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert ann.get_feedback()["notes"][0]["body"] == payload
    assert payload not in ann.http.get(f"/{ann.name}").text
    refused = ann.send("POST", "notes", {"author": payload * 9, "body": payload})
    assert refused.mimetype == "text/plain"
    assert "<img" not in refused.text
