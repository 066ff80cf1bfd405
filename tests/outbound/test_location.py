"""The country of a reader, from the operator's GeoIP database."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests
from mmdb_writer import MMDBWriter
from netaddr import IPSet

from docshare.server.config import ConfigError
from docshare.server.outbound.location import make_locator
from tests.support.documents.pdfs import simple_pdf
from tests.support.servers.server_process import run_server


def make_country_database(folder: Path, networks: dict[str, Any]) -> Path:
    """Return a country database in the format of providers, with the data of each network."""
    writer = MMDBWriter(ip_version=6, ipv4_compatible=True, database_type="Test-Country")
    for network, found in networks.items():
        writer.insert_network(IPSet([network]), found)
    path = folder / "countries.mmdb"
    writer.to_db_file(str(path))
    return path


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({"country": {"iso_code": "DE"}}, "DE"),
        ({"country": {"iso_code": "de"}}, "DE"),
        ({"country": {"iso_code": "XX"}}, None),
        ({"country": {"iso_code": "T1"}}, None),
        ({"country": {"iso_code": "DEU"}}, None),
        ({"country": {"iso_code": "D\n"}}, None),
        ({"country": {"iso_code": 49}}, None),
        ({"country": "DE"}, None),
        ({}, None),
        ("DE", None),
    ],
)
def test_a_country_code_has_two_letters_or_is_unknown(tmp_path: Path, found: Any, code: str | None) -> None:
    locate = make_locator(make_country_database(tmp_path, {"203.0.113.0/24": found}))
    assert locate("203.0.113.7") == code
    assert locate("203.0.114.7") is None
    assert locate("nonsense") is None


def test_ipv4_and_ipv6_addresses_are_located(tmp_path: Path) -> None:
    networks = {"198.51.100.0/25": {"country": {"iso_code": "NZ"}}, "2001:db8:7::/48": {"country": {"iso_code": "CH"}}}
    locate = make_locator(make_country_database(tmp_path, networks))
    found = [locate(address) for address in ("198.51.100.1", "198.51.100.200", "2001:db8:7::1", "2001:db8:8::1", "::1")]
    assert found == ["NZ", None, "CH", None, None]


def test_a_reader_behind_a_trusted_proxy_gets_the_country_of_the_database(tmp_path: Path) -> None:
    geoip = make_country_database(tmp_path, {"198.51.100.0/24": {"country": {"iso_code": "NZ"}}})
    settings = {"DOCSHARE_GEOIP": str(geoip), "DOCSHARE_TRUSTED_PROXIES": "127.0.0.0/8"}
    with run_server(tmp_path / "home", **settings) as server:
        files = {"file": ("a.pdf", simple_pdf(pages=1))}
        shared = requests.post(f"{server.url}/api/v1/files", headers=server.headers, files=files, timeout=30).json()
        reader = {"X-Forwarded-For": "198.51.100.9"}
        answer = requests.post(f"{server.url}/{shared['shortId']}/download", headers=reader, timeout=30)
        assert answer.status_code == 200
        events = f"{server.url}/api/v1/events?type=download"
        rows = requests.get(events, headers=server.headers, timeout=30).json()
    assert [row["country"] for row in rows] == ["NZ"]


def test_a_database_that_is_replaced_in_place_stays_usable(tmp_path: Path) -> None:
    """A copy over the file shortens it first. In a process of its own, because the system would end it."""
    path = make_country_database(tmp_path, {"203.0.113.0/24": {"country": {"iso_code": "DE"}}})
    code = (
        "import sys; from pathlib import Path; from docshare.server.outbound.location import make_locator;"
        "path = Path(sys.argv[1]); locate = make_locator(path); path.write_bytes(b''); print(locate('203.0.113.7'))"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "DE\n"), done.stderr


def test_a_damaged_database_locates_nobody(tmp_path: Path) -> None:
    path = make_country_database(tmp_path, {"203.0.113.0/24": {"country": {"iso_code": "DE"}}})
    content = path.read_bytes()
    found = content.index(b"iso_code")
    path.write_bytes(content[: found - 1] + b"\xff" + content[found:])
    code = (
        "import sys; from pathlib import Path; from docshare.server.outbound.location import make_locator;"
        "print(make_locator(Path(sys.argv[1]))('203.0.113.7'))"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr


def test_without_a_database_every_country_is_unknown() -> None:
    assert make_locator(None)("203.0.113.7") is None


@pytest.mark.parametrize("content", [None, b"", b"no database"])
def test_an_unreadable_database_is_a_configuration_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "countries.mmdb"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match="geoip"):
        make_locator(path)
