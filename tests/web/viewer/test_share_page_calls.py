"""The work for a share page: anybody can request it without pause, and it must not slow down other accounts."""

import cProfile
import pstats

import pytest

from tests.support.documents.pdfs import many_pages_pdf
from tests.support.people.cast import World

CALLS_PER_PAGE = 60


def count_calls(world: World, path: str) -> int:
    """Return the number of function calls for ``path``, once caches are filled."""
    http = world.app.test_client(use_cookies=False)
    for _ in range(2):
        assert http.get(path).status_code == 200
    profile = cProfile.Profile()
    profile.runcall(http.get, path)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_each_page_of_a_document_costs_few_calls(world: World) -> None:
    few, many = (world.pia.upload(many_pages_pdf(pages))["shortId"] for pages in (20, 200))
    calls = count_calls(world, f"/{many}") - count_calls(world, f"/{few}")
    assert calls < 180 * CALLS_PER_PAGE


@pytest.mark.parametrize("path", ["/api/files/{}/qr-code", "/oembed?url=http://127.0.0.1:8787/{}"])
def test_codes_and_descriptions_of_links_cost_few_calls(world: World, path: str) -> None:
    """Rendering a QR code takes 28,000 calls, so it is done once."""
    assert count_calls(world, path.format(world.pia.upload()["shortId"])) < 4000
