"""Pagination of long lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import request

_MAX_DIGITS = 6


@dataclass(frozen=True)
class PageLinks:
    """The links from page ``number`` of ``pages``: URLs, None at the ends."""

    number: int
    pages: int
    previous_url: str | None
    next_url: str | None


def read_page_number() -> int:
    """Return the ``?page=`` parameter of the current request, from 1; 1 if it is not a number."""
    text = request.args.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 1


def build_page_links(path: str, kept: Mapping[str, str], number: int, pages: int) -> PageLinks:
    """Return the links around page ``number`` of the list at ``path``, whose query keeps the non-empty values of
    ``kept``."""

    def at(other: int) -> str | None:
        if not 1 <= other <= pages:
            return None
        query = {name: value for name, value in kept.items() if value} | ({"page": str(other)} if other > 1 else {})
        return f"{path}?{urlencode(query)}" if query else path

    return PageLinks(number, pages, at(number - 1), at(number + 1))
