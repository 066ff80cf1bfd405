"""The forms of the owner's pages, each with an address and fields that the server accepts."""

from __future__ import annotations

from dataclasses import replace

from docshare.server.services.accounts import accounts
from tests.support.outside.receivers import record_replacements
from tests.support.people.cookie_routes import (
    PASSWORD,
    CookieRequest,
    CookieRoute,
    OwnerAndReader,
    SenderKind,
    form_route,
    set_password,
)
from tests.support.people.settings import insert_asset
from tests.support.people.webhooks import update_webhook_row

_ASSET_UUID = "0f6a5c1e-7d0b-4a55-9c3e-2b1d9f8e7a60"
_HOTSPOT_FIELDS = {"x": "10", "y": "10", "width": "20", "height": "10", "label": "Book", "link": "https://example.com"}


def _file_path(pair: OwnerAndReader) -> str:
    return f"/files/{pair.uploaded_file['uuid']}"


def _trashed_file_path(pair: OwnerAndReader) -> str:
    made = pair.upload_file()
    assert pair.world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code == 200
    return f"/trash/{made['uuid']}"


def _key_path(pair: OwnerAndReader) -> str:
    made = accounts.create_key(pair.world.rt, pair.world.pia.email, "laptop")
    return f"/account/keys/{made.uuid}/revoke"


def _colleagues_path(pair: OwnerAndReader) -> str:
    """Make Pia the owner of the instance: the oldest account."""
    for account in accounts.list_accounts(pair.world.rt):
        if account.email in ("fay@example.com", "bea@example.com"):
            accounts.delete_account(pair.world.rt, account.email)
    return "/account/colleagues"


def _app_path(pair: OwnerAndReader) -> str:
    pair.app.approve_and_exchange()
    (row,) = pair.world.rt.db.fetch_all("SELECT uuid FROM oauth_grants ORDER BY id DESC LIMIT 1")
    return f"/account/apps/{row[0]}/revoke"


def _build_device_form(pair: OwnerAndReader) -> CookieRequest:
    form = {"client_id": pair.app.client_id, "client_secret": pair.app.secret, "scope": "files:read"}
    code = pair.app.http.post("/oauth/device_authorization", data=form).get_json()["user_code"]
    return CookieRequest(
        pair.browser, "POST", "/device", form={"csrf": pair.token, "user_code": code, "decision": "approve"}
    )


def _disabled_webhook_path(pair: OwnerAndReader) -> str:
    uuid = pair.create_webhook()
    update_webhook_row(pair.world, uuid, disabled_at=1)
    return f"/webhooks/{uuid}/enable"


def _ended_delivery_path(pair: OwnerAndReader) -> str:
    uuid = pair.create_webhook("content.replaced")
    record_replacements(pair.world, pair.uploaded_file["uuid"])
    with pair.world.rt.db.write():
        pair.world.rt.db.execute("UPDATE deliveries SET next_at = NULL, abandoned_at = 1")
    (row,) = pair.world.rt.db.fetch_all("SELECT MAX(id) FROM deliveries")
    return f"/webhooks/{uuid}/deliveries/{row[0]}/redeliver"


def _link_path(pair: OwnerAndReader, *, revoked: bool = False) -> str:
    path = f"/api/v1/files/{pair.uploaded_file['uuid']}/variants"
    made = pair.world.pia.post(path, json={"label": "Ann"}).get_json()
    if revoked:
        pair.world.pia.put(f"{path}/{made['uuid']}", json={"revoked": True})
    return f"{_file_path(pair)}/links/{made['uuid']}"


def _hotspot_path(pair: OwnerAndReader) -> str:
    sent = {"csrf": pair.token, "page": "1", **_HOTSPOT_FIELDS}
    assert pair.browser.post(f"{_file_path(pair)}/hotspots", data=sent).status_code == 303
    (row,) = pair.world.rt.db.fetch_all("SELECT uuid FROM hotspots ORDER BY id DESC LIMIT 1")
    return f"{_file_path(pair)}/hotspots/{row[0]}/delete"


def _build_selection_form(pair: OwnerAndReader) -> CookieRequest:
    form = {"csrf": pair.token, "action": "trash", "file": pair.upload_file()["uuid"]}
    return CookieRequest(pair.browser, "POST", "/files/selected", form=form)


