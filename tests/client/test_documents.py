"""Documents are sent from paths, bytes, and streams, and received completely or not at all."""

import io
from pathlib import Path

import pytest

from docshare.client import Client
from docshare.client.errors import LocalFileError, TransportError
from docshare.client.http.sources import Document
from docshare.contract.problems import Problem
from tests.support.outside.fake_api import FakeApi, FakeResponse

CONTENT = b"%PDF-1.7 " + bytes(range(256)) * 40
RESULT = {"uuid": "9f8b7c6d-0001-4000-8000-000000000001", "shareUrl": "https://d.example/x", "message": "ok"}


class Pipe(io.RawIOBase):
    """A stream that cannot be rewound."""

    def __init__(self) -> None:
        self._left = io.BytesIO(CONTENT)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._left.readinto(buffer)


def make_documents(folder: Path) -> dict[str, Document]:
    path = folder / "offer.pdf"
    path.write_bytes(CONTENT)
    return {"str": str(path), "path": path, "bytes": CONTENT, "stream": io.BytesIO(CONTENT), "pipe": Pipe()}


@pytest.mark.parametrize("kind", ["str", "path", "bytes", "stream", "pipe"])
@pytest.mark.parametrize("is_new", [True, False])
def test_every_kind_of_document_is_sent(api: FakeApi, client: Client, tmp_path: Path, kind: str, is_new: bool) -> None:
    path = "/files" if is_new else f"/files/{RESULT['uuid']}/content"
    api.on("POST", path, RESULT)
    document = make_documents(tmp_path)[kind]
    if is_new:
        client.files.upload(document, "sent.pdf")
    else:
        client.files.replace(RESULT["uuid"], document, "sent.pdf")
    assert api.list_requests("POST", path)[0].part() == ("sent.pdf", CONTENT)


def test_a_path_and_an_open_file_name_themselves(api: FakeApi, client: Client, tmp_path: Path) -> None:
    api.on("POST", "/files", RESULT, RESULT)
    path = make_documents(tmp_path)["path"]
    assert isinstance(path, Path)
    client.files.upload(path)
    with open(path, "rb") as stream:
        client.files.upload(stream)
    assert [heard.part()[0] for heard in api.list_requests("POST", "/files")] == ["offer.pdf", "offer.pdf"]


@pytest.mark.parametrize("kind", ["bytes", "stream", "pipe"])
def test_a_document_without_a_name_needs_one(client: Client, tmp_path: Path, kind: str) -> None:
    with pytest.raises(TypeError, match="name is required"):
        client.files.upload(make_documents(tmp_path)[kind])


def test_a_missing_path_is_reported(client: Client, tmp_path: Path) -> None:
    with pytest.raises(LocalFileError, match=r"cannot read .*none.pdf: No such file"):
        client.files.upload(tmp_path / "none.pdf")


def test_a_download_is_complete_or_leaves_the_old_file(api: FakeApi, client: Client, tmp_path: Path) -> None:
    target, stream, steps = tmp_path / "copy.pdf", io.BytesIO(), list[int]()
    target.write_bytes(b"old")
    path = f"/files/{RESULT['uuid']}/content"
    length = {"Content-Length": str(len(CONTENT) + 5)}
    short = FakeResponse(CONTENT, headers=length, connection_action="close")
    api.on("GET", path, short, FakeResponse(CONTENT), FakeResponse(CONTENT), FakeResponse(CONTENT))
    with pytest.raises(TransportError):
        client.files.download(RESULT["uuid"], target)
    assert target.read_bytes() == b"old"
    assert client.files.download(RESULT["uuid"], target, progress=steps.append) == len(CONTENT) == steps[-1]
    assert client.files.download(RESULT["uuid"], stream) == len(CONTENT)
    assert target.read_bytes() == stream.getvalue() == CONTENT
    with pytest.raises(LocalFileError, match="cannot write"):
        client.files.download(RESULT["uuid"], tmp_path / "missing" / "copy.pdf")
    assert [each.name for each in tmp_path.iterdir()] == ["copy.pdf"]


def test_a_missing_file_creates_no_file(client: Client, tmp_path: Path) -> None:
    with pytest.raises(Problem):
        client.files.download(RESULT["uuid"], tmp_path / "copy.pdf")
    assert list(tmp_path.iterdir()) == []
