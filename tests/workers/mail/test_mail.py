"""The outbox: emails that are added to it, and how they are sent."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace

import pytest

from docshare.contract.plans import Plan
from docshare.server.outbound.mail import Mailer
from docshare.server.services.accounts import accounts, invitations
from docshare.server.services.files import freeze
from docshare.server.services.operations import mail, unsubscribe
from docshare.server.store.tables import mail as mail_rows
from docshare.server.workers import jobs
from tests.outbound.test_exchange import open_unresponsive_port
from tests.support.engines.database import dump_database
from tests.support.engines.rows import count_rows
from tests.support.outside.mail_server import FakeMailServer, read_part
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader

MINUTE = 60_000
HOUR = 60 * MINUTE


def enqueue_mail(world: World, subject: str = "Hello", body: str = "A text.\n", to: str = "ann@example.com") -> None:
    with world.rt.db.write():
        mail.enqueue(world.rt, to, subject, body)


def get_only_mail(world: World) -> dict[str, object]:
    (row,) = mail.list_outbox(world.rt)
    return row


def test_an_email_is_kept_in_the_outbox_if_no_mail_server_is_configured(world: World) -> None:
    enqueue_mail(world)
    assert mail.send_due(world.rt) == 0
    row = get_only_mail(world)
    assert (row["state"], row["attempts"], row["to"]) == ("kept", 0, "ann@example.com")
    assert "nextAttemptAt" not in row


def test_an_email_is_sent_with_its_headers_and_body(make: Callable[..., World]) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url, mail_from="Documents <docs@example.com>")
        enqueue_mail(world, "Grüße", "Zeile eins\n.\nümlaut\n")
        assert mail.send_due(world.rt) == 1
        assert mail.send_due(world.rt) == 0
    (message,) = box.messages
    assert message["From"] == "Documents <docs@example.com>"
    assert message["To"] == "ann@example.com"
    assert message["Subject"] == "Grüße"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@example.com>")
    assert message["Date"] is not None
    assert read_part(message).splitlines() == ["Zeile eins", ".", "ümlaut"]
    assert get_only_mail(world)["state"] == "sent"


def test_a_failed_email_is_retried_after_1_10_60_360_minutes_and_a_day(
    make: Callable[..., World],
) -> None:
    with FakeMailServer({"RCPT": b"451 later, please"}) as box:
        world = make(smtp_url=box.url)
        enqueue_mail(world)
        start = world.clock.now
        tried = []
        for _ in range(40):
            before = len(box.commands)
            mail.send_due(world.rt)
            if len(box.commands) > before:
                tried.append(world.clock.now - start)
            row = get_only_mail(world)
            if row["state"] == "failed":
                break
            found = world.rt.db.fetch_one("SELECT next_at FROM mails")
            assert found is not None
            world.clock.now = found[0] - 1
            assert mail.send_due(world.rt) == 0, "before its time"
            world.clock.now = found[0]
    minutes = [round(moment / MINUTE) for moment in tried]
    assert minutes == [0, 1, 11, 71, 431, 431 + 24 * 60]
    assert (row["state"], row["attempts"]) == ("failed", 6)
    assert row["error"] == "the mail server answered 451 later, please"


def test_a_permanent_failure_is_not_retried(make: Callable[..., World]) -> None:
    with FakeMailServer({"RCPT": b"550 no such user"}) as box:
        world = make(smtp_url=box.url)
        enqueue_mail(world)
        mail.send_due(world.rt)
        assert (get_only_mail(world)["state"], get_only_mail(world)["attempts"]) == ("failed", 1)
        world.clock.advance(days=3)
        before = len(box.commands)
        mail.send_due(world.rt)
        assert len(box.commands) == before


@pytest.mark.parametrize("reply", [b"250 ok", b"421 shutting down", b"500 unknown command", b"what?"])
def test_an_accepted_email_is_sent_once_whatever_the_reply_to_quit(make: Callable[..., World], reply: bytes) -> None:
    with FakeMailServer({"QUIT": reply}) as box:
        world = make(smtp_url=box.url)
        enqueue_mail(world)
        assert mail.send_due(world.rt) == 1
        world.clock.advance(days=3)
        assert mail.send_due(world.rt) == 0
    assert (len(box.messages), get_only_mail(world)["state"]) == (1, "sent")


def test_the_reply_to_quit_does_not_decide_about_a_rejected_email(make: Callable[..., World]) -> None:
    with FakeMailServer({"RCPT": b"451 later, please", "QUIT": b"500 unknown command"}) as box:
        world = make(smtp_url=box.url)
        enqueue_mail(world)
        mail.send_due(world.rt)
    row = get_only_mail(world)
    assert (row["state"], row["error"]) == ("queued", "the mail server answered 451 later, please")


@pytest.mark.parametrize(
    ("command", "reply"), [("CONNECT", "554 no service here"), ("MAIL", "530 5.7.0 Authentication required")]
)
def test_an_email_is_retried_if_the_mail_server_rejects_the_connection(
    make: Callable[..., World], command: str, reply: str
) -> None:
    """The mail server has not seen the email: somebody may have to allow this server, or correct the login, first."""
    with FakeMailServer({command: reply.encode()}) as box:
        world = make(smtp_url=box.url)
        enqueue_mail(world)
        mail.send_due(world.rt)
        row = get_only_mail(world)
        assert (row["state"], row["error"]) == ("queued", f"the mail server answered {reply}")
        box.answers.clear()
        world.clock.advance(minutes=1)
        assert mail.send_due(world.rt) == 1


def test_an_address_of_the_mail_server_that_never_responds_leaves_time_for_the_next_one(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as an IPv6 address where packets of IPv6 are lost."""
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        port = int(box.url.rpartition(":")[2])
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in ("127.0.0.2", "127.0.0.1")]
        enqueue_mail(world)
        with open_unresponsive_port("127.0.0.2", port):
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
            assert mail.send_due(replace(world.rt, mailer=Mailer(box.url, deadline_s=9))) == 1


