"""An issuer of tokens: its keys, their public JWKS document, and valid and invalid tokens."""

from __future__ import annotations

import base64
import hmac
import json
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

ISSUER = "https://design.example.com"
AUDIENCE = "docshare"


def encode_segment(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@dataclass
class TokenMaker:
    """``now``: in seconds; ``default_claims``: claims of all its tokens."""

    now: int
    rsa: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"}))
    ec: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"}))
    default_claims: dict[str, Any] = field(default_factory=dict)

    def build_jwks(self, *more: dict[str, Any]) -> bytes:
        """Return the JWKS document."""
        keys = [key.as_dict(private=False) for key in (self.rsa, self.ec)]
        return json.dumps({"keys": [*keys, *more]}).encode()

    def build_claims(self, **changes: Any) -> dict[str, Any]:
        """Return valid claims with ``changes``; None removes a claim."""
        whole = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": self.now + 600, **self.default_claims, **changes}
        return {name: value for name, value in whole.items() if value is not None}

    def sign_token(self, *, alg: str = "RS256", header: dict[str, Any] | None = None, **changes: Any) -> str:
        """Return a valid token, except for ``changes`` of its claims and ``header``."""
        key = self.rsa if alg == "RS256" else self.ec
        head = {"alg": alg, "kid": key.kid, **(header or {})}
        return jwt.encode({k: v for k, v in head.items() if v is not None}, self.build_claims(**changes), key, [alg])

    def sign_with(self, key: Any, alg: str, **header: Any) -> str:
        """Return a token with valid claims, signed with any key."""
        return jwt.encode({"alg": alg, **header}, self.build_claims(), key, [alg])

    def make_unsigned(self, **header: Any) -> str:
        """Return a token without a signature."""
        return f"{encode_segment({'alg': 'none', **header})}.{encode_segment(self.build_claims())}."

    def make_confused(self) -> str:
        """Return a token with algorithm confusion: signed with the public key as a shared secret."""
        signed = f"{encode_segment({'alg': 'HS256', 'kid': 'rsa'})}.{encode_segment(self.build_claims())}"
        return f"{signed}.{encode_segment(hmac.digest(self.rsa.as_pem(private=False), signed.encode(), 'sha256'))}"

    def make_critical(self, **header: Any) -> str:
        """Return a correctly signed token with the critical parameters ``header``, which a verifier must understand."""
        head = {"alg": "RS256", "kid": "rsa", "crit": list(header), **header}
        signed = f"{encode_segment(head)}.{encode_segment(self.build_claims())}"
        key = self.rsa.private_key
        assert key is not None
        return f"{signed}.{encode_segment(key.sign(signed.encode(), PKCS1v15(), SHA256()))}"
