"""How a share page looks: the viewer mode and the viewer settings that the owner's plan allows at that moment."""

import pytest

from tests.contract.settings_table import CTA, DEFAULT_LOOKS
from tests.support.cast import World
from tests.support.reader import FakeReader
from tests.support.rows import update_file_row
from tests.support.settings import OwnedFile

BASIC = {"flip": {"rtl": True}, "protect": {"print": True}}
PRO = {"cta": CTA, "brand": {"accentColor": "#ff0080"}, "protect": {"print": True, "blurOnLeave": True}}


@pytest.fixture
def file(world: World) -> OwnedFile:
    """Pia's file, looking its own way."""
    shared = OwnedFile(world, world.pia)
    shared.change_settings(viewerMode="magazine", viewerSettings={**BASIC, **PRO}, pageRange={"from": 2, "to": 3})
    return shared


def viewer_looks(world: World, file: OwnedFile, prefix: str = "") -> tuple[str, dict[str, object]]:
    facts = FakeReader(world, file.made["shortId"], prefix=prefix).facts
    return facts["viewerMode"], facts["viewerSettings"]


def test_a_file_without_settings_looks_as_the_defaults_say(world: World) -> None:
    assert viewer_looks(world, OwnedFile(world, world.fay)) == ("standard", DEFAULT_LOOKS)


@pytest.mark.parametrize("prefix", ["", "/embed"])
def test_the_page_knows_its_mode_and_every_viewer_setting(world: World, file: OwnedFile, prefix: str) -> None:
    mode, shown = viewer_looks(world, file, prefix)
    assert mode == "magazine"
    assert shown == DEFAULT_LOOKS | {
        "flip": {**DEFAULT_LOOKS["flip"], "rtl": True},
        "protect": {**DEFAULT_LOOKS["protect"], "print": True, "blurOnLeave": True},
        "brand": {**DEFAULT_LOOKS["brand"], "accentColor": "#ff0080"},
        "cta": {**CTA, "style": "solid", "color": "#ff0080", "position": "br"},
    }


def test_after_a_downgrade_pro_styling_stops_at_the_next_page_served_and_the_range_stays(
    world: World, file: OwnedFile
) -> None:
    """After a downgrade Pro styling stops at the next page served, page-range enforcement stays."""
    assert viewer_looks(world, file)[1]["cta"]
    file.set_plan("basic")
    mode, shown = viewer_looks(world, file)
    assert mode == "magazine"
    assert shown == DEFAULT_LOOKS | {
        "flip": {**DEFAULT_LOOKS["flip"], "rtl": True},
        "protect": {**DEFAULT_LOOKS["protect"], "print": True},
    }
    assert FakeReader(world, file.made["shortId"]).facts["pages"] == 2
    file.set_plan("free")
    assert viewer_looks(world, file) == ("magazine", DEFAULT_LOOKS)
    assert FakeReader(world, file.made["shortId"]).facts["pages"] == 2
    assert file.has_values({"pageRange": {"from": 2, "to": 3}})


def test_an_upgrade_brings_the_styling_back(world: World, file: OwnedFile) -> None:
    file.set_plan("free")
    file.set_plan("pro")
    assert viewer_looks(world, file)[1]["cta"] == {**CTA, "style": "solid", "color": "#ff0080", "position": "br"}


def test_a_file_that_nobody_owns_looks_as_on_free(world: World, file: OwnedFile) -> None:
    update_file_row(world, file.made["uuid"], owner_id=None)
    assert viewer_looks(world, file) == ("magazine", DEFAULT_LOOKS)
