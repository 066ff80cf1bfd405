"""``client.settings``."""

from __future__ import annotations

import json

import pytest

from docshare.client import Client
from docshare.client.errors import Refused
from docshare.contract.problems import Problem
from tests.support.fake_api import UUID, FakeApi, FakeResponse, problem

ID = UUID.format(1)
PATH = f"/files/{ID}/settings"


def test_settings_are_written_as_json_and_the_empty_answer_is_success(api: FakeApi, client: Client) -> None:
    api.on("PUT", PATH, FakeResponse(b"", headers={"Content-Type": "application/json"}))
    client.settings.write(ID, {"slug": "q3", "password": "öffne", "viewLimit": 3})
    (heard,) = api.list_requests("PUT", PATH)
    assert json.loads(heard.body) == {"slug": "q3", "password": "öffne", "viewLimit": 3}
    assert heard.headers["Content-Type"] == "application/json"
    assert heard.headers["Content-Length"] == str(len(heard.body))


@pytest.mark.parametrize(
    "lost", [problem(500, "internal"), problem(503, "unavailable"), FakeResponse(connection_action="drop")]
)
def test_a_write_is_repeated_since_twice_is_once(api: FakeApi, client: Client, lost: FakeResponse) -> None:
    api.on("PUT", PATH, lost, FakeResponse(b""))
    client.settings.write(ID, {"slug": "q3"})
    assert [json.loads(heard.body) for heard in api.list_requests("PUT", PATH)] == [{"slug": "q3"}] * 2


def test_a_refusal_is_raised_as_it_was_heard(api: FakeApi, client: Client) -> None:
    api.on("PUT", PATH, problem(410, "gone", "dead"))
    with pytest.raises(Refused) as caught:
        client.settings.write(ID, {})
    assert (caught.value.code, caught.value.detail, caught.value.method) == ("gone", "dead", "PUT")


@pytest.mark.parametrize("name", ["..", "a/b", "", "a?x"])
def test_what_is_no_id_reaches_no_server(api: FakeApi, client: Client, name: str) -> None:
    with pytest.raises(Problem):
        client.settings.write(name, {})
    assert api.requests == []
