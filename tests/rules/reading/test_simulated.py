"""Beacons of a simulated reading: they report the requested time and look like those of a browser."""

import json

from hypothesis import given
from hypothesis import strategies as st

from docshare.server.rules import reading, simulated_reading

START = 1_790_000_000_000


@st.composite
def draw_reading(draw: st.DrawFn) -> tuple[int, int]:
    """Draw a number of pages, and a time in which all of them can be seen."""
    pages = draw(st.integers(1, 300))
    return pages, draw(st.integers(pages * 1_000, 14_400_000))


@given(draw_reading())
def test_the_measuring_rule_accepts_every_millisecond_and_every_page(requested: tuple[int, int]) -> None:
    pages, time_ms = requested
    state = reading.begin_reading(START, START, None, False)
    times: dict[int, int] = {}
    views: dict[int, int] = {}
    for report in simulated_reading.plan_beacons(pages, time_ms):
        now = START + report.after_ms
        body = json.dumps({"token": "x", **report.body}).encode()
        _, beacon = reading.parse_beacon_request(body, prefetch=False)
        assert not reading.is_over_rate(beacon, report.after_ms)
        assert reading.session_end(state) > now  # the session has not ended
        state, accepted = reading.fold_beacon(state, beacon, now, pages)
        for page in accepted:
            times[page.page] = times.get(page.page, 0) + page.ms
            views[page.page] = views.get(page.page, 0) + page.views
    assert sum(times.values()) == state.time_ms == time_ms
    assert [page for page, ms in times.items() if ms >= reading.MIN_SEEN_MS] == list(range(1, pages + 1))
    assert set(views.values()) == {1}
    assert (state.klass, state.turns, state.hidden_at) == (
        "human",
        pages - 1,
        START + simulated_reading.FIRST_BEACON_MS + time_ms,
    )


def test_90_seconds_on_one_page_are_three_reports_after_the_first() -> None:
    opening, *later = simulated_reading.plan_beacons(1, 90_000)
    assert (opening.after_ms, opening.body["pages"]) == (0, [])
    assert [(report.after_ms, report.body["visible"]) for report in later] == [
        (35_000, True), (65_000, True), (95_000, False),
    ]  # fmt: skip
    assert [report.body["pages"][0]["views"] for report in later] == [1, 0, 0]
