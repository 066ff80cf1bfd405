"""Change settings over the API, and read everything that a change could affect."""

from typing import Any

from werkzeug.test import TestResponse

from docshare.contract.plans import Plan
from docshare.server.services.accounts import accounts
from docshare.server.services.files import tokens
from docshare.server.services.files.sealed_blobs import open_blob
from tests.contract.settings_table import ABSENT, ASSET
from tests.support.engines.stored_bytes import read_stored
from tests.support.people.cast import Person, World

PEOPLE = {"free": "fay", "basic": "bea", "pro": "pia"}


class ConfiguredFile:
    """One file of ``owner`` (three pages, one image uploaded to it) and writes to its settings."""

    def __init__(self, world: World, owner: Person, content: bytes | None = None) -> None:
        self.world = world
        self.owner = owner
        self.made = owner.upload(content)
        self.path = f"/api/v1/files/{self.made['uuid']}"
        insert_asset(world, self.made["uuid"], "logo", ASSET)

    def put_settings(self, body: Any, person: Person | None = None) -> TestResponse:
        """Write the settings ``body`` as ``person``, by default the owner."""
        return (person or self.owner).put(f"{self.path}/settings", json=body)

    def change_settings(self, **settings: Any) -> None:
        """Change settings; the request must succeed."""
        answer = self.put_settings(settings)
        assert (answer.status_code, answer.data) == (200, b""), answer.text

    def get_file(self) -> dict[str, Any]:
        """Return the File object of its owner."""
        found: dict[str, Any] = self.owner.get(self.path).get_json()
        return found

    def has_values(self, expected: dict[str, Any]) -> bool:
        """Return whether the File object has all of ``expected``."""
        found = self.get_file()
        return all(found.get(key, ABSENT) == value for key, value in expected.items())

    def read_row_and_bytes(self) -> tuple[Any, ...]:
        """Return the row of the file and its bytes, as they are stored."""
        row = self.world.rt.db.fetch_one("SELECT * FROM files WHERE uuid = ?", (self.made["uuid"],))
        assert row is not None
        return (*row, read_stored(self.world.rt, blob_key(self.world, self.made["uuid"])))

    def read_content(self) -> bytes:
        """Return the decrypted bytes of the file."""
        return open_blob(self.world.rt, blob_key(self.world, self.made["uuid"])).read_bytes()

    def set_plan(self, plan: str) -> None:
        """Change the plan of the owner."""
        accounts.set_tier(self.world.rt, self.owner.email, Plan.from_tier(plan))


def share_file_on_plan(world: World, plan: str) -> ConfiguredFile:
    """Return a file of the account on ``plan``."""
    return ConfiguredFile(world, getattr(world, PEOPLE[plan]))


def blob_key(world: World, file_uuid: str) -> str:
    """Return the key of the file's bytes in the store."""
    found = world.rt.db.fetch_one("SELECT blob FROM files WHERE uuid = ?", (file_uuid,))
    assert found is not None
    return str(found[0])


def insert_asset(world: World, file_uuid: str, kind: str, uuid: str) -> None:
    """Insert an asset of the file as an upload would; an older one with the same id is deleted."""
    with world.rt.db.write():
        world.rt.db.execute("DELETE FROM assets WHERE uuid = ?", (uuid,))
        world.rt.db.execute(
            "INSERT INTO assets (uuid, file_id, kind, mime_type, size, blob, created_at) "
            "SELECT ?, id, ?, 'image/png', 1, 'none', 0 FROM files WHERE uuid = ?",
            (uuid, kind, file_uuid),
        )


def remove_owner(world: World, shared: ConfiguredFile) -> Person:
    """Remove the owner of the file; return a client with its manage token."""
    with world.rt.db.write():
        found = world.rt.db.fetch_one("SELECT id FROM files WHERE uuid = ?", (shared.made["uuid"],))
        assert found is not None
        world.rt.db.execute("UPDATE files SET owner_id = NULL WHERE id = ?", found)
        token = tokens.mint(world.rt, found[0], world.clock.now).manage
    return Person(email="", uuid="", key=token, http=world.app.test_client())
