"""Readers with a known email address: they entered it on a link, or opened a personal link."""

from flask.testing import FlaskClient

from docshare.server.services.links import links
from docshare.server.services.readership import viewers
from tests.support.people.cast import World


def insert_invite(world: World, file_uuid: str, email: str, short_id: str) -> None:
    """Insert an invitation for ``email`` whose personal link is ``short_id``."""
    with world.rt.db.write():
        world.rt.db.execute(
            "INSERT INTO invites (uuid, short_id, file_id, email, created_at) "
            "SELECT ?, ?, id, ?, 0 FROM files WHERE uuid = ?",
            (world.rt.random_uuid(), short_id, email, file_uuid),
        )


def make_known_reader(world: World, name: str, email: str | None) -> FlaskClient:
    """Return the browser of a reader who left feedback on the link ``name``, with ``email`` if given."""
    http = world.app.test_client()
    with world.rt.db.write():
        link = links.resolve(world.rt, name)
        assert link is not None
        known = viewers.find_or_create(world.rt, link, None)
        if email is not None:
            world.rt.db.execute("UPDATE viewers SET email = ? WHERE id = ?", (email, known.viewer.id))
    assert known.token is not None
    http.set_cookie(f"viewer-{link.short_id}", known.token)
    return http
