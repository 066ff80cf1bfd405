"""Fixtures of the tests of settings."""

import pytest

from tests.support.people.cast import World
from tests.support.people.settings import ConfiguredFile


@pytest.fixture
def file(world: World) -> ConfiguredFile:
    """Upload a three-page file of Pia, who is on Pro."""
    return ConfiguredFile(world, world.pia)
