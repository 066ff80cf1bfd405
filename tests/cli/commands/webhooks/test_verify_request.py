"""``docshare webhooks verify`` on a saved HTTP request, and invalid command lines."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.outside.webhook_signatures import BODY, SECRET, T, signature_header
from tests.support.shell import CommandResult, Shell

Verify = Callable[..., CommandResult]


def build_request(*more: str, body: bytes = BODY, end: str = "\r\n", name: str = "X-Service-Signature") -> bytes:
    lines = [
        "POST /hook HTTP/1.1",
        "Host: me",
        f"{name}: {signature_header()}",
        f"Content-Length: {len(BODY)}",
        *more,
        "",
        "",
    ]
    return end.join(lines).encode() + body


@pytest.fixture
def verify_request(shell: Shell, tmp_path: Path) -> Verify:
    (tmp_path / "secret").write_text(SECRET)

    def run(raw: bytes, *words: str) -> CommandResult:
        return shell("webhooks", "verify", "--request", "-", "--secret-file", tmp_path / "secret", *words, stdin=raw)

    return run


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_saved_request_has_the_body_and_the_signature(verify_request: Verify, end: str) -> None:
    assert verify_request(build_request(end=end)).code == 0
    assert verify_request(build_request(end=end).partition(end.encode())[2]).code == 0  # without its request line


def test_header_name_changes_the_header_and_its_case_is_ignored(verify_request: Verify) -> None:
    assert verify_request(build_request(name="x-service-SIGNATURE")).code == 0
    assert verify_request(build_request(name="Acme-Signature"), "--header-name", "acme-signature").code == 0


def test_bytes_after_content_length_are_ignored_with_a_note(verify_request: Verify) -> None:
    done = verify_request(build_request(body=BODY + b"\n"))
    assert (done.code, done.err) == (
        0, f"the body has {len(BODY) + 1} bytes; only the {len(BODY)} bytes of Content-Length are used\n",
    )  # fmt: skip


def test_a_truncated_body_is_reported(verify_request: Verify) -> None:
    done = verify_request(build_request(body=BODY[:-1]))
    assert done.code == 13
    assert "the body was truncated or changed" in done.err


@pytest.mark.parametrize(
    ("raw", "detail", "mistake"),
    [
        (
            b"Host: me\n\n{}",
            "The request has no X-Service-Signature header.",
            "Slack deliveries are not signed.",
        ),
        (
            build_request(name="Acme-Signature"),
            "The request has no X-Service-Signature header.",
            "Acme-Signature may be it: --header-name Acme-Signature",
        ),
        (
            build_request(f"X-Service-Signature: {signature_header()}"),
            "The request has 2 X-Service-Signature headers.",
            "",
        ),
    ],
    ids=["none", "another name", "two"],
)
def test_a_request_without_one_signature_header_is_malformed(
    verify_request: Verify, raw: bytes, detail: str, mistake: str
) -> None:
    found = verify_request(raw, "--json")
    assert found.code == 13
    assert (found.json["verdict"], found.json["detail"], found.json["mistake"]) == ("malformed", detail, mistake)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"Host: me",
        b"not a header\n\n{}",
        build_request("Transfer-Encoding: chunked"),
        gzip.compress(build_request()),
    ],
    ids=["empty", "no empty line", "no header", "chunked", "compressed"],
)
def test_an_input_that_is_not_a_saved_request_exits_with_2(verify_request: Verify, raw: bytes) -> None:
    done = verify_request(raw)
    assert (done.code, done.out) == (2, "")


# --- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("body",),
        ("body", "--signature", "x", "--at", "yesterday"),
        ("body", "--signature", "x", "--at", f"{T}000000"),
        ("body", "--signature", "x", "--tolerance", "long"),
        ("body", "--signature", "x", "--request", "body"),
        ("--request", "body", "--header-name", "a b"),
        ("missing", "--signature", "x"),
        ("-", "--signature", "x", "--secret-file", "-"),
        ("body", "--signature", "x", "--secret-file", "missing"),
        ("body", "--signature", "x", "--secret-file", "empty"),
    ],
)
def test_an_invalid_command_line_exits_with_2(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    for name, content in (("body", BODY), ("secret", SECRET.encode()), ("empty", b"\n")):
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    line = words if "--secret-file" in words else (*words, "--secret-file", "secret")
    done = shell("webhooks", "verify", *line)
    assert (done.code, done.out) == (2, "")
