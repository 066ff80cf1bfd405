"""The stored sums of the readership equal sums over the sessions, after any sequence of actions."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docshare.contract.wire import format_instant
from docshare.server.services.readership import viewing
from tests.support.documents.pdfs import simple_pdf
from tests.support.engines.database import fetch_dicts
from tests.support.owner.browser import put_settings
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader, end_all_sessions

AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; rv:128.0) Gecko/20100101 Firefox/128.0",
    "curl/8.5.0",
)
PDFS = {pages: simple_pdf(pages=pages) for pages in (2, 4)}
numbers = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("open_link"), numbers, st.integers(0, 2), st.integers(0, 2)),
        *[st.tuples(st.just("read_page"), numbers, st.integers(1, 5), st.sampled_from([0.4, 3, 7, 20]))] * 3,
        st.tuples(st.just("leave"), numbers),
        st.tuples(st.just("advance"), st.sampled_from([30, 70, 400, 50_000, 31 * 86_400, 91 * 86_400])),
        st.tuples(st.just("end_sessions")),
        st.tuples(st.just("delete_old_data")),
        st.tuples(st.just("create_variant"), st.booleans()),
        st.tuples(st.just("delete_variant"), numbers),
        st.tuples(st.just("set_page_range"), st.booleans()),
        st.tuples(st.just("replace_content"), st.sampled_from([2, 4])),
        st.tuples(st.just("trash_and_restore")),
    ),
    min_size=12,
    max_size=40,
)


@dataclass
class FileHistory:
    """Actions of readers and the owner on one file of Pia."""

    world: World
    made: dict[str, Any]
    variants: list[dict[str, Any]] = field(default_factory=list)
    readers: list[FakeReader] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"/api/v1/files/{self.made['uuid']}"

    def open_link(self, link: int, host: int, agent: int) -> None:
        names = [self.made, *self.variants]
        name = names[link % len(names)]["shortId"]
        self.readers.append(FakeReader(self.world, name, address=f"198.51.100.{host}", user_agent=AGENTS[agent]))

    def read_page(self, reader: int, page: int, seconds: float) -> None:
        if not self.readers:
            return
        self.world.clock.advance(seconds=seconds)
        turns, back, ms = int(seconds > 1), int(seconds > 1 and page % 2), round(seconds * 1000)
        pages = [{"page": page, "ms": ms, "views": 1, "back": back}]
        self.readers[reader % len(self.readers)].send_next_beacon(
            visibleMs=ms, turns=turns, backTurns=back, pages=pages
        )

    def leave(self, reader: int) -> None:
        if self.readers:
            self.readers[reader % len(self.readers)].leave()

    def advance(self, seconds: int) -> None:
        self.world.clock.advance(seconds=seconds)

    def end_sessions(self) -> None:
        viewing.end_due_sessions(self.world.rt)

    def delete_old_data(self) -> None:
        viewing.delete_uncounted_sessions(self.world.rt)
        viewing.delete_old_salts(self.world.rt)
        viewing.delete_old_beacons(self.world.rt)

    def create_variant(self, own_range: bool) -> None:
        overrides = {"pageRange": {"from": 2, "to": 2}} if own_range else {}
        answer = self.world.pia.post(f"{self.path}/variants", json={"overrides": overrides})
        self.variants.append(answer.get_json())

    def delete_variant(self, variant: int) -> None:
        if self.variants:
            gone = self.variants.pop(variant % len(self.variants))
            assert self.world.pia.delete(f"{self.path}/variants/{gone['uuid']}").status_code == 204

    def set_page_range(self, clear: bool) -> None:
        put_settings(self.world, self.made, pageRange={"from": 0, "to": 0} if clear else {"from": 1, "to": 2})

    def replace_content(self, pages: int) -> None:
        self.world.pia.replace(self.made["uuid"], PDFS[pages])

    def trash_and_restore(self) -> None:
        assert self.world.pia.delete(self.path).status_code == 200
        for reader in self.readers[:2]:
            reader.leave()
        self.end_sessions()
        assert self.world.pia.post(f"{self.path}/restore").status_code == 200


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=STEPS)
def test_the_report_equals_the_sums_of_all_sessions(world: World, steps: list[tuple[Any, ...]]) -> None:
    history = FileHistory(world, world.pia.upload(PDFS[4]))
    for name, *values in steps:
        world.clock.advance(milliseconds=1)  # no two sessions are counted at one instant
        act: Callable[..., None] = getattr(history, name)
        act(*values)
    end_all_sessions(world)
    found = world.pia.get(f"{history.path}/readership").get_json()
    pages = world.pia.get(f"{history.path}/readership/pages").get_json()
    assert summarize_report(found, pages) == summarize_sessions(world, history.made["uuid"])


def summarize_report(found: dict[str, Any], pages: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the report in the shape of ``summarize_sessions``."""
    summary = found["summary"]
    labels = ("countries", "devices", "browsers", "sources", "referrers", "viewerModes")
    return {
        "sessions": summary["totalSessions"],
        "views": summary["totalViews"],
        "visitors": summary["uniqueVisitors"],
        "returning": summary["returningSessions"],
        "new": summary["newSessions"],
        "mean": summary["avgTimeMs"],
        "median": summary["medianTimeMs"],
        "turns": summary["totalTurns"],
        "completion": summary["completionRate"],
        "back": summary["backTurnShare"],
        "labels": {name: {row["label"]: row["count"] for row in found[name]} for name in labels},
        "hours": sum(row["count"] for row in found["peakTimes"]),
        "days": {row["day"]: row["count"] for row in found["viewsOverTime"] if row["count"]},
        "funnel": {row["page"]: row["reached"] for row in found["funnel"] if row["reached"]},
        "variants": {row["uuid"]: (row["sessions"], row["avgTimeMs"]) for row in found["variants"]},
        "pages": {
            row["pageNumber"]: (row["views"], row["avgDurationMs"], row["backTurns"])
            for row in pages["pages"]
            if row["views"]
        },
    }


