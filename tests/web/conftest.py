"""Fixtures of the tests of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flask.testing import FlaskClient

    from tests.support.people.cast import World
    from tests.support.people.feedback_client import FeedbackClient


@pytest.fixture
def owner_browser(world: World) -> FlaskClient:
    """Return the signed-in browser of Pia."""
    from tests.support.owner.browser import sign_in_browser

    return sign_in_browser(world, world.pia)


@pytest.fixture
def patient_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one request read the texts of pages for as long as a busy machine needs."""
    monkeypatch.setattr("docshare.server.web.scriptless._BUDGET_S", 60.0)
    monkeypatch.setattr("docshare.server.services.files.finding._BUDGET_S", 60.0)


@pytest.fixture
def ann(world: World, uploaded_file: dict[str, Any]) -> FeedbackClient:
    """Return a reader of the uploaded file."""
    from tests.support.people.feedback_client import FeedbackClient

    return FeedbackClient(world, uploaded_file["shortId"])
