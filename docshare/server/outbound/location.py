"""From an IP address to a country, when the operator supplied a database for it."""

import re
from collections.abc import Callable
from pathlib import Path

from docshare.server.config import ConfigError

_COUNTRY_CODE = re.compile("[A-Z]{2}")
_UNKNOWN_CODES = frozenset({"XX", "ZZ"})  # how proxies and databases write that they do not know


def parse_country_code(text: str) -> str | None:
    """``text`` as a two-letter country code in upper case; None for what is none, such as ``XX``, ``ZZ`` and ``T1``."""
    code = text.upper()
    return code if _COUNTRY_CODE.fullmatch(code) and code not in _UNKNOWN_CODES else None


def make_locator(database: Path | None) -> Callable[[str], str | None]:
    """A function from an IP address to its two-letter country code, or None where it is unknown.

    ``database`` is the path of an ``.mmdb`` country database; without one every country is unknown.
    Raises ``ConfigError`` when the file cannot be read or the reader is not installed.
    """
    if database is None:
        return lambda address: None
    try:
        import maxminddb
    except ImportError:
        raise ConfigError("geoip: install the extra 'geoip' (pip install 'docshare[geoip]')") from None
    try:
        reader = maxminddb.open_database(str(database))
    except (OSError, maxminddb.InvalidDatabaseError) as error:
        raise ConfigError(f"geoip: {error}") from None

    def locate(address: str) -> str | None:
        try:
            found = reader.get(address)
        except ValueError:
            return None
        country = found.get("country") if isinstance(found, dict) else None
        code = country.get("iso_code") if isinstance(country, dict) else None
        return parse_country_code(code) if isinstance(code, str) else None

    return locate
