"""The preview of an appearance that is not saved yet, with and without the script of the page."""

import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from docshare.server.services.files import settings
from tests.contract.settings_table import ASSET
from tests.support.browsers.forms import Form
from tests.support.browsers.markup import HtmlElement, parse_html
from tests.support.engines.rows import update_file_row
from tests.support.owner.browser import sign_in_browser
from tests.support.people.cast import World
from tests.support.people.settings import ConfiguredFile
from tests.support.people.share_page import parse_facts

DARK = {"viewerMode": "flipbook", "viewerSettings.background.color": "#123456", "viewerSettings.page.rounded": "2"}


class LooksPage:
    """The looks page of a new file of Pia."""

    def __init__(self, world: World) -> None:
        self.file = ConfiguredFile(world, world.pia)
        self.http = sign_in_browser(world, world.pia)
        self.path = f"/files/{self.file.made['uuid']}/looks"

    def open_form(self) -> Form:
        return Form(self.http, self.path)

    def ask_as_script(self, **values: str) -> dict[str, Any]:
        """Return the response to the script for ``values`` in the form."""
        fields = self.open_form().fill(values).fields
        answer = self.http.post(f"{self.path}/preview", data=fields, headers={"Accept": "application/json"})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.get_json()
        return found

    def press(self, status: int = 200, **values: str) -> HtmlElement:
        """Fill the form and press the preview button; without scripts, the page with the form again."""
        answer = self.http.post(f"{self.path}/preview", data=self.open_form().fields | values)
        assert answer.status_code == status, answer.text
        return parse_html(answer.text)


@pytest.fixture
def looks(world: World) -> LooksPage:
    return LooksPage(world)


def read_facts(http: FlaskClient, url: str) -> dict[str, Any]:
    answer = http.get(url)
    assert answer.status_code == 200, answer.text
    return parse_facts(answer.text)


def read_css(http: FlaskClient, url: str) -> str:
    found = re.search(r'href="([^"]+/looks/preview\.css[^"]*)"', http.get(url).text)
    assert found
    return http.get(found[1].replace("&amp;", "&")).text


def test_the_preview_is_the_viewer_with_the_values_of_the_form_and_stores_nothing(looks: LooksPage) -> None:
    before = looks.file.read_row_and_bytes()
    url = looks.ask_as_script(**DARK)["preview"]
    facts = read_facts(looks.http, url)
    assert facts["viewerMode"] == "flipbook"
    assert facts["viewerSettings"]["background"]["color"] == "#123456"
    css = read_css(looks.http, url)
    assert "--room:#123456" in css
    assert "--page-radius:12px" in css
    assert looks.file.read_row_and_bytes() == before


def test_the_preview_without_changes_is_the_stored_appearance(looks: LooksPage) -> None:
    looks.file.change_settings(viewerMode="swipe")
    url = looks.ask_as_script()["preview"]
    assert url == f"{looks.path}/preview"
    assert read_facts(looks.http, url)["viewerMode"] == "swipe"
    frame = parse_html(looks.http.get(looks.path).text).find_one("iframe")
    assert frame.attrs["src"] == url


def test_a_background_image_is_loaded_from_the_share_link(looks: LooksPage) -> None:
    changed = {"viewerSettings.background.type": "image", "viewerSettings.background.assetId": ASSET}
    css = read_css(looks.http, looks.ask_as_script(**changed)["preview"])
    assert f'url("/{looks.file.made["uuid"]}/assets/{ASSET}")' in css


def test_the_preview_reports_no_reading_and_loads_no_analytics(looks: LooksPage) -> None:
    looks.file.change_settings(viewerSettings={"ga4Id": "G-ABCDE12345"}, commentsEnabled=True)
    answer = looks.http.get(f"{looks.path}/preview")
    facts = read_facts(looks.http, f"{looks.path}/preview")
    assert facts["token"] == ""
    assert "ga4Id" not in facts["viewerSettings"]
    assert "google" not in answer.headers["Content-Security-Policy"]
    assert "Set-Cookie" not in answer.headers


def test_only_pages_of_this_server_may_frame_the_preview(looks: LooksPage) -> None:
    answer = looks.http.get(f"{looks.path}/preview")
    assert answer.headers["Content-Security-Policy"].endswith("; frame-ancestors 'self'")
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    page = looks.http.get(looks.path)
    assert page.headers["Content-Security-Policy"].endswith("; frame-src 'self'; frame-ancestors 'none'")
    assert page.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("tail", ["", ".css"])
