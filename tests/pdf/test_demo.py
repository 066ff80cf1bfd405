"""The document that ships with the server."""

from pathlib import Path

import docshare.server
from docshare.server.pdf.engine import PdfEngine

TOUR = Path(docshare.server.__file__).parent / "demo" / "docshare-tour.pdf"


def test_the_tour_is_small_and_complete(engine: PdfEngine) -> None:
    assert TOUR.stat().st_size < 300_000
    assert engine.inspect(TOUR).sizes == [(960, 540)] * 8


def test_every_page_of_the_tour_is_readable(engine: PdfEngine) -> None:
    for page in range(1, 9):
        assert engine.render(TOUR, page, 1600)
        assert len(engine.text(TOUR, page).boxes) > 5


def test_the_tour_links_only_to_its_own_pages(engine: PdfEngine) -> None:
    targets = [link.target for page in range(1, 9) for link in engine.text(TOUR, page).links]
    assert targets[:3] == [{"page": 3}, {"page": 4}, {"page": 5}]
    assert all("page" in target for target in targets)


def test_the_tour_states_the_rule_for_counting(engine: PdfEngine) -> None:
    text = " ".join(box.text for box in engine.text(TOUR, 6).boxes)
    assert "Two seconds or more on the page" in text
    assert "A tap, a key or a turn of the wheel" in text
