"""``client.files`` except uploads."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import ConnectionLost, Refused, UnknownOutcome
from docshare.contract.wire import format_instant
from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, problem

ID = UUID.format(1)
PDF = b"%PDF-1.7 second"
DROP = FakeResponse(connection_action="drop")
REPLACED = {"uuid": ID, "contentVersion": 2, "originalName": "second.pdf", "size": len(PDF)}


def test_list_preserves_unknown_keys_and_their_order(api: FakeApi, client: Client) -> None:
    api.on("GET", "/files", [{"uuid": ID, "zebra": 1, "apple": {"b": None}}])
    assert [list(row) for row in client.files.list()] == [["uuid", "zebra", "apple"]]


def test_show_returns_one_file(api: FakeApi, client: Client) -> None:
    api.on("GET", "/files/aB3dE5fG7hJ9", {"uuid": ID})
    assert client.files.show("aB3dE5fG7hJ9") == {"uuid": ID}


@pytest.mark.parametrize(("purge", "query"), [(False, {}), (True, {"purge": "1"})])
def test_delete_purges_only_if_requested(api: FakeApi, client: Client, purge: bool, query: dict[str, str]) -> None:
    api.on("DELETE", f"/files/{ID}", {"trashed": not purge})
    assert client.files.delete(ID, purge) == {"trashed": not purge}
    assert api.requests[0].query == query


@pytest.mark.parametrize("lost", [DROP, problem(502, "x"), problem(504, "x")], ids=["dropped", "502", "504"])
def test_a_deletion_whose_response_was_lost_succeeds(api: FakeApi, client: Client, lost: FakeResponse) -> None:
    """The retry answers 404, because the first attempt deleted the file."""
    api.on("DELETE", f"/files/{ID}", lost, problem(404, "not_found"))
    assert client.files.delete(ID, purge=True) == {"trashed": False}


@pytest.mark.parametrize("first", [None, problem(429, "rate_limited"), problem(503, "unavailable")])
def test_deleting_an_unknown_file_fails(api: FakeApi, client: Client, first: FakeResponse | None) -> None:
    """After 429 and 503, the server has certainly not deleted it."""
    missing = problem(404, "not_found")
    api.on("DELETE", f"/files/{ID}", *([missing] if first is None else [first, missing]))
    with pytest.raises(Refused) as caught:
        client.files.delete(ID)
    assert caught.value.status == 404


def test_content_returns_blocks_with_filename_length_and_media_type(api: FakeApi, client: Client) -> None:
    pdf = b"%PDF-" + bytes(600_000)
    headers = {"Content-Type": "application/pdf", "Content-Disposition": 'inline; filename="deck.pdf"'}
    api.on("GET", f"/files/{ID}/content", FakeResponse(pdf, headers=headers))
    blocks, name, length, media = client.files.content(ID)
    assert (b"".join(blocks), name, length, media) == (pdf, "deck.pdf", len(pdf), "application/pdf")
    assert api.requests[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('inline; filename="deck.pdf"', "deck.pdf"),
        ("inline; filename=deck.pdf", "deck.pdf"),
        ("inline; filename=\"x.pdf\"; filename*=UTF-8''%C3%9Cbersicht.pdf", "Übersicht.pdf"),
        ('inline; filename="Ü.pdf"'.encode().decode("latin-1"), "Ü.pdf"),
        ('inline; filename="\xdc.pdf"', "Ü.pdf"),
        ('inline; filename="a\\"b.pdf"', 'a"b.pdf'),
        ("inline", None),
        ("", None),
    ],
)
def test_the_filename_is_parsed_from_content_disposition(
    api: FakeApi, client: Client, disposition: str, name: str | None
) -> None:
    api.on("GET", f"/files/{ID}/content", FakeResponse(b"x", headers={"Content-Disposition": disposition}))
    content = client.files.content(ID)
    assert list(content.blocks) == [b"x"]
    assert content.filename == name


def test_truncated_content_raises_connection_lost(api: FakeApi, client: Client) -> None:
    api.on(
        "GET",
        f"/files/{ID}/content",
        FakeResponse(b"%PDF-", headers={"Content-Length": "100"}, connection_action="close"),
    )
    with pytest.raises(ConnectionLost):
        list(client.files.content(ID).blocks)


def test_content_of_a_burned_link_raises_gone(api: FakeApi, client: Client) -> None:
    api.on("GET", f"/files/{ID}/content", problem(410, "gone"))
    with pytest.raises(Refused) as caught:
        client.files.content(ID)
    assert caught.value.code == "gone"


def test_qr_returns_the_image_bytes_unchanged(api: FakeApi, client: Client) -> None:
    api.on("GET", f"/files/{ID}/qr-code", FakeResponse(b"\x89PNG", headers={"Content-Type": "image/png"}))
    assert client.files.qr(ID) == b"\x89PNG"


def replace_content(client: Client, **more: Any) -> dict[str, Any]:
    return client.files.replace(ID, io.BytesIO(PDF), "second.pdf", **more)


def make_revision(**more: Any) -> dict[str, Any]:
    made = {
        "contentVersion": 2,
        "originalName": "second.pdf",
        "size": len(PDF),
        "createdAt": format_instant(int(BASE * 1000)),
    }
    return made | {"sha256": hashlib.sha256(PDF).hexdigest()} | more


@pytest.mark.parametrize(("keep", "query"), [(False, {}), (True, {"clearAnchors": "false"})])
def test_replace_sends_the_document_and_whether_to_keep_anchors(
    api: FakeApi, client: Client, keep: bool, query: dict[str, str]
) -> None:
    api.on("POST", f"/files/{ID}/content", REPLACED)
    assert replace_content(client, keep_anchors=keep) == REPLACED
    (request,) = api.requests
    assert (request.part(), request.query) == (("second.pdf", PDF), query)


def test_replace_returns_the_digest_and_reports_progress(api: FakeApi, client: Client) -> None:
    api.on("POST", f"/files/{ID}/content", REPLACED)
    sent: list[int] = []
    result = replace_content(client, digest=True, progress=sent.append)
    assert result["sha256"] == hashlib.sha256(PDF).hexdigest()
    assert sent == [0, len(PDF)]


def test_a_rejected_replacement_is_not_retried(api: FakeApi, client: Client) -> None:
    api.on("POST", f"/files/{ID}/content", problem(409, "conflict"))
    with pytest.raises(Refused) as caught:
        replace_content(client)
    assert (caught.value.code, len(api.requests)) == ("conflict", 1)


def test_a_replacement_without_a_response_is_recovered_from_the_revisions(api: FakeApi, client: Client) -> None:
    api.on("POST", f"/files/{ID}/content", FakeResponse(connection_action="drop"))
    api.on("GET", f"/files/{ID}", {"uuid": ID, "revisions": [make_revision(), make_revision(contentVersion=1)]})
    assert replace_content(client) == {**REPLACED, "recovered": True}
    assert len(api.list_requests("POST", f"/files/{ID}/content")) == 1


@pytest.mark.parametrize("old", [{"sha256": "0" * 64}, {"createdAt": format_instant(int((BASE - 60) * 1000))}])
def test_a_replacement_missing_from_the_revisions_is_retried_once(
    api: FakeApi, client: Client, old: dict[str, Any]
) -> None:
    api.on("POST", f"/files/{ID}/content", FakeResponse(connection_action="drop"), REPLACED)
    api.on("GET", f"/files/{ID}", {"uuid": ID, "revisions": [make_revision(**old)]})
    assert replace_content(client) == REPLACED
    assert len(api.list_requests("POST", f"/files/{ID}/content")) == 2


def test_a_replacement_that_cannot_be_confirmed_raises_unknown_outcome(api: FakeApi, client: Client) -> None:
    api.on("POST", f"/files/{ID}/content", problem(504, "x"))
    api.on("GET", f"/files/{ID}", {"uuid": ID, "revisions": []})
    with pytest.raises(UnknownOutcome) as caught:
        replace_content(client)
    assert "replacement" in caught.value.detail
    assert "the file" in caught.value.hint


def test_a_restore_whose_response_was_lost_succeeds(api: FakeApi, client: Client) -> None:
    """The retry answers 404, because the file is not in the trash any more."""
    api.on("POST", f"/files/{ID}/restore", DROP, problem(404, "not_found"))
    api.on("GET", f"/files/{ID}", {"uuid": ID, "size": 9})
    assert client.files.restore(ID) == {"uuid": ID, "size": 9}


def test_restoring_a_file_that_is_not_in_the_trash_fails(api: FakeApi, client: Client) -> None:
    api.on("POST", f"/files/{ID}/restore", problem(404, "not_found"))
    with pytest.raises(Refused):
        client.files.restore(ID)


def test_restore_returns_the_file(api: FakeApi, client: Client) -> None:
    api.on("POST", f"/files/{ID}/restore", {"uuid": ID})
    assert client.files.restore(ID) == {"uuid": ID}


def test_claim_sends_the_token_only_in_the_body(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files/claim", {"uuid": ID, "shareUrl": "https://d.example/x"})
    assert client.files.claim("ds_ct_x")["uuid"] == ID
    (request,) = api.requests
    assert request.body == b'{"claimToken": "ds_ct_x"}'
    assert request.headers["Content-Type"] == "application/json"
    assert request.query == {}
