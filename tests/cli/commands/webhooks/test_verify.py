"""``docshare webhooks verify``: the verdict and the reason. The tests compute signatures independently of the code."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stripe
from hypothesis import given
from hypothesis import strategies as st

from docshare.cli.commands.webhooks.verify import examine
from docshare.contract.signing import SignatureVerdict, sign
from tests.support.outside.webhook_signatures import BODY, HEX, SECRET, T, hmac_hex, signature_header
from tests.support.shell import CommandResult, Shell

Verify = Callable[..., CommandResult]


@pytest.fixture
def verify(shell: Shell, tmp_path: Path) -> Verify:
    """Run the command on a body that was received with a signature."""

    def run(signature: str, *words: str, body: bytes = BODY, secret: bytes = SECRET.encode() + b"\n") -> CommandResult:
        (tmp_path / "body").write_bytes(body)
        (tmp_path / "secret").write_bytes(secret)
        line = (tmp_path / "body", "--secret-file", tmp_path / "secret", "--signature", signature)
        return shell("webhooks", "verify", *line, *words)

    return run


# --- the verdict -----------------------------------------------------------------------------------------------------


def test_a_genuine_signature_exits_with_0(verify: Verify) -> None:
    done = verify(signature_header())
    assert done.code == 0
    assert done.lines == [
        "verdict\tgenuine",
        "detail\tThe signature is genuine and was created 0s ago.",
        "mistake\t",
        "genuine\ttrue",
        "signedAt\t2026-09-21T14:13:20.000Z",
        "ageSeconds\t0",
    ]


def test_json_has_the_verdict_and_the_age(verify: Verify) -> None:
    assert verify(signature_header(t=T - 90), "--json").json == {
        "genuine": True,
        "verdict": "genuine",
        "detail": "The signature is genuine and was created 1m 30s ago.",
        "mistake": "",
        "signedAt": "2026-09-21T14:11:50.000Z",
        "ageSeconds": 90,
    }


@pytest.mark.parametrize(("age", "code"), [(300, 0), (301, 13), (-300, 0), (-301, 13)])
def test_the_tolerance_is_five_minutes_in_both_directions(verify: Verify, age: int, code: int) -> None:
    assert verify(signature_header(t=T - age)).code == code


def test_a_stale_signature_is_reported_with_its_age(verify: Verify) -> None:
    done = verify(signature_header(t=T - 540), "--json")
    assert (done.code, done.json["verdict"], done.json["detail"]) == (
        13, "stale", "The signature is genuine but 9m 00s old; the limit is 5m 00s. Replayed, or a clock is wrong.",
    )  # fmt: skip


def test_a_signature_from_the_future_is_reported_with_the_difference(verify: Verify) -> None:
    done = verify(signature_header(t=T + 540), "--json")
    assert (done.code, done.json["verdict"], done.json["detail"]) == (
        13, "future",
        "The signature is genuine but 9m 00s in the future; the limit is 5m 00s. A clock is wrong.",
    )  # fmt: skip


@pytest.mark.parametrize("at", [str(T - 540), "2026-09-21T14:04:20Z"])
def test_at_sets_the_time_of_the_check(verify: Verify, at: str) -> None:
    assert verify(signature_header(t=T - 540)).code == 13
    assert verify(signature_header(t=T - 540), "--at", at).code == 0


def test_tolerance_sets_the_accepted_age(verify: Verify) -> None:
    assert verify(signature_header(t=T - 540), "--tolerance", "10m").code == 0
    assert verify(signature_header(t=T - 11), "--tolerance", "10").code == 13


def test_a_terminal_shows_the_verdict_and_the_mistake_in_two_lines(shell: Shell, verify: Verify) -> None:
    shell.tty = True
    assert verify(signature_header(BODY + b"\n"), "--no-color").lines == [
        "mismatch: The signature does not match.",
        "The signature matches if a trailing newline is added. It was removed in transit.",
    ]


# --- malformed headers -----------------------------------------------------------------------------------------------

GENUINE_SIGNATURE = hmac_hex(SECRET.encode(), f"{T}.".encode() + BODY)


@pytest.mark.parametrize(
    ("signature", "detail"),
    [
        ("", "The signature header is empty."),
        (GENUINE_SIGNATURE, "The signature header has no t= part."),
        (f"t={T}", "The signature header has no v1= part."),
        (f"v1={GENUINE_SIGNATURE}", "The signature header has no t= part."),
        (f"t={T},v1={GENUINE_SIGNATURE}\n", "The signature header has whitespace around it."),
        (
            f"X-Service-Signature: t={T},v1={GENUINE_SIGNATURE}",
            "The signature begins with the name of the header; pass only the value after the colon.",
        ),
        (
            f"t={T}, v1={GENUINE_SIGNATURE}",
            "The signature header contains whitespace; none is allowed, not even after the comma.",
        ),
        (f"v1={GENUINE_SIGNATURE},t={T}", "In the signature header, t must come before v1."),
        (f"t={T},v1={GENUINE_SIGNATURE},v0=1", "The signature header has an unknown part: v0."),
        (f"t={T},v1={GENUINE_SIGNATURE},v1={GENUINE_SIGNATURE}", "The signature header has a duplicate part."),
        (f"t=now,v1={GENUINE_SIGNATURE}", "t in the signature header is not a decimal number."),
        (f"t=,v1={GENUINE_SIGNATURE}", "t in the signature header is not a decimal number."),
        (f"t={'9' * 16},v1={GENUINE_SIGNATURE}", "t in the signature header is too long to be a time in seconds."),
        (
            f"t={T},v1={GENUINE_SIGNATURE[:-1]}",
            "v1 in the signature header has 63 characters; HMAC-SHA256 in hex has 64.",
        ),
        (
            f"t={T},v1={GENUINE_SIGNATURE[:40]}",
            "v1 in the signature header has 40 characters, the length of SHA-1; HMAC-SHA256 in hex has 64.",
        ),
        (f"t={T},v1={GENUINE_SIGNATURE[:-1]}g", "v1 in the signature header is not hex."),
        (
            f"t={T},v1={GENUINE_SIGNATURE.upper()}",
            "v1 in the signature header must be lowercase hex.",
        ),
    ],
)
def test_a_malformed_header_is_reported_with_the_wrong_part(verify: Verify, signature: str, detail: str) -> None:
    found = verify(signature, "--json")
    assert (found.code, found.json["verdict"], found.json["detail"]) == (13, "malformed", detail)


@pytest.mark.parametrize(
    "signature",
    [f"t={T}, v1={GENUINE_SIGNATURE}", f"v1={GENUINE_SIGNATURE},t={T}", f"t={T},v1={GENUINE_SIGNATURE.upper()}"],
)
def test_a_malformed_header_with_a_matching_signature_is_recognized(verify: Verify, signature: str) -> None:
    assert verify(signature, "--json").json["mistake"] == "Otherwise the signature matches."


def test_a_second_mistake_besides_a_malformed_header_is_recognized(verify: Verify) -> None:
    mistake = verify(signature_header(BODY + b"\n").replace(",", ", "), "--json").json["mistake"]
    assert mistake.startswith("Otherwise, the signature matches if a trailing newline is added.")


# --- common mistakes -------------------------------------------------------------------------------------------------


def reserialize_body(**shape: Any) -> bytes:
    return json.dumps(json.loads(BODY), **shape).encode()


BODIES = {
    "if the trailing newline is removed": BODY + b"\n",
    "if the trailing CR LF is removed": BODY + b"\r\n",
    "if the whitespace around the body is removed": b"  " + BODY + b" ",
    "without the byte order mark before the body": b"\xef\xbb\xbf" + BODY,
    "if the body had not been decoded as Latin-1": BODY.decode("latin-1").encode(),
    "if the body had not been decoded as Windows-1252": BODY.decode("cp1252").encode(),
    "if the body were UTF-8 and not UTF-16": BODY.decode().encode("utf-16"),
    "if the body were UTF-8 and not Latin-1": BODY.decode().encode("latin-1"),
    "if the body is decoded from Base64": base64.b64encode(BODY),
    "if the body is extracted from a JSON string": json.dumps(BODY.decode()).encode(),
    "with the JSON serialized again (compact)": reserialize_body(ensure_ascii=False),
    "with the JSON serialized again (compact) ": reserialize_body(),
    "with the JSON serialized again (compact)  ": reserialize_body(indent=2),
    "with the JSON serialized again (compact, original key order)": reserialize_body(sort_keys=True),
}


@pytest.mark.parametrize(("how", "received"), BODIES.items(), ids=[how.strip() for how in BODIES])
def test_a_body_that_was_changed_in_transit_is_recognized(verify: Verify, how: str, received: bytes) -> None:
    done = verify(signature_header(), "--json", body=received)
    assert (done.code, done.json["verdict"], done.json["detail"]) == (13, "mismatch", "The signature does not match.")
    assert done.json["mistake"].startswith(f"The signature matches {how.strip()}")


SIGNED = {
    "if a trailing newline is added": BODY + b"\n",
    "with CR LF instead of LF in the body": b"",
    "with a byte order mark before the body": b"\xef\xbb\xbf" + BODY,
    "with the JSON serialized again (with spaces after commas and colons)": reserialize_body(ensure_ascii=False),
    "with the JSON serialized again (with spaces after commas and colons, non-ASCII": reserialize_body(),
    "with the JSON serialized again (compact, non-ASCII characters escaped)": reserialize_body(separators=(",", ":")),
    "with the JSON serialized again (indented by 2": reserialize_body(indent=2),
    "with the JSON serialized again (compact, sorted keys)": reserialize_body(
        separators=(",", ":"), sort_keys=True, ensure_ascii=False
    ),
}


@pytest.mark.parametrize(("how", "signed"), [item for item in SIGNED.items() if item[1]])
def test_a_signature_of_a_rewritten_body_is_recognized(verify: Verify, how: str, signed: bytes) -> None:
    assert verify(signature_header(signed), "--json").json["mistake"].startswith(f"The signature matches {how}")


@pytest.mark.parametrize(
    ("received", "signed", "how"),
    [
        (b"a\r\nb", b"a\nb", "with LF instead of CR LF in the body"),
        (b"a\nb", b"a\r\nb", "with CR LF instead of LF in the body"),
    ],
)
def test_different_line_endings_are_recognized(verify: Verify, received: bytes, signed: bytes, how: str) -> None:
    assert (
        verify(signature_header(signed), "--json", body=received)
        .json["mistake"]
        .startswith(f"The signature matches {how}")
    )


KEYS = {
    "with the key without whsec_": HEX.encode(),
    "with the hex-decoded key": bytes.fromhex(HEX),
    "with the Base64-decoded key": base64.b64decode(HEX),
    "with a line feed after the secret": SECRET.encode() + b"\n",
    "with a CR LF after the secret": SECRET.encode() + b"\r\n",
}


@pytest.mark.parametrize(("how", "key"), KEYS.items())
def test_a_signature_with_a_wrongly_derived_key_is_recognized(verify: Verify, how: str, key: bytes) -> None:
    assert verify(signature_header(key=key), "--json").json["mistake"].startswith(f"The signature matches {how}")


@pytest.mark.parametrize(
    ("how", "content"),
    [
        ("with the secret without the quotes or whitespace around it", f'"{SECRET}"\n'),
        ("with the secret without the quotes or whitespace around it", f"{SECRET}\n\n"),
        ("with the secret without the quotes or whitespace around it", f"\ufeff{SECRET}"),
        ("with only the secret from the file", f"DOCSHARE_SECRET={SECRET}\n"),
        ("with whsec_ before the secret", f"{HEX}\n"),
        ("with the secret in lowercase", SECRET.upper()),
    ],
)
def test_a_secret_file_with_extra_or_missing_characters_is_recognized(verify: Verify, how: str, content: str) -> None:
    assert (
        verify(signature_header(), "--json", secret=content.encode())
        .json["mistake"]
        .startswith(f"The signature matches {how}")
    )


MESSAGES = {
    "with the body alone, without t": BODY,
    "without the dot between t and the body": f"{T}".encode() + BODY,
    "with t after the body": BODY + f".{T}".encode(),
    "with t in milliseconds": f"{T}000.".encode() + BODY,
}


@pytest.mark.parametrize(("how", "message"), MESSAGES.items())
def test_a_signature_of_a_wrong_message_is_recognized(verify: Verify, how: str, message: bytes) -> None:
    mistake = verify(f"t={T},v1={hmac_hex(SECRET.encode(), message)}", "--json").json["mistake"]
    assert mistake == f"The signature matches {how}. Sign <t>.<raw body>, with t in seconds."


def test_t_in_milliseconds_is_recognized_whether_or_not_it_was_signed_that_way(verify: Verify) -> None:
    signed = verify(signature_header(t=T * 1000), "--json").json
    assert (signed["verdict"], signed["mistake"]) == ("future", "t is in milliseconds; it must be seconds.")
    unlike = verify(f"t={T}000,{signature_header().partition(',')[2]}", "--json").json
    assert unlike["mistake"].startswith("The signature matches with t in seconds, although the header has milliseconds")


def test_two_mistakes_at_once_are_recognized(verify: Verify) -> None:
    mistake = verify(signature_header(BODY + b"\n", key=HEX.encode()), "--json").json["mistake"]
    assert mistake.startswith("The signature matches if a trailing newline is added and with the key without whsec_.")


def test_a_wrong_secret_is_reported_without_guessing_a_mistake(verify: Verify) -> None:
    found = verify(signature_header(key=b"whsec_other"), "--json").json
    assert (found["verdict"], found["mistake"]) == ("mismatch", "")
    assert "the secret is wrong or the body was changed" in found["detail"]


def test_an_empty_body_is_reported_with_the_hint_that_it_may_have_been_read_before(verify: Verify) -> None:
    assert "The body may have been read before." in verify(signature_header(), "--json", body=b"").json["detail"]


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"a":' + b"9" * 6000 + b"}", b"\xff\xfe\x00\xd8", b"\0" * 2_000_000]
)
def test_unusual_bodies_do_not_crash_the_command(verify: Verify, body: bytes) -> None:
    assert verify(signature_header(), body=body).code == 13


def test_the_secret_is_in_no_output(shell: Shell, verify: Verify) -> None:
    for words in ((), ("--json",), ("-vv",)):
        done = verify(signature_header(key=b"other"), *words)
        assert HEX not in done.out + done.err


# --- compatibility ---------------------------------------------------------------------------------------------------

BODIES_OF_ANY_KIND = st.binary(max_size=60) | st.text(max_size=30).map(lambda text: json.dumps(text).encode())


@given(st.text(min_size=1, max_size=80), BODIES_OF_ANY_KIND, st.integers(0, 2**45), st.integers(-300, 300))
def test_every_signature_of_the_server_is_genuine(secret: str, body: bytes, now: int, away: int) -> None:
    later = now // 1000 * 1000 + away * 1000
    assert examine(secret, body, sign(secret, body, now), later, 300_000).verdict is SignatureVerdict.GENUINE


@given(st.text(max_size=60), BODIES_OF_ANY_KIND)
def test_an_unsigned_body_is_never_genuine_and_never_matches(text: str, body: bytes) -> None:
    for signature in (text, f"t={T},v1={hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"):
        found = examine(SECRET, body, signature, T * 1000, 300_000)
        assert not found.verdict
        assert not found.mistake


@given(st.text(max_size=40), st.integers(0, 300))
def test_the_library_of_a_service_with_the_same_scheme_agrees(text: str, age: int) -> None:
    body = json.dumps({"event": "note.created", "body": text}, ensure_ascii=False).encode("utf-8", "replace")
    signature = sign(SECRET, body, (T - age) * 1000)
    assert examine(SECRET, body, signature, T * 1000, 300_000).verdict is SignatureVerdict.GENUINE
    assert stripe.WebhookSignature.verify_header(body.decode(), signature, SECRET, None)
    assert not examine(SECRET, body + b" ", signature, T * 1000, 300_000).verdict
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.WebhookSignature.verify_header(body.decode() + " ", signature, SECRET, None)