def _build_undo_form(pair: OwnerAndReader) -> CookieRequest:
    made = pair.upload_file()
    assert pair.world.pia.delete(f"/api/v1/files/{made['uuid']}").status_code == 200
    return CookieRequest(
        pair.browser, "POST", "/trash/restore", form={"csrf": pair.token, "file": made["shortId"], "list": ""}
    )


def _asset_path(pair: OwnerAndReader) -> str:
    insert_asset(pair.world, pair.uploaded_file["uuid"], "logo", _ASSET_UUID)
    return f"{_file_path(pair)}/assets/{_ASSET_UUID}/use"


OWNER_ROUTES: dict[str, CookieRoute] = {
    "owner_library.delete": form_route(lambda pair: f"/files/{pair.upload_file()['uuid']}/delete", fate="trash"),
    "owner_selection.change": CookieRoute(SenderKind.FORM, _build_selection_form),
    "owner_trash.undo": CookieRoute(SenderKind.FORM, _build_undo_form),
    "owner_trash.restore": form_route(lambda pair: f"{_trashed_file_path(pair)}/restore"),
    "owner_trash.delete": form_route(lambda pair: f"{_trashed_file_path(pair)}/delete"),
    "owner_device.enter": CookieRoute(SenderKind.FORM, _build_device_form),
    "owner_account.rename": form_route("/account/name", name="Pia Lee"),
    "owner_account.change_email": form_route("/account/email", email="pia.lee@example.com"),
    "owner_account.invite_colleague": form_route(
        _colleagues_path, colleague_email="kim@example.com", colleague_name="", tier="basic"
    ),
    "owner_account.create_key": form_route("/account/keys", key_name="laptop"),
    "owner_account.revoke_key": form_route(_key_path),
    "owner_account.revoke_app": form_route(_app_path),
    "owner_account.end_sessions": form_route("/account/sessions/end"),
    "owner_account.set_password": form_route("/account/password", password=PASSWORD),
    "owner_account.remove_password": form_route(lambda pair: set_password(pair) and "/account/password/remove"),
    "owner_webhooks.create": form_route("/webhooks", url="https://hook.example/in", events=["file.viewed"]),
    "owner_webhooks.test": replace(form_route(lambda pair: f"/webhooks/{pair.create_webhook()}/test"), is_quiet=True),
    "owner_webhooks.enable": form_route(_disabled_webhook_path),
    "owner_webhooks.delete": form_route(lambda pair: f"/webhooks/{pair.create_webhook()}/delete"),
    "owner_webhooks.redeliver": form_route(_ended_delivery_path),
    "owner_file_settings.change": form_route(
        lambda pair: f"{_file_path(pair)}/settings", shown='{"showExpiry": "on"}', showExpiry=""
    ),
    "owner_file_looks.change": form_route(
        lambda pair: f"{_file_path(pair)}/looks", shown='{"viewerMode": "standard"}', viewerMode="magazine"
    ),
    "owner_file_looks.draft": replace(
        form_route(
            lambda pair: f"{_file_path(pair)}/looks/preview", shown='{"viewerMode": "standard"}', viewerMode="magazine"
        ),
        is_quiet=True,
    ),
    "owner_file_links.create": form_route(lambda pair: f"{_file_path(pair)}/links", labels="Ben"),
    "owner_file_links.change": form_route(_link_path, shown='{"label": "Ann"}', label="Cy"),
    "owner_file_links.revoke": form_route(lambda pair: f"{_link_path(pair)}/revoke"),
    "owner_file_links.restore": form_route(lambda pair: f"{_link_path(pair, revoked=True)}/restore"),
    "owner_file_links.redact": form_route(lambda pair: f"{_link_path(pair)}/redact", confirm="erase"),
    "owner_file_links.delete": form_route(lambda pair: f"{_link_path(pair)}/delete", confirm="delete"),
    "owner_file_invites.create": form_route(lambda pair: f"{_file_path(pair)}/invites", email="ann@example.com"),
    "owner_file_hotspots.create": form_route(lambda pair: f"{_file_path(pair)}/hotspots", page="1", **_HOTSPOT_FIELDS),
    "owner_file_hotspots.delete": form_route(_hotspot_path),
    "owner_file_assets.use": form_route(_asset_path),
}
"""Endpoint of the application -> its row."""
