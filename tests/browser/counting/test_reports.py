"""When a page reports its reading: so often that a browser can be killed at any moment, and no more often than that."""

import json
from itertools import pairwise
from typing import Any

from playwright.sync_api import Browser, Request

from tests.support.browser_reader import BrowserReader
from tests.support.measured_document import MeasuredDocument, open_browser_reader

STEP_MS = 100  # as the page measures


class BeaconLog:
    """What the page of ``reader`` has reported, as one who is killed now leaves it behind."""

    def __init__(self, reader: BrowserReader) -> None:
        self.reader = reader
        self.beacons: list[dict[str, Any]] = []
        self.passed = 0
        reader.page.on("request", self._record_request)

    def _record_request(self, request: Request) -> None:
        if request.url.endswith("/beacon"):
            self.beacons.append(json.loads(request.post_data or ""))

    def advance_step(self) -> int:
        """Let a moment pass; returns how many reports it brought."""
        before = len(self.beacons)
        self.passed += STEP_MS
        self.reader._clock.advance(milliseconds=STEP_MS)
        self.reader.page.clock.run_for(STEP_MS)
        return len(self.beacons) - before

    def claimed_ms(self, page: int | None = None) -> int:
        """Milliseconds that were reported, of all pages or of one."""
        return sum(
            each["ms"] for beacon in self.beacons for each in beacon["pages"] if page is None or each["page"] == page
        )


def test_a_page_is_reported_after_one_three_and_six_seconds_and_never_less_than_every_two_and_a_half(
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


def test_at_no_moment_more_than_two_and_a_half_seconds_or_a_page_seen_for_one_are_unreported(
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
        assert sent.claimed_ms(4) >= 1_000, "seen in two instalments"


def test_reports_are_never_more_than_the_server_takes(plain_browser: Browser, document: MeasuredDocument) -> None:
    """Twenty at once and one a second, however a reader turns pages."""
    with open_browser_reader(plain_browser, document) as reader:
        reader.press_key()
        sent = BeaconLog(reader)
        for turn in range(60):
            reader.page.keyboard.press("End" if turn % 2 else "Home")
            for _ in range(7):
                sent.advance_step()
            assert sent.beacons[-1]["seq"] < 20 + sent.passed / 1_000 if sent.beacons else True
        assert 60 * 0.7 / 2.6 < len(sent.beacons) <= 60
