"""Explain why the signature of a webhook delivery does not match. This module does no input or output.

Most receivers that fail make one of a few mistakes with the key, the body or the signed message. Each mistake, and each
pair of them, is tried.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from docshare.cli.commands.webhooks.signing_mistakes import Candidate, list_bodies, list_keys, list_messages
from docshare.contract.limits import SECOND
from docshare.contract.signing import SignatureVerdict, verify
from docshare.contract.wire import format_instant, format_seconds

VERDICT_NAMES: dict[SignatureVerdict, str] = {
    SignatureVerdict.GENUINE: "genuine",
    SignatureVerdict.MALFORMED: "malformed",
    SignatureVerdict.MISMATCH: "mismatch",
    SignatureVerdict.TOO_OLD: "stale",
    SignatureVerdict.FROM_THE_FUTURE: "future",
}
"""The names of the verdicts in the output for scripts."""

_MAX_BODY_BYTES = 256 * 1024  # bytes; larger bodies are not searched for mistakes
_FIRST_MILLISECONDS = 10**11  # read as seconds, this is the year 5138
_YEAR_10000 = 253_402_300_800  # seconds; later times cannot be formatted
_HEX_CHARS = 64
_T = re.compile(r"(?<![A-Za-z0-9])t=([0-9]{1,15})(?![0-9])", re.ASCII)
_V1 = re.compile(r"(?<![A-Za-z0-9])v1=([0-9a-f]{64})(?![0-9a-f])", re.ASCII | re.IGNORECASE)
_NAMED_HEADER = re.compile(r"[A-Za-z0-9-]+:\s*(.*)", re.ASCII | re.DOTALL)
_OTHER_HASHES = {
    32: "MD5",
    40: "SHA-1",
    44: "Base64",
    96: "SHA-384",
    128: "SHA-512",
}  # by the length of the encoded text


@dataclass(frozen=True)
class SignatureFinding:
    """``detail`` is the verdict as a sentence, ``mistake`` the mistake that explains it or an empty string,
    ``signed_at`` the time in the header in seconds since 1970, and ``age`` the seconds since then (negative in the
    future)."""

    verdict: SignatureVerdict
    detail: str
    mistake: str = ""
    signed_at: int | None = None
    age: int | None = None


def examine(secret: str, body: bytes, header: str, now: int, tolerance: int) -> SignatureFinding:
    """Verify the signature ``header`` of the raw ``body`` and explain a failure.

    ``secret`` is the whole secret with its prefix; ``now`` and ``tolerance`` are in milliseconds.
    """
    verdict = verify(secret, body, header, now, tolerance)
    if verdict is SignatureVerdict.MALFORMED:
        return SignatureFinding(verdict, describe_flaw(header), _check_numbers(secret, body, header))
    (signed_at,) = _T.findall(header)
    seconds = int(signed_at)
    age = now // SECOND - seconds
    if verdict is SignatureVerdict.MISMATCH:
        mistake = explain_mismatch(secret, body, signed_at, header[-_HEX_CHARS:])
        return SignatureFinding(verdict, _describe_mismatch(body, mistake), mistake, seconds, age)
    mistake = _describe_unit_mistake(seconds) if verdict is SignatureVerdict.FROM_THE_FUTURE else ""
    return SignatureFinding(verdict, _describe_age(verdict, age, tolerance), mistake, seconds, age)


def describe_flaw(header: str) -> str:
    """Describe why ``header`` does not have the form ``t=<digits>,v1=<64 lowercase hex characters>``."""
    if not header.strip():
        return "The signature header is empty."
    named = _NAMED_HEADER.fullmatch(header)
    if named is not None:
        return "The signature begins with the name of the header; pass only the value after the colon."
    if header != header.strip():
        return "The signature header has whitespace around it."
    parts = dict(_split_parts(header))
    for name in ("t", "v1"):
        if name not in parts:
            return f"The signature header has no {name}= part."
    if re.search(r"\s", header):
        return "The signature header contains whitespace; none is allowed, not even after the comma."
    more = [name for name, _ in _split_parts(header) if name not in ("t", "v1")]
    if more:
        return f"The signature header has an unknown part: {', '.join(more)}."
    if len(_split_parts(header)) > 2:
        return "The signature header has a duplicate part."
    return _describe_value_flaw(parts["t"], parts["v1"]) or "In the signature header, t must come before v1."


def _split_parts(header: str) -> list[tuple[str, str]]:
    split = (part.partition("=") for part in header.split(","))
    return [(name.strip(), value.strip()) for name, _, value in split]


def _describe_value_flaw(t: str, v1: str) -> str:
    if not (t.isascii() and t.isdigit()):
        return "t in the signature header is not a decimal number."
    if len(t) > 15:
        return "t in the signature header is too long to be a time in seconds."
    if len(v1) != _HEX_CHARS:
        like = _OTHER_HASHES.get(len(v1))
        hint = f", the length of {like}" if like else ""
        return f"v1 in the signature header has {len(v1)} characters{hint}; HMAC-SHA256 in hex has {_HEX_CHARS}."
    if re.fullmatch("[0-9a-fA-F]+", v1, re.ASCII) is None:
        return "v1 in the signature header is not hex."
    return "v1 in the signature header must be lowercase hex." if v1 != v1.lower() else ""


def explain_mismatch(secret: str, body: bytes, seconds: str, signature: str) -> str:
    """Return which mistake makes ``signature`` (lowercase hex) match, as a sentence, or nothing if no known one does.

    ``seconds`` is ``t`` of the header in decimal.
    """
    if len(body) > _MAX_BODY_BYTES:
        return ""
    wanted = signature.encode()
    for words, digest in _list_candidates(secret, body, seconds):
        if hmac.compare_digest(digest.encode(), wanted):
            mistakes, advice = " and ".join(word.explanation for word in words), " ".join(word.advice for word in words)
            return f"The signature matches {mistakes}. {advice}"
    return ""


def _list_candidates(secret: str, body: bytes, seconds: str) -> Iterator[tuple[list[Candidate], str]]:
    """Yield every known mistake, then every pair of them, each with the resulting signature."""
    choices = (list(list_messages(seconds)), list(list_bodies(body)), list(list_keys(secret)))
    for mistakes in (1, 2):
        for message, text, key in product(*choices):
            words = [form for form in (message, text, key) if form.explanation]
            if len(words) == mistakes:
                signed = message.value.replace(b"%", text.value, 1)
                yield words, hmac.new(key.value, signed, hashlib.sha256).hexdigest()


def _check_numbers(secret: str, body: bytes, header: str) -> str:
    """Describe whether the values in a malformed ``header`` match nevertheless."""
    times, signatures = _T.findall(header), _V1.findall(header)
    if len(times) != 1 or len(signatures) != 1:
        return ""
    signature = signatures[0].lower()
    seconds = times[0]
    right = hmac.new(secret.encode("utf-8", "surrogatepass"), seconds.encode() + b"." + body, hashlib.sha256)
    if hmac.compare_digest(right.hexdigest().encode(), signature.encode()):
        return "Otherwise the signature matches."
    found = explain_mismatch(secret, body, seconds, signature)
    return f"Otherwise, {found[0].lower()}{found[1:]}" if found else ""


def _describe_mismatch(body: bytes, mistake: str) -> str:
    if not body:
        return "The signature does not match an empty body. The body may have been read before."
    why = "" if mistake else ": the secret is wrong or the body was changed. No common mistake explains it"
    return f"The signature does not match{why}."


def _describe_age(verdict: SignatureVerdict, age: int, tolerance: int) -> str:
    allowed = format_seconds(tolerance // SECOND)
    if verdict is SignatureVerdict.TOO_OLD:
        old = format_seconds(age)
        return f"The signature is genuine but {old} old; the limit is {allowed}. Replayed, or a clock is wrong."
    if verdict is SignatureVerdict.FROM_THE_FUTURE:
        early = format_seconds(-age)
        return f"The signature is genuine but {early} in the future; the limit is {allowed}. A clock is wrong."
    when = f"{format_seconds(age)} ago" if age >= 0 else f"{format_seconds(-age)} from now"
    return f"The signature is genuine and was created {when}."


def _describe_unit_mistake(seconds: int) -> str:
    return "t is in milliseconds; it must be seconds." if seconds >= _FIRST_MILLISECONDS else ""


def build_row(found: SignatureFinding) -> dict[str, Any]:
    """Return the finding as a row of the output."""
    row = {
        "genuine": bool(found.verdict),
        "verdict": VERDICT_NAMES[found.verdict],
        "detail": found.detail,
        "mistake": found.mistake,
    }
    if found.signed_at is None:
        return row
    signed_at = {} if found.signed_at >= _YEAR_10000 else {"signedAt": format_instant(found.signed_at * 1000)}
    return {**row, **signed_at, "ageSeconds": found.age}
