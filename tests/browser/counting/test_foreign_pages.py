"""Beacons of another site with a stolen token of a share page."""

from contextlib import suppress

import pytest
from flask import Flask, Response, request, request_finished
from playwright.sync_api import Browser, Error

from tests.support.browsers.browser import visitor
from tests.support.outside.framing_page import serve_framing_page
from tests.support.people.measured_document import MeasuredDocument
from tests.support.people.reader import FakeReader
from tests.support.polling import wait_until

_SEND_BEACON = """async ([url, beacon, way]) => {
  const body = JSON.stringify(beacon);
  if (way === "beacon") navigator.sendBeacon(url, body);
  else if (way === "text") await fetch(url, { method: "POST", mode: "no-cors", body });
  else await fetch(url, { method: "POST", body, headers: { "Content-Type": "application/json" } }).catch(() => {});
}"""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["another port", "another site"])
@pytest.mark.parametrize("way", ["beacon", "text", "json"])
def test_cross_site_beacons_are_not_counted(
    plain_browser: Browser, document: MeasuredDocument, way: str, host: str
) -> None:
    stolen = FakeReader(document.world, document.short_id)
    beacon = stolen.build_beacon(input=True, visibleMs=6_000, pages=[{"page": 1, "ms": 6_000, "views": 1, "back": 0}])
    address = document.url.replace(f"/{document.short_id}", stolen.facts["beaconUrl"])
    document.world.clock.advance(seconds=10)
    responses: list[tuple[str, int]] = []

    def record_response(_: Flask, response: Response) -> None:
        responses.append((request.method, response.status_code))

    with serve_framing_page("about:blank", host) as elsewhere, visitor(plain_browser) as person:
        person.page.goto(elsewhere)
        with request_finished.connected_to(record_response, document.world.app):
            with suppress(Error):  # the page may not even read the rejection
                person.page.evaluate(_SEND_BEACON, [address, beacon, way])
            wait_until(lambda: responses != [])
    # JSON requires a preflight request, which the server does not allow.
    assert responses == [("OPTIONS", 200) if way == "json" else ("POST", 403)]
    assert document.list_sessions() == []
    assert document.view_count == 0
    assert stolen.send_beacon(beacon).status_code == 204, "the page itself can send it"
    assert document.view_count == 1
