"""The unsubscribe link of a notice, which disables one kind of notice for one account."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docshare.server.services.operations import mail, unsubscribe
from docshare.server.services.operations.unsubscribe import NOTICES
from tests.support.engines.database import dump_database
from tests.support.outside.mail_server import FakeMailServer, read_part
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World
from tests.support.people.feedback_client import ALL_FEEDBACK_SETTINGS, FeedbackClient
from tests.support.people.reader import FakeReader

pytestmark = pytest.mark.file_settings(**ALL_FEEDBACK_SETTINGS, notifyOnView=True, notifyOnComment=True)


ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def mail_server() -> Iterator[FakeMailServer]:
    with FakeMailServer() as running:
        yield running


@pytest.fixture
def world(make: Callable[..., World], mail_server: FakeMailServer) -> World:
    return make(smtp_url=mail_server.url)


def read_and_send_mail(world: World, made: dict[str, Any]) -> None:
    FakeReader(world, made["shortId"], address="198.51.100.77").read_page(20)
    mail.send_due(world.rt)


def note_and_send_mail(world: World, made: dict[str, Any]) -> None:
    FeedbackClient(world, made["shortId"]).leave_note("Hello")
    world.clock.advance(minutes=6)
    mail.send_due(world.rt)


def build_notice_path(world: World, kind: str, who: str = "pia") -> str:
    """Return the path of the unsubscribe link of ``who``."""
    ((ident,),) = world.rt.db.fetch_all("SELECT id FROM accounts WHERE email = ?", (f"{who}@example.com",))
    return unsubscribe.build_link(world.rt, ident, kind).removeprefix(world.rt.config.base_url)


def test_a_notice_contains_the_unsubscribe_link(
    world: World, uploaded_file: dict[str, Any], mail_server: FakeMailServer
) -> None:
    """Both headers of RFC 8058 are present, and the link is also in the text."""
    read_and_send_mail(world, uploaded_file)
    note_and_send_mail(world, uploaded_file)
    for message, kind in zip(mail_server.messages, ("views", "comments"), strict=True):
        link = f"{world.rt.config.base_url}{build_notice_path(world, kind)}"
        assert message["List-Unsubscribe"] == f"<{link}>"
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert read_part(message).splitlines()[-1] == f"Turn these emails off: {link}"
        assert f'<a href="{link}">' in read_part(message, "html")


def test_the_unsubscribe_link_is_not_wrapped_with_a_long_host_name(make: Callable[..., World]) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url, base_url=f"https://{'d' * 60}.{'e' * 60}.{'f' * 60}.example.com")
        with world.rt.db.write():
            ((ident,),) = world.rt.db.fetch_all("SELECT id FROM accounts WHERE email = 'pia@example.com'")
            mail.enqueue(world.rt, "pia@example.com", "One", "A text.\n", notice=(ident, unsubscribe.VIEWS))
        assert mail.send_due(world.rt) == 1
    link = f"{world.rt.config.base_url}{build_notice_path(world, 'views')}"
    assert f"List-Unsubscribe: <{link}>\r\n".encode() in box.raw[0]
    assert read_part(box.messages[0]).splitlines()[-1] == f"Turn these emails off: {link}"


def test_an_invitation_has_no_unsubscribe_header(
    world: World, uploaded_file: dict[str, Any], mail_server: FakeMailServer
) -> None:
    path = f"/api/v1/files/{uploaded_file['uuid']}/invites"
    assert world.pia.post(path, json={"email": "ann@example.com", "mail": True}).status_code in (200, 201)
    mail.send_due(world.rt)
    assert [message["List-Unsubscribe"] for message in mail_server.messages] == [None] * len(mail_server.messages)


def test_one_click_disables_this_kind_for_this_account(
    world: World, uploaded_file: dict[str, Any], mail_server: FakeMailServer
) -> None:
    """Mail programs send a cross-site POST without a cookie."""
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://mail.example"}
    assert world.http.post(build_notice_path(world, "views"), data=ONE_CLICK, headers=headers).status_code == 200
    read_and_send_mail(world, uploaded_file)
    assert mail_server.messages == []
    note_and_send_mail(world, uploaded_file)
    assert len(mail_server.messages) == 1, "notes are another kind"


def test_opening_the_link_changes_nothing(
    world: World, uploaded_file: dict[str, Any], mail_server: FakeMailServer
) -> None:
    """Email scanners open every link."""
    path = build_notice_path(world, "views")
    before = dump_database(world)
    for page in (world.http.get(path), world.http.head(path)):
        assert page.status_code == 200
    assert dump_database(world) == before
    page = world.http.get(path).text
    assert f'<form class="gate" method="post" action="{path}">' in page
    assert "Turn them off" in page
    read_and_send_mail(world, uploaded_file)
    assert len(mail_server.messages) == 1


def test_notices_can_be_enabled_again(world: World, uploaded_file: dict[str, Any], mail_server: FakeMailServer) -> None:
    path = build_notice_path(world, "views")
    page = world.http.post(path, data={"notices": "off"})
    assert "Emails are turned off" in page.text
    browser = sign_in_browser(world, world.pia)
    assert path in browser.get("/account").text
    (value,) = re.findall(r'name="notices" value="(\w+)"', page.text)
    assert "Turn them off" in world.http.post(path, data={"notices": value}).text
    assert path not in browser.get("/account").text
    read_and_send_mail(world, uploaded_file)
    assert len(mail_server.messages) == 1


def test_queued_notices_are_not_sent_after_unsubscribing(
    world: World, uploaded_file: dict[str, Any], mail_server: FakeMailServer
) -> None:
    FeedbackClient(world, uploaded_file["shortId"]).leave_note("Hello")
    world.http.post(build_notice_path(world, "comments"), data=ONE_CLICK)
    world.clock.advance(minutes=6)
    assert mail.send_due(world.rt) == 0
    assert mail_server.messages == []
    assert mail.list_outbox(world.rt) == []


def test_webhook_notices_can_be_disabled(world: World) -> None:
    assert set(NOTICES) == {"views", "comments", "webhooks"}
    with world.rt.db.write():
        ((ident,),) = world.rt.db.fetch_all("SELECT id FROM accounts WHERE email = 'pia@example.com'")
        mail.enqueue(world.rt, "pia@example.com", "One", "A text.\n", notice=(ident, unsubscribe.WEBHOOKS))
    world.http.post(build_notice_path(world, "webhooks"), data=ONE_CLICK)
    with world.rt.db.write():
        mail.enqueue(world.rt, "pia@example.com", "Two", "A text.\n", notice=(ident, unsubscribe.WEBHOOKS))
    assert mail.list_outbox(world.rt) == []


def test_forged_unsubscribe_links_are_404(world: World) -> None:
    path = build_notice_path(world, "views")
    kind, uuid, seal = path.rpartition("/")[2].split(".")
    other = build_notice_path(world, "views", "mal").rpartition("/")[2].split(".")
    forged = [
        f"comments.{uuid}.{seal}",
        f"{kind}.{other[1]}.{seal}",
        f"{kind}.{uuid}.{other[2]}",
        f"{kind}.{uuid}.{'0' * 40}",
        f"{kind}.{uuid.upper()}.{seal}",
        f"{kind}.{uuid}.{seal.upper()}",
        f"{kind}.{uuid}",
        f"{kind}.{'0' * 36}.{seal}",
        "views",
        "%00",
    ]
    assert len(seal) * 4 >= 128
    before = dump_database(world)
    for token in forged:
        for method in ("GET", "POST"):
            answer = world.http.open(f"/notices/{token}", method=method, data=ONE_CLICK if method == "POST" else None)
            assert (answer.status_code, "Turn them" in answer.text) == (404, False), token
    assert dump_database(world) == before
