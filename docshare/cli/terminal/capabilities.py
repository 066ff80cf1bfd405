"""Capabilities of the two output streams: color, characters, width, hyperlinks. All decided here, from plain facts."""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TextIO

from docshare.cli.terminal.text import clean

_ROLES = {"ok": "32", "warn": "33", "error": "1;31", "dim": "2", "id": "36", "bold": "1"}
_ASCII = {"…": "...", "·": "-", "✓": "ok", "✗": "x", "→": "->", "█": "#", "░": "-"}
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby")  # values of TERM_PROGRAM
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "wezterm", "foot", "foot-extra", "alacritty", "contour")
_CRASHING_VTE = 5000  # VTE 0.50.0, the first version with hyperlinks, crashes on them
_WEB_ADDRESS = re.compile(r"https?://[!-~]+")  # a control character would end the link early


def is_enabled(env: Mapping[str, str], name: str) -> bool:
    """Return whether an environment switch is on; empty and ``0`` mean off."""
    return env.get(name, "") not in ("", "0")


class Screen(NamedTuple):
    """One output stream: ``tty``: a terminal; ``color``, ``unicode`` and ``links`` (OSC 8 hyperlinks): what it
    supports; ``width`` in cells."""

    tty: bool
    color: bool
    unicode: bool
    width: int
    links: bool = False

    def paint(self, role: str, text: str) -> str:
        """Return ``text`` in the color of ``role`` (ok, warn, error, dim, id, bold) if color is on."""
        code = _ROLES.get(role)
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and code and text else text

    def paint_link(self, url: str) -> str:
        """Return ``url`` in bold, as a hyperlink if the terminal supports that."""
        return self.link(self.paint("bold", clean(url)), url)

    def link(self, text: str, url: Any) -> str:
        """Return ``text`` as a hyperlink to ``url`` if the terminal supports that."""
        target = self.choose_target(url)
        return f"\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\" if target else text

    def choose_target(self, url: Any) -> str:
        """Return ``url`` if text on this stream can link to it, else an empty string."""
        return url if self.links and isinstance(url, str) and _WEB_ADDRESS.fullmatch(url) else ""

    def glyph(self, char: str) -> str:
        """Return ``char``, or its ASCII replacement if the stream is not UTF-8."""
        return char if self.unicode else _ASCII.get(char, "?")


def detect_screen(stream: TextIO, tty: bool, env: Mapping[str, str], color: str | None) -> Screen:
    """Return the capabilities of a stream. ``color``: the value of ``--color`` (always, auto, never) or None."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-")
    has_color = _is_color_wanted(tty, env, color)
    return Screen(
        tty=tty,
        color=has_color,
        unicode=encoding in ("utf-8", "utf8"),
        width=_detect_width(stream, env),
        links=tty and has_color and _has_hyperlinks(env),
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


def _has_hyperlinks(env: Mapping[str, str]) -> bool:
    if env.get("TERM") == "dumb":
        return False
    if "DOCSHARE_HYPERLINKS" in env:
        return is_enabled(env, "DOCSHARE_HYPERLINKS")
    vte = env.get("VTE_VERSION", "")
    return (
        env.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or env.get("TERM") in _LINKING_TERMS
        or bool(env.get("KITTY_WINDOW_ID") or env.get("WT_SESSION"))
        or (vte.isascii() and vte.isdigit() and int(vte) > _CRASHING_VTE)
    )


def _detect_width(stream: TextIO, env: Mapping[str, str]) -> int:
    columns = env.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80
