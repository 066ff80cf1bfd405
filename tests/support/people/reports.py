"""Readership reports written by hand, as the API sends them to owners of each plan."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from docshare.report import ReportInput, Thumbnail, list_thumbnail_pages

UUID = "11111111-2222-4333-8444-555555555555"
VARIANT = "aaaaaaaa-2222-4333-8444-555555555555"
MADE_AT = 1_790_000_000_000  # 2026-09-21T13:33:20Z
PAGES = 12
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="  # the smallest GIF

_PER_DAY = [0, 2, 1, 0, 0, 4, 6, 3, 2, 0, 1, 0, 5, 9, 14, 11, 6, 3, 2, 8, 12, 7, 4, 1, 0, 3, 5, 10, 17, 6]
_REACHED = [118, 116, 109, 101, 96, 71, 68, 66, 61, 58, 55, 52]
_PAGE_MS = [21_400, 18_900, 64_200, 41_000, 33_700, 12_300, 15_800, 92_600, 27_100, 9_400, 30_200, 55_000]


def file_object(**more: Any) -> dict[str, Any]:
    """Return the File object."""
    known = {
        "uuid": UUID,
        "shortId": "aB3dE5fG7hJ9",
        "originalName": "Series A deck – autumn 2026.pdf",
        "size": 4_404_019,
        "mimeType": "application/pdf",
        "createdAt": "2026-08-22T09:00:00.000Z",
        "viewCount": 142,
        "viewerMode": "standard",
        "protected": False,
        "allowDownload": True,
        "requireEmail": False,
        "notifyOnView": False,
        "contentVersion": 2,
        "totalPages": PAGES,
        "viewsConsumed": 0,
        "viewerSettings": {},
        "shareUrl": "http://127.0.0.1:8787/aB3dE5fG7hJ9",
    }
    return known | more


def free_report(**more: Any) -> dict[str, Any]:
    """Return the report of a Free owner."""
    summary = {
        "totalViews": 142,
        "totalSessions": 118,
        "uniqueVisitors": 87,
        "uniqueCountries": 9,
        "avgTimeMs": 154_000,
        "downloads": 23,
    }
    return {"tier": "free", "summary": summary, "file": file_object()} | more


def basic_report(**more: Any) -> dict[str, Any]:
    """Return the report of a Basic owner."""
    found = free_report()
    found["summary"] |= {"medianTimeMs": 96_000, "totalTurns": 1_204, "completionRate": 62.5, "backTurnShare": 14.2}
    first = date(2026, 8, 23)
    days = [(first + timedelta(days=place)).isoformat() for place in range(30)]
    found |= {
        "viewsOverTime": [{"day": day, "count": count} for day, count in zip(days, _PER_DAY, strict=True)],
        "funnel": [
            {"page": page, "reached": reached, "pct": round(reached * 100 / 118, 1)}
            for page, reached in enumerate(_REACHED, 1)
        ],
        "referrers": make_breakdown(("docs.example.com", 31), ("mail.example.org", 12), ("www.linkedin.com", 7)),
        "browsers": make_breakdown(("Chrome", 71), ("Safari", 38), ("Firefox", 19), ("Edge", 14)),
        "sources": make_breakdown(("Direct link", 82), ("Variant", 37), ("Embed", 14), ("QR code", 9)),
        "viewerModes": make_breakdown(("standard", 120), ("flipbook", 22)),
        "peakTimes": _make_peaks(),
        "devices": make_breakdown(("Desktop", 91), ("Mobile", 43), ("Tablet", 8)),
        "countries": make_breakdown(
            ("DE", 52), ("US", 31), ("GB", 18), ("FR", 12), ("CH", 9), ("AT", 7), ("NL", 6), ("SE", 4), ("JP", 3)
        ),
    }
    return found | {"tier": "basic"} | more


def pro_report(**more: Any) -> dict[str, Any]:
    """Return the report of a Pro owner."""
    found = basic_report()
    found["summary"] |= {"activeReaders": 2, "newSessions": 87, "returningSessions": 31, "invitedNotViewed": 3}
    found |= {
        "sessions": [_make_session(place) for place in range(26)],
        "hotspotTaps": [
            {"hotspotUuid": UUID, "page": 3, "label": "Book a call", "count": 18},
            {"hotspotUuid": VARIANT, "page": 8, "label": "Listen to the founder", "count": 7},
        ],
        "ctaTaps": 12,
        "variants": [
            make_variant("Ann Lee, Northwind Capital", 21, 212_000),
            make_variant("Bob Ray", 9, 71_000, revoked=True),
            make_variant(None, 7, 44_000, redacted=True),
            make_variant("Chi Wen, Blue Harbour", 0, 0),
        ],
        "contacts": [
            {
                "fields": {"email": "ann@northwind.example", "company": "Northwind"},
                "createdAt": "2026-09-20T10:12:00.000Z",
            },
            {"fields": {"email": "bob@ray.example", "company": "Ray & Sons"}, "createdAt": "2026-09-18T16:40:00.000Z"},
        ],
    }
    return found | {"tier": "pro"} | more


def make_breakdown(*pairs: tuple[str, int]) -> list[dict[str, Any]]:
    """Return a breakdown."""
    return [{"label": label, "count": count} for label, count in pairs]


def make_variant(label: str | None, sessions: int, avg_ms: int, **more: bool) -> dict[str, Any]:
    """Return one entry of ``variants``."""
    row = {"uuid": VARIANT, "label": label, "sessions": sessions, "avgTimeMs": avg_ms, "revoked": False}
    return {key: value for key, value in (row | {"redacted": False} | more).items() if value is not None}


def _make_peaks() -> list[dict[str, Any]]:
    rows = []
    for dow in range(7):
        for hour in range(24):
            busy = max(0, 9 - abs(hour - 14)) if 1 <= dow <= 5 else max(0, 3 - abs(hour - 20))
            count = busy * (3 if dow == 2 else 1) * (hour % 3 + 1) // 3
            if count:
                rows.append({"dow": dow, "hour": hour, "count": count})
    return rows


def _make_session(place: int) -> dict[str, Any]:
    known = {0: {"email": "ann@northwind.example", "name": "Ann Lee", "fromInvite": True, "returning": True},
             2: {"email": "bob@ray.example", "variantUuid": VARIANT}}  # fmt: skip
    day, hour = 21 - place // 2, 13 - place % 9
    return {
        "sessionId": f"00000000-0000-4000-8000-{place:012d}",
        "startedAt": f"2026-09-{day:02d}T{hour:02d}:{place * 7 % 60:02d}:00.000Z",
        "totalTimeMs": (place * 37 % 11 + 1) * 31_000,
        "pagesViewed": place * 5 % PAGES + 1,
        "country": ("DE", "US", "GB", "FR")[place % 4],
        "deviceType": ("Desktop", "Mobile", "Desktop", "Tablet")[place % 4],
        "browser": ("Chrome", "Safari", "Firefox")[place % 3],
        "returning": place % 5 == 4,
        "fromInvite": False,
        "contentVersion": 2 if place < 20 else 1,
    } | known.get(place, {})


def pages_report(count: int = PAGES) -> dict[str, Any]:
    """Return the response of readership/pages."""
    return {
        "totalPages": count,
        "pages": [
            {
                "pageNumber": page,
                "views": max(0, 160 - page * 9),
                "avgDurationMs": _PAGE_MS[(page - 1) % len(_PAGE_MS)] if page * 9 < 160 else 0,
                "backTurns": page * 7 % 13,
            }
            for page in range(1, count + 1)
        ],
    }


def marks_report() -> dict[str, Any]:
    """Return the response of page-marks."""
    return {
        "pages": [
            {"page": 3, "pick": 4, "reject": 1, "maybe": 2},
            {"page": 8, "pick": 6, "reject": 0, "maybe": 0},
        ],
        "viewers": [
            {"identity": "ann@northwind.example", "marks": [{"page": 3, "mark": "pick"}, {"page": 8, "mark": "pick"}]},
            {"identity": "Reader 7F3A", "marks": [{"page": 3, "mark": "reject"}]},
        ],
        "totals": {"pick": 10, "reject": 1, "maybe": 2},
    }


def annotations_report() -> dict[str, Any]:
    """Return the response of annotations."""
    return {
        "pages": [
            {
                "page": 3,
                "annotations": [
                    make_annotation("This number is from last year.", x=0.1, y=0.15, width=0.4, height=0.12),
                    make_annotation(
                        "Love this chart!", who="ann@northwind.example", x=0.55, y=0.5, width=0.35, height=0.3
                    ),
                ],
            },
            {"page": 5, "annotations": [make_annotation("A typo: teh.", x=0.3, y=0.7, width=0.2, height=0.06)]},
        ]
    }


def make_annotation(note: str, *, who: str = "Reader 7F3A", **rect: Any) -> dict[str, Any]:
    """Return one annotation."""
    return {"uuid": UUID, "identity": who, "rect": rect, "note": note, "createdAt": "2026-09-19T08:30:00.000Z"}


def feedback_report() -> dict[str, Any]:
    """Return the response of feedback."""
    return {
        "notes": [
            make_note("Ann Lee", "Could you add the churn figures?\nWe talked about them on the phone.", pageNumber=4),
            make_note("Reader", "Thank you, very clear.", public=True),
        ],
        "receipts": [
            {
                "name": "Ann Lee",
                "viewer": "ann@northwind.example",
                "confirmedAt": "2026-09-20T10:15:00.000Z",
                "contentVersion": 2,
            }
        ],
    }


def make_note(author: str, body: str, **more: Any) -> dict[str, Any]:
    """Return one note."""
    row = {"uuid": UUID, "author": author, "body": body, "public": False, "viewer": "Reader 7F3A"}
    return row | {"createdAt": "2026-09-19T08:31:00.000Z"} | more


def full_material(**more: Any) -> ReportInput:
    """Return all data of a Pro owner."""
    material = ReportInput(
        pro_report(),
        MADE_AT,
        pages=pages_report(),
        marks=marks_report(),
        annotations=annotations_report(),
        feedback=feedback_report(),
    )
    pictures = {number: Thumbnail(f"{DOT}#{number}", 842, 595) for number in list_thumbnail_pages(material)}
    return replace(material, **({"pictures": pictures} | more))


def poison_texts(value: Any, text: str) -> Any:
    """Return ``value`` with every text replaced, keys of ``fields`` too; dates stay, because rendering needs them."""
    if isinstance(value, dict):
        kept = {key: value[key] for key in ("createdAt", "startedAt") if key in value}
        return {(text if key == "company" else key): poison_texts(value[key], text) for key in value} | kept
    if isinstance(value, list):
        return [poison_texts(row, text) for row in value]
    return text if isinstance(value, str) else value
