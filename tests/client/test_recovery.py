"""Uploads whose answer is lost: the list of files decides, and nothing is uploaded twice by accident."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any

import pytest

from docshare.client import Client
from docshare.client.errors import ConnectionLost, UnknownOutcome
from docshare.contract.wire import format_instant
from tests.support.fake_api import BASE, UUID, FakeApi, FakeResponse, FakeTime, problem

CONTENT = b"%PDF-1.7 hello"
DROP = FakeResponse(connection_action="drop")
STORED = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "shareUrl": "https://d.example/aB3dE5fG7hJ9"}


def stored_file(number: int = 1, **more: Any) -> dict[str, Any]:
    base = {"uuid": UUID.format(number), "shortId": "aB3dE5fG7hJ9", "originalName": "deck.pdf", "size": len(CONTENT)}
    return base | {"createdAt": format_instant(int(BASE * 1000)), "shareUrl": "https://d.example/aB3dE5fG7hJ9"} | more


def upload_content(client: Client, name: str = "deck.pdf") -> dict[str, Any]:
    return client.files.upload(io.BytesIO(CONTENT), name)


def count_posts(api: FakeApi) -> int:
    return len(api.list_requests("POST", "/files"))


@pytest.mark.parametrize(
    "answer",
    [DROP, FakeResponse(connection_action="reset"), problem(502, "x"), problem(504, "x"), FakeResponse(b"<html>")],
)
def test_the_one_new_file_of_that_name_and_size_is_the_result(
    api: FakeApi, client: Client, answer: FakeResponse
) -> None:
    api.on("POST", "/files", answer)
    api.files = [stored_file()]
    assert upload_content(client) == {
        "uuid": UUID.format(1), "shortId": "aB3dE5fG7hJ9", "shareUrl": "https://d.example/aB3dE5fG7hJ9",
        "recovered": True,
    }  # fmt: skip
    assert count_posts(api) == 1


def test_a_server_that_lists_no_share_links_gets_the_usual_one(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [stored_file(shareUrl=None)]
    assert upload_content(client)["shareUrl"] == f"{api.url}/aB3dE5fG7hJ9"


@pytest.mark.parametrize(
    "other",
    [
        stored_file(originalName="other.pdf"),
        stored_file(size=999),
        stored_file(createdAt=format_instant(int((BASE - 60) * 1000))),
        stored_file(createdAt="yesterday"),
        stored_file(sha256="0" * 64),
    ],
)
def test_a_file_that_is_not_it_leads_to_a_second_sending(
    api: FakeApi, client: Client, time: FakeTime, other: dict[str, Any]
) -> None:
    api.on("POST", "/files", DROP, STORED)
    api.files = [other]
    assert upload_content(client) == STORED
    assert count_posts(api) == 2
    assert time.waits == [2.0, 5.0]


def test_equal_bytes_identify_it_even_if_the_server_renamed_it(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [stored_file(originalName="renamed.pdf", sha256=hashlib.sha256(CONTENT).hexdigest())]
    assert upload_content(client)["recovered"] is True


def test_a_converted_file_is_known_by_its_name_alone(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [stored_file(originalName="plan.pdf", size=77_777, sha256="0" * 64)]
    assert upload_content(client, "plan.docx")["recovered"] is True


def test_a_file_that_appears_only_a_moment_later_is_found(api: FakeApi, client: Client, time: FakeTime) -> None:
    api.on("POST", "/files", DROP)
    time.on_sleep = lambda seconds: api.files.append(stored_file()) if seconds == 5.0 else None
    assert upload_content(client)["recovered"] is True
    assert count_posts(api) == 1


def test_the_server_s_own_clock_decides_what_is_new(api: FakeApi, client: Client) -> None:
    """Here it runs an hour behind this machine's."""
    api.on("POST", "/files", DROP)
    created = format_instant(int((BASE - 3600) * 1000))
    api.wall = lambda: BASE - 3600
    api.files = [stored_file(createdAt=created)]
    assert upload_content(client)["recovered"] is True


def test_several_candidates_leave_the_outcome_unknown(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [stored_file(1), stored_file(2)]
    with pytest.raises(UnknownOutcome, match="2 files could be its result") as caught:
        upload_content(client)
    assert [each["uuid"] for each in caught.value.candidates] == [UUID.format(1), UUID.format(2)]
    assert count_posts(api) == 1


def test_a_file_that_another_upload_of_this_run_made_is_no_candidate(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", STORED, DROP)
    upload_content(client)
    api.files = [stored_file(1), stored_file(2)]
    assert upload_content(client.fork())["uuid"] == UUID.format(2)


def test_it_is_sent_a_second_time_but_never_a_third(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    with pytest.raises(UnknownOutcome, match="no such file has appeared"):
        upload_content(client)
    assert count_posts(api) == 2


def test_after_silence_it_is_not_sent_again_for_the_server_may_still_be_at_work(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", problem(504, "x"))
    with pytest.raises(UnknownOutcome):
        upload_content(client)
    assert count_posts(api) == 1


def test_without_retries_it_is_looked_for_but_not_sent_again(api: FakeApi, connect: Callable[..., Client]) -> None:
    api.on("POST", "/files", DROP)
    with pytest.raises(UnknownOutcome):
        upload_content(connect(retries=0))
    assert (count_posts(api), len(api.list_requests("GET", "/files"))) == (1, 3)


def test_a_list_that_cannot_be_read_leaves_the_outcome_unknown(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.on("GET", "/files", problem(403, "insufficient_scope", "needs files:read"))
    with pytest.raises(UnknownOutcome, match="needs files:read"):
        upload_content(client)
    assert count_posts(api) == 1


def test_a_file_that_never_left_needs_no_looking_for(api: FakeApi, connect: Callable[..., Client]) -> None:
    api.on("POST", "/files", FakeResponse(read_bytes=10, connection_action="reset"))
    with pytest.raises(ConnectionLost):
        connect(retries=0).files.upload(io.BytesIO(bytes(5_000_000)), "deck.pdf")
    assert api.list_requests("GET", "/files") == []


def test_the_digest_comes_with_a_recovered_result_too(api: FakeApi, client: Client) -> None:
    api.on("POST", "/files", DROP)
    api.files = [stored_file()]
    result = client.files.upload(io.BytesIO(CONTENT), "deck.pdf", digest=True)
    assert (result["recovered"], result["sha256"]) == (True, hashlib.sha256(CONTENT).hexdigest())
