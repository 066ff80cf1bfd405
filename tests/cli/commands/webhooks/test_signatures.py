"""``docshare webhooks kinds``, ``sample`` and ``sign``: reference data for developers of receivers; nothing is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.outside.fake_api import FakeApi
from tests.support.shell import Shell

SECRET = "whsec_000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

# The keys of each event kind beyond fileUuid and fileName, written by hand; optional ones are in brackets.
KINDS = {
    "file.viewed": ["pagesViewed", "timeMs", "sessionId", "[variantUuid]", "[variantLabel]"],
    "file.downloaded": ["[variantUuid]", "[variantLabel]"],
    "gate.completed": ["source", "[email]", "[fields]"],
    "note.created": ["author", "body", "[pageNumber]"],
    "receipt.confirmed": ["name"],
    "file.burned": [],
    "content.replaced": ["contentVersion"],
    "invite.viewed": ["email", "name"],
    "proofing.updated": ["kind", "pageNumber", "viewer"],
}


@pytest.fixture(autouse=True)
def _expect_no_requests(api: FakeApi) -> Any:
    yield
    assert api.requests == [], "nothing here asks a server"


# --- kinds -----------------------------------------------------------------------------------------------------------


def test_kinds_lists_the_nine_event_kinds_with_their_keys(shell: Shell) -> None:
    rows = {row["kind"]: row for row in shell("webhooks", "kinds", "--json").json}
    subscribable = {kind: row for kind, row in rows.items() if row["subscribable"]}
    assert list(subscribable) == list(KINDS)
    for kind, keys in KINDS.items():
        row = subscribable[kind]
        assert row["data"] == ["fileUuid", "fileName", *(key for key in keys if key[0] != "[")]
        assert row["optional"] == [key.strip("[]") for key in keys if key[0] == "["]
        assert row["fires"]
    assert [kind for kind, row in rows.items() if row["plan"] != "free"] == ["gate.completed"]


def test_the_test_event_and_rejected_access_attempts_are_listed_as_not_subscribable(shell: Shell) -> None:
    rows = [row for row in shell("webhooks", "kinds", "--json").json if not row["subscribable"]]
    assert [row["kind"] for row in rows] == ["webhook.test", "access.denied"]
    assert "activity feed" in rows[1]["fires"]
    assert rows[1]["data"] == ["fileUuid", "fileName", "reason", "count"]


def test_kinds_are_printed_in_a_pipe_and_on_a_terminal(shell: Shell) -> None:
    assert shell("webhooks", "kinds", "--format", "ids").lines == [*KINDS, "webhook.test", "access.denied"]
    assert shell("webhooks", "kinds").lines[4].split("\t")[:3] == ["receipt.confirmed", "true", "free"]
    shell.tty = True
    assert "gate.completed" in shell("webhooks", "kinds", "--no-color").out


# --- sample ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "webhook.test"])
def test_a_sample_has_every_key_in_the_order_sent(shell: Shell, kind: str) -> None:
    found = shell("webhooks", "sample", kind).json
    assert list(found) == ["event", "timestamp", "data"]
    assert found["event"] == kind
    assert list(found["data"]) == ["fileUuid", "fileName", *(key.strip("[]") for key in KINDS.get(kind, ()))]


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_minimal_sample_has_only_required_keys(shell: Shell, kind: str) -> None:
    data = shell("webhooks", "sample", kind, "--minimal").json["data"]
    assert list(data) == ["fileUuid", "fileName", *(key for key in KINDS[kind] if key[0] != "[")]


def test_a_minimal_sample_includes_keys_that_were_set_in_their_place(shell: Shell) -> None:
    words = ("--minimal", "--set", "variantLabel=Acme", "--set", "timeMs=5")
    data = shell("webhooks", "sample", "file.viewed", *words).json["data"]
    assert list(data) == ["fileUuid", "fileName", "pagesViewed", "timeMs", "sessionId", "variantLabel"]
    assert (data["timeMs"], data["variantLabel"]) == (5, "Acme")


def test_a_sample_in_a_pipe_is_the_body_byte_for_byte(shell: Shell) -> None:
    words = ("--set", "fileName=Übersicht.pdf", "--set", "timestamp=2026-01-02T03:04:05.678Z")
    assert shell("webhooks", "sample", "file.burned", *words).out == (
        '{"event":"file.burned","timestamp":"2026-01-02T03:04:05.678Z","data":'
        '{"fileUuid":"0b8e7d5c-3f0e-4f4f-9d0c-2a7b1f6c8e11","fileName":"Übersicht.pdf"}}\n'
    )


def test_a_sample_cannot_control_a_terminal(shell: Shell) -> None:
    shell.tty = True
    out = shell("webhooks", "sample", "file.burned", "--set", "fileName=\x1b[2J\u202e").out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert json.loads(out)["data"]["fileName"] == "\x1b[2J\u202e"


def test_form_responses_that_are_set_replace_those_of_the_example(shell: Shell) -> None:
    words = ("--set", "fields.company=Acme", "--set", "fields.e=a=b")
    assert shell("webhooks", "sample", "gate.completed", *words).json["data"]["fields"] == {
        "company": "Acme",
        "e": "a=b",
    }


def test_query_and_template_apply_to_a_sample(shell: Shell) -> None:
    assert shell("webhooks", "sample", "file.viewed", "--query", "data.pagesViewed").out == "7\n"
    assert shell("webhooks", "sample", "file.viewed", "--template", "{event}").out == "file.viewed\n"


@pytest.mark.parametrize(
    ("kind", "word", "detail", "hint"),
    [
        ("file.seen", "", "unknown kind of event 'file.seen'", "file.viewed, file.downloaded, gate.completed"),
        ("access.denied", "", "unknown kind of event", "webhook.test"),
        ("file.viewed", "pages=3", "file.viewed has no key 'pages'", "pagesViewed, timeMs, sessionId"),
        ("file.viewed", "name=x", "file.viewed has no key 'name'", "timestamp, fileUuid, fileName"),
        ("gate.completed", "fields=x", "gate.completed has no key 'fields'", "fields.NAME"),
        ("gate.completed", "fields.=x", "gate.completed has no key 'fields.'", "fields.NAME"),
        ("file.viewed", "fields.a=x", "file.viewed has no key 'fields.a'", "pagesViewed"),
        ("file.viewed", "pagesViewed=many", "--set pagesViewed: 'many' is not a whole number from 0", ""),
        ("file.viewed", "timeMs=-1", "--set timeMs: '-1' is not a whole number", ""),
        ("file.viewed", "timeMs=1.5", "--set timeMs: '1.5' is not a whole number", ""),
        ("file.viewed", "sessionId=x", "--set sessionId: 'x' is not a UUID", ""),
        ("file.viewed", "timestamp=now", "--set timestamp: 'now' is not a time", ""),
        ("note.created", "pageNumber=0", "--set pageNumber: '0' is not a whole number from 1", ""),
        ("proofing.updated", "kind=note", "--set kind: 'note' is not mark or annotation", ""),
        ("gate.completed", "source=door", "--set source: 'door' is not form or email", ""),
        ("file.viewed", "timeMs", "--set timeMs must have the form KEY=VALUE", ""),
    ],
)
def test_an_unknown_kind_key_or_value_is_an_error_that_lists_the_valid_ones(
    shell: Shell, kind: str, word: str, detail: str, hint: str
) -> None:
    done = shell("webhooks", "sample", kind, *(("--set", word) if word else ()), "--json")
    assert (done.code, done.out) == (2, "")
    assert done.error["detail"].startswith(detail)
    assert hint in done.error["hint"]


def test_a_key_set_twice_is_an_error(shell: Shell) -> None:
    done = shell("webhooks", "sample", "file.viewed", "--set", "timeMs=1", "--set", "timeMs=2")
    assert (done.code, "timeMs is given twice" in done.err) == (2, True)


def test_a_slack_sample_is_the_message_with_escaped_values(shell: Shell, api: FakeApi) -> None:
    done = shell("webhooks", "sample", "note.created", "--format", "slack", "--set", "author=<!channel> & co")
    found = done.json
    assert list(found) == ["text", "mrkdwn", "blocks"]
    assert found["text"] == "New note: Q3 report.pdf"
    assert "&lt;!channel&gt; &amp; co" in done.out
    assert f"<{api.url}/readership/0b8e7d5c-3f0e-4f4f-9d0c-2a7b1f6c8e11|" in done.out
    assert shell("webhooks", "sample", "note.created", "--format", "json").json["event"] == "note.created"
    assert shell("webhooks", "sample", "note.created", "--format", "csv").code == 2


# --- sign ------------------------------------------------------------------------------------------------------------

# Computed with OpenSSL, independently of this program, from 1700000000.{"a":"ü"}
BODY = '{"a":"ü"}'.encode()
DIGEST = "885c2e6d44dcbf7769fd0e9e11679f545734c816b15d8534915a38a1c2b6ffef"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text(f"{SECRET}\n")
    return path


def test_sign_prints_the_header_line(shell: Shell, secret: Path, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(BODY)
    done = shell("webhooks", "sign", tmp_path / "body", "--secret-file", secret, "--at", "1700000000")
    assert (done.code, done.out, done.err) == (0, f"X-Service-Signature: t=1700000000,v1={DIGEST}\n", "")


def test_every_byte_of_a_body_from_stdin_is_signed(shell: Shell, secret: Path) -> None:
    line = ("webhooks", "sign", "-", "--secret-file", secret, "--at", "2023-11-14T22:13:20Z")
    assert shell(*line, stdin=BODY).out == f"X-Service-Signature: t=1700000000,v1={DIGEST}\n"
    assert DIGEST not in shell(*line, stdin=BODY + b"\n").out


def test_the_parts_of_a_signature_can_be_selected(shell: Shell, secret: Path) -> None:
    line = ("webhooks", "sign", "-", "--secret-file", secret, "--at", "1700000000", "--header-name", "Acme-Signature")
    assert shell(*line, "--json", stdin=BODY).json == {
        "line": f"Acme-Signature: t=1700000000,v1={DIGEST}",
        "header": "Acme-Signature",
        "value": f"t=1700000000,v1={DIGEST}",
        "t": 1700000000,
        "v1": DIGEST,
    }
    assert shell(*line, "--template", "{value}", stdin=BODY).out == f"t=1700000000,v1={DIGEST}\n"


def test_a_signature_has_the_current_time_by_default(shell: Shell, secret: Path) -> None:
    assert shell("webhooks", "sign", "-", "--secret-file", secret, stdin=BODY).out.startswith(
        "X-Service-Signature: t=1790000000,v1="
    )


def test_a_signed_body_verifies(shell: Shell, secret: Path, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(shell("webhooks", "sample", "file.viewed").out.encode())
    value = shell("webhooks", "sign", tmp_path / "body", "--secret-file", secret, "--template", "{value}").out.strip()
    line = ("webhooks", "verify", tmp_path / "body", "--secret-file", secret, "--signature", value)
    assert shell(*line).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("body",),
        ("body", "--secret-file", "missing"),
        ("missing", "--secret-file", "secret.txt"),
        ("-", "--secret-file", "-"),
        ("body", "--secret-file", "utf16"),
        ("body", "--secret-file", "secret.txt", "--at", "soon"),
        ("body", "--secret-file", "secret.txt", "--header-name", "a: b"),
    ],
)
def test_an_invalid_command_line_exits_with_2(
    shell: Shell, tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (tmp_path / "body").write_bytes(BODY)
    (tmp_path / "utf16").write_bytes(secret.read_text().encode("utf-16"))
    monkeypatch.chdir(tmp_path)
    done = shell("webhooks", "sign", *words, stdin=BODY)
    assert (done.code, done.out) == (2, "")
    assert SECRET not in done.err