def summarize_sessions(world: World, uuid: str) -> dict[str, Any]:
    """Compute the same values from all sessions."""
    sql = "SELECT s.* FROM view_sessions s JOIN files f ON f.id = s.file_id WHERE f.uuid = ? AND counted_at IS NOT NULL"
    rows = fetch_dicts(world.rt.db, f"{sql} ORDER BY counted_at", uuid)
    assert all(row["ended_at"] is not None for row in rows)
    ((file_pages, first, last),) = world.rt.db.fetch_all(
        "SELECT total_pages, COALESCE(JSON_VALUE(settings, '$.pageRange.from'), 1), "
        "COALESCE(JSON_VALUE(settings, '$.pageRange.to'), total_pages) FROM files WHERE uuid = ?",
        (uuid,),
    )
    seen = {row["id"]: list_session_pages(world, row["id"]) for row in rows}
    turns = sum(row["turns"] for row in rows)
    furthest = [max((page for page, time, *_ in seen[row["id"]] if time >= 1000), default=0) for row in rows]
    today = world.clock.now
    return {
        "sessions": len(rows),
        "views": len(rows),
        "visitors": len({row["reader"] for row in rows}),
        "returning": len(rows) - len({row["reader"] for row in rows}),
        "new": len({row["reader"] for row in rows}),
        "mean": round_half_up(Fraction(sum(row["time_ms"] for row in rows), len(rows) or 1)),
        "median": round_half_up(Fraction(median(row["time_ms"] for row in rows))) if rows else 0,
        "turns": turns,
        "completion": compute_mean_completion(rows, seen),
        "back": round_half_up(Fraction(sum(row["back_turns"] for row in rows) * 1000, turns or 1)) / 10,
        "labels": {
            name: dict(Counter(row[column] for row in rows if row[column] is not None))
            for name, column in {
                "countries": "country",
                "devices": "device",
                "browsers": "browser",
                "sources": "source",
                "referrers": "referrer",
                "viewerModes": "viewer_mode",
            }.items()
        },
        "hours": len(rows),
        "days": dict(
            Counter(
                format_instant(row["started_at"])[:10]
                for row in rows
                if today // 86_400_000 - row["started_at"] // 86_400_000 < 30
            )
        ),
        "funnel": {
            page: reached
            for page in range(first, min(last, file_pages) + 1)
            if (reached := sum(furthest_page >= page for furthest_page in furthest))
        },
        "variants": sum_by_variant(world, uuid, rows),
        "pages": sum_by_page(seen, file_pages),
    }


def compute_mean_completion(rows: list[dict[str, Any]], seen: dict[int, list[tuple[Any, ...]]]) -> float:
    """Return the mean share of available pages that were viewed for at least a second, 0 to 100 with one decimal."""
    shares = [Fraction(sum(time >= 1000 for _, time, *_ in seen[row["id"]]), row["shown_pages"]) for row in rows]
    return round_half_up(sum(shares, Fraction()) / (len(shares) or 1) * 1000) / 10


def sum_by_variant(world: World, uuid: str, rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    known = world.rt.db.fetch_all(
        "SELECT v.id, v.uuid FROM variants v JOIN files f ON f.id = v.file_id WHERE f.uuid = ?", (uuid,)
    )
    found = {}
    for key, name in known:
        times = [row["time_ms"] for row in rows if row["variant_id"] == key]
        found[name] = (len(times), round_half_up(Fraction(sum(times), len(times) or 1)))
    return found


def sum_by_page(seen: dict[int, list[tuple[Any, ...]]], file_pages: int) -> dict[int, tuple[int, int, int]]:
    found = {}
    for number in range(1, file_pages + 1):
        of_page = [row for rows in seen.values() for row in rows if row[0] == number]
        time, views, back = (sum(row[column] for row in of_page) for column in (1, 2, 3))
        if views:
            found[number] = (views, round_half_up(Fraction(time, views)), back)
    return found


def list_session_pages(world: World, session: int) -> list[tuple[Any, ...]]:
    sql = "SELECT page, time_ms, views, back_views FROM session_pages WHERE session_id = ?"
    return world.rt.db.fetch_all(sql, (session,))


def round_half_up(value: Fraction) -> int:
    return (value + Fraction(1, 2)).__floor__()
