"""The schedule of beacons: often enough to survive a crash at any moment, but not more often."""

import json
from itertools import pairwise
from typing import Any

from playwright.sync_api import Browser

from tests.support.browsers.browser_reader import BrowserReader
from tests.support.people.measured_document import MeasuredDocument, open_browser_reader

STEP_MS = 100  # the interval at which the page measures


# In the page, because the browser reports a request later, on a busy machine some steps later.
RECORD_BEACONS = """() => {
  window.beacons = [];
  const send = window.fetch;
  window.fetch = (url, how) => {
    if (url.endsWith("/beacon")) window.beacons.push(how.body);
    return send(url, how);
  };
}"""


class BeaconLog:
    """All beacons that the page of ``reader`` has sent so far."""

    def __init__(self, reader: BrowserReader) -> None:
        self.reader = reader
        self.beacons: list[dict[str, Any]] = []
        self.passed = 0
        reader.page.evaluate(RECORD_BEACONS)

    def advance_step(self) -> int:
        """Advance the clock by one step and return the number of beacons sent since the last one."""
        self.passed += STEP_MS
        self.reader._clock.advance(milliseconds=STEP_MS)
        self.reader.page.clock.run_for(STEP_MS)
        sent = [json.loads(body) for body in self.reader.page.evaluate("window.beacons.splice(0)")]
        self.beacons += sent
        return len(sent)

    def claimed_ms(self, page: int | None = None) -> int:
        """Return the reported milliseconds of all pages or of one."""
        return sum(
            each["ms"] for beacon in self.beacons for each in beacon["pages"] if page is None or each["page"] == page
        )


def test_beacons_are_sent_after_1_3_and_6_seconds_and_then_at_least_every_2_6_seconds(
    plain_browser: Browser, document: MeasuredDocument
) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        reader.page.keyboard.press("ArrowRight")
        reader.page.clock.run_for(STEP_MS)
        sent = BeaconLog(reader)
        reported = [sent.passed / 1_000 for _ in range(170) if sent.advance_step()]
        since_turn = STEP_MS / 1_000
        for due in (1, 3, 6, 11, 16):
            assert any(abs(at + since_turn - due) <= 0.15 for at in reported), (due, reported)
        assert max(after - before for before, after in pairwise(reported)) <= 2.6
        assert len(reported) <= 11


def test_at_most_2_6_seconds_of_reading_are_unreported_at_any_time(
    plain_browser: Browser, document: MeasuredDocument
) -> None:
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        sent = BeaconLog(reader)
        for page, seconds in ((1, 4.0), (2, 1.1), (3, 1.2), (4, 0.6), (5, 7.3), (4, 0.7)):
            began, before = sent.passed, sent.claimed_ms(page)
            for _ in range(round(seconds * 1_000 / STEP_MS)):
                sent.advance_step()
                assert sent.passed - sent.claimed_ms() <= 2_500 + 2 * STEP_MS
                if page > 1 and before == 0 and sent.passed - began > 1_000:
                    assert sent.claimed_ms(page) >= 1_000
            reader.page.keyboard.press("ArrowLeft" if page == 5 else "ArrowRight")
        assert sent.claimed_ms(4) >= 1_000, "seen in two parts"


def test_beacons_never_exceed_the_rate_limit_of_the_server(plain_browser: Browser, document: MeasuredDocument) -> None:
    """The server accepts a burst of 20 and one per second, however fast a reader turns pages."""
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        sent = BeaconLog(reader)
        for turn in range(60):
            reader.page.keyboard.press("End" if turn % 2 else "Home")
            for _ in range(7):
                sent.advance_step()
            assert sent.beacons[-1]["seq"] < 20 + sent.passed / 1_000 if sent.beacons else True
        assert 60 * 0.7 / 2.6 < len(sent.beacons) <= 60
