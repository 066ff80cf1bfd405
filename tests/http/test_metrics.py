"""``/metrics``: the Prometheus format, the counters, and access control."""

import re
from typing import Any

import pytest
from werkzeug.test import TestResponse

from docshare.server.services.webhooks import dispatch
from tests.support.engines.rows import count_rows, update_file_row
from tests.support.outside.due_deliveries import deliver_due
from tests.support.outside.queued_deliveries import create_webhook_for
from tests.support.outside.receivers import record_replacements
from tests.support.people.cast import World
from tests.support.people.reader import FakeReader

LABEL = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"([a-z_]+)(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
QUEUE_GAUGES = ("length", "oldest_age_seconds", "overdue_seconds")
TOKEN = "a-token-of-24-characters"


def scrape(world: World, peer: str = "127.0.0.1", **headers: str) -> TestResponse:
    return world.http.get("/metrics", headers=headers, environ_overrides={"REMOTE_ADDR": peer})


def read_values(world: World) -> dict[str, float]:
    """Return the samples of one scrape: each series, as text, with its value."""
    answer = scrape(world)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    found: dict[str, float] = {}
    declared: set[str] = set()
    for line in answer.text.splitlines():
        if line.startswith("# "):
            word, name, text = re.fullmatch(r"# (HELP|TYPE) (\w+) (.+)", line).groups()  # type: ignore[union-attr]
            assert word == "HELP" or (text in ("counter", "gauge", "histogram") and name not in declared)
            declared |= {name} if word == "TYPE" else set()
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert re.sub("_(bucket|sum|count)$", "", match[1]) in declared or match[1] in declared, line
        series = f"{match[1]}{{{match[2]}}}" if match[2] else match[1]
        assert series not in found, "a series is written more than once"
        found[series] = float(match[3])
    return found


def test_requests_are_counted_by_route_and_status_without_ids(world: World) -> None:
    made = world.pia.upload()
    for _ in range(3):
        assert world.pia.get(f"/api/v1/files/{made['uuid']}").status_code == 200
    assert world.http.get(f"/{made['shortId']}").status_code == 200
    assert world.pia.get("/api/v1/files/unknown").status_code == 404
    text = scrape(world).text
    assert made["uuid"] not in text
    assert made["shortId"] not in text
    values = read_values(world)
    name, route = "docshare_http_requests_total", 'method="GET",route="/api/v1/files/<uuid>"'
    assert values[f'{name}{{{route},status="200"}}'] == 3
    assert values[f'{name}{{{route},status="404"}}'] == 1
    assert values[f'{name}{{method="GET",route="/<name>",status="200"}}'] == 1


def test_only_counted_sessions_are_active(world: World) -> None:
    reader = FakeReader(world, world.pia.upload()["shortId"])
    reader.read_page(9, input=False)
    assert read_values(world)["docshare_sessions_active"] == 0
    reader.read_page(1)
    assert read_values(world)["docshare_sessions_active"] == 1


def test_unknown_methods_and_paths_share_one_series(world: World) -> None:
    for number in range(5):
        world.http.open(f"/none/of/these/{number}/at-all", method=f"ODD{number}")
        world.http.open(f"/none/of/these/{number}/at-all", method="GET")
    found = {name for name in read_values(world) if name.startswith("docshare_http_requests_total")}
    assert {re.sub('status="[0-9]+"', "", name) for name in found} == {
        'docshare_http_requests_total{method="GET",route="other",}',
        'docshare_http_requests_total{method="other",route="other",}',
    }


