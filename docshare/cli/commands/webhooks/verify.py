"""Why the signature of a webhook delivery does not fit (section Authentication 7). Pure: nothing here reads or prints.

A receiver that gets it wrong mostly makes one of few mistakes, so each of them, and each two of them together, is
tried: the key, the body, and what of them was signed.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from docshare.cli.commands.webhooks.signing_mistakes import Candidate, list_bodies, list_keys, list_messages
from docshare.contract.limits import SECOND
from docshare.contract.signing import Verdict, verify
from docshare.contract.wire import spoken

VERDICT_NAMES: dict[Verdict, str] = {
    Verdict.GENUINE: "genuine",
    Verdict.MALFORMED: "malformed",
    Verdict.MISMATCH: "mismatch",
    Verdict.TOO_OLD: "stale",
    Verdict.FROM_THE_FUTURE: "future",
}
"""The verdicts as scripts read them."""

_MAX_BODY_BYTES = 256 * 1024  # bytes of a body for which mistakes are looked for
_FIRST_MILLISECONDS = 10**11  # as seconds that is the year 5138
_HEX_CHARS = 64
_T = re.compile(r"(?<![A-Za-z0-9])t=([0-9]{1,15})(?![0-9])", re.ASCII)
_V1 = re.compile(r"(?<![A-Za-z0-9])v1=([0-9a-f]{64})(?![0-9a-f])", re.ASCII | re.IGNORECASE)
_NAMED_HEADER = re.compile(r"[A-Za-z0-9-]+:\s*(.*)", re.ASCII | re.DOTALL)
_OTHER_HASHES = {32: "MD5", 40: "SHA-1", 44: "Base64", 96: "SHA-384", 128: "SHA-512"}  # lengths of their text


class SignatureFinding(NamedTuple):
    """``detail``: the verdict in a sentence; ``mistake``: what makes the signature fit, empty if nothing known does;
    ``signed_at``: seconds since 1970 in the header, None without; ``age`` seconds since then, negative in the future.
    """

    verdict: Verdict
    detail: str
    mistake: str = ""
    signed_at: int | None = None
    age: int | None = None


def examine(secret: str, body: bytes, header: str, now: int, tolerance: int) -> SignatureFinding:
    """Judge the signature ``header`` of the raw ``body``, and say why it is wrong.

    Parameters: ``secret`` as its owner keeps it; ``now`` and ``tolerance`` in milliseconds.
    """
    verdict = verify(secret, body, header, now, tolerance)
    if verdict is Verdict.MALFORMED:
        return SignatureFinding(verdict, describe_flaw(header), _check_numbers(secret, body, header))
    (said,) = _T.findall(header)
    seconds = int(said)
    age = now // SECOND - seconds
    if verdict is Verdict.MISMATCH:
        mistake = explain_mismatch(secret, body, said, header[-_HEX_CHARS:])
        return SignatureFinding(verdict, _describe_mismatch(body, mistake), mistake, seconds, age)
    mistake = _describe_unit_mistake(seconds) if verdict is Verdict.FROM_THE_FUTURE else ""
    return SignatureFinding(verdict, _describe_age(verdict, age, tolerance), mistake, seconds, age)


def describe_flaw(header: str) -> str:
    """What is wrong with the form of a ``header`` that is not ``t=<digits>,v1=<64 lower-case hex characters>``."""
    if not header.strip():
        return "The signature header is empty."
    named = _NAMED_HEADER.fullmatch(header)
    if named is not None:
        return "The signature begins with the name of the header; give only what stands behind the colon."
    if header != header.strip():
        return "There is blank space or a line break around the signature header."
    parts = dict(_split_parts(header))
    for name in ("t", "v1"):
        if name not in parts:
            return f"The signature header has no {name}= part."
    if re.search(r"\s", header):
        return "There is blank space inside the signature header; none belongs there, not even after the comma."
    more = [name for name, _ in _split_parts(header) if name not in ("t", "v1")]
    if more:
        return f"The signature header has a part too many: {', '.join(more)}."
    if len(_split_parts(header)) > 2:
        return "The signature header has a part twice."
    return _describe_value_flaw(parts["t"], parts["v1"]) or "In the signature header t stands first, then v1."


def _split_parts(header: str) -> list[tuple[str, str]]:
    split = (part.partition("=") for part in header.split(","))
    return [(name.strip(), value.strip()) for name, _, value in split]


def _describe_value_flaw(t: str, v1: str) -> str:
    if not (t.isascii() and t.isdigit()):
        return "t in the signature header is no decimal number."
    if len(t) > 15:
        return "t in the signature header is too long to be a time in seconds."
    if len(v1) != _HEX_CHARS:
        like = _OTHER_HASHES.get(len(v1))
        hint = f", which is the length of {like}" if like else ""
        return f"v1 in the signature header has {len(v1)} characters{hint}; HMAC-SHA256 in hex has {_HEX_CHARS}."
    if re.fullmatch("[0-9a-fA-F]+", v1, re.ASCII) is None:
        return "v1 in the signature header is not hex."
    return "v1 in the signature header has capital letters; it is lower-case hex." if v1 != v1.lower() else ""


def explain_mismatch(secret: str, body: bytes, seconds: str, signature: str) -> str:
    """What makes ``signature`` (lower-case hex) fit, as a sentence; empty if no known mistake does.

    Parameters: ``seconds``: ``t`` of the header, in decimal.
    """
    if len(body) > _MAX_BODY_BYTES:
        return ""
    wanted = signature.encode()
    for words, digest in _list_candidates(secret, body, seconds):
        if hmac.compare_digest(digest.encode(), wanted):
            return f"It fits {' and '.join(word.how for word in words)}. {' '.join(word.advice for word in words)}"
    return ""


def _list_candidates(secret: str, body: bytes, seconds: str) -> Iterator[tuple[list[Candidate], str]]:
    """Every known mistake alone, then every two together: what they are, and the signature they lead to."""
    choices = (list(list_messages(seconds)), list(list_bodies(body)), list(list_keys(secret)))
    for mistakes in (1, 2):
        for message, text, key in product(*choices):
            words = [form for form in (message, text, key) if form.how]
            if len(words) == mistakes:
                signed = message.value.replace(b"%", text.value, 1)
                yield words, hmac.new(key.value, signed, hashlib.sha256).hexdigest()


def _check_numbers(secret: str, body: bytes, header: str) -> str:
    """Whether the numbers in a malformed ``header`` fit all the same."""
    times, signatures = _T.findall(header), _V1.findall(header)
    if len(times) != 1 or len(signatures) != 1:
        return ""
    signature = signatures[0].lower()
    seconds = times[0]
    right = hmac.new(secret.encode("utf-8", "surrogatepass"), seconds.encode() + b"." + body, hashlib.sha256)
    if hmac.compare_digest(right.hexdigest().encode(), signature.encode()):
        return "Apart from that the signature fits."
    found = explain_mismatch(secret, body, seconds, signature)
    return f"Apart from that: {found[0].lower()}{found[1:]}" if found else ""


def _describe_mismatch(body: bytes, mistake: str) -> str:
    if not body:
        return "The signature does not fit an empty body: was the body read before?"
    why = "" if mistake else ": another secret, or the body was changed. None of the usual mistakes explains it"
    return f"The signature does not fit{why}."


def _describe_age(verdict: Verdict, age: int, tolerance: int) -> str:
    allowed = spoken(tolerance // SECOND)
    if verdict is Verdict.TOO_OLD:
        return (
            f"The signature is genuine but stale: {spoken(age)} old, allowed are {allowed}. A replay or a wrong clock."
        )
    if verdict is Verdict.FROM_THE_FUTURE:
        return f"The signature is genuine but from the future, by {spoken(-age)}; allowed are {allowed}: a wrong clock."
    when = f"{spoken(age)} ago" if age >= 0 else f"{spoken(-age)} from now"
    return f"The signature is genuine, made {when}."


def _describe_unit_mistake(seconds: int) -> str:
    return "t is in milliseconds; it must be seconds." if seconds >= _FIRST_MILLISECONDS else ""
