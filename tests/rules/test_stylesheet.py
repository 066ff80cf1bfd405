"""The style sheet of one file: one rule or more for everything that its owner sets, and none for defaults."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docshare.contract.plans import Plan
from docshare.server.rules import colors, stylesheet
from docshare.server.rules.viewer_settings import effective_settings

STATIC = Path(__file__).resolve().parents[2] / "docshare" / "server" / "web" / "static"
ASSET = "6f1d3c1e-9d3b-4f0a-8f57-0a1b2c3d4e5f"
CTA = {"label": "Call us", "url": "https://example.com/"}
hexes = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


def render_css(**blocks: Any) -> str:
    return stylesheet.render_stylesheet(effective_settings(blocks, Plan.PRO))


def render_corners(**blocks: Any) -> dict[str, list[str]]:
    return {
        corner: found
        for corner, found in stylesheet.list_corners(effective_settings(blocks, Plan.PRO)).items()
        if found
    }


def find_property_values(text: str, name: str) -> list[str]:
    """Return every value that ``text`` gives to a custom property, in order."""
    return re.findall(rf"--{name}:([^;]+);", text)


def test_a_file_without_settings_has_no_style_sheet() -> None:
    assert render_css() == ""


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        ({"background": {"color": "#102030"}}, ["--room:#102030;"]),
        ({"background": {"type": "gradient"}}, ["body::before", "radial-gradient", "prefers-color-scheme: dark"]),
        ({"background": {"type": "image", "assetId": ASSET}}, [f'url("assets/{ASSET}") center / cover no-repeat']),
        ({"background": {"type": "image", "assetId": ASSET, "fit": "contain"}}, ["center / contain no-repeat"]),
        ({"background": {"type": "image", "assetId": ASSET, "blur": 7}}, ["filter:blur(7px);", "inset:-14px;"]),
        ({"background": {"type": "image", "assetId": ASSET, "dim": 45}}, ["rgb(0 0 0 / 45%)"]),
        ({"page": {"shadow": 0}}, ["--shadow-page:0 0 0 0 transparent;"]),
        ({"page": {"shadow": 3}}, ["--shadow-page:", "84px"]),
        ({"page": {"rounded": 2}}, ["--page-radius:12px;"]),
        ({"page": {"edges": True}}, ["--page-edges:"]),
        ({"brand": {"toolbarTheme": "dark"}}, [":root{color-scheme:dark;}", "--surface:#1b1b1e;"]),
        ({"brand": {"accentColor": "#1F6F43"}}, ["--accent:", ".button.primary{background:#1f6f43;color:#ffffff;}"]),
        ({"cta": CTA | {"color": "#FFCC00"}}, [".cta{background:#ffcc00;color:#000000;}"]),
        ({"cta": CTA}, [".cta{background:var(--accent);color:var(--accent-ink);}"]),
        ({"cta": CTA | {"style": "outline"}}, [".cta{background:var(--surface);color:var(--accent);border-color:"]),
        ({"cta": CTA | {"color": "#000000"}}, [".cta{background:#000000;color:#ffffff;}"]),
        ({"cta": CTA | {"position": "bar"}}, ["--foot:60px;"]),
        ({"logo": {"hideBadge": True}}, [".bar-mark{display:none;}"]),
        ({"protect": {"print": True}}, ["@media print", "display:none !important", ".print-note{display:block;}"]),
        ({"protect": {"select": True}}, ["main{user-select:none;"]),
        ({"protect": {"blurOnLeave": True}}, [".is-elsewhere main{filter:blur(18px);}"]),
    ],
)
def test_what_is_set_is_in_the_style_sheet(blocks: dict[str, Any], found: list[str]) -> None:
    text = render_css(**blocks)
    assert [piece for piece in found if piece not in text] == []


def test_the_six_gradients_differ_for_light_and_for_dark_readers() -> None:
    presets = ("dusk", "sand", "slate", "forest", "blush", "mono")
    texts = [render_css(background={"type": "gradient", "preset": preset}) for preset in presets]
    drawn = [drawing for text in texts for drawing in re.findall(r"background:(radial[^;]+);", text)]
    assert len(drawn) == len(set(drawn)) == 12


def test_a_gradient_without_a_preset_is_the_first_one() -> None:
    assert render_css(background={"type": "gradient"}) == render_css(background={"type": "gradient", "preset": "dusk"})


def test_an_image_without_its_asset_leaves_the_colour() -> None:
    assert render_css(background={"type": "image", "color": "#102030"}) == render_css(background={"color": "#102030"})


def test_the_room_stays_the_readers_when_only_the_toolbar_has_a_theme() -> None:
    assert find_property_values(render_css(brand={"toolbarTheme": "dark"}), "room") == ["#f1f0ee", "#131315"]
    text = render_css(brand={"toolbarTheme": "dark"}, background={"color": "#102030"})
    assert find_property_values(text, "room") == ["#102030"]
    assert (
        find_property_values(render_css(brand={"toolbarTheme": "light"}, background={"type": "gradient"}), "room") == []
    )


def test_the_themes_are_those_of_the_design() -> None:
    light, dark = (STATIC / "design.css").read_text(encoding="utf-8").split("prefers-color-scheme: dark", 1)
    for name, text in (("light", light), ("dark", dark)):
        stands = {key: find_property_values(text.replace(": ", ":"), key)[0] for key in stylesheet.THEMES[name]}
        assert stylesheet.THEMES[name] == stands


def test_the_logo_is_as_high_as_the_page_leaves_room_for() -> None:
    text = (STATIC / "viewer" / "appearance.css").read_text(encoding="utf-8")
    found = re.findall(r'\.logo\[data-size="(\w+)"\] \{\s+height: (\d+)px', text)
    assert {size: int(height) for size, height in found} == stylesheet.LOGO_HEIGHTS


@settings(deadline=None)
@given(hexes, st.sampled_from(["auto", "light", "dark"]))
def test_every_accent_can_be_read_in_the_toolbar(accent: str, theme: str) -> None:
    text = render_css(brand={"accentColor": accent, "toolbarTheme": theme})
    if accent == "#000000":
        return  # the default: the viewer's own accent
    shown, inks = find_property_values(text, "accent")[-2:], find_property_values(text, "accent-ink")[-2:]
    schemes = ["light", "dark"] if theme == "auto" else [theme]
    surfaces = {"light": "#ffffff", "dark": "#1b1b1e"}
    for colour, ink, scheme in zip(shown[-len(schemes) :], inks[-len(schemes) :], schemes, strict=True):
        assert colors.contrast_ratio(colors.parse_color(colour), colors.parse_color(surfaces[scheme])) >= 4.5
        assert colors.contrast_ratio(colors.parse_color(colour), colors.parse_color(ink)) >= 4.5


@settings(deadline=None)
@given(hexes, st.sampled_from(["solid", "outline"]), st.sampled_from(["auto", "light", "dark"]))
def test_every_button_can_be_read(colour: str, style: str, theme: str) -> None:
    text = render_css(cta=CTA | {"color": colour, "style": style}, brand={"toolbarTheme": theme})
    buttons = re.findall(r"\.cta\{background:([^;]+);color:([^;]+);", text)
    assert len(buttons) == (2 if style == "outline" and theme == "auto" else 1)
    for ground, ink in buttons:
        assert colors.contrast_ratio(colors.parse_color(ground), colors.parse_color(ink)) >= 4.5


def test_what_shares_a_corner_is_stacked_in_one_order() -> None:
    logo = {"assetId": ASSET, "position": "tl"}
    assert render_corners() == {"br": ["badge"]}
    assert render_corners(logo=logo) == {"tl": ["logo"], "br": ["badge"]}
    together = {"brand": {"badgePosition": "tl"}, "cta": CTA | {"position": "tl"}, "logo": logo}
    assert render_corners(**together) == {"tl": ["logo", "cta", "badge"]}
    assert render_corners(cta=CTA | {"position": "bar"}, logo={"hideBadge": True}) == {}


def test_there_is_room_for_what_stands_in_the_corners() -> None:
    text = render_css(logo={"assetId": ASSET, "size": "xl", "position": "tr"}, cta=CTA)
    # Logo 76, button 42 above the badge 26: in the column, then in the modes that turn pages, by width of the window;
    # last in low windows, where the page needs all the height.
    low_above, low_below = ["22px", "0px", "12px", "0px"], ["22px", "0px", "80px", "0px"]
    assert find_property_values(text, "above") == [
        "104px",
        "96px",
        "22px",
        "0px",
        "104px",
        "0px",
        "96px",
        "0px",
        *low_above,
    ]
    assert find_property_values(text, "below") == [
        "104px",
        "166px",
        "22px",
        "0px",
        "104px",
        "0px",
        "166px",
        "0px",
        *low_below,
    ]


def test_the_bar_is_below_everything() -> None:
    text = render_css(cta=CTA | {"position": "bar"})
    column, turned, magazine = ["116px", "176px"], ["82px", "82px", "140px", "22px", "140px"], ["60px"] * 5
    magazine[3] = "0px"  # in a low window without a dock the button floats
    assert find_property_values(text, "below") == column + [
        below for pair in zip(turned, magazine, strict=True) for below in pair
    ]


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["background", "logo", "page", "brand", "cta", "protect"]), st.dictionaries(
    st.sampled_from(["color", "preset", "assetId", "type", "blur", "dim", "shadow", "rounded", "accentColor", "fit",
                     "toolbarTheme", "position", "size", "label", "url", "style"]),
    st.one_of(st.text(), st.sampled_from(["gradient", "image", "</style>", "url(//x)", "#12345;}", "red}"])),
)))  # fmt: skip
def test_whatever_stands_in_the_database_no_rule_of_a_stranger_comes_out(stored: dict[str, Any]) -> None:
    text = stylesheet.render_stylesheet(effective_settings(stored, Plan.PRO))
    assert re.fullmatch(r'[\w\s#:;{}(),.%/*"@!~+-]*', text, re.ASCII)
    assert "//" not in text
    assert text.count("{") == text.count("}")