def test_nobody_else_sees_a_preview(looks: LooksPage, world: World, tail: str) -> None:
    query = looks.ask_as_script(**DARK)["preview"].partition("?")[2]
    assert world.http.get(f"{looks.path}/preview{tail}?{query}").status_code == 403
    assert sign_in_browser(world, world.mal).get(f"{looks.path}/preview{tail}?{query}").status_code == 404
    other_session = sign_in_browser(world, world.pia).get(f"{looks.path}/preview{tail}?{query}")
    assert other_session.status_code == 403
    assert looks.http.get(f"{looks.path}/preview{tail}?{query}").status_code == 200


def test_an_address_with_changes_that_the_form_did_not_make_shows_nothing(looks: LooksPage) -> None:
    url = looks.ask_as_script(**DARK)["preview"]
    for forged in (url.replace("draft=", "draft=e30"), url.partition("&by=")[0], f"{url}0", f"{url}%C3%A9"):
        assert looks.http.get(forged).status_code == 403


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ({"viewerSettings.page.shadow": "much"}, "viewerSettings.page.shadow", "Enter a number from 0 to 3."),
        ({"viewerSettings.cta.label": "Buy", "viewerSettings.cta.url": "http://example.com"}, "viewerSettings.cta.url",
         "It must be an https:// address"),
        ({"viewerSettings.ga4Id": "UA-1"}, "viewerSettings.ga4Id", "Enter an id of the form G-"),
    ],
)  # fmt: skip
def test_an_error_is_shown_at_its_field(looks: LooksPage, values: dict[str, str], field: str, message: str) -> None:
    answer = looks.ask_as_script(**values)
    control = f"c-{field.replace('.', '-')}"
    assert "preview" not in answer
    assert answer["errors"][control].startswith(message)
    assert answer["message"] == "The preview is waiting for a field to be corrected."
    for page in (looks.press(400, **values), looks.open_form().send_refused(400, values)):
        assert page.find_one("p", id=f"{control}-error").words.startswith(message)
        for name, value in values.items():
            assert page.find_one("input", name=name).attrs["value"] == value


def test_choices_are_named_in_words_and_keep_the_values_of_the_api(looks: LooksPage) -> None:
    page = parse_html(looks.http.get(looks.path).text)
    options = page.find_all("option")
    assert [one.words for one in options if not one.words[0].isupper()] == []
    assert {one.attrs["value"]: one.words for one in page.find_one("select", name="viewerMode").find_all("option")} == {
        "standard": "Standard: pages below each other",
        "flipbook": "Flipbook: pages that turn",
        "swipe": "Swipe: one page at a time",
        "magazine": "Magazine: two pages side by side",
    }
    kinds = page.find_one("select", name="viewerSettings.background.type").find_all("option")
    assert [(one.attrs["value"], one.words) for one in kinds] == [
        ("solid", "One color"), ("gradient", "Gradient"), ("image", "Image"),
    ]  # fmt: skip


def list_pressed_presets(page: HtmlElement) -> list[str]:
    presets = page.find_one("fieldset", class_="looks-presets")
    pressed = [one.words for one in presets.find_all("button") if one.attrs["aria-pressed"] == "true"]
    chosen = ", ".join(pressed) or "none; these are your own values"
    assert f"Chosen: {chosen}." in presets.words
    return pressed


def test_the_preset_whose_values_the_form_has_is_marked(looks: LooksPage) -> None:
    assert list_pressed_presets(parse_html(looks.http.get(looks.path).text)) == ["Plain"]
    assert list_pressed_presets(looks.press(preset="cinema")) == ["Cinema"]
    looks.file.change_settings(viewerSettings={"background": {"color": "#123456"}})
    assert list_pressed_presets(parse_html(looks.http.get(looks.path).text)) == []


def test_without_a_setting_to_change_there_are_no_presets(world: World) -> None:
    file = ConfiguredFile(world, world.fay)
    page = parse_html(sign_in_browser(world, world.fay).get(f"/files/{file.made['uuid']}/looks").text)
    assert page.find_all("fieldset", class_="looks-presets") == []


