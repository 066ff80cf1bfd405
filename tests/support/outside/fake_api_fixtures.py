"""The fixtures ``time`` and ``api``: fake time, and an API server on it. A conftest imports them."""

from collections.abc import Iterator

import pytest

from tests.support.outside.fake_api import FakeApi, FakeTime, fake_api


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def api(time: FakeTime) -> Iterator[FakeApi]:
    with fake_api() as running:
        running.wall = lambda: time.wall
        yield running
