"""Fixtures for the tests of variants."""

from pathlib import Path

import pytest

from tests.cli.commands.fakes.variants import FakeVariants
from tests.support.outside.fake_api import FakeApi


@pytest.fixture
def fake_variants(api: FakeApi) -> FakeVariants:
    return FakeVariants(api)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "links.csv"
