"""Names and addresses of readers, invitees and owners cannot inject headers into emails."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import filterfalse

import pytest

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.server.services.accounts import accounts
from docshare.server.services.operations import mail
from tests.support.outside.mail_server import FakeMailServer
from tests.support.people.cast import Person, World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient

# Typed by hand: ways to end a line or a header, in ASCII, in Unicode, encoded, and in protocol commands.
PAYLOADS = (
    "a\r\nBcc: mal@evil.example",
    "a\nBcc: mal@evil.example",
    "a\rBcc: mal@evil.example",
    "a\r\n\r\nA body of my own",
    "a\n\n<h1>Buy</h1>",
    "a\r\n.\r\nMAIL FROM:<mal@evil.example>",
    "a\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>",
    "a\r\n Bcc: mal@evil.example",
    "a\n\tBcc: mal@evil.example",
    "a\x0bBcc: mal@evil.example",
    "a\x0cBcc: mal@evil.example",
    "a\x1cBcc: mal@evil.example",
    "a\x85Bcc: mal@evil.example",
    "a\u2028Bcc: mal@evil.example",
    "a\u2029Bcc: mal@evil.example",
    "a\x00Bcc: mal@evil.example",
    "a\x08\x08Bcc: mal@evil.example",
    "%0d%0aBcc: mal@evil.example",
    "\\r\\nBcc: mal@evil.example",
    "=?utf-8?q?a=0D=0ABcc:_mal@evil.example?=",
    "=?utf-8?b?YQ0KQmNjOiBtYWxAZXZpbC5leGFtcGxl?=",
    "\uff0d\u560d\u560aBcc: mal@evil.example",
    "<mal@evil.example>",
    '"mal" <mal@evil.example>',
    "mal@evil.example, eve@evil.example",
    "To: mal@evil.example",
    "\u202eelpmaxe.live@lam",
    "\ufeffBcc: mal@evil.example",
    "a" * 110 + "\r\nBcc: x@y.example",
    "ü" * 100 + "\r\nBcc: x@y.example",
)
HEADERS = {
    "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Content-Type", "MIME-Version",
}  # fmt: skip
NOTICE_HEADERS = {"List-Unsubscribe", "List-Unsubscribe-Post"}


def assert_no_injected_headers(box: FakeMailServer, to: str) -> None:
    """Assert that one email was received, with the expected headers only, and only for ``to``."""
    (message,) = box.messages
    assert set(message.keys()) in (HEADERS, HEADERS | NOTICE_HEADERS)
    assert len(message.keys()) == len(set(message.keys()))
    assert message["To"] == to
    assert [part.get_content_type() for part in message.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert message["Subject"].isprintable() or "\u202e" in message["Subject"] or "\ufeff" in message["Subject"]
    rcpt = [line for line in box.commands if line.lower().startswith("rcpt")]
    assert [line.split()[1].lower() for line in rcpt] == [f"to:<{to}>"]
    assert len([line for line in box.commands if line.lower().startswith("mail from")]) == 1


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_the_author_of_a_note_cannot_inject_headers(make: Callable[..., World], payload: str) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        made = world.pia.upload(name="Q3.pdf")
        file_settings = ALL_FEEDBACK_SETTINGS | {"notifyOnComment": True}
        assert world.pia.put(f"/api/v1/files/{made['uuid']}/settings", json=file_settings).status_code == 200
        note = FeedbackClient(world, made["shortId"]).send("POST", "notes", {"author": payload, "body": payload})
        world.clock.advance(minutes=5)
        assert (note.status_code, mail.send_due(world.rt)) in ((201, 1), (400, 0))
        if note.status_code == 201:
            assert_no_injected_headers(box, "pia@example.com")


@pytest.mark.parametrize("payload", [text for text in PAYLOADS if not re.search('[\x00-\x1f"]', text)], ids=ascii)
def test_the_name_of_a_file_cannot_inject_headers(make: Callable[..., World], payload: str) -> None:
    """The other payloads are not valid in the file name of an upload."""
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        made = world.pia.upload(name=f"{payload}.pdf")
        answer = world.pia.post(f"/api/v1/files/{made['uuid']}/invites", json={"email": "ann@example.com"})
        assert (answer.status_code, mail.send_due(world.rt)) == (201, 1)
        assert_no_injected_headers(box, "ann@example.com")


@pytest.mark.parametrize("payload", [*filter(str.isprintable, PAYLOADS)], ids=ascii)
def test_the_name_of_an_owner_cannot_inject_headers(make: Callable[..., World], payload: str) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        accounts.create_account(world.rt, "eve@example.com", payload, Plan.PRO)
        key = accounts.create_key(world.rt, "eve@example.com", "tests").key
        eve = Person("eve@example.com", "", key, world.app.test_client())
        answer = eve.post(f"/api/v1/files/{eve.upload()['uuid']}/invites", json={"email": "ann@example.com"})
        assert (answer.status_code, mail.send_due(world.rt)) == (201, 1)
        assert_no_injected_headers(box, "ann@example.com")


@pytest.mark.parametrize("payload", [*filterfalse(str.isprintable, PAYLOADS)], ids=ascii)
def test_an_account_name_with_a_line_break_is_rejected(world: World, payload: str) -> None:
    with pytest.raises(Problem, match="one line"):
        accounts.create_account(world.rt, "eve@example.com", payload, Plan.PRO)


@pytest.mark.parametrize("payload", [text for text in PAYLOADS if not text.isprintable() or "=?" in text], ids=ascii)
def test_an_invite_to_an_address_with_a_payload_is_400(make: Callable[..., World], payload: str) -> None:
    world = make()
    made = world.pia.upload()
    for email in (f"ann@example.com{payload}", f"{payload}@example.com", "=?utf-8?q?=0D=0ABcc=3Ax?=@example.com"):
        assert world.pia.post(f"/api/v1/files/{made['uuid']}/invites", json={"email": email}).status_code == 400
    assert mail.list_outbox(world.rt) == []


def test_an_email_that_cannot_be_encoded_fails_and_does_not_block_others(make: Callable[..., World]) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        with world.rt.db.write():
            mail.enqueue(world.rt, "=?utf-8?q?=0D=0ABcc=3Ax?=@example.com", "One", "A text.\n")
            mail.enqueue(world.rt, "ann@example.com", "Two", "A text.\n")
        assert mail.send_due(world.rt) == 1
        assert_no_injected_headers(box, "ann@example.com")
    two, one = mail.list_outbox(world.rt)
    assert (one["state"], two["state"]) == ("failed", "sent")
    assert "cannot be composed" in str(one["error"])