def test_an_email_is_sent_once_the_mail_server_is_available_again(make: Callable[..., World]) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        enqueue_mail(world)
        box.answers["MAIL"] = b"421 closing"
        assert mail.send_due(world.rt) == 0
        assert get_only_mail(world)["state"] == "queued"
        del box.answers["MAIL"]
        world.clock.advance(minutes=1)
        assert mail.send_due(world.rt) == 1
    assert len(box.messages) == 1


def test_a_password_is_sent_only_over_tls(make: Callable[..., World]) -> None:
    from docshare.server.outbound.mail import parse_mail_url

    assert parse_mail_url("smtp://me:secret@mail.example.com").requires_tls
    assert not parse_mail_url("smtp://me:secret@127.0.0.1:2525").requires_tls
    with FakeMailServer() as box:
        from docshare.server.outbound import mail as mailer

        sender = mailer.Mailer(box.url.replace("smtp://", "smtp://me:secret@"))
        world = make()
        enqueue_mail(world)
        row = world.rt.db.fetch_all("SELECT uuid FROM mails")[0][0]
        with pytest.raises(mailer.MailNotDelivered) as refused:
            sender.send(mail._build_message(world.rt, mail_rows.list_newest(world.rt.db, 0, 1)[0]))
        assert row
    assert "secret" not in str(refused.value)


def test_a_slow_mail_server_times_out_at_the_deadline(make: Callable[..., World]) -> None:
    from docshare.server.outbound.mail import Mailer, MailNotDelivered

    world = make()
    enqueue_mail(world)
    message = mail._build_message(world.rt, mail_rows.list_newest(world.rt.db, 0, 1)[0])
    with FakeMailServer(is_slow=True) as box, pytest.raises(MailNotDelivered):
        Mailer(box.url, deadline_s=0.5).send(message)


