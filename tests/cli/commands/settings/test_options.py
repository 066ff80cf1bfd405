"""Each option of ``docshare settings set`` and ``docshare upload`` names the setting that it sets."""

from __future__ import annotations

from docshare.cli.commands.settings.declarations import ROWS, SETTING_KINDS, is_block
from docshare.cli.commands.settings.options import AllSettings, SharingOptions, UploadSettings
from docshare.contract.settings import SETTINGS

# Written by hand.
SHARING = {
    "mode": "viewerMode", "download": "allowDownload", "expires": "deleteAt", "show_expiry": "showExpiry",
    "views": "viewLimit", "pages": "pageRange", "require_email": "requireEmail", "email_domain": "gateDomains",
    "notify": "notifyOnView", "watermark": "watermark", "receipt": "askReceipt", "slug": "slug",
    "reader_choice": "readerChoice", "show_sender": "showSender",
}  # fmt: skip
OTHERS = {
    "comments": "commentsEnabled", "comments_public": "commentsAllowPublic", "notify_comments": "notifyOnComment",
    "marks": "marksEnabled", "annotations": "annotationsEnabled", "gate": "gateFields", "ga4": "ga4Id",
    "brand": "brand.accentColor", "cta_label": "cta.label", "cta_url": "cta.url",
    "watermark_opacity": "watermarkStyle.opacity", "background": "background", "logo": "logo.assetId",
}  # fmt: skip


def test_every_option_names_its_setting() -> None:
    assert dict(SharingOptions.list_keys()) == SHARING
    assert dict(UploadSettings.list_keys()) == SHARING
    assert dict(AllSettings.list_keys()) == SHARING | OTHERS


def test_every_setting_with_options_has_one_on_the_command_line() -> None:
    assert {key for key, row in SETTINGS.items() if row.options} == set((SHARING | OTHERS).values()) & SETTINGS.keys()


def test_every_setting_of_an_option_is_declared() -> None:
    assert [key for key in (SHARING | OTHERS).values() if key not in ROWS and not is_block(key)] == []


def test_every_setting_has_a_known_kind() -> None:
    assert {row.kind for row in ROWS.values()} == set(SETTING_KINDS)
