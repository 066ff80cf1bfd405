from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docshare.client import Client
from tests.support.outside.fake_api import FakeApi, FakeTime
from tests.support.outside.fake_api_fixtures import api, time

__all__ = ["api", "time"]

TOKEN = "ds_live_" + "k" * 32


@pytest.fixture
def connect(api: FakeApi, time: FakeTime) -> Iterator[Callable[..., Client]]:
    """Return a function that creates clients of ``api`` on fake time; it takes the keyword arguments of ``Client``."""
    clients: list[Client] = []

    def make(**options: Any) -> Client:
        options = {"token": TOKEN, "clock": time.make_clock(), **options}
        clients.append(Client(options.pop("base_url", api.url), options.pop("token"), **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Callable[..., Client]) -> Client:
    return connect()
