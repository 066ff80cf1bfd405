"""The instance for the tests of the whole command tree: created once in each process, since it is expensive."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from docshare.server.pdf.engine import PdfEngine
from tests.cli.tree.instance import PopulatedInstance, open_populated_instance


@pytest.fixture(scope="session")
def instance(tmp_path_factory: pytest.TempPathFactory, engine: PdfEngine) -> Iterator[PopulatedInstance]:
    with open_populated_instance(tmp_path_factory.mktemp("populated"), engine) as opened:
        yield opened
