"""Resolving the name in a share URL to its file."""

import pytest

from docshare.server.services.links import links
from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World


def resolve_link(world: World, name: str) -> tuple[str, str, str] | None:
    """Return UUID, public id and state of the link that ``name`` identifies."""
    link = links.resolve(world.rt, name)
    return None if link is None else (link.file.uuid, link.public_id, link.state)


def test_a_uuid_resolves_to_its_file_in_any_case(world: World) -> None:
    """The public id is the UUID in lower case."""
    uuid = world.pia.upload()["uuid"]
    assert resolve_link(world, uuid) == resolve_link(world, uuid.upper()) == (uuid, uuid, "live")


def test_a_short_id_is_case_sensitive(world: World) -> None:
    """Two ids that differ only in case identify two files."""
    lower, upper = world.pia.upload()["uuid"], world.pia.upload()["uuid"]
    update_file_row(world, lower, short_id="abcdefghijkl")
    update_file_row(world, upper, short_id="ABCDEFGHIJKL")
    assert resolve_link(world, "abcdefghijkl") == (lower, "abcdefghijkl", "live")
    assert resolve_link(world, "ABCDEFGHIJKL") == (upper, "ABCDEFGHIJKL", "live")
    assert resolve_link(world, "Abcdefghijkl") is None


@pytest.mark.parametrize("slug", ["my-report", "abcdefghijkl", "0"])
def test_a_slug_resolves_to_its_file_and_is_not_its_public_id(world: World, slug: str) -> None:
    """URLs on the page never contain the slug."""
    made = world.pia.upload()
    update_file_row(world, made["uuid"], slug=slug)
    assert resolve_link(world, slug) == (made["uuid"], made["shortId"], "live")
    assert resolve_link(world, slug.upper()) is None or slug == "0"


def test_short_ids_take_precedence_over_slugs(world: World) -> None:
    first, second = world.pia.upload(), world.pia.upload()
    update_file_row(world, first["uuid"], short_id="abcdefghijkl")
    update_file_row(world, second["uuid"], slug="abcdefghijkl")
    assert resolve_link(world, "abcdefghijkl") == (first["uuid"], "abcdefghijkl", "live")


@pytest.mark.parametrize("name", ["", "nope", "abcdefghijkl", "\0", "\ud800", "' OR 1=1 --", "a" * 5000, "１" * 12])
def test_an_unknown_name_does_not_resolve(world: World, name: str) -> None:
    world.pia.upload()
    assert resolve_link(world, name) is None


def test_a_trashed_file_does_not_resolve(world: World) -> None:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], slug="my-report", trashed_at=world.clock.now, purge_at=world.clock.now + 1)
    for name in (made["uuid"], made["shortId"], "my-report"):
        assert resolve_link(world, name) is None


def test_a_link_is_live_expired_or_burned(world: World) -> None:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], delete_at=world.clock.now + 1)
    assert resolve_link(world, made["shortId"]) == (made["uuid"], made["shortId"], "live")
    world.clock.advance(milliseconds=1)
    assert resolve_link(world, made["shortId"]) == (made["uuid"], made["shortId"], "expired")
    update_file_row(world, made["uuid"], burned_at=world.clock.now)
    assert resolve_link(world, made["shortId"]) == (made["uuid"], made["shortId"], "burned")
