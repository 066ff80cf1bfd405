"""Long lists, some of it at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import request

_MAX_DIGITS = 6


@dataclass(frozen=True)
class PageLinks:
    """Where one can go from page ``number`` of ``pages``: addresses, None at the ends."""

    number: int
    pages: int
    previous_url: str | None
    next_url: str | None


def read_page_number() -> int:
    """The page that ``?page=`` of the running request asks for, from 1; the first if it is not a number."""
    text = request.args.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 1


def build_page_links(path: str, kept: Mapping[str, str], number: int, pages: int) -> PageLinks:
    """The steps from page ``number`` of the list at ``path``, whose query keeps what is set of ``kept``."""

    def at(other: int) -> str | None:
        if not 1 <= other <= pages:
            return None
        query = {name: value for name, value in kept.items() if value} | ({"page": str(other)} if other > 1 else {})
        return f"{path}?{urlencode(query)}" if query else path

    return PageLinks(number, pages, at(number - 1), at(number + 1))
