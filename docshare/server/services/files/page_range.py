"""Compute which pages of a document a reader sees, and translate page numbers into the reader's.

The signed-in owner always gets the full document.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from docshare.contract.problems import Problem
from docshare.server.rules.outline import OutlineEntry, trim_outline
from docshare.server.rules.page_window import PageWindow, resolve_window
from docshare.server.rules.page_window import is_empty as is_empty
from docshare.server.runtime import Runtime
from docshare.server.services.accounts import sign_in
from docshare.server.services.files import sealed_blobs, tenants
from docshare.server.services.links import watermark as marking
from docshare.server.services.links.links import Link
from docshare.server.services.links.watermark import Watermark
from docshare.server.services.operations.secrets import instance_secret
from docshare.server.store.stored_bytes import StoredBytes

_SECRET = "page-mark-1"  # noqa: S105 - a name
EMPTY_REASON = "empty"
_WATERMARK_SEPARATOR = "."  # before the tag of the watermark, in a mark


@dataclass(frozen=True)
class ReaderView:
    """``window``: the pages that a reader sees; ``place_tag``: identifies content and window without revealing the
    position of the window; ``watermark`` over the pages, or None; ``address_tag``: identifies all three in the
    addresses of pages, so that the page at an address never changes."""

    window: PageWindow
    place_tag: str
    address_tag: str
    watermark: Watermark | None = None

    def is_same_pages(self, mark: str) -> bool:
        """Return whether ``mark`` identifies the same pages of the same content, with any watermark."""
        return mark.partition(_WATERMARK_SEPARATOR)[0] == self.place_tag


def prepare(rt: Runtime) -> None:
    """Create the secret for partial documents in advance, so that showing the first one writes nothing."""
    instance_secret(rt, _SECRET)


def reader_window(link: Link) -> PageWindow:
    """Return the pages that readers of ``link`` see; ``size`` is the page count of the document for them."""
    return resolve_window(link.file.total_pages, link.settings["pageRange"])


def resolve_view(rt: Runtime, link: Link, cookie: str | None, viewer_token: str | None = None) -> ReaderView:
    """Return what a reader with this session cookie and this viewer token of ``link`` sees of the document."""
    file = link.file
    shown, watermark = reader_window(link), marking.find_viewer_watermark(rt, link, viewer_token)
    whole, place = shown.covers_all(file.total_pages), str(file.content_version)
    if (whole and watermark is None) or is_owner(rt, link, cookie):
        return ReaderView(PageWindow(1, file.total_pages), place, place)
    message = f"{file.uuid} {place} {shown.first} {shown.last}"
    if not whole:
        place = f"{place}-{_compute_tag(rt, message)}"
    mark = place if watermark is None else f"{place}{_WATERMARK_SEPARATOR}{_compute_tag(rt, f'{message} {watermark}')}"
    return ReaderView(shown, place, mark, watermark)


def _compute_tag(rt: Runtime, message: str) -> str:
    return hmac.digest(instance_secret(rt, _SECRET), message.encode(), hashlib.sha256)[:6].hex()


def require_pages(rt: Runtime, link: Link, cookie: str | None) -> None:
    """Raise ``not_found``, with the reason ``EMPTY_REASON`` in ``extra``, if the range of ``link`` contains no page
    since a replacement, unless the session cookie is that of the owner, who gets the full document."""
    if reader_window(link).size == 0 and not is_owner(rt, link, cookie):
        detail = "The shared pages are not part of the new version."
        raise Problem("not_found", detail, extra={"reason": EMPTY_REASON})


def is_owner(rt: Runtime, link: Link, cookie: str | None) -> bool:
    """Return whether the session cookie ``cookie`` is that of the file's owner."""
    owner_id = link.file.owner_id
    return cookie is not None and owner_id is not None and sign_in.find_account_id(rt, cookie) == owner_id


def load_page_text(rt: Runtime, link: Link, shown: PageWindow, page: int, address: str) -> dict[str, Any]:
    """Load the words and links of the ``page`` of a reader at ``address``, JSON-ready, without links to hidden pages
    and with the reader's page numbers. Raises what ``PageStore.text`` raises, ValueError outside of the window."""
    file = link.file
    number = shown.to_document_page(page)
    tenant = tenants.reader_tenant(file, address)
    make = partial(
        rt.pages.text, file.uuid, file.content_version, sealed_blobs.open_blob(rt, file.blob), number, tenant
    )
    text: dict[str, Any] = json.loads(_read_text(make))
    text["links"] = [link_row for row in text["links"] if (link_row := _translate_link(row, shown))]
    return text


def load_outline(rt: Runtime, link: Link, shown: PageWindow, address: str) -> list[OutlineEntry]:
    """Load the outline of what a reader at ``address`` sees of the document, without entries of hidden pages and with
    the reader's page numbers. Raises what ``PageStore.outline`` raises."""
    file = link.file
    tenant = tenants.reader_tenant(file, address)
    make = partial(rt.pages.outline, file.uuid, file.content_version, sealed_blobs.open_blob(rt, file.blob), tenant)
    return trim_outline([OutlineEntry(*row) for row in json.loads(_read_text(make))], shown, file.total_pages)


def _read_text(make: "partial[StoredBytes]") -> bytes:
    """Read the stored text; make it again if the cache evicted it before it could be read."""
    try:
        return make().read_bytes()
    except FileNotFoundError:
        return make().read_bytes()


def _translate_link(row: list[Any], shown: PageWindow) -> list[Any] | None:
    *place, target = row
    if "page" not in target:
        return row
    number = shown.to_reader_page(target["page"])
    return None if number is None else [*place, {"page": number}]
