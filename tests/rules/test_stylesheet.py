"""The style sheet of a file: rules for every setting that differs from its default."""

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
hex_colors = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


def render_css(**blocks: Any) -> str:
    return stylesheet.render_stylesheet(effective_settings(blocks, Plan.PRO))


def render_corners(**blocks: Any) -> dict[str, list[str]]:
    return {
        corner: found
        for corner, found in stylesheet.list_corners(effective_settings(blocks, Plan.PRO)).items()
        if found
    }


def find_property_values(text: str, name: str) -> list[str]:
    """Return the values of a custom property in ``text``, in order."""
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
def test_settings_are_in_the_style_sheet(blocks: dict[str, Any], found: list[str]) -> None:
    text = render_css(**blocks)
    assert [piece for piece in found if piece not in text] == []


def test_the_six_gradients_differ_for_light_and_dark_themes() -> None:
    presets = ("dusk", "sand", "slate", "forest", "blush", "mono")
    texts = [render_css(background={"type": "gradient", "preset": preset}) for preset in presets]
    gradients = [gradient for text in texts for gradient in re.findall(r"background:(radial[^;]+);", text)]
    assert len(gradients) == len(set(gradients)) == 12


def test_a_gradient_without_a_preset_is_the_first_preset() -> None:
    assert render_css(background={"type": "gradient"}) == render_css(background={"type": "gradient", "preset": "dusk"})


def test_a_background_image_without_an_asset_uses_the_color() -> None:
    assert render_css(background={"type": "image", "color": "#102030"}) == render_css(background={"color": "#102030"})


def test_a_toolbar_theme_does_not_change_the_background() -> None:
    assert find_property_values(render_css(brand={"toolbarTheme": "dark"}), "room") == ["#f1f0ee", "#131315"]
    text = render_css(brand={"toolbarTheme": "dark"}, background={"color": "#102030"})
    assert find_property_values(text, "room") == ["#102030"]
    assert (
        find_property_values(render_css(brand={"toolbarTheme": "light"}, background={"type": "gradient"}), "room") == []
    )


@pytest.mark.parametrize(("background", "expected"), [
    ({}, "auto"),
    ({"color": "#FFFFFF"}, "auto"),
    ({"type": "gradient", "preset": "mono"}, "auto"),
    ({"type": "gradient", "color": "#102030"}, "auto"),
    ({"type": "image", "assetId": ASSET, "color": "#102030"}, "auto"),
    ({"type": "image", "color": "#102030"}, "dark"),
    ({"color": "#102030"}, "dark"),
    ({"color": "#fffffe"}, "light"),
    ({"color": "#f3e9d8"}, "light"),
    ({"color": "#777777"}, "light"),  # black on it has 4.69:1, white 4.48:1
    ({"color": "#757575"}, "dark"),  # black on it has 4.56:1, white 4.61:1
])  # fmt: skip
def test_the_toolbar_follows_a_color_of_the_background(background: dict[str, Any], expected: str) -> None:
    made = render_css(background=background)
    found = re.findall(r":root\{color-scheme:(\w+);\}", made)
    assert found == ([] if expected == "auto" else [expected])
    for chosen in ("light", "dark"):
        text = render_css(background=background, brand={"toolbarTheme": chosen})
        assert re.findall(r":root\{color-scheme:(\w+);\}", text) == [chosen]


def test_the_themes_match_design_css() -> None:
    light, dark = (STATIC / "design.css").read_text(encoding="utf-8").split("prefers-color-scheme: dark", 1)
    for name, text in (("light", light), ("dark", dark)):
        found = {key: find_property_values(text.replace(": ", ":"), key)[0] for key in stylesheet.THEMES[name]}
        assert stylesheet.THEMES[name] == found


def test_logo_heights_match_appearance_css() -> None:
    text = (STATIC / "viewer" / "appearance.css").read_text(encoding="utf-8")
    found = re.findall(r'\.logo\[data-size="(\w+)"\] \{\s+height: (\d+)px', text)
    assert {size: int(height) for size, height in found} == stylesheet.LOGO_HEIGHTS


@settings(deadline=None)
@given(hex_colors, st.sampled_from(["auto", "light", "dark"]))
def test_every_accent_color_is_readable_in_the_toolbar(accent: str, theme: str) -> None:
    text = render_css(brand={"accentColor": accent, "toolbarTheme": theme})
    if accent == "#000000":
        return  # the default: the viewer's own accent
    accents, text_colors = find_property_values(text, "accent")[-2:], find_property_values(text, "accent-ink")[-2:]
    schemes = ["light", "dark"] if theme == "auto" else [theme]
    surfaces = {"light": "#ffffff", "dark": "#1b1b1e"}
    for color, text_color, scheme in zip(accents[-len(schemes) :], text_colors[-len(schemes) :], schemes, strict=True):
        assert colors.contrast_ratio(colors.parse_color(color), colors.parse_color(surfaces[scheme])) >= 4.5
        assert colors.contrast_ratio(colors.parse_color(color), colors.parse_color(text_color)) >= 4.5


@settings(deadline=None)
@given(hex_colors, st.sampled_from(["solid", "outline"]), st.sampled_from(["auto", "light", "dark"]))
def test_every_button_is_readable(color: str, style: str, theme: str) -> None:
    text = render_css(cta=CTA | {"color": color, "style": style}, brand={"toolbarTheme": theme})
    buttons = re.findall(r"\.cta\{background:([^;]+);color:([^;]+);", text)
    assert len(buttons) == (2 if style == "outline" and theme == "auto" else 1)
    for background, text_color in buttons:
        assert colors.contrast_ratio(colors.parse_color(background), colors.parse_color(text_color)) >= 4.5


def test_elements_in_one_corner_are_stacked_in_a_fixed_order() -> None:
    logo = {"assetId": ASSET, "position": "tl"}
    assert render_corners() == {"br": ["badge"]}
    assert render_corners(logo=logo) == {"tl": ["logo"], "br": ["badge"]}
    together = {"brand": {"badgePosition": "tl"}, "cta": CTA | {"position": "tl"}, "logo": logo}
    assert render_corners(**together) == {"tl": ["logo", "cta", "badge"]}
    assert render_corners(cta=CTA | {"position": "bar"}, logo={"hideBadge": True}) == {}


def test_space_is_reserved_for_elements_in_the_corners() -> None:
    text = render_css(logo={"assetId": ASSET, "size": "xl", "position": "tr"}, cta=CTA)
    # Logo 76, button 42 above the badge 26: in the scrolling mode, then in the paged modes, by width of the window;
    # last in low windows, where the page needs the full height.
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


def test_the_bar_reserves_space_at_the_bottom() -> None:
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
def test_stored_settings_cannot_inject_css_rules(stored: dict[str, Any]) -> None:
    text = stylesheet.render_stylesheet(effective_settings(stored, Plan.PRO))
    assert re.fullmatch(r'[\w\s#:;{}(),.%/*"@!~+-]*', text, re.ASCII)
    assert "//" not in text
    assert text.count("{") == text.count("}")