@pytest.mark.parametrize(
    "payload", ["a\r\nBcc: mal@example.com", "a\nBcc: x", "a\rb", "a\x00b", "a\u2028b", "a\udcffb", "x" * 5_000]
)
def test_a_subject_cannot_add_a_header(make: Callable[..., World], payload: str) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        enqueue_mail(world, f"About {payload}")
        assert mail.send_due(world.rt) == 1
    (message,) = box.messages
    assert message["Bcc"] is None
    assert len(message["Subject"]) <= 200
    assert [line.split()[1] for line in box.commands if line.lower().startswith("rcpt")] == ["TO:<ann@example.com>"]


def test_emails_are_deleted_after_30_days(make: Callable[..., World]) -> None:
    world = make()
    enqueue_mail(world)
    world.clock.advance(days=30, seconds=-1)
    assert mail.delete_expired(world.rt) == 0
    world.clock.advance(seconds=1)
    assert mail.delete_expired(world.rt) == 1
    assert count_rows(world, "mails") == 0


def test_emails_are_sent_by_a_separate_thread(world: World) -> None:
    assert [job.run for job in jobs.MAIL_JOBS] == [jobs.send_mails]
    assert jobs.send_mails not in [job.run for job in jobs.JOBS]
    assert mail.delete_expired in [job.run for job in jobs.JOBS]


def build_file_path(world: World, made: dict[str, str]) -> str:
    return f"/api/v1/files/{made['uuid']}"


def test_emails_about_a_trashed_file_wait_for_a_restore_and_a_purge_deletes_them(make: Callable[..., World]) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        kept, lost = world.pia.upload(), world.pia.upload()
        enqueue_mail(world)
        for made in (kept, lost):
            body = {"email": "zoe@example.com", "name": made["uuid"]}
            assert world.pia.post(f"{build_file_path(world, made)}/invites", json=body).status_code == 201
            world.pia.delete(build_file_path(world, made))
        assert mail.send_due(world.rt) == 1
        assert [message["To"] for message in box.messages] == ["ann@example.com"]
        world.pia.delete(f"{build_file_path(world, lost)}?purge=1")
        assert lost["uuid"] not in "\n".join(dump_database(world))
        assert count_rows(world, "mails") == 2
        assert world.pia.post(f"{build_file_path(world, kept)}/restore").status_code == 200
        world.clock.advance(hours=1)
        assert mail.send_due(world.rt) == 1
    assert [message["To"] for message in box.messages] == ["ann@example.com", "zoe@example.com"]


def test_an_email_about_a_frozen_file_waits_for_the_end_of_the_review(make: Callable[..., World]) -> None:
    """The operator has stopped the document, so the server must not go on advertising it."""
    with FakeMailServer({"RCPT": b"451 later, please"}) as box:
        world = make(smtp_url=box.url)
        made = world.pia.upload()
        world.pia.post(f"{build_file_path(world, made)}/invites", json={"email": "zoe@example.com"})
        assert mail.send_due(world.rt) == 0
        freeze.freeze(world.rt, made["shortId"])
        world.pia.post(f"{build_file_path(world, made)}/invites", json={"email": "yan@example.com"})
        box.answers.clear()
        world.clock.advance(hours=1)
        assert mail.send_due(world.rt) == 0
        assert mail_rows.count_late(world.rt.db, world.clock.now) == 0
        assert mail_rows.get_queue(world.rt.db).length == 0
        freeze.unfreeze(world.rt, made["shortId"])
        assert mail.send_due(world.rt) == 2
    assert sorted(message["To"] for message in box.messages) == ["yan@example.com", "zoe@example.com"]


def test_a_waiting_notice_is_not_sent_while_its_account_is_disabled(make: Callable[..., World]) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        account = accounts.get_by_email(world.rt, world.pia.email)
        with world.rt.db.write():
            mail.enqueue(world.rt, world.pia.email, "News", "A text.\n", notice=(account.id, unsubscribe.COMMENTS))
        accounts.disable(world.rt, world.pia.email)
        assert mail.send_due(world.rt) == 0
        assert mail_rows.count_late(world.rt.db, world.clock.now) == 0
        accounts.enable(world.rt, world.pia.email)
        assert mail.send_due(world.rt) == 1