def test_buckets_add_up_to_the_count_of_a_route(world: World) -> None:
    for _ in range(4):
        world.pia.get("/api/v1/user")
    values, name = read_values(world), "docshare_http_request_duration_seconds"
    route = 'method="GET",route="/api/v1/user"'
    buckets = [value for series, value in values.items() if series.startswith(f"{name}_bucket{{{route}")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == values[f'{name}_bucket{{{route},le="+Inf"}}'] == values[f"{name}_count{{{route}}}"] == 4
    assert values[f"{name}_sum{{{route}}}"] > 0


def test_pages_are_counted_as_renders_then_as_cache_hits(world: World) -> None:
    made = world.pia.upload()
    page = f"/{made['shortId']}/pages/1-800.jpg?v=1"
    assert read_values(world)["docshare_page_cache_bytes"] == 0
    for _ in range(3):
        assert world.http.get(page, buffered=True).status_code == 200
    values = read_values(world)
    assert values['docshare_render_duration_seconds_count{outcome="rendered"}'] >= 1
    assert values['docshare_page_cache_lookups_total{result="hit"}'] >= 2
    assert values['docshare_page_cache_lookups_total{result="miss"}'] >= 1
    assert values["docshare_page_cache_bytes"] > 0
    assert {'docshare_render_jobs{lane="pages",state="waiting"}', "docshare_data_free_bytes"} <= values.keys()


def test_a_queued_delivery_is_reported_with_its_age(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    values = read_values(world)
    queue = {name: values[f'docshare_queue_{name}{{queue="deliveries"}}'] for name in QUEUE_GAUGES}
    assert queue == dict.fromkeys(QUEUE_GAUGES, 0)
    create_webhook_for(world)
    record_replacements(world, world.pia.upload()["uuid"], contentVersion=2)
    made = count_rows(world, "deliveries")
    assert made >= 1
    world.clock.advance(minutes=7)
    values = read_values(world)
    queue = {name: values[f'docshare_queue_{name}{{queue="deliveries"}}'] for name in QUEUE_GAUGES}
    assert queue == {"length": made, "oldest_age_seconds": 420, "overdue_seconds": 420}
    outcome = dispatch.AttemptOutcome(500, 20, "The receiver answered with status 500.")
    monkeypatch.setattr(dispatch, "post_event", lambda *args, **more: outcome)
    deliver_due(world.rt)
    values = read_values(world)
    assert values['docshare_delivery_attempt_duration_seconds_count{outcome="failed"}'] == made
    assert values['docshare_delivery_attempt_duration_seconds_sum{outcome="failed"}'] == 0.02 * made
    assert values['docshare_queue_overdue_seconds{queue="deliveries"}'] == 0, "it is due in a minute"
    outcome = dispatch.AttemptOutcome(200, 1500, None)
    world.clock.advance(minutes=1)
    deliver_due(world.rt)
    values = read_values(world)
    assert values['docshare_delivery_attempt_duration_seconds_count{outcome="failed"}'] == made
    assert values['docshare_delivery_attempt_duration_seconds_sum{outcome="delivered"}'] == 1.5 * made
    assert values['docshare_queue_length{queue="deliveries"}'] == 0


def test_metrics_are_available_without_the_database(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(world.rt.db), "is_answering", lambda store: False)
    values = read_values(world)
    assert [value for name, value in values.items() if name.startswith("docshare_engine_up")] == [0]
    assert not [name for name in values if name.startswith("docshare_queue")]


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.9.9.9", "::1"])
def test_metrics_are_readable_from_this_machine_by_default(world: World, peer: str) -> None:
    assert scrape(world, peer).status_code == 200


FORWARDED: list[dict[str, str]] = [
    {"X-Forwarded-For": "127.0.0.1"}, {"X-Forwarded-Proto": "https"}, {"Forwarded": "for=127.0.0.1"},
    {"X-Real-IP": "127.0.0.1"}, {"Via": "1.1 proxy"},
]  # fmt: skip


@pytest.mark.parametrize("trusted", [(), ("127.0.0.0/8",)])
@pytest.mark.parametrize("headers", FORWARDED)
def test_a_forwarded_request_from_this_machine_is_404(make: Any, headers: Any, trusted: Any) -> None:
    from docshare.server.config import OPTIONS

    world = make(trusted_proxies=OPTIONS["trusted_proxies"](list(trusted)), metrics="local")
    assert_unknown(world, "127.0.0.1", headers)
    assert scrape(world).status_code == 200


def assert_unknown(world: World, peer: str, headers: dict[str, str]) -> None:
    """Assert that the response is that of an unknown link, except for the id of the request."""
    answer = scrape(world, peer, **headers)
    other = world.http.get("/metricz", headers=headers, environ_overrides={"REMOTE_ADDR": peer})
    assert answer.status_code == other.status_code == 404
    assert answer.data.replace(b"metrics", b"metricz") == other.data
    assert {name for name, _ in answer.headers} == {name for name, _ in other.headers}


def test_another_machine_gets_404(world: World) -> None:
    assert_unknown(world, "203.0.113.9", {})
    assert_unknown(world, "203.0.113.9", {"X-Forwarded-For": "127.0.0.1"})


def test_a_server_with_a_public_address_has_no_metrics_unless_configured(make: Any) -> None:
    assert_unknown(make(base_url="https://docs.example.com"), "127.0.0.1", {})
    assert scrape(make(base_url="https://docs.example.com", metrics="local")).status_code == 200
    assert_unknown(make(metrics="off"), "127.0.0.1", {})


def test_only_the_token_gives_access_to_the_metrics_from_anywhere(make: Any) -> None:
    world = make(metrics=f"token:{TOKEN}", base_url="https://docs.example.com")
    assert scrape(world, "203.0.113.9", Authorization=f"Bearer {TOKEN}").status_code == 200
    for value in ("", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer t\u00f6ken"):
        assert_unknown(world, "127.0.0.1", {"Authorization": value})


def test_a_file_with_the_slug_metrics_stays_readable(world: World) -> None:
    made = world.pia.upload()
    update_file_row(world, made["uuid"], slug="metrics")
    assert scrape(world, "203.0.113.9").status_code == 200
    assert "<html" in scrape(world, "203.0.113.9").text
    assert scrape(world).mimetype == "text/plain"
