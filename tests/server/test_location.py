"""Where a reader is: from the operator's database, when there is one."""

from pathlib import Path
from typing import Any

import maxminddb
import pytest

from docshare.server.config import ConfigError
from docshare.server.location import locator


class FakeDatabase:
    """What ``maxminddb`` would open, without its file format."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def get(self, address: str) -> Any:
        if address == "nonsense":
            raise ValueError(address)
        return self._found


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
        (None, None),
    ],
)
def test_the_code_of_a_country_is_two_letters_or_unknown(
    monkeypatch: pytest.MonkeyPatch, found: Any, code: str | None
) -> None:
    monkeypatch.setattr(maxminddb, "open_database", lambda path: FakeDatabase(found))
    locate = locator(Path("countries.mmdb"))
    assert locate("203.0.113.7") == code
    assert locate("nonsense") is None


def test_without_a_database_every_country_is_unknown() -> None:
    assert locator(None)("203.0.113.7") is None


@pytest.mark.parametrize("content", [None, b"", b"no database"])
def test_a_database_that_cannot_be_read_is_an_error_of_the_configuration(tmp_path: Path, content: bytes | None) -> None:
    database = tmp_path / "countries.mmdb"
    if content is not None:
        database.write_bytes(content)
    with pytest.raises(ConfigError, match="geoip"):
        locator(database)
