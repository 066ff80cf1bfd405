"""Tokens that others signed: which are believed, which are not, and when their keys are fetched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from docshare.server.outbound.exchange import OutboundRequest, OutboundResponse
from docshare.server.outbound.failures import OutboundTimeout
from docshare.server.outbound.jwts import KeysUnreachable, TokenVerifier, TrustedIssuer, UntrustedToken
from tests.support.clock import FakeClock
from tests.support.forged_tokens import FORGED_TOKENS
from tests.support.jwts import AUDIENCE, ISSUER, TokenMaker

URL = "https://design.example.com/keys"
HOUR = 3_600_000
AUTHORITY = TrustedIssuer(URL, ISSUER, AUDIENCE)


class FakeJwksHost:
    """What stands at the JWKS address; ``asked`` counts how often it was looked at."""

    def __init__(self, document: bytes) -> None:
        self.document = document
        self.status = 200
        self.down = False
        self.request_count = 0

    @contextmanager
    def exchange(self, request: OutboundRequest, permit: Any, *, deadline_s: float) -> Iterator[OutboundResponse]:
        self.request_count += 1
        assert request.target.host_header == "design.example.com"
        if self.down:
            raise OutboundTimeout("did not answer in time")
        yield _JwksResponse(self.status, self.document)  # type: ignore[misc]


class _JwksResponse:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self._body = body

    def read_blocks(self, most: int) -> Iterator[bytes]:
        assert len(self._body) <= most
        yield self._body


@pytest.fixture(scope="module")
def keys() -> TokenMaker:
    return TokenMaker(0)


@pytest.fixture
def maker(keys: TokenMaker, clock: FakeClock) -> TokenMaker:
    return TokenMaker(clock.now // 1000, keys.rsa, keys.ec)


@pytest.fixture
def network(maker: TokenMaker) -> FakeJwksHost:
    return FakeJwksHost(maker.build_jwks())


@pytest.fixture
def jwts(network: FakeJwksHost, clock: FakeClock) -> TokenVerifier:
    return TokenVerifier(network, clock)  # type: ignore[arg-type]


GOOD: dict[str, Callable[[TokenMaker], str]] = {
    "RS256": lambda m: m.sign_token(),
    "ES256": lambda m: m.sign_token(alg="ES256"),
    "several audiences": lambda m: m.sign_token(aud=["other", AUDIENCE]),
    "a second before its end": lambda m: m.sign_token(exp=m.now + 1),
    "just ended, by clocks that differ": lambda m: m.sign_token(exp=m.now - 29),
    "valid from now on": lambda m: m.sign_token(nbf=m.now),
    "claims nobody knows": lambda m: m.sign_token(whatever={"a": [1]}),
}


@pytest.mark.parametrize("make", GOOD.values(), ids=GOOD)
def test_a_good_token_is_believed(jwts: TokenVerifier, maker: TokenMaker, make: Callable[[TokenMaker], str]) -> None:
    assert jwts.verify(make(maker), AUTHORITY)["sub"] == "ada"


def test_there_are_forty_of_them() -> None:
    assert len(FORGED_TOKENS) >= 40


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize("make", FORGED_TOKENS.values(), ids=FORGED_TOKENS)
def test_a_forged_or_stale_token_is_not_believed(
    jwts: TokenVerifier, maker: TokenMaker, make: Callable[[TokenMaker], str]
) -> None:
    with pytest.raises(UntrustedToken):
        jwts.verify(make(maker), AUTHORITY)


def test_keys_are_fetched_once(jwts: TokenVerifier, network: FakeJwksHost, maker: TokenMaker, clock: FakeClock) -> None:
    for _ in range(3):
        jwts.verify(maker.sign_token(), AUTHORITY)
        jwts.verify(maker.sign_token(alg="ES256"), AUTHORITY)
    assert network.request_count == 1


def test_an_unknown_key_makes_them_be_fetched_again_at_most_once_a_minute(
    jwts: TokenVerifier, network: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    jwts.verify(maker.sign_token(), AUTHORITY)
    strange = maker.sign_token(header={"kid": "stranger"})
    for seconds, asked in ((0, 1), (59, 1), (1, 2), (59, 2), (1, 3)):
        clock.advance(seconds=seconds)
        with pytest.raises(UntrustedToken):
            jwts.verify(strange, AUTHORITY)
        assert network.request_count == asked


def test_a_key_that_was_changed_is_found(
    jwts: TokenVerifier, network: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    jwts.verify(maker.sign_token(), AUTHORITY)
    fresh = TokenMaker(maker.now + 60, RSAKey.generate_key(2048, {"kid": "fresh"}), maker.ec)
    network.document = fresh.build_jwks()
    clock.advance(seconds=60)
    assert jwts.verify(fresh.sign_token(), AUTHORITY)["sub"] == "ada"
    with pytest.raises(UntrustedToken):
        jwts.verify(maker.sign_token(), AUTHORITY)


def test_a_withdrawn_key_is_forgotten_after_twelve_hours(
    jwts: TokenVerifier, network: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    token = maker.sign_token(exp=maker.now + 100_000)
    jwts.verify(token, AUTHORITY)
    network.document = TokenMaker(0, RSAKey.generate_key(2048, {"kid": "fresh"}), maker.ec).build_jwks()
    clock.advance(seconds=12 * 3600 - 1)
    jwts.verify(token, AUTHORITY)
    clock.advance(seconds=1)
    with pytest.raises(UntrustedToken):
        jwts.verify(token, AUTHORITY)


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
    jwts: TokenVerifier, network: FakeJwksHost, maker: TokenMaker, break_it: Callable[[FakeJwksHost], None]
) -> None:
    break_it(network)
    for _ in range(2):
        with pytest.raises(KeysUnreachable):
            jwts.verify(maker.sign_token(), AUTHORITY)
    assert network.request_count == 1


def test_keys_that_are_known_do_their_work_while_the_host_is_down(
    jwts: TokenVerifier, network: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    token = maker.sign_token(exp=maker.now + 100_000)
    jwts.verify(token, AUTHORITY)
    network.down = True
    clock.advance(seconds=3600)
    jwts.verify(token, AUTHORITY)
    with pytest.raises(KeysUnreachable):
        jwts.verify(maker.sign_token(header={"kid": "stranger"}), AUTHORITY)
    jwts.verify(token, AUTHORITY)
    clock.advance(seconds=12 * 3600)
    with suppress(UntrustedToken), pytest.raises(KeysUnreachable):
        jwts.verify(token, AUTHORITY)
    network.down = False
    clock.advance(seconds=60)
    assert jwts.verify(token, AUTHORITY)["sub"] == "ada"


def test_a_weak_key_is_not_used(jwts: TokenVerifier, network: FakeJwksHost, maker: TokenMaker) -> None:
    with pytest.warns(match="2048"):
        weak = RSAKey.generate_key(1024, {"kid": "weak"})
    network.document = maker.build_jwks(weak.as_dict(private=False))
    with pytest.raises(UntrustedToken):
        jwts.verify(maker.sign_with(weak, "RS256", kid="weak"), AUTHORITY)


def test_a_key_for_encryption_signs_nothing(jwts: TokenVerifier, network: FakeJwksHost, maker: TokenMaker) -> None:
    other = RSAKey.generate_key(2048, {"kid": "enc"})
    network.document = maker.build_jwks({**other.as_dict(private=False), "use": "enc"})
    with pytest.raises(UntrustedToken):
        jwts.verify(maker.sign_with(other, "RS256", kid="enc"), AUTHORITY)


def test_the_only_key_needs_no_name(network: FakeJwksHost, clock: FakeClock, maker: TokenMaker) -> None:
    network.document = json.dumps({"keys": [maker.rsa.as_dict(private=False)]}).encode()
    jwts = TokenVerifier(network, clock)  # type: ignore[arg-type]
    assert jwts.verify(maker.sign_token(header={"kid": None}), AUTHORITY)["sub"] == "ada"
