"""A crash or a change while an email is sent: the email is not lost, and is sent twice at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage

import pytest

from docshare.server.outbound.mail import Mailer
from docshare.server.services.accounts import accounts
from docshare.server.services.operations import mail
from tests.support.outside.mail_server import FakeMailServer
from tests.support.people.cast import World


class MailerCrash(BaseException):
    """Simulate the end of the process."""


class CrashingMailer(Mailer):
    """A mailer that crashes before or after it has sent the email."""

    def __init__(self, url: str, *, after: bool) -> None:
        super().__init__(url)
        self._after = after

    def send(self, message: EmailMessage) -> None:
        if self._after:
            super().send(message)
        raise MailerCrash


@pytest.mark.parametrize(("after", "received"), [(False, 1), (True, 2)])
def test_an_email_whose_sending_crashed_is_retried_a_minute_later(
    make: Callable[..., World], after: bool, received: int
) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        with world.rt.db.write():
            mail.enqueue(world.rt, "ann@example.com", "Hello", "A text.\n")
        with pytest.raises(MailerCrash):
            mail.send_due(replace(world.rt, mailer=CrashingMailer(box.url, after=after)))
        assert mail.send_due(world.rt) == 0, "its next attempt is scheduled already"
        world.clock.advance(minutes=1)
        assert mail.send_due(world.rt) == 1
        world.clock.advance(days=2)
        assert mail.send_due(world.rt) == 0
    assert len(box.messages) == received
    assert len({message["Message-ID"] for message in box.messages}) == 1
    (row,) = mail.list_outbox(world.rt)
    assert (row["state"], row["attempts"]) == ("sent", 2)


def test_an_email_is_rolled_back_with_its_transaction(world: World) -> None:
    def enqueue_and_crash() -> None:
        with world.rt.db.write():
            mail.enqueue(world.rt, "ann@example.com", "Hello", "A text.\n")
            raise MailerCrash

    with pytest.raises(MailerCrash):
        enqueue_and_crash()
    assert mail.list_outbox(world.rt) == []


def test_an_email_goes_to_the_address_that_its_account_has_when_it_is_sent(make: Callable[..., World]) -> None:
    """The address is changed while the mail server is busy with an earlier email."""

    class SlowMailer(Mailer):
        def send(self, message: EmailMessage) -> None:
            if message["To"] == "ann@example.com":
                accounts.set_email(world.rt, "pia@example.com", "pia@example.org")
            super().send(message)

    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        for recipient in ("ann@example.com", "pia@example.com"):
            with world.rt.db.write():
                mail.enqueue(world.rt, recipient, "Hello", "A text.\n")
        assert mail.send_due(replace(world.rt, mailer=SlowMailer(box.url))) == 2
    assert [message["To"] for message in box.messages] == ["ann@example.com", "pia@example.org"]
