"""Fixtures of the API's tests: a host to import from, and an instance that may."""

import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cast import World
from tests.support.design_tool import DesignTool, open_design_tool
from tests.support.import_source import ImportSource, http_response, make_certificate, open_source
from tests.support.pdfs import simple_pdf


@pytest.fixture(scope="session")
def cert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that only its own file vouches for."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def source(cert: Path) -> Iterator[ImportSource]:
    """A host that has a PDF of two pages."""
    with open_source(cert) as running:
        running.respond = http_response(simple_pdf(pages=2))
        yield running


@pytest.fixture
def import_world(make: Callable[..., World], cert: Path, source: ImportSource) -> World:
    """An instance whose operator has allowed the source; every name is found on this machine."""
    world = make(import_hosts=(source.host, "plain.example"), ca_bundle=cert)
    world.rt.outbound.resolve = lambda host: [ipaddress.ip_address("127.0.0.1")]
    return world


@pytest.fixture
def design_tool(make: Callable[..., World], cert: Path) -> Iterator[DesignTool]:
    """A design tool and an instance that knows it."""
    with open_design_tool(cert, make) as running:
        yield running
