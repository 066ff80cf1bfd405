"""The looks of a share page on the plan of the moment."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.server.rules import viewer_settings
from tests.contract.settings_table import ASSET, CTA, DEFAULT_LOOKS, LOOKS, PLANS, LookCase, is_allowed


@pytest.mark.parametrize("plan", list(Plan))
def test_nothing_set_shows_every_default_and_neither_button_nor_measurement(plan: Plan) -> None:
    assert viewer_settings.effective_settings({}, plan) == DEFAULT_LOOKS


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.field if isinstance(look, LookCase) else None)
def test_a_field_shows_from_its_plan_on_and_its_default_below(look: LookCase, plan: str) -> None:
    """A downgraded plan's Pro styling stops rendering immediately."""
    block = look.field.partition(".")[0]
    filled: Any = look.deviation[block] if block == "ga4Id" else look.filled
    expected = DEFAULT_LOOKS | ({block: filled} if is_allowed(plan, look.plan) else {})
    assert viewer_settings.effective_settings(look.deviation, Plan.from_tier(plan)) == expected


def test_a_button_without_a_colour_takes_the_accent() -> None:
    stored = {"brand": {"accentColor": "#ff0080"}, "cta": CTA}
    assert viewer_settings.effective_settings(stored, Plan.PRO)["cta"]["color"] == "#ff0080"
    stored["cta"] = {**CTA, "color": "#00ff00"}
    assert viewer_settings.effective_settings(stored, Plan.PRO)["cta"]["color"] == "#00ff00"


def test_a_button_without_any_colour_has_none_of_its_own_and_black_is_one() -> None:
    assert "color" not in viewer_settings.effective_settings({"cta": CTA}, Plan.PRO)["cta"]
    chosen = {"cta": {**CTA, "color": "#000000"}}
    assert viewer_settings.effective_settings(chosen, Plan.PRO)["cta"]["color"] == "#000000"


def test_of_a_block_with_fields_of_two_plans_only_those_above_are_lost() -> None:
    stored = {"protect": {"print": True, "blurOnLeave": True}}
    shown = viewer_settings.effective_settings(stored, Plan.BASIC)["protect"]
    assert shown == {"contextMenu": False, "print": True, "select": False, "blurOnLeave": False}


def test_what_was_stored_is_not_changed_by_showing_it() -> None:
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
def test_the_assets_that_settings_refer_to(settings: dict[str, Any], found: set[str]) -> None:
    assert viewer_settings.list_asset_ids(settings) == found