def test_a_preview_of_another_account_or_without_the_token_is_refused(looks: LooksPage, world: World) -> None:
    fields = looks.open_form().fields
    answer = looks.http.post(f"{looks.path}/preview", data=fields | {"csrf": "forged"})
    assert answer.status_code == 403
    mal = sign_in_browser(world, world.mal)
    token = Form(mal, "/account", "/account/name").fields["csrf"]
    assert mal.post(f"{looks.path}/preview", data=fields | {"csrf": token}).status_code == 404


def test_without_scripts_the_button_shows_the_changes_which_can_then_be_saved(looks: LooksPage) -> None:
    page = looks.press(**DARK)
    url = page.find_one("iframe").attrs["src"]
    assert read_facts(looks.http, url)["viewerMode"] == "flipbook"
    assert looks.file.get_file()["viewerMode"] == "standard"
    assert Form(looks.http, looks.path, page=page).send_and_follow() == "Saved."
    assert looks.file.get_file()["viewerMode"] == "flipbook"
    assert looks.file.get_file()["viewerSettings"] == {"background": {"color": "#123456"}, "page": {"rounded": 2}}


def test_a_preset_fills_the_form_and_keeps_the_rest(looks: LooksPage) -> None:
    looks.file.change_settings(viewerSettings={"background": {"color": "#123456"}, "logo": {"size": "xl"}})
    page = looks.press(preset="dusk")
    assert Form(looks.http, looks.path, page=page).send_and_follow() == "Saved."
    assert looks.file.get_file()["viewerSettings"] == {
        "background": {"type": "gradient", "preset": "dusk"},
        "logo": {"size": "xl"},
        "page": {"shadow": 2, "rounded": 2},
        "brand": {"accentColor": "#5b45b0"},
    }


def test_a_preset_leaves_out_what_the_plan_does_not_include(world: World) -> None:
    shared = ConfiguredFile(world, world.bea)
    http = sign_in_browser(world, world.bea)
    path = f"/files/{shared.made['uuid']}/looks"
    answer = http.post(f"{path}/preview", data=Form(http, path).fields | {"preset": "dusk"})
    assert answer.status_code == 200
    assert Form(http, path, page=parse_html(answer.text)).send_and_follow() == "Saved."
    assert shared.get_file()["viewerSettings"] == {
        "background": {"type": "gradient", "preset": "dusk"},
        "page": {"shadow": 2, "rounded": 2},
    }


def test_colors_that_are_hard_to_see_are_named(looks: LooksPage) -> None:
    pale = {"viewerSettings.brand.accentColor": "#ffd54a"}
    warnings = looks.ask_as_script(**pale)["warnings"]
    assert warnings == [
        "The accent color is hard to read on the light toolbar: its contrast is 1.2:1, and text needs 4.5:1. "
        "Readers see a darker shade of it."
    ]
    assert looks.press(**pale).find_one("ul", class_="looks-warnings").find_one("li").words == warnings[0]
    looks.file.change_settings(viewerSettings={"brand": {"accentColor": "#ffd54a"}})
    stored = parse_html(looks.http.get(looks.path).text)
    assert stored.find_one("ul", class_="looks-warnings").find_one("li").words == warnings[0]


def test_a_link_that_has_ended_has_no_preview(looks: LooksPage, world: World) -> None:
    update_file_row(world, looks.file.made["uuid"], delete_at=world.clock.now)
    page = looks.http.get(looks.path)
    assert page.status_code == 200
    assert "<iframe" not in page.text
    assert looks.http.get(f"{looks.path}/preview").status_code == 410


def test_forms_that_are_sent_at_once_keep_the_changes_of_both(
    looks: LooksPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = looks.open_form(), looks.open_form()
    change = settings.change_settings

    def change_after_the_other(*args: Any, **options: Any) -> None:
        monkeypatch.setattr(settings, "change_settings", change)
        assert second.send({"viewerSettings.page.rounded": "2"}).status_code == 303
        change(*args, **options)

    monkeypatch.setattr(settings, "change_settings", change_after_the_other)
    assert first.send({"viewerSettings.background.color": "#123456"}).status_code == 303
    stored = looks.file.get_file()["viewerSettings"]
    assert (stored["background"]["color"], stored["page"]["rounded"]) == ("#123456", 2)
