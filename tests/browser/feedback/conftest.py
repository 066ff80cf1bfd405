"""Fixtures for feedback: a separate server, a new document, and readers in new browser profiles."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.browsers.browser import PHONE, Visitor, visitor
from tests.support.people.feedback_document import FeedbackDocument
from tests.support.servers.server_process import ServerProcess, run_server

PHONE_OPTIONS = {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True}

OpenReader = Callable[..., Visitor]


@pytest.fixture(scope="session")
def feedback_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Yield a server behind a proxy, so that every reader has a separate address and separate rate limits."""
    settings = {"DOCSHARE_TRUSTED_PROXIES": "127.0.0.1/32", "DOCSHARE_RATE_LIMIT": "100000"}
    with run_server(tmp_path_factory.mktemp("press"), **settings) as running:
        yield running


@pytest.fixture
def feedback_document(feedback_server: ServerProcess) -> FeedbackDocument:
    """Return a document of four pages with all feedback enabled."""
    return FeedbackDocument(feedback_server)


@pytest.fixture(scope="session")
def addresses() -> Iterator[str]:
    return (f"198.51.{upper}.{lower}" for upper, lower in itertools.product(range(100), range(1, 255)))


@pytest.fixture
def open_reader(browser: Browser, addresses: Iterator[str]) -> Iterator[OpenReader]:
    """Yield a function that opens a new reader, on a desktop unless options of the browser context are given. The
    test fails if a browser reports an error or a warning."""
    visitors: list[Visitor] = []
    with ExitStack() as stack:

        def open_visitor(**options: Any) -> Visitor:
            headers = {"X-Forwarded-For": next(addresses)}
            person = stack.enter_context(visitor(browser, **options, extra_http_headers=headers))
            visitors.append(person)
            return person

        yield open_visitor
        for person in visitors:
            assert person.complaints == []
