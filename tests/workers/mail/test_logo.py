"""The logo of the sender in invitations: part of the mail, never loaded from a server."""

from __future__ import annotations

import io
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any

import pytest

from docshare.server import admin
from docshare.server.store.blobs import StorageUnreachableError
from docshare.server.store.stored_bytes import StoredBytes
from docshare.server.workers.jobs import MAIL_JOBS
from tests.support.documents.images import make_picture
from tests.support.outside.mail_server import FakeMailServer, read_part
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World


def send_invitation(
    make: Callable[..., World], settings: dict[str, Any], logo: bytes | None = None, name: str = "logo.png"
) -> tuple[World, EmailMessage]:
    """Invite Ann to a document with ``logo``, and return the mail that she receives."""
    with FakeMailServer() as box:
        world = make(smtp_url=box.url)
        made = world.pia.upload()
        path = f"/api/v1/files/{made['uuid']}"
        data = {"file": (io.BytesIO(logo or make_picture()), name), "kind": "logo"}
        asset = world.pia.post(f"{path}/assets", data=data).get_json()["assetId"]
        put_settings(world, made, **({"viewerSettings": {"logo": {"assetId": asset}}} | settings))
        assert world.pia.post(f"{path}/invites", json={"email": "Ann@example.com"}).status_code == 201
        (job,) = MAIL_JOBS
        assert job.run(world.rt) == 1
    (message,) = box.messages
    return world, message


def list_images(message: EmailMessage) -> list[EmailMessage]:
    return [part for part in message.walk() if part.get_content_maintype() == "image"]


def test_an_invitation_contains_the_logo(make: Callable[..., World]) -> None:
    world, message = send_invitation(make, {})
    (image,) = list_images(message)
    assert (image.get_content_type(), image["Content-ID"]) == ("image/png", "<logo@docshare>")
    assert image.get_content().startswith(b"\x89PNG")
    html = read_part(message, "html")
    assert html.count("<img") == html.count('<img src="cid:logo@docshare" alt=""') == 1
    assert "logo@docshare" not in read_part(message)
    (row,) = admin.run_command(world.rt, "outbox list", {})
    shown = admin.run_command(world.rt, "outbox show", {"uuid": row["uuid"]})
    assert "Content-ID: <logo@docshare>" in shown["message"]


@pytest.mark.parametrize("settings", [{"showSender": False}, {"viewerSettings": {}}], ids=["hidden", "no logo"])
def test_an_invitation_without_a_logo_has_no_image(make: Callable[..., World], settings: dict[str, Any]) -> None:
    _, message = send_invitation(make, settings)
    assert (list_images(message), "<img" in read_part(message, "html")) == ([], False)


def test_a_type_that_mail_programs_do_not_show_is_left_out(make: Callable[..., World]) -> None:
    _, message = send_invitation(make, {}, make_picture("WEBP"), "logo.webp")
    assert list_images(message) == []


@pytest.mark.parametrize("error", [StorageUnreachableError("it is slow"), OSError(5, "Input/output error")])
def test_a_logo_that_cannot_be_read_does_not_keep_the_mail(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Otherwise each run of the job would use up an attempt, and stop before the mails behind this one."""

    def fail(self: StoredBytes, mode: str = "rb") -> None:
        raise error

    monkeypatch.setattr(StoredBytes, "open", fail)
    _, message = send_invitation(make, {})
    assert list_images(message) == []
