"""The hand-written table of settings and plans is complete and matches the tables in the code."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, parse_value, required_plan
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField
from tests.contract.settings_table import CASES, LOOKS, LookCase, SettingCase

INVALID_VALUES = [(case.name, value) for case in CASES for value in case.invalid_values]


def get_case_name(value: Any) -> str | None:
    return value.name if isinstance(value, SettingCase) else value.field if isinstance(value, LookCase) else None


def test_every_setting_has_a_row() -> None:
    assert [case.name for case in CASES] == list(SETTINGS)


def test_every_viewer_setting_has_a_row() -> None:
    fields = []
    for block, table in VIEWER_BLOCKS.items():
        fields += [block] if isinstance(table, ViewerField) else [f"{block}.{key}" for key in table]
    assert [look.field for look in LOOKS] == fields


@pytest.mark.parametrize("case", CASES, ids=get_case_name)
def test_a_setting_requires_its_plan_and_resetting_it_requires_none(case: SettingCase) -> None:
    assert required_plan(case.name, parse_value(case.name, case.value)).tier == case.plan
    assert required_plan(case.name, parse_value(case.name, case.reset_value)) is Plan.FREE


@pytest.mark.parametrize("look", LOOKS, ids=get_case_name)
def test_a_viewer_setting_requires_its_plan_and_its_default_requires_none(look: LookCase) -> None:
    assert required_plan("viewerSettings", parse_value("viewerSettings", look.deviation)).tier == look.plan
    assert parse_value("viewerSettings", look.plain) == {}


@pytest.mark.parametrize(("name", "value"), INVALID_VALUES)
def test_an_invalid_value_is_a_bad_request(name: str, value: Any) -> None:
    with pytest.raises(Problem) as caught:
        parse_value(name, value)
    assert (caught.value.code, name in caught.value.detail) == ("bad_request", True)
