"""Slugs (custom links): when they are taken, reserved and free."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World
from tests.support.people.settings import ConfiguredFile


def assert_slug_taken(file: ConfiguredFile, slug: str) -> None:
    """Assert that ``slug`` is rejected as taken and that nothing changes."""
    before = file.read_row_and_bytes()
    answer = file.put_settings({"viewerMode": "swipe", "slug": slug})
    assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")
    assert file.read_row_and_bytes() == before


def test_a_slug_opens_the_share_page_and_a_new_one_replaces_it(world: World, file: ConfiguredFile) -> None:
    file.change_settings(slug="first")
    file.change_settings(slug="second")
    assert [world.http.get(f"/{name}").status_code for name in ("first", "second")] == [404, 200]
    file.change_settings(slug="second")
    assert file.has_values({"slug": "second"})


@pytest.mark.parametrize("slug", ["a", "-", "0", "x" * 64, "q3-report-2026", "abcdefghijkl"])
def test_a_slug_has_lowercase_letters_digits_and_hyphens(file: ConfiguredFile, slug: str) -> None:
    file.change_settings(slug=slug)
    assert file.has_values({"slug": slug})


@pytest.mark.parametrize("owner", ["pia", "mal"])
def test_a_slug_of_another_file_of_any_account_is_taken(world: World, file: ConfiguredFile, owner: str) -> None:
    ConfiguredFile(world, getattr(world, owner)).change_settings(slug="q3")
    assert_slug_taken(file, "q3")


@pytest.mark.parametrize("owner", ["pia", "mal"])
def test_a_slug_of_a_trashed_file_is_taken_until_the_purge(world: World, file: ConfiguredFile, owner: str) -> None:
    """It is 409 for every account, including the owner."""
    other = ConfiguredFile(world, getattr(world, owner))
    other.change_settings(slug="q3")
    other.owner.delete(other.path)
    assert_slug_taken(file, "q3")
    other.owner.delete(f"{other.path}?purge=1")
    file.change_settings(slug="q3")


def test_a_cleared_slug_is_free(world: World, file: ConfiguredFile) -> None:
    other = ConfiguredFile(world, world.mal)
    other.change_settings(slug="q3")
    other.change_settings(slug="")
    file.change_settings(slug="q3")


def test_a_slug_equal_to_any_short_id_is_taken(world: World, file: ConfiguredFile) -> None:
    """This includes short ids of purged files, so that an old link never opens another document."""
    with world.rt.db.write():
        world.rt.db.execute("INSERT INTO short_ids (short_id) VALUES ('abcdefghijkl')")
    assert_slug_taken(file, "abcdefghijkl")
    other = ConfiguredFile(world, world.mal)
    update_file_row(world, other.made["uuid"], short_id="mnopqrstuvwx")
    with world.rt.db.write():
        world.rt.db.execute("INSERT INTO short_ids (short_id) VALUES ('mnopqrstuvwx')")
    assert_slug_taken(file, "mnopqrstuvwx")
    other.owner.delete(f"{other.path}?purge=1")
    assert_slug_taken(file, "mnopqrstuvwx")


def test_only_one_of_two_concurrent_requests_gets_a_slug(world: World) -> None:
    """The other request is 409."""
    files = [ConfiguredFile(world, owner) for owner in (world.pia, world.mal)]
    together = threading.Barrier(2)

    def ask(file: ConfiguredFile, slug: str) -> int:
        together.wait(30)
        return file.put_settings({"slug": slug}).status_code

    with ThreadPoolExecutor(2) as pool:
        for turn in range(25):
            statuses = sorted(pool.map(ask, files, [f"race-{turn}"] * 2))
            assert statuses == [200, 409]
            assert [file.get_file().get("slug") for file in files].count(f"race-{turn}") == 1
