"""Forged beacons: the server clamps all claims to its own clock."""

from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.people.measured_document import SECOND, MeasuredDocument, open_browser_reader

_SEND_BEACONS = """async ([claims, seqs]) => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const statuses = [];
  for (const seq of seqs) {
    const beacon = { token: facts.token, part: 0, seq, ageMs: 10000, visible: true, visibleMs: 0, input: true, turns: 0,
                     backTurns: 0, pages: [], ...claims };
    const body = JSON.stringify(beacon);
    const headers = { "Content-Type": "application/json" };
    statuses.push((await fetch(facts.beaconUrl, { method: "POST", body, headers })).status);
  }
  return statuses;
}"""  # fmt: skip


@pytest.mark.parametrize(
    ("claims", "seqs", "accepted"),
    [
        ({"visibleMs": 10**9, "pages": [{"page": 1, "ms": 10**9, "views": 1, "back": 0}]}, [11], {1: 10}),
        (
            {"ageMs": 10**9, "visibleMs": 10**9, "pages": [{"page": 2, "ms": 10**9, "views": 9, "back": 9}]},
            [11],
            {2: 10},
        ),
        ({"visibleMs": 4_000, "pages": [{"page": 1, "ms": 4_000, "views": 1, "back": 0}]}, [11] * 6, {1: 4}),
        ({"visibleMs": 9_000, "pages": [{"page": 99, "ms": 9_000, "views": 1, "back": 0}]}, [11], {}),
        ({"visibleMs": 2_000, "pages": [{"page": 3, "ms": 2_000, "views": 1, "back": 0}]}, [19, 13, 11, 17], {3: 8}),
    ],
    ids=["a billion ms", "an age before the page load", "replayed", "a nonexistent page", "out of order"],
)
def test_forged_beacons_gain_no_time_beyond_the_server_clock(
    plain_browser: Browser,
    document: MeasuredDocument,
    claims: dict[str, Any],
    seqs: list[int],
    accepted: dict[int, int],
) -> None:
    asked_at = document.world.clock()
    with open_browser_reader(plain_browser, document) as reader:
        document.world.clock.advance(seconds=10)
        assert set(reader.page.evaluate(_SEND_BEACONS, [claims, seqs])) == {204}
        elapsed = document.world.clock() - asked_at
    (row,) = document.list_rows_after_end()
    assert document.list_sessions() == [("human",)]
    assert document.view_count == 1
    pages = dict(
        document.world.rt.db.fetch_all(
            "SELECT page, time_ms FROM session_pages WHERE time_ms > 0 "
            "AND session_id = (SELECT MAX(id) FROM view_sessions)"
        )
    )
    # The time that the page measured before its clock was stopped is added when it is closed.
    measured = reader.before + SECOND
    really_read = 0 if 1 in accepted else pages.pop(1, 0)
    assert really_read < measured
    assert pages.keys() == accepted.keys()
    for number, seconds in accepted.items():
        least, most = (10 * SECOND, elapsed) if claims.get("ageMs") else (seconds * SECOND, seconds * SECOND)
        assert least - SECOND < pages[number] < most + measured
    assert row["timeMs"] == really_read + sum(pages.values())
