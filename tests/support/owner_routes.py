"""The forms of the owner's pages, each with an address and fields that it obeys."""

from __future__ import annotations

from dataclasses import replace

from docshare.server.services.accounts import accounts
from tests.api.hooks import change_hook
from tests.support.cookie_routes import PASSWORD, Desk, Row, form, with_password
from tests.support.receivers import happen
from tests.support.settings import add_asset

_ASSET = "0f6a5c1e-7d0b-4a55-9c3e-2b1d9f8e7a60"
_SPOT = {"x": "10", "y": "10", "width": "20", "height": "10", "label": "Book", "link": "https://example.com"}


def _file(desk: Desk) -> str:
    return f"/files/{desk.made['uuid']}"


def _trashed(desk: Desk) -> str:
    made = desk.file()
    assert desk.world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code == 200
    return f"/trash/{made['uuid']}"


def _key(desk: Desk) -> str:
    made = accounts.create_key(desk.world.rt, desk.world.pia.email, "laptop")
    return f"/account/keys/{made.uuid}/revoke"


def _app(desk: Desk) -> str:
    desk.app.tokens()
    (row,) = desk.world.rt.db.rows("SELECT uuid FROM oauth_grants ORDER BY id DESC LIMIT 1")
    return f"/account/apps/{row[0]}/revoke"


def _disabled(desk: Desk) -> str:
    uuid = desk.hook()
    change_hook(desk.world, uuid, disabled_at=1)
    return f"/webhooks/{uuid}/enable"


def _ended_delivery(desk: Desk) -> str:
    uuid = desk.hook("content.replaced")
    happen(desk.world, desk.made["uuid"])
    with desk.world.rt.db.write():
        desk.world.rt.db.execute("UPDATE deliveries SET next_at = NULL, abandoned_at = 1")
    (row,) = desk.world.rt.db.rows("SELECT MAX(id) FROM deliveries")
    return f"/webhooks/{uuid}/deliveries/{row[0]}/redeliver"


def _link(desk: Desk, *, revoked: bool = False) -> str:
    path = f"/api/v1/files/{desk.made['uuid']}/variants"
    made = desk.world.pia.post(path, json={"label": "Ann"}).get_json()
    if revoked:
        desk.world.pia.put(f"{path}/{made['uuid']}", json={"revoked": True})
    return f"{_file(desk)}/links/{made['uuid']}"


def _spot(desk: Desk) -> str:
    sent = {"csrf": desk.token, "page": "1", **_SPOT}
    assert desk.browser.post(f"{_file(desk)}/hotspots", data=sent).status_code == 303
    (row,) = desk.world.rt.db.rows("SELECT uuid FROM hotspots ORDER BY id DESC LIMIT 1")
    return f"{_file(desk)}/hotspots/{row[0]}/delete"


def _asset(desk: Desk) -> str:
    add_asset(desk.world, desk.made["uuid"], "logo", _ASSET)
    return f"{_file(desk)}/assets/{_ASSET}/use"


OWNER_ROWS: dict[str, Row] = {
    "owner_library.delete": form(lambda desk: f"/files/{desk.file()['uuid']}/delete", fate="trash"),
    "owner_trash.restore": form(lambda desk: f"{_trashed(desk)}/restore"),
    "owner_trash.delete": form(lambda desk: f"{_trashed(desk)}/delete"),
    "owner_account.rename": form("/account/name", name="Pia Lee"),
    "owner_account.create_key": form("/account/keys", key_name="laptop"),
    "owner_account.revoke_key": form(_key),
    "owner_account.revoke_app": form(_app),
    "owner_account.end_sessions": form("/account/sessions/end"),
    "owner_account.set_password": form("/account/password", password=PASSWORD),
    "owner_account.remove_password": form(lambda desk: with_password(desk) and "/account/password/remove"),
    "owner_webhooks.create": form("/webhooks", url="https://hook.example/in", events=["file.viewed"]),
    "owner_webhooks.test": replace(form(lambda desk: f"/webhooks/{desk.hook()}/test"), quiet=True),
    "owner_webhooks.enable": form(_disabled),
    "owner_webhooks.delete": form(lambda desk: f"/webhooks/{desk.hook()}/delete"),
    "owner_webhooks.redeliver": form(_ended_delivery),
    "owner_file_settings.change": form(
        lambda desk: f"{_file(desk)}/settings", shown='{"showExpiry": "on"}', showExpiry=""
    ),
    "owner_file_settings.change_looks": form(
        lambda desk: f"{_file(desk)}/looks", shown='{"viewerMode": "standard"}', viewerMode="magazine"
    ),
    "owner_file_links.create": form(lambda desk: f"{_file(desk)}/links", labels="Ben"),
    "owner_file_links.change": form(_link, label="Cy"),
    "owner_file_links.revoke": form(lambda desk: f"{_link(desk)}/revoke"),
    "owner_file_links.restore": form(lambda desk: f"{_link(desk, revoked=True)}/restore"),
    "owner_file_links.redact": form(lambda desk: f"{_link(desk)}/redact", confirm="redact"),
    "owner_file_links.delete": form(lambda desk: f"{_link(desk)}/delete", confirm="delete"),
    "owner_file_invites.create": form(lambda desk: f"{_file(desk)}/invites", email="ann@example.com"),
    "owner_file_hotspots.create": form(lambda desk: f"{_file(desk)}/hotspots", page="1", **_SPOT),
    "owner_file_hotspots.delete": form(_spot),
    "owner_file_assets.use": form(_asset),
}
"""Endpoint of the application -> its row."""
