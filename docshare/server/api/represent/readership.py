"""The readership of a file as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from docshare.contract.features import REPORT_SECTIONS, REPORT_SUMMARY, visible_keys
from docshare.contract.limits import BEACON_RETENTION_MS, READER_SALT_MS
from docshare.contract.plans import DAY, Plan
from docshare.contract.wire import drop_none, format_instant
from docshare.server.api.represent import resources
from docshare.server.services.readership.report import (
    Breakdown,
    PageReaders,
    ReaderDetails,
    Report,
    Summary,
    VariantReaders,
)
from docshare.server.services.readership.sessions import BeaconRow, ExplainedSession, PageRow, SessionSummary
from docshare.server.services.readership.visits import Visit, VisitPart


def report_object(base_url: str, found: Report) -> dict[str, Any]:
    """Return the report; sections above its plan are absent, and so is ``effectivePages`` without a page range."""
    sections = {
        "tier": found.plan.tier,
        "summary": _filter_by_plan(REPORT_SUMMARY, found, _summary_section(found.summary)),
        "file": resources.file_object(base_url, found.file),
        "effectivePages": found.shown,
        **(_breakdown_section(found.breakdown) if found.breakdown else {}),
        **(_people_section(found.reader_details) if found.reader_details else {}),
    }
    return drop_none(_filter_by_plan(REPORT_SECTIONS, found, sections))


def without_comparison(report: dict[str, Any]) -> dict[str, Any]:
    """Return ``report`` without the numbers of the range before, which only the page shows."""
    if "variants" not in report:
        return report
    rows = [{key: value for key, value in row.items() if key != "sessionsBefore"} for row in report["variants"]]
    return {**report, "variants": rows}


def previous_summary(found: Report) -> dict[str, Any] | None:
    """Return the summary of the range before that of the report, as in the report; None without one."""
    return None if found.previous is None else _filter_by_plan(REPORT_SUMMARY, found, _summary_section(found.previous))


def other_links_row(found: Report) -> dict[str, Any] | None:
    """Return the sessions through links that are not variants, as a row of ``variants``; None below Pro."""
    return None if found.reader_details is None else _variant_row(found.reader_details.other_links)


def pages_object(rows: Sequence[PageReaders]) -> dict[str, Any]:
    """Return the readership of every page."""
    return {
        "totalPages": len(rows),
        "pages": [
            {"pageNumber": row.page, "views": row.views, "avgDurationMs": row.mean_ms, "backTurns": row.back}
            for row in rows
        ],
    }


def session_stream_row(row: SessionSummary, seen: Sequence[PageRow]) -> dict[str, Any]:
    """Return one row of the stream of sessions."""
    times = [{"page": page.page, "timeMs": page.time_ms} for page in seen]
    return {"id": row.id, **session_object(row), "pages": times}


def uncounted_row(row: SessionSummary, klass: str, reason: str) -> dict[str, Any]:
    """Return one session that was not counted, with the reason."""
    return {**session_object(row), "class": klass, "reason": reason}


def visit_object(found: Visit) -> dict[str, Any]:
    """Return what is recorded of a visit, for its own reader: never the class of the session or the label of the
    link."""
    return {
        "owner": found.is_owner,
        "choice": found.has_choice,
        "declined": found.is_declined,
        "earlier": found.earlier,
        "link": "invitation" if found.link.invite else "personal" if found.link.variant else "shared",
        "keptDays": {"reports": BEACON_RETENTION_MS // DAY, "readerKey": READER_SALT_MS // DAY},
        **({} if found.part is None else {"recorded": _visit_part(found.part)}),
    }


def _visit_part(part: VisitPart) -> dict[str, Any]:
    known = part.context
    return drop_none(
        {
            "since": format_instant(part.started_at),
            "timeMs": part.time_ms,
            "pages": [{"page": page, "timeMs": ms} for page, ms in part.pages.items()],
            "deviceType": known.device,
            "browser": known.browser,
            "country": known.country,
            "source": known.source,
            "referrer": known.referrer,
            "email": known.email,
            "name": known.name,
        }
    )


def session_object(row: SessionSummary) -> dict[str, Any]:
    """Return a session as in the report."""
    return drop_none(
        {
            "sessionId": row.uuid,
            "startedAt": format_instant(row.started_at),
            "totalTimeMs": row.time_ms,
            "pagesViewed": row.pages_viewed,
            "country": row.country,
            "deviceType": row.device,
            "browser": row.browser,
            "returning": bool(row.came_back),
            "email": row.email,
            "name": row.name,
            "fromInvite": row.invite is not None,
            "inviteUuid": row.invite,
            "variantUuid": row.variant,
            "contentVersion": row.content_version,
            "shownPages": row.shown_pages,
            "pseudonym": row.pseudonym,
        }
    )


def explained_session(found: ExplainedSession) -> dict[str, Any]:
    """Return one session with all the data it was computed from."""
    judged = found.classification
    return drop_none(
        {
            "id": found.row.id,
            **session_object(found.row),
            "class": judged.klass,
            "reason": judged.reason,
            "countedAt": resources.format_optional_instant(judged.counted_at),
            "lastHeardAt": format_instant(judged.heard_at),
            "endedAt": resources.format_optional_instant(judged.ended_at),
            "visibleMs": judged.visible_ms,
            "turns": judged.turns,
            "backTurns": judged.back_turns,
            "source": judged.source,
            "referrer": judged.referrer,
            "viewerMode": judged.viewer_mode,
            "prefetched": bool(judged.prefetched),
            "pages": [
                {"page": page.page, "timeMs": page.time_ms, "views": page.views, "backTurns": page.back}
                for page in found.pages
            ],
            "beacons": [_beacon_object(beacon) for beacon in found.beacons],
        }
    )


def _beacon_object(row: BeaconRow) -> dict[str, Any]:
    # Its body has the names of the request; ``seq`` is one of them.
    accepted = [
        {"page": page.page, "ms": page.time_ms, "views": page.views, "back": page.back} for page in row.accepted
    ]
    return {"seq": row.seq, "receivedAt": format_instant(row.received_at), **row.body, "accepted": accepted}


def _summary_section(found: Summary) -> dict[str, Any]:
    return {
        "totalViews": found.views,
        "totalSessions": found.sessions,
        "uniqueVisitors": found.visitors,
        "uniqueCountries": found.countries,
        "avgTimeMs": found.mean_ms,
        "downloads": found.downloads,
        "unconfirmedSessions": found.unconfirmed,
        "medianTimeMs": found.median_ms,
        "totalTurns": found.turns,
        "completionRate": found.completion,
        "backTurnShare": found.back_share,
        "activeReaders": found.active,
        "newSessions": found.sessions - found.came_back,
        "returningSessions": found.came_back,
        "invitedNotViewed": found.not_viewed,
    }


def _breakdown_section(found: Breakdown) -> dict[str, Any]:
    return {
        "viewsOverTime": [{"day": day, "count": count} for day, count in found.days],
        "funnel": [{"page": step.page, "reached": step.reached, "pct": step.share} for step in found.funnel],
        "referrers": _count_rows(found.referrers),
        "browsers": _count_rows(found.browsers),
        "sources": _count_rows(found.sources),
        "viewerModes": _count_rows(found.viewer_modes),
        "peakTimes": [{"dow": dow, "hour": hour, "count": count} for (dow, hour), count in found.hours.items()],
        "devices": _count_rows(found.devices),
        "countries": _count_rows(found.countries),
        "uncounted": _count_rows(found.uncounted),
    }


def _people_section(found: ReaderDetails) -> dict[str, Any]:
    return {
        "sessions": [session_object(row) for row in found.sessions],
        "hotspotTaps": [
            {"hotspotUuid": row.uuid, "page": row.page, "label": row.label, "count": row.taps} for row in found.hotspots
        ],
        "ctaTaps": found.cta_taps,
        "variants": [_variant_row(row) for row in found.variants],
        "contacts": [
            drop_none(
                {
                    "fields": resources.parse_gate_fields(row.fields),
                    "createdAt": resources.format_optional_instant(row.created_at),
                }
            )
            for row in found.contacts
        ],
    }


def _variant_row(row: VariantReaders) -> dict[str, Any]:
    return drop_none(
        {
            "uuid": row.uuid,
            "label": row.label,
            "sessions": row.sessions,
            "avgTimeMs": row.mean_ms,
            "revoked": row.revoked_at is not None,
            "redacted": row.redacted_at is not None,
            "sessionsBefore": row.sessions_before,
        }
    )


def _count_rows(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"label": label, "count": count} for label, count in counts.items()]


def _filter_by_plan(table: dict[str, Plan], found: Report, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``values`` that ``table`` allows on the report's plan, in the order of ``table``."""
    return {key: values[key] for key in visible_keys(table, found.plan)}
