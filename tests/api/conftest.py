"""Fixtures of the API tests: a host to import from, an instance that allows it, a receiver, and a raw client."""

import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.raw_client import RawClient, open_listener
from tests.support.documents.pdfs import simple_pdf
from tests.support.outside.design_tool import DesignTool, open_design_tool
from tests.support.outside.import_source import ImportSource, http_response, make_certificate, open_source
from tests.support.people.cast import World


@pytest.fixture(scope="session")
def cert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a self-signed certificate."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def source(cert: Path) -> Iterator[ImportSource]:
    """Run a host that serves a two-page PDF."""
    with open_source(cert) as running:
        running.respond = http_response(simple_pdf(pages=2))
        yield running


@pytest.fixture
def import_world(make: Callable[..., World], cert: Path, source: ImportSource) -> World:
    """Create an instance that allows imports from the source; every name resolves to this machine."""
    world = make(import_hosts=(source.host, "plain.example"), ca_bundle=cert)
    world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
    return world


@pytest.fixture
def design_tool(make: Callable[..., World], cert: Path) -> Iterator[DesignTool]:
    """Run a design tool and an instance that is configured for it."""
    with open_design_tool(cert, make) as running:
        yield running


@pytest.fixture
def raw_client(world: World) -> Iterator[RawClient]:
    """Run the bundled listener in front of ``world``."""
    with open_listener(world) as client:
        yield client
