"""Format of emails: transfer encoding, text and HTML parts, date and sender."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from docshare.server.rules.mails import render_html
from docshare.server.services.operations import mail
from tests.support.outside.mail_server import FakeMailServer, read_part
from tests.support.people.cast import World

EIGHT_BIT_ANSWERS = {"EHLO": b"250-mailbox\r\n250 8BITMIME"}
BODY = "Zeile eins\n.\nümlaut – http://127.0.0.1:8787/abc\n"


def send_mail(make: Callable[..., World], box: FakeMailServer, body: str = BODY, **settings: str) -> World:
    world = make(smtp_url=box.url, **settings)
    with world.rt.db.write():
        mail.enqueue(world.rt, "ann@example.com", "Hello", body)
    world.clock.advance(hours=3)
    assert mail.send_due(world.rt) == 1
    return world


def test_an_email_is_ascii_if_the_server_does_not_support_8bitmime(make: Callable[..., World]) -> None:
    """RFC 6152 allows bytes beyond ASCII only if the server offers 8BITMIME."""
    with FakeMailServer() as box:
        send_mail(make, box)
    assert box.raw[0].isascii()
    (message,) = box.messages
    encodings = [part["Content-Transfer-Encoding"] for part in message.iter_parts()]
    assert encodings == ["quoted-printable"] * 2
    assert read_part(message).splitlines() == BODY.splitlines()
    assert "ümlaut" in read_part(message, "html")
    assert not [line for line in box.commands if "BODY=" in line]


def test_an_email_is_sent_as_8bitmime_if_the_server_supports_it(make: Callable[..., World]) -> None:
    with FakeMailServer(EIGHT_BIT_ANSWERS) as box:
        send_mail(make, box)
    assert "ümlaut".encode() in box.raw[0]
    assert b"http://127.0.0.1:8787/abc" in box.raw[0], "links are not wrapped"
    assert next(line for line in box.commands if line.upper().startswith("MAIL FROM")).endswith("BODY=8BITMIME")
    assert read_part(box.messages[0]).splitlines() == BODY.splitlines()


@pytest.mark.parametrize("answers", [{}, EIGHT_BIT_ANSWERS], ids=["ASCII", "eight bits"])
def test_an_ascii_email_is_sent_without_encoding(make: Callable[..., World], answers: dict[str, bytes]) -> None:
    with FakeMailServer(answers) as box:
        send_mail(make, box, "Hello Ann\n")
    assert [part["Content-Transfer-Encoding"] for part in box.messages[0].iter_parts()] == ["7bit"] * 2
    assert not [line for line in box.commands if "BODY=" in line]


def test_the_date_header_is_the_time_of_sending(make: Callable[..., World]) -> None:
    with FakeMailServer() as box:
        world = send_mail(make, box)
    assert box.messages[0]["Date"].datetime.timestamp() == world.clock.now // 1000
    ((uuid, sent_at),) = world.rt.db.fetch_all("SELECT uuid, sent_at FROM mails")
    world.clock.advance(hours=1)
    assert mail.show(world.rt, uuid)["message"].split("Date: ")[1].split("\n")[0] == str(box.messages[0]["Date"])
    assert sent_at == world.clock.now - 3_600_000


@pytest.mark.parametrize(
    ("sender", "domain"),
    [
        ("Documents <docs@mail.example.org>", "mail.example.org"),
        ("docs@example.org", "example.org"),
        (None, "docs.example.com"),
    ],
)
def test_sender_and_message_id_have_the_same_domain(
    make: Callable[..., World], sender: str | None, domain: str
) -> None:
    with FakeMailServer() as box:
        send_mail(make, box, base_url="https://docs.example.com", **({"mail_from": sender} if sender else {}))
    assert str(box.messages[0]["From"]).rstrip(">").endswith(f"@{domain}")
    assert str(box.messages[0]["Message-ID"]).endswith(f"@{domain}>")


class _MailParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.values: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += attrs


def test_the_html_part_loads_nothing_links_only_to_the_server_and_supports_dark_mode() -> None:
    text = "Ann wrote:\n\n    <img src=//evil.example> http://evil.example/x\n\nhttp://d.example/a?b=1&c=2\n"
    rendered = render_html("<Q3>", text, "http://d.example")
    mail_parser = _MailParser()
    mail_parser.feed(rendered)
    assert {"img", "script", "link", "iframe"} & set(mail_parser.tags) == set()
    assert [value for name, value in mail_parser.values if name == "href"] == ["http://d.example/a?b=1&c=2"]
    assert not [name for name, _ in mail_parser.values if name in ("src", "srcset", "style", "background")]
    assert "<title>&lt;Q3&gt;</title>" in rendered
    assert "&lt;img src=//evil.example&gt; http://evil.example/x" in rendered
    assert 'name="color-scheme" content="light dark"' in rendered
    assert "prefers-color-scheme: dark" in rendered
    assert "url(" not in rendered
    assert "@import" not in rendered
