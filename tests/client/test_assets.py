"""Assets: a multipart upload with the kind before the file."""

from __future__ import annotations

import io
from email import message_from_bytes

import pytest

from docshare.client import Client
from docshare.client.errors import UnknownOutcome
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse

ASSET = {"assetId": UUID.format(5), "kind": "logo", "mimeType": "image/png", "size": 4}
PATH = "/files/aB3dE5fG7hJ9/assets"


def test_kind_and_file_are_sent_as_parts_of_one_body(api: FakeApi, client: Client) -> None:
    api.on("POST", PATH, ASSET)
    assert client.assets.add("aB3dE5fG7hJ9", io.BytesIO(b"\x89PNG"), 'l"o.png', "logo") == ASSET
    (request,) = api.requests
    form = message_from_bytes(b"Content-Type: " + request.headers["Content-Type"].encode() + b"\r\n\r\n" + request.body)
    kind, file = form.get_payload()  # type: ignore[misc]
    assert (kind["Content-Disposition"], kind.get_payload()) == ('form-data; name="kind"', "logo")  # type: ignore[index, union-attr]
    assert file["Content-Disposition"] == 'form-data; name="file"; filename="l%22o.png"'  # type: ignore[index]
    assert request.body.count(b"\x89PNG") == 1
    assert int(request.headers["Content-Length"]) == len(request.body)


@pytest.mark.parametrize(("kind", "sent"), [("logo", 2), ("background", 2), ("hotspot-audio", 1)])
def test_only_an_upload_that_replaces_its_predecessor_is_retried(
    api: FakeApi, client: Client, kind: str, sent: int
) -> None:
    api.on("POST", PATH, FakeResponse(connection_action="drop"), ASSET)
    try:
        client.assets.add("aB3dE5fG7hJ9", io.BytesIO(b"ID3"), "x", kind)
    except UnknownOutcome:
        assert sent == 1
    assert len(api.requests) == sent
