"""``client.settings``."""

from __future__ import annotations

import json

import pytest

from docshare.client import Client
from docshare.client.errors import Refused
from docshare.contract.problems import Problem
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, problem

ID = UUID.format(1)
PATH = f"/files/{ID}/settings"


def test_settings_are_sent_as_json_and_an_empty_response_is_success(api: FakeApi, client: Client) -> None:
    api.on("PUT", PATH, FakeResponse(b"", headers={"Content-Type": "application/json"}))
    client.settings.write(ID, {"slug": "q3", "password": "öffne", "viewLimit": 3})
    (request,) = api.list_requests("PUT", PATH)
    assert json.loads(request.body) == {"slug": "q3", "password": "öffne", "viewLimit": 3}
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Content-Length"] == str(len(request.body))


@pytest.mark.parametrize(
    "lost", [problem(500, "internal"), problem(503, "unavailable"), FakeResponse(connection_action="drop")]
)
def test_a_failed_write_is_retried_because_it_is_idempotent(api: FakeApi, client: Client, lost: FakeResponse) -> None:
    api.on("PUT", PATH, lost, FakeResponse(b""))
    client.settings.write(ID, {"slug": "q3"})
    assert [json.loads(request.body) for request in api.list_requests("PUT", PATH)] == [{"slug": "q3"}] * 2


def test_a_rejection_raises_the_problem_of_the_server(api: FakeApi, client: Client) -> None:
    api.on("PUT", PATH, problem(410, "gone", "dead"))
    with pytest.raises(Refused) as caught:
        client.settings.write(ID, {})
    assert (caught.value.code, caught.value.detail, caught.value.method) == ("gone", "dead", "PUT")


@pytest.mark.parametrize("name", ["..", "a/b", "", "a?x"])
def test_an_invalid_id_is_rejected_without_a_request(api: FakeApi, client: Client, name: str) -> None:
    with pytest.raises(Problem):
        client.settings.write(name, {})
    assert api.requests == []
