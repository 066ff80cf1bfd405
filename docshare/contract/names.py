"""Sanitize the name under which a file is stored."""

import re
import unicodedata

MAX_BYTES = 255
FALLBACK_NAME = "document.pdf"
_MAX_EXTENSION_BYTES = 16
# Marks that change the text direction: "report\u202efdp.exe" would be displayed as "reportexe.pdf".
_BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean_name(sent: str | None, fallback: str = FALLBACK_NAME) -> str:
    """Return the file name to store for the one a client ``sent``, or ``fallback`` if nothing is left of it.

    The name has no path and no control characters, and at most 255 bytes. Legacy browsers send whole paths with
    either kind of slash; only the part after the last slash is the name.
    """
    name = re.split(r"[/\\]", sent or "")[-1]
    name = _BIDI_CONTROLS.sub("", "".join(char for char in name if not _is_control(char))).strip()
    return _shorten(name) if name.strip(".") else fallback


def _is_control(char: str) -> bool:
    # Cc control characters, Cs unpaired surrogates, Zl and Zp line separators that are not control characters.
    return unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}


def _shorten(name: str) -> str:
    if len(name.encode()) <= MAX_BYTES:
        return name
    stem, dot, extension = name.rpartition(".")
    end = dot + extension
    if not stem or len(end.encode()) > _MAX_EXTENSION_BYTES:
        stem, end = name, ""
    room = MAX_BYTES - len(end.encode())
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip() + end
