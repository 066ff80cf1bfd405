"""Serve the public download: make the PDF that this reader may have, and record the download.

The owner's own downloads are in the stream too, but are not an event. Every download counts, from any client:
unlike a page view, a download does not happen by previewing a link.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from docshare.contract.problems import Problem
from docshare.contract.wire import drop_none
from docshare.server.pdf.engine import Derivation, UnrenderableError
from docshare.server.rules import downloads as rules
from docshare.server.rules.downloads import describe_warning as describe_warning
from docshare.server.runtime import Runtime
from docshare.server.services.events import activity
from docshare.server.services.files import page_range, sealed_blobs, tenants
from docshare.server.services.links import watermark as marking
from docshare.server.services.links.links import Link
from docshare.server.store.tables import feed, sharing
from docshare.server.store.tables import files as file_rows

_RETRY_AFTER_S = "10"


@dataclass(frozen=True)
class DownloadCopy:
    """A copy to send: the open ``file`` of ``size`` bytes, which the caller closes, and its ``name``."""

    file: IO[bytes]
    size: int
    name: str


@dataclass(frozen=True)
class _CopyForm:
    """The form in which somebody gets a document. ``derivation``: None for the stored bytes; ``is_personal``: it
    names its reader."""

    is_owner: bool
    derivation: Derivation | None
    is_personal: bool = False


def can_download(rt: Runtime, link: Link, cookie: str | None) -> bool:
    """Return whether the holder of the session cookie ``cookie`` can download the document behind ``link``."""
    form = _choose_form(rt, link, cookie)
    return (form.is_owner or link.settings["allowDownload"]) and rules.can_make_download(
        link.file.size, as_stored=form.derivation is None
    )


def find_reader_copy(rt: Runtime, link: Link) -> Derivation | None:
    """Return the copy that anonymous readers of ``link`` download; None where they get the stored bytes, or nothing."""
    return _choose_reader_form(rt, link, None).derivation if link.settings["allowDownload"] else None


def store_warning(rt: Runtime, link: Link, reason: str | None) -> None:
    """Store why the copy of ``link`` cannot be made; ``reason`` None erases the warning."""
    file, variant = link.file, link.variant
    if reason is None and not _has_warning(rt, link):
        return
    with rt.db.write(file.owner_id):
        if variant is None:
            file_rows.store_warning(
                rt.db, file.id, reason, content_version=file.content_version, settings=file.settings
            )
        else:
            sharing.store_variant_warning(
                rt.db,
                variant.id,
                reason,
                overrides=variant.overrides,
                file_id=file.id,
                content_version=file.content_version,
                settings=file.settings,
            )


def download_copy(
    rt: Runtime,
    link: Link,
    cookie: str | None,
    viewer_token: str | None,
    country: str | None,
    address: str = "",
    *,
    find_again: Callable[[], Link] | None = None,
) -> DownloadCopy:
    """Make the copy and record the download.

    Parameters: ``cookie`` the session cookie of the request, ``viewer_token`` that its browser holds for the link;
    ``country`` two letters or None, ``address`` of the network. ``find_again`` returns the link once the copy is made,
    which can take a minute; it raises Problem if the reader may not read it any more. Raises Problem: ``forbidden``
    when downloading is off or the document is too large for the copy, ``unprocessable`` and ``unavailable`` when the
    copy cannot be made at all or at the moment, and what ``find_again`` raises. Raises FileNotFoundError if the
    document was replaced or deleted, or its settings were changed, after ``link`` was found, or the cache has evicted
    the copy: the caller finds the link again.
    """
    form = _choose_form(rt, link, cookie, viewer_token)
    if not (form.is_owner or link.settings["allowDownload"]):
        raise Problem("forbidden", "The owner of this document does not allow downloads.")
    if not rules.can_make_download(link.file.size, as_stored=form.derivation is None):
        raise Problem("forbidden", "This document is too large to be downloaded in the form that its owner allows.")
    copy = _open_copy(rt, link, form, address)
    try:
        if find_again is not None and not _is_unchanged(link, find_again()):
            raise FileNotFoundError(link.file.blob)
        _record_download(rt, link, form, country)
    except BaseException:
        copy.file.close()
        raise
    return copy


def _is_unchanged(link: Link, now: Link) -> bool:
    """Return whether readers of the link ``now`` may have what readers of ``link`` could have."""
    return (link.file.content_version, link.settings) == (now.file.content_version, now.settings)


def _choose_form(rt: Runtime, link: Link, cookie: str | None, viewer_token: str | None = None) -> _CopyForm:
    if page_range.is_owner(rt, link, cookie):
        return _CopyForm(True, None)
    return _choose_reader_form(rt, link, viewer_token)


def _choose_reader_form(rt: Runtime, link: Link, viewer_token: str | None) -> _CopyForm:
    file = link.file
    window, watermark = page_range.reader_window(link), marking.find_download_watermark(rt, link, viewer_token)
    if watermark is not None:
        derivation = Derivation(file.total_pages, window.first, window.last, watermark.mark)
        return _CopyForm(False, derivation, watermark.personal)
    if window.covers_all(file.total_pages):
        return _CopyForm(False, None)
    return _CopyForm(False, Derivation(file.total_pages, window.first, window.last))


def _open_copy(rt: Runtime, link: Link, form: _CopyForm, address: str) -> DownloadCopy:
    file = _open_bytes(rt, link, form, address)
    size = file.seek(0, 2)
    file.seek(0)
    return DownloadCopy(file, size, rules.download_name(link.file.original_name))


def _open_bytes(rt: Runtime, link: Link, form: _CopyForm, address: str) -> IO[bytes]:
    file, blob, derivation = link.file, sealed_blobs.open_blob(rt, link.file.blob), form.derivation
    if derivation is None:
        return blob.open()
    request = (file.uuid, file.content_version, blob, derivation, tenants.reader_tenant(file, address))
    try:
        copy = rt.pages.build_copy(*request) if form.is_personal else rt.pages.document(*request).open()
        store_warning(rt, link, None)
        return copy
    except UnrenderableError as error:
        if error.reason == "missing":
            raise FileNotFoundError(link.file.blob) from error
        if error.is_permanent:
            store_warning(rt, link, rules.classify_failure(error.reason, is_permanent=True))
            detail = "This document cannot be downloaded in the form that its owner allows."
            raise Problem(
                "unprocessable", detail, hint="Ask the person who sent you the link to send you the document."
            ) from error
        detail = "The server cannot create the copy now."
        raise Problem("unavailable", detail, headers={"Retry-After": _RETRY_AFTER_S}) from error


def _has_warning(rt: Runtime, link: Link) -> bool:
    if link.variant is None:
        return file_rows.has_warning(rt.db, link.file.id)
    return sharing.has_variant_warning(rt.db, link.variant.id)


def _record_download(rt: Runtime, link: Link, form: _CopyForm, country: str | None) -> None:
    now, variant = rt.clock(), link.variant
    with rt.db.write(link.file.owner_id):
        feed.append_download(rt.db, link.file.id, country, now)
        if form.is_owner:
            return  # ``file.downloaded`` reports readers only
        # Read now: the variant may have been redacted or deleted while the copy was made.
        found = variant and sharing.find_variant_label(rt.db, variant.id)
        extras, variant_id = {}, None
        if variant and found:
            extras, variant_id = drop_none({"variantUuid": variant.uuid, "variantLabel": found[0]}), variant.id
        activity.record(rt, link.file.id, "file.downloaded", extras, at=now, variant_id=variant_id)
