"""Anonymous files, created through the service, so that they exist even where anonymous uploads are off."""

from dataclasses import dataclass
from typing import Any

from werkzeug.test import TestResponse

from docshare.server.services.files import tokens
from tests.support.people.cast import World

DAY = 86_400_000


@dataclass
class AnonymousFile:
    """A file without an owner and its two tokens."""

    world: World
    uuid: str
    short_id: str
    claim_token: str
    manage_token: str

    def manage(self, method: str, path: str, **more: Any) -> TestResponse:
        """Send a request with the manage token."""
        headers = {"Authorization": f"Bearer {self.manage_token}"} | more.pop("headers", {})
        return self.world.http.open(path, method=method, headers=headers, **more)


def share_anonymously(world: World, content: bytes | None = None, *, days: int = 7) -> AnonymousFile:
    """Upload a document without an account; the link expires after ``days``."""
    made = world.pia.upload(content)
    with world.rt.db.write():
        delete_at = world.clock.now + days * DAY
        sql = "UPDATE files SET owner_id = NULL, delete_at = ? WHERE uuid = ?"
        assert world.rt.db.execute(sql, (delete_at, made["uuid"])) == 1
        found = world.rt.db.fetch_one("SELECT id FROM files WHERE uuid = ?", (made["uuid"],))
        assert found is not None
        minted = tokens.mint(world.rt, found[0], world.clock.now)
    return AnonymousFile(world, made["uuid"], made["shortId"], minted.claim, minted.manage)
