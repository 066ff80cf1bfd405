"""The short form of ``proxies``: a document of 3 MB, which nginx rejects with its default configuration."""

from pathlib import Path

import pytest

from tests.torture import proxies


@pytest.mark.parametrize("proxy", ["nginx", "Caddy"])
def test_a_document_passes_a_proxy_unchanged(tmp_path: Path, proxy: str) -> None:
    assert proxies.check_proxy(proxy, tmp_path, 3 << 20)
