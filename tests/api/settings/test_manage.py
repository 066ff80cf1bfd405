"""Changing settings with a manage token."""

from typing import Any

import pytest

from docshare.contract.plans import Plan
from docshare.contract.wire import format_instant
from tests.contract.settings_table import ASSET, CASES, SettingCase
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import Person, World
from tests.support.people.settings import ConfiguredFile, remove_owner

DAY = 86_400_000


@pytest.fixture
def manager(world: World, file: ConfiguredFile) -> Person:
    """Remove the owner of the file and return a person with its manage token."""
    return remove_owner(world, file)


def get_as_next_owner(world: World, file: ConfiguredFile) -> dict[str, Any]:
    """Return the file as its next owner would see it."""
    before = world.rt.db.fetch_one("SELECT id FROM accounts WHERE uuid = ?", (world.pia.uuid,))
    assert before is not None
    update_file_row(world, file.made["uuid"], owner_id=before[0])
    found = file.get_file()
    update_file_row(world, file.made["uuid"], owner_id=None)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_manage_token_has_the_free_plan(
    world: World, file: ConfiguredFile, manager: Person, case: SettingCase
) -> None:
    """Settings of other plans are 403."""
    before = file.read_row_and_bytes()
    answer = file.put_settings({case.name: case.value}, manager)
    if case.name == "neverExpire":
        assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
    elif case.plan != "free":
        assert (answer.status_code, answer.get_json()["code"]) == (403, "plan_required")
    else:
        assert (answer.status_code, answer.data) == (200, b"")
        return
    assert file.read_row_and_bytes() == before


@pytest.mark.parametrize("name", ["uuid", "shortId"])
def test_a_manage_token_changes_its_own_file(world: World, file: ConfiguredFile, manager: Person, name: str) -> None:
    answer = manager.put(f"/api/v1/files/{file.made[name]}/settings", json={"viewerMode": "swipe"})
    assert answer.status_code == 200
    assert get_as_next_owner(world, file)["viewerMode"] == "swipe"


def test_a_manage_token_is_404_for_other_files(world: World, file: ConfiguredFile, manager: Person) -> None:
    other = ConfiguredFile(world, world.mal)
    unclaimed = ConfiguredFile(world, world.mal)
    remove_owner(world, unclaimed)
    for stranger in (other, unclaimed):
        before = stranger.read_row_and_bytes()
        assert stranger.put_settings({"viewerMode": "swipe"}, manager).status_code == 404
        assert stranger.read_row_and_bytes() == before


@pytest.mark.parametrize(
    ("ahead_ms", "stored_ms"), [(6 * DAY, 6 * DAY), (7 * DAY, 7 * DAY), (7 * DAY + 1, 7 * DAY), (900 * DAY, 7 * DAY)]
)
def test_an_expiry_set_with_a_manage_token_is_clamped_to_seven_days(
    world: World, file: ConfiguredFile, manager: Person, ahead_ms: int, stored_ms: int
) -> None:
    """The seven days start at the time of the request."""
    now = world.clock.now
    assert file.put_settings({"deleteAt": format_instant(now + ahead_ms)}, manager).status_code == 200
    assert get_as_next_owner(world, file)["deleteAt"] == format_instant(now + stored_ms)


def test_never_expire_false_keeps_the_expiry(world: World, file: ConfiguredFile, manager: Person) -> None:
    update_file_row(world, file.made["uuid"], delete_at=world.clock.now + 3 * DAY)
    before = get_as_next_owner(world, file)["deleteAt"]
    assert file.put_settings({"neverExpire": False, "viewerMode": "swipe"}, manager).status_code == 200
    assert get_as_next_owner(world, file)["deleteAt"] == before


@pytest.mark.parametrize("columns", [{"delete_at": 0}, {"burned_at": 0}])
def test_an_expired_or_burned_file_is_410(
    world: World, file: ConfiguredFile, manager: Person, columns: dict[str, int]
) -> None:
    update_file_row(world, file.made["uuid"], **columns)
    before = file.read_row_and_bytes()
    answer = file.put_settings({"viewerMode": "swipe"}, manager)
    assert (answer.status_code, answer.get_json()["code"]) == (410, "gone")
    assert file.read_row_and_bytes() == before


def test_a_manage_token_is_404_after_a_claim_and_401_after_30_days(
    world: World, file: ConfiguredFile, manager: Person
) -> None:
    world.clock.advance(days=29)
    assert file.put_settings({}, manager).status_code == 200
    owner = world.rt.db.fetch_one("SELECT id FROM accounts WHERE uuid = ?", (world.mal.uuid,))
    assert owner is not None
    update_file_row(world, file.made["uuid"], owner_id=owner[0])
    assert file.put_settings({"viewerMode": "swipe"}, manager).status_code == 404
    world.clock.advance(days=2)
    assert file.put_settings({"viewerMode": "swipe"}, manager).status_code == 401


def test_a_manage_token_has_the_free_plan_even_if_the_owner_had_another(world: World, file: ConfiguredFile) -> None:
    file.change_settings(viewerSettings={"logo": {"assetId": ASSET}})
    manager = remove_owner(world, file)
    answer = file.put_settings({"viewerSettings": {"logo": {"assetId": ASSET}}}, manager)
    assert f"requires the {Plan.BASIC.tier} plan" in answer.get_json()["detail"]
    assert file.put_settings({"viewerSettings": {}}, manager).status_code == 200
    assert get_as_next_owner(world, file)["viewerSettings"] == {}
