"""``client.imports``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from docshare.client import Client
from docshare.client.errors import NotConnected, Refused, UnknownOutcome
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem

URL = "https://designs.example/q3.pdf"
RESULT = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7h01", "shareUrl": "https://d.example/aB3dE5fG7h01"}
PATH = "/files/import"


@pytest.mark.parametrize(
    ("name", "sent"), [(None, {"url": URL}), ("Q3 \u00fc.pdf", {"url": URL, "filename": "Q3 \u00fc.pdf"})]
)
def test_create_posts_json(api: FakeApi, client: Client, name: str | None, sent: dict[str, str]) -> None:
    api.on("POST", PATH, RESULT | {"new": None})
    assert client.imports.create(URL, name) == RESULT | {"new": None}
    assert json.loads(api.requests[0].body) == sent
    assert api.requests[0].headers["Content-Type"] == "application/json"


def test_each_status_has_its_own_number_of_retries(api: FakeApi, client: Client, time: FakeTime) -> None:
    """409 is retried twice and 502 once, even if they alternate; the total never exceeds --retries."""
    api.on("POST", PATH, *[problem(status, "x") for status in (409, 502, 409)], RESULT)
    assert client.imports.create(URL) == RESULT
    assert time.waits == [1.0, 2.0, 4.0]
    api.on("POST", PATH, *[problem(status, "x") for status in (502, 409, 502)], RESULT)
    with pytest.raises(Refused) as caught:
        client.imports.create(URL)
    assert caught.value.status == 502


@pytest.mark.parametrize(
    "lost",
    [
        FakeResponse(connection_action="drop"),
        FakeResponse(connection_action="reset"),
        problem(504, "x"),
        FakeResponse(b"<html>", 200),
    ],
)
def test_a_lost_response_raises_unknown_outcome_without_a_retry(
    api: FakeApi, client: Client, lost: FakeResponse
) -> None:
    api.on("POST", PATH, lost, RESULT)
    with pytest.raises(UnknownOutcome) as caught:
        client.imports.create(URL)
    assert caught.value.path == "/api/v1/files/import"
    assert len(api.requests) == 1


def test_an_unreachable_server_raises_not_connected(connect: Callable[..., Client]) -> None:
    with pytest.raises(NotConnected):
        connect(base_url="http://127.0.0.1:9", retries=0).imports.create(URL)
