"""Presets for the appearance of a share page, and warnings about contrast."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.contract.viewer import normalize
from docshare.server.rules.looks import PRESETS, expand_preset, list_contrast_warnings
from docshare.server.rules.viewer_settings import effective_settings

CTA = {"label": "Buy", "url": "https://example.com"}


def warn(**blocks: Any) -> list[str]:
    return list_contrast_warnings(effective_settings(blocks, Plan.PRO))


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.key)
def test_a_preset_can_be_stored_and_has_no_warning(preset: Any) -> None:
    assert normalize(preset.settings) == preset.settings
    assert warn(**preset.settings) == []


def test_a_preset_sets_the_same_fields_whatever_was_set_before() -> None:
    plain, cinema = (
        {name.removeprefix("viewerSettings."): value for name, value in expand_preset(row).items()}
        for row in PRESETS[:2]
    )
    assert plain == {
        "background.type": "solid", "background.color": "#ffffff", "background.preset": None,
        "page.shadow": 1, "page.rounded": 0, "page.edges": False,
        "brand.accentColor": "#000000", "brand.toolbarTheme": "auto",
    }  # fmt: skip
    assert cinema == plain | {
        "background.color": "#101014", "page.shadow": 3, "brand.accentColor": "#8aa6ff", "brand.toolbarTheme": "dark",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ({}, None),
        ({"brand": {"accentColor": "#1f6f43"}}, None),
        ({"brand": {"accentColor": "#FFD54A"}}, "The accent color is hard to read on the light toolbar: its contrast "
         "is 1.2:1, and text needs 4.5:1. Readers see a darker shade of it."),
        ({"brand": {"accentColor": "#ffd54a", "toolbarTheme": "dark"}}, None),
        ({"brand": {"accentColor": "#1f6f43", "toolbarTheme": "dark"}}, "The accent color is hard to read on the dark "
         "toolbar: its contrast is 2.5:1, and text needs 4.5:1. Readers see a lighter shade of it."),
        ({"cta": CTA | {"color": "#dddddd"}}, None),
        ({"cta": CTA | {"color": "#dddddd", "style": "outline"}}, "The color of the button is hard to read on the "
         "light toolbar: its contrast is 1.1:1, and text needs 4.5:1. Readers see a darker shade of it."),
        ({"cta": CTA | {"color": "#123456"}, "background": {"color": "#202030"}}, "The button is hard to see on the "
         "background: its contrast is 1.2:1, and controls need 3:1."),
        ({"cta": CTA | {"color": "#123456"}, "background": {"color": "#202030", "type": "gradient"}}, None),
        ({"cta": CTA | {"color": "#123456", "position": "bar"}}, "The button is hard to see on the dark bar: its "
         "contrast is 1.3:1, and controls need 3:1."),
        ({"cta": CTA | {"color": "#2b55d4", "position": "bar"}, "brand": {"toolbarTheme": "light"}}, None),
    ],
)  # fmt: skip
def test_colors_that_are_hard_to_see_cause_a_warning(blocks: dict[str, Any], words: str | None) -> None:
    assert warn(**blocks) == ([] if words is None else [words])


def test_a_button_in_the_color_of_the_accent_causes_one_warning() -> None:
    found = warn(brand={"accentColor": "#ffd54a"}, cta=CTA | {"style": "outline"})
    assert [words.partition(" is ")[0] for words in found] == ["The accent color"]
