"""Fixtures of the tests of the owner's pages of a file."""

import pytest

from tests.support.owner.file import OwnerFile
from tests.support.people.cast import World


@pytest.fixture
def owner_file(world: World) -> OwnerFile:
    """Upload a file of Pia, who opens its pages."""
    return OwnerFile(world, world.pia)
