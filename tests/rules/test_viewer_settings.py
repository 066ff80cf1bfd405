"""The looks of a share page on the current plan."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.rules import viewer_settings
from tests.contract.settings_table import ASSET, CTA, DEFAULT_LOOKS, LOOKS, PLANS, LookCase, is_allowed


@pytest.mark.parametrize("plan", list(Plan))
def test_without_settings_every_default_applies(plan: Plan) -> None:
    assert viewer_settings.effective_settings({}, plan) == DEFAULT_LOOKS


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.field if isinstance(look, LookCase) else None)
def test_a_field_applies_from_its_plan_and_its_default_below_it(look: LookCase, plan: str) -> None:
    """After a downgrade, Pro styling is no longer applied."""
    block = look.field.partition(".")[0]
    filled: Any = look.deviation[block] if block == "ga4Id" else look.filled
    expected = DEFAULT_LOOKS | ({block: filled} if is_allowed(plan, look.plan) else {})
    assert viewer_settings.effective_settings(look.deviation, Plan.from_tier(plan)) == expected


def test_a_button_without_a_color_has_the_accent_color() -> None:
    stored = {"brand": {"accentColor": "#ff0080"}, "cta": CTA}
    assert viewer_settings.effective_settings(stored, Plan.PRO)["cta"]["color"] == "#ff0080"
    stored["cta"] = {**CTA, "color": "#00ff00"}
    assert viewer_settings.effective_settings(stored, Plan.PRO)["cta"]["color"] == "#00ff00"


def test_a_button_without_any_color_has_no_color_setting_and_black_is_a_color() -> None:
    assert "color" not in viewer_settings.effective_settings({"cta": CTA}, Plan.PRO)["cta"]
    chosen = {"cta": {**CTA, "color": "#000000"}}
    assert viewer_settings.effective_settings(chosen, Plan.PRO)["cta"]["color"] == "#000000"


def test_in_a_block_with_fields_of_two_plans_only_those_of_the_higher_plan_are_reset() -> None:
    stored = {"protect": {"print": True, "blurOnLeave": True}}
    shown = viewer_settings.effective_settings(stored, Plan.BASIC)["protect"]
    assert shown == {"contextMenu": False, "print": True, "select": False, "blurOnLeave": False}


def test_effective_settings_does_not_modify_stored_settings() -> None:
    stored = {"cta": dict(CTA), "flip": {"rtl": True}}
    viewer_settings.effective_settings(stored, Plan.PRO)["flip"]["rtl"] = False
    assert stored == {"cta": CTA, "flip": {"rtl": True}}
    assert viewer_settings.effective_settings({}, Plan.PRO) == DEFAULT_LOOKS


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, set()),
        ({"logo": {"size": "s"}, "ga4Id": "G-AB12CD34EF"}, set()),
        ({"logo": {"assetId": ASSET}}, {ASSET}),
        ({"logo": {"assetId": ASSET}, "background": {"assetId": "another"}}, {ASSET, "another"}),
    ],
)
def test_the_assets_of_logo_and_background_are_listed(settings: dict[str, Any], found: set[str]) -> None:
    assert viewer_settings.list_asset_ids(settings) == found
