"""Find who sent a link: the name and logo that readers see before a document opens and after its link has ended."""

from typing import NamedTuple

from docshare.server.rules.settings import read_settings
from docshare.server.runtime import Runtime
from docshare.server.services.files import assets, settings
from docshare.server.services.files.assets import ServedAsset
from docshare.server.services.links.links import Link
from docshare.server.store.tables import accounts

_SETTING = "showSender"


class LinkSender(NamedTuple):
    """The sender of a link. ``name``: None if the owner has not set one; ``logo_id``: the asset with the logo, or
    None."""

    name: str | None
    logo_id: str | None


def find_sender(rt: Runtime, link: Link) -> LinkSender | None:
    """Return the sender of ``link``, or None if readers must not see it or there is nothing to show.

    A frozen link has no sender: the operator withholds everything that could make it look trustworthy.
    """
    if link.file.frozen_at is not None or not is_shown(link.file.settings):
        return None
    logo = settings.find_appearance(rt, link).viewer_settings["logo"]
    sender = LinkSender(_find_chosen_name(rt, link.file.owner_id), logo.get("assetId"))
    return sender if any(sender) else None


def is_shown(settings_text: str) -> bool:
    """Return whether the owner of a file with these settings, as stored, lets readers see the sender."""
    return bool(read_settings(settings_text)[_SETTING])


def find_logo(rt: Runtime, link: Link) -> ServedAsset | None:
    """Return the logo of the sender of ``link``, or None."""
    sender = find_sender(rt, link)
    return None if sender is None or sender.logo_id is None else assets.find_served(rt, link, sender.logo_id)


def _find_chosen_name(rt: Runtime, account_id: int | None) -> str | None:
    """Return the name that the owner of an account chose; None while it is the one that the account began with."""
    found = accounts.find_name(rt.db, account_id)
    if found is None:
        return None
    name, email = found
    return None if name in ("", accounts.DEFAULT_NAME, email.partition("@")[0]) else name
