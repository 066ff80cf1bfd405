"""Fixtures of the tests of the paged modes."""

import pytest

from tests.support.browsers.paged_viewer import PAGED_MODES, PublishInMode
from tests.support.documents.pdfs import A4, simple_pdf


@pytest.fixture(scope="module", params=PAGED_MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def report(publish: PublishInMode, mode: str) -> str:
    """Return the URL of a document of twelve portrait pages in ``mode``."""
    return publish(simple_pdf(pages=12, size=A4), mode)
