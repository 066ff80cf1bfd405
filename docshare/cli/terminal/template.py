"""The language of ``--template``: keys only, no attributes, indexes or conversions."""

import re

from docshare.cli.framework.exits import ExitCode, Stop

_ESCAPES = {"t": "\t", "n": "\n", "\\": "\\", "r": "\r", "0": "\0"}
_TOKEN = re.compile(
    r"\\(?P<escape>.)|(?P<brace>\{\{|\}\})|\{(?P<key>[\w.-]+)\}|(?P<stray>[{}])|(?P<text>[^\\{}]+|\\)", re.S
)


def parse_template(text: str) -> list[tuple[bool, str]]:
    """Return the parts of a template, ``(True, literal text)`` or ``(False, dotted key)``; or Stop (2)."""
    pieces: list[tuple[bool, str]] = []
    for match in _TOKEN.finditer(text):
        if match["stray"]:
            raise Stop(
                ExitCode.USAGE,
                f"invalid --template: stray {match['stray']} at character {match.start() + 1}",
                hint="Use {key} for a value, and {{ or }} for a brace.",
            )
        if match["key"]:
            pieces.append((False, match["key"]))
        else:
            pieces.append((True, _unescape(match)))
    return pieces


def _unescape(match: re.Match[str]) -> str:
    if match["brace"]:
        return match["brace"][0]
    if match["escape"]:
        return _ESCAPES.get(match["escape"], match[0])
    return match["text"]
