"""Uploads whose response is lost: the client looks in the list of files, and never uploads twice by accident."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import ConnectionLost, UnknownOutcome
from docshare.contract.wire import format_instant
from tests.support.outside.fake_api import BASE, UUID, FakeApi, FakeResponse, FakeTime, problem

CONTENT = b"%PDF-1.7 hello"
DROP = FakeResponse(connection_action="drop")
STORED = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "shareUrl": "https://d.example/aB3dE5fG7hJ9"}


def make_stored_file(number: int = 1, **more: Any) -> dict[str, Any]:
    base = {"uuid": UUID.format(number), "shortId": "aB3dE5fG7hJ9", "originalName": "deck.pdf", "size": len(CONTENT)}
    return base | {"createdAt": format_instant(int(BASE * 1000)), "shareUrl": "https://d.example/aB3dE5fG7hJ9"} | more


def upload_content(client: Client, name: str = "deck.pdf") -> Mapping[str, Any]:
    return client.files.upload(io.BytesIO(CONTENT), name)


def count_posts(api: FakeApi) -> int:
    return len(api.list_requests("POST", "/files"))


@pytest.mark.parametrize(
    "answer",
    [DROP, FakeResponse(connection_action="reset"), problem(502, "x"), problem(504, "x"), FakeResponse(b"<html>")],
)
def test_a_lost_upload_is_recovered_by_name_and_size(api: FakeApi, client: Client, answer: FakeResponse) -> None:
    api.on("POST", "/files", answer)
    api.files = [make_stored_file()]
    assert upload_content(client) == {
        "uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "shareUrl": "https://d.example/aB3dE5fG7hJ9",
        "recovered": True, "message": "The file was uploaded; the response was lost.",
    }  # fmt: skip
    assert count_posts(api) == 1


def test_a_recovered_file_without_a_share_url_gets_the_default_one(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [make_stored_file(shareUrl=None)]
    assert upload_content(client)["shareUrl"] == f"{api.url}/aB3dE5fG7hJ9"


@pytest.mark.parametrize(
    "other",
    [
        make_stored_file(originalName="other.pdf"),
        make_stored_file(size=999),
        make_stored_file(createdAt=format_instant(int((BASE - 60) * 1000))),
        make_stored_file(createdAt="yesterday"),
        make_stored_file(sha256="0" * 64),
    ],
)
def test_a_lost_upload_is_retried_if_the_list_has_no_matching_file(
    api: FakeApi, client: Client, time: FakeTime, other: dict[str, Any]
) -> None:
    api.on("POST", "/files", DROP, STORED)
    api.files = [other]
    assert upload_content(client) == STORED
    assert count_posts(api) == 2
    assert time.waits == [2.0, 5.0]


def test_a_file_with_the_same_digest_matches_even_if_renamed(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [make_stored_file(originalName="renamed.pdf", sha256=hashlib.sha256(CONTENT).hexdigest())]
    assert upload_content(client)["recovered"] is True


def test_a_converted_file_is_matched_by_name_alone(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [make_stored_file(originalName="plan.pdf", size=77_777, sha256="0" * 64)]
    assert upload_content(client, "plan.docx")["recovered"] is True


def test_the_list_is_checked_again_before_a_retry(api: FakeApi, client: Client, time: FakeTime) -> None:
    api.on("POST", "/files", DROP)
    time.on_sleep = lambda seconds: api.files.append(make_stored_file()) if seconds == 5.0 else None
    assert upload_content(client)["recovered"] is True
    assert count_posts(api) == 1


def test_new_files_are_recognized_by_the_clock_of_the_server(api: FakeApi, client: Client) -> None:
    """In this test it runs an hour behind the clock of this machine."""
    api.on("POST", "/files", DROP)
    created = format_instant(int((BASE - 3600) * 1000))
    api.wall = lambda: BASE - 3600
    api.files = [make_stored_file(createdAt=created)]
    assert upload_content(client)["recovered"] is True


def test_several_matching_files_raise_unknown_outcome(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [make_stored_file(1), make_stored_file(2)]
    with pytest.raises(UnknownOutcome, match="2 files could be its result") as caught:
        upload_content(client)
    assert [each["uuid"] for each in caught.value.candidates] == [UUID.format(1), UUID.format(2)]
    assert count_posts(api) == 1


def test_a_file_uploaded_by_a_fork_of_the_client_is_not_a_match(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", STORED, DROP)
    upload_content(client)
    api.files = [make_stored_file(1), make_stored_file(2)]
    assert upload_content(client.fork())["uuid"] == UUID.format(2)


def test_a_lost_upload_is_retried_only_once(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    with pytest.raises(UnknownOutcome, match="no such file has appeared"):
        upload_content(client)
    assert count_posts(api) == 2


def test_an_upload_that_timed_out_at_the_gateway_is_not_retried(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", problem(504, "x"))
    with pytest.raises(UnknownOutcome):
        upload_content(client)
    assert count_posts(api) == 1


def test_with_zero_retries_a_lost_upload_is_looked_up_but_not_resent(
    api: FakeApi, connect: Callable[..., Client]
) -> None:
    api.on("POST", "/files", DROP)
    with pytest.raises(UnknownOutcome):
        upload_content(connect(retries=0))
    assert (count_posts(api), len(api.list_requests("GET", "/files"))) == (1, 3)


def test_an_unreadable_file_list_raises_unknown_outcome(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.on("GET", "/files", problem(403, "insufficient_scope", "needs files:read"))
    with pytest.raises(UnknownOutcome, match="needs files:read"):
        upload_content(client)
    assert count_posts(api) == 1


def test_an_upload_that_was_not_fully_sent_is_not_looked_up(api: FakeApi, connect: Callable[..., Client]) -> None:
    api.on("POST", "/files", FakeResponse(read_bytes=10, connection_action="reset"))
    with pytest.raises(ConnectionLost):
        connect(retries=0).files.upload(io.BytesIO(bytes(5_000_000)), "deck.pdf")
    assert api.list_requests("GET", "/files") == []


def test_a_recovered_result_includes_the_digest(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [make_stored_file()]
    result = client.files.upload(io.BytesIO(CONTENT), "deck.pdf", digest=True)
    assert (result["recovered"], result["sha256"]) == (True, hashlib.sha256(CONTENT).hexdigest())
