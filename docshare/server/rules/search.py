"""Match names against the words of a search, anywhere in the name, ignoring case and accents."""

import unicodedata
from collections.abc import Callable

NameMatcher = Callable[..., bool]
"""``(*names, each a text or None) -> whether they are found``."""


def fold_text(text: str) -> str:
    """Return ``text`` normalized for comparison: without case, accents, and variant forms of the same letter."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def make_matcher(words: str) -> NameMatcher:
    """Return a predicate: whether one of its arguments contains every word of ``words``."""
    wanted = fold_text(words).split()

    def finds(*names: str | None) -> bool:
        within = "\n".join(fold_text(name) for name in names if name)
        return all(word in within for word in wanted)

    return finds
