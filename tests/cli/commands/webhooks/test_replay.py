"""``docshare webhooks replay``: saved events are sent to a real HTTP receiver; the tests verify the signatures
themselves."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.outside.fake_api import FakeApi, FakeResponse, FakeTime, RecordedRequest
from tests.support.shell import CommandResult, Shell

SECRET = "whsec_000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
T = 1_790_000_000  # seconds; the start of fake time

Replay = Callable[..., CommandResult]


def make_envelope(kind: str = "file.burned", at: int = 0, name: str = "Übersicht.pdf") -> dict[str, Any]:
    stamp = f"2026-01-02T03:04:{at:02}.000Z"
    return {"event": kind, "timestamp": stamp, "data": {"fileUuid": "6f1d", "fileName": name}}


def encode_compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def make_saved_line(number: int, kind: str = "file.burned", at: int = 0, **more: Any) -> str:
    """Return a line as ``webhooks listen --save`` writes it."""
    stamp = f"2026-01-02T03:04:{at:02}.000Z"
    row = {"receivedAt": stamp, "kind": kind, "verified": True, "id": f"d-{number}", "attempt": 1, "forwards": []}
    return json.dumps({**row, "body": encode_compact(make_envelope(kind)), **more})


def is_genuine(heard: RecordedRequest, header: str = "X-Service-Signature", at: int = T) -> bool:
    t, v1 = (part.partition("=")[2] for part in heard.headers[header].split(","))
    wanted = hmac.new(SECRET.encode(), f"{t}.".encode() + heard.body, hashlib.sha256).hexdigest()
    return v1 == wanted and int(t) == at


@pytest.fixture
def replay(shell: Shell, api: FakeApi, tmp_path: Path) -> Replay:
    """Replay these lines to a receiver that accepts everything."""
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    api.on("POST", "/hook", FakeResponse({}, 204))

    def run(lines: list[str], *words: str) -> CommandResult:
        (tmp_path / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
        fixed = ("--to", f"{api.url}/api/v1/hook", "--secret-file", tmp_path / "secret")
        return shell("webhooks", "replay", tmp_path / "events.jsonl", *fixed, *words)

    return run


def test_a_saved_delivery_is_sent_byte_for_byte_with_a_new_signature(api: FakeApi, replay: Replay) -> None:
    spaced = '{"event": "file.burned", "timestamp": "x", "data": {"fileName": "\\u00dc"}}'
    done = replay([make_saved_line(1, attempt=3, body=spaced)])
    (heard,) = api.list_requests("POST", "/hook")
    assert heard.body == spaced.encode()
    assert is_genuine(heard)
    assert heard.headers["Content-Type"] == "application/json"
    assert heard.headers["User-Agent"] == "Service-Webhooks/1.0"
    assert (heard.headers["Webhook-Id"], heard.headers["Webhook-Event"]) == ("d-1", "file.burned")
    assert heard.headers["Webhook-Attempt"] == "3"
    assert heard.headers["Authorization"] is None
    row = done.lines[0].split("\t")
    assert (done.code, row[:3], row[4], done.err) == (0, ["1", "file.burned", "204"], "", "")


def test_a_line_with_an_envelope_is_sent_unchanged(api: FakeApi, replay: Replay) -> None:
    line = json.dumps(make_envelope())
    assert replay([line, "", line]).code == 0
    first, second = api.list_requests("POST", "/hook")
    assert first.body == second.body == line.encode()
    assert is_genuine(first)
    assert first.headers["Webhook-Id"] == second.headers["Webhook-Id"] != ""


def test_a_row_of_the_activity_feed_is_sent_as_its_envelope(api: FakeApi, replay: Replay) -> None:
    assert replay([json.dumps({"id": 7, **make_envelope()})]).code == 0
    assert api.list_requests("POST", "/hook")[0].body == encode_compact(make_envelope()).encode()


def test_a_body_that_was_saved_as_an_object_is_sent_as_compact_json(api: FakeApi, replay: Replay) -> None:
    assert replay([make_saved_line(1, body=make_envelope())]).code == 0
    assert api.list_requests("POST", "/hook")[0].body == encode_compact(make_envelope()).encode()


def test_rejected_access_attempts_are_skipped_since_webhooks_never_get_them(api: FakeApi, replay: Replay) -> None:
    done = replay([json.dumps({"id": 1, **make_envelope("access.denied")}), json.dumps(make_envelope())])
    assert (done.code, done.err) == (0, "skipped access.denied events, which are never sent to webhooks: 1\n")
    assert len(api.list_requests("POST", "/hook")) == 1


@pytest.mark.parametrize("body", [encode_compact(make_envelope("receipt.confirmed")), "no JSON at all"])
def test_deliveries_without_a_valid_signature_are_skipped(api: FakeApi, replay: Replay, body: str) -> None:
    """Anyone can post to a listener; with a signature of the replay, such an event would look genuine."""
    done = replay(
        [make_saved_line(1, verified=False, flaw="The delivery has no signature.", body=body), make_saved_line(2)]
    )
    assert done.code == 0
    assert "skipped events without a valid signature, which anyone may have sent: 1" in done.err
    assert [heard.headers["Webhook-Id"] for heard in api.list_requests("POST", "/hook")] == ["d-2"]


def test_only_selects_the_kinds_to_replay(api: FakeApi, replay: Replay) -> None:
    lines = [json.dumps(make_envelope(kind)) for kind in ("file.viewed", "note.created", "file.burned")]
    done = replay(lines, "--only", "note.created", "--only", "file.burned", "--json")
    assert [(row["line"], row["kind"]) for row in done.rows] == [(2, "note.created"), (3, "file.burned")]
    assert len(api.list_requests("POST", "/hook")) == 2


def test_events_are_sent_without_pauses_by_default(replay: Replay, time: FakeTime) -> None:
    replay([make_saved_line(1, at=0), make_saved_line(2, at=30)])
    assert time.passed == 0


@pytest.mark.parametrize(("speed", "seconds"), [("1x", 30), ("10x", 3), ("0.5x", 60)])
def test_speed_reproduces_the_time_between_events(replay: Replay, time: FakeTime, speed: str, seconds: float) -> None:
    done = replay(
        [make_saved_line(1, at=0), make_saved_line(2, at=10), make_saved_line(3, at=5), make_saved_line(4, at=30)],
        "--speed",
        speed,
    )
    assert time.passed == pytest.approx(seconds)
    assert done.code == 0


def test_every_signature_has_the_time_when_it_was_sent(api: FakeApi, replay: Replay) -> None:
    replay([make_saved_line(1, at=0), make_saved_line(2, at=30)], "--speed", "1x")
    first, second = api.list_requests("POST", "/hook")
    assert is_genuine(first, at=T)
    assert is_genuine(second, at=T + 30)


def test_a_long_replay_prints_its_duration(replay: Replay) -> None:
    assert (
        replay([make_saved_line(1, at=0), make_saved_line(2, at=30)], "--speed", "1x").err == "the replay takes 30s\n"
    )
    assert replay([make_saved_line(1, at=0), make_saved_line(2, at=30)], "--speed", "1x", "-q").err == ""


def test_rejected_events_are_printed_and_exit_with_12(api: FakeApi, replay: Replay) -> None:
    api.on(
        "POST", "/hook", FakeResponse({}, 200), FakeResponse({}, 500), FakeResponse({}, 302, {"Location": "/elsewhere"})
    )
    done = replay([make_saved_line(1), make_saved_line(2), make_saved_line(3)], "--json")
    assert done.code == 12
    assert [row["status"] for row in done.rows] == [200, 500, 302]
    assert "did not accept 2 of 3 events" in done.err
    assert len(api.requests) == 3  # the redirect was not followed


def test_an_unreachable_receiver_exits_with_11(shell: Shell, tmp_path: Path, replay: Replay) -> None:
    replay([make_saved_line(1)])
    fixed = ("--to", "http://127.0.0.1:9/hook", "--secret-file", tmp_path / "secret")
    done = shell("webhooks", "replay", tmp_path / "events.jsonl", *fixed, "--json")
    assert (done.code, done.rows[0]["status"], done.rows[0]["error"]) == (11, 0, "connection failed")


def test_a_terminal_shows_kind_status_and_time(shell: Shell, api: FakeApi, replay: Replay) -> None:
    api.on("POST", "/hook", FakeResponse({}, 500))
    shell.tty = True
    (line,) = replay([make_saved_line(1, kind="note.created")], "--no-color").lines
    assert line.startswith("note.created  500  ")
    assert line.endswith(" ms")


def test_a_dry_run_prints_the_bodies_and_sends_nothing(api: FakeApi, replay: Replay) -> None:
    done = replay([make_saved_line(1)], "-n", "--json")
    assert done.json == [{"method": "POST", "path": f"{api.url}/api/v1/hook", "body": encode_compact(make_envelope())}]
    assert api.requests == []


def test_an_empty_file_is_a_success(replay: Replay) -> None:
    done = replay([])
    assert (done.code, done.out, done.err) == (0, "", "no events to send\n")


def test_header_name_changes_the_signature_header(api: FakeApi, replay: Replay) -> None:
    replay([make_saved_line(1)], "--header-name", "Acme-Signature")
    assert is_genuine(api.list_requests("POST", "/hook")[0], "Acme-Signature")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("not json", "line 2 is not an event"),
        ("[]", "line 2 is not an event: not a JSON object"),
        ("{}", "line 2 is not an event: the key event is missing"),
        ('{"event": 3, "timestamp": "", "data": {}}', "line 2 is not an event: the key event is missing"),
        ('{"body": "[]"}', "line 2 is not an event: not a JSON object"),
        ('{"body": "text"}', "line 2 is not an event"),
        ("[" * 100_000, "line 2 is not an event"),
    ],
    ids=lambda value: value[:20],
)
def test_a_line_that_is_not_an_event_exits_with_2_before_anything_is_sent(
    api: FakeApi, replay: Replay, line: str, why: str
) -> None:
    done = replay([make_saved_line(1), line])
    assert (done.code, done.out, why in done.err) == (2, "", True), done.err
    assert api.requests == []


@pytest.mark.parametrize(
    "words",
    [
        ("--speed", "fast"),
        ("--speed", "0x"),
        ("--only", "file.seen"),
        ("--only", "access.denied"),
        ("--to", "ftp://127.0.0.1/"),
        ("--to", "localhost:3000"),
        ("--header-name", "a b"),
    ],
)
def test_an_invalid_command_line_exits_with_2(api: FakeApi, replay: Replay, words: tuple[str, ...]) -> None:
    done = replay([make_saved_line(1)], *words)
    assert (done.code, done.out) == (2, "")
    assert api.requests == []


def test_a_missing_receiver_or_secret_exits_with_2(shell: Shell, replay: Replay, tmp_path: Path) -> None:
    replay([make_saved_line(1)])
    file = tmp_path / "events.jsonl"
    assert shell("webhooks", "replay", file, "--secret-file", tmp_path / "secret").code == 2
    assert shell("webhooks", "replay", file, "--to", "http://127.0.0.1:9/").code == 2
