"""Capabilities of the two output streams: color, characters, width. All decided here, from plain facts."""

import os
from collections.abc import Mapping
from typing import NamedTuple, TextIO

_ROLES = {"ok": "32", "warn": "33", "error": "1;31", "dim": "2", "id": "36", "bold": "1"}
_ASCII = {"…": "...", "·": "-", "✓": "ok", "✗": "x", "→": "->", "█": "#", "░": "-"}


def is_enabled(env: Mapping[str, str], name: str) -> bool:
    """Return whether an environment switch is on; empty and ``0`` mean off."""
    return env.get(name, "") not in ("", "0")


class Screen(NamedTuple):
    """One output stream: ``tty``: a terminal; ``color`` and ``unicode``: what it supports; ``width`` in cells."""

    tty: bool
    color: bool
    unicode: bool
    width: int

    def paint(self, role: str, text: str) -> str:
        """Return ``text`` in the color of ``role`` (ok, warn, error, dim, id, bold) if color is on."""
        code = _ROLES.get(role)
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and code and text else text

    def glyph(self, char: str) -> str:
        """Return ``char``, or its ASCII replacement if the stream is not UTF-8."""
        return char if self.unicode else _ASCII.get(char, "?")


def detect_screen(stream: TextIO, tty: bool, env: Mapping[str, str], color: str | None) -> Screen:
    """Return the capabilities of a stream. ``color``: the value of ``--color`` (always, auto, never) or None."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-")
    return Screen(
        tty=tty,
        color=_is_color_wanted(tty, env, color),
        unicode=encoding in ("utf-8", "utf8"),
        width=_detect_width(stream, env),
    )


def _is_color_wanted(tty: bool, env: Mapping[str, str], color: str | None) -> bool:
    if color in ("always", "never"):
        return color == "always"
    if env.get("NO_COLOR") or is_enabled(
        env, "DOCSHARE_NO_COLOR"
    ):  # any value of NO_COLOR counts, as no-color.org specifies
        return False
    if is_enabled(env, "FORCE_COLOR") or is_enabled(env, "CLICOLOR_FORCE"):
        return True
    return tty and env.get("CLICOLOR") != "0" and env.get("TERM") != "dumb"


def _detect_width(stream: TextIO, env: Mapping[str, str]) -> int:
    columns = env.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80
