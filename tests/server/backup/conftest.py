from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.people.cast import World
from tests.support.servers.instance_backup import Operator, populate_instance


@pytest.fixture
def operator(world: World, tmp_path: Path) -> Operator:
    """Return the operator of the instance of ``world``."""
    return Operator(world, tmp_path)


@pytest.fixture
def populated_operator(operator: Operator) -> Operator:
    """Return the operator of an instance with data of every kind."""
    populate_instance(operator)
    return operator


@pytest.fixture
def own_backup(populated_operator: Operator) -> Path:
    """Return a backup of the operator's own instance."""
    return populated_operator.make_backup()
