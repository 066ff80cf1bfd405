"""``client.files`` beyond uploads."""

from __future__ import annotations

import pytest

from docshare.client import Client
from docshare.client.errors import ConnectionLost, Refused
from tests.support.fakefeed import UUID, Answer, FakeApi, problem

ID = UUID.format(1)


def test_the_list_is_what_the_server_sent_with_unknown_keys_in_their_order(api: FakeApi, client: Client) -> None:
    api.on("GET", "/files", [{"uuid": ID, "zebra": 1, "apple": {"b": None}}])
    assert [list(row) for row in client.files.list()] == [["uuid", "zebra", "apple"]]


def test_one_file_is_shown(api: FakeApi, client: Client) -> None:
    api.on("GET", "/files/aB3dE5fG7hJ9", {"uuid": ID})
    assert client.files.show("aB3dE5fG7hJ9") == {"uuid": ID}


@pytest.mark.parametrize(("purge", "query"), [(False, {}), (True, {"purge": "1"})])
def test_delete_purges_only_when_asked(api: FakeApi, client: Client, purge: bool, query: dict[str, str]) -> None:
    api.on("DELETE", f"/files/{ID}", {"trashed": not purge})
    assert client.files.delete(ID, purge) == {"trashed": not purge}
    assert api.heard[0].query == query


def test_content_comes_in_blocks_with_name_and_length(api: FakeApi, client: Client) -> None:
    pdf = b"%PDF-" + bytes(600_000)
    headers = {"Content-Type": "application/pdf", "Content-Disposition": 'inline; filename="deck.pdf"'}
    api.on("GET", f"/files/{ID}/content", Answer(pdf, headers=headers))
    blocks, name, length = client.files.content(ID)
    assert (b"".join(blocks), name, length) == (pdf, "deck.pdf", len(pdf))
    assert api.heard[0].headers["Accept-Encoding"] == "identity"


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
def test_the_name_is_read_from_the_content_disposition(
    api: FakeApi, client: Client, disposition: str, name: str | None
) -> None:
    api.on("GET", f"/files/{ID}/content", Answer(b"x", headers={"Content-Disposition": disposition}))
    content = client.files.content(ID)
    assert list(content.blocks) == [b"x"]
    assert content.filename == name


def test_content_that_breaks_off_is_a_lost_connection(api: FakeApi, client: Client) -> None:
    api.on("GET", f"/files/{ID}/content", Answer(b"%PDF-", headers={"Content-Length": "100"}, then="close"))
    with pytest.raises(ConnectionLost):
        list(client.files.content(ID).blocks)


def test_content_of_a_burned_link_is_gone(api: FakeApi, client: Client) -> None:
    api.on("GET", f"/files/{ID}/content", problem(410, "gone"))
    with pytest.raises(Refused) as caught:
        client.files.content(ID)
    assert caught.value.code == "gone"


def test_the_qr_code_is_the_picture_as_it_came(api: FakeApi, client: Client) -> None:
    api.on("GET", f"/files/{ID}/qr-code", Answer(b"\x89PNG", headers={"Content-Type": "image/png"}))
    assert client.files.qr(ID) == b"\x89PNG"
