"""``client.imports``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from docshare.client import Client
from docshare.client.errors import NotConnected, Refused, UnknownOutcome
from tests.support.fake_api import UUID, FakeApi, FakeResponse, FakeTime, problem

URL = "https://designs.example/q3.pdf"
RESULT = {"uuid": UUID.format(1), "shortId": "aB3dE5fG7h01", "shareUrl": "https://d.example/aB3dE5fG7h01"}
PATH = "/files/import"


@pytest.mark.parametrize(
    ("name", "sent"), [(None, {"url": URL}), ("Q3 \u00fc.pdf", {"url": URL, "filename": "Q3 \u00fc.pdf"})]
)
def test_an_import_is_a_json_post(api: FakeApi, client: Client, name: str | None, sent: dict[str, str]) -> None:
    api.on("POST", PATH, RESULT | {"new": None})
    assert client.imports.create(URL, name) == RESULT | {"new": None}
    assert json.loads(api.requests[0].body) == sent
    assert api.requests[0].headers["Content-Type"] == "application/json"


def test_each_status_has_its_own_number_of_tries(api: FakeApi, client: Client, time: FakeTime) -> None:
    """409 is tried twice more and 502 once, also when they alternate; together never more than --retries."""
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
def test_after_a_lost_answer_the_outcome_is_unknown_and_nothing_is_repeated(
    api: FakeApi, client: Client, lost: FakeResponse
) -> None:
    api.on("POST", PATH, lost, RESULT)
    with pytest.raises(UnknownOutcome) as caught:
        client.imports.create(URL)
    assert caught.value.path == "/api/v1/files/import"
    assert len(api.requests) == 1


def test_a_server_that_is_not_there_is_no_unknown_outcome(connect: Callable[..., Client]) -> None:
    with pytest.raises(NotConnected):
        connect(base_url="http://127.0.0.1:9", retries=0).imports.create(URL)
