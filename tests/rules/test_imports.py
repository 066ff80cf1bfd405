"""The URL of an import: the allow list matches exactly one host and port."""

from itertools import product

import pytest

from docshare.contract.problems import Problem
from docshare.server.outbound.targets import parse_target
from docshare.server.rules.imports import parse_import, require_allowed_host, require_pdf

HOSTS = ("files.example", "exports.example:8443", "10.0.0.7", "[2001:db8::7]:444")
LISTED = [
    "https://files.example/",
    "https://files.example:443/a",
    "https://FILES.EXAMPLE?x",
    "https://exports.example:8443/",
    "https://10.0.0.7/",
    "https://[2001:DB8::7]:444/",
    "https://exports.example:08443/",
]
SIMILAR_HOSTS = [
    "files.example.",
    "files.example.evil.example",
    "evil-files.example",
    "evil.files.example",
    "files.exampl",
    "iles.example",
    "files-example",
    "filesxexample",
    "example",
    "files..example",
    ".files.example",
    "www.files.example",
    "files.example.example",
    "files_example",
    "xn--files-0ya.example",
    "10.0.0.70",
    "110.0.0.7",
    "10.0.7",
    "0xa000007",
    "012.0.0.7",
    "167772167",
    "[::ffff:10.0.0.7]",
    "[::a00:7]",
    "[2001:db8::8]",
    "localhost",
    "127.0.0.1",
]
PORTS = ["", ":443", ":8443", ":444", ":80", ":65535"]
UNLISTED = [
    "https://files.example:8443/",
    "https://files.example:80/",
    "https://exports.example/",
    "https://exports.example:443/",
    "https://10.0.0.7:8443/",
    "https://[2001:db8::7]:443/",
    "https://evil.example/files.example",
    "https://evil.example?files.example",
    "https://evil.example#files.example",
    "https://evil.example/@files.example/",
    "https://evil.example/?u=https://files.example/",
    "https://evil.example:443/https://files.example:443/",
]


@pytest.mark.parametrize("url", LISTED)
def test_a_listed_host_and_port_is_allowed(url: str) -> None:
    require_allowed_host(parse_target(url), HOSTS)


@pytest.mark.parametrize(
    "url", [*(f"https://{name}{port}/a" for name, port in product(SIMILAR_HOSTS, PORTS)), *UNLISTED]
)
def test_a_host_that_resembles_a_listed_host_is_rejected(url: str) -> None:
    """Suffixes, prefixes, dots, ports and other notations of an address do not match."""
    with pytest.raises(Problem) as caught:
        require_allowed_host(parse_import({"url": url}).target, HOSTS)
    assert caught.value.code == ("bad_request" if "//." in url else "forbidden")


@pytest.mark.parametrize(
    "url",
    [
        "https://files.example\\@evil.example/",
        "https://evil.example\\@files.example/",
        "https://files.example@evil.example/",
        "https://files.example:443@evil.example/",
        "https://files.example%40evil.example/",
        "https://files.example%2f.evil/",
        "https://files.example\t.evil.example/",
        "https://files.example\n/",
        "https://files.example /",
        "https:files.example/",
        "https:/files.example/",
        "https:///files.example/",
        "https:\\\\files.example/",
        "https://files\u3002example/",
        "https://\uff46iles.example/",
        "https://files.example\u2044.evil.example/",
        "http://files.example/",
        "//files.example/",
        "https://files.example:/",
        "https://files.example:443:443/",
        "https://files.example:+443/",
        "https://files.example:\u0664\u0664\u0663/",
        "https://[files.example]/",
        "javascript:https://files.example/",
    ],
)
def test_an_ambiguous_url_is_malformed(url: str) -> None:
    with pytest.raises(Problem) as caught:
        parse_import({"url": url})
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    ("body", "path", "name"),
    [
        ({}, "/a", "design.pdf"),
        ({"filename": "Q3.pdf"}, "/a", "Q3.pdf"),
        ({"filename": "a/b\\c.pdf"}, "/a", "c.pdf"),
        ({"filename": "   "}, "/a", "design.pdf"),
        ({"designToolUserToken": "", "designToken": "x"}, "/a", "design.pdf"),
    ],
)
def test_an_import_request_is_parsed(body: dict[str, str], path: str, name: str) -> None:
    request = parse_import({"url": "https://files.example/a#page=2", **body})
    assert (request.target.path, request.name) == (path, name)


@pytest.mark.parametrize(
    ("head", "is_pdf"),
    [
        (b"%PDF-1.7", True),
        (b"x" * 1019 + b"%PDF-", True),
        (b"x" * 1020 + b"%PDF-", False),
        (b"PK\x03\x04", False),
        (b"", False),
    ],
)
def test_only_a_pdf_is_imported(head: bytes, is_pdf: bool) -> None:
    if is_pdf:
        require_pdf(head)
    else:
        with pytest.raises(Problem) as caught:
            require_pdf(head)
        assert caught.value.code == "bad_request"
