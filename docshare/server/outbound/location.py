"""Look up the country of an IP address, if the operator supplied a database."""

import re
from collections.abc import Callable
from pathlib import Path

from docshare.server.config import ConfigError

_COUNTRY_CODE = re.compile("[A-Z]{2}")
_UNKNOWN_CODES = frozenset({"XX", "ZZ"})  # codes for unknown countries in proxy headers and databases


def parse_country_code(text: str) -> str | None:
    """Return ``text`` as a two-letter country code in upper case; None for any other text, and for ``XX``, ``ZZ`` and
    ``T1``."""
    code = text.upper()
    return code if _COUNTRY_CODE.fullmatch(code) and code not in _UNKNOWN_CODES else None


def make_locator(database: Path | None) -> Callable[[str], str | None]:
    """Return a function from an IP address to its two-letter country code, or None if it is unknown.

    ``database`` is the path of an ``.mmdb`` country database; without one every country is unknown. Raises
    ``ConfigError`` if the file cannot be read or the reader is not installed.
    """
    if database is None:
        return lambda address: None
    try:
        import maxminddb
    except ImportError:
        raise ConfigError("geoip: install the extra 'geoip' (pip install 'docshare[geoip]')") from None
    try:
        # In memory: the system ends a process that reads a mapped file after a copy over it has shortened it, and the
        # reader of mapped files, which is not in Python, crashes on a damaged one.
        reader = maxminddb.open_database(str(database), maxminddb.MODE_MEMORY)
    except (OSError, maxminddb.InvalidDatabaseError) as error:
        raise ConfigError(f"geoip: {error}") from None

    def locate(address: str) -> str | None:
        try:
            found = reader.get(address)
        except (ValueError, RecursionError, maxminddb.InvalidDatabaseError):
            return None
        country = found.get("country") if isinstance(found, dict) else None
        code = country.get("iso_code") if isinstance(country, dict) else None
        return parse_country_code(code) if isinstance(code, str) else None

    return locate
