"""``client.public``: what needs no credential."""

from __future__ import annotations

import io

import pytest

from docshare.client import Client
from docshare.client.errors import Refused, UnknownOutcome
from tests.support.outside.fake_api import FakeApi, FakeResponse, problem

SHARED = {"uuid": "u", "claimToken": "ds_ct_x", "manageToken": "ds_mt_x"}


@pytest.mark.parametrize(
    "lost",
    [FakeResponse(connection_action="drop"), problem(504, "x"), FakeResponse(b"<html>")],
    ids=["dropped", "504", "HTML"],
)
def test_an_anonymous_upload_whose_response_was_lost_has_an_unknown_outcome(
    api: FakeApi, client: Client, lost: FakeResponse
) -> None:
    """The document may be shared, under a link and with tokens that nobody knows."""
    api.on("POST", "/api/files", lost, SHARED)
    with pytest.raises(UnknownOutcome, match="the answer to the upload was lost"):
        client.public.upload(io.BytesIO(b"%PDF-1.7"), "deck.pdf")
    assert len(api.requests) == 1


def test_a_rejected_anonymous_upload_is_not_reported_as_lost(api: FakeApi, client: Client) -> None:
    api.on("POST", "/api/files", problem(404, "not_found"))
    with pytest.raises(Refused):
        client.public.upload(io.BytesIO(b"%PDF-1.7"), "deck.pdf")
