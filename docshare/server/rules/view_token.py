"""The signed token that a share page sends with every beacon.

It contains which link was opened, when and how, so that opening a page stores nothing. It contains the public id by
which the reader opened the link, never the file behind it: the holder of a variant can decode the token and must
learn nothing from it.
"""

import base64
import hmac
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

LIFETIME_MS = 7 * 24 * 60 * 60 * 1000  # a tab left open over the weekend can still be read
MAX_TOKEN_CHARS = 1024  # characters


@dataclass(frozen=True)
class PageLoad:
    """One load of a share page.

    ``public_id`` the id in the address of its beacons; ``content_version`` what was served; ``issued_at`` ms;
    ``nonce`` 20 random characters that identify this load; ``pages_before`` how many pages of the document are hidden
    before the ``pages`` that were shown; ``source`` as in the report's breakdown; ``viewer_mode`` how pages are laid
    out; ``referrer`` host name of the page that linked here; ``prefetched`` whether the browser announced the load as
    a prefetch.
    """

    public_id: str
    content_version: int
    issued_at: int
    nonce: str
    pages_before: int
    pages: int
    source: str
    viewer_mode: str
    referrer: str | None = None
    prefetched: bool = False


def sign_token(secret: bytes, opening: PageLoad) -> str:
    """Return the token of ``opening`` signed with ``secret``: two base64url parts with a dot between them."""
    fields = [
        opening.public_id,
        opening.content_version,
        opening.issued_at,
        opening.nonce,
        # Readers must not learn the position of the window: it would reveal how many pages are hidden.
        opening.pages_before ^ _offset_mask(secret, opening.nonce),
        opening.pages,
        opening.source,
        opening.viewer_mode,
        opening.referrer,
        opening.prefetched,
    ]
    payload = _encode(json.dumps(fields, separators=(",", ":")).encode())
    return f"{payload}.{_encode(_mac(secret, payload))}"


def verify_token(secret: bytes, token: str) -> PageLoad | None:
    """Return the content of ``token``, or None if it was not signed with ``secret``. The caller checks its age."""
    return _verify_signed(secret, token) if len(token) <= MAX_TOKEN_CHARS and token.isascii() else None


@lru_cache(maxsize=256)  # every beacon of a load sends the same token
def _verify_signed(secret: bytes, token: str) -> PageLoad | None:
    payload, _, signature = token.partition(".")
    if not hmac.compare_digest(signature.encode(), _encode(_mac(secret, payload)).encode()):
        return None
    fields: list[Any] = json.loads(_decode(payload))
    opening = PageLoad(*fields)
    return replace(opening, pages_before=opening.pages_before ^ _offset_mask(secret, opening.nonce))


def _offset_mask(secret: bytes, nonce: str) -> int:
    return int.from_bytes(hmac.digest(secret, b"window " + nonce.encode(), "sha256")[:4], "big")


def _mac(secret: bytes, payload: str) -> bytes:
    return hmac.digest(secret, payload.encode(), "sha256")[:16]


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
