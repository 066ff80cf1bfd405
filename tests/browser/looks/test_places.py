"""Logo, badge and call to action are in the configured corner."""

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import ShareDocument
from tests.support.browsers.browser import DESKTOP, PHONE, visitor
from tests.support.browsers.styled_document import StyledDocument, element_box
from tests.support.documents.pdfs import A4, simple_pdf
from tests.support.servers.server_process import ServerProcess

CTA = {"label": "Book a meeting", "url": "https://acme.test/meet"}
WINDOWS = {
    "desk": {"viewport": {"width": 1440, "height": 900}, "user_agent": DESKTOP},
    "tablet": {"viewport": {"width": 820, "height": 1180}, "user_agent": DESKTOP},
    "phone": {"viewport": {"width": 390, "height": 844}, "user_agent": PHONE, "has_touch": True, "is_mobile": True},
}


@pytest.fixture(scope="module")
def styled_document(server: ServerProcess, share: ShareDocument) -> StyledDocument:
    return StyledDocument(server, share(simple_pdf(pages=2, size=A4), "Sheet.pdf"))


def corner_blocks(sheet: StyledDocument, what: str, corner: str) -> dict[str, Any]:
    """Return settings with the element ``what`` in ``corner``, without the badge unless it is the element."""
    if what == ".badge":
        return {"brand": {"badgePosition": corner}}
    hidden = {"hideBadge": True}
    if what == ".logo":
        return {"logo": {"assetId": sheet.logo, "position": corner} | hidden}
    return {"cta": CTA | {"position": corner}, "logo": hidden}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("what", [".logo", ".badge", ".cta"])
def test_an_element_is_in_the_configured_corner(
    browser: Browser, styled_document: StyledDocument, what: str, window: str
) -> None:
    size = WINDOWS[window]["viewport"]
    with visitor(browser, **WINDOWS[window]) as person:
        for corner in ("tl", "tr", "bl", "br"):
            styled_document.apply_looks(**corner_blocks(styled_document, what, corner))
            left, top, right, bottom = element_box(person.open(styled_document.url), what)
            across, along = (left + right) / 2 / size["width"], (top + bottom) / 2 / size["height"]
            assert (across < 0.5, along < 0.5) == (corner[1] == "l", corner[0] == "t"), corner
            assert min(left, size["width"] - right) < 40, corner
            assert 0 <= top < bottom <= size["height"], corner
        assert person.complaints == []
