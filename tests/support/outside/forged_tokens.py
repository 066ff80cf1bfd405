"""Tokens that must be rejected: forged, expired and malformed ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from joserfc.jwk import ECKey, OctKey, RSAKey

from tests.support.outside.jwts import ISSUER, TokenMaker, encode_segment


def _tamper_with(token: str) -> str:
    head, _, signature = token.split(".")
    body = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return f"{head}.{encode_segment({**body, 'sub': 'mallory'})}.{signature}"


def _sign_with_foreign_key() -> str:
    key = ECKey.generate_key("P-256", {"kid": "rsa"})
    return TokenMaker(9_999_999_999).sign_with(key, "ES256", kid="rsa", jwk=key.as_dict(private=False))


FORGED_TOKENS: dict[str, Callable[[TokenMaker], str]] = {
    "nothing": lambda m: "",
    "a word": lambda m: "token",
    "dots": lambda m: "..",
    "two parts": lambda m: ".".join(m.sign_token().split(".")[:2]),
    "four parts": lambda m: m.sign_token() + ".x",
    "no signature": lambda m: m.sign_token().rpartition(".")[0] + ".",
    "a cut signature": lambda m: m.sign_token()[:-4],
    "a longer signature": lambda m: m.sign_token() + "AAAA",
    "a signature of zeros": lambda m: m.sign_token().rpartition(".")[0] + "." + "A" * 342,
    "an ES256 signature of zeros": lambda m: m.sign_token(alg="ES256").rpartition(".")[0] + "." + "A" * 86,
    "a changed claim": lambda m: _tamper_with(m.sign_token()),
    "the signature of another token": lambda m: (
        m.sign_token().rpartition(".")[0] + "." + m.sign_token(sub="x").split(".")[2]
    ),
    "alg none": lambda m: m.make_unsigned(),
    "alg none with a key": lambda m: m.make_unsigned(kid="rsa"),
    "alg None": lambda m: m.make_unsigned(alg="None", kid="rsa"),
    "alg empty": lambda m: m.make_unsigned(alg="", kid="rsa"),
    "alg none with a signature": lambda m: m.make_unsigned(kid="rsa") + m.sign_token().rpartition(".")[2],
    "HS256 with the public key": lambda m: m.make_confused(),
    "HS256 with a secret": lambda m: m.sign_with(OctKey.import_key("s" * 32), "HS256", kid="rsa"),
    "HS256 with an empty key": lambda m: (
        f"{encode_segment({'alg': 'HS256', 'kid': 'rsa'})}.{encode_segment(m.build_claims())}.x"
    ),
    "RS384": lambda m: m.sign_with(m.rsa, "RS384", kid="rsa"),
    "RS512": lambda m: m.sign_with(m.rsa, "RS512", kid="rsa"),
    "PS256": lambda m: m.sign_with(m.rsa, "PS256", kid="rsa"),
    "the header of the other algorithm": lambda m: m.sign_with(m.rsa, "RS256", kid="ec"),
    "the other key of the right kind": lambda m: m.sign_with(RSAKey.generate_key(2048), "RS256", kid="rsa"),
    "an unknown key": lambda m: m.sign_with(RSAKey.generate_key(2048), "RS256", kid="stranger"),
    "no key id among several": lambda m: m.sign_token(header={"kid": None}),
    "a key id that is a number": lambda m: m.make_unsigned(alg="RS256", kid=1) + "x",
    "its own key along with it": lambda m: _sign_with_foreign_key(),
    "an address of keys": lambda m: m.sign_token(header={"jku": "https://evil.example.com/keys", "kid": "stranger"}),
    "an unknown critical header": lambda m: m.make_critical(policy="x"),
    "a header that is a list": lambda m: f"{encode_segment([])}.{encode_segment(m.build_claims())}.x",
    "a header that is not JSON": lambda m: f"{encode_segment(b'{')}.{encode_segment(m.build_claims())}.x",
    "an encrypted token": lambda m: ".".join([encode_segment({"alg": "dir", "enc": "A128GCM"}), "", "a", "b", "c"]),
    "another issuer": lambda m: m.sign_token(iss="https://evil.example.com"),
    "an issuer with a slash": lambda m: m.sign_token(iss=ISSUER + "/"),
    "no issuer": lambda m: m.sign_token(iss=None),
    "another audience": lambda m: m.sign_token(aud="other"),
    "no audience": lambda m: m.sign_token(aud=None),
    "an empty audience": lambda m: m.sign_token(aud=[]),
    "an audience that is a number": lambda m: m.sign_token(aud=[1]),
    "ended": lambda m: m.sign_token(exp=m.now - 31),
    "ended long ago": lambda m: m.sign_token(exp=0),
    "no end": lambda m: m.sign_token(exp=None),
    "an end that is a text": lambda m: m.sign_token(exp="9999999999"),
    "an end that is true": lambda m: m.sign_token(exp=True),
    "an end that is not a number": lambda m: m.sign_token(exp=float("nan")),
    "an endless end": lambda m: m.sign_token(exp=float("inf")),
    "not yet valid": lambda m: m.sign_token(nbf=m.now + 31),
    "made in the future": lambda m: m.sign_token(iat=m.now + 31),
    "too long": lambda m: m.sign_token(filler="x" * 9_000),
    "letters beyond ASCII": lambda m: m.sign_token() + "é",
    "a line break": lambda m: m.sign_token() + "\n",
}
