"""Webhook signatures computed independently, for tests of their verification."""

import hashlib
import hmac

from tests.support.outside.fake_api import BASE

HEX = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
SECRET = f"whsec_{HEX}"
T = int(BASE)
BODY = (
    '{"event":"note.created","timestamp":"2026-09-21T13:46:40.000Z","data":{"fileUuid":"6f1d","fileName":"Übersicht.pdf",'
    '"author":"Ann","body":"Why?"}}'
).encode()


def hmac_hex(key: bytes, message: bytes) -> str:
    """Return the hex HMAC-SHA256 of ``message``."""
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def signature_header(body: bytes = BODY, *, key: bytes = SECRET.encode(), t: int = T) -> str:
    """Return the signature header of a genuine delivery of ``body``, or of a forged one signed with another ``key``."""
    return f"t={t},v1={hmac_hex(key, f'{t}.'.encode() + body)}"
