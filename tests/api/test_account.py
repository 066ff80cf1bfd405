"""The account record."""

import pytest

from tests.support.engines.rows import update_file_row
from tests.support.people.cast import World

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("person", "tier", "limits"),
    [
        ("fay", "free", {"maxActiveFiles": 3, "maxUploadBytes": 20 * MB, "activeFiles": 0}),
        ("bea", "basic", {"maxActiveFiles": 100, "maxUploadBytes": 200 * MB, "activeFiles": 0}),
        ("pia", "pro", {"maxUploadBytes": 2048 * MB, "activeFiles": 0}),
    ],
)
def test_the_account_record_has_its_keys_in_order(world: World, person: str, tier: str, limits: dict[str, int]) -> None:
    """``{uuid, name, email, subscription, tier, isAdmin, created_at, limits}``; ``maxActiveFiles`` absent on Pro."""
    caller = getattr(world, person)
    answer = caller.get("/api/v1/user")
    assert list(answer.get_json()) == [
        "uuid",
        "name",
        "email",
        "subscription",
        "tier",
        "isAdmin",
        "created_at",
        "limits",
    ]
    assert answer.get_json() == {
        "uuid": caller.uuid,
        "name": person.title(),
        "email": f"{person}@example.com",
        "subscription": tier,
        "tier": tier,
        "isAdmin": False,
        "created_at": "2026-09-21T14:13:20.000Z",
        "limits": limits,
    }


def test_active_files_counts_files_outside_the_trash(world: World) -> None:
    for _ in range(3):
        made = world.pia.upload()
    update_file_row(world, made["uuid"], trashed_at=1, purge_at=2)
    world.mal.upload()
    assert world.pia.get("/api/v1/user").get_json()["limits"]["activeFiles"] == 2
