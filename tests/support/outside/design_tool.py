"""A design tool: a host with its exports, a host with its keys, its tokens, and the requests of its users."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey, RSAKey
from werkzeug.test import TestResponse

from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.import_source import NAME, ImportSource, http_response, open_source
from tests.support.outside.jwts import AUDIENCE, ISSUER, TokenMaker
from tests.support.people.cast import Person, World

IMPORT = "/api/v1/design-tool/import"
STATUS = "/api/v1/design-tool/design/status"
DAY = 86_400_000


@cache
def _signing_keys() -> tuple[RSAKey, ECKey]:
    """Return the keys of all tests; generating them is slow."""
    return (
        RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"}),
        ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"}),
    )


@dataclass
class DesignTool:
    """``source``: the host of the exports; ``keys``: the host of the keys; ``world``: an instance that trusts both."""

    world: World
    source: ImportSource
    keys: ImportSource

    @property
    def token_maker(self) -> TokenMaker:
        """Return the issuer of tokens, with the clock of the world."""
        return TokenMaker(self.world.clock.now // 1000, *_signing_keys())

    def make_user_token(self, who: str = "ada", **changes: Any) -> str:
        """Return a user token."""
        return self.token_maker.sign_token(sub=who, **changes)

    def make_design_token(self, design: str = "poster", **changes: Any) -> str:
        """Return a design token."""
        return self.token_maker.sign_token(sub=None, designId=design, **changes)

    def post_import(self, who: str = "ada", design: str | None = "poster", **more: Any) -> TestResponse:
        """Share the design of that name as ``who``; for ``None`` the tool does not identify the design."""
        body = {
            "url": self.source.url(),
            **({} if design is None else {"designToken": self.make_design_token(design)}),
            **more,
        }
        return self.send(IMPORT, body, self.make_user_token(who))

    def import_design(self, who: str = "ada", design: str | None = "poster", **more: Any) -> dict[str, Any]:
        """Import the design and return the result; it must succeed."""
        return _require_ok(self.post_import(who, design, **more))

    def get_status(self, who: str = "ada", design: str = "poster", **more: Any) -> dict[str, Any]:
        """Return the status of the design for ``who``."""
        return _require_ok(
            self.send(STATUS, {"designToken": self.make_design_token(design), **more}, self.make_user_token(who))
        )

    def send(self, path: str, body: Any, token: str | None) -> TestResponse:
        """Send a request with ``token``."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.world.http.post(path, json=body, headers=headers)

    def claim(self, person: Person, made: dict[str, Any]) -> None:
        """Claim the published design as ``person``."""
        answered = person.post("/api/v1/files/claim", json={"claimToken": made["claimToken"]})
        assert answered.status_code == 200, answered.text

    def post_owned_import(self, person: Person, who: str = "ada", design: str = "poster", **more: Any) -> TestResponse:
        """Import the design into the account of ``person``, connected to the tool as ``who``."""
        tokens = {"designToolUserToken": self.make_user_token(who), "designToken": self.make_design_token(design)}
        return person.post("/api/v1/files/import", json={"url": self.source.url(), **tokens, **more})

    def import_owned(self, person: Person, who: str = "ada", design: str = "poster", **more: Any) -> dict[str, Any]:
        """Import the design and return the result; it must succeed."""
        return _require_ok(self.post_owned_import(person, who, design, **more))

    def set_export_pages(self, pages: int) -> bytes:
        """Set the number of pages of the next export."""
        content = simple_pdf(pages=pages)
        self.source.respond = http_response(content)
        return content


@contextmanager
def open_design_tool(cert: Path, make: Callable[..., World], **settings: Any) -> Iterator[DesignTool]:
    """Yield a design tool and an instance that is configured for it; ``cert``: certificate and key of the tool's
    hosts."""
    with open_source(cert) as source, open_source(cert) as keys, pytest.MonkeyPatch.context() as patch:
        # A busy machine may need longer. After a failure, the keys are fetched again only when the clock has advanced.
        patch.setattr("docshare.server.outbound.jwts._DEADLINE_S", 60.0)
        world = make(
            import_hosts=(source.host,),
            ca_bundle=cert,
            design_user_jwks_url=keys.url("/keys"),
            design_user_issuer=ISSUER,
            design_user_audience=AUDIENCE,
            **settings,
        )
        world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")] if host == NAME else []
        studio = DesignTool(world, source, keys)
        studio.set_export_pages(2)
        keys.respond = http_response(studio.token_maker.build_jwks())
        yield studio


def _require_ok(answered: TestResponse) -> dict[str, Any]:
    assert answered.status_code == 200, answered.text
    told: dict[str, Any] = answered.get_json()
    return told
