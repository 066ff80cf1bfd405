"""The hand-typed table of settings and plans is complete, and the code's tables say the same."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.contract.problems import Problem
from docshare.contract.settings import SETTINGS, parse_value, required_plan
from docshare.contract.viewer import VIEWER_BLOCKS, ViewerField
from tests.contract.settings_table import CASES, LOOKS, LookCase, SettingCase

WRONG = [(case.name, value) for case in CASES for value in case.invalid_values]


def case_name(value: Any) -> str | None:
    return value.name if isinstance(value, SettingCase) else value.field if isinstance(value, LookCase) else None


def test_every_setting_has_its_row() -> None:
    assert [case.name for case in CASES] == list(SETTINGS)


def test_every_viewer_setting_has_its_row() -> None:
    fields = []
    for block, table in VIEWER_BLOCKS.items():
        fields += [block] if isinstance(table, ViewerField) else [f"{block}.{key}" for key in table]
    assert [look.field for look in LOOKS] == fields


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_setting_needs_its_plan_and_taking_it_back_needs_none(case: SettingCase) -> None:
    assert required_plan(case.name, parse_value(case.name, case.value)).tier == case.plan
    assert required_plan(case.name, parse_value(case.name, case.reset_value)) is Plan.FREE


@pytest.mark.parametrize("look", LOOKS, ids=case_name)
def test_a_viewer_setting_needs_its_plan_and_its_default_needs_none(look: LookCase) -> None:
    assert required_plan("viewerSettings", parse_value("viewerSettings", look.deviation)).tier == look.plan
    assert parse_value("viewerSettings", look.plain) == {}


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_a_bad_request(name: str, value: Any) -> None:
    with pytest.raises(Problem) as caught:
        parse_value(name, value)
    assert (caught.value.code, name in caught.value.detail) == ("bad_request", True)
