from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cast import World
from tests.support.saved import Operator


@pytest.fixture
def operator(world: World, tmp_path: Path) -> Operator:
    """Who looks after the instance of ``world``."""
    return Operator(world, tmp_path)
