"""Tokens of other issuers: which are accepted, which are rejected, and when their keys are fetched."""

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
from tests.support.outside.forged_tokens import FORGED_TOKENS
from tests.support.outside.jwts import AUDIENCE, ISSUER, TokenMaker

URL = "https://design.example.com/keys"
HOUR = 3_600_000
TRUSTED_ISSUER = TrustedIssuer(URL, ISSUER, AUDIENCE)


class FakeJwksHost:
    """The server at the JWKS URL; ``request_count`` is the number of requests to it."""

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

    def read_blocks(self, max_bytes: int) -> Iterator[bytes]:
        assert len(self._body) <= max_bytes
        yield self._body


@pytest.fixture(scope="module")
def keys() -> TokenMaker:
    return TokenMaker(0)


@pytest.fixture
def maker(keys: TokenMaker, clock: FakeClock) -> TokenMaker:
    return TokenMaker(clock.now // 1000, keys.rsa, keys.ec)


@pytest.fixture
def jwks_host(maker: TokenMaker) -> FakeJwksHost:
    return FakeJwksHost(maker.build_jwks())


@pytest.fixture
def jwts(jwks_host: FakeJwksHost, clock: FakeClock) -> TokenVerifier:
    return TokenVerifier(jwks_host, clock)  # type: ignore[arg-type]


VALID_TOKENS: dict[str, Callable[[TokenMaker], str]] = {
    "RS256": lambda m: m.sign_token(),
    "ES256": lambda m: m.sign_token(alg="ES256"),
    "several audiences": lambda m: m.sign_token(aud=["other", AUDIENCE]),
    "a second before its end": lambda m: m.sign_token(exp=m.now + 1),
    "just ended, by clocks that differ": lambda m: m.sign_token(exp=m.now - 29),
    "valid from now on": lambda m: m.sign_token(nbf=m.now),
    "claims nobody knows": lambda m: m.sign_token(whatever={"a": [1]}),
}


@pytest.mark.parametrize("make", VALID_TOKENS.values(), ids=VALID_TOKENS)
def test_a_valid_token_is_accepted(jwts: TokenVerifier, maker: TokenMaker, make: Callable[[TokenMaker], str]) -> None:
    assert jwts.verify(make(maker), TRUSTED_ISSUER)["sub"] == "ada"


def test_at_least_forty_forged_tokens_are_tested() -> None:
    assert len(FORGED_TOKENS) >= 40


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize("make", FORGED_TOKENS.values(), ids=FORGED_TOKENS)
def test_a_forged_or_expired_token_is_rejected(
    jwts: TokenVerifier, maker: TokenMaker, make: Callable[[TokenMaker], str]
) -> None:
    with pytest.raises(UntrustedToken):
        jwts.verify(make(maker), TRUSTED_ISSUER)


def test_keys_are_fetched_once(
    jwts: TokenVerifier, jwks_host: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    for _ in range(3):
        jwts.verify(maker.sign_token(), TRUSTED_ISSUER)
        jwts.verify(maker.sign_token(alg="ES256"), TRUSTED_ISSUER)
    assert jwks_host.request_count == 1


def test_an_unknown_key_fetches_the_keys_at_most_once_a_minute(
    jwts: TokenVerifier, jwks_host: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    jwts.verify(maker.sign_token(), TRUSTED_ISSUER)
    strange = maker.sign_token(header={"kid": "stranger"})
    for seconds, asked in ((0, 1), (59, 1), (1, 2), (59, 2), (1, 3)):
        clock.advance(seconds=seconds)
        with pytest.raises(UntrustedToken):
            jwts.verify(strange, TRUSTED_ISSUER)
        assert jwks_host.request_count == asked


def test_a_rotated_key_is_fetched(
    jwts: TokenVerifier, jwks_host: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    jwts.verify(maker.sign_token(), TRUSTED_ISSUER)
    fresh = TokenMaker(maker.now + 60, RSAKey.generate_key(2048, {"kid": "fresh"}), maker.ec)
    jwks_host.document = fresh.build_jwks()
    clock.advance(seconds=60)
    assert jwts.verify(fresh.sign_token(), TRUSTED_ISSUER)["sub"] == "ada"
    with pytest.raises(UntrustedToken):
        jwts.verify(maker.sign_token(), TRUSTED_ISSUER)


def test_a_withdrawn_key_is_rejected_after_twelve_hours(
    jwts: TokenVerifier, jwks_host: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    token = maker.sign_token(exp=maker.now + 100_000)
    jwts.verify(token, TRUSTED_ISSUER)
    jwks_host.document = TokenMaker(0, RSAKey.generate_key(2048, {"kid": "fresh"}), maker.ec).build_jwks()
    clock.advance(seconds=12 * 3600 - 1)
    jwts.verify(token, TRUSTED_ISSUER)
    clock.advance(seconds=1)
    with pytest.raises(UntrustedToken):
        jwts.verify(token, TRUSTED_ISSUER)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda jwks_host: setattr(jwks_host, "down", True),
        lambda jwks_host: setattr(jwks_host, "status", 500),
        lambda jwks_host: setattr(jwks_host, "document", b"<html>"),
        lambda jwks_host: setattr(jwks_host, "document", b"{}"),
        lambda jwks_host: setattr(jwks_host, "document", b'{"keys": []}'),
        lambda jwks_host: setattr(jwks_host, "document", b'{"keys": {}}'),
        lambda jwks_host: setattr(jwks_host, "document", b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'),
        lambda jwks_host: setattr(jwks_host, "document", b'{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}, 1]}'),
        lambda jwks_host: setattr(jwks_host, "document", b"[" * 5_000),
    ],
)
def test_without_keys_a_token_is_neither_accepted_nor_rejected(
    jwts: TokenVerifier, jwks_host: FakeJwksHost, maker: TokenMaker, break_it: Callable[[FakeJwksHost], None]
) -> None:
    break_it(jwks_host)
    for _ in range(2):
        with pytest.raises(KeysUnreachable):
            jwts.verify(maker.sign_token(), TRUSTED_ISSUER)
    assert jwks_host.request_count == 1


def test_cached_keys_are_used_while_the_host_is_down(
    jwts: TokenVerifier, jwks_host: FakeJwksHost, maker: TokenMaker, clock: FakeClock
) -> None:
    token = maker.sign_token(exp=maker.now + 100_000)
    jwts.verify(token, TRUSTED_ISSUER)
    jwks_host.down = True
    clock.advance(seconds=3600)
    jwts.verify(token, TRUSTED_ISSUER)
    with pytest.raises(KeysUnreachable):
        jwts.verify(maker.sign_token(header={"kid": "stranger"}), TRUSTED_ISSUER)
    jwts.verify(token, TRUSTED_ISSUER)
    clock.advance(seconds=12 * 3600)
    with suppress(UntrustedToken), pytest.raises(KeysUnreachable):
        jwts.verify(token, TRUSTED_ISSUER)
    jwks_host.down = False
    clock.advance(seconds=60)
    assert jwts.verify(token, TRUSTED_ISSUER)["sub"] == "ada"


def test_a_weak_key_is_rejected(jwts: TokenVerifier, jwks_host: FakeJwksHost, maker: TokenMaker) -> None:
    with pytest.warns(match="2048"):
        weak = RSAKey.generate_key(1024, {"kid": "weak"})
    jwks_host.document = maker.build_jwks(weak.as_dict(private=False))
    with pytest.raises(UntrustedToken):
        jwts.verify(maker.sign_with(weak, "RS256", kid="weak"), TRUSTED_ISSUER)


def test_an_encryption_key_is_not_accepted_for_signatures(
    jwts: TokenVerifier, jwks_host: FakeJwksHost, maker: TokenMaker
) -> None:
    other = RSAKey.generate_key(2048, {"kid": "enc"})
    jwks_host.document = maker.build_jwks({**other.as_dict(private=False), "use": "enc"})
    with pytest.raises(UntrustedToken):
        jwts.verify(maker.sign_with(other, "RS256", kid="enc"), TRUSTED_ISSUER)


def test_a_single_key_does_not_need_a_kid(jwks_host: FakeJwksHost, clock: FakeClock, maker: TokenMaker) -> None:
    jwks_host.document = json.dumps({"keys": [maker.rsa.as_dict(private=False)]}).encode()
    jwts = TokenVerifier(jwks_host, clock)  # type: ignore[arg-type]
    assert jwts.verify(maker.sign_token(header={"kid": None}), TRUSTED_ISSUER)["sub"] == "ada"
