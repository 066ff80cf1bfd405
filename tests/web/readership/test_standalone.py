"""The readership report as a standalone HTML file."""

from docshare.report.standalone import render_standalone
from tests.support.browsers.markup import parse_html
from tests.support.people.reports import full_material


def test_the_standalone_file_loads_nothing_and_shows_its_time_and_server() -> None:
    page = parse_html(render_standalone(full_material(), "https://docs.example.com"))
    policy = page.find_one("meta", **{"http-equiv": "Content-Security-Policy"}).attrs["content"]
    assert policy.startswith("default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src 'sha")
    assert "unsafe" not in policy
    assert page.find_all("script") == []
    assert page.find_all("link") == []
    assert page.find_one("head").find_one("title").words == "Series A deck – autumn 2026.pdf · Readership"
    assert page.find_one("footer").words.startswith("Created on 21 Sep 2026, 14:13 UTC from https://docs.example.com.")


def test_the_standalone_file_has_the_page_design_without_its_web_font() -> None:
    style = "".join(parse_html(render_standalone(full_material(), "https://docs.example.com")).find_one("style").parts)
    assert "--accent: #2b55d4;" in style
    assert "@font-face" not in style
    assert "url(" not in style
