"""The public download: the PDF as this reader may have it, and the record that it was taken.

The owner's own downloads are in the stream too, but no event. Every download
counts, whoever sends the form: unlike a page view it does not happen by looking at a link.
"""

import json
from dataclasses import dataclass
from typing import IO

from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none
from docshare.server.pdf.engine import Derivation, UnrenderableError
from docshare.server.rules import downloads as rules
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.files import page_range, tenants
from docshare.server.services.links import watermark as marking
from docshare.server.services.links.links import Link

_RETRY_AFTER_S = "10"
_APPEND = (
    "INSERT INTO download_rows (owner_id, file_id, hidden, read_at, country) "
    "SELECT owner_id, id, trashed_at IS NOT NULL, ?, ? FROM files WHERE id = ? AND owner_id IS NOT NULL"
)

_HAS_WARNING = "SELECT 1 FROM {} WHERE id = ? AND download_warning IS NOT NULL"
# Only while what was tried is still what is set: a later change has a trial of its own.
_STORE_FILE = (
    "UPDATE files SET download_warning = ? WHERE id = ? AND content_version = ? AND settings = ? "
    "AND download_warning IS NOT ?"
)
_STORE_VARIANT = (
    "UPDATE variants SET download_warning = ? WHERE id = ? AND overrides = ? AND download_warning IS NOT ? "
    "AND EXISTS (SELECT 1 FROM files WHERE id = ? AND content_version = ? AND settings = ?)"
)


@dataclass(frozen=True)
class DownloadCopy:
    """What is sent: the open ``file`` of ``size`` bytes, which the receiver closes, and its ``name``."""

    file: IO[bytes]
    size: int
    name: str


@dataclass(frozen=True)
class _CopyForm:
    """How somebody gets a document: ``wanted`` None for as it is stored; ``personal`` where it names its reader."""

    is_owner: bool
    wanted: Derivation | None
    personal: bool = False


def can_download(rt: Runtime, link: Link, cookie: str | None) -> bool:
    """Whether whoever holds the session cookie ``cookie`` can download the document behind ``link``."""
    form = _choose_form(rt, link, cookie)
    return (form.is_owner or _is_allowed(link)) and rules.can_make_download(
        link.file.size, as_stored=form.wanted is None
    )


def can_make_copy(rt: Runtime, link: Link) -> bool:
    """Whether the document behind ``link`` is small enough for what its readers may download of it, if they may."""
    return not _is_allowed(link) or rules.can_make_download(
        link.file.size, as_stored=_choose_reader_form(rt, link, None).wanted is None
    )


def find_reader_copy(rt: Runtime, link: Link) -> Derivation | None:
    """What readers of ``link`` who gave no address download; None where they get the stored bytes, or nothing."""
    return (
        _choose_reader_form(rt, link, None).wanted
        if _is_allowed(link) and page_range.reader_window(link).size
        else None
    )


def describe_warning(reason: str | None) -> str | None:
    """Return what to tell the owner about a noted ``reason``; None for none."""
    return rules.describe_failure(reason)


def store_warning(rt: Runtime, link: Link, reason: str | None) -> None:
    """Write down why the copy of ``link`` cannot be made, None for that it can."""
    file, variant = link.file, link.variant
    table, row_id = ("files", file.id) if variant is None else ("variants", variant.id)
    if reason is None and rt.db.row(_HAS_WARNING.format(table), (row_id,)) is None:
        return
    standing = (file.id, file.content_version, file.settings)
    with rt.db.write():
        if variant is None:
            rt.db.execute(_STORE_FILE, (reason, *standing, reason))
        else:
            rt.db.execute(_STORE_VARIANT, (reason, variant.id, variant.overrides, reason, *standing))


