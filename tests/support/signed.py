"""Webhook signatures made by hand, for tests of what judges them."""

import hashlib
import hmac

from tests.support.fakefeed import BASE

HEX = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
SECRET = f"whsec_{HEX}"
T = int(BASE)
BODY = (
    '{"event":"note.created","timestamp":"2026-09-21T13:46:40.000Z","data":{"fileUuid":"6f1d","fileName":"Übersicht.pdf",'
    '"author":"Ann","body":"Why?"}}'
).encode()


def v1(key: bytes, message: bytes) -> str:
    """The hex HMAC-SHA256 of ``message``."""
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def header(body: bytes = BODY, *, key: bytes = SECRET.encode(), t: int = T) -> str:
    """The value of the header of a genuine delivery of ``body``, unless another ``key`` signs it."""
    return f"t={t},v1={v1(key, f'{t}.'.encode() + body)}"
