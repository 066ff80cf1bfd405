"""Escaping of CSV cells, for the server and the command line."""

import unicodedata

_ALWAYS = ("\t", "\r", "\n", "\0")  # some programs drop them and interpret the character after them
_TRIGGERS = frozenset("=+-@\u2212")
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cn", "Zs", "Zl", "Zp", "Mn", "Me"})
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")  # letters and a symbol without a visible glyph


def neutral(text: str) -> str:
    """Return ``text``, with a quote in front if a spreadsheet could interpret it as a formula."""
    return f"'{text}" if starts_formula(text) else text


def starts_formula(text: str) -> bool:
    """Return whether a spreadsheet may take ``text`` for a formula.

    A formula begins with ``=``, ``+``, ``-`` or ``@``, also in their full-width and other compatibility forms, and
    behind any number of characters that nobody sees: some programs drop those when they read a file.
    """
    return text.startswith(_ALWAYS) or _first_seen(text) in _TRIGGERS


def _first_seen(text: str) -> str:
    """The first character of ``text`` that is seen, in its plainest form; empty where there is none."""
    for char in text:
        if unicodedata.category(char) not in _UNSEEN and char not in _BLANK:
            return unicodedata.normalize("NFKC", char)[:1]
    return ""
