"""Webhook signatures. The expected digests were computed with OpenSSL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docshare.contract.signing import SignatureVerdict, sign, verify

SECRET = "whsec_000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
BODY = (
    '{"event":"file.viewed","timestamp":"2023-11-14T22:13:20.000Z","data":{"fileUuid":"6f1d","fileName":"Übersicht.pdf"}}'
).encode()
NOW = 1_700_000_000_000
DIGEST = "237ddef47727e68122ac99e25691aaae79e211ad406e0f9d6a16820721af2bf5"
HEADER = f"t=1700000000,v1={DIGEST}"


def test_the_signature_matches_the_openssl_vector() -> None:
    assert sign(SECRET, BODY, NOW) == HEADER


def test_a_retry_a_minute_later_has_a_new_timestamp_and_signature() -> None:
    later = "t=1700000060,v1=f5efeaf46e511d06f9a85507685d0e516443072a3ef0d31bdb23a61b1181d010"
    assert sign(SECRET, BODY, NOW + 60_999) == later


def test_an_empty_body_is_signed_too() -> None:
    assert sign(SECRET, b"", NOW) == "t=1700000000,v1=6bcff3e93966a738134235a3a0b6dd1ea2ce8cf59c594f9a0f33ed73a5518f12"


def test_a_fresh_signature_is_genuine() -> None:
    assert verify(SECRET, BODY, HEADER, NOW) is SignatureVerdict.GENUINE
    assert verify(SECRET, BODY, HEADER, NOW)


def test_a_hex_decoded_key_does_not_match() -> None:
    decoded = "t=1700000000,v1=409e5a1064fcbd942e6005de2e50d05c47a7d2fc791e826d6627a9d4884d3796"
    assert verify(SECRET, BODY, decoded, NOW) is SignatureVerdict.MISMATCH


@pytest.mark.parametrize("secret", [SECRET.removeprefix("whsec_"), SECRET.upper(), SECRET[:-1], "", "\ud800", "ключ"])
def test_another_secret_does_not_match(secret: str) -> None:
    assert verify(secret, BODY, HEADER, NOW) is SignatureVerdict.MISMATCH


@pytest.mark.parametrize("body", [b"", BODY + b"\n", BODY.replace(b",", b", "), BODY.replace(b"viewed", b"burned")])
def test_another_body_does_not_match(body: bytes) -> None:
    assert verify(SECRET, body, HEADER, NOW) is SignatureVerdict.MISMATCH


def test_the_timestamp_is_part_of_the_signed_content() -> None:
    assert verify(SECRET, BODY, f"t=1700000001,v1={DIGEST}", NOW) is SignatureVerdict.MISMATCH


@pytest.mark.parametrize(
    "header",
    [
        "",
        DIGEST,
        f"t=1700000000, v1={DIGEST}",
        f"v1={DIGEST},t=1700000000",
        f"t=1700000000,v1={DIGEST.upper()}",
        f"t=1700000000,v1={DIGEST[:-1]}",
        f"t=1700000000,v1={DIGEST}\n",
        f"t=1700000000,v1={DIGEST},v0=x",
        f"t=,v1={DIGEST}",
        f"t=-1,v1={DIGEST}",
        f"t={'9' * 5000},v1={DIGEST}",
        f"t=\uff11700000000,v1={DIGEST}",
        "t=1700000000,v1=" + "\u00e9" * 64,
        "\ud800",
    ],
)
def test_a_header_in_another_format_is_malformed(header: str) -> None:
    assert verify(SECRET, BODY, header, NOW) is SignatureVerdict.MALFORMED


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        (-301, SignatureVerdict.FROM_THE_FUTURE),
        (-300, SignatureVerdict.GENUINE),
        (300, SignatureVerdict.GENUINE),
        (301, SignatureVerdict.TOO_OLD),
        (86_400, SignatureVerdict.TOO_OLD),
    ],
)
def test_the_replay_window_is_five_minutes_in_both_directions(seconds: int, verdict: SignatureVerdict) -> None:
    assert verify(SECRET, BODY, HEADER, NOW + seconds * 1000) is verdict


def test_the_replay_window_is_configurable() -> None:
    assert verify(SECRET, BODY, HEADER, NOW + 11_000, window=10_000) is SignatureVerdict.TOO_OLD
    assert verify(SECRET, BODY, HEADER, NOW + 900_000, window=1_000_000) is SignatureVerdict.GENUINE


def test_only_the_genuine_verdict_is_truthy_and_each_has_a_description() -> None:
    assert [verdict for verdict in SignatureVerdict if verdict] == [SignatureVerdict.GENUINE]
    assert all(verdict.value.endswith(".") for verdict in SignatureVerdict)


@given(st.text(max_size=90), st.binary(max_size=50), st.integers(0, 2**50))
def test_any_signed_body_is_genuine(secret: str, body: bytes, now: int) -> None:
    assert verify(secret, body, sign(secret, body, now), now)


@given(st.text(max_size=90) | st.from_regex(r"t=\d{1,20},v1=[0-9a-f]{64}", fullmatch=True))
def test_a_forged_header_is_not_genuine(header: str) -> None:
    assert not verify(SECRET, BODY, header, NOW)


def test_the_replay_window_is_checked_in_whole_seconds() -> None:
    """The header contains whole seconds, so fractions of a second are ignored during verification."""
    header = sign("whsec_x", b"{}", 0)
    assert verify("whsec_x", b"{}", header, 300_999) is SignatureVerdict.GENUINE
    assert verify("whsec_x", b"{}", header, 301_000) is SignatureVerdict.TOO_OLD
