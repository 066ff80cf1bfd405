"""Verify JSON Web Tokens of other issuers with the keys that they publish.

Keys are fetched when they are first needed, and cached. A token signed with an unknown key makes the server fetch
them again, at most once a minute, so that strangers cannot make this server send many requests to another one.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docshare.contract.limits import HOUR, MINUTE, SECOND
from docshare.server.outbound.addresses import is_operator_allowed
from docshare.server.outbound.exchange import OutboundClient, OutboundRequest
from docshare.server.outbound.failures import OutboundError
from docshare.server.outbound.targets import parse_target

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ALGORITHMS = ("RS256", "ES256")  # never "none", and no algorithm for which a public key could be used as a secret
TOKEN_CHARS = 8_192
KEYS_LIFETIME_MS = 12 * HOUR  # a withdrawn key is dropped after this time, unless the keys are fetched again earlier
REFETCH_INTERVAL_MS = MINUTE
LEEWAY_S = 30  # tolerance for clocks that differ

_DEADLINE_S = 5.0
_MAX_KEYS_BYTES = 256 * 1024
_MIN_RSA_BITS = 2048
_CURVE = "P-256"


class KeysUnreachable(Exception):
    """The keys cannot be fetched now, so the token cannot be verified."""


class UntrustedToken(Exception):
    """The token is invalid."""


@dataclass(frozen=True)
class TrustedIssuer:
    """A trusted issuer: ``jwks_url`` publishes its keys; the token must name ``issuer`` and ``audience``."""

    jwks_url: str
    issuer: str
    audience: str


@dataclass(frozen=True)
class _CachedKeys:
    """The ``keys`` of an issuer. Times are ms; ``tried_at`` is the last attempt to fetch them, successful or not."""

    keys: "KeySet | None"
    fetched_at: int
    tried_at: int


class TokenVerifier:
    """Verifies tokens. Thread-safe. Parameters: ``outbound`` fetches keys; ``clock`` returns ms."""

    def __init__(self, outbound: OutboundClient, clock: Callable[[], int]) -> None:
        self._outbound = outbound
        self._clock = clock
        self._cache: dict[str, _CachedKeys] = {}
        self._fetch_lock = threading.Lock()

    def verify(self, token: str, issuer: TrustedIssuer) -> dict[str, Any]:
        """Return the claims of ``token`` after checking its signature, issuer, audience and times.

        Raises UntrustedToken, and KeysUnreachable if its key is unknown and cannot be fetched.
        """
        from joserfc import jwt
        from joserfc.errors import JoseError

        kid = _parse_key_id(token)
        try:
            decoded = jwt.decode(token, self._require_keys(issuer.jwks_url, kid), algorithms=list(ALGORITHMS))
            jwt.JWTClaimsRegistry(
                now=self._clock() // SECOND,
                leeway=LEEWAY_S,
                iss={"essential": True, "value": issuer.issuer},
                aud={"essential": True, "value": issuer.audience},
                exp={"essential": True},
            ).validate(decoded.claims)
        except (JoseError, ValueError, TypeError, RecursionError, OverflowError) as error:
            raise UntrustedToken(str(error) or type(error).__name__) from error
        return decoded.claims

    def count_published_keys(self, url: str) -> int:
        """Fetch the keys at ``url`` now; return how many can be used. Raises KeysUnreachable with the reason."""
        try:
            return len(self._download_keys(url).keys)
        except (OutboundError, ValueError, OSError, RecursionError) as error:
            raise KeysUnreachable(str(error)) from error

    def _require_keys(self, url: str, kid: str | None) -> "KeySet":
        """Return the keys at ``url``, fetched again if ``kid`` is not among them. Raises KeysUnreachable,
        UntrustedToken."""
        found = self._find_cached_keys(url)
        if found is not None and _has_key(found, kid):
            return found
        with self._fetch_lock:
            # Checked again: another thread may have fetched them in the meantime.
            known, now = self._cache.get(url), self._clock()
            if known is None or now - known.tried_at >= REFETCH_INTERVAL_MS or now < known.tried_at:
                known = self._refresh_keys(url, known, now)
        if known.keys is None or (known.fetched_at != known.tried_at and not _has_key(known.keys, kid)):
            raise KeysUnreachable("the signing keys cannot be fetched now")
        if not _has_key(known.keys, kid):
            raise UntrustedToken("it is signed with a key that is not published")
        return known.keys

    def _find_cached_keys(self, url: str) -> "KeySet | None":
        known = self._cache.get(url)
        if known is None or self._clock() - known.fetched_at >= KEYS_LIFETIME_MS:
            return None
        return known.keys

    def _refresh_keys(self, url: str, before: _CachedKeys | None, now: int) -> _CachedKeys:
        """Fetch the keys; if that fails, return the cached ones until they expire."""
        try:
            keys: KeySet | None = self._download_keys(url)
            known = _CachedKeys(keys, now, now)
        except (OutboundError, ValueError, OSError, RecursionError):
            kept = before if before is not None and now - before.fetched_at < KEYS_LIFETIME_MS else None
            known = _CachedKeys(kept.keys if kept else None, kept.fetched_at if kept else -1, now)
        self._cache[url] = known
        return known

    def _download_keys(self, url: str) -> "KeySet":
        """Fetch and parse the keys. Raises OutboundError, and ValueError for a response without keys."""
        request = OutboundRequest(parse_target(url), headers={"Accept": "application/json"})
        with self._outbound.exchange(request, is_operator_allowed, deadline_s=_DEADLINE_S) as response:
            if response.status != 200:
                raise OutboundError(f"answered with status {response.status}")
            body = b"".join(response.read_blocks(_MAX_KEYS_BYTES))
        return _parse_key_set(json.loads(body))


def _parse_key_set(document: Any) -> "KeySet":
    """Return the keys of a JWK set that can have signed a token. Raises ValueError if there are none."""
    from joserfc.errors import JoseError
    from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

    rows = document.get("keys") if isinstance(document, dict) else None
    keys: list[OctKey | RSAKey | ECKey | OKPKey] = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or row.get("use", "sig") != "sig":
            continue
        try:
            if row.get("kty") == "RSA" and _is_strong_modulus(row.get("n")):
                keys.append(RSAKey.import_key(row))
            elif row.get("kty") == "EC" and row.get("crv") == _CURVE:
                keys.append(ECKey.import_key(row))
        except (JoseError, ValueError, TypeError):
            continue  # a malformed key does not affect the others
    if not keys:
        raise ValueError("there are no usable keys")
    return KeySet(keys)


def _is_strong_modulus(modulus: object) -> bool:
    """Return whether an RSA key with this ``modulus`` (base64) is long enough."""
    from joserfc.util import urlsafe_b64decode

    return isinstance(modulus, str) and len(urlsafe_b64decode(modulus.encode()).lstrip(b"\0")) * 8 >= _MIN_RSA_BITS


def _has_key(keys: "KeySet", kid: str | None) -> bool:
    """Return whether ``keys`` contain the key ``kid``. A token without a key id matches if there is only one key."""
    return len(keys.keys) == 1 if kid is None else any(key.kid == kid for key in keys.keys)


def _parse_key_id(token: str) -> str | None:
    """Return the id of the key that signed ``token``, None if it names no key. Raises UntrustedToken if it is not a
    JSON Web Token."""
    from joserfc.util import urlsafe_b64decode

    head, *rest = token.split(".")
    if len(token) > TOKEN_CHARS or not token.isascii() or len(rest) != 2:
        raise UntrustedToken("it is not a JSON Web Token")
    try:
        header = json.loads(urlsafe_b64decode(head.encode()))
    except (ValueError, RecursionError):
        raise UntrustedToken("it is not a JSON Web Token") from None
    kid = header.get("kid") if isinstance(header, dict) else None
    if not isinstance(header, dict) or not isinstance(kid, str | None):
        raise UntrustedToken("it is not a JSON Web Token")
    return kid