def test_no_invitation_to_a_deleted_account_is_sent(make: Callable[..., World]) -> None:
    with FakeMailServer({"RCPT": b"451 later, please"}) as box:
        world = make(smtp_url=box.url)
        invitations.invite(world.rt, "ann@example.com", "Ann", Plan.FREE)
        enqueue_mail(world, to="bob@example.com")
        assert mail.send_due(world.rt) == 0
        accounts.delete_account(world.rt, "ann@example.com")
        box.answers.clear()
        world.clock.advance(hours=1)
        assert mail.send_due(world.rt) == 1
    assert [message["To"] for message in box.messages] == ["bob@example.com"]


def test_a_purge_deletes_emails_about_the_file(world: World) -> None:
    made = world.pia.upload()
    world.pia.post(f"{build_file_path(world, made)}/invites", json={"email": "zoe@example.com"})
    assert count_rows(world, "mails") == 1
    world.pia.delete(f"{build_file_path(world, made)}?purge=1")
    assert count_rows(world, "mails") == 0


def set_notifications(world: World, made: dict[str, str], **settings: object) -> None:
    assert world.pia.put(f"/api/v1/files/{made['uuid']}/settings", json=settings).status_code == 200


def list_mail_subjects(world: World) -> list[object]:
    return [row["subject"] for row in mail.list_outbox(world.rt)]


def test_view_notifications_are_sent_once_per_hour_and_file(world: World) -> None:
    made, other = world.pia.upload(), world.pia.upload(name="other.pdf")
    for each in (made, other):
        set_notifications(world, each, notifyOnView=True)
    FakeReader(world, made["shortId"], address="198.51.100.1").read_page(6)
    FakeReader(world, made["shortId"], address="198.51.100.2").read_page(6)
    FakeReader(world, other["shortId"]).read_page(6)
    assert list_mail_subjects(world) == ['Someone is reading "other.pdf"', 'Someone is reading "report.pdf"']
    world.clock.advance(minutes=59, seconds=30)
    FakeReader(world, made["shortId"], address="198.51.100.3").read_page(6)
    assert len(list_mail_subjects(world)) == 2
    world.clock.advance(minutes=1)
    FakeReader(world, made["shortId"], address="198.51.100.4").read_page(6)
    newest = mail.list_outbox(world.rt)[0]
    message = str(mail.show(world.rt, str(newest["uuid"]))["message"])
    assert "3 readers since the last email about it." in message
    assert f"http://127.0.0.1:8787/readership/{made['uuid']}" in message
    assert newest["to"] == "pia@example.com"


def test_scanners_and_files_without_notifications_send_no_email(world: World) -> None:
    made = world.pia.upload()
    FakeReader(world, made["shortId"]).read_page(6)
    set_notifications(world, made, notifyOnView=True)
    FakeReader(world, made["shortId"]).read_page(2, input=False)
    FakeReader(world, made["shortId"]).read_page(60, input=False)
    assert list_mail_subjects(world) == []


def test_a_downgraded_owner_receives_no_notifications(world: World) -> None:
    made = world.bea.upload()
    assert world.bea.put(f"/api/v1/files/{made['uuid']}/settings", json={"notifyOnView": True}).status_code == 200
    accounts.set_tier(world.rt, "bea@example.com", Plan.FREE)
    FakeReader(world, made["shortId"]).read_page(6)
    assert list_mail_subjects(world) == []


def test_emails_do_not_contain_the_label_of_a_variant(world: World) -> None:
    made = world.pia.upload()
    set_notifications(world, made, notifyOnView=True)
    variant = world.pia.post(f"/api/v1/files/{made['uuid']}/variants", json={"label": "Secret Buyer"}).get_json()
    FakeReader(world, variant["shortId"]).read_page(6)
    (row,) = mail.list_outbox(world.rt)
    message = str(mail.show(world.rt, str(row["uuid"]))["message"])
    assert "Secret Buyer" not in message
    assert "through a personal link" in message
