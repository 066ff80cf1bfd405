"""Tokens that others signed: which are believed, which are not, and when their keys are fetched."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey

from docshare.server.jwts import Authority, Jwts, KeysUnreachable, Untrusted
from docshare.server.outbound.exchange import Answer, Request
from docshare.server.outbound.failures import TimedOut
from tests.support.clock import Clock
from tests.support.jwts import AUDIENCE, ISSUER, Maker, segment

URL = "https://design.example.com/keys"
HOUR = 3_600_000
AUTHORITY = Authority(URL, ISSUER, AUDIENCE)


class Network:
    """What stands at the JWKS address; ``asked`` counts how often it was looked at."""

    def __init__(self, document: bytes) -> None:
        self.document = document
        self.status = 200
        self.down = False
        self.asked = 0

    @contextmanager
    def exchange(self, request: Request, permit: Any, *, deadline_s: float) -> Iterator[Answer]:
        self.asked += 1
        assert request.target.host_header == "design.example.com"
        if self.down:
            raise TimedOut("did not answer in time")
        yield _Answer(self.status, self.document)  # type: ignore[misc]


class _Answer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self._body = body

    def blocks(self, most: int) -> Iterator[bytes]:
        assert len(self._body) <= most
        yield self._body


@pytest.fixture(scope="module")
def keys() -> Maker:
    return Maker(0)


@pytest.fixture
def maker(keys: Maker, clock: Clock) -> Maker:
    return Maker(clock.now // 1000, keys.rsa, keys.ec)


@pytest.fixture
def network(maker: Maker) -> Network:
    return Network(maker.published())


@pytest.fixture
def jwts(network: Network, clock: Clock) -> Jwts:
    return Jwts(network, clock)  # type: ignore[arg-type]


GOOD: dict[str, Callable[[Maker], str]] = {
    "RS256": lambda m: m.token(),
    "ES256": lambda m: m.token(alg="ES256"),
    "several audiences": lambda m: m.token(aud=["other", AUDIENCE]),
    "a second before its end": lambda m: m.token(exp=m.now + 1),
    "just ended, by clocks that differ": lambda m: m.token(exp=m.now - 29),
    "valid from now on": lambda m: m.token(nbf=m.now),
    "claims nobody knows": lambda m: m.token(whatever={"a": [1]}),
}


@pytest.mark.parametrize("make", GOOD.values(), ids=GOOD)
def test_a_good_token_is_believed(jwts: Jwts, maker: Maker, make: Callable[[Maker], str]) -> None:
    assert jwts.claims(make(maker), AUTHORITY)["sub"] == "ada"


def _tampered(token: str) -> str:
    head, _, signature = token.split(".")
    body = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return f"{head}.{segment({**body, 'sub': 'mallory'})}.{signature}"


FORGED: dict[str, Callable[[Maker], str]] = {
    "nothing": lambda m: "",
    "a word": lambda m: "token",
    "dots": lambda m: "..",
    "two parts": lambda m: ".".join(m.token().split(".")[:2]),
    "four parts": lambda m: m.token() + ".x",
    "no signature": lambda m: m.token().rpartition(".")[0] + ".",
    "a cut signature": lambda m: m.token()[:-4],
    "a longer signature": lambda m: m.token() + "AAAA",
    "a signature of zeros": lambda m: m.token().rpartition(".")[0] + "." + "A" * 342,
    "an ES256 signature of zeros": lambda m: m.token(alg="ES256").rpartition(".")[0] + "." + "A" * 86,
    "a changed claim": lambda m: _tampered(m.token()),
    "the signature of another token": lambda m: m.token().rpartition(".")[0] + "." + m.token(sub="x").split(".")[2],
    "alg none": lambda m: m.unsigned(),
    "alg none with a key": lambda m: m.unsigned(kid="rsa"),
    "alg None": lambda m: m.unsigned(alg="None", kid="rsa"),
    "alg empty": lambda m: m.unsigned(alg="", kid="rsa"),
    "alg none with a signature": lambda m: m.unsigned(kid="rsa") + m.token().rpartition(".")[2],
    "HS256 with the public key": lambda m: m.confused(),
    "HS256 with a secret": lambda m: m.signed_by(OctKey.import_key("s" * 32), "HS256", kid="rsa"),
    "HS256 with an empty key": lambda m: f"{segment({'alg': 'HS256', 'kid': 'rsa'})}.{segment(m.claims())}.x",
    "RS384": lambda m: m.signed_by(m.rsa, "RS384", kid="rsa"),
    "RS512": lambda m: m.signed_by(m.rsa, "RS512", kid="rsa"),
    "PS256": lambda m: m.signed_by(m.rsa, "PS256", kid="rsa"),
    "the header of the other algorithm": lambda m: m.signed_by(m.rsa, "RS256", kid="ec"),
    "the other key of the right kind": lambda m: m.signed_by(RSAKey.generate_key(2048), "RS256", kid="rsa"),
    "an unknown key": lambda m: m.signed_by(RSAKey.generate_key(2048), "RS256", kid="stranger"),
    "no key id among several": lambda m: m.token(header={"kid": None}),
    "a key id that is a number": lambda m: m.unsigned(alg="RS256", kid=1) + "x",
    "its own key along with it": lambda m: _own_key(),
    "an address of keys": lambda m: m.token(header={"jku": "https://evil.example.com/keys", "kid": "stranger"}),
    "an unknown critical header": lambda m: m.critical(policy="x"),
    "a header that is a list": lambda m: f"{segment([])}.{segment(m.claims())}.x",
    "a header that is no JSON": lambda m: f"{segment(b'{')}.{segment(m.claims())}.x",
    "an encrypted token": lambda m: ".".join([segment({"alg": "dir", "enc": "A128GCM"}), "", "a", "b", "c"]),
    "another issuer": lambda m: m.token(iss="https://evil.example.com"),
    "an issuer with a slash": lambda m: m.token(iss=ISSUER + "/"),
    "no issuer": lambda m: m.token(iss=None),
    "another audience": lambda m: m.token(aud="other"),
    "no audience": lambda m: m.token(aud=None),
    "an empty audience": lambda m: m.token(aud=[]),
    "an audience that is a number": lambda m: m.token(aud=[1]),
    "ended": lambda m: m.token(exp=m.now - 31),
    "ended long ago": lambda m: m.token(exp=0),
    "no end": lambda m: m.token(exp=None),
    "an end that is a text": lambda m: m.token(exp="9999999999"),
    "an end that is true": lambda m: m.token(exp=True),
    "an end that is not a number": lambda m: m.token(exp=float("nan")),
    "an endless end": lambda m: m.token(exp=float("inf")),
    "not yet valid": lambda m: m.token(nbf=m.now + 31),
    "made in the future": lambda m: m.token(iat=m.now + 31),
    "too long": lambda m: m.token(filler="x" * 9_000),
    "letters beyond ASCII": lambda m: m.token() + "é",
    "a line break": lambda m: m.token() + "\n",
}


def _own_key() -> str:
    key = ECKey.generate_key("P-256", {"kid": "rsa"})
    return Maker(9_999_999_999).signed_by(key, "ES256", kid="rsa", jwk=key.as_dict(private=False))


def test_there_are_forty_of_them() -> None:
    assert len(FORGED) >= 40


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize("make", FORGED.values(), ids=FORGED)
def test_a_forged_or_stale_token_is_not_believed(jwts: Jwts, maker: Maker, make: Callable[[Maker], str]) -> None:
    with pytest.raises(Untrusted):
        jwts.claims(make(maker), AUTHORITY)


def test_keys_are_fetched_once(jwts: Jwts, network: Network, maker: Maker, clock: Clock) -> None:
    for _ in range(3):
        jwts.claims(maker.token(), AUTHORITY)
        jwts.claims(maker.token(alg="ES256"), AUTHORITY)
    assert network.asked == 1


def test_an_unknown_key_makes_them_be_fetched_again_at_most_once_a_minute(
    jwts: Jwts, network: Network, maker: Maker, clock: Clock
) -> None:
    jwts.claims(maker.token(), AUTHORITY)
    strange = maker.token(header={"kid": "stranger"})
    for seconds, asked in ((0, 1), (59, 1), (1, 2), (59, 2), (1, 3)):
        clock.advance(seconds=seconds)
        with pytest.raises(Untrusted):
            jwts.claims(strange, AUTHORITY)
        assert network.asked == asked


def test_a_key_that_was_changed_is_found(jwts: Jwts, network: Network, maker: Maker, clock: Clock) -> None:
    jwts.claims(maker.token(), AUTHORITY)
    fresh = Maker(maker.now + 60, RSAKey.generate_key(2048, {"kid": "fresh"}), maker.ec)
    network.document = fresh.published()
    clock.advance(seconds=60)
    assert jwts.claims(fresh.token(), AUTHORITY)["sub"] == "ada"
    with pytest.raises(Untrusted):
        jwts.claims(maker.token(), AUTHORITY)


def test_a_withdrawn_key_is_forgotten_after_twelve_hours(
    jwts: Jwts, network: Network, maker: Maker, clock: Clock
) -> None:
    token = maker.token(exp=maker.now + 100_000)
    jwts.claims(token, AUTHORITY)
    network.document = Maker(0, RSAKey.generate_key(2048, {"kid": "fresh"}), maker.ec).published()
    clock.advance(seconds=12 * 3600 - 1)
    jwts.claims(token, AUTHORITY)
    clock.advance(seconds=1)
    with pytest.raises(Untrusted):
        jwts.claims(token, AUTHORITY)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda network: setattr(network, "down", True),
        lambda network: setattr(network, "status", 500),
        lambda network: setattr(network, "document", b"<html>"),
        lambda network: setattr(network, "document", b"{}"),
        lambda network: setattr(network, "document", b'{"keys": []}'),
        lambda network: setattr(network, "document", b'{"keys": {}}'),
        lambda network: setattr(network, "document", b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'),
        lambda network: setattr(network, "document", b'{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}, 1]}'),
        lambda network: setattr(network, "document", b"[" * 5_000),
    ],
)
def test_without_keys_nothing_is_said_of_a_token(
    jwts: Jwts, network: Network, maker: Maker, break_it: Callable[[Network], None]
) -> None:
    break_it(network)
    for _ in range(2):
        with pytest.raises(KeysUnreachable):
            jwts.claims(maker.token(), AUTHORITY)
    assert network.asked == 1


def test_keys_that_are_known_do_their_work_while_the_host_is_down(
    jwts: Jwts, network: Network, maker: Maker, clock: Clock
) -> None:
    token = maker.token(exp=maker.now + 100_000)
    jwts.claims(token, AUTHORITY)
    network.down = True
    clock.advance(seconds=3600)
    jwts.claims(token, AUTHORITY)
    with pytest.raises(KeysUnreachable):
        jwts.claims(maker.token(header={"kid": "stranger"}), AUTHORITY)
    jwts.claims(token, AUTHORITY)
    clock.advance(seconds=12 * 3600)
    with suppress(Untrusted), pytest.raises(KeysUnreachable):
        jwts.claims(token, AUTHORITY)
    network.down = False
    clock.advance(seconds=60)
    assert jwts.claims(token, AUTHORITY)["sub"] == "ada"


def test_a_weak_key_is_not_used(jwts: Jwts, network: Network, maker: Maker) -> None:
    with pytest.warns(match="2048"):
        weak = RSAKey.generate_key(1024, {"kid": "weak"})
    network.document = maker.published(weak.as_dict(private=False))
    with pytest.raises(Untrusted):
        jwts.claims(maker.signed_by(weak, "RS256", kid="weak"), AUTHORITY)


def test_a_key_for_encryption_signs_nothing(jwts: Jwts, network: Network, maker: Maker) -> None:
    other = RSAKey.generate_key(2048, {"kid": "enc"})
    network.document = maker.published({**other.as_dict(private=False), "use": "enc"})
    with pytest.raises(Untrusted):
        jwts.claims(maker.signed_by(other, "RS256", kid="enc"), AUTHORITY)


def test_the_only_key_needs_no_name(network: Network, clock: Clock, maker: Maker) -> None:
    network.document = json.dumps({"keys": [maker.rsa.as_dict(private=False)]}).encode()
    jwts = Jwts(network, clock)  # type: ignore[arg-type]
    assert jwts.claims(maker.token(header={"kid": None}), AUTHORITY)["sub"] == "ada"
