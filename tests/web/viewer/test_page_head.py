"""The head of a page: its description, and the style sheets that browsers wait for."""

import pytest

from tests.support.documents.pdfs import simple_pdf
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.web.viewer.test_viewer_html import PageParser


def parse_head(world: World, path: str) -> tuple[list[str], list[str]]:
    """Return the descriptions of the page at ``path``, and the names of its style sheets."""
    page = PageParser(world.http.get(path).text)
    descriptions = [attrs["content"] for attrs in page.find_all("meta") if attrs.get("name") == "description"]
    styles = [attrs["href"] for attrs in page.find_all("link") if attrs.get("rel") == "stylesheet"]
    return descriptions, [style.rpartition("/")[2] for style in styles]


@pytest.mark.parametrize(
    ("path", "others"), [("/", []), ("/login", ["sign-in.css"]), ("/there-is-nothing", []), ("/files", [])]
)
def test_a_page_of_the_site_has_a_description_and_few_style_sheets(world: World, path: str, others: list[str]) -> None:
    descriptions, styles = parse_head(world, path)
    assert descriptions == ["Share documents, and see what is read"]
    assert styles == ["sheet-page.css", *others]


def test_the_description_of_a_share_page_contains_only_the_page_count(
    world: World,
) -> None:
    uploaded_file = world.pia.upload(simple_pdf(pages=2), "Offer.pdf")
    path = f"/{uploaded_file['shortId']}"
    assert parse_head(world, path)[0] == ["A shared document, 2 pages"]
    put_settings(world, uploaded_file, password="open sesame")
    descriptions, styles = parse_head(world, path)
    assert descriptions == ["A shared document with restricted access"]
    assert styles == ["sheet-page.css", "gate.css"]


def test_a_combined_style_sheet_has_all_its_parts(world: World) -> None:
    """In the order in which pages linked them."""
    sheet = world.http.get("/static/now/sheet-page.css").text
    parts = [world.http.get(f"/static/now/{name}").text for name in ("design.css", "page.css")]
    assert sheet == "".join(parts)
