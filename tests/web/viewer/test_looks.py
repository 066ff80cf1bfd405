"""The viewer mode and viewer settings of a share page, limited by the owner's current plan."""

import pytest

from tests.contract.settings_table import CTA, DEFAULT_LOOKS
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader
from tests.support.people.settings import ConfiguredFile

BASIC = {"flip": {"rtl": True}, "protect": {"print": True}}
PRO = {"cta": CTA, "brand": {"accentColor": "#ff0080"}, "protect": {"print": True, "blurOnLeave": True}}


@pytest.fixture
def file(world: World) -> ConfiguredFile:
    """Return a file of Pia with its own mode and viewer settings."""
    shared = ConfiguredFile(world, world.pia)
    shared.change_settings(viewerMode="magazine", viewerSettings={**BASIC, **PRO}, pageRange={"from": 2, "to": 3})
    return shared


def get_viewer_settings(world: World, file: ConfiguredFile, prefix: str = "") -> tuple[str, dict[str, object]]:
    facts = FakeReader(world, file.made["shortId"], prefix=prefix).facts
    return facts["viewerMode"], facts["viewerSettings"]


def test_a_file_without_settings_uses_the_defaults(world: World) -> None:
    assert get_viewer_settings(world, ConfiguredFile(world, world.fay)) == ("standard", DEFAULT_LOOKS)


@pytest.mark.parametrize("prefix", ["", "/embed"])
def test_the_page_contains_its_mode_and_every_viewer_setting(world: World, file: ConfiguredFile, prefix: str) -> None:
    mode, shown = get_viewer_settings(world, file, prefix)
    assert mode == "magazine"
    assert shown == DEFAULT_LOOKS | {
        "flip": {**DEFAULT_LOOKS["flip"], "rtl": True},
        "protect": {**DEFAULT_LOOKS["protect"], "print": True, "blurOnLeave": True},
        "brand": {**DEFAULT_LOOKS["brand"], "accentColor": "#ff0080"},
        "cta": {**CTA, "style": "solid", "color": "#ff0080", "position": "br"},
    }


def test_a_downgrade_removes_pro_styling_but_not_the_page_range(world: World, file: ConfiguredFile) -> None:
    """Pro styling ends with the next page that is served; the page range is still enforced."""
    assert get_viewer_settings(world, file)[1]["cta"]
    file.set_plan("basic")
    mode, shown = get_viewer_settings(world, file)
    assert mode == "magazine"
    assert shown == DEFAULT_LOOKS | {
        "flip": {**DEFAULT_LOOKS["flip"], "rtl": True},
        "protect": {**DEFAULT_LOOKS["protect"], "print": True},
    }
    assert FakeReader(world, file.made["shortId"]).facts["pages"] == 2
    file.set_plan("free")
    assert get_viewer_settings(world, file) == ("magazine", DEFAULT_LOOKS)
    assert FakeReader(world, file.made["shortId"]).facts["pages"] == 2
    assert file.has_values({"pageRange": {"from": 2, "to": 3}})


def test_an_upgrade_restores_the_styling(world: World, file: ConfiguredFile) -> None:
    file.set_plan("free")
    file.set_plan("pro")
    assert get_viewer_settings(world, file)[1]["cta"] == {**CTA, "style": "solid", "color": "#ff0080", "position": "br"}


def test_a_file_without_an_owner_uses_the_settings_of_free(world: World, file: ConfiguredFile) -> None:
    update_file_row(world, file.made["uuid"], owner_id=None)
    assert get_viewer_settings(world, file) == ("magazine", DEFAULT_LOOKS)
