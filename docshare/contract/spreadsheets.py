"""Escaping of CSV cells, for the server and the command line."""

import unicodedata

_DANGEROUS_STARTS = ("\t", "\r", "\n", "\0")  # some programs drop them and interpret the character after them
_FORMULA_STARTS = frozenset("=+-@\u2212")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cn", "Zs", "Zl", "Zp", "Mn", "Me"})
_BLANK_CHARS = frozenset("\u115f\u1160\u3164\uffa0\u2800")  # letters and a symbol without a visible glyph


def neutralize_formula(text: str) -> str:
    """Return ``text``, with a quote in front if a spreadsheet could interpret it as a formula."""
    return f"'{text}" if is_formula_like(text) else text


def is_formula_like(text: str) -> bool:
    """Return whether a spreadsheet may interpret ``text`` as a formula.

    A formula begins with ``=``, ``+``, ``-`` or ``@``, also in their full-width and other compatibility forms, and
    after any number of invisible characters, which some programs drop when they read a file.
    """
    return text.startswith(_DANGEROUS_STARTS) or _first_visible_char(text) in _FORMULA_STARTS


def _first_visible_char(text: str) -> str:
    """Return the first visible character of ``text`` in its compatibility form; empty if there is none."""
    for char in text:
        if unicodedata.category(char) not in _INVISIBLE_CATEGORIES and char not in _BLANK_CHARS:
            return unicodedata.normalize("NFKC", char)[:1]
    return ""
