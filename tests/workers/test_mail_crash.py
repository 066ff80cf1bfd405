"""A server that dies while it hands a mail over: the mail is not lost, and is sent twice at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage

import pytest

from docshare.server.outbound.mail import Mailer
from docshare.server.services.operations import mail
from tests.support.cast import World
from tests.support.mail_server import FakeMailServer


class MailerCrash(BaseException):
    """The process is gone."""


class CrashingMailer(Mailer):
    """Dies before or after the mail server has the mail."""

    def __init__(self, url: str, *, after: bool) -> None:
        super().__init__(url)
        self._after = after

    def send(self, message: EmailMessage) -> None:
        if self._after:
            super().send(message)
        raise MailerCrash


@pytest.mark.parametrize(("after", "taken"), [(False, 1), (True, 2)])
def test_a_mail_in_flight_is_sent_again_a_minute_later(make: Callable[..., World], after: bool, taken: int) -> None:
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        with world.rt.db.write():
            mail.enqueue(world.rt, "ann@example.com", "Hello", "A text.\n")
        with pytest.raises(MailerCrash):
            mail.send_due(replace(world.rt, mailer=CrashingMailer(box.url, after=after)))
        assert mail.send_due(world.rt) == 0, "its next attempt is booked already"
        world.clock.advance(minutes=1)
        assert mail.send_due(world.rt) == 1
        world.clock.advance(days=2)
        assert mail.send_due(world.rt) == 0
    assert len(box.messages) == taken
    assert len({message["Message-ID"] for message in box.messages}) == 1
    (row,) = mail.list_outbox(world.rt)
    assert (row["state"], row["attempts"]) == ("sent", 2)


def test_a_mail_is_in_the_outbox_exactly_if_what_it_tells_of_was_written(world: World) -> None:
    def die() -> None:
        with world.rt.db.write():
            mail.enqueue(world.rt, "ann@example.com", "Hello", "A text.\n")
            raise MailerCrash

    with pytest.raises(MailerCrash):
        die()
    assert mail.list_outbox(world.rt) == []
