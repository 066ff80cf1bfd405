"""``client.keys``."""

from __future__ import annotations

from docshare.client import Client
from tests.support.outside.fake_api import UUID, FakeApi, FakeResponse, problem

DROP = FakeResponse(connection_action="drop")


def test_a_revocation_whose_response_was_lost_succeeds(api: FakeApi, client: Client) -> None:
    api.on("DELETE", f"/keys/{UUID.format(1)}", DROP, problem(404, "not_found"))
    client.keys.revoke(UUID.format(1))
    assert len(api.list_requests("DELETE", f"/keys/{UUID.format(1)}")) == 2
