"""Convert rows to the JSON of the contract. No other module of the server writes its keys."""

import json
from collections.abc import Sequence
from typing import Any

from docshare.contract.plans import PLAN_LIMITS
from docshare.contract.wire import drop_none, format_instant
from docshare.server.services.accounts.callers import Caller
from docshare.server.services.events.activity_feed import ActivityEvent
from docshare.server.services.events.feed import FeedRow
from docshare.server.services.files import page_range
from docshare.server.services.files.assets import AssetRow
from docshare.server.services.files.files import FileRow, RevisionRow
from docshare.server.services.files.settings import read_settings
from docshare.server.services.links.downloads import describe_warning
from docshare.server.services.links.invites import InviteRow
from docshare.server.services.links.public import PublicMetadata
from docshare.server.services.links.variants import VariantRow
from docshare.server.services.readership import visits

# Maximum numbers of omitted pictures: named in a message, and listed.
_MAX_NAMED_PICTURES, _MAX_LISTED_PICTURES = 3, 100
_NAME_CHARS, _ADDRESS_CHARS = 60, 500
_END_REASONS = {
    "expired": "The owner set an expiry date for this link, and that date has passed.",
    "burned": "This link could be opened a limited number of times, and that limit is reached.",
}


def share_url(base_url: str, short_id: str) -> str:
    """Return the share link for readers."""
    return f"{base_url}/{short_id}"


def result_message(message: str, warning: str | None, pictures: Sequence[str]) -> dict[str, Any]:
    """Return the ``message`` of a result, the ``warning`` about its document, and the linked pictures that were
    omitted."""
    result = drop_none({"message": message, "warning": warning})
    return {**result, **_describe_omitted(message, pictures)} if pictures else result


def _describe_omitted(message: str, pictures: Sequence[str]) -> dict[str, Any]:
    named = ", ".join(
        address.replace("\\", "/").rpartition("/")[2][:_NAME_CHARS] for address in pictures[:_MAX_NAMED_PICTURES]
    )
    more = f" and {len(pictures) - _MAX_NAMED_PICTURES} more" if len(pictures) > _MAX_NAMED_PICTURES else ""
    text = f"{message} Linked pictures were left out: {named}{more}."
    return {"message": text, "leftOut": [address[:_ADDRESS_CHARS] for address in pictures[:_MAX_LISTED_PICTURES]]}


def file_object(base_url: str, row: FileRow, revisions: Sequence[RevisionRow] | None = None) -> dict[str, Any]:
    """Return the File object; only the detail has ``revisions``."""
    settings = read_settings(row.settings)
    return drop_none(
        {
            "uuid": row.uuid,
            "shortId": row.short_id,
            "slug": row.slug,
            "originalName": row.original_name,
            "size": row.size,
            "mimeType": row.mime_type,
            "createdAt": format_instant(row.created_at),
            "deleteAt": format_optional_instant(row.delete_at),
            "viewCount": row.view_count,
            "viewerMode": settings["viewerMode"],
            "protected": bool(row.protected),
            "allowDownload": settings["allowDownload"],
            "requireEmail": settings["requireEmail"],
            "notifyOnView": settings["notifyOnView"],
            "contentVersion": row.content_version,
            "revisions": None if revisions is None else [revision_object(entry) for entry in revisions],
            "totalPages": row.total_pages,
            "updatedAt": format_instant(row.updated_at),
            "viewsConsumed": row.views_consumed,
            "viewerSettings": settings["viewerSettings"],
            "askReceipt": settings["askReceipt"],
            "watermark": settings["watermark"],
            "showExpiry": settings["showExpiry"],
            "readerChoice": visits.is_choice_offered(settings),
            "showSender": settings["showSender"],
            "commentsEnabled": settings["commentsEnabled"],
            "commentsAllowPublic": settings["commentsAllowPublic"],
            "notifyOnComment": settings["notifyOnComment"],
            "marksEnabled": settings["marksEnabled"],
            "annotationsEnabled": settings["annotationsEnabled"],
            "designToolUpdatesEnabled": settings["designToolUpdatesEnabled"],
            "viewLimit": row.view_limit,
            "burnedAt": format_optional_instant(row.burned_at),
            "gateFields": settings["gateFields"],
            "gateDomains": settings["gateDomains"],
            "pageRange": settings["pageRange"],
            "pageRangeEmpty": page_range.is_empty(row.total_pages, settings["pageRange"]) or None,
            "shareUrl": share_url(base_url, row.short_id),
            "sha256": row.sha256,
            "downloadWarning": describe_warning(row.download_warning),
        }
    )


def revision_object(row: RevisionRow) -> dict[str, Any]:
    """Return one entry of ``revisions``."""
    return {
        "contentVersion": row.content_version,
        "originalName": row.original_name,
        "size": row.size,
        "totalPages": row.total_pages,
        "sha256": row.sha256,
        "createdAt": format_instant(row.created_at),
    }


