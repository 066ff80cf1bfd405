"""Which clients receive a compressed response."""

import gzip

import pytest

from docshare.server.http.compression import accepts_gzip, compress_best, compress_fast

GZIP_ACCEPTED = [
    "gzip", "GZIP", "x-gzip", "gzip, deflate, br", "deflate,gzip", "br;q=1.0, gzip;q=0.8, *;q=0.1", "gzip;q=0.001",
    "*", "*;q=0.5", "identity;q=0, *;q=0.5", "gzip;q=0.5, identity;q=0.5", "identity;q=0.5, gzip;q=1.0", "gzip ; q=1",
    "gzip;Q=0.5", " gzip ",
]  # fmt: skip
GZIP_NOT_ACCEPTED = [
    None, "", "identity", "br", "deflate", "gzip;q=0", "gzip;q=0.000", "gzip;q=0, *", "*;q=0", "identity, gzip;q=0.9",
    "identity;q=1, *;q=0.5", "gzip;q=2", "gzip;q=-1", "gzip;q=abc", "gzip;level=9", "gzipp", "xgzip", ";q=1", ",,",
    "gzip;q=0.0001", "gzip," + "x" * 300,
]  # fmt: skip


@pytest.mark.parametrize("header", GZIP_ACCEPTED)
def test_gzip_is_accepted(header: str) -> None:
    assert accepts_gzip(header)


@pytest.mark.parametrize("header", GZIP_NOT_ACCEPTED)
def test_gzip_is_not_accepted(header: str | None) -> None:
    assert not accepts_gzip(header)


def test_compression_is_lossless_and_deterministic() -> None:
    body = b'{"name":"value"}' * 100
    for packed in (compress_fast(body), compress_best(body)):
        assert gzip.decompress(packed) == body
        assert len(packed) < 100
    assert compress_fast(body) == compress_fast(body)
