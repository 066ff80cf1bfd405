"""What the owner puts around the pages stands where the settings say, each thing by itself."""

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Share
from tests.support.browsing import DESKTOP, PHONE, visitor
from tests.support.dressing import Dressed, box
from tests.support.pdfs import A4, simple_pdf
from tests.support.served import Served

CTA = {"label": "Book a meeting", "url": "https://acme.test/meet"}
WINDOWS = {
    "desk": {"viewport": {"width": 1440, "height": 900}, "user_agent": DESKTOP},
    "tablet": {"viewport": {"width": 820, "height": 1180}, "user_agent": DESKTOP},
    "phone": {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True},
}


@pytest.fixture(scope="module")
def sheet(server: Served, share: Share) -> Dressed:
    return Dressed(server, share(simple_pdf(pages=2, size=A4), "Sheet.pdf"))


def blocks(sheet: Dressed, what: str, corner: str) -> dict[str, Any]:
    """Settings with ``what`` in ``corner`` and, but for the badge, nothing else there."""
    if what == ".badge":
        return {"brand": {"badgePosition": corner}}
    hidden = {"hideBadge": True}
    if what == ".logo":
        return {"logo": {"assetId": sheet.logo, "position": corner} | hidden}
    return {"cta": CTA | {"position": corner}, "logo": hidden}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("what", [".logo", ".badge", ".cta"])
def test_it_stands_in_the_corner_that_was_set(browser: Browser, sheet: Dressed, what: str, window: str) -> None:
    size = WINDOWS[window]["viewport"]
    with visitor(browser, **WINDOWS[window]) as person:
        for corner in ("tl", "tr", "bl", "br"):
            sheet.wear(**blocks(sheet, what, corner))
            left, top, right, bottom = box(person.open(sheet.url), what)
            across, along = (left + right) / 2 / size["width"], (top + bottom) / 2 / size["height"]
            assert (across < 0.5, along < 0.5) == (corner[1] == "l", corner[0] == "t"), corner
            assert min(left, size["width"] - right) < 40, corner
            assert 0 <= top < bottom <= size["height"], corner
        assert person.complaints == []
