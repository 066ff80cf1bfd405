"""Sample responses of ``GET /files/{id}/readership`` for each plan, written by hand."""

from __future__ import annotations

from typing import Any

from tests.cli.commands.fakes.readership import ANN
from tests.support.outside.fake_api import UUID

FREE_REPORT: dict[str, Any] = {
    "tier": "free",
    "summary": {
        "totalViews": 1_234_567, "totalSessions": 10, "uniqueVisitors": 8, "uniqueCountries": 2, "avgTimeMs": 62_000,
        "downloads": 3,
    },
    "file": {"originalName": "deck.pdf"},
}  # fmt: skip
BASIC_REPORT: dict[str, Any] = {
    **FREE_REPORT,
    "tier": "basic",
    "summary": {
        **FREE_REPORT["summary"], "medianTimeMs": 51_000, "totalTurns": 40, "completionRate": 66.7,
        "backTurnShare": 12.0,
    },
    "viewsOverTime": [{"day": f"2026-09-{day:02}", "count": day % 4} for day in range(1, 21)],
    "funnel": [{"page": page, "reached": 20 - page, "pct": 100.0 - 5 * page} for page in range(1, 15)],
    "referrers": [{"label": f"site{number}.example", "count": 30 - number} for number in range(1, 23)],
    "browsers": [{"label": "Firefox", "count": 7}, {"label": "Chrome", "count": 2}],
    "sources": [],
    "viewerModes": [{"label": "standard", "count": 9}],
    "peakTimes": [{"dow": 1, "hour": 9, "count": 3}, {"dow": 0, "hour": 23, "count": 12}],
    "devices": [{"label": "Desktop", "count": 9}],
    "countries": [{"label": "DE", "count": 7}],
}  # fmt: skip
PRO_REPORT: dict[str, Any] = {
    **BASIC_REPORT,
    "tier": "pro",
    "summary": {
        **BASIC_REPORT["summary"], "activeReaders": 1, "newSessions": 8, "returningSessions": 2, "invitedNotViewed": 0,
    },
    "sessions": [
        {"sessionId": UUID.format(1), "startedAt": "2026-09-21T12:00:00.000Z", "totalTimeMs": 61_000, "pagesViewed": 3,
         "email": "bob@example.com", "returning": True, "contentVersion": 2},
        {"sessionId": UUID.format(2), "startedAt": "2026-09-21T11:00:00.000Z", "totalTimeMs": 4_000, "pagesViewed": 1,
         "variantUuid": ANN, "returning": False, "contentVersion": 1},
    ],
    "hotspotTaps": [{"hotspotUuid": UUID.format(9), "page": 2, "label": "Prices", "count": 4}],
    "ctaTaps": 3,
    "variants": [
        {"uuid": ANN, "label": "Ann", "sessions": 4, "avgTimeMs": 31_000, "revoked": False, "redacted": False}
    ],
    "contacts": [{"fields": {"email": "eve@example.com", "company": "=ACME"}, "createdAt": "2026-09-21T12:00:00.000Z"}],
}  # fmt: skip
