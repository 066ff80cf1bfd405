"""Fixtures of the tests of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from flask.testing import FlaskClient

    from tests.support.cast import World


@pytest.fixture
def owner_browser(world: World) -> FlaskClient:
    """Return the signed-in browser of Pia."""
    from tests.support.owner import sign_in_browser

    return sign_in_browser(world, world.pia)
