"""``client.keys``."""

from __future__ import annotations

import pytest

from docshare.client import Client
from docshare.client.errors import Refused, UnknownOutcome
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, problem

DROP = FakeResponse(connection_action="drop")
KEY = {"uuid": UUID.format(1), "name": "ci", "key": "ds_rk_x"}


@pytest.mark.parametrize("lost", [DROP, problem(502, "x"), FakeResponse(b"<html>")], ids=["dropped", "502", "HTML"])
def test_a_key_whose_response_was_lost_is_not_created_twice(api: FakeApi, client: Client, lost: FakeResponse) -> None:
    """Nobody would know the first one."""
    api.on("POST", "/keys", lost, FakeResponse(KEY, 201))
    with pytest.raises(UnknownOutcome, match="the answer to the new key was lost"):
        client.keys.create("ci", ["files:read"])
    assert len(api.list_requests("POST", "/keys")) == 1


def test_a_busy_server_gets_the_request_for_a_key_again(api: FakeApi, client: Client) -> None:
    api.on("POST", "/keys", problem(503, "unavailable"), FakeResponse(KEY, 201))
    assert client.keys.create("ci", ["files:read"])["key"] == "ds_rk_x"


def test_a_rejected_key_is_not_reported_as_lost(api: FakeApi, client: Client) -> None:
    api.on("POST", "/keys", problem(403, "forbidden"))
    with pytest.raises(Refused):
        client.keys.create("ci", ["files:read"])


def test_a_revocation_whose_response_was_lost_succeeds(api: FakeApi, client: Client) -> None:
    api.on("DELETE", f"/keys/{UUID.format(1)}", DROP, problem(404, "not_found"))
    client.keys.revoke(UUID.format(1))
    assert len(api.list_requests("DELETE", f"/keys/{UUID.format(1)}")) == 2
