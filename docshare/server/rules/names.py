"""The name a file is stored under: what the sender called it, without what would hurt readers of the name."""

import re
import unicodedata

MAX_BYTES = 255
FALLBACK_NAME = "document.pdf"
_MAX_EXTENSION_BYTES = 16
# Marks that turn the direction of what follows: "report\u202efdp.exe" would read as "reportexe.pdf".
_BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean_name(sent: str | None, fallback: str = FALLBACK_NAME) -> str:
    """The file name to keep of the one a client ``sent``: never empty (then ``fallback``), no path, no controls, at
    most 255 bytes.

    Browsers of old send whole paths of either kind of slash; only what follows the last slash is the name.
    """
    name = re.split(r"[/\\]", sent or "")[-1]
    name = _BIDI_CONTROLS.sub("", "".join(char for char in name if not _is_control(char))).strip()
    return _shorten(name) if name.strip(".") else fallback


def _is_control(char: str) -> bool:
    # Cc controls, Cs halves of a surrogate pair, Zl and Zp line breaks that are not controls.
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