def download_copy(
    rt: Runtime, link: Link, cookie: str | None, viewer_token: str | None, country: str | None, address: str = ""
) -> DownloadCopy:
    """Make the copy and write down that it was taken.

    Parameters: ``cookie`` the session cookie of whoever asks, ``viewer_token`` what their browser holds for the link;
    ``country`` two letters or None, ``address`` theirs. Raises Problem: ``forbidden`` when downloading is off or the
    copy cannot be made of so large a document, ``unprocessable`` and ``unavailable`` when it cannot be made at all or
    now, ``not_found`` when the bytes are gone.
    """
    form = _choose_form(rt, link, cookie, viewer_token)
    if not (form.is_owner or _is_allowed(link)):
        raise Problem("forbidden", "The owner of this document has not allowed downloading it.")
    if not rules.can_make_download(link.file.size, as_stored=form.wanted is None):
        raise Problem("forbidden", "This document is too large to be downloaded in the form that its owner allows.")
    copy = _open_copy(rt, link, form, address)
    try:
        _record_download(rt, link, form, country)
    except BaseException:
        copy.file.close()
        raise
    return copy


def _choose_form(rt: Runtime, link: Link, cookie: str | None, viewer_token: str | None = None) -> _CopyForm:
    if page_range.is_owner(rt, link, cookie):
        return _CopyForm(True, None)
    return _choose_reader_form(rt, link, viewer_token)


def _choose_reader_form(rt: Runtime, link: Link, viewer_token: str | None) -> _CopyForm:
    file = link.file
    shown, watermark = page_range.reader_window(link), marking.find_download_watermark(rt, link, viewer_token)
    if watermark is not None:
        wanted = Derivation(file.total_pages, shown.first, shown.last, watermark.mark)
        return _CopyForm(False, wanted, watermark.personal)
    if shown.covers(file.total_pages):
        return _CopyForm(False, None)
    return _CopyForm(False, Derivation(file.total_pages, shown.first, shown.last))


def _is_allowed(link: Link) -> bool:
    return rules.is_download_allowed(json.loads(link.file.settings), link.overrides)


def _open_copy(rt: Runtime, link: Link, form: _CopyForm, address: str) -> DownloadCopy:
    for _ in range(2):
        try:
            file = _open_bytes(rt, link, form, address)
        except FileNotFoundError:
            continue  # newer files pushed it out since it was found, or the document was destroyed
        size = file.seek(0, 2)
        file.seek(0)
        return DownloadCopy(file, size, rules.download_name(link.file.original_name))
    raise Problem("not_found", "There is no such link.")


def _open_bytes(rt: Runtime, link: Link, form: _CopyForm, address: str) -> IO[bytes]:
    file, blob, wanted = link.file, rt.blobs.path(link.file.blob), form.wanted
    if wanted is None:
        return blob.open("rb")
    asked = (file.uuid, file.content_version, blob, wanted, tenants.reader_tenant(file, address))
    try:
        made = rt.pages.copy(*asked) if form.personal else rt.pages.document(*asked).open("rb")
        store_warning(rt, link, None)
        return made
    except UnrenderableError as error:
        if error.lasting:
            store_warning(rt, link, rules.classify_failure(error.reason, lasting=True))
            detail = "This document cannot be downloaded in the form that its owner allows."
            raise Problem("unprocessable", detail, hint="Ask whoever sent the link for the document.") from error
        detail = "The copy cannot be made at the moment."
        raise Problem("unavailable", detail, headers={"Retry-After": _RETRY_AFTER_S}) from error


def _record_download(rt: Runtime, link: Link, form: _CopyForm, country: str | None) -> None:
    now, variant = rt.clock(), link.variant
    with rt.db.write():
        rt.db.execute(_APPEND, (now, country, link.file.id))
        if form.is_owner:
            return  # ``file.downloaded`` is about readers, not about the owner
        # Read now: its label may have been redacted, or it deleted, while the copy was made.
        found = variant and rt.db.row("SELECT label FROM variants WHERE id = ?", (variant.id,))
        extras, variant_id = {}, None
        if variant and found:
            extras, variant_id = drop_none({"variantUuid": variant.uuid, "variantLabel": found[0]}), variant.id
        activity.record(rt, link.file.id, "file.downloaded", extras, at=now, variant_id=variant_id)
