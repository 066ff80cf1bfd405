"""Every setting on every plan through HTTP: set, reset and reject (the table is in ``tests/contract``)."""

from typing import Any

import pytest

from tests.contract.settings_table import CASES, LOOKS, PLANS, LookCase, SettingCase, is_allowed
from tests.support.people.cast import World
from tests.support.people.settings import share_file_on_plan


def get_case_name(value: Any) -> str | None:
    return value.name if isinstance(value, SettingCase) else value.field if isinstance(value, LookCase) else None


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("case", CASES, ids=get_case_name)
def test_a_setting_is_stored_on_its_plan_and_rejected_below(world: World, case: SettingCase, plan: str) -> None:
    file = share_file_on_plan(world, plan)
    before = file.read_row_and_bytes()
    world.clock.advance(minutes=5)
    answer = file.put_settings({case.name: case.value})
    if is_allowed(plan, case.plan):
        assert (answer.status_code, answer.data) == (200, b"")
        assert file.has_values(case.expected)
        assert file.get_file()["updatedAt"] == "2026-09-21T14:18:20.000Z"
    else:
        assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")
        assert f"requires the {case.plan} plan" in answer.get_json()["detail"]
        assert case.name in answer.get_json()["detail"]
        assert file.read_row_and_bytes() == before


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("case", CASES, ids=get_case_name)
def test_a_setting_can_be_reset_on_any_plan(world: World, case: SettingCase, plan: str) -> None:
    """A downgraded owner can turn off what a higher plan has turned on."""
    file = share_file_on_plan(world, "pro")
    file.change_settings(**{case.name: case.value})
    file.set_plan(plan)
    assert file.has_values(case.expected)
    file.change_settings(**{case.name: case.reset_value})
    assert file.has_values(case.expected_after_reset)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("case", CASES, ids=get_case_name)
def test_an_invalid_value_is_400_on_every_plan_and_changes_nothing(world: World, case: SettingCase, plan: str) -> None:
    file = share_file_on_plan(world, plan)
    before = file.read_row_and_bytes()
    for value in case.invalid_values:
        answer = file.put_settings({"viewerMode": "swipe", case.name: value})
        assert (answer.status_code, answer.get_json()["code"]) == (400, "bad_request"), value
        assert case.name in answer.get_json()["detail"]
    assert file.read_row_and_bytes() == before


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("look", LOOKS, ids=get_case_name)
def test_a_viewer_setting_is_stored_on_its_plan_and_rejected_below(world: World, look: LookCase, plan: str) -> None:
    """Any value other than the default requires Basic, and some fields require Pro."""
    file = share_file_on_plan(world, plan)
    before = file.read_row_and_bytes()
    answer = file.put_settings({"viewerSettings": look.deviation})
    if is_allowed(plan, look.plan):
        assert answer.status_code == 200
        assert file.has_values({"viewerSettings": look.deviation})
    else:
        assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")
        detail = answer.get_json()["detail"]
        assert f"requires the {look.plan} plan" in detail
        assert f"viewerSettings.{look.field.partition('.')[0]}" in detail
        assert file.read_row_and_bytes() == before


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("look", LOOKS, ids=get_case_name)
def test_a_viewer_setting_can_be_reset_to_its_default_on_any_plan(world: World, look: LookCase, plan: str) -> None:
    file = share_file_on_plan(world, "pro")
    file.change_settings(viewerSettings=look.deviation)
    file.set_plan(plan)
    file.change_settings(viewerSettings=look.plain)
    assert file.has_values({"viewerSettings": {}})


def test_the_description_lists_every_setting_and_every_viewer_setting(world: World) -> None:
    schemas = world.http.get("/api/v1/openapi.json").get_json()["components"]["schemas"]
    assert list(schemas["FileSettings"]["properties"]) == [case.name for case in CASES]
    fields = []
    for block, schema in schemas["ViewerSettings"]["properties"].items():
        fields += [f"{block}.{key}" for key in schema.get("properties", ())] or [block]
    assert fields == [look.field for look in LOOKS]
    assert schemas["File"]["properties"]["viewerSettings"] == {"$ref": "#/components/schemas/ViewerSettings"}