def variant_object(base_url: str, row: VariantRow) -> dict[str, Any]:
    """Return the Variant object."""
    overrides = json.loads(row.overrides)
    return drop_none(
        {
            "uuid": row.uuid,
            "shortId": row.short_id,
            "url": share_url(base_url, row.short_id),
            "label": row.label,
            "overrides": overrides,
            "revoked": row.revoked_at is not None,
            "redacted": row.redacted_at is not None,
            "pageRangeEmpty": page_range.is_empty(row.total_pages, overrides.get("pageRange")) or None,
            "createdAt": format_instant(row.created_at),
            "downloadWarning": describe_warning(row.download_warning),
        }
    )


def invite_object(base_url: str, row: InviteRow) -> dict[str, Any]:
    """Return an invitation with its personal link."""
    return drop_none(
        {
            "uuid": row.uuid,
            "email": row.email,
            "name": row.name,
            "url": share_url(base_url, row.short_id),
            "createdAt": format_instant(row.created_at),
            "viewedAt": format_optional_instant(row.viewed_at),
        }
    )


def public_metadata(base_url: str, metadata: PublicMetadata) -> dict[str, Any]:
    """Return the public metadata of an active link."""
    file, short_id, settings = metadata.link.file, metadata.link.short_id, metadata.settings
    return drop_none(
        {
            "shortId": short_id,
            "originalName": None if metadata.is_name_hidden else file.original_name,
            "size": file.size,
            "totalPages": metadata.pages,
            "viewerMode": settings["viewerMode"],
            "allowDownload": settings["allowDownload"],
            "protected": bool(file.protected),
            "requireEmail": settings["requireEmail"],
            "deleteAt": format_optional_instant(file.delete_at) if settings["showExpiry"] else None,
            "shareUrl": share_url(base_url, short_id),
        }
    )


def ended_link(metadata: PublicMetadata) -> dict[str, Any]:
    """Return the public metadata of a link that has ended."""
    return drop_none(
        {
            "reason": metadata.link.state,
            "why": _END_REASONS[metadata.link.state],
            "endedAt": format_optional_instant(metadata.ended_at),
            "originalName": None if metadata.is_name_hidden else metadata.link.file.original_name,
        }
    )


def asset_object(row: AssetRow) -> dict[str, Any]:
    """Return the result of an asset upload."""
    return {"assetId": row.uuid, "kind": row.kind, "mimeType": row.mime_type, "size": row.size}


def account_record(caller: Caller, active_files: int) -> dict[str, Any]:
    """Return the account. ``subscription`` and ``tier`` have the same value."""
    limits = PLAN_LIMITS[caller.plan]
    return {
        "uuid": caller.uuid,
        "name": caller.name,
        "email": caller.email,
        "subscription": caller.plan.tier,
        "tier": caller.plan.tier,
        "isAdmin": False,  # the API has no administrators; 'docshare admin' does
        "created_at": format_instant(caller.created_at),
        "limits": drop_none(
            {
                "maxActiveFiles": limits.file_slots,
                "maxUploadBytes": limits.stored_bytes,
                "activeFiles": active_files,
            }
        ),
    }


def feed_row(stream: str, row: FeedRow) -> dict[str, Any]:
    """Return one row of the feed; new keys are added after ``type``."""
    return _FEED_ROWS[stream](row)


def _view_row(row: FeedRow) -> dict[str, Any]:
    *read, pages_viewed, time_ms = row
    return _reading_row(read, pagesViewed=pages_viewed, timeMs=time_ms, type="view")


def _download_row(row: FeedRow) -> dict[str, Any]:
    return _reading_row(row, type="download")


def _reading_row(read: Sequence[Any], **facts: Any) -> dict[str, Any]:
    ident, uuid, name, read_at, country = read
    keys = {"id": ident, "fileUuid": uuid, "fileName": name, "readAt": format_optional_instant(read_at)}
    return drop_none({**keys, "country": country, **facts})


def _gate_row(row: FeedRow) -> dict[str, Any]:
    ident, uuid, name, read_at, fields = row
    keys = {"id": ident, "fileUuid": uuid, "fileName": name, "readAt": format_optional_instant(read_at), "type": "gate"}
    return drop_none({**keys, "fields": parse_gate_fields(fields)})


def activity_row(row: ActivityEvent) -> dict[str, Any]:
    """Return one row of the activity feed: the envelope of its event and ``id``."""
    return {
        "id": row.id,
        "event": row.event,
        "timestamp": format_instant(row.happened_at),
        "data": json.loads(row.data),
    }


_FEED_ROWS = {"view": _view_row, "download": _download_row, "gate": _gate_row}


def parse_gate_fields(stored: str | None) -> dict[str, str] | None:
    """Return the captured values, None if there are none or they cannot be parsed."""
    try:
        fields = json.loads(stored or "{}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        return None
    return fields or None


def format_optional_instant(millis: int | None) -> str | None:
    """Return ``millis`` as an instant of the API, or None."""
    return None if millis is None else format_instant(millis)
